//! What a user requests.

mod drift;
#[cfg(test)]
mod every_field;
mod operations;
mod post_render;
mod references;
mod source;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use drift::{DriftDetection, DriftIgnore, DriftMode, Target};
pub use operations::{
    CrdPolicy, Install, Propagation, ReleaseOptions, Remediation, RemediationStrategy, Rollback, RunOptions,
    Strategy, StrategyName, Test, TestFilter, Uninstall, Upgrade,
};
pub use post_render::{CommonMetadata, Image, Patch, PostRenderer};
pub use references::{
    Dependency, HealthCheckExpr, KubeConfig, SecretKeyReference, ValuesKind, ValuesReference,
};
pub use source::{Archive, ArchiveKind, ChartSource, LocalReference, Verification, VerificationProvider};

use super::duration;

/// The shortest interval: without a pause, a request would keep a worker busy all the time.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The spec of a `HelmRequest`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmRequestSpec {
    /// Where the chart comes from.
    pub chart: ChartSource,
    /// The name of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,
    /// The namespace of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<String>,
    /// The namespace of the records; that of the release by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_namespace: Option<String>,
    /// How often the release is compared with the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// How many versions are kept; 0 for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_history: Option<u64>,
    /// Whether the controller leaves the release alone.
    #[serde(skip_serializing_if = "is_false")]
    pub suspend: bool,
    /// The service account that is impersonated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// The cluster of the release, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig>,
    /// Whether installs and upgrades wait for an approval.
    #[serde(skip_serializing_if = "is_default")]
    pub approval: Approval,
    /// What must be ready before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// When objects of some kinds are ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub health_check_exprs: Vec<HealthCheckExpr>,
    /// The values.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// Where further values come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValuesReference>,
    /// Labels and annotations of every object.
    #[serde(skip_serializing_if = "is_default")]
    pub common_metadata: CommonMetadata,
    /// Changes to the rendered objects, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_renderers: Vec<PostRenderer>,
    /// Options of an install.
    #[serde(skip_serializing_if = "is_default")]
    pub install: Install,
    /// Options of an upgrade.
    #[serde(skip_serializing_if = "is_default")]
    pub upgrade: Upgrade,
    /// Options of a rollback.
    #[serde(skip_serializing_if = "is_default")]
    pub rollback: Rollback,
    /// Options of an uninstall.
    #[serde(skip_serializing_if = "is_default")]
    pub uninstall: Uninstall,
    /// Whether and how tests are run.
    #[serde(skip_serializing_if = "is_default")]
    pub test: Test,
    /// What happens when others change objects of the release.
    #[serde(skip_serializing_if = "is_default")]
    pub drift_detection: DriftDetection,
    /// What scripts of the chart may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether installs and upgrades wait for an approval.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Approval {
    /// They do not.
    #[default]
    Automatic,
    /// They wait until the digest of the plan is approved.
    Manual,
}

impl HelmRequestSpec {
    /// The interval.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn interval(&self) -> Result<Duration, String> {
        duration("spec.interval", self.interval.as_deref().unwrap_or("10m"))
    }

    /// The timeout of an operation: its own, or that of the request.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn timeout(&self, operation: &Option<String>) -> Result<Duration, String> {
        let text = operation.as_deref().or(self.timeout.as_deref()).unwrap_or("5m");
        duration("spec.timeout", text)
    }

    /// How many versions are kept.
    pub fn max_history(&self) -> u64 {
        self.max_history.unwrap_or(5)
    }

    /// Checks that no list is so long that a reconciliation would take for ever: its entries are read, parsed or compiled one
    /// by one.
    fn check_counts(&self) -> Result<(), String> {
        let patches: usize = self.post_renderers.iter().map(|renderer| renderer.patches.len()).sum();
        let images: usize = self.post_renderers.iter().map(|renderer| renderer.images.len()).sum();
        for (field, count, most) in [
            ("spec.valuesFrom", self.values_from.len(), 100),
            ("spec.dependsOn", self.depends_on.len(), 100),
            ("spec.healthCheckExprs", self.health_check_exprs.len(), 20),
            ("spec.postRenderers", self.post_renderers.len(), 50),
            ("spec.postRenderers: patches", patches, 200),
            ("spec.postRenderers: images", images, 1000),
            ("spec.driftDetection.ignore", self.drift_detection.ignore.len(), 100),
        ] {
            if count > most {
                return Err(format!("{field}: there are {count}, and {most} are allowed"));
            }
        }
        Ok(())
    }

    /// Checks what an API server without CEL validation would let pass, and what a schema cannot express.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn validate(&self) -> Result<(), String> {
        self.chart.validate()?;
        let account = self.service_account_name.as_deref().unwrap_or_default();
        // It is a part of the name of the user that is impersonated.
        if !account.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')) {
            return Err("spec.serviceAccountName: it must be the name of a service account".to_owned());
        }
        if self.interval()? < MIN_INTERVAL {
            return Err("spec.interval: it must be at least 1s".to_owned());
        }
        let (install, upgrade) = (&self.install.release, &self.upgrade.release);
        let timeouts = [&install.run.timeout, &upgrade.run.timeout, &self.rollback.run.timeout];
        for timeout in timeouts.into_iter().chain([&self.uninstall.timeout, &self.test.timeout]) {
            self.timeout(timeout)?;
        }
        for strategy in [&install.strategy, &upgrade.strategy] {
            strategy.retry_interval()?;
        }
        self.check_counts()?;
        for (index, reference) in self.values_from.iter().enumerate() {
            reference.validate().map_err(|error| format!("spec.valuesFrom[{index}]: {error}"))?;
        }
        for (index, ignore) in self.drift_detection.ignore.iter().enumerate() {
            ignore.validate().map_err(|error| format!("spec.driftDetection.ignore[{index}]: {error}"))?;
        }
        for (index, renderer) in self.post_renderers.iter().enumerate() {
            renderer.validate().map_err(|error| format!("spec.postRenderers[{index}]: {error}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_length_that_a_reconciliation_can_cope_with() {
        let mut spec = HelmRequestSpec::default();
        spec.chart.url = Some("https://example.com/web.tgz".to_owned());
        assert_eq!(spec.validate(), Ok(()));
        spec.depends_on = vec![Dependency::default(); 101];
        assert_eq!(spec.validate().unwrap_err(), "spec.dependsOn: there are 101, and 100 are allowed");
        spec.depends_on.clear();
        spec.values_from = vec![ValuesReference { name: "a".to_owned(), ..Default::default() }; 101];
        assert!(spec.validate().unwrap_err().starts_with("spec.valuesFrom: "));
        spec.values_from.clear();
        spec.health_check_exprs = vec![HealthCheckExpr::default(); 21];
        assert!(spec.validate().unwrap_err().starts_with("spec.healthCheckExprs: "));
        spec.health_check_exprs.clear();
        let renderer = PostRenderer { images: vec![Image::default(); 600], ..Default::default() };
        spec.post_renderers = vec![renderer; 2];
        assert!(spec.validate().unwrap_err().starts_with("spec.postRenderers: images: "));
    }
}

//! What a user requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::duration;

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
    /// The service account that everything is done as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Whether installs and upgrades wait for an approval.
    #[serde(skip_serializing_if = "is_default")]
    pub approval: Approval,
    /// What must be ready before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// The values.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// Objects that hold values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValuesReference>,
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
    /// What happens about changes by others.
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

/// Where a chart comes from: one of `repository` with `name`, `url` and `archive`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartSource {
    /// The URL of a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The name of the chart in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL of an archive or of a chart in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// An object that holds an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Archive>,
    /// The version or range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The Secret with user name and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<LocalReference>,
    /// Whether certificates are not verified.
    #[serde(rename = "insecureSkipTLSVerify", skip_serializing_if = "is_false")]
    pub insecure_skip_tls_verify: bool,
    /// Whether a registry is reached without TLS.
    #[serde(rename = "plainHTTP", skip_serializing_if = "is_false")]
    pub plain_http: bool,
}

/// An archive in a ConfigMap or Secret.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Archive {
    /// The kind of the object.
    pub kind: ArchiveKind,
    /// The name of the object.
    pub name: String,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The kinds that hold archives and values.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ArchiveKind {
    /// A ConfigMap.
    #[default]
    ConfigMap,
    /// A Secret.
    Secret,
}

impl ArchiveKind {
    /// The kind.
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveKind::ConfigMap => "ConfigMap",
            ArchiveKind::Secret => "Secret",
        }
    }
}

/// An object in the namespace of the request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LocalReference {
    /// Its name.
    pub name: String,
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

/// Something that must be ready.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The API version; `helm.sh/v3` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The kind; `HelmRequest` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name.
    pub name: String,
    /// The namespace; that of the request by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object that holds values.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValuesReference {
    /// The kind of the object.
    pub kind: ArchiveKind,
    /// Its name.
    pub name: String,
    /// The key; `values.yaml` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_key: Option<String>,
    /// Where to put the value; the value is a map of values if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_path: Option<String>,
    /// Whether the object may be missing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Whether the value at `targetPath` is not parsed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub literal: bool,
}

/// What happens to CRDs of the chart.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum CrdPolicy {
    /// They are created by an install.
    Create,
    /// They are left alone.
    Skip,
    /// They are applied by an upgrade.
    Apply,
}

/// What to do about failures.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// Which one.
    pub name: StrategyName,
    /// How long to wait before the next try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<String>,
}

/// What to do about failures.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum StrategyName {
    /// Try again over what is there.
    #[default]
    RetryOnFailure,
    /// Undo, then try again a number of times.
    RemediateOnFailure,
}

/// How failures are undone.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remediation {
    /// How often to try again; -1 for ever.
    pub retries: i64,
    /// Whether the last failure is undone too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediate_last_failure: Option<bool>,
    /// Whether failing tests do not count.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_test_failures: bool,
    /// How an upgrade is undone.
    #[serde(skip_serializing_if = "is_default")]
    pub strategy: RemediationStrategy,
}

/// How an upgrade is undone.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RemediationStrategy {
    /// By a rollback to the last version that worked.
    #[default]
    Rollback,
    /// By an uninstall.
    Uninstall,
}

/// Options of an install.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Install {
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// What happens to `crds/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crds: Option<CrdPolicy>,
    /// Whether the namespace is created.
    #[serde(skip_serializing_if = "is_false")]
    pub create_namespace: bool,
    /// Whether the name of a failed release is taken again.
    #[serde(skip_serializing_if = "is_false")]
    pub replace: bool,
    /// Whether existing objects become part of the release.
    #[serde(skip_serializing_if = "is_false")]
    pub take_ownership: bool,
    /// Whether hooks are not run.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hooks: bool,
    /// Whether not to wait until objects are ready.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
    /// Whether not to wait until Jobs are done.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait_for_jobs: bool,
    /// Whether values are not checked against the schema of the chart.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_schema_validation: bool,
    /// Whether objects are not validated before they are sent.
    #[serde(rename = "disableOpenAPIValidation", skip_serializing_if = "is_false")]
    pub disable_open_api_validation: bool,
    /// What to do about failures.
    #[serde(skip_serializing_if = "is_default")]
    pub strategy: Strategy,
    /// How failures are undone.
    #[serde(skip_serializing_if = "is_default")]
    pub remediation: Remediation,
}

/// Options of an upgrade.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Upgrade {
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// What happens to `crds/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crds: Option<CrdPolicy>,
    /// Whether existing objects become part of the release.
    #[serde(skip_serializing_if = "is_false")]
    pub take_ownership: bool,
    /// Whether objects that a failed upgrade created are deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub cleanup_on_fail: bool,
    /// Whether objects are replaced instead of patched.
    #[serde(skip_serializing_if = "is_false")]
    pub force: bool,
    /// Whether fields that others manage are taken over.
    #[serde(skip_serializing_if = "is_false")]
    pub force_conflicts: bool,
    /// Whether values of the earlier version are kept.
    #[serde(skip_serializing_if = "is_false")]
    pub preserve_values: bool,
    /// Whether hooks are not run.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hooks: bool,
    /// Whether not to wait until objects are ready.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
    /// Whether not to wait until Jobs are done.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait_for_jobs: bool,
    /// Whether values are not checked against the schema of the chart.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_schema_validation: bool,
    /// Whether objects are not validated before they are sent.
    #[serde(rename = "disableOpenAPIValidation", skip_serializing_if = "is_false")]
    pub disable_open_api_validation: bool,
    /// What to do about failures.
    #[serde(skip_serializing_if = "is_default")]
    pub strategy: Strategy,
    /// How failures are undone.
    #[serde(skip_serializing_if = "is_default")]
    pub remediation: Remediation,
}

/// Options of a rollback.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollback {
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Whether objects that a failed rollback created are deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub cleanup_on_fail: bool,
    /// Whether objects are replaced instead of patched.
    #[serde(skip_serializing_if = "is_false")]
    pub force: bool,
    /// Whether hooks are not run.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hooks: bool,
    /// Whether not to wait until objects are ready.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
    /// Whether not to wait until Jobs are done.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait_for_jobs: bool,
}

/// Options of an uninstall.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Uninstall {
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Whether the records are kept.
    #[serde(skip_serializing_if = "is_false")]
    pub keep_history: bool,
    /// Whether hooks are not run.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hooks: bool,
    /// Whether not to wait until objects are gone.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_wait: bool,
    /// What happens to dependents.
    #[serde(skip_serializing_if = "is_default")]
    pub deletion_propagation: Propagation,
}

/// What happens to the dependents of deleted objects.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Propagation {
    /// They are deleted afterwards.
    #[default]
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Whether and how tests are run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Test {
    /// Whether tests are run after an install or upgrade.
    #[serde(skip_serializing_if = "is_false")]
    pub enable: bool,
    /// How long one test may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Whether failing tests do not count.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_failures: bool,
    /// Which tests are run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<TestFilter>,
}

/// A test that is run, or not.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct TestFilter {
    /// The name of the test.
    pub name: String,
    /// Whether it is not run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exclude: bool,
}

/// What happens about changes by others.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct DriftDetection {
    /// Whether changes are reported or undone.
    pub mode: DriftMode,
    /// What is left alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<DriftIgnore>,
}

/// What happens about changes by others.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftMode {
    /// Nothing.
    #[default]
    Disabled,
    /// They are reported.
    Warn,
    /// They are reported and undone.
    Enabled,
}

/// Fields that others may change.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct DriftIgnore {
    /// JSON pointers; an empty one is the whole object.
    pub paths: Vec<String>,
    /// Which objects; all if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<DriftTarget>,
}

/// Selects objects; fields that are not set match everything.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct DriftTarget {
    /// The API group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The API version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
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

    /// Checks what the schema cannot, because an API server without CEL would not have checked it either.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn validate(&self) -> Result<(), String> {
        let ChartSource { repository, url, archive, name, .. } = &self.chart;
        let sources = [repository.is_some(), url.is_some(), archive.is_some()];
        if sources.into_iter().filter(|set| *set).count() != 1 {
            return Err("spec.chart: set exactly one of repository, url and archive".to_owned());
        }
        if repository.is_some() != name.is_some() {
            return Err("spec.chart: set repository and name together".to_owned());
        }
        self.interval()?;
        let operations =
            [&self.install.timeout, &self.upgrade.timeout, &self.rollback.timeout, &self.uninstall.timeout];
        for timeout in operations.into_iter().chain([&self.test.timeout]) {
            self.timeout(timeout)?;
        }
        for strategy in [&self.install.strategy, &self.upgrade.strategy] {
            strategy.retry_interval()?;
        }
        Ok(())
    }
}

impl Strategy {
    /// How long to wait before the next try.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn retry_interval(&self) -> Result<Duration, String> {
        duration("strategy.retryInterval", self.retry_interval.as_deref().unwrap_or("5m"))
    }
}

#[cfg(test)]
impl HelmRequestSpec {
    /// A spec in which no field is left out when it is written.
    pub(crate) fn with_every_field() -> HelmRequestSpec {
        let text = || Some("1m".to_owned());
        let strategy = Strategy { name: StrategyName::RemediateOnFailure, retry_interval: text() };
        let remediation = Remediation {
            retries: 1,
            remediate_last_failure: Some(true),
            ignore_test_failures: true,
            strategy: RemediationStrategy::Uninstall,
        };
        HelmRequestSpec {
            chart: ChartSource {
                repository: text(),
                name: text(),
                url: text(),
                archive: Some(Archive { key: text(), ..Archive::default() }),
                version: text(),
                credentials: Some(LocalReference::default()),
                insecure_skip_tls_verify: true,
                plain_http: true,
            },
            release_name: text(),
            target_namespace: text(),
            interval: text(),
            timeout: text(),
            max_history: Some(1),
            suspend: true,
            service_account_name: text(),
            approval: Approval::Manual,
            depends_on: vec![Dependency::default()],
            values: Map::from_iter([("a".to_owned(), Value::Null)]),
            values_from: vec![ValuesReference::default()],
            install: Install {
                timeout: text(),
                crds: Some(CrdPolicy::Skip),
                create_namespace: true,
                replace: true,
                take_ownership: true,
                disable_hooks: true,
                disable_wait: true,
                disable_wait_for_jobs: true,
                disable_schema_validation: true,
                disable_open_api_validation: true,
                strategy: strategy.clone(),
                remediation: Remediation { strategy: RemediationStrategy::Rollback, ..remediation.clone() },
            },
            upgrade: Upgrade {
                timeout: text(),
                crds: Some(CrdPolicy::Apply),
                take_ownership: true,
                cleanup_on_fail: true,
                force: true,
                force_conflicts: true,
                preserve_values: true,
                disable_hooks: true,
                disable_wait: true,
                disable_wait_for_jobs: true,
                disable_schema_validation: true,
                disable_open_api_validation: true,
                strategy,
                remediation,
            },
            rollback: Rollback {
                timeout: text(),
                cleanup_on_fail: true,
                force: true,
                disable_hooks: true,
                disable_wait: true,
                disable_wait_for_jobs: true,
            },
            uninstall: Uninstall {
                timeout: text(),
                keep_history: true,
                disable_hooks: true,
                disable_wait: true,
                deletion_propagation: Propagation::Foreground,
            },
            test: Test {
                enable: true,
                timeout: text(),
                ignore_failures: true,
                filters: vec![TestFilter { name: String::new(), exclude: true }],
            },
            drift_detection: DriftDetection {
                mode: DriftMode::Warn,
                ignore: vec![DriftIgnore { paths: Vec::new(), target: Some(DriftTarget::default()) }],
            },
            permissions: vec![String::new()],
        }
    }
}

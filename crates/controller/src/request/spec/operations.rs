//! Options of the operations, and what to do about failures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{duration, is_default, is_false};

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
    /// The name of the strategy.
    pub name: StrategyName,
    /// How long to wait before the next try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<String>,
}

/// What to do about failures.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum StrategyName {
    /// Retry with an upgrade, without undoing the failure first.
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

/// How long an operation may take and what it waits for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunOptions {
    /// How long one wait may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
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

/// What installs and upgrades have in common.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseOptions {
    /// How long it may take.
    #[serde(flatten)]
    pub run: RunOptions,
    /// What happens to `crds/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crds: Option<CrdPolicy>,
    /// Whether existing objects become part of the release.
    #[serde(skip_serializing_if = "is_false")]
    pub take_ownership: bool,
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

/// Options of an install.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Install {
    /// What it has in common with an upgrade.
    #[serde(flatten)]
    pub release: ReleaseOptions,
    /// Whether the namespace is created.
    #[serde(skip_serializing_if = "is_false")]
    pub create_namespace: bool,
}

/// Options of an upgrade.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Upgrade {
    /// What it has in common with an install.
    #[serde(flatten)]
    pub release: ReleaseOptions,
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
}

/// Options of a rollback.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollback {
    /// How long it may take.
    #[serde(flatten)]
    pub run: RunOptions,
    /// Whether objects that a failed rollback created are deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub cleanup_on_fail: bool,
    /// Whether objects are replaced instead of patched.
    #[serde(skip_serializing_if = "is_false")]
    pub force: bool,
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

impl Strategy {
    /// How long to wait before the next try.
    ///
    /// # Errors
    /// When it is no duration.
    pub fn retry_interval(&self) -> Result<Duration, String> {
        duration("strategy.retryInterval", self.retry_interval.as_deref().unwrap_or("5m"))
    }
}

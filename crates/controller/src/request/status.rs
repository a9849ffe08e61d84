//! What the controller found and did.

use serde::{Deserialize, Serialize};

use super::KubeConfig;

/// The status of a `HelmRequest`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmRequestStatus {
    /// The generation that was handled.
    pub observed_generation: i64,
    /// The state in one word.
    pub phase: Phase,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// The release. It is uninstalled when the request names another, if its records say that the request installed or adopted
    /// it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release_name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release_namespace: String,
    /// The namespace of its records, if that is another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub storage_namespace: String,
    /// The Secret with the kubeconfig of its cluster, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig>,
    /// The API server that this kubeconfig named when the release was last found there. The Secret may change.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_server: String,
    /// The id of its current version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_version: String,
    /// The version of the chart that is deployed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_version: String,
    /// The digest of the archive of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_digest: String,
    /// The digest of chart and values that were tried last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_attempted_digest: String,
    /// Failures in a row, of any kind; for the back-off.
    pub failures: u32,
    /// Failed installs of these chart and values.
    pub install_failures: u32,
    /// Failed upgrades to these chart and values.
    pub upgrade_failures: u32,
    /// Whether the last failure was undone.
    pub remediated: bool,
    /// The last request to reconcile that was handled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_handled_reconcile_at: String,
    /// The last request to upgrade that was handled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_handled_force_at: String,
    /// The last request to forget failures that was handled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_handled_reset_at: String,
    /// What was read when the release was found as requested: its turns read nothing as long as the watches of the controller
    /// see the same.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub settled: String,
    /// The id of the version whose tests have run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tested_version: String,
    /// Whether they failed.
    pub tests_failed: bool,
    /// The digest that waits to be approved.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_digest: String,
    /// What would be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_summary: String,
    /// What would happen to which object, and which fields would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_objects: Vec<String>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// The versions of the release, newest first.
    pub history: Vec<HistoryEntry>,
    /// The objects of the release.
    pub inventory: Vec<InventoryEntry>,
    /// Objects that others have changed.
    pub drift: Vec<DriftedObject>,
}

impl HelmRequestStatus {
    /// The namespace of the records of the release.
    pub fn storage_namespace(&self) -> &str {
        if self.storage_namespace.is_empty() { &self.release_namespace } else { &self.storage_namespace }
    }

    /// Forgets a release that the request no longer has.
    pub(crate) fn forget_release(&mut self) {
        self.release_name.clear();
        self.release_namespace.clear();
        self.storage_namespace.clear();
        self.kube_config = None;
        self.cluster_server.clear();
        self.current_version.clear();
        self.history.clear();
        self.inventory.clear();
    }
}

/// The state of a request in one word.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Phase {
    /// Nothing was done yet, or it waits for something else.
    #[default]
    Pending,
    /// Something is being done.
    Progressing,
    /// The release is as requested.
    Ready,
    /// It is not.
    Failed,
    /// The release is left alone.
    Suspended,
    /// The release is being uninstalled.
    Deleting,
}

impl Phase {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Progressing => "Progressing",
            Phase::Ready => "Ready",
            Phase::Failed => "Failed",
            Phase::Suspended => "Suspended",
            Phase::Deleting => "Deleting",
        }
    }
}

/// A condition by the API conventions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation that it is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// When the status changed.
    pub last_transition_time: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
}

/// What went wrong.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastError {
    /// What was being done: `chart`, `values`, `install` and so on.
    pub step: String,
    /// The object that did not become ready, if one is to blame.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The error.
    pub message: String,
    /// When.
    pub time: String,
    /// The last events of what did not become ready, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The last lines of the logs of hooks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hook_logs: Vec<String>,
}

/// A version of the release.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryEntry {
    /// Its number.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: String,
    /// Its chart.
    pub chart_name: String,
    /// The version of its chart.
    pub chart_version: String,
    /// The version of its application.
    pub app_version: String,
    /// The digest of its chart and values, if the controller made it.
    pub digest: String,
    /// When the release was first installed.
    pub first_deployed: String,
    /// When the version was deployed.
    pub last_deployed: String,
}

/// An object of the release.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct InventoryEntry {
    /// Namespace, name, group and kind, joined by underscores.
    pub id: String,
    /// The version of the API.
    pub v: String,
}

/// An object that others have changed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct DriftedObject {
    /// The object.
    pub object: String,
    /// The fields, as JSON pointers; none if the object is missing.
    pub fields: Vec<String>,
    /// Who manages these fields now.
    pub managers: Vec<String>,
}

#[cfg(test)]
impl HelmRequestStatus {
    /// A status in which no field is left out when it is written.
    pub(crate) fn with_every_field() -> HelmRequestStatus {
        let text = || "x".to_owned();
        HelmRequestStatus {
            conditions: vec![Condition::default()],
            release_name: text(),
            release_namespace: text(),
            current_version: text(),
            chart_version: text(),
            chart_digest: text(),
            last_attempted_digest: text(),
            last_handled_reconcile_at: text(),
            last_handled_force_at: text(),
            last_handled_reset_at: text(),
            settled: text(),
            tested_version: text(),
            plan_digest: text(),
            plan_summary: text(),
            plan_objects: vec![text()],
            storage_namespace: text(),
            cluster_server: text(),
            kube_config: Some(KubeConfig {
                secret_ref: super::SecretKeyReference { name: text(), key: Some(text()) },
            }),
            last_error: Some(LastError {
                object: text(),
                events: vec![text()],
                hook_logs: vec![text()],
                ..LastError::default()
            }),
            history: vec![HistoryEntry::default()],
            inventory: vec![InventoryEntry::default()],
            drift: vec![DriftedObject::default()],
            ..HelmRequestStatus::default()
        }
    }
}

//! What `list` and `history` show of a release version.

use std::collections::BTreeMap;

use crate::{Lease, ReleaseVersion, Status, Timestamp, VersionId};

/// A release version without its large parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The version number.
    pub number: u64,
    /// Its id, for stores with ids.
    pub id: Option<VersionId>,
    /// Its status.
    pub status: Status,
    /// The status as the record spells it.
    pub status_word: String,
    /// The name of the chart.
    pub chart_name: String,
    /// The chart version.
    pub chart_version: String,
    /// The app version.
    pub app_version: String,
    /// When the release was first installed.
    pub first_deployed: Option<Timestamp>,
    /// When this version was deployed.
    pub last_deployed: Option<Timestamp>,
    /// A short description of the last operation.
    pub description: String,
    /// The number of the version that this one rolled back to.
    pub rollback_revision: Option<u64>,
    /// The user's labels.
    pub labels: BTreeMap<String, String>,
    /// `ssa`, `csa` or empty. Helm's records have it at their end, which summaries do not read.
    pub apply_method: String,
    /// The lease of the operation that works on it.
    pub lease: Option<Lease>,
    /// The store that a list found it in, as `HELM_DRIVER` spells it; empty elsewhere.
    pub store: &'static str,
    /// The state of the record for optimistic locking, opaque to everyone but its store; empty when unknown.
    pub state: String,
}

impl Summary {
    /// Whether the client of the version went away while it was pending. Records have no field for it, in the format of Helm
    /// neither: it is what their description says.
    pub fn was_interrupted(&self) -> bool {
        self.description.starts_with(INTERRUPTED)
    }

    /// Summarizes a complete version.
    pub fn from_version(version: &ReleaseVersion) -> Self {
        let metadata = &version.chart.metadata;
        Summary {
            name: version.name.clone(),
            namespace: version.namespace.clone(),
            number: version.number,
            id: version.id,
            status: version.info.status,
            status_word: version.status_word().to_owned(),
            chart_name: metadata.name.clone(),
            chart_version: metadata.version.clone(),
            app_version: metadata.app_version.clone(),
            first_deployed: version.info.first_deployed,
            last_deployed: version.info.last_deployed,
            description: version.info.description.clone(),
            rollback_revision: version.info.rollback_revision,
            labels: version.labels.clone(),
            apply_method: version.apply_method.clone(),
            lease: None,
            store: "",
            state: String::new(),
        }
    }
}

/// How the description of an interrupted version begins.
const INTERRUPTED: &str = "interrupted: ";

/// The description of a version whose client went away.
pub fn interrupted_description(holder: &str, status: Status) -> String {
    format!("{INTERRUPTED}{holder} went away during {}", status.as_str())
}

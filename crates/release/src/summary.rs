//! What lists and histories show of a release version.

use std::collections::BTreeMap;

use crate::{Lease, ReleaseVersion, Status, Timestamp, VersionId};

/// A release version without what is large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Which version it is.
    pub number: u64,
    /// Its id, where the store gives ids.
    pub id: Option<VersionId>,
    /// Its state.
    pub status: Status,
    /// The word that stands for the state in the record.
    pub status_word: String,
    /// The name of the chart.
    pub chart_name: String,
    /// The version of the chart.
    pub chart_version: String,
    /// The version of the application.
    pub app_version: String,
    /// When the release was first installed.
    pub first_deployed: Option<Timestamp>,
    /// When this version was brought up.
    pub last_deployed: Option<Timestamp>,
    /// One line about what happened.
    pub description: String,
    /// The user's labels.
    pub labels: BTreeMap<String, String>,
    /// `ssa`, `csa` or nothing. Helm's stores keep it at the far end of a record, where summaries do not look.
    pub apply_method: String,
    /// Who works on it.
    pub lease: Option<Lease>,
    /// Which state of the record this is, in words that only its store understands; empty when that is not known.
    pub state: String,
}

impl Summary {
    /// Sums up a whole record.
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
            labels: version.labels.clone(),
            apply_method: version.apply_method.clone(),
            lease: None,
            state: String::new(),
        }
    }
}

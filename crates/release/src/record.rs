//! The record of one release version: what was installed, from which chart, and the result.

use std::collections::BTreeMap;

use pintle_objects::HookEvent;
use pintle_tree::{Map, Node};

use crate::{HookPhase, Status, StoredChart, Timestamp, VersionId};

/// A complete release version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseVersion {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The version number, counted from 1; Helm's revision.
    pub number: u64,
    /// Its id, for stores with ids.
    pub id: Option<VersionId>,
    /// Status and timestamps.
    pub info: Info,
    /// The chart it was rendered from.
    pub chart: StoredChart,
    /// The user-supplied values.
    pub config: Option<Map<Node>>,
    /// The rendered objects, without hooks and `crds/`.
    pub manifest: String,
    /// The rendered hooks.
    pub hooks: Vec<StoredHook>,
    /// `ssa` for server-side apply, `csa` for client-side apply; empty in records of Helm 3.
    pub apply_method: String,
    /// The user's labels.
    pub labels: BTreeMap<String, String>,
    /// Irregular parts of the record, preserved so that rewriting it changes nothing else.
    pub preserved: Option<Box<PreservedFields>>,
}

/// Status and timestamps of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// When the release was first installed.
    pub first_deployed: Option<Timestamp>,
    /// When this version was deployed.
    pub last_deployed: Option<Timestamp>,
    /// When the release was uninstalled.
    pub deleted: Option<Timestamp>,
    /// A short description of the last operation.
    pub description: String,
    /// The state of the version.
    pub status: Status,
    /// The rendered NOTES.txt.
    pub notes: String,
    /// The number of the version that this one rolled back to. Helm before 4.3 has no field for it, and drops it when it
    /// rewrites a record.
    pub rollback_revision: Option<u64>,
}

/// A hook of a release version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredHook {
    /// The name of the object.
    pub name: String,
    /// The kind of the object.
    pub kind: String,
    /// The rendered file it comes from.
    pub path: String,
    /// The object as rendered.
    pub manifest: String,
    /// The events it runs at.
    pub events: Vec<HookEvent>,
    /// Its last run.
    pub last_run: HookRun,
    /// Its weight; lower weights run first.
    pub weight: i64,
    /// The values of `helm.sh/hook-delete-policy`.
    pub delete_policies: Vec<String>,
    /// The values of `helm.sh/hook-output-log-policy`.
    pub output_log_policies: Vec<String>,
}

/// One run of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookRun {
    /// When it started.
    pub started: Option<Timestamp>,
    /// When it completed.
    pub completed: Option<Timestamp>,
    /// Its phase.
    pub phase: HookPhase,
}

/// Irregular parts of Helm's records: missing sections and unknown values, preserved for a lossless round trip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreservedFields {
    /// `info` is missing.
    pub no_info: bool,
    /// `chart` is missing.
    pub no_chart: bool,
    /// The chart has no metadata.
    pub no_metadata: bool,
    /// There is no namespace; the version has that of its store.
    pub no_namespace: bool,
    /// An unknown status; used only while the status is [`Status::Unknown`].
    pub status: Option<String>,
    /// `info.resources`.
    pub resources: Map<Node>,
    /// The indices of null entries in the list of hooks.
    pub nil_hooks: Vec<usize>,
    /// The events of hooks with an unknown event, by index.
    pub events: BTreeMap<usize, Vec<String>>,
}

impl ReleaseVersion {
    /// The status in records and labels: the name of the status, or the unknown one of the record.
    pub fn status_word(&self) -> &str {
        match (self.info.status, &self.preserved) {
            (Status::Unknown, Some(preserved)) => {
                preserved.status.as_deref().unwrap_or(Status::Unknown.as_str())
            }
            (status, _) => status.as_str(),
        }
    }

    /// Sets the status and its description.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        self.info.status = status;
        self.info.description = description.into();
        if let Some(preserved) = &mut self.preserved {
            preserved.status = None;
            // With a status of our own, the record is regular again.
            preserved.no_info = false;
        }
    }

    /// Sets the namespace in which a record without one was found. Rewriting the record does not add it, as in Helm.
    pub fn complete_namespace(&mut self, namespace: &str) {
        if self.namespace.is_empty() {
            namespace.clone_into(&mut self.namespace);
            self.preserved.get_or_insert_default().no_namespace = true;
        }
    }

    /// Whether this version was deployed with server-side apply.
    pub fn is_server_side(&self) -> bool {
        self.apply_method == "ssa"
    }
}

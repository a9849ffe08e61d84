//! The record of one release version: what was installed, from what, and how it went.

use std::collections::BTreeMap;

use pintle_objects::HookEvent;
use pintle_tree::{Map, Node};

use crate::{HookPhase, Status, StoredChart, Timestamp, VersionId};

/// One version of a release, whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseVersion {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Which version it is, counted from 1; Helm's revision.
    pub number: u64,
    /// Its id, where the store gives ids.
    pub id: Option<VersionId>,
    /// When it came and how it went.
    pub info: Info,
    /// The chart it was made from.
    pub chart: StoredChart,
    /// The values that were given on top of the chart's own.
    pub config: Option<Map<Node>>,
    /// The rendered objects, without hooks and without what is in `crds/`.
    pub manifest: String,
    /// The rendered hooks.
    pub hooks: Vec<StoredHook>,
    /// `ssa` when the server merged the objects, `csa` when the client did; Helm 3 did not say.
    pub apply_method: String,
    /// The labels that the user gave.
    pub labels: BTreeMap<String, String>,
    /// What the record held beyond all this, kept so that it can be written back.
    pub preserved: Option<Box<PreservedFields>>,
}

/// When a version came and how it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// When the release was first installed.
    pub first_deployed: Option<Timestamp>,
    /// When this version was brought up.
    pub last_deployed: Option<Timestamp>,
    /// When the release was uninstalled.
    pub deleted: Option<Timestamp>,
    /// One line about what happened.
    pub description: String,
    /// The state of the version.
    pub status: Status,
    /// The rendered NOTES.txt.
    pub notes: String,
    /// The number of the version that this one rolled back to. Helm 4.2 has no place for it.
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
    /// When it runs.
    pub events: Vec<HookEvent>,
    /// Its last run.
    pub last_run: HookRun,
    /// Its place among the hooks of one event, lowest first.
    pub weight: i64,
    /// When its object is deleted, in the annotation's words.
    pub delete_policies: Vec<String>,
    /// When its log is shown, in the annotation's words.
    pub output_log_policies: Vec<String>,
}

/// One run of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookRun {
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub completed: Option<Timestamp>,
    /// How far it came.
    pub phase: HookPhase,
}

/// What records of Helm may hold although nothing needs it: gaps where there should be data, words that nobody knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreservedFields {
    /// There is no `info` at all.
    pub no_info: bool,
    /// There is no chart at all.
    pub no_chart: bool,
    /// The chart has no metadata.
    pub no_metadata: bool,
    /// A status that is none of ours; it counts only as long as the status is unknown.
    pub status: Option<String>,
    /// `resources` of the info.
    pub resources: Map<Node>,
    /// Where the list of hooks had nil.
    pub nil_hooks: Vec<usize>,
    /// The events of hooks, by place in the list, where one is none of ours.
    pub events: BTreeMap<usize, Vec<String>>,
}

impl ReleaseVersion {
    /// The word for the state in records and labels: that of the status, or what the record said in its place.
    pub fn status_word(&self) -> &str {
        match (self.info.status, &self.preserved) {
            (Status::Unknown, Some(preserved)) => {
                preserved.status.as_deref().unwrap_or(Status::Unknown.as_str())
            }
            (status, _) => status.as_str(),
        }
    }

    /// Sets the state and the line about what happened.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        self.info.status = status;
        self.info.description = description.into();
        if let Some(preserved) = &mut self.preserved {
            preserved.status = None;
            preserved.no_info = false;
        }
    }

    /// Whether the server merged the objects when this version was applied.
    pub fn is_server_side(&self) -> bool {
        self.apply_method == "ssa"
    }
}

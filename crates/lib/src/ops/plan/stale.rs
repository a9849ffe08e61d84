//! Whether a plan still describes what would happen, and what has changed if it does not.

use std::collections::BTreeMap;
use std::fmt;

use pintle_objects::ObjectId;
use pintle_plan::FieldConflict;
use pintle_plan::conflicts::{Elements, quoted_path};
use pintle_plan::field_owners::managers;
use pintle_tree::{Node, json};
use sha2::{Digest as _, Sha256};

use super::trial::changes;
use super::{PlannedObject, ReleasePlan};
use crate::ops::diff::tidied;

/// Something that has changed since a plan was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleReason {
    /// What has changed: an object, the release, or the plan itself.
    pub what: String,
    /// How.
    pub how: String,
}

impl fmt::Display for StaleReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.how)
    }
}

impl StaleReason {
    pub(super) fn new(what: impl Into<String>, how: impl Into<String>) -> Self {
        StaleReason { what: what.into(), how: how.into() }
    }
}

/// Controllers of the control plane complete objects while they work (a claim gets its volume, a Service its address).
/// Such changes do not make a plan stale.
const CONTROL_PLANE: [&str; 5] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "cloud-controller-manager"];

/// The most fields that are listed for an object.
const MAX_FIELDS: usize = 8;

/// Returns what differs between a plan and the same plan made now.
pub(super) fn compare(saved: &ReleasePlan, now: &ReleasePlan) -> Vec<StaleReason> {
    let mut moved = Vec::new();
    if (saved.from, saved.from_status) != (now.from, now.from_status) {
        moved.push(release_moved(saved, now));
    }
    let mut current: BTreeMap<&ObjectId, &PlannedObject> =
        now.objects.iter().map(|object| (&object.id, object)).collect();
    for object in &saved.objects {
        match current.remove(&object.id) {
            Some(now) => moved.extend(object_moved(object, now)),
            None => moved.push(StaleReason::new(describe(&object.id), "is no longer part of the plan")),
        }
    }
    let new = current.into_values().filter(|object| object.action.is_change());
    moved.extend(new.map(|object| {
        StaleReason::new(describe(&object.id), format!("is now to {} as well", object.action.name()))
    }));
    moved
}

fn release_moved(saved: &ReleasePlan, now: &ReleasePlan) -> StaleReason {
    let state = |plan: &ReleasePlan| match (plan.from, plan.from_status) {
        (Some(number), Some(status)) => format!("at version {number} ({})", status.as_str()),
        _ => "not installed".to_owned(),
    };
    StaleReason::new(
        format!("release {}", saved.release),
        format!("was {}, and is {}", state(saved), state(now)),
    )
}

fn object_moved(saved: &PlannedObject, now: &PlannedObject) -> Option<StaleReason> {
    let what = describe(&saved.id);
    match (saved.exists(), now.exists()) {
        (true, false) => return Some(StaleReason::new(what, "has been deleted")),
        (false, true) => return Some(StaleReason::new(what, "has been created")),
        _ => {}
    }
    let fields = fields_moved(saved, now);
    if !fields.is_empty() {
        return Some(StaleReason::new(what, fields.join(", ")));
    }
    if saved.before_digest() != now.before_digest() {
        return Some(StaleReason::new(what, "its content has changed"));
    }
    if saved.action != now.action {
        let how = format!("was to {}, and is now to {}", saved.action.name(), now.action.name());
        return Some(StaleReason::new(what, how));
    }
    match (&saved.problem, &now.problem) {
        (None, Some(problem)) => Some(StaleReason::new(what, format!("would now be refused: {problem}"))),
        _ => None,
    }
}

/// The fields that others have changed, with what they were and are.
fn fields_moved(saved: &PlannedObject, now: &PlannedObject) -> Vec<String> {
    let (Some(before), Some(after)) = (&saved.before, &now.before) else { return Vec::new() };
    let is_theirs = |path: &str| {
        // Fields that a plan leaves to their managers may change between planning and applying.
        let is_here = |conflict: &FieldConflict| match &now.live {
            Some(live) => quoted_path(live, &conflict.field, Elements::ByIndex) == path,
            None => conflict.field == path,
        };
        let yielded = saved.yielded.iter().chain(&now.yielded).any(is_here);
        let owners = now.live.as_ref().map(|live| managers(live, path)).unwrap_or_default();
        yielded || (!owners.is_empty() && owners.iter().all(|owner| CONTROL_PLANE.contains(&owner.as_str())))
    };
    let moved = changes(before.as_bytes(), after.as_bytes());
    let moved: Vec<_> = moved.into_iter().filter(|change| !is_theirs(&change.path)).collect();
    let value = |node: Option<&Node>| match node {
        None => "unset".to_owned(),
        Some(node) => {
            let text = json::write(node).unwrap_or_default();
            String::from_utf8_lossy(&text).chars().take(60).collect()
        }
    };
    let mut lines: Vec<String> = moved
        .iter()
        .take(MAX_FIELDS)
        .map(|change| {
            let (was, is) = (value(change.before.as_ref()), value(change.after.as_ref()));
            format!("{} was {was}, and is {is}", change.path)
        })
        .collect();
    if moved.len() > MAX_FIELDS {
        lines.push(format!("and {} more fields", moved.len() - MAX_FIELDS));
    }
    lines
}

impl PlannedObject {
    /// Whether the object exists before the plan is applied.
    fn exists(&self) -> bool {
        self.before.is_some() || self.saved_digest.is_some() || self.live.is_some()
    }

    /// A digest of what the text of an object does not show: the values of Secrets, and those at sensitive paths. Objects
    /// that are shown as they are have none.
    pub(super) fn before_digest(&self) -> Option<String> {
        let is_secret = self.id.kind == "Secret" && self.id.group.is_empty();
        if !is_secret && !self.is_hidden {
            return None;
        }
        let live = match (&self.saved_digest, &self.live) {
            (Some(digest), _) => return Some(digest.clone()),
            (None, live) => live.as_ref()?,
        };
        let data = match is_secret {
            true => live.at(&["data"]).map(|data| json::write(data).unwrap_or_default()).unwrap_or_default(),
            false => tidied(live).to_json(),
        };
        let mut digest = Sha256::new();
        digest.update(live.uid());
        digest.update(data);
        Some(format!("{:x}", digest.finalize()))
    }
}

/// `Kind namespace/name`.
pub(super) fn describe(id: &ObjectId) -> String {
    match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    }
}

//! One step of a plan, and the request for it.

use std::collections::BTreeSet;

use pintle_objects::{Object, ObjectId};
use pintle_tree::{Map, Node};

use crate::diff::{Difference, differences, missing_or_changed};
use crate::patch::{self, MergeKeys, PatchError};

/// What to do about one object.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The object.
    pub id: ObjectId,
    /// What to do.
    pub action: Action,
    /// The desired object; `None` when it is to be deleted.
    pub desired: Option<&'a Object>,
    /// The object of the previous release.
    pub previous: Option<&'a Object>,
    /// The live object when the plan was computed.
    pub live: Option<&'a Object>,
}

/// What is done about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does not exist: create it.
    Create,
    /// It exists: update it, and remove what only the merge base has.
    Update {
        /// What to compare with.
        base: MergeBase,
    },
    /// It exists and was not part of the release: update it and remove nothing.
    Adopt,
    /// It is no longer desired: delete it.
    Delete,
    /// It is no longer desired, but its resource policy keeps it.
    Keep,
    /// It is no longer desired, and does not exist any more.
    Forget,
}

/// The base of the three-way merge, which determines what is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBase {
    /// The object of the previous release.
    Previous,
    /// The live object, when the previous state is unknown.
    Live,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The server merges (server-side apply).
    ServerSide,
    /// We merge and send a patch (client-side apply).
    ClientSide {
        /// Whether custom resources are compared with the live object too, instead of only with the previous release.
        custom_three_way: bool,
    },
    /// The object is replaced as a whole.
    Replace,
}

/// The request for a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// None.
    Unchanged,
    /// Create the object.
    Create,
    /// Server-side apply.
    Apply,
    /// Replace the object.
    Replace,
    /// A strategic merge patch.
    Strategic(Map<Node>),
    /// A JSON merge patch.
    Merge(Map<Node>),
    /// Delete the object.
    Delete,
}

impl Method {
    /// Whether [`Change::for_step`] needs the merge keys of this kind to update an object.
    pub fn needs_merge_keys(self, id: &ObjectId) -> bool {
        matches!(self, Method::ClientSide { .. }) && patch::is_strategic(id)
    }
}

impl<'a> Step<'a> {
    /// The base of the three-way merge.
    pub fn base(&self) -> Option<&'a Object> {
        match self.action {
            Action::Update { base: MergeBase::Previous } => self.previous,
            Action::Update { base: MergeBase::Live } => self.live,
            // An object that was never part of the release has nothing to remove.
            Action::Adopt => self.desired,
            _ => None,
        }
    }

    /// The fields that this step changes, as far as that is known without the kind's schema: desired fields that
    /// differ, and previous fields that are no longer desired and still there.
    pub fn changes(&self) -> Vec<Difference<'a>> {
        let (Some(desired), Some(live)) = (self.desired, self.live) else { return Vec::new() };
        let mut changes = missing_or_changed(live.body(), desired.body());
        if let (Action::Update { base: MergeBase::Previous }, Some(previous)) = (self.action, self.previous) {
            // Removed only if it was part of the previous release: fields that others have added stay, as in the
            // patch itself.
            let dropped: BTreeSet<String> = differences(previous.body(), desired.body())
                .into_iter()
                .filter_map(|difference| difference.after.is_none().then_some(difference.path))
                .collect();
            let there = differences(live.body(), desired.body()).into_iter();
            changes.extend(there.filter(|found| found.after.is_none() && dropped.contains(&found.path)));
        }
        changes
    }
}

impl Change {
    /// Returns the request for a step. The merge keys are used where [`Method::needs_merge_keys`] holds.
    ///
    /// # Errors
    /// When a patch is needed and the object does not match its schema.
    pub fn for_step(step: &Step<'_>, method: Method, keys: &MergeKeys) -> Result<Change, PatchError> {
        match step.action {
            // An apply creates what does not exist. A create would record the fields as an update, which the next
            // apply could not remove.
            Action::Create if method == Method::ServerSide => return Ok(Change::Apply),
            Action::Create => return Ok(Change::Create),
            Action::Delete => return Ok(Change::Delete),
            Action::Keep | Action::Forget => return Ok(Change::Unchanged),
            Action::Update { .. } | Action::Adopt => {}
        }
        let custom_three_way = match method {
            Method::ServerSide => return Ok(Change::Apply),
            Method::Replace => return Ok(Change::Replace),
            Method::ClientSide { custom_three_way } => custom_three_way,
        };
        let (Some(base), Some(desired), Some(live)) = (step.base(), step.desired, step.live) else {
            return Ok(Change::Unchanged);
        };
        let change = if patch::is_strategic(&step.id) {
            Change::Strategic(patch::three_way_strategic(base, desired, live, keys)?)
        } else if custom_three_way {
            Change::Merge(patch::three_way_json(base, desired, live)?)
        } else {
            Change::Merge(patch::two_way_json(base, desired))
        };
        match change {
            Change::Strategic(body) | Change::Merge(body) if body.is_empty() => Ok(Change::Unchanged),
            change => Ok(change),
        }
    }
}

/// Groups steps into batches: neighbours of one kind, which can run concurrently. A batch starts when all before it
/// are done.
/// Helm's `batchPerform` also compares kinds without their group.
pub fn batches<'s, 'a>(steps: &'s [Step<'a>]) -> impl Iterator<Item = &'s [Step<'a>]> {
    steps.chunk_by(|step, next| step.id.kind == next.id.kind)
}

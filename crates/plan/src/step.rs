//! One step of a plan, and what has to be sent for it.

use std::collections::BTreeSet;

use pintle_objects::{Object, ObjectId};
use pintle_tree::{Map, Node};

use crate::diff::{Difference, differences, missing_or_changed};
use crate::patch::{self, MergeKeys, PatchError};

/// What is done about one object.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The object.
    pub id: ObjectId,
    /// What is done about it.
    pub action: Action,
    /// The object as it is wanted; nothing when it is to go.
    pub desired: Option<&'a Object>,
    /// The object as it was wanted before.
    pub previous: Option<&'a Object>,
    /// The object as it is, when the plan is made.
    pub live: Option<&'a Object>,
}

/// What is done about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is not there: create it.
    Create,
    /// It is there: bring it to what is wanted, taking away what only the base has.
    Update {
        /// What it is compared with.
        base: MergeBase,
    },
    /// It is there and was not part of the release: bring it to what is wanted and take nothing away.
    Adopt,
    /// It is no longer wanted: delete it.
    Delete,
    /// It is no longer wanted, but asks to be kept.
    Keep,
    /// It is no longer wanted, and gone already.
    Forget,
}

/// What an object that is there is compared with, to find what is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBase {
    /// The object as it was wanted before.
    Previous,
    /// The live object: nobody knows what was wanted before.
    Live,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The server merges (server-side apply).
    ServerSide,
    /// We merge and send a patch (client-side apply).
    ClientSide {
        /// Whether kinds that are not built in are compared with the live object too, instead of only with what was
        /// wanted before.
        custom_three_way: bool,
    },
    /// The object is replaced as a whole.
    Replace,
}

/// What is to be sent for a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing.
    Unchanged,
    /// The whole object, as a new one.
    Create,
    /// The whole object, by server-side apply.
    Apply,
    /// The whole object, in place of the old one.
    Replace,
    /// A strategic merge patch.
    Strategic(Map<Node>),
    /// A JSON merge patch.
    Merge(Map<Node>),
    /// A deletion.
    Delete,
}

impl Method {
    /// Whether [`Change::for_step`] needs the merge keys of this kind to update an object.
    pub fn needs_merge_keys(self, id: &ObjectId) -> bool {
        matches!(self, Method::ClientSide { .. }) && patch::is_strategic(id)
    }
}

impl<'a> Step<'a> {
    /// What the live object is compared with, to find what is no longer wanted.
    pub fn base(&self) -> Option<&'a Object> {
        match self.action {
            Action::Update { base: MergeBase::Previous } => self.previous,
            Action::Update { base: MergeBase::Live } => self.live,
            // What was never part of the release has nothing in it that the release no longer wants.
            Action::Adopt => self.desired,
            _ => None,
        }
    }

    /// The fields that this step changes as far as one can tell without knowing the kind: what is wanted and not so,
    /// and what was wanted, is no longer and still there.
    pub fn changes(&self) -> Vec<Difference<'a>> {
        let (Some(desired), Some(live)) = (self.desired, self.live) else { return Vec::new() };
        let mut changes = missing_or_changed(live.body(), desired.body());
        if let (Action::Update { base: MergeBase::Previous }, Some(previous)) = (self.action, self.previous) {
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
    /// Returns what has to be sent for a step. The merge keys matter where [`Method::needs_merge_keys`] says so.
    ///
    /// # Errors
    /// When a patch is needed and the object does not fit its kind.
    pub fn for_step(step: &Step<'_>, method: Method, keys: &MergeKeys) -> Result<Change, PatchError> {
        match step.action {
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

/// Cuts steps into batches: runs of neighbours of one kind, which can be done side by side. A batch begins when all
/// before it are done.
pub fn batches<'s, 'a>(steps: &'s [Step<'a>]) -> impl Iterator<Item = &'s [Step<'a>]> {
    steps.chunk_by(|step, next| step.id.kind == next.id.kind)
}

//! The plan: a step for every desired object and for every object of the previous release.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};

use crate::ownership;
use crate::snapshot::Snapshot;
use crate::step::{Action, MergeBase, Step};

/// Helm's annotation that keeps objects from being deleted.
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// The input of a plan. Namespaces must be set already.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The desired objects, in the order of the manifest, with the ownership metadata of the release.
    pub desired: &'a [Object],
    /// The objects of the previous release, in the order of its manifest.
    pub previous: &'a [Object],
    /// The live objects of both.
    pub live: &'a Snapshot,
    /// Which existing objects may become part of the release.
    pub adoption: Adoption<'a>,
    /// Which objects that are no longer desired are deleted.
    pub deletion: DeletionRule,
}

/// Which objects of the previous release are deleted when they are no longer desired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionRule {
    /// Those that exist and whose live resource policy does not keep them: install, upgrade and rollback.
    #[default]
    ByLivePolicy,
    /// All, without reading the live objects: uninstall. Helm reads the policy from the manifest then (see
    /// [`removal`](crate::removal)), and the owner right before the deletion; an object that is gone already is not an error.
    All,
}

/// Which existing objects that were not part of the release may become part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption<'a> {
    /// Those whose ownership metadata names the release: install and upgrade.
    Marked {
        /// The release.
        release: &'a str,
        /// The namespace of the release.
        namespace: &'a str,
    },
    /// All: `--take-ownership`.
    Any,
    /// All, without a check, and compared with their live state: rollback.
    Unchecked,
}

/// What to do, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan<'a> {
    /// A step for every desired object.
    pub steps: Vec<Step<'a>>,
    /// A step for every object that is no longer desired; these run last.
    pub removals: Vec<Step<'a>>,
}

/// Why there is no plan. The messages are Helm's, and follow a prefix such as `unable to continue with install`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An object exists and belongs to another release or to none.
    #[error("{} exists and cannot be imported into the current release: {why}", ownership::describe(id))]
    NotOwned {
        /// The object.
        id: Box<ObjectId>,
        /// What is wrong with its ownership metadata.
        why: ownership::OwnershipError,
    },
    /// An object has neither `name` nor `generateName`.
    #[error(
        "could not get information about the resource {} {:?} in namespace {:?}: resource name may not be empty",
        .id.kind, .id.name, .id.namespace
    )]
    NoName {
        /// The object.
        id: Box<ObjectId>,
    },
    /// An object has both `name` and `generateName`.
    #[error("metadata.name and metadata.generateName cannot both be set")]
    TwoNames {
        /// The object.
        id: Box<ObjectId>,
    },
}

impl Plan<'_> {
    /// Whether objects are created, adopted or deleted, so that the set of objects of the release changes.
    pub fn changes_membership(&self) -> bool {
        let changes =
            |step: &Step<'_>| matches!(step.action, Action::Create | Action::Adopt | Action::Delete);
        self.steps.iter().chain(&self.removals).any(changes)
    }
}

/// Computes the plan.
///
/// # Errors
/// The first object that may not become part of the release.
pub fn plan<'a>(input: &PlanInput<'a>) -> Result<Plan<'a>, Error> {
    let previous = ObjectIndex::new(input.previous);
    let desired = ObjectIndex::new(input.desired);
    let mut plan = Plan::default();
    for (object, id) in input.desired.iter().zip(&desired.ids) {
        plan.steps.push(step(input, object, id, previous.find(id))?);
    }
    for (object, id) in input.previous.iter().zip(&previous.ids) {
        if desired.find(id).is_none() {
            plan.removals.push(removal_step(input, object, id));
        }
    }
    Ok(plan)
}

fn step<'a>(
    input: &PlanInput<'a>,
    object: &'a Object,
    id: &ObjectId,
    previous: Option<&'a Object>,
) -> Result<Step<'a>, Error> {
    let made_up_name = !object.text(&["metadata", "generateName"]).is_empty();
    if input.adoption != Adoption::Unchecked && id.name.is_empty() && !made_up_name {
        return Err(Error::NoName { id: Box::new(id.clone()) });
    }
    let live = if id.name.is_empty() { None } else { input.live.get(id) };
    // Helm's `objectKey` contains the API version: an object that moves to another version of its group is new to it.
    let is_new = previous.is_none_or(|previous| previous.api_version() != object.api_version());
    if is_new && input.adoption != Adoption::Unchecked && made_up_name && !id.name.is_empty() {
        return Err(Error::TwoNames { id: Box::new(id.clone()) });
    }
    // An object whose API version changed is checked again, as Helm does, and still compared with its previous state.
    if let (true, Adoption::Marked { release, namespace }, Some(live)) = (is_new, input.adoption, live) {
        let not_owned = |why| Error::NotOwned { id: Box::new(id.clone()), why };
        ownership::check(live, release, namespace).map_err(not_owned)?;
    }
    let action = match (live, previous, input.adoption) {
        (None, _, _) => Action::Create,
        (Some(_), Some(_), _) => Action::Update { base: MergeBase::Previous },
        (Some(_), None, Adoption::Unchecked) => Action::Update { base: MergeBase::Live },
        (Some(_), None, _) => Action::Adopt,
    };
    Ok(Step { id: id.clone(), action, desired: Some(object), previous, live })
}

fn removal_step<'a>(input: &PlanInput<'a>, object: &'a Object, id: &ObjectId) -> Step<'a> {
    let live = input.live.get(id);
    // The live annotation decides, and only this exact spelling: users may set it in the cluster.
    let action = match (input.deletion, live.map(|live| live.annotation(RESOURCE_POLICY))) {
        (DeletionRule::All, _) => Action::Delete,
        (DeletionRule::ByLivePolicy, None) => Action::Forget,
        (DeletionRule::ByLivePolicy, Some(Some("keep"))) => Action::Keep,
        (DeletionRule::ByLivePolicy, Some(_)) => Action::Delete,
    };
    Step { id: id.clone(), action, desired: None, previous: Some(object), live }
}

/// Objects by identity, regardless of API version.
struct ObjectIndex<'a> {
    objects: &'a [Object],
    ids: Vec<ObjectId>,
    /// Positions by identity.
    sorted: BTreeMap<[String; 4], usize>,
}

impl<'a> ObjectIndex<'a> {
    fn new(objects: &'a [Object]) -> Self {
        let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
        let mut sorted = BTreeMap::new();
        for (index, id) in ids.iter().enumerate() {
            // The first of duplicates counts, as in Helm.
            sorted.entry(index_key(id)).or_insert(index);
        }
        ObjectIndex { objects, ids, sorted }
    }

    fn find(&self, id: &ObjectId) -> Option<&'a Object> {
        self.sorted.get(&index_key(id)).map(|index| &self.objects[*index])
    }
}

fn index_key(id: &ObjectId) -> [String; 4] {
    [id.group.clone(), id.kind.clone(), id.namespace.clone(), id.name.clone()]
}

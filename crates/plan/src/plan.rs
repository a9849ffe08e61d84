//! The plan: what to do about every object that is wanted or was.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};

use crate::ownership;
use crate::snapshot::Snapshot;
use crate::step::{Action, MergeBase, Step};

/// The annotation that says what becomes of an object that is no longer wanted.
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// All that a plan is made from. The objects have their namespaces filled in already.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// What is wanted, in the order of the manifest and marked as part of the release.
    pub desired: &'a [Object],
    /// What was wanted before, in the order of the manifest.
    pub previous: &'a [Object],
    /// What is there of both.
    pub live: &'a Snapshot,
    /// Which objects that are there and were not part of the release may become part of it.
    pub adoption: Adoption<'a>,
}

/// Which objects that are there and were not part of the release may become part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption<'a> {
    /// Those that are marked as its own: installing and upgrading.
    Marked {
        /// The release.
        release: &'a str,
        /// The namespace of the release.
        namespace: &'a str,
    },
    /// All: taking ownership.
    Any,
    /// Nobody asks, and they are compared with themselves: rolling back.
    Unchecked,
}

/// What has to be done, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan<'a> {
    /// A step for every object that is wanted.
    pub steps: Vec<Step<'a>>,
    /// A step for every object that was wanted and is no longer; these come last.
    pub removals: Vec<Step<'a>>,
}

/// Why there is no plan. The texts are Helm's, and complete a sentence such as `unable to continue with install`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An object is there and belongs to somebody else.
    #[error("{} exists and cannot be imported into the current release: {why}", ownership::describe(id))]
    NotOwned {
        /// The object.
        id: Box<ObjectId>,
        /// What is wrong with its marks.
        why: ownership::OwnershipError,
    },
    /// An object has no name, and wants none made up.
    #[error(
        "could not get information about the resource {} {:?} in namespace {:?}: resource name may not be empty",
        .id.kind, .id.name, .id.namespace
    )]
    NoName {
        /// The object.
        id: Box<ObjectId>,
    },
    /// An object has a name and wants one made up.
    #[error("metadata.name and metadata.generateName cannot both be set")]
    TwoNames {
        /// The object.
        id: Box<ObjectId>,
    },
}

impl Plan<'_> {
    /// Whether an object is created, adopted or deleted, so that the set of objects of the release changes.
    pub fn changes_membership(&self) -> bool {
        let changes =
            |step: &Step<'_>| matches!(step.action, Action::Create | Action::Adopt | Action::Delete);
        self.steps.iter().chain(&self.removals).any(changes)
    }
}

/// Decides what to do.
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
    let is_new = previous.is_none_or(|previous| previous.api_version() != object.api_version());
    if is_new && input.adoption != Adoption::Unchecked && made_up_name && !id.name.is_empty() {
        return Err(Error::TwoNames { id: Box::new(id.clone()) });
    }
    // An object that comes back in another version is asked for its marks again, and still compared with what it was.
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
    // The live object decides, in exactly this spelling: whoever wants to keep it may say so in the cluster.
    let action = match live.map(|live| live.annotation(RESOURCE_POLICY)) {
        None => Action::Forget,
        Some(Some("keep")) => Action::Keep,
        Some(_) => Action::Delete,
    };
    Step { id: id.clone(), action, desired: None, previous: Some(object), live }
}

/// Objects by who they are, whatever their version.
struct ObjectIndex<'a> {
    objects: &'a [Object],
    ids: Vec<ObjectId>,
    /// Positions, by the index_key that make an object unique.
    sorted: BTreeMap<[String; 4], usize>,
}

impl<'a> ObjectIndex<'a> {
    fn new(objects: &'a [Object]) -> Self {
        let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
        let mut sorted = BTreeMap::new();
        for (index, id) in ids.iter().enumerate() {
            // The first of equals counts.
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

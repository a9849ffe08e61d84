//! The desired, previous and live state of a release: the input of a plan.

use pintle_cluster::{Detail, Resource};
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::sequence::Stages;
use pintle_plan::{Adoption, DeletionRule, Plan, PlanInput, Removal, Snapshot, ownership};
use pintle_release::{ReleaseVersion, Store};

use super::apply::add_owner;
use super::build::{self, Parts};
use super::orphans::{self, Orphan};
use super::sequence;
use crate::options::Method;
use crate::{Error, Result, Session, crds};

/// Which existing objects may become part of the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdoptionPolicy {
    /// Objects with the ownership labels of this release.
    OwnedOnly,
    /// All objects (`--take-ownership`).
    All,
    /// All objects without a check, for rollbacks: ownership was checked when the version was first deployed.
    Unchecked,
}

/// How the state is loaded and compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanOptions {
    /// Who merges changes into live objects.
    pub(crate) method: Method,
    /// Which existing objects may become part of the release.
    pub(crate) adoption: AdoptionPolicy,
    /// Whether documents are validated before they are decoded.
    pub(crate) validation: Validation,
    /// Whether objects are applied in the order that the chart asks for.
    pub(crate) ordered: bool,
}

/// The three inputs of a three-way merge, for all objects of a release.
#[derive(Debug)]
pub(crate) struct ThreeWayState {
    release: String,
    namespace: String,
    desired: Vec<Object>,
    previous: Vec<Object>,
    live: Snapshot,
    adoption: AdoptionPolicy,
    /// The kinds that CRDs of the release bring and that are not served yet.
    new_kinds: Vec<Resource>,
    deletion: DeletionRule,
    /// The stages of the desired objects, which are in their order; for an uninstall, of the previous ones in reverse.
    stages: Option<Stages>,
}

impl ThreeWayState {
    /// Builds the objects of a version and of an earlier one, and reads the live objects.
    ///
    /// # Errors
    /// When a manifest contains a document that is not an object, or a kind that the cluster does not serve.
    pub(crate) async fn load(
        session: &Session,
        version: &ReleaseVersion,
        earlier: Option<&ReleaseVersion>,
        options: PlanOptions,
    ) -> Result<ThreeWayState> {
        ThreeWayState::load_parts(session, version, earlier, options, Parts::All).await
    }

    /// As [`ThreeWayState::load`], with only a part of the desired objects, for checks.
    ///
    /// # Errors
    /// As [`ThreeWayState::load`].
    pub(crate) async fn load_parts(
        session: &Session,
        version: &ReleaseVersion,
        earlier: Option<&ReleaseVersion>,
        options: PlanOptions,
        parts: Parts,
    ) -> Result<ThreeWayState> {
        let PlanOptions { method, adoption, validation, ordered } = options;
        let mut new_kinds = session.cluster.announced_kinds().to_vec();
        let definitions = crds::in_manifest(&version.manifest);
        let definitions: Vec<&Object> = definitions.iter().collect();
        new_kinds.extend(crds::new_kinds(&session.cluster, &definitions).await);
        let with_new_kinds;
        let cluster = match new_kinds.is_empty() {
            true => &session.cluster,
            false => {
                with_new_kinds = session.cluster.with_kinds(new_kinds.clone());
                &with_new_kinds
            }
        };
        let mut desired = build::parts(cluster, &version.manifest, &version.namespace, validation, parts)
            .await
            .map_err(|source| build::failed(source, earlier.is_some(), adoption))?;
        let mut stages = if ordered { sequence::of_version(version, &desired)? } else { None };
        if let Some(stages) = &mut stages {
            sequence::check_readiness(stages, &desired)?;
        }
        let stages = stages.map(|stages| in_order(&mut desired, stages, Direction::Forward));
        // After sorting: the annotations about the order are never sent, as Kubernetes rejects one of the keys.
        for object in &mut desired {
            sequence::strip(object);
            ownership::set(object, &version.name, &version.namespace);
        }
        let mut previous = match earlier {
            Some(earlier) => {
                build::objects(cluster, &earlier.manifest, &earlier.namespace, Validation::Ignore)
                    .await
                    .map_err(|source| Error::Build {
                        what: "current release manifest",
                        cause: Box::new(source),
                    })?
            }
            None => Vec::new(),
        };
        previous.iter_mut().for_each(sequence::strip);
        let ids: Vec<ObjectId> = desired.iter().chain(&previous).map(Object::id).collect();
        // The server merges a server-side apply itself; what the plan needs (owner, policy, managers) is in the
        // metadata.
        let depth = if method == Method::ClientSide { Detail::Full } else { Detail::MetadataOnly };
        // If only heads are loaded and owners are not checked, live objects make no difference.
        let live = match (parts, adoption) {
            (Parts::Head, AdoptionPolicy::Unchecked) => Snapshot::default(),
            _ => cluster.snapshot(&ids, depth).await.map_err(|error| get_failed(error, earlier, adoption))?,
        };
        let (release, namespace) = (version.name.clone(), version.namespace.clone());
        let deletion = DeletionRule::ByLivePolicy;
        Ok(ThreeWayState {
            release,
            namespace,
            desired,
            previous,
            live,
            adoption,
            new_kinds,
            deletion,
            stages,
        })
    }

    /// Returns the state of an uninstall: nothing is desired. The live objects are not read here: who owns them is checked
    /// right before they are deleted, after the hooks.
    ///
    /// # Errors
    /// Groups or subcharts that depend on each other.
    pub(crate) fn for_removal(
        version: &ReleaseVersion,
        removal: &Removal,
        ordered: bool,
    ) -> Result<ThreeWayState> {
        let mut previous = removal.delete.clone();
        let stages = if ordered { sequence::of_version(version, &previous)? } else { None };
        let stages = stages.map(|stages| in_order(&mut previous, stages, Direction::Backward));
        Ok(ThreeWayState {
            release: version.name.clone(),
            namespace: version.namespace.clone(),
            desired: Vec::new(),
            previous,
            live: Snapshot::default(),
            adoption: AdoptionPolicy::Unchecked,
            new_kinds: Vec::new(),
            deletion: DeletionRule::All,
            stages,
        })
    }

    /// Sets the namespaces of the objects to remove.
    ///
    /// # Errors
    /// All kinds that the cluster does not serve.
    pub(crate) async fn scope(&mut self, session: &Session) -> Result<()> {
        self.previous = build::in_scope(&session.cluster, self.previous.clone(), &self.namespace).await?;
        Ok(())
    }

    /// Adds existing objects of failed versions as previous state, so that the plan deletes them.
    ///
    /// # Errors
    /// When the cluster cannot be read.
    pub(crate) async fn add_orphans(
        &mut self,
        session: &Session,
        unfinished: &[ReleaseVersion],
    ) -> Result<()> {
        let known: Vec<&Object> = self.desired.iter().chain(&self.previous).collect();
        for Orphan { object, live } in orphans::find(session, unfinished, &known).await? {
            self.previous.push(object);
            self.live.insert(live);
        }
        Ok(())
    }

    /// Computes the steps from the live to the desired state.
    ///
    /// # Errors
    /// When an object exists that belongs to another owner.
    pub(crate) fn plan(&self) -> Result<Plan<'_>, Box<pintle_plan::Error>> {
        let adoption = match self.adoption {
            AdoptionPolicy::OwnedOnly => {
                Adoption::Marked { release: &self.release, namespace: &self.namespace }
            }
            AdoptionPolicy::All => Adoption::Any,
            AdoptionPolicy::Unchecked => Adoption::Unchecked,
        };
        let ThreeWayState { desired, previous, live, deletion, .. } = self;
        let input = PlanInput { desired, previous, live, adoption, deletion: *deletion };
        pintle_plan::plan(&input).map_err(Box::new)
    }

    /// Sets the owner of the desired objects, as the executor does before it applies them. A release that is yet to be
    /// recorded has none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn set_owner(&mut self, store: &dyn Store) -> Result<()> {
        if let Some(owner) = store.owner(&self.namespace, &self.release).await? {
            for object in &mut self.desired {
                add_owner(object, &self.namespace, &owner);
            }
        }
        Ok(())
    }

    /// Replaces the live objects, which may be metadata only, by complete ones.
    ///
    /// # Errors
    /// When the cluster cannot be read.
    pub(crate) async fn complete(&mut self, session: &Session) -> Result<()> {
        let ids: Vec<ObjectId> = self.desired.iter().chain(&self.previous).map(Object::id).collect();
        self.live = session.cluster.snapshot(&ids, Detail::Full).await?;
        Ok(())
    }

    /// As [`ThreeWayState::complete`], for an uninstall, which keeps what it cannot read. Returns these objects.
    pub(crate) async fn complete_readable(
        &mut self,
        session: &Session,
    ) -> Vec<(ObjectId, pintle_cluster::Error)> {
        let ids: Vec<ObjectId> = self.previous.iter().map(Object::id).collect();
        let read = session.cluster.snapshot_readable(&ids, Detail::Full).await;
        self.live = read.live;
        read.unreadable
    }

    /// Returns the kinds that CRDs of the release bring and that were not served when the state was loaded.
    pub(crate) fn new_kinds(&self) -> &[Resource] {
        &self.new_kinds
    }

    /// Returns the stages of the desired objects; for an uninstall, of those to delete.
    pub(crate) fn stages(&self) -> Option<&Stages> {
        self.stages.as_ref()
    }

    pub(super) fn desired(&self) -> &[Object] {
        &self.desired
    }

    /// Returns whether there is no previous state, so that every object is created.
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_empty() && self.adoption != AdoptionPolicy::Unchecked
    }
}

/// Whether objects are applied, or deleted in the opposite order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Sorts objects by their stage, and returns the stages in the new order. Within a stage, they stay as they are.
fn in_order(objects: &mut Vec<Object>, stages: Stages, direction: Direction) -> Stages {
    let last = stages.count().saturating_sub(1);
    let number = |stage: usize| if direction == Direction::Backward { last - stage } else { stage };
    let mut entries: Vec<(usize, bool, Object)> = std::mem::take(objects)
        .into_iter()
        .zip(stages.stages.iter().zip(&stages.is_awaited))
        .map(|(object, (stage, is_awaited))| (number(*stage), *is_awaited, object))
        .collect();
    entries.sort_by_key(|(stage, _, _)| *stage);
    let mut sorted = Stages { warnings: stages.warnings, ..Stages::default() };
    for (stage, is_awaited, object) in entries {
        sorted.stages.push(stage);
        sorted.is_awaited.push(is_awaited);
        objects.push(object);
    }
    sorted
}

/// Adds Helm's prefix for a live object that cannot be read. A rollback reads objects only while it applies them, and
/// its message does not name the object.
fn get_failed(
    error: pintle_cluster::Error,
    earlier: Option<&ReleaseVersion>,
    adoption: AdoptionPolicy,
) -> Error {
    match error {
        pintle_cluster::Error::Context { source, .. } if adoption == AdoptionPolicy::Unchecked => {
            source.during("could not get information about the resource").into()
        }
        error => Error::GetFailed {
            operation: if earlier.is_some() { "update" } else { "install" },
            cause: Box::new(error),
        },
    }
}

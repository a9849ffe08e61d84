//! The desired, previous and live state of a release: the input of a plan.

use pintle_cluster::Detail;
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::{Adoption, Plan, PlanInput, Snapshot, ownership};
use pintle_release::{ReleaseVersion, Store};

use super::apply::add_owner;
use super::build;
use super::orphans::{self, Orphan};
use crate::options::Method;
use crate::{Error, Result, Session};

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
        let PlanOptions { method, adoption, validation } = options;
        let cluster = &session.cluster;
        let mut desired = build::objects(cluster, &version.manifest, &version.namespace, validation)
            .await
            .map_err(|source| build::failed(source, earlier.is_some(), adoption))?;
        for object in &mut desired {
            ownership::set(object, &version.name, &version.namespace);
        }
        let previous = match earlier {
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
        let ids: Vec<ObjectId> = desired.iter().chain(&previous).map(Object::id).collect();
        let depth = if method == Method::ClientSide { Detail::Full } else { Detail::MetadataOnly };
        let live =
            cluster.snapshot(&ids, depth).await.map_err(|error| get_failed(error, earlier, adoption))?;
        let (release, namespace) = (version.name.clone(), version.namespace.clone());
        Ok(ThreeWayState { release, namespace, desired, previous, live, adoption })
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
        let known = self.desired.iter().chain(&self.previous);
        for Orphan { object, live } in orphans::find(session, unfinished, known).await? {
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
        let ThreeWayState { desired, previous, live, .. } = self;
        pintle_plan::plan(&PlanInput { desired, previous, live, adoption }).map_err(Box::new)
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

    pub(super) fn desired(&self) -> &[Object] {
        &self.desired
    }

    /// Returns the desired objects for changes before they are applied.
    pub(super) fn desired_mut(&mut self) -> &mut [Object] {
        &mut self.desired
    }

    /// Returns whether there is no previous state, so that every object is created.
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_empty() && self.adoption != AdoptionPolicy::Unchecked
    }
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

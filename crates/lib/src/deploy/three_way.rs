//! What is wanted, what was wanted before, and what is there: everything that a plan is made of.

use pintle_cluster::Detail;
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::{Adoption, Plan, PlanInput, Snapshot, ownership};
use pintle_release::ReleaseVersion;

use super::build;
use super::orphans::{self, Orphan};
use crate::options::Method;
use crate::{Error, Result, Session};

/// Whose objects may become part of the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdoptionPolicy {
    /// Those that are marked as its own.
    OwnedOnly,
    /// All.
    All,
    /// All, because this was settled when the version was first delivered.
    Unchecked,
}

/// How a version is looked at before it is delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanOptions {
    /// Who merges.
    pub(crate) method: Method,
    /// Whose objects may become part of the release.
    pub(crate) adoption: AdoptionPolicy,
    /// Whether documents are validated before they are decoded.
    pub(crate) validation: Validation,
}

/// Everything that a plan is made of.
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
    /// Builds what a version wants and what an earlier one wanted, and asks the cluster what is there.
    ///
    /// # Errors
    /// When a manifest holds what is no object, or of a kind that the cluster does not know.
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
                        source: Box::new(source),
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

    /// Adds what is there of versions that did not end well. Where nothing else speaks of an object, it was there
    /// before and is no longer wanted.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
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

    /// What is to be done.
    ///
    /// # Errors
    /// When an object exists that belongs to someone else.
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

    /// The objects that are to be there.
    pub(super) fn desired(&self) -> &[Object] {
        &self.desired
    }

    /// The objects that are to be there, for changing them before they are sent.
    pub(super) fn desired_mut(&mut self) -> &mut [Object] {
        &mut self.desired
    }

    /// Whether nothing was there before, so that everything is made anew.
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_empty() && self.adoption != AdoptionPolicy::Unchecked
    }
}

/// What Helm says when an object cannot be looked at. Rolling back, it does not look before it sends objects, and then
/// does not say which it is.
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
            source: Box::new(error),
        },
    }
}

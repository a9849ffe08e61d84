//! Removes the objects of a release from the cluster.

use std::sync::Arc;

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::{Detail, PropagationPolicy};
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_plan::{Removal, ownership};
use pintle_release::{ReleaseVersion, Summary};

use super::apply::lock;
use super::build::in_scope;
use super::{Executor, Stage, wait};
use crate::options::WaitStrategy;
use crate::{Error, Reporter, Result};

/// What to delete, and the state that was observed before.
pub(crate) struct RemoveRequest<'p> {
    /// The objects to delete and to keep.
    pub(crate) removal: &'p Removal,
    /// Deletion propagation for dependents.
    pub(crate) cascade: PropagationPolicy,
    /// The hook events before and after the deletion.
    pub(crate) events: (HookEvent, HookEvent),
    /// The newest version when it was read. The lease is taken by compare-and-swap on it, so that of two clients only
    /// one proceeds.
    pub(crate) observed: &'p Summary,
    /// Versions whose hooks may not have been cleaned up.
    pub(crate) unfinished: Vec<&'p ReleaseVersion>,
}

impl Executor<'_> {
    /// Runs the pre-delete hooks, deletes the objects, optionally waits, and runs the post-delete hooks. Errors after
    /// the deletion are returned as a list, because the release is gone all the same.
    ///
    /// # Errors
    /// When another client was faster, a pre-delete hook fails, or an object cannot be deleted.
    pub(crate) async fn remove(
        &mut self,
        request: &RemoveRequest<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Error>> {
        self.emit_hook_event(request.events.0).await?;
        let objects = request.removal.delete.clone();
        let (session, namespace) = (self.session, self.version.namespace.clone());
        let scoping = in_scope(&session.cluster, objects, &namespace);
        let (held, objects) = futures::join!(self.acquire_lease(request.observed), scoping);
        held?;
        self.stage = Stage::Applying;
        let lease_guard = Arc::clone(&self.lease_guard);
        let outcome = tokio::select! {
            outcome = self.removal_steps(request, objects, reporter) => outcome,
            stop = lease_guard.until_stopped() => Err(stop),
        };
        self.after_cancel(outcome).await
    }

    async fn removal_steps(
        &mut self,
        request: &RemoveRequest<'_>,
        objects: Result<Vec<Object>>,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Error>> {
        let RemoveRequest { removal, cascade, events: (before, after), .. } = *request;
        self.terminate_hooks_of_failed(request.unfinished.iter().copied()).await;
        self.hooks((before, ""), reporter).await?;
        let name = self.version.name.clone();
        let refused = |source| Error::DeleteFailed { name: name.clone(), source: Box::new(source) };
        let objects = match objects {
            Ok(objects) => objects,
            // The hooks may have installed the missing kinds.
            Err(_) => {
                let again = removal.delete.clone();
                let again = in_scope(&self.session.cluster, again, &self.version.namespace).await;
                again.map_err(refused)?
            }
        };
        let gone = self.delete_all(&objects, cascade).await.map_err(refused)?;
        let mut problems = Vec::new();
        if self.options.wait != WaitStrategy::HookOnly
            && let Err(error) = wait::until_gone(self, &gone).await
        {
            problems.push(error);
        }
        if let Err(error) = self.hooks((after, ""), reporter).await {
            problems.push(error);
        }
        if let Err(error) = self.emit_hook_event(after).await {
            problems.push(error);
        }
        Ok(problems)
    }

    /// Deletes objects kind by kind, those of a kind in parallel. Returns the ones that existed.
    async fn delete_all(&self, objects: &[Object], cascade: PropagationPolicy) -> Result<Vec<ObjectId>> {
        let mut gone = Vec::new();
        let mut errors = Vec::new();
        for batch in objects.chunk_by(|object, next| object.kind() == next.kind()) {
            self.lease_guard.check().await?;
            let outcomes = run_concurrently(batch, |object| {
                let id = object.id();
                async move { (self.session.cluster.delete_object(&id, cascade).await, id) }.boxed()
            });
            for (outcome, id) in outcomes.await {
                match outcome {
                    Ok(true) => gone.push(id),
                    Ok(false) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        match pintle_cluster::Error::aggregate(errors, "; ") {
            None => Ok(gone),
            Some(error) => Err(error.into()),
        }
    }

    /// Deletes the objects that a failed operation created (`--cleanup-on-fail`).
    pub(crate) async fn clean_up(&mut self) -> Result<()> {
        let mut made = std::mem::take(&mut *lock(&self.created));
        // Requests that were in flight when the operation ended may have succeeded. Objects with our ownership labels
        // did not exist before, so they are ours to delete.
        let in_flight = std::mem::take(&mut *lock(&self.in_flight));
        let mut there = self.session.cluster.snapshot(&in_flight, Detail::MetadataOnly).await?;
        let (name, namespace) = (&self.version.name, &self.version.namespace);
        made.extend(in_flight.into_iter().filter(|id| {
            there.remove(id).is_some_and(|live| ownership::check(&live, name, namespace).is_ok())
        }));
        let made: Vec<Object> = made.iter().map(Object::from_id).collect();
        self.delete_all(&made, PropagationPolicy::Background).await.map(drop)
    }
}

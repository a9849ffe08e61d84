//! Taking a release out of the cluster: delivering nothing.

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

/// What a release leaves the cluster with.
pub(crate) struct RemoveRequest<'p> {
    /// The objects that go.
    pub(crate) removal: &'p Removal,
    /// What becomes of the objects that these own.
    pub(crate) cascade: PropagationPolicy,
    /// The hooks before and after.
    pub(crate) events: (HookEvent, HookEvent),
    /// The newest version as it was observed: whoever goes on with it first has the release.
    pub(crate) observed: &'p Summary,
    /// Versions whose hooks nobody may have cleaned up after.
    pub(crate) unfinished: Vec<&'p ReleaseVersion>,
}

impl Executor<'_> {
    /// Runs the hooks before, deletes the objects, waits if asked to, and runs the hooks after. What goes wrong once
    /// the objects are deleted is given back, because the release is gone all the same.
    ///
    /// # Errors
    /// When someone else came first, a hook before fails, or an object cannot be deleted.
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
            // The hooks may have brought the kinds that were missing.
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

    /// Deletes objects, those of one kind together, kind after kind. Gives those that were there.
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

    /// Deletes the objects that a failed operation made.
    pub(crate) async fn clean_up(&mut self) -> Result<()> {
        let mut made = std::mem::take(&mut *lock(&self.created));
        // Of what was on its way when the operation ended, only the cluster knows whether it was made; what carries the
        // marks of the release was not there before.
        let in_flight = std::mem::take(&mut *lock(&self.in_flight));
        let mut there = self.session.cluster.snapshot(&in_flight, Detail::MetadataOnly).await?;
        let (name, namespace) = (&self.version.name, &self.version.namespace);
        made.extend(in_flight.into_iter().filter(|id| {
            there.remove(id).is_some_and(|live| ownership::check(&live, name, namespace).is_ok())
        }));
        let made: Vec<Object> = made.iter().map(Object::of).collect();
        self.delete_all(&made, PropagationPolicy::Background).await.map(drop)
    }
}

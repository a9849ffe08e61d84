//! Deletes objects: those that the new version does not contain, all of an uninstalled release, and what a failed
//! operation created.

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::{Detail, PropagationPolicy};
use pintle_objects::{Object, ObjectId};
use pintle_plan::sequence::Stages;
use pintle_plan::{Action, Plan, RESOURCE_POLICY, ownership};

use super::apply::{lock, outcome};
use super::build::in_scope;
use super::{Deletion, Executor, Ownership, wait};
use crate::progress::{ObjectChange, Progress};
use crate::{Error, Reporter, Result};

impl Executor<'_> {
    /// Deletes the objects that are no longer desired.
    pub(super) async fn delete_removed(
        &mut self,
        plan: &Plan<'_>,
        stages: Option<&Stages>,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        let removals = plan.removals.iter().filter(|step| step.action == Action::Delete);
        match self.deletion {
            Deletion::Obsolete => {
                debug_removals(plan, reporter);
                let removed: Vec<&ObjectId> = removals.map(|step| &step.id).collect();
                self.delete_obsolete(&removed, reporter).await
            }
            Deletion::Uninstall(cascade) => {
                let objects: Vec<Object> = removals.filter_map(|step| step.previous.cloned()).collect();
                // Kinds that were missing when the plan was made may have been installed by hooks.
                let objects = in_scope(&self.session.cluster, objects, &self.version.namespace).await?;
                let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
                // As late as possible: hooks, or other clients meanwhile, may have changed the owner.
                let ownership = Ownership::read(&self.session.cluster, &ids, &self.version).await;
                ownership.log(&self.version.name, reporter);
                self.deleted = self.delete_in_stages(&ids, stages, cascade, &ownership).await?;
                for id in &self.deleted {
                    reporter.report(self.applied(id, ObjectChange::Deleted, false));
                }
                self.kept = ownership.kept;
                Ok(())
            }
        }
    }

    /// Deletes objects of the earlier version, each with Helm's text for an error.
    async fn delete_obsolete(&self, removed: &[&ObjectId], reporter: &mut dyn Reporter) -> Result<()> {
        self.check_lease().await?;
        let results = run_concurrently(removed, |id| {
            async move {
                let deleted = self.session.cluster.delete_object(id, PropagationPolicy::Background).await;
                let what = || format!("namespace={}, name={}, kind={}", id.namespace, id.name, id.kind);
                deleted.map_err(|source| Error::Delete { what: what(), cause: Box::new(source) })
            }
            .boxed()
        })
        .await;
        for (id, result) in removed.iter().zip(&results) {
            reporter.report(match result {
                Ok(_) => self.applied(id, ObjectChange::Deleted, false),
                Err(error) => Progress::Failed { id: (*id).clone(), reason: error.to_string() },
            });
        }
        outcome(results.into_iter().filter_map(Result::err).collect(), " && ")
    }

    /// Deletes all objects that a release owns. An object that others depend on is deleted after these are gone.
    async fn delete_in_stages(
        &self,
        ids: &[ObjectId],
        stages: Option<&Stages>,
        cascade: PropagationPolicy,
        ownership: &Ownership,
    ) -> Result<Vec<ObjectId>> {
        let mut gone = Vec::new();
        let mut rest = ids;
        for stage in stages.into_iter().flat_map(|stages| stages.stages.chunk_by(|one, next| one == next)) {
            let (due, later) = rest.split_at(stage.len().min(rest.len()));
            let deleted = self.delete_all(&ownership.owned_of(due), cascade).await?;
            if !later.is_empty() {
                wait::until_gone(self, &deleted).await?;
            }
            gone.extend(deleted);
            rest = later;
        }
        // What failed versions left behind has no stage.
        gone.extend(self.delete_all(&ownership.owned_of(rest), cascade).await?);
        Ok(gone)
    }

    /// Deletes objects kind by kind, those of a kind in parallel. Returns the ones that existed.
    async fn delete_all(&self, ids: &[ObjectId], cascade: PropagationPolicy) -> Result<Vec<ObjectId>> {
        let mut gone = Vec::new();
        let mut errors = Vec::new();
        for batch in ids.chunk_by(|id, next| id.kind == next.kind) {
            self.lease_guard.check().await?;
            let outcomes =
                run_concurrently(batch, |id| self.session.cluster.delete_object(id, cascade).boxed()).await;
            for (id, outcome) in batch.iter().zip(outcomes) {
                match outcome {
                    Ok(true) => gone.push(id.clone()),
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

    /// Deletes the objects that a failed operation created (`--cleanup-on-fail`). `message` is what the operation says about
    /// it with `--debug`, and `counted` the name of their number in it.
    pub(crate) async fn clean_up(
        &mut self,
        message: &'static str,
        counted: &'static str,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        let mut created = std::mem::take(&mut *lock(&self.created));
        // Requests that were in flight when the operation ended may have succeeded. Objects with our ownership labels
        // did not exist before, so they are ours to delete.
        let in_flight = std::mem::take(&mut *lock(&self.in_flight));
        let mut live = self.session.cluster.snapshot(&in_flight, Detail::MetadataOnly).await?;
        let (name, namespace) = (&self.version.name, &self.version.namespace);
        created.extend(in_flight.into_iter().filter(|id| {
            live.remove(id).is_some_and(|live| ownership::check(&live, name, namespace).is_ok())
        }));
        if created.is_empty() {
            return Ok(());
        }
        reporter.debug(message, &[(counted, &created.len().to_string())]);
        self.delete_all(&created, PropagationPolicy::Background).await?;
        reporter.debug("resource cleanup complete", &[]);
        Ok(())
    }
}

/// The attributes by which an object is named in Helm's log.
fn attributes(id: &ObjectId) -> [(&'static str, &str); 3] {
    [("namespace", &id.namespace), ("name", &id.name), ("kind", &id.kind)]
}

/// Reports which objects of the earlier version are deleted, and which stay because of their resource policy.
fn debug_removals(plan: &Plan<'_>, reporter: &mut dyn Reporter) {
    for step in &plan.removals {
        let attributes = attributes(&step.id);
        reporter.debug("deleting resource", &attributes);
        if step.action == Action::Keep {
            let [namespace, name, kind] = attributes;
            let policy = [namespace, name, kind, ("annotation", RESOURCE_POLICY), ("value", "keep")];
            reporter.debug("skipping delete due to annotation", &policy);
        }
    }
}

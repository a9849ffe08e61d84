//! The second half of the flow: hooks → plan → apply → wait → release record. Every operation that changes the
//! cluster runs it: a rollback deploys a stored version, an uninstall an empty set of objects.

mod apply;
mod build;
mod delete;
mod emit;
pub(crate) mod hooks;
mod kept;
mod lease_guard;
mod orphans;
mod sequence;
mod three_way;
mod wait;

use std::sync::{Arc, Mutex};

use pintle_cluster::{PropagationPolicy, WrittenObject};
use pintle_events::{Context, Event as LifecycleEvent};
use pintle_objects::{HookEvent, ObjectId};
use pintle_plan::{FieldConflict, Plan};
use pintle_release::{Lease, ObjectOwner, ReleaseVersion, Status, StoreError, Summary};

use tokio::sync::OnceCell;

use crate::options::{DeployOptions, Method, WaitStrategy};
use crate::progress::Progress;
use crate::records::Records;
use crate::{Error, Reporter, Result, Session};

pub(crate) use apply::create_or_apply;
pub(crate) use build::{Parts, check_documents, in_scope, objects as build_objects};
pub(crate) use emit::{ForeseenHandlers, emit, emit_mut, emit_planned, emit_without_release, foresee};
use hooks::ParsedHooks;
pub(crate) use kept::Ownership;
pub use kept::{KeptObjects, NotOwnedObject, UnverifiedObject};
use lease_guard::LeaseGuard;
use orphans::terminate_hooks;
pub(crate) use three_way::{AdoptionPolicy, PlanOptions, ThreeWayState};

/// The hook events around an operation, each with Helm's prefix for its errors.
#[derive(Clone, Copy)]
pub(crate) struct HookEvents {
    /// Runs before anything is applied.
    pub(crate) before: (HookEvent, &'static str),
    /// Runs when all objects are applied and ready.
    pub(crate) after: (HookEvent, &'static str),
}

/// How far an operation has come. The order matters: it decides what a rollback has to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Before,
    Applying,
    Waiting,
    After,
}

/// What the deletion of an object means for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The new version does not contain the object any more.
    Obsolete,
    /// The release is uninstalled. Objects are deleted kind by kind, with this policy for their dependents, and later
    /// errors do not end the operation, because the release is gone all the same.
    Uninstall(PropagationPolicy),
}

/// How an operation ended, with the description for the record.
pub(crate) enum Outcome {
    /// The version is deployed.
    Deployed(String),
    /// The operation failed.
    Failed(String),
    /// All objects are deleted.
    Uninstalled(String),
}

/// Deploys one version of a release.
pub(crate) struct Executor<'a> {
    session: &'a Session,
    records: &'a Records<'a>,
    /// The version that is being deployed.
    pub(crate) version: ReleaseVersion,
    pub(crate) options: &'a DeployOptions,
    method: Method,
    /// Whether the API server rejects unknown and duplicate fields.
    pub(crate) strict_fields: bool,
    /// Whether managed fields of an earlier client-side version are migrated to server-side apply, so that fields
    /// which the chart drops are removed.
    pub(crate) migrate: bool,
    /// How objects that are no longer desired are deleted.
    pub(crate) deletion: Deletion,
    /// The objects that this operation deleted.
    deleted: Vec<ObjectId>,
    /// The objects that an uninstall did not delete, because the release does not own them or this is unknown.
    pub(crate) kept: KeptObjects,
    /// The objects that this operation created. Added one by one when the server answers, because the operation may
    /// be cancelled while other requests are in flight.
    created: Mutex<Vec<ObjectId>>,
    /// The objects whose creation was requested and not answered yet. They may or may not exist.
    in_flight: Mutex<Vec<ObjectId>>,
    /// The objects as the server returned them when they were applied, for the wait that follows.
    written: Mutex<Vec<WrittenObject>>,
    /// The fields that were left to other managers.
    yielded: Mutex<Vec<(ObjectId, FieldConflict)>>,
    lease_guard: Arc<LeaseGuard<'a>>,
    owner: OnceCell<Option<ObjectOwner>>,
    hooks: ParsedHooks,
    stage: Stage,
    /// The record as it was last read, for operations without a lease: it is written only if nobody else has changed
    /// it.
    observed: Option<Summary>,
    /// The context for handlers, without the objects; `None` when only the record is known.
    pub(crate) context: Option<Context>,
}

impl<'a> Executor<'a> {
    pub(crate) fn new(
        session: &'a Session,
        records: &'a Records<'a>,
        version: ReleaseVersion,
        options: &'a DeployOptions,
        method: Method,
    ) -> Executor<'a> {
        let lease_guard = Arc::new(LeaseGuard::new(session, records, version.number));
        Executor {
            session,
            records,
            version,
            options,
            method,
            strict_fields: true,
            migrate: false,
            deletion: Deletion::Obsolete,
            deleted: Vec::new(),
            kept: KeptObjects::default(),
            created: Mutex::default(),
            in_flight: Mutex::default(),
            written: Mutex::default(),
            yielded: Mutex::default(),
            lease_guard,
            owner: OnceCell::new(),
            hooks: ParsedHooks::default(),
            stage: Stage::Before,
            observed: None,
            context: None,
        }
    }

    /// Runs without a lease, as tests do. The record is updated only as long as nobody else changes it.
    pub(crate) fn without_lease(&mut self, observed: Summary) {
        self.observed = Some(observed);
        self.lease_guard = Arc::new(LeaseGuard::disabled(self.session, self.records, self.version.number));
    }

    /// Returns whether anything was sent to the cluster.
    pub(crate) fn has_applied(&self) -> bool {
        self.stage >= Stage::Applying
    }

    /// Returns whether all objects were applied.
    pub(crate) fn reached_waiting(&self) -> bool {
        self.stage >= Stage::Waiting
    }

    /// Creates the pending version in the store. From here on, other clients see the release as locked.
    pub(crate) async fn begin(&mut self, history: &[Summary], max_history: u64) -> Result<()> {
        let lease = self.lease_guard.lease();
        self.records.create(&mut self.version, lease.as_ref(), history, max_history).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }

    /// Takes the lease on an existing version, if its record is unchanged since it was observed, so that of two clients
    /// only one proceeds.
    pub(crate) async fn begin_uninstall(&mut self, observed: &Summary) -> Result<()> {
        let lease = self.lease_guard.lease();
        self.records.compare_and_swap(&mut observed.clone(), &self.version, lease.as_ref()).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }

    /// Runs the hooks, executes the plan and waits. Stops early when the user cancels or another client takes the
    /// release over; nothing keeps running after it returns. Returns the errors after an uninstall's deletions, which
    /// do not make it fail.
    pub(crate) async fn deploy(
        &mut self,
        state: &ThreeWayState,
        plan: &Plan<'_>,
        events: HookEvents,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Error>> {
        let lease_guard = Arc::clone(&self.lease_guard);
        // The largest future of every operation: boxed, so that it is not part of the stack frame of each caller.
        let run = Box::pin(self.run(state, plan, events, reporter));
        let outcome = tokio::select! {
            outcome = run => outcome,
            stop = lease_guard.until_stopped() => Err(stop),
        };
        self.after_cancel(outcome).await
    }

    /// Deletes the hooks of earlier failed versions. Needs the lease, because another operation may be running hooks
    /// with the same names.
    pub(crate) async fn terminate_hooks_of_failed(
        &self,
        versions: &[ReleaseVersion],
        newest: &ReleaseVersion,
    ) {
        for version in versions.iter().chain([newest]) {
            if version.info.status == Status::Failed {
                terminate_hooks(self.session, &mut version.clone()).await;
            }
        }
    }

    /// Deletes the running hooks if the operation was cancelled, unless another client has taken over by now: they may be
    /// the other's, which have the same names.
    async fn after_cancel<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if matches!(outcome, Err(Error::Cancelled))
            && !matches!(self.lease_guard.check().await, Err(Error::LeaseLost { .. }))
        {
            terminate_hooks(self.session, &mut self.version).await;
        }
        outcome
    }

    async fn run(
        &mut self,
        state: &ThreeWayState,
        plan: &Plan<'_>,
        events: HookEvents,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Error>> {
        self.hooks(events.before, reporter).await?;
        // Set before the first request: from here on the cluster may have changed, whatever the outcome.
        self.stage = Stage::Applying;
        reporter.report(Progress::Stage(crate::Stage::Applying));
        let applied = self.apply(state, plan, reporter).await;
        match self.deletion {
            Deletion::Obsolete => {
                applied?;
                self.after_apply(state, events, reporter).await.map(|()| Vec::new())
            }
            Deletion::Uninstall(_) => {
                let name = &self.version.name;
                let failed = |source| Error::DeleteFailed { name: name.clone(), source: Box::new(source) };
                applied.map_err(failed)?;
                Ok(self.after_uninstall(events, reporter).await)
            }
        }
    }

    /// Waits until the objects are ready, and runs the hooks after that.
    async fn after_apply(
        &mut self,
        state: &ThreeWayState,
        events: HookEvents,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        self.emit_hook_event(events.after.0).await?;
        self.stage = Stage::Waiting;
        self.emit_waiting(LifecycleEvent::Wait).await?;
        self.wait_until_ready(state, reporter).await?;
        self.emit_waiting(LifecycleEvent::Ready).await?;
        self.stage = Stage::After;
        self.hooks(events.after, reporter).await
    }

    /// Waits until the objects are gone, and runs the hooks after that. Returns all errors.
    async fn after_uninstall(&mut self, events: HookEvents, reporter: &mut dyn Reporter) -> Vec<Error> {
        self.stage = Stage::Waiting;
        let gone = match self.options.wait {
            WaitStrategy::HookOnly => Ok(()),
            _ => wait::until_gone(self, &self.deleted).await,
        };
        self.stage = Stage::After;
        let hooks = self.hooks(events.after, reporter).await;
        let handlers = self.emit_hook_event(events.after.0).await;
        [gone, hooks, handlers].into_iter().filter_map(Result::err).collect()
    }

    /// Records how the operation ended, and releases the lease.
    pub(crate) async fn finish(&mut self, outcome: Outcome) -> Result<()> {
        let (status, description) = match outcome {
            Outcome::Deployed(text) => (Status::Deployed, text),
            Outcome::Failed(text) => (Status::Failed, text),
            Outcome::Uninstalled(text) => (Status::Uninstalled, text),
        };
        self.version.info.status = status;
        self.version.info.description = description;
        self.write_record(None).await
    }

    /// Records that the operation failed. Returns whether the release is still ours: what another client has taken over
    /// must not be undone. Other errors are ignored, because the caller already has one to return.
    pub(crate) async fn record_failure(&mut self, description: String) -> bool {
        let recorded = self.finish(Outcome::Failed(description)).await;
        !matches!(recorded, Err(Error::LeaseLost { .. }))
    }

    /// Writes the record. The store refuses it if another client has taken the release over, however recently.
    async fn write_record(&self, lease: Option<&Lease>) -> Result<()> {
        let written = self.records.update(&self.version, lease, self.lease_guard.held()).await;
        match written {
            Ok(()) => {
                self.lease_guard.record_renewal(lease);
                Ok(())
            }
            Err(error @ Error::Store(StoreError::Modified { .. })) => Err(self.lease_guard.lost(error)),
            Err(error) => Err(error),
        }
    }

    /// Checks that no other client has taken over; see [`LeaseGuard::check`].
    pub(crate) async fn check_lease(&self) -> Result<()> {
        self.lease_guard.check().await
    }

    /// Releases the lease without changing the status.
    pub(crate) async fn release_lease(&self) -> Result<()> {
        self.write_record(None).await
    }

    /// Marks an earlier version as superseded. It has no lease to test, and needs none: a client that dies before it marks
    /// its own version as deployed leaves the same records, and whoever takes over goes on from them.
    pub(crate) async fn supersede(&self, earlier: &mut ReleaseVersion) -> Result<()> {
        self.check_lease().await?;
        earlier.info.status = Status::Superseded;
        self.records.update(earlier, None, None).await
    }

    /// Returns the owner of the objects of the release, if its store keeps releases as objects.
    async fn owner(&self) -> Result<Option<&ObjectOwner>> {
        let ask = || self.records.store().owner(&self.version.namespace, &self.version.name);
        Ok(self.owner.get_or_try_init(ask).await?.as_ref())
    }

    /// Writes the current state of the version to the store.
    pub(crate) async fn record_progress(&mut self) -> Result<()> {
        if let Some(observed) = &mut self.observed {
            return match self.records.compare_and_swap(observed, &self.version, None).await {
                // Another client has continued with the release, and the record is theirs now.
                Err(Error::Store(StoreError::Modified { .. } | StoreError::Conflict { .. })) => Ok(()),
                recorded => recorded,
            };
        }
        let lease = self.lease_guard.lease();
        self.write_record(lease.as_ref()).await
    }
}

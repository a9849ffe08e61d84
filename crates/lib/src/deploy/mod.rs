//! The second half of the flow: hooks → plan → apply → wait → release record. Every operation that changes the
//! cluster runs it: an uninstall deploys nothing, a rollback deploys a stored version.

mod apply;
mod build;
mod emit;
pub(crate) mod hooks;
mod lease_guard;
mod orphans;
mod remove;
mod three_way;
mod wait;

use std::sync::{Arc, Mutex};

use pintle_events::{Context, Event as LifecycleEvent};
use pintle_objects::{HookEvent, ObjectId};
use pintle_release::{ReleaseVersion, Status, StoreError, Summary};

use pintle_tree::{Map, Node};
use tokio::sync::OnceCell;

use crate::options::{DeployOptions, Method};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session};

pub(crate) use apply::create_or_apply;
pub(crate) use build::{check_documents, objects as build_objects};
pub(crate) use emit::{emit, emit_mut, emit_without_release};
use hooks::ParsedHooks;
use lease_guard::LeaseGuard;
pub(crate) use orphans::find as find_orphans;
use orphans::terminate_hooks;
pub(crate) use remove::RemoveRequest;
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
    /// The objects that this operation created. Added one by one when the server answers, because the operation may
    /// be cancelled while other requests are in flight.
    created: Mutex<Vec<ObjectId>>,
    /// The objects whose creation was requested and not answered yet. They may or may not exist.
    in_flight: Mutex<Vec<ObjectId>>,
    lease_guard: Arc<LeaseGuard<'a>>,
    owner: OnceCell<Option<Map<Node>>>,
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
            created: Mutex::default(),
            in_flight: Mutex::default(),
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

    /// Runs the hooks, applies the objects and waits. Stops early when the user cancels or another client takes the
    /// release over; nothing keeps running after it returns.
    pub(crate) async fn deploy(
        &mut self,
        state: &mut ThreeWayState,
        events: HookEvents,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        let lease_guard = Arc::clone(&self.lease_guard);
        let outcome = tokio::select! {
            outcome = self.run(state, events, reporter) => outcome,
            stop = lease_guard.until_stopped() => Err(stop),
        };
        self.after_cancel(outcome).await
    }

    /// Deletes the hooks of earlier failed versions. Needs the lease, because another operation may be running hooks
    /// with the same names.
    pub(crate) async fn terminate_hooks_of_failed(
        &self,
        versions: impl IntoIterator<Item = &ReleaseVersion>,
    ) {
        let failed = |version: &&ReleaseVersion| version.info.status == Status::Failed;
        for version in versions.into_iter().filter(failed) {
            terminate_hooks(self.session, &mut version.clone()).await;
        }
    }

    /// Deletes the running hooks if the operation was cancelled.
    async fn after_cancel<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if matches!(outcome, Err(Error::Cancelled)) {
            terminate_hooks(self.session, &mut self.version).await;
        }
        outcome
    }

    async fn run(
        &mut self,
        state: &mut ThreeWayState,
        events: HookEvents,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        self.hooks(events.before, reporter).await?;
        self.stage = Stage::Applying;
        self.apply(state, reporter).await?;
        self.emit_hook_event(events.after.0).await?;
        self.stage = Stage::Waiting;
        self.emit_waiting(LifecycleEvent::Wait).await?;
        self.wait_until_ready(state, reporter).await?;
        self.emit_waiting(LifecycleEvent::Ready).await?;
        self.stage = Stage::After;
        self.hooks(events.after, reporter).await
    }

    /// Records how the operation ended, and releases the lease.
    pub(crate) async fn finish(&mut self, outcome: Outcome) -> Result<()> {
        let (status, description) = match outcome {
            Outcome::Deployed(text) => (Status::Deployed, text),
            Outcome::Failed(text) => (Status::Failed, text),
            Outcome::Uninstalled(text) => (Status::Uninstalled, text),
        };
        self.lease_guard.check().await?;
        self.version.info.status = status;
        self.version.info.description = description;
        self.records.update(&self.version, None).await
    }

    /// Runs a future while the lease is renewed. It is stopped only when another client takes over, not by
    /// cancellation or time limits.
    pub(crate) async fn while_leased<T>(&self, doing: impl Future<Output = Result<T>>) -> Result<T> {
        self.lease_guard.check().await?;
        tokio::select! {
            outcome = doing => outcome,
            error = self.lease_guard.keep_renewed() => Err(error),
        }
    }

    /// Releases the lease without changing the status.
    pub(crate) async fn release_lease(&self) -> Result<()> {
        self.lease_guard.check().await?;
        self.records.update(&self.version, None).await
    }

    /// Marks an earlier version as superseded.
    pub(crate) async fn supersede(&self, earlier: &mut ReleaseVersion) -> Result<()> {
        self.lease_guard.check().await?;
        earlier.info.status = Status::Superseded;
        self.records.update(earlier, None).await
    }

    /// Returns the owner reference for the objects of the release, if its store keeps releases as objects.
    async fn owner(&self) -> Result<Option<&Map<Node>>> {
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
        self.lease_guard.check().await?;
        let lease = self.lease_guard.lease();
        self.records.update(&self.version, lease.as_ref()).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }

    /// Takes the lease on an existing version, if its record is unchanged since it was observed.
    async fn acquire_lease(&mut self, observed: &Summary) -> Result<()> {
        let lease = self.lease_guard.lease();
        self.records.compare_and_swap(&mut observed.clone(), &self.version, lease.as_ref()).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }
}

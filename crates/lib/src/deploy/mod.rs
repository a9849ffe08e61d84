//! The second half of the flow: hooks → plan → apply → wait → release record. Every operation that changes a cluster
//! comes here; uninstalling is delivering nothing, rolling back is delivering a stored version.

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
use lease_guard::LeaseGuard;
pub(crate) use orphans::find as find_orphans;
use orphans::terminate_hooks;
pub(crate) use remove::RemoveRequest;
pub(crate) use three_way::{AdoptionPolicy, PlanOptions, ThreeWayState};

/// The hooks around an operation, each with the words that stand before its failure.
#[derive(Clone, Copy)]
pub(crate) struct HookEvents {
    /// What runs before anything is applied.
    pub(crate) before: (HookEvent, &'static str),
    /// What runs when everything is there.
    pub(crate) after: (HookEvent, &'static str),
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Before,
    Applying,
    Waiting,
    After,
}

/// How an operation ended. Holds what the record is to say.
pub(crate) enum Outcome {
    /// Everything is there.
    Deployed(String),
    /// Something went wrong.
    Failed(String),
    /// Nothing is there any more.
    Uninstalled(String),
}

/// A version on its way into the cluster.
pub(crate) struct Executor<'a> {
    session: &'a Session,
    records: &'a Records<'a>,
    /// The version that is being delivered.
    pub(crate) version: ReleaseVersion,
    /// How.
    pub(crate) options: &'a DeployOptions,
    method: Method,
    /// Whether the cluster refuses fields that it does not know.
    pub(crate) strict_fields: bool,
    /// Whether fields of an earlier client-side version are handed over to the server's bookkeeping.
    pub(crate) migrate: bool,
    /// The objects that this operation made. Each is noted when the server has answered, since the operation may end
    /// while others are still on their way.
    created: Mutex<Vec<ObjectId>>,
    /// The objects that are on their way, of which nobody knows yet whether they were made.
    in_flight: Mutex<Vec<ObjectId>>,
    lease_guard: Arc<LeaseGuard<'a>>,
    owner: OnceCell<Option<Map<Node>>>,
    stage: Stage,
    /// The record as it was observed, where others may go on with the release meanwhile.
    observed: Option<Summary>,
    /// What handlers of lifecycle events are told besides the objects; none when only the record is known.
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
            stage: Stage::Before,
            observed: None,
            context: None,
        }
    }

    /// Leaves the release open to others meanwhile, as tests do. What was observed of its record is changed only as long as
    /// nobody does.
    pub(crate) fn without_lease(&mut self, observed: Summary) {
        self.observed = Some(observed);
        self.lease_guard = Arc::new(LeaseGuard::disabled(self.session, self.records, self.version.number));
    }

    /// Whether something was sent to the cluster.
    pub(crate) fn has_applied(&self) -> bool {
        self.stage >= Stage::Applying
    }

    /// Whether everything was applied.
    pub(crate) fn reached_waiting(&self) -> bool {
        self.stage >= Stage::Waiting
    }

    /// Puts the pending version into the store. From here on, others keep away.
    pub(crate) async fn begin(&mut self, history: &[Summary], max_history: u64) -> Result<()> {
        let lease = self.lease_guard.lease();
        self.records.create(&mut self.version, lease.as_ref(), history, max_history).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }

    /// Runs the hooks, applies the objects and waits. Ends early when the user cancels, or when someone else has taken
    /// the release over; nothing goes on behind the caller then.
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

    /// Ends the hooks of earlier versions that did not end well. Only the one who holds the release may, because hooks
    /// of that name may be running again.
    pub(crate) async fn terminate_hooks_of_failed(
        &self,
        versions: impl IntoIterator<Item = &ReleaseVersion>,
    ) {
        let failed = |version: &&ReleaseVersion| version.info.status == Status::Failed;
        for version in versions.into_iter().filter(failed) {
            terminate_hooks(self.session, &mut version.clone()).await;
        }
    }

    /// Takes away the hooks that an operation was cancelled over.
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

    /// Records how it ended, and frees the release for others.
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

    /// Does something while others keep away. Neither the user nor the time ends it, only someone who has taken the
    /// release over.
    pub(crate) async fn while_leased<T>(&self, doing: impl Future<Output = Result<T>>) -> Result<T> {
        self.lease_guard.check().await?;
        tokio::select! {
            outcome = doing => outcome,
            error = self.lease_guard.keep_renewed() => Err(error),
        }
    }

    /// Frees the release for others without an outcome.
    pub(crate) async fn release_lease(&self) -> Result<()> {
        self.lease_guard.check().await?;
        self.records.update(&self.version, None).await
    }

    /// Records that an earlier version is no longer the one that counts.
    pub(crate) async fn supersede(&self, earlier: &mut ReleaseVersion) -> Result<()> {
        self.lease_guard.check().await?;
        earlier.info.status = Status::Superseded;
        self.records.update(earlier, None).await
    }

    /// What the objects of the release name as their owner, if anything.
    async fn owner(&self) -> Result<Option<&Map<Node>>> {
        let ask = || self.records.store().owner(&self.version.namespace, &self.version.name);
        Ok(self.owner.get_or_try_init(ask).await?.as_ref())
    }

    /// Records how far the executor has come.
    pub(crate) async fn record_progress(&mut self) -> Result<()> {
        if let Some(observed) = &mut self.observed {
            return match self.records.compare_and_swap(observed, &self.version, None).await {
                // Somebody has gone on with the release; what its record says is theirs now.
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

    /// Takes hold of a version that is there, as it was observed. From here on, others keep away.
    async fn acquire_lease(&mut self, observed: &Summary) -> Result<()> {
        let lease = self.lease_guard.lease();
        self.records.compare_and_swap(&mut observed.clone(), &self.version, lease.as_ref()).await?;
        self.lease_guard.record_renewal(lease.as_ref());
        Ok(())
    }
}

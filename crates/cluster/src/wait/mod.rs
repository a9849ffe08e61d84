//! WaitOptions: until objects are ready, until they are gone, until hooks have run, or until waiting makes no sense.
//!
//! [`ready`] judges one object. A [`Waiter`] follows many, tells of every change, and ends with the errors that Helm's
//! users know. With a [`FailFastLimits`] it also ends early when more time would not help, and says why: with the events of
//! the pod and the last lines of its log.

mod diagnose;
mod failure;
mod hook;
mod legacy;
mod outcome;
mod poll;
mod readiness;
mod reflector;
mod selector;
mod time;
mod watch;

use std::time::Duration;

use pintle_objects::ObjectId;

pub use diagnose::Diagnosis;
pub use failure::FailFastLimits;
pub use outcome::{PendingObject, Progress, WaitError, WaitFor};
pub use readiness::{Readiness, Status, ready, ready_at};

pub(crate) use failure::container_statuses;
pub(crate) use reflector::{ReflectorEvent, WatchTarget, reflect};
pub(crate) use selector::is_controlled_by;

use crate::cluster::Cluster;

/// How long Helm waits when it is told to wait for no time at all.
const UNSET_TIMEOUT: Duration = Duration::from_secs(30);

/// By whose rules objects are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The rules of kstatus, for every kind.
    Watcher,
    /// The rules of Helm 3.
    Legacy,
    /// Only hooks are waited for, by the rules of kstatus.
    #[default]
    HookOnly,
}

/// What to wait for, and how.
#[derive(Clone, Copy, Debug)]
pub struct WaitOptions {
    /// What is waited for.
    pub wait_for: WaitFor,
    /// By whose rules.
    pub strategy: Strategy,
    /// For how long. None at all means half a minute, or for ever with [`Strategy::Legacy`], as in Helm.
    pub timeout: Duration,
    /// When to give up early; `None` to wait as Helm does, to the end.
    pub fail_fast: Option<FailFastLimits>,
}

/// Hears of every change while waiting.
pub type Observer<'o> = &'o mut (dyn FnMut(&Progress<'_>) + Send);

/// Waits for objects of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Waiter<'c> {
    cluster: &'c Cluster,
    waiting: WaitOptions,
}

impl<'c> Waiter<'c> {
    /// Gets ready to wait.
    pub fn new(cluster: &'c Cluster, waiting: WaitOptions) -> Self {
        Waiter { cluster, waiting }
    }

    /// Waits until all objects are where they should be. The namespaces of the ids must be filled in.
    /// Dropping the future ends the waiting.
    ///
    /// # Errors
    /// When objects fail, time runs out, or waiting longer would not help.
    pub async fn wait(&self, ids: &[ObjectId], observer: Observer<'_>) -> Result<(), WaitError> {
        let ids = self.awaited(ids);
        if ids.is_empty() || self.cluster.is_noop() {
            return Ok(());
        }
        match (self.waiting.strategy, self.waiting.wait_for) {
            (Strategy::Legacy, WaitFor::HookCompleted) => hook::wait_legacy(self, ids, observer).await,
            (Strategy::Legacy, _) => poll::wait(self, ids, observer).await,
            _ => watch::wait(self, ids, observer).await,
        }
    }

    /// The objects that there is something to wait for with, each once.
    fn awaited(&self, ids: &[ObjectId]) -> Vec<ObjectId> {
        let wait_for = self.waiting.wait_for;
        if self.waiting.strategy == Strategy::HookOnly && wait_for != WaitFor::HookCompleted {
            return Vec::new();
        }
        let mut awaited: Vec<ObjectId> = Vec::with_capacity(ids.len());
        let mut known = std::collections::BTreeSet::new();
        for id in ids {
            if (wait_for != WaitFor::HookCompleted || hook::runs_to_completion(id))
                && known.insert(id.without_version())
            {
                awaited.push(id.clone());
            }
        }
        awaited
    }

    /// When waiting ends at the latest.
    fn deadline(&self) -> Option<tokio::time::Instant> {
        let timeout = match (self.waiting.timeout, self.waiting.strategy) {
            (Duration::ZERO, Strategy::Legacy) => return None,
            (Duration::ZERO, _) => UNSET_TIMEOUT,
            (timeout, _) => timeout,
        };
        tokio::time::Instant::now().checked_add(timeout)
    }
}

/// Runs something until the deadline, if there is one; `None` when time ran out.
async fn with_deadline<T>(
    deadline: Option<tokio::time::Instant>,
    task: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, task).await.ok(),
        None => Some(task.await),
    }
}

#[cfg(test)]
pub(crate) mod mock_server;
#[cfg(test)]
mod tests;

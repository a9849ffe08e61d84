//! Waiting: until objects are ready, until they are gone, until hooks have run, or until waiting makes no sense.
//!
//! [`ready`] judges one object. A [`Waiter`] follows many, tells of every change, and ends with the errors that Helm's
//! users know. With a [`FailFastLimits`] it also ends early when more time would not help, and says why: with the events of
//! the pod and the last lines of its log.

mod diagnose;
mod follow;
mod hook;
mod legacy;
mod moment;
mod outcome;
mod poll;
mod readiness;
mod selector;
mod trouble;
mod watch;

use std::time::Duration;

use pintle_objects::ObjectId;

pub use diagnose::Diagnosis;
pub use outcome::{Goal, Progress, Unready, WaitError};
pub use readiness::{Readiness, State, ready, ready_at};
pub use trouble::FailFastLimits;

pub(crate) use follow::{Group, News, follow};
pub(crate) use selector::is_controlled_by;
pub(crate) use trouble::statuses as container_statuses;

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
pub struct Waiting {
    /// What is waited for.
    pub goal: Goal,
    /// By whose rules.
    pub strategy: Strategy,
    /// For how long. None at all means half a minute, or for ever with [`Strategy::Legacy`], as in Helm.
    pub timeout: Duration,
    /// When to give up early; `None` to wait as Helm does, to the end.
    pub early_failure: Option<FailFastLimits>,
}

/// Hears of every change while waiting.
pub type Observer<'o> = &'o mut (dyn FnMut(&Progress<'_>) + Send);

/// Waits for objects of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Waiter<'c> {
    cluster: &'c Cluster,
    waiting: Waiting,
}

impl<'c> Waiter<'c> {
    /// Gets ready to wait.
    pub fn new(cluster: &'c Cluster, waiting: Waiting) -> Self {
        Waiter { cluster, waiting }
    }

    /// Waits until all objects are where they should be. The namespaces of the ids must be filled in.
    /// Dropping the future ends the waiting.
    ///
    /// # Errors
    /// When objects fail, time runs out, or waiting longer would not help.
    pub async fn wait(&self, ids: &[ObjectId], observer: Observer<'_>) -> Result<(), WaitError> {
        let ids = self.awaited(ids);
        if ids.is_empty() || self.cluster.pretends() {
            return Ok(());
        }
        match (self.waiting.strategy, self.waiting.goal) {
            (Strategy::Legacy, Goal::HookDone) => hook::wait_legacy(self, ids, observer).await,
            (Strategy::Legacy, _) => poll::wait(self, ids, observer).await,
            _ => watch::wait(self, ids, observer).await,
        }
    }

    /// The objects that there is something to wait for with, each once.
    fn awaited(&self, ids: &[ObjectId]) -> Vec<ObjectId> {
        let goal = self.waiting.goal;
        if self.waiting.strategy == Strategy::HookOnly && goal != Goal::HookDone {
            return Vec::new();
        }
        let mut awaited: Vec<ObjectId> = Vec::with_capacity(ids.len());
        let mut known = std::collections::BTreeSet::new();
        for id in ids {
            if (goal != Goal::HookDone || hook::runs_to_an_end(id)) && known.insert(id.without_version()) {
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
async fn before<T>(deadline: Option<tokio::time::Instant>, task: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, task).await.ok(),
        None => Some(task.await),
    }
}

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;

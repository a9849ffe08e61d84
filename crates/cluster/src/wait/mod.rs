//! Waits until objects are ready, deleted, or completed (hooks), or until waiting is pointless.
//!
//! [`ready`] computes the status of one object. A [`Waiter`] observes many, reports every change, and returns the
//! errors that Helm's users know. With [`FailFastLimits`] it also ends early when a failure persists, and explains it
//! with the pod's events and the last lines of its log.

mod diagnose;
mod failure;
mod hook;
mod legacy;
mod outcome;
mod pods;
mod poll;
mod readiness;
mod reflector;
mod selector;
mod time;
mod watch;

pub(crate) use readiness::unix_now;

use std::sync::Arc;
use std::time::Duration;

use pintle_objects::{Object, ObjectId};

pub use diagnose::{Diagnosis, event_time, events, newest_pods};
pub use failure::FailFastLimits;
pub use outcome::{PendingObject, Progress, WaitError, WaitFor};
pub use pods::{PodProgress, pod_progress};
pub use readiness::{
    InvalidExpression, READINESS_FAILURE, READINESS_SUCCESS, Readiness, ReadinessExpressions, ReadinessRules,
    Status, ready, ready_at,
};

pub(crate) use failure::container_statuses;
pub(crate) use reflector::{ReflectorEvent, WatchTarget, reflect};
pub(crate) use selector::is_controlled_by;

use crate::cluster::Cluster;

/// The timeout that Helm uses when it is set to zero.
const UNSET_TIMEOUT: Duration = Duration::from_secs(30);

/// The readiness rules, as in Helm's `--wait`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// kstatus, for every kind.
    Watcher,
    /// The rules of Helm 3.
    Legacy,
    /// Wait only for hooks, by kstatus' rules.
    #[default]
    HookOnly,
}

/// What to wait for, and how.
#[derive(Clone, Copy, Debug)]
pub struct WaitOptions {
    /// The condition to wait for.
    pub wait_for: WaitFor,
    /// The readiness rules.
    pub strategy: Strategy,
    /// The timeout. Zero means 30 seconds, or no limit with [`Strategy::Legacy`], as in Helm.
    pub timeout: Duration,
    /// When to fail early; `None` to wait for the whole timeout, as Helm does.
    pub fail_fast: Option<FailFastLimits>,
    /// Whether the annotations of HIP-0025 replace the rules of a kind ([`ReadinessExpressions`]).
    pub readiness_annotations: bool,
}

/// Called for every change while waiting.
pub type Observer<'o> = &'o mut (dyn FnMut(&Progress<'_>) + Send);

/// Waits for objects of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Waiter<'c> {
    cluster: &'c Cluster,
    options: WaitOptions,
    rules: Option<&'c Arc<dyn ReadinessRules>>,
}

impl<'c> Waiter<'c> {
    /// Returns a waiter; nothing is sent yet.
    pub fn new(cluster: &'c Cluster, options: WaitOptions) -> Self {
        Waiter { cluster, options, rules: None }
    }

    /// Uses rules of the caller for some kinds.
    #[must_use]
    pub fn with_rules(self, rules: Option<&'c Arc<dyn ReadinessRules>>) -> Self {
        Waiter { rules, ..self }
    }

    /// Waits until the condition holds for all objects. The namespaces of the ids must be set. Dropping the future
    /// stops all requests.
    ///
    /// # Errors
    /// When objects fail, the timeout expires, or waiting longer is pointless.
    pub async fn wait(&self, ids: &[ObjectId], observer: Observer<'_>) -> Result<(), WaitError> {
        self.wait_from(ids, Vec::new(), observer).await
    }

    /// As [`Waiter::wait`], with objects as the server returned them when they were written. Those that are ready already
    /// are not read again, and the others are watched from their `resourceVersion`.
    ///
    /// # Errors
    /// As [`Waiter::wait`].
    pub async fn wait_from(
        &self,
        ids: &[ObjectId],
        written: Vec<Object>,
        observer: Observer<'_>,
    ) -> Result<(), WaitError> {
        let ids = self.awaited(ids);
        // Objects that were never sent would not become ready.
        if ids.is_empty() || self.cluster.discards_writes() {
            return Ok(());
        }
        match (self.options.strategy, self.options.wait_for) {
            (Strategy::Legacy, WaitFor::HookCompleted) => hook::wait_legacy(self, ids, observer).await,
            (Strategy::Legacy, _) => poll::wait(self, ids, observer).await,
            _ => watch::wait(self, ids, written, observer).await,
        }
    }

    /// The objects to wait for, without duplicates.
    fn awaited(&self, ids: &[ObjectId]) -> Vec<ObjectId> {
        let wait_for = self.options.wait_for;
        if self.options.strategy == Strategy::HookOnly && wait_for != WaitFor::HookCompleted {
            return Vec::new();
        }
        let mut awaited: Vec<ObjectId> = Vec::with_capacity(ids.len());
        let mut known = std::collections::BTreeSet::new();
        for id in ids {
            if (wait_for != WaitFor::HookCompleted || hook::runs_to_completion(id))
                // The same object may be in the manifest under two versions of its group; it is one object on the
                // server.
                && known.insert(id.without_version())
            {
                awaited.push(id.clone());
            }
        }
        awaited
    }

    /// Whether rules of the caller are for a kind.
    fn has_rules_for(&self, id: &ObjectId) -> bool {
        self.rules.is_some_and(|rules| rules.covers(&id.group, &id.kind))
    }

    /// The readiness by rules of the caller or by the object's annotations, where these apply. Invalid expressions were
    /// rejected before the object was applied.
    fn own_readiness(&self, object: &Object) -> Option<Readiness> {
        let rules = self.rules.filter(|_| self.options.wait_for.is_readiness());
        if let Some(readiness) = rules.and_then(|rules| readiness::by_rules(rules.as_ref(), object)) {
            return Some(readiness);
        }
        let is_enabled = self.options.readiness_annotations && self.options.wait_for.is_readiness();
        let expressions = is_enabled.then(|| ReadinessExpressions::from_object(object).ok().flatten())??;
        Some(expressions.evaluate(object))
    }

    /// As [`Waiter::own_readiness`]; rules of the caller may compute, so they run on a thread that may block.
    async fn own_readiness_blocking(&self, object: &Object) -> Option<Readiness> {
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        let rules = self.rules.filter(|rules| rules.covers(group, object.kind()));
        let Some(rules) = rules.filter(|_| self.options.wait_for.is_readiness()) else {
            return self.own_readiness(object);
        };
        let (rules, object) = (Arc::clone(rules), object.clone());
        let computed =
            tokio::task::spawn_blocking(move || readiness::by_rules(rules.as_ref(), &object)).await;
        computed.unwrap_or_else(|_| Some(Readiness::unknown()))
    }

    /// When waiting ends at the latest.
    fn deadline(&self) -> Option<tokio::time::Instant> {
        let timeout = match (self.options.timeout, self.options.strategy) {
            (Duration::ZERO, Strategy::Legacy) => return None,
            (Duration::ZERO, _) => UNSET_TIMEOUT,
            (timeout, _) => timeout,
        };
        tokio::time::Instant::now().checked_add(timeout)
    }
}

/// Runs a future until the deadline, if there is one; `None` on timeout.
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

//! What an operation on a cluster may touch: everything comes in here, so that nothing below reads the environment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pintle_cluster::Cluster;
use pintle_release::{Lease, Store, Timestamp};
use tokio::sync::watch;

use crate::{Error, Lifecycle, RecordObjects, Reporter, Result};

/// What operations on a cluster work with.
#[derive(Clone)]
pub struct Session {
    /// The cluster.
    pub cluster: Cluster,
    /// Where releases are kept.
    pub store: Arc<dyn Store>,
    /// Further stores, whose releases `list` shows too and from which an operation that succeeds adopts.
    pub other_stores: Vec<Arc<dyn Store>>,
    /// Stores whose releases are not worked on here. A name that one of them has is taken all the same.
    pub excluded_stores: Vec<Arc<dyn Store>>,
    /// The time, and chance.
    pub clock: Arc<dyn Clock>,
    /// Who is doing this.
    pub holder: LeaseHolder,
    /// How long an operation may be silent before others take it for dead.
    pub lease_duration: Duration,
    /// Tells when the user has had enough.
    pub cancel: Cancel,
    /// Who is told of lifecycle events, and may change what goes on.
    pub events: Lifecycle,
    /// What becomes of objects that look like records of releases.
    pub record_objects: RecordObjects,
}

/// Where time and chance come from.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Bits that nobody can foresee, for version ids.
    fn random(&self) -> u128;
}

/// Who runs an operation, in words that another user understands, and how to tell that someone else no longer does.
#[derive(Clone)]
pub struct LeaseHolder {
    /// The words.
    pub name: String,
    /// Whether the holder of that name is known to have died. False when in doubt.
    pub is_dead: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl LeaseHolder {
    /// A holder that knows nothing about others.
    pub fn new(name: impl Into<String>) -> LeaseHolder {
        LeaseHolder { name: name.into(), is_dead: Arc::new(|_| false) }
    }
}

impl fmt::Debug for LeaseHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LeaseHolder").field(&self.name).finish()
    }
}

impl Session {
    /// The outcome of an operation, after what its scripts said. A handler that was stopped because the user has had
    /// enough did nothing wrong.
    pub(crate) fn finish<T>(&self, outcome: Result<T>, reporter: &mut dyn Reporter) -> Result<T> {
        self.events.report(reporter);
        match outcome {
            Err(Error::Event(_)) if self.cancel.is_cancelled() => Err(Error::Cancelled),
            outcome => outcome,
        }
    }

    /// The session in which an operation that failed is undone, in the store that keeps the release: the cancellation that
    /// ended the operation does not end this, only a second one does.
    pub(crate) fn for_rollback(&self, store: &Arc<dyn Store>) -> Session {
        Session {
            store: Arc::clone(store),
            other_stores: Vec::new(),
            excluded_stores: Vec::new(),
            cancel: self.cancel.for_rollback(),
            ..self.clone()
        }
    }

    /// A lease on an operation that begins now.
    pub(crate) fn lease(&self) -> Lease {
        let now = self.clock.now();
        Lease {
            holder: self.holder.name.clone(),
            since: now,
            renewed: now,
            seconds: u32::try_from(self.lease_duration.as_secs()).unwrap_or(u32::MAX).max(1),
        }
    }
}

/// A way to stop an operation from outside. What was begun is recorded as failed, and nothing goes on behind; what was
/// asked for in that case, such as a rollback, is done. To stop this too takes another call.
#[derive(Clone, Debug)]
pub struct Cancel {
    calls: Arc<watch::Sender<CancelState>>,
    /// How many calls it takes.
    after: u32,
}

/// What has been called for, and what is under way.
#[derive(Clone, Copy, Debug, Default)]
struct CancelState {
    count: u32,
    rolling_back: bool,
}

impl Default for Cancel {
    fn default() -> Self {
        Cancel { calls: Arc::new(watch::Sender::new(CancelState::default())), after: 1 }
    }
}

impl Cancel {
    /// Stops the operations that listen; called again, what they do to undo their work.
    pub fn cancel(&self) {
        self.calls.send_modify(|calls| calls.count = calls.count.saturating_add(1));
    }

    /// Whether [`Cancel::cancel`] was called often enough.
    pub fn is_cancelled(&self) -> bool {
        self.calls.borrow().count >= self.after
    }

    /// Returns once [`Cancel::cancel`] was called often enough.
    pub async fn cancelled(&self) {
        let mut receiver = self.calls.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|calls| calls.count >= self.after).await;
    }

    /// Whether an operation that failed is being undone, which a second call ends.
    pub fn is_rolling_back(&self) -> bool {
        self.calls.borrow().rolling_back
    }

    /// The way to stop what undoes an operation: by the second call, whether the first ended the operation or came while
    /// it was being undone already.
    fn for_rollback(&self) -> Cancel {
        self.calls.send_modify(|calls| calls.rolling_back = true);
        Cancel { calls: Arc::clone(&self.calls), after: 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_is_ended_by_the_second_cancellation_only() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(cancel.is_cancelled() && !cancel.is_rolling_back());
        let rollback = cancel.for_rollback();
        assert!(cancel.is_rolling_back() && !rollback.is_cancelled());
        cancel.cancel();
        assert!(rollback.is_cancelled());
    }

    #[test]
    fn a_rollback_after_a_failure_outlives_the_first_cancellation_too() {
        let cancel = Cancel::default();
        let rollback = cancel.for_rollback();
        cancel.cancel();
        assert!(cancel.is_cancelled() && !rollback.is_cancelled());
    }
}

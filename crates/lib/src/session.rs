//! What an operation on a cluster may touch: everything comes in here, so that nothing below reads the environment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pintle_cluster::Cluster;
use pintle_release::{Claim, Moment, Store};
use tokio::sync::watch;

use crate::{Error, Lifecycle, RecordObjects, Reporter, Result};

/// What operations on a cluster work with.
#[derive(Clone)]
pub struct Session {
    /// The cluster.
    pub cluster: Cluster,
    /// Where releases are kept.
    pub store: Arc<dyn Store>,
    /// Further stores, whose releases `list` shows too and from which an upgrade adopts.
    pub others: Vec<Arc<dyn Store>>,
    /// The time, and chance.
    pub clock: Arc<dyn Clock>,
    /// Who is doing this.
    pub holder: Holder,
    /// How long an operation may be silent before others take it for dead.
    pub lease: Duration,
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
    fn now(&self) -> Moment;

    /// Bits that nobody can foresee, for version ids.
    fn random(&self) -> u128;
}

/// Who runs an operation, in words that another user understands, and how to tell that someone else no longer does.
#[derive(Clone)]
pub struct Holder {
    /// The words.
    pub name: String,
    /// Whether the holder of that name is known to have died. False when in doubt.
    pub is_dead: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Holder {
    /// A holder that knows nothing about others.
    pub fn named(name: impl Into<String>) -> Holder {
        Holder { name: name.into(), is_dead: Arc::new(|_| false) }
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Holder").field(&self.name).finish()
    }
}

impl Session {
    /// The outcome of an operation, after what its scripts said. A handler that was stopped because the user has had
    /// enough did nothing wrong.
    pub(crate) fn settled<T>(&self, outcome: Result<T>, reporter: &mut dyn Reporter) -> Result<T> {
        self.events.report(reporter);
        match outcome {
            Err(Error::Event(_)) if self.cancel.is_cancelled() => Err(Error::Cancelled),
            outcome => outcome,
        }
    }

    /// A claim on an operation that begins now.
    pub(crate) fn claim(&self) -> Claim {
        let now = self.clock.now();
        Claim {
            holder: self.holder.name.clone(),
            since: now,
            renewed: now,
            seconds: u32::try_from(self.lease.as_secs()).unwrap_or(u32::MAX).max(1),
        }
    }
}

/// A way to stop an operation from outside. What was begun is recorded as failed, and nothing goes on behind.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Cancel(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    /// Stops the operations that listen.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether someone has called [`Cancel::cancel`].
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once someone has called [`Cancel::cancel`].
    pub async fn cancelled(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|stopped| *stopped).await;
    }
}

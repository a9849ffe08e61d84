//! Everything that an operation on a cluster works with. It is passed in here so that nothing below reads the
//! environment, the clock or a random source.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pintle_cluster::Cluster;
use pintle_release::{Lease, Store};
use tokio::sync::watch;

use crate::{Clock, Error, Lifecycle, RecordObjects, Reporter, Result, SystemClock};

/// The cluster, the release stores and the settings that operations share. Cloning is cheap: the parts are behind
/// `Arc`s.
#[derive(Clone)]
pub struct Session {
    /// The cluster that objects are applied to.
    pub cluster: Cluster,
    /// The store that new releases are recorded in.
    pub store: Arc<dyn Store>,
    /// Further stores that may hold releases: `list` shows their releases too, and a successful `upgrade` or
    /// `rollback` moves the release it worked on into `store`.
    pub other_stores: Vec<Arc<dyn Store>>,
    /// Stores that are only asked whether a name is taken. Operations refuse to work on a release that one of them
    /// holds, because two stores must never both own a name.
    pub excluded_stores: Vec<Arc<dyn Store>>,
    /// Source of the current time and of random bits.
    pub clock: Arc<dyn Clock>,
    /// The identity that is written into leases.
    pub holder: LeaseHolder,
    /// How long a lease is valid without a renewal. After that, other clients treat the operation as dead and take
    /// over.
    pub lease_duration: Duration,
    /// Stops a running operation from outside.
    pub cancel: Cancel,
    /// The handlers of lifecycle events, which observe an operation and may change what it applies.
    pub events: Lifecycle,
    /// Whether charts may contain objects that a release store would mistake for its own records.
    pub record_objects: RecordObjects,
}

/// Identifies the client that holds a lease. The name is shown to other users who find the release locked.
#[derive(Clone)]
pub struct LeaseHolder {
    /// Free text, such as `user@host, pid 4711`.
    pub name: String,
    /// Returns whether the holder of that name is known to have died, so that its lease can be taken before it
    /// expires. Must return false when in doubt.
    pub is_dead: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl LeaseHolder {
    /// Returns a holder that never considers other holders dead; their leases have to expire.
    pub fn new(name: impl Into<String>) -> LeaseHolder {
        LeaseHolder { name: name.into(), is_dead: Arc::new(|_| false) }
    }
}

impl fmt::Debug for LeaseHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LeaseHolder").field(&self.name).finish()
    }
}

/// What operations without a cluster work with.
///
/// ```
/// use pintle::{Lifecycle, Session};
///
/// let handlers = Lifecycle::default();
/// let session = Session::offline().with_events(handlers);
/// # let _ = session;
/// ```
#[derive(Clone)]
pub struct OfflineSession {
    /// Source of the current time, for the records that dry runs show.
    pub clock: Arc<dyn Clock>,
    /// The handlers of lifecycle events.
    pub events: Lifecycle,
}

impl Default for OfflineSession {
    fn default() -> Self {
        OfflineSession { clock: Arc::new(SystemClock), events: Lifecycle::default() }
    }
}

impl OfflineSession {
    /// Uses another source of time.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Calls these handlers.
    #[must_use]
    pub fn with_events(mut self, events: Lifecycle) -> Self {
        self.events = events;
        self
    }
}

/// The session of an operation that works with or without a cluster. Both kinds of sessions convert into it, so
/// callers pass `&session`.
#[derive(Clone, Copy)]
pub enum AnySession<'s> {
    /// Without a cluster. The future of an operation never waits then, and needs no async runtime.
    Offline(&'s OfflineSession),
    /// With a cluster.
    Cluster(&'s Session),
}

impl<'s> From<&'s OfflineSession> for AnySession<'s> {
    fn from(session: &'s OfflineSession) -> Self {
        AnySession::Offline(session)
    }
}

impl<'s> From<&'s Session> for AnySession<'s> {
    fn from(session: &'s Session) -> Self {
        AnySession::Cluster(session)
    }
}

/// Long enough to survive a slow API server, short enough that nobody waits long for a crashed client.
const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(30);

impl Session {
    /// Returns a session on a cluster with the system clock, no event handlers and a lease of 30 seconds. The lease
    /// holder is called `pintle`; programs that several people use should set a better one with
    /// [`Session::with_holder`].
    pub fn new(cluster: Cluster, store: Arc<dyn Store>) -> Session {
        Session {
            cluster,
            store,
            other_stores: Vec::new(),
            excluded_stores: Vec::new(),
            clock: Arc::new(SystemClock),
            holder: LeaseHolder::new("pintle"),
            lease_duration: DEFAULT_LEASE_DURATION,
            cancel: Cancel::default(),
            events: Lifecycle::default(),
            record_objects: RecordObjects::default(),
        }
    }

    /// Returns a session for operations that need no cluster.
    pub fn offline() -> OfflineSession {
        OfflineSession::default()
    }

    /// Also lists the releases of these stores, and moves a release from them when an operation on it succeeds.
    #[must_use]
    pub fn with_other_stores(mut self, stores: Vec<Arc<dyn Store>>) -> Self {
        self.other_stores = stores;
        self
    }

    /// Refuses to work on releases that one of these stores holds.
    #[must_use]
    pub fn with_excluded_stores(mut self, stores: Vec<Arc<dyn Store>>) -> Self {
        self.excluded_stores = stores;
        self
    }

    /// Uses another source of time and random bits.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the identity that is written into leases.
    #[must_use]
    pub fn with_holder(mut self, holder: LeaseHolder) -> Self {
        self.holder = holder;
        self
    }

    /// Sets how long a lease is valid without a renewal.
    #[must_use]
    pub fn with_lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// Stops operations when this handle is cancelled.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Calls these handlers.
    #[must_use]
    pub fn with_events(mut self, events: Lifecycle) -> Self {
        self.events = events;
        self
    }

    /// Sets whether charts may contain objects that look like release records.
    #[must_use]
    pub fn with_record_objects(mut self, policy: RecordObjects) -> Self {
        self.record_objects = policy;
        self
    }

    /// Forwards what scripts logged and returns the outcome of the operation. A handler that was stopped by a
    /// cancellation is reported as the cancellation, not as a failed handler.
    pub(crate) fn finish<T>(&self, outcome: Result<T>, reporter: &mut dyn Reporter) -> Result<T> {
        self.events.report(reporter);
        match outcome {
            Err(Error::Event(_)) if self.cancel.is_cancelled() => Err(Error::Cancelled),
            outcome => outcome,
        }
    }

    /// Returns the session in which a failed operation is rolled back. It works on the store that holds the release,
    /// and is stopped by a second cancellation only: the first one already ended the operation.
    pub(crate) fn for_rollback(&self, store: &Arc<dyn Store>) -> Session {
        Session {
            store: Arc::clone(store),
            other_stores: Vec::new(),
            excluded_stores: Vec::new(),
            cancel: self.cancel.for_rollback(),
            ..self.clone()
        }
    }

    /// Returns a lease for an operation that starts now.
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

/// Cancels an operation from outside. The operation records the version as failed and leaves nothing running; a
/// rollback that was requested for failures still runs, and takes a second call to stop.
#[derive(Clone, Debug)]
pub struct Cancel {
    calls: Arc<watch::Sender<CancelState>>,
    /// The number of calls after which this handle counts as cancelled: 1 for an operation, 2 for its rollback.
    after: u32,
}

/// The state that all clones share.
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
    /// Stops the operations that use this handle; the second call also stops their rollback.
    pub fn cancel(&self) {
        self.calls.send_modify(|calls| calls.count = calls.count.saturating_add(1));
    }

    /// Returns whether [`Cancel::cancel`] was called often enough.
    pub fn is_cancelled(&self) -> bool {
        self.calls.borrow().count >= self.after
    }

    /// Completes once [`Cancel::cancel`] was called often enough.
    pub async fn cancelled(&self) {
        let mut receiver = self.calls.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|calls| calls.count >= self.after).await;
    }

    /// Returns whether a failed operation is being rolled back, so that only a second call stops it. A program uses
    /// this to tell the user what the next Ctrl-C does.
    pub fn is_rolling_back(&self) -> bool {
        self.calls.borrow().rolling_back
    }

    /// Returns the handle for the rollback of an operation. It takes the second call, whether the first one ended the
    /// operation or arrived during the rollback.
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

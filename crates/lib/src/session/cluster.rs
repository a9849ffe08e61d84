//! The session of operations on a cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pintle_cluster::Cluster;
use pintle_release::{Lease, Store};

use crate::{Cancel, Clock, Error, Lifecycle, RecordObjects, Reporter, Result, SchemaLoader, SystemClock};

/// The cluster, the release stores and the settings that operations share. Cloning is cheap: the parts are behind
/// `Arc`s.
#[derive(Clone)]
pub struct Session {
    /// The cluster that objects are applied to.
    pub cluster: Cluster,
    /// The store that new releases are recorded in.
    pub store: Arc<dyn Store>,
    /// Further stores that may hold releases: `list` shows their releases too, and every operation works in the store that
    /// holds the release. Only [`adopt`](crate::ops::adopt) moves one.
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
    /// Loads schemas that charts refer to by URL.
    pub schemas: SchemaLoader,
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
    /// Returns whether the holder of that name is known to be alive, so that its lease is valid even if it has expired by our
    /// own clock, which may be ahead of its. Must return false when in doubt.
    pub is_alive: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Returns whether no client can consider this holder dead yet. While it returns false, operations ask the store whether
    /// the release is still theirs before they change anything.
    pub is_current: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl LeaseHolder {
    /// Returns a holder that never considers other holders dead; their leases have to expire.
    pub fn new(name: impl Into<String>) -> LeaseHolder {
        LeaseHolder {
            name: name.into(),
            is_dead: Arc::new(|_| false),
            is_alive: Arc::new(|_| false),
            is_current: Arc::new(|| true),
        }
    }

    /// Takes the leases of holders that are known to have died before they expire; see [`LeaseHolder::is_dead`].
    #[must_use]
    pub fn with_is_dead(mut self, is_dead: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.is_dead = Arc::new(is_dead);
        self
    }

    /// Leaves the leases of holders that are known to be alive, whatever the clock says; see [`LeaseHolder::is_alive`].
    #[must_use]
    pub fn with_is_alive(mut self, is_alive: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.is_alive = Arc::new(is_alive);
        self
    }

    /// Whether the lease of a holder can be taken over, given whether it has expired by our own clock.
    pub fn can_take_over(&self, holder: &str, has_expired: bool) -> bool {
        (self.is_dead)(holder) || has_expired && !(self.is_alive)(holder)
    }

    /// Sets how to find out whether others still consider this holder alive; see [`LeaseHolder::is_current`].
    #[must_use]
    pub fn with_is_current(mut self, is_current: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_current = Arc::new(is_current);
        self
    }
}

impl fmt::Debug for LeaseHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("LeaseHolder").field(&self.name).finish()
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
            schemas: SchemaLoader::default(),
            record_objects: RecordObjects::default(),
        }
    }

    /// Also works on the releases of these stores, which stay where they are.
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

    /// Loads schemas that charts refer to by URL.
    #[must_use]
    pub fn with_schemas(mut self, schemas: SchemaLoader) -> Self {
        self.schemas = schemas;
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

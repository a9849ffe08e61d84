//! What an operation works with. It is passed in here so that nothing below reads the environment, the clock or a
//! random source.

#[cfg(feature = "cluster")]
mod cancel;
#[cfg(feature = "cluster")]
mod cluster;

use std::sync::Arc;

use crate::{Clock, Lifecycle, SchemaLoader, SystemClock};
#[cfg(feature = "cluster")]
pub use cancel::Cancel;
#[cfg(feature = "cluster")]
pub use cluster::{LeaseHolder, Session};

/// Creates sessions. Without the feature `cluster` there are only those without a cluster.
#[cfg(not(feature = "cluster"))]
#[derive(Clone, Copy, Debug)]
pub enum Session {}

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
    /// Loads schemas that charts refer to by URL.
    pub schemas: SchemaLoader,
}

impl Default for OfflineSession {
    fn default() -> Self {
        OfflineSession {
            clock: Arc::new(SystemClock),
            events: Lifecycle::default(),
            schemas: SchemaLoader::default(),
        }
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

    /// Loads schemas that charts refer to by URL.
    #[must_use]
    pub fn with_schemas(mut self, schemas: SchemaLoader) -> Self {
        self.schemas = schemas;
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
    #[cfg(feature = "cluster")]
    Cluster(&'s Session),
}

impl<'s> From<&'s OfflineSession> for AnySession<'s> {
    fn from(session: &'s OfflineSession) -> Self {
        AnySession::Offline(session)
    }
}

#[cfg(feature = "cluster")]
impl<'s> From<&'s Session> for AnySession<'s> {
    fn from(session: &'s Session) -> Self {
        AnySession::Cluster(session)
    }
}

impl Session {
    /// Returns a session for operations that need no cluster.
    pub fn offline() -> OfflineSession {
        OfflineSession::default()
    }
}

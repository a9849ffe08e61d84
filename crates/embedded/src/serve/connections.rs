//! The open connections, and which of them may be closed for new ones.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::api::Body;

/// Instead of an idle sequence number: a request is being answered.
const BUSY: u64 = u64::MAX;

/// All connections. Dropping this closes them.
#[derive(Default)]
pub(super) struct Connections {
    tasks: JoinSet<u64>,
    open: HashMap<u64, (AbortHandle, Activity)>,
    last_id: u64,
    common: Arc<Common>,
}

#[derive(Default)]
struct Common {
    /// A counter: the connection that has been idle longest has the lowest number.
    idle_sequence: AtomicU64,
    /// Notified when a connection becomes idle.
    idle: Notify,
}

/// Whether a connection is busy. Clones share the state.
#[derive(Clone)]
pub(super) struct Activity {
    /// The idle sequence number, or [`BUSY`].
    since: Arc<AtomicU64>,
    common: Arc<Common>,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Spawns the task of a connection.
    pub(super) fn spawn<F>(&mut self, answer: impl FnOnce(Activity) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // A new connection counts as idle until its first request, so that connections without one can be closed.
        let since = self.common.idle_sequence.fetch_add(1, Ordering::Relaxed);
        let activity = Activity { since: Arc::new(AtomicU64::new(since)), common: Arc::clone(&self.common) };
        self.last_id += 1;
        let (id, answered) = (self.last_id, answer(activity.clone()));
        let task = self.tasks.spawn(async move {
            answered.await;
            id
        });
        self.open.insert(id, (task, activity));
    }

    pub(super) fn has_idle(&self) -> bool {
        self.open.values().any(|(_, activity)| activity.idle_since().is_some())
    }

    /// Closes the connection that has been idle longest.
    pub(super) fn close_idle(&mut self) {
        let idle = self.open.iter().filter_map(|(id, (_, activity))| Some((activity.idle_since()?, *id)));
        // Removed here and not when its task ends, so that it no longer counts.
        if let Some((task, _)) = idle.min().and_then(|(_, id)| self.open.remove(&id)) {
            task.abort();
        }
    }

    /// Waits until a connection has ended; for ever if there is none.
    pub(super) async fn ended(&mut self) {
        // Cancel-safe: `select!` drops this future when another branch is ready.
        match self.tasks.join_next().await {
            Some(Ok(id)) => drop(self.open.remove(&id)),
            // Closed connections are removed already; a task that panicked is identified by its id.
            Some(Err(error)) => self.open.retain(|_, (task, _)| task.id() != error.id()),
            None => std::future::pending().await,
        }
    }

    /// Waits until a connection has ended or become idle.
    pub(super) async fn changed(&mut self) {
        let common = Arc::clone(&self.common);
        tokio::select! {
            () = self.ended() => {}
            () = common.idle.notified() => {}
        }
    }
}

impl Activity {
    fn idle_since(&self) -> Option<u64> {
        Some(self.since.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }

    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn begin(&self) -> Busy {
        self.since.store(BUSY, Ordering::Relaxed);
        Busy(self.clone())
    }
}

/// The guard of a busy connection.
pub(super) struct Busy(Activity);

impl Busy {
    /// Keeps the guard until the response is sent, which for a watch is when it ends.
    pub(super) fn until_sent(self, response: Response<Body>) -> Response<BusyBody> {
        response.map(|body| BusyBody { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Activity { since, common } = &self.0;
        // Idle again, and the last in the sequence.
        since.store(common.idle_sequence.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        // One notification is enough: only the accept loop waits.
        common.idle.notify_one();
    }
}

/// A response body that holds the guard of its connection.
pub(super) struct BusyBody {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for BusyBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

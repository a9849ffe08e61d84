//! The connections that are open, and which of them can be spared.

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

/// In place of a turn: something is being answered.
const BUSY: u64 = u64::MAX;

/// All connections. They are closed when this is dropped.
#[derive(Default)]
pub(super) struct Connections {
    tasks: JoinSet<u64>,
    open: HashMap<u64, (AbortHandle, Activity)>,
    last_id: u64,
    common: Arc<Common>,
}

#[derive(Default)]
struct Common {
    /// Counts up, so that who became idle first has the lowest number.
    idle_sequence: AtomicU64,
    /// Told when a connection becomes idle.
    idle: Notify,
}

/// Whether something is asked on a connection. Clones are one.
#[derive(Clone)]
pub(super) struct Activity {
    /// When it became idle, or [`BUSY`].
    since: Arc<AtomicU64>,
    common: Arc<Common>,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Takes a connection on.
    pub(super) fn spawn<F>(&mut self, answer: impl FnOnce(Activity) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
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

    /// Whether there is a connection on which nothing is asked.
    pub(super) fn has_idle(&self) -> bool {
        self.open.values().any(|(_, activity)| activity.idle_since().is_some())
    }

    /// Closes the connection on which nothing has been asked for the longest time, if there is one.
    pub(super) fn close_idle(&mut self) {
        let idle = self.open.iter().filter_map(|(id, (_, activity))| Some((activity.idle_since()?, *id)));
        if let Some((task, _)) = idle.min().and_then(|(_, id)| self.open.remove(&id)) {
            task.abort();
        }
    }

    /// Waits until one has ended. Waits for ever if there is none.
    pub(super) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(id)) => drop(self.open.remove(&id)),
            // Those that were closed are forgotten already; one that panicked is found by its task.
            Some(Err(error)) => self.open.retain(|_, (task, _)| task.id() != error.id()),
            None => std::future::pending().await,
        }
    }

    /// Waits until one has ended or become idle.
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

    /// Something is asked from now on until what is returned is dropped.
    pub(super) fn begin(&self) -> Busy {
        self.since.store(BUSY, Ordering::Relaxed);
        Busy(self.clone())
    }
}

/// Something is being answered.
pub(super) struct Busy(Activity);

impl Busy {
    /// Until the whole answer is sent, which for a watch is until it ends.
    pub(super) fn until_sent(self, response: Response<Body>) -> Response<BusyBody> {
        response.map(|body| BusyBody { body, _busy: self })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Activity { since, common } = &self.0;
        since.store(common.idle_sequence.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        common.idle.notify_one();
    }
}

/// The body of an answer on a connection that is busy with it.
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

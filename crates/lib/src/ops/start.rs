//! `start`: runs an operation as a task of its own, to be watched, cancelled, or left to itself.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{Cancel, Error, Progress, Reporter, Result, Session};

/// How much progress is kept for those who follow an operation late or slowly.
const MAX_KEPT: usize = 4096;

/// A running operation. Dropping it leaves the operation to itself, as [`Running::detach`] does.
pub struct Running<T> {
    cancel: Cancel,
    log: Arc<ProgressLog>,
    task: JoinHandle<Result<T>>,
}

/// Starts an operation on the current runtime. It gets a session of its own, so that [`Running::cancel`] stops it alone; cancelling
/// the session that it comes from stops it, too.
///
/// ```
/// use std::sync::Arc;
///
/// use futures::StreamExt;
/// use pintle::ops::{CreateRequest, InstallRequest, create, install, start};
/// use pintle::release::{MemoryStore, Status};
/// use pintle::{Progress, Session, Silent, embedded};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
/// # let api = embedded::Embedded::default().open().await?;
/// # let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
/// let (name, namespace) = ("demo".to_owned(), "default".to_owned());
/// let request = InstallRequest { chart: chart.into(), name, namespace, ..InstallRequest::default() };
/// let running = start(&session, move |session, mut progress| async move {
///     install(&session, &request, &mut progress).await
/// });
/// let mut progress = running.progress();
/// let mut applied = 0;
/// while let Some(progress) = progress.next().await {
///     applied += usize::from(matches!(progress, Progress::Applied(_)));
/// }
/// assert!(applied > 0);
/// // `running.cancel()` would have stopped it, and `running.detach()` left it to itself.
/// assert_eq!(running.outcome().await?.info.status, Status::Deployed);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Outside of a tokio runtime.
pub fn start<T, F>(session: &Session, operation: impl FnOnce(Session, ProgressSender) -> F) -> Running<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let (cancel, outer) = (Cancel::default(), session.cancel.clone());
    let log = Arc::new(ProgressLog::default());
    let sender = ProgressSender(Arc::clone(&log));
    let work = operation(session.clone().with_cancel(cancel.clone()), sender);
    let (inner, ended) = (cancel.clone(), Arc::clone(&log));
    let task = tokio::spawn(async move {
        // Also when the operation panics.
        let _end = EndOnDrop(ended);
        let mut work = std::pin::pin!(work);
        tokio::select! {
            outcome = &mut work => return outcome,
            () = outer.cancelled() => inner.cancel(),
        }
        work.await
    });
    Running { cancel, log, task }
}

impl<T> Running<T> {
    /// What has happened so far, as far as it is kept, and what happens until the operation ends. Any number of streams may
    /// follow an operation. One that is slow loses what is not kept any more; the operation waits for none.
    pub fn progress(&self) -> BoxStream<'static, Progress> {
        let (log, changed) = (Arc::clone(&self.log), self.log.changed.subscribe());
        stream::unfold((log, changed, 0), |(log, mut changed, next)| async move {
            loop {
                let seen = *changed.borrow_and_update();
                if let Some((index, progress)) = log.at(next) {
                    return Some((progress, (log, changed, index + 1)));
                }
                if seen.is_ended || changed.changed().await.is_err() {
                    return None;
                }
            }
        })
        .boxed()
    }

    /// Stops the operation; it records the version as failed. A second call also stops the rollback of the failed operation.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether the operation has ended.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Leaves the operation to itself: it goes on to its end as long as the runtime does, and records its outcome.
    pub fn detach(self) {}

    /// Waits for the operation to end.
    ///
    /// # Errors
    /// The error of the operation.
    pub async fn outcome(self) -> Result<T> {
        let ended = self.task.await;
        ended.unwrap_or_else(|error| Err(Error::Input(format!("the operation ended early: {error}"))))
    }
}

impl<T> fmt::Debug for Running<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Running").field("is_finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// The reporter of a started operation.
pub struct ProgressSender(Arc<ProgressLog>);

impl Reporter for ProgressSender {
    fn report(&mut self, progress: Progress) {
        self.0.push(progress);
    }
}

/// What a started operation has reported.
#[derive(Default)]
struct ProgressLog {
    kept: Mutex<Kept>,
    changed: watch::Sender<State>,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<Progress>,
    /// The index of the first entry.
    first: usize,
}

#[derive(Clone, Copy, Default)]
struct State {
    count: usize,
    is_ended: bool,
}

impl ProgressLog {
    fn push(&self, progress: Progress) {
        let mut kept = self.kept();
        kept.entries.push_back(progress);
        if kept.entries.len() > MAX_KEPT {
            kept.entries.pop_front();
            kept.first += 1;
        }
        drop(kept);
        self.changed.send_modify(|state| state.count += 1);
    }

    /// The entry at an index, or the first one that is kept after it, with its index.
    fn at(&self, index: usize) -> Option<(usize, Progress)> {
        let kept = self.kept();
        let index = index.max(kept.first);
        Some((index, kept.entries.get(index - kept.first)?.clone()))
    }

    /// A poisoned lock is fine: an entry is added by a single call.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the streams of an operation's progress.
struct EndOnDrop(Arc<ProgressLog>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.changed.send_modify(|state| state.is_ended = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_progress_is_dropped_and_late_followers_begin_at_what_is_kept() {
        let log = ProgressLog::default();
        for number in 0..MAX_KEPT + 2 {
            log.push(Progress::Step(number.to_string()));
        }
        assert_eq!(log.at(0), Some((2, Progress::Step("2".to_owned()))));
        assert_eq!(log.at(MAX_KEPT + 1).map(|(index, _)| index), Some(MAX_KEPT + 1));
        assert_eq!(log.at(MAX_KEPT + 2), None);
    }
}

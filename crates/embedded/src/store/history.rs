//! The recent events: the source of watches, and of lists at an older resourceVersion.

use std::collections::VecDeque;
use std::sync::Arc;

use super::object::Object;

/// One change.
#[derive(Debug)]
pub struct Event {
    /// The object after the change; for a removal its last state, with the revision of the removal.
    pub object: Arc<Object>,
    /// The object before the change.
    pub previous: Option<Arc<Object>>,
    /// Whether the object was removed.
    pub removed: bool,
}

/// How much history is kept; the oldest events beyond either limit are dropped.
#[derive(Clone, Copy, Debug)]
pub struct HistoryWindow {
    /// The limit of events.
    pub events: usize,
    /// The limit of bytes of their objects.
    pub bytes: usize,
}

impl Default for HistoryWindow {
    fn default() -> Self {
        HistoryWindow { events: 20_000, bytes: 64 << 20 }
    }
}

/// A revision that has left the history (`410 Gone`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The requested revision.
    pub asked: u64,
    /// The oldest available revision.
    pub oldest: u64,
}

/// Events with consecutive revisions.
#[derive(Debug)]
pub(super) struct History {
    events: VecDeque<Arc<Event>>,
    window: HistoryWindow,
    bytes: usize,
    /// The revision before the first event: the oldest state that can be reconstructed.
    base: u64,
}

impl History {
    pub(super) fn new(base: u64, window: HistoryWindow) -> History {
        History { events: VecDeque::new(), window, bytes: 0, base }
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        // Only the new state is counted: the previous one is that of an earlier event, or of the store.
        self.bytes += event.object.text.len();
        self.events.push_back(event);
        while self.events.len() > self.window.events || self.bytes > self.window.bytes {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.object.text.len();
            self.base = oldest.object.revision;
        }
    }

    /// The events after `revision`, oldest first.
    pub(super) fn after(
        &self,
        revision: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>>, TooOld> {
        if revision < self.base {
            return Err(TooOld { asked: revision, oldest: self.base });
        }
        // Every revision has exactly one event.
        let skipped = usize::try_from(revision - self.base).unwrap_or(usize::MAX);
        Ok(self.events.range(skipped.min(self.events.len())..))
    }
}

//! Stops a running operation from outside.

use std::sync::Arc;

use tokio::sync::watch;

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
    /// this to show the user what the next Ctrl-C does.
    pub fn is_rolling_back(&self) -> bool {
        self.calls.borrow().rolling_back
    }

    /// Returns the handle for the rollback of an operation. It takes the second call, whether the first one ended the
    /// operation or arrived during the rollback.
    pub(super) fn for_rollback(&self) -> Cancel {
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

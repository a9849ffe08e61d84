//! How many requests of a connection are under way at once: fewer when the server says that it has too many, and more again as long
//! as it does not. Counted in answers, so that it needs no clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The limit of a connection, and who waits for it.
pub(crate) struct InFlight {
    most: usize,
    state: Mutex<State>,
}

struct State {
    limit: usize,
    running: usize,
    /// Answers since the limit changed last.
    answers: usize,
    /// How often the limit was halved.
    halved: u64,
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

/// A request that may be sent; over when it is dropped.
pub(crate) struct Slot {
    shared: Arc<InFlight>,
    /// How often the limit was halved before it.
    halved: u64,
}

impl InFlight {
    /// At most so many at once.
    pub(crate) fn new(most: usize) -> Arc<InFlight> {
        let most = most.max(1);
        let state = State { limit: most, running: 0, answers: 0, halved: 0, waiting: VecDeque::new() };
        Arc::new(InFlight { most, state: Mutex::new(state) })
    }

    /// Waits until a request may be sent.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Slot {
        let turn = {
            let mut state = self.state();
            let (sender, turn) = oneshot::channel();
            state.waiting.push_back(sender);
            turn
        };
        self.dispatch();
        match turn.await {
            Ok(slot) => slot,
            // Senders are dropped with the queue only, which `self` keeps.
            Err(_) => std::future::pending().await,
        }
    }

    fn dispatch(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                if state.running >= state.limit {
                    return;
                }
                let Some(sender) = state.waiting.pop_front() else { return };
                state.running += 1;
                (sender, Slot { shared: Arc::clone(self), halved: state.halved })
            };
            // What nobody waits for any more comes back when it is dropped.
            let refused = next.0.send(next.1);
            drop(refused);
        }
    }

    /// A poisoned lock is fine: nothing in its critical sections panics halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Notes the answer. Of requests that were under way together, one that the server had too many of halves the limit.
    pub(crate) fn answered(self, is_throttled: bool) {
        let mut state = self.shared.state();
        if is_throttled {
            if self.halved == state.halved {
                state.limit = (state.limit / 2).max(1);
                state.halved += 1;
                state.answers = 0;
            }
            return;
        }
        state.answers += 1;
        if state.answers >= state.limit && state.limit < self.shared.most {
            state.limit += 1;
            state.answers = 0;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.state().running -= 1;
        self.shared.dispatch();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn take(limit: &Arc<InFlight>) -> Vec<Slot> {
        std::iter::from_fn(|| limit.acquire().now_or_never()).collect()
    }

    #[test]
    fn too_many_requests_halve_the_limit_once_and_answers_raise_it_again() {
        let limit = InFlight::new(8);
        let slots = take(&limit);
        assert_eq!(slots.len(), 8);
        // All of them were under way when the server had too much.
        slots.into_iter().for_each(|slot| slot.answered(true));
        let slots = take(&limit);
        assert_eq!(slots.len(), 4);
        slots.into_iter().for_each(|slot| slot.answered(true));
        assert_eq!(take(&limit).len(), 2);
        for _ in 0..100 {
            limit.acquire().now_or_never().expect("none is under way").answered(false);
        }
        assert_eq!(take(&limit).len(), 8);
    }

    #[test]
    fn who_waits_is_next_and_who_gave_up_holds_nobody_up() {
        let limit = InFlight::new(1);
        let first = limit.acquire().now_or_never().expect("none is under way");
        let mut gone = Box::pin(limit.acquire());
        let mut next = Box::pin(limit.acquire());
        assert!(gone.as_mut().now_or_never().is_none() && next.as_mut().now_or_never().is_none());
        drop(gone);
        drop(first);
        assert!(next.now_or_never().is_some());
    }
}

//! Shares the workers between namespaces: each may have a part of them at most, and namespaces that wait are served in turn.
//!
//! A reconciliation may take as long as its request says, so a namespace that could take all workers could stop everybody
//! else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// The workers and who waits for them.
pub(crate) struct FairQueue {
    state: Mutex<State>,
    /// Notified when the last running reconciliation ends.
    idle: Notify,
}

struct State {
    /// How many workers are free.
    free: usize,
    /// How many workers a namespace may have at once.
    share: usize,
    running: BTreeMap<String, usize>,
    /// The namespaces with waiting reconciliations, the next one first.
    turns: VecDeque<String>,
    waiting: BTreeMap<String, VecDeque<oneshot::Sender<Permit>>>,
    is_closed: bool,
}

/// A worker; given back when it is dropped.
pub(crate) struct Permit {
    queue: Arc<FairQueue>,
    namespace: String,
}

impl FairQueue {
    /// A queue for `workers`, of which a namespace may have `share` at once.
    pub(crate) fn new(workers: usize, share: usize) -> Arc<FairQueue> {
        let state = State {
            free: workers.max(1),
            share: share.clamp(1, workers.max(1)),
            running: BTreeMap::new(),
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
            is_closed: false,
        };
        Arc::new(FairQueue { state: Mutex::new(state), idle: Notify::new() })
    }

    /// Waits for a worker; `None` once the queue is closed.
    pub(crate) async fn acquire(self: &Arc<Self>, namespace: &str) -> Option<Permit> {
        let turn = {
            let mut state = self.state();
            if state.is_closed {
                return None;
            }
            let (sender, turn) = oneshot::channel();
            let waiting = state.waiting.entry(namespace.to_owned()).or_default();
            waiting.push_back(sender);
            if waiting.len() == 1 {
                state.turns.push_back(namespace.to_owned());
            }
            turn
        };
        self.dispatch();
        turn.await.ok()
    }

    /// Gives free workers to those whose turn it is.
    fn dispatch(self: &Arc<Self>) {
        loop {
            let next = self.state().next();
            let Some((sender, namespace)) = next else { return };
            // A permit that nobody takes any more comes back when it is dropped.
            let permit = Permit { queue: Arc::clone(self), namespace };
            let refused = sender.send(permit);
            drop(refused);
        }
    }

    /// Lets nobody in any more; those who wait are turned away.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.turns.clear();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        self.idle.notify_one();
    }

    /// Completes when nothing runs in a closed queue.
    pub(crate) async fn ended(&self) {
        while !self.is_ended() {
            self.idle.notified().await;
        }
    }

    fn is_ended(&self) -> bool {
        let state = self.state();
        state.is_closed && state.running.is_empty()
    }

    /// A poisoned lock is fine: nothing in its critical sections panics halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next reconciliation that may run: of the first namespace in turn that has not all of its share.
    fn next(&mut self) -> Option<(oneshot::Sender<Permit>, String)> {
        if self.free == 0 {
            return None;
        }
        let share = self.share;
        let running = &self.running;
        let has_room = |namespace: &String| running.get(namespace).is_none_or(|count| *count < share);
        let turn = self.turns.iter().position(has_room)?;
        let namespace = self.turns.remove(turn)?;
        let waiting = self.waiting.get_mut(&namespace)?;
        let sender = waiting.pop_front()?;
        match waiting.is_empty() {
            true => drop(self.waiting.remove(&namespace)),
            false => self.turns.push_back(namespace.clone()),
        }
        self.free -= 1;
        *self.running.entry(namespace.clone()).or_default() += 1;
        Some((sender, namespace))
    }

    fn give_back(&mut self, namespace: &str) {
        self.free += 1;
        if let Some(count) = self.running.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(namespace);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.queue.state().give_back(&self.namespace);
        self.queue.dispatch();
        self.queue.idle.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Takes a worker if one is free at once.
    fn try_acquire(queue: &Arc<FairQueue>, namespace: &str) -> Option<Permit> {
        queue.acquire(namespace).now_or_never().flatten()
    }

    #[test]
    fn a_namespace_has_its_share_of_the_workers_and_no_more() {
        let queue = FairQueue::new(4, 2);
        let greedy: Vec<Option<Permit>> = (0..3).map(|_| try_acquire(&queue, "greedy")).collect();
        assert_eq!(greedy.iter().flatten().count(), 2);
        assert!(try_acquire(&queue, "other").is_some(), "there is always a worker for somebody else");
        drop(greedy);
        let again: Vec<Option<Permit>> = (0..2).map(|_| try_acquire(&queue, "greedy")).collect();
        assert_eq!(again.iter().flatten().count(), 2, "workers come back, also of those who gave up");
    }

    #[test]
    fn namespaces_that_wait_are_served_in_turn() {
        let queue = FairQueue::new(1, 1);
        let first = try_acquire(&queue, "a").expect("a worker is free");
        let mut waiting: Vec<_> = ["a", "a", "a", "b", "c", "b"]
            .map(|namespace| (namespace, Box::pin(queue.acquire(namespace))))
            .into_iter()
            .collect();
        for (_, turn) in &mut waiting {
            assert!(turn.as_mut().now_or_never().is_none());
        }
        let mut served = Vec::new();
        let mut running = Some(first);
        while !waiting.is_empty() {
            drop(running.take());
            let next = waiting.iter_mut().position(|(_, turn)| {
                running = turn.as_mut().now_or_never().flatten();
                running.is_some()
            });
            served.push(waiting.remove(next.expect("somebody is served")).0);
        }
        assert_eq!(served, ["a", "b", "c", "a", "b", "a"]);
    }

    #[tokio::test]
    async fn a_closed_queue_ends_when_nothing_runs() {
        let queue = FairQueue::new(1, 1);
        let running = try_acquire(&queue, "a").expect("a worker is free");
        let mut waiting = Box::pin(queue.acquire("b"));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(queue.ended().now_or_never().is_none(), "it is not closed");
        queue.close();
        assert!(waiting.await.is_none(), "who waits is turned away");
        assert!(queue.acquire("c").await.is_none());
        assert!(queue.ended().now_or_never().is_none(), "something still runs");
        drop(running);
        queue.ended().await;
    }
}

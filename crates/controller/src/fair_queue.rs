//! Shares the workers between namespaces: each may have a part of them at most, and namespaces that wait are served in turn.
//! What is urgent goes first: somebody waits for a change, and nobody for a request that is as it was.
//!
//! A reconciliation may take as long as its request says, so a namespace that could take all workers could stop everybody
//! else. One that only waits until objects are ready needs no worker meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// Why a request is looked at; what is first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// The request changed, is new, or somebody asked for it.
    Change,
    /// The last try failed.
    Failure,
    /// An object changed that it reads.
    Values,
    /// The controller has started, and the request says that it was handled.
    FirstSight,
    /// Its interval is over.
    Interval,
}

/// All priorities, the highest first.
const PRIORITIES: [Priority; 5] =
    [Priority::Change, Priority::Failure, Priority::Values, Priority::FirstSight, Priority::Interval];

/// Each so many turns, the lowest priority that waits goes first, so that it does not wait for ever.
const LOWEST_EVERY: u64 = 16;

/// The workers and who waits for them.
pub(crate) struct FairQueue {
    state: Mutex<State>,
    /// Notified when the last running reconciliation ends.
    idle: Notify,
}

struct State {
    /// How many workers are free; negative while some came back from a rest.
    free: isize,
    /// How many workers a namespace may have at once.
    share: usize,
    running: BTreeMap<String, usize>,
    /// How many permits there are, also of those who wait for objects and need no worker.
    permits: usize,
    /// How many workers were given so far.
    given: u64,
    waiting: BTreeMap<Priority, Waiting>,
    /// The priority with which each request waits, by uid.
    priorities: BTreeMap<String, Priority>,
    is_closed: bool,
}

/// Those who wait with the same priority.
#[derive(Default)]
struct Waiting {
    /// The namespaces, the next one first.
    turns: VecDeque<String>,
    queues: BTreeMap<String, VecDeque<Turn>>,
}

/// One who waits.
struct Turn {
    uid: String,
    sender: oneshot::Sender<Permit>,
}

impl Waiting {
    fn push(&mut self, namespace: &str, turn: Turn) {
        let queue = self.queues.entry(namespace.to_owned()).or_default();
        queue.push_back(turn);
        if queue.len() == 1 {
            self.turns.push_back(namespace.to_owned());
        }
    }

    /// The first in the queue of a namespace, which goes behind the others.
    fn pop(&mut self, at: usize) -> Option<(String, Turn)> {
        let namespace = self.turns.remove(at)?;
        let queue = self.queues.get_mut(&namespace)?;
        let turn = queue.pop_front()?;
        match queue.is_empty() {
            true => drop(self.queues.remove(&namespace)),
            false => self.turns.push_back(namespace.clone()),
        }
        Some((namespace, turn))
    }

    /// Takes a request out of the queue of its namespace.
    fn take(&mut self, namespace: &str, uid: &str) -> Option<Turn> {
        let queue = self.queues.get_mut(namespace)?;
        let at = queue.iter().position(|turn| turn.uid == uid)?;
        let turn = queue.remove(at);
        if queue.is_empty() {
            self.queues.remove(namespace);
            self.turns.retain(|other| other != namespace);
        }
        turn
    }
}

/// A worker; given back when it is dropped.
pub(crate) struct Permit {
    queue: Arc<FairQueue>,
    namespace: String,
    /// Whether the worker is lent to others meanwhile.
    rests: AtomicBool,
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Permit").field("rests", &self.rests).finish_non_exhaustive()
    }
}

impl Permit {
    /// Gives the worker to others while objects are waited for.
    pub(crate) fn rest(&self) {
        if !self.rests.swap(true, Ordering::Relaxed) {
            self.queue.state().give_back(&self.namespace);
            self.queue.dispatch();
        }
    }

    /// Takes a worker again. It is not waited for, because what follows is short and others may depend on it: for a moment, there
    /// may be one more than the limit.
    pub(crate) fn resume(&self) {
        if self.rests.swap(false, Ordering::Relaxed) {
            self.queue.state().take(&self.namespace);
        }
    }
}

impl FairQueue {
    /// A queue for `workers`, of which a namespace may have `share` at once.
    pub(crate) fn new(workers: usize, share: usize) -> Arc<FairQueue> {
        let state = State {
            free: isize::try_from(workers.max(1)).unwrap_or(isize::MAX),
            share: share.clamp(1, workers.max(1)),
            running: BTreeMap::new(),
            permits: 0,
            given: 0,
            waiting: BTreeMap::new(),
            priorities: BTreeMap::new(),
            is_closed: false,
        };
        Arc::new(FairQueue { state: Mutex::new(state), idle: Notify::new() })
    }

    /// Waits for a worker for a request; `None` once the queue is closed.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        namespace: &str,
        uid: &str,
        priority: Priority,
    ) -> Option<Permit> {
        let turn = {
            let mut state = self.state();
            if state.is_closed {
                return None;
            }
            let (sender, turn) = oneshot::channel();
            let waiting = state.waiting.entry(priority).or_default();
            waiting.push(namespace, Turn { uid: uid.to_owned(), sender });
            state.priorities.insert(uid.to_owned(), priority);
            turn
        };
        self.dispatch();
        turn.await.ok()
    }

    /// Makes a request that waits more urgent, if it waits with a lower priority.
    pub(crate) fn promote(&self, namespace: &str, uid: &str, priority: Priority) {
        let mut state = self.state();
        let Some(before) = state.priorities.get(uid).copied().filter(|before| *before > priority) else {
            return;
        };
        let taken = state.waiting.get_mut(&before).and_then(|waiting| waiting.take(namespace, uid));
        if let Some(turn) = taken {
            state.priorities.insert(uid.to_owned(), priority);
            state.waiting.entry(priority).or_default().push(namespace, turn);
        }
    }

    /// Gives free workers to those whose turn it is.
    fn dispatch(self: &Arc<Self>) {
        loop {
            let next = self.state().next();
            let Some((sender, namespace)) = next else { return };
            // A permit that nobody takes any more comes back when it is dropped.
            let permit = Permit { queue: Arc::clone(self), namespace, rests: AtomicBool::new(false) };
            let refused = sender.send(permit);
            drop(refused);
        }
    }

    /// Lets nobody in any more; those who wait are turned away.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.priorities.clear();
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
        state.is_closed && state.permits == 0
    }

    /// A poisoned lock is fine: nothing in its critical sections panics halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next reconciliation that may run: of the highest priority, and there of the first namespace in turn that has not all
    /// of its share.
    fn next(&mut self) -> Option<(oneshot::Sender<Permit>, String)> {
        if self.free <= 0 {
            return None;
        }
        let is_of_lowest = (self.given + 1).is_multiple_of(LOWEST_EVERY);
        let mut order = PRIORITIES;
        if is_of_lowest {
            order.reverse();
        }
        let (namespace, turn) = order.into_iter().find_map(|priority| self.next_of(priority))?;
        self.given += 1;
        self.permits += 1;
        self.priorities.remove(&turn.uid);
        self.take(&namespace);
        Some((turn.sender, namespace))
    }

    fn next_of(&mut self, priority: Priority) -> Option<(String, Turn)> {
        let (share, running) = (self.share, &self.running);
        let has_room = |namespace: &String| running.get(namespace).is_none_or(|count| *count < share);
        let waiting = self.waiting.get_mut(&priority)?;
        let at = waiting.turns.iter().position(has_room)?;
        waiting.pop(at)
    }

    fn take(&mut self, namespace: &str) {
        self.free -= 1;
        *self.running.entry(namespace.to_owned()).or_default() += 1;
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
        let mut state = self.queue.state();
        state.permits -= 1;
        if !self.rests.load(Ordering::Relaxed) {
            state.give_back(&self.namespace);
        }
        drop(state);
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
        queue.acquire(namespace, "", Priority::Change).now_or_never().flatten()
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
            .map(|namespace| (namespace, Box::pin(queue.acquire(namespace, "", Priority::Change))))
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
        let mut waiting = Box::pin(queue.acquire("b", "", Priority::Change));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(queue.ended().now_or_never().is_none(), "it is not closed");
        queue.close();
        assert!(waiting.await.is_none(), "who waits is turned away");
        assert!(queue.acquire("c", "", Priority::Change).await.is_none());
        assert!(queue.ended().now_or_never().is_none(), "something still runs");
        drop(running);
        queue.ended().await;
    }

    /// In which order those who wait are served, each ending before the next begins.
    fn served(queue: &Arc<FairQueue>, waiting: &[(&'static str, Priority)]) -> Vec<&'static str> {
        let mut running = try_acquire(queue, "first");
        let mut waiting: Vec<_> = waiting
            .iter()
            .map(|(uid, priority)| (*uid, Box::pin(queue.acquire("a", uid, *priority))))
            .collect();
        for (_, turn) in &mut waiting {
            assert!(turn.as_mut().now_or_never().is_none());
        }
        queue.promote("a", "promoted", Priority::Change);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(running.take());
            let next = waiting.iter_mut().position(|(_, turn)| {
                running = turn.as_mut().now_or_never().flatten();
                running.is_some()
            });
            served.push(waiting.remove(next.expect("somebody is served")).0);
        }
        served
    }

    #[test]
    fn what_is_urgent_goes_first_also_if_it_became_so_while_waiting() {
        let queue = FairQueue::new(1, 1);
        let waiting = [
            ("interval", Priority::Interval),
            ("first sight", Priority::FirstSight),
            ("promoted", Priority::FirstSight),
            ("values", Priority::Values),
            ("failure", Priority::Failure),
            ("change", Priority::Change),
        ];
        let expected = ["change", "promoted", "failure", "values", "first sight", "interval"];
        assert_eq!(served(&queue, &waiting), expected);
        assert!(queue.state().priorities.is_empty());
    }

    #[test]
    fn a_change_behind_thousands_is_next_and_the_last_is_not_forgotten() {
        let queue = FairQueue::new(1, 1);
        let mut waiting = vec![("later", Priority::Interval); 100];
        waiting.extend([("change", Priority::Change); 100]);
        let served = served(&queue, &waiting);
        assert_eq!(served[0], "change");
        assert!(served[..20].contains(&"later"), "one in sixteen is of the lowest priority");
    }

    #[tokio::test]
    async fn who_rests_lends_the_worker_and_still_counts_as_running() {
        let queue = FairQueue::new(1, 1);
        let resting = try_acquire(&queue, "a").expect("a worker is free");
        assert!(try_acquire(&queue, "a").is_none());
        resting.rest();
        let other = try_acquire(&queue, "a").expect("the worker is lent");
        resting.resume();
        drop(other);
        assert!(try_acquire(&queue, "a").is_none(), "it is back at work");
        resting.rest();
        queue.close();
        assert!(queue.ended().now_or_never().is_none(), "it has not ended");
        drop(resting);
        queue.ended().await;
    }
}

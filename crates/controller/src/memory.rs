//! The memory that all reconciliations may use together.
//!
//! Each step of a reconciliation has limits, but ten reconciliations at their limits take ten times as much. So a
//! reconciliation reserves memory before it begins, waits while there is too little, and all its limits follow from what it
//! has reserved. It begins with an amount that is enough for nearly all charts. One that needs more starts again with four times
//! as much: to reserve more while holding some would let reconciliations wait for each other. Once the chart is rendered,
//! its real size is known, and the rest is given back while the release is applied and waited for.
//!
//! A namespace has half of all memory at most, and namespaces that wait are served in turn, as with workers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle::TemplateLimits;
use tokio::sync::oneshot;

/// The largest first reservation. Of known charts, the largest render to 2.5 MiB in half a million steps.
const MAX_FIRST: u64 = 64 << 20;
/// The smallest first reservation.
const MIN_FIRST: u64 = 8 << 20;
/// How much more is reserved each time that it is too little.
const GROWTH: u64 = 4;
/// What a release takes besides its rendered text: requests and answers of the API server, one at a time.
const HELD_BASE: u64 = 4 << 20;
/// What a byte of rendered text takes as objects, wanted, recorded and live, and as parts of requests.
const HELD_FACTOR: u64 = 16;
/// The same while objects are waited for: a few small answers, and the rendered text in fewer forms.
const WAITING_BASE: u64 = 64 << 10;

/// The memory, and who waits for it. Clones share it.
#[derive(Clone, Debug)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    free: u64,
    /// How much a namespace may have.
    share: u64,
    held: BTreeMap<String, u64>,
    /// The namespaces that wait, the next one first.
    turns: VecDeque<String>,
    waiting: BTreeMap<String, VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    size: u64,
    sender: oneshot::Sender<Reservation>,
}

/// Reserved memory; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Memory,
    namespace: String,
    size: Mutex<u64>,
}

impl Memory {
    /// Memory of so many bytes.
    pub fn new(total: u64) -> Memory {
        let state = State {
            free: total,
            share: total.div_ceil(2),
            held: BTreeMap::new(),
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
        };
        Memory { state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most that a namespace may have.
    pub(crate) fn share(&self) -> u64 {
        self.state().share
    }

    /// What a reconciliation begins with.
    pub(crate) fn first(&self) -> u64 {
        let share = self.share();
        (share / 6).clamp(MIN_FIRST, MAX_FIRST).min(share)
    }

    /// What a reconciliation reserves for which `size` was too little; `None` if it may not have more.
    pub(crate) fn after(&self, size: u64) -> Option<u64> {
        let share = self.share();
        (size < share).then(|| size.saturating_mul(GROWTH).min(share))
    }

    /// Waits for memory; at most the share of a namespace.
    pub(crate) async fn reserve(&self, namespace: &str, size: u64) -> Reservation {
        let turn = {
            let mut state = self.state();
            let (sender, turn) = oneshot::channel();
            let size = size.min(state.share);
            let waiting = state.waiting.entry(namespace.to_owned()).or_default();
            waiting.push_back(Waiting { size, sender });
            if waiting.len() == 1 {
                state.turns.push_back(namespace.to_owned());
            }
            turn
        };
        self.dispatch();
        match turn.await {
            Ok(reservation) => reservation,
            // Senders are dropped with the memory itself only, which `self` keeps.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives free memory to those whose turn it is.
    fn dispatch(&self) {
        loop {
            let next = self.state().next();
            let Some((namespace, Waiting { size, sender })) = next else { return };
            // What nobody takes any more comes back when it is dropped.
            let reservation = Reservation { memory: self.clone(), namespace, size: Mutex::new(size) };
            let refused = sender.send(reservation);
            drop(refused);
        }
    }

    fn give_back(&self, namespace: &str, size: u64) {
        self.state().give_back(namespace, size);
        self.dispatch();
    }
}

impl State {
    /// The next reservation: of the first namespace in turn that has not all of its share. If it does not fit yet, the others wait
    /// behind it, or one that needs much would wait for ever.
    fn next(&mut self) -> Option<(String, Waiting)> {
        self.forget_gone();
        let (share, held, waiting) = (self.share, &self.held, &self.waiting);
        let fits = |namespace: &String| {
            let wanted = waiting.get(namespace).and_then(VecDeque::front).map_or(0, |first| first.size);
            held.get(namespace).copied().unwrap_or_default() + wanted <= share
        };
        let turn = self.turns.iter().position(fits)?;
        let namespace = self.turns.get(turn)?.clone();
        let queue = self.waiting.get_mut(&namespace)?;
        if queue.front()?.size > self.free {
            return None;
        }
        let first = queue.pop_front()?;
        let is_last = queue.is_empty();
        self.turns.remove(turn);
        match is_last {
            true => drop(self.waiting.remove(&namespace)),
            false => self.turns.push_back(namespace.clone()),
        }
        self.free -= first.size;
        *self.held.entry(namespace.clone()).or_default() += first.size;
        Some((namespace, first))
    }

    /// Removes those who do not wait any more.
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, queue| {
            queue.retain(|waiting| !waiting.sender.is_closed());
            !queue.is_empty()
        });
        let waiting = &self.waiting;
        self.turns.retain(|namespace| waiting.contains_key(namespace));
    }

    fn give_back(&mut self, namespace: &str, size: u64) {
        self.free += size;
        if let Some(held) = self.held.get_mut(namespace) {
            *held = held.saturating_sub(size);
            if *held == 0 {
                self.held.remove(namespace);
            }
        }
    }
}

impl Reservation {
    /// How much it is.
    pub(crate) fn size(&self) -> u64 {
        *self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back what a release does not need whose chart was rendered to so many bytes.
    pub(crate) fn shrink_to_rendered(&self, bytes: usize) {
        self.shrink_to(HELD_BASE.saturating_add((bytes as u64).saturating_mul(HELD_FACTOR)));
    }

    /// Gives back what is not needed to wait for objects whose chart was rendered to so many bytes.
    pub(crate) fn shrink_to_waiting(&self, bytes: usize) {
        self.shrink_to(WAITING_BASE.saturating_add((bytes as u64).saturating_mul(HELD_FACTOR)));
    }

    fn shrink_to(&self, needed: u64) {
        let freed = {
            let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
            let freed = size.saturating_sub(needed);
            *size -= freed;
            freed
        };
        if freed > 0 {
            self.memory.give_back(&self.namespace, freed);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let size = self.size();
        self.memory.give_back(&self.namespace, size);
    }
}

/// The limits of the stages of a reconciliation that has reserved so many bytes. Each stage could take all of it: values and
/// objects take many times the bytes of their text, and a step of a template may leave a value behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StageLimits(pub(crate) u64);

impl StageLimits {
    /// Bytes of an index or an archive that is fetched.
    pub(crate) fn fetched(self) -> u64 {
        self.0
    }

    /// Bytes of a chart and the archives inside, decompressed.
    pub(crate) fn chart(self) -> u64 {
        self.0 / 4
    }

    /// Bytes of all sources of values.
    pub(crate) fn values(self) -> u64 {
        self.0 / 32
    }

    /// The limits of templates.
    pub(crate) fn templates(self) -> TemplateLimits {
        let usual = TemplateLimits::default();
        TemplateLimits {
            steps: usual.steps.min(self.0 / 64),
            output_bytes: usual.output_bytes.min(self.0 / 32),
            ..usual
        }
    }

    /// Bytes of all objects after post-renderers, which may add to them.
    pub(crate) fn post_rendered(self) -> u64 {
        self.0 / 16
    }

    /// Bytes of the states of all scripts.
    pub(crate) fn scripts(self) -> usize {
        usize::try_from(self.0 / 4).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const MB: u64 = 1 << 20;

    /// Reserves memory that is free at once.
    fn try_reserve(memory: &Memory, namespace: &str, size: u64) -> Option<Reservation> {
        memory.reserve(namespace, size).now_or_never()
    }

    #[test]
    fn all_reservations_together_have_a_limit() {
        let memory = Memory::new(100 * MB);
        let held: Vec<Reservation> = ["a", "b", "c", "d", "e"]
            .iter()
            .filter_map(|namespace| try_reserve(&memory, namespace, 30 * MB))
            .collect();
        assert_eq!(held.len(), 3);
        assert_eq!(held.iter().map(Reservation::size).sum::<u64>(), 90 * MB);
        drop(held);
        assert_eq!(memory.state().free, 100 * MB, "also that of those who gave up waiting");
        assert!(memory.state().held.is_empty());
    }

    #[test]
    fn a_namespace_has_half_of_the_memory_at_most() {
        let memory = Memory::new(100 * MB);
        let greedy: Vec<Option<Reservation>> =
            (0..4).map(|_| try_reserve(&memory, "greedy", 20 * MB)).collect();
        assert_eq!(greedy.iter().flatten().count(), 2);
        assert!(try_reserve(&memory, "other", 50 * MB).is_some(), "there is always memory for somebody else");
        drop(greedy);
        let all = try_reserve(&memory, "greedy", 1000 * MB).expect("nobody has any");
        assert_eq!(all.size(), 50 * MB, "more than the share is never reserved");
    }

    #[test]
    fn one_that_needs_much_is_not_passed_by_those_that_need_little() {
        let memory = Memory::new(100 * MB);
        let small = [
            try_reserve(&memory, "a", 40 * MB).expect("it is free"),
            try_reserve(&memory, "b", 30 * MB).expect("it is free"),
        ];
        let mut large = Box::pin(memory.reserve("c", 50 * MB));
        assert!(large.as_mut().now_or_never().is_none());
        let mut next = Box::pin(memory.reserve("d", 10 * MB));
        assert!(next.as_mut().now_or_never().is_none(), "it would fit, but comes later");
        let [first, _second] = small;
        drop(first);
        let large = large.now_or_never().expect("it is its turn");
        assert!(next.as_mut().now_or_never().is_some(), "and the next one fits beside it");
        drop(large);
    }

    #[test]
    fn one_namespace_at_its_share_does_not_stop_the_others() {
        let memory = Memory::new(100 * MB);
        let _held = try_reserve(&memory, "greedy", 50 * MB).expect("it is free");
        let mut waiting = Box::pin(memory.reserve("greedy", 10 * MB));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(try_reserve(&memory, "other", 20 * MB).is_some());
    }

    #[test]
    fn what_is_not_needed_is_given_back_early() {
        let memory = Memory::new(100 * MB);
        let held = try_reserve(&memory, "a", 50 * MB).expect("it is free");
        held.shrink_to_rendered(1 << 20);
        assert_eq!(held.size(), 20 * MB);
        held.shrink_to_rendered(100 << 20);
        assert_eq!((held.size(), memory.state().free), (20 * MB, 80 * MB), "it never grows");
        drop(held);
        assert_eq!(memory.state().free, 100 * MB);
    }

    #[test]
    fn reservations_grow_up_to_the_share() {
        let sizes = |total: u64| {
            let memory = Memory::new(total);
            std::iter::successors(Some(memory.first()), |size| memory.after(*size)).collect::<Vec<u64>>()
        };
        assert_eq!(sizes(1024 * MB), [64 * MB, 256 * MB, 512 * MB]);
        assert_eq!(sizes(160 * MB), [13_981_013, 55_924_052, 80 * MB]);
        assert_eq!(sizes(10 * MB), [5 * MB], "never more than the share");
        let all = StageLimits(u64::MAX);
        assert_eq!(all.templates(), TemplateLimits::default(), "limits never exceed the usual ones");
    }
}

//! Limits shared by the scripts of all charts of an operation, so that many small charts cannot use more than one
//! large chart may.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::limits::Limits;

/// The remaining budget of all charts that were loaded together.
pub(crate) struct Budget {
    steps: AtomicU64,
    /// In nanoseconds.
    time: AtomicU64,
    /// The time that `wait` and `ready` handlers have waited so far, in nanoseconds.
    waited: AtomicU64,
    /// The memory of all states, as last reported.
    memory: AtomicUsize,
    most_memory: usize,
    /// The bytes that may still be written to files.
    disk: AtomicU64,
    /// Whether any script exceeded a limit.
    exceeded: AtomicBool,
}

/// The minimum that a file counts, so that many empty files are not free.
const BLOCK: u64 = 4 << 10;

/// The cost of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) time: Duration,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Budget {
            steps: AtomicU64::new(limits.all_steps),
            time: AtomicU64::new(nanoseconds(limits.all_time)),
            waited: AtomicU64::new(0),
            memory: AtomicUsize::new(0),
            most_memory: limits.all_memory.max(1),
            disk: AtomicU64::new(limits.all_disk),
            exceeded: AtomicBool::new(false),
        }
    }

    /// Records that a script exceeded a limit, which ends the operation.
    pub(crate) fn mark_exceeded(&self) {
        self.exceeded.store(true, Ordering::Relaxed);
    }

    /// Whether any script exceeded a limit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// The remaining steps.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The remaining time.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.time.load(Ordering::Relaxed))
    }

    /// Deducts the cost of a run. Handlers run sequentially, so load and store cannot race.
    pub(crate) fn spend(&self, spent: Spent) {
        self.steps.store(self.steps().saturating_sub(spent.steps), Ordering::Relaxed);
        self.time.store(nanoseconds(self.time().saturating_sub(spent.time)), Ordering::Relaxed);
    }

    /// Returns the cost of a run that has to be repeated (a `wait` handler that is not done yet).
    pub(crate) fn refund(&self, spent: Spent) {
        self.steps.store(self.steps().saturating_add(spent.steps), Ordering::Relaxed);
        self.time.store(nanoseconds(self.time().saturating_add(spent.time)), Ordering::Relaxed);
    }

    /// Reserves disk space for a file. Returns whether there was enough.
    pub(crate) fn reserve_disk(&self, bytes: u64) -> bool {
        let needed = bytes.div_ceil(BLOCK).max(1).saturating_mul(BLOCK);
        let left = self.disk.load(Ordering::Relaxed).checked_sub(needed);
        left.is_some_and(|left| {
            self.disk.store(left, Ordering::Relaxed);
            true
        })
    }

    /// How long handlers have waited so far.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Adds time that a handler has waited.
    pub(crate) fn wait(&self, time: Duration) {
        self.waited.store(nanoseconds(self.waited().saturating_add(time)), Ordering::Relaxed);
    }

    /// The memory that a state may use, given what it held when last measured.
    pub(crate) fn memory_for(&self, held: usize) -> usize {
        let others = self.memory.load(Ordering::Relaxed).saturating_sub(held);
        self.most_memory.saturating_sub(others)
    }

    /// Records that the memory of a state changed.
    pub(crate) fn update_memory(&self, before: usize, now: usize) {
        let others = self.memory.load(Ordering::Relaxed).saturating_sub(before);
        self.memory.store(others.saturating_add(now), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_state_holds_another_cannot() {
        let budget = Budget::new(&Limits { all_memory: 100, ..Limits::default() });
        budget.update_memory(0, 60);
        assert_eq!((budget.memory_for(60), budget.memory_for(0)), (100, 40));
        budget.update_memory(60, 10);
        assert_eq!(budget.memory_for(0), 90);
        budget.update_memory(0, 1000);
        assert_eq!(budget.memory_for(0), 0);
    }

    #[test]
    fn files_take_whole_blocks_until_none_is_left() {
        let budget = Budget::new(&Limits { all_disk: 3 * BLOCK, ..Limits::default() });
        assert!(budget.reserve_disk(0));
        assert!(!budget.reserve_disk(2 * BLOCK + 1));
        assert!(budget.reserve_disk(BLOCK + 1));
        assert!(!budget.reserve_disk(1));
    }

    #[test]
    fn steps_and_time_run_out_and_never_below_nothing() {
        let budget =
            Budget::new(&Limits { all_steps: 10, all_time: Duration::from_secs(1), ..Limits::default() });
        let spent = Spent { steps: 7, time: Duration::from_millis(900) };
        budget.spend(spent);
        assert_eq!((budget.steps(), budget.time()), (3, Duration::from_millis(100)));
        budget.refund(spent);
        budget.spend(Spent { steps: 11, time: Duration::from_secs(2) });
        assert_eq!((budget.steps(), budget.time()), (0, Duration::ZERO));
    }
}

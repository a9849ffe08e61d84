//! Limits on the total cost of validating a chart and all its subcharts. Helm has no such limits; without them a chart
//! with many subcharts could stall the program.

use std::cell::Cell;

/// Work of validation, in units of about 0.1 µs: some five seconds for a chart with all its subcharts.
const MAX_WORK: u64 = 50_000_000;

/// The maximum total size of messages, in bytes. A list of choices is repeated for every value that matches none.
const MAX_MESSAGES: usize = 16 << 20;

/// Work of compiling patterns, as `pintle_regex` counts it.
const MAX_PATTERN_WORK: u64 = 20_000_000;

/// The limits that are left.
pub(super) struct Budget {
    work: Cell<u64>,
    messages: Cell<usize>,
    patterns: Cell<u64>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Budget {
            work: Cell::new(MAX_WORK),
            messages: Cell::new(MAX_MESSAGES),
            patterns: Cell::new(MAX_PATTERN_WORK),
        }
    }

    pub(super) fn work_left(&self) -> u64 {
        self.work.get()
    }

    /// Spends work. Returns whether enough was left; once it was not, nothing is left.
    pub(super) fn spend_work(&self, work: u64) -> bool {
        spend(&self.work, work)
    }

    /// Like [`Budget::spend_work`], for the cost of compiling a pattern.
    pub(super) fn spend_pattern(&self, work: u64) -> bool {
        spend(&self.patterns, work)
    }

    /// Whether another message may be built.
    pub(super) fn has_messages_left(&self) -> bool {
        self.messages.get() > 0
    }

    pub(super) fn spend_message(&self, bytes: usize) {
        self.messages.set(self.messages.get().saturating_sub(bytes));
    }
}

fn spend(left: &Cell<u64>, work: u64) -> bool {
    let rest = left.get().checked_sub(work);
    left.set(rest.unwrap_or(0));
    rest.is_some()
}

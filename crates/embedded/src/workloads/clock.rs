//! The time of the node: it goes on as that of the machine, and jumps ahead when nothing else is left to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::api::Clock;

/// How fast workloads move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As fast as can be: the clock jumps to whatever is due next.
    #[default]
    Fast,
    /// As long as it takes.
    Real,
}

/// A clock that can be put ahead.
pub(crate) struct SimulatedClock {
    real: Arc<dyn Clock>,
    /// By how many milliseconds it is ahead.
    ahead: AtomicU64,
}

impl SimulatedClock {
    pub(crate) fn over(real: Arc<dyn Clock>) -> SimulatedClock {
        SimulatedClock { real, ahead: AtomicU64::new(0) }
    }

    /// Makes it at least `moment`.
    pub(super) fn jump_to(&self, moment: Duration) {
        let missing = moment.saturating_sub(self.now()).as_nanos().div_ceil(1_000_000);
        self.ahead.fetch_add(u64::try_from(missing).unwrap_or(0), Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        self.real.now() + Duration::from_millis(self.ahead.load(Ordering::Relaxed))
    }
}

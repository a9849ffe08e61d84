//! The clock of the simulated node. It follows the machine's clock until the work queue advances it to the next
//! requeue. After that it stands still until the machine has caught up: clients compare timestamps with their own
//! clock, and the less they see from the future, the better.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::api::Clock;

/// How fast simulated workloads make progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As fast as possible: the clock jumps to the next requeue.
    #[default]
    Fast,
    /// In real time.
    Real,
}

/// A clock that can be advanced and never goes back.
pub(crate) struct SimulatedClock {
    real: Arc<dyn Clock>,
    /// The latest time that it was advanced to, in milliseconds since 1970.
    advanced_to: AtomicU64,
}

impl SimulatedClock {
    pub(crate) fn new(real: Arc<dyn Clock>) -> SimulatedClock {
        SimulatedClock { real, advanced_to: AtomicU64::new(0) }
    }

    /// Advances the clock; does nothing if it is already later.
    pub(super) fn advance_to(&self, time: Duration) {
        // Rounded up: at a clock that stops short of the due time nothing would be due, and the drain would never
        // end.
        let time = time.as_nanos().div_ceil(1_000_000);
        self.advanced_to.fetch_max(u64::try_from(time).unwrap_or(0), Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        self.real.now().max(Duration::from_millis(self.advanced_to.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that only moves when a test sets it.
    struct ManualClock(AtomicU64);

    impl Clock for ManualClock {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn an_advanced_clock_stands_still_until_the_machine_has_caught_up() {
        let real = Arc::new(ManualClock(AtomicU64::new(100)));
        let clock = SimulatedClock::new(Arc::clone(&real) as Arc<dyn Clock>);
        let now_when_it_is = |seconds: u64| {
            real.0.store(seconds, Ordering::Relaxed);
            clock.now().as_secs()
        };
        assert_eq!(now_when_it_is(101), 101);
        clock.advance_to(Duration::from_secs(130));
        clock.advance_to(Duration::from_secs(120));
        assert_eq!(now_when_it_is(110), 130);
        assert_eq!(now_when_it_is(131), 131);
    }
}

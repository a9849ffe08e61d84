//! The time of the node: that of the machine, unless it jumped ahead because nothing else was left to do. Then it stands
//! still until the machine has caught up, so that clients, which ask their own clocks, see few things from the future.

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
    /// The moment that it jumped to last, in milliseconds.
    advanced_to: AtomicU64,
}

impl SimulatedClock {
    pub(crate) fn new(real: Arc<dyn Clock>) -> SimulatedClock {
        SimulatedClock { real, advanced_to: AtomicU64::new(0) }
    }

    /// Makes it at least `view`.
    pub(super) fn advance_to(&self, view: Duration) {
        let view = view.as_nanos().div_ceil(1_000_000);
        self.advanced_to.fetch_max(u64::try_from(view).unwrap_or(0), Ordering::Relaxed);
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

    /// A clock that is put by hand.
    struct ManualClock(AtomicU64);

    impl Clock for ManualClock {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn after_a_jump_it_stands_still_until_the_machine_has_caught_up() {
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

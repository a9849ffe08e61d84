//! The system clock and random numbers. The library takes both as arguments, so that tests can fix them.
#![expect(clippy::disallowed_methods, reason = "the one place of the program that asks for the time")]

use std::time::{SystemTime, UNIX_EPOCH};

use pintle::chart::metadata::Timestamp as ChartTimestamp;
use pintle::release::Timestamp;
use pintle_time::Zone;

/// The current Unix time in seconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The current time, for comparison with those of files.
pub(crate) fn system_time() -> SystemTime {
    SystemTime::now()
}

/// The current time with nanoseconds, as archives record it.
pub(crate) fn timestamp() -> ChartTimestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ChartTimestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// The system clock, with the offset of the user's time zone, which Helm records too.
pub(crate) struct SystemClock;

impl pintle::Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let minutes = Zone::local().offset(seconds) / 60;
        Timestamp::from_unix(seconds, since.subsec_nanos()).with_offset(minutes)
    }

    fn random(&self) -> u128 {
        rand::random()
    }
}

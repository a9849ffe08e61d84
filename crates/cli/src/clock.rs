//! The system clock and random numbers. The library takes both as arguments, so that tests can fix them.
#![expect(clippy::disallowed_methods, reason = "the one place of the program that asks for the time")]

use std::time::{SystemTime, UNIX_EPOCH};

use pintle::release::Timestamp;
use pintle_time::Zone;

/// The current Unix time in seconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// The time since the start of 1970.
#[cfg(feature = "wasm")]
pub(crate) fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The current time, for comparison with those of files.
pub(crate) fn system_time() -> SystemTime {
    SystemTime::now()
}

/// The current time in UTC with nanoseconds, as archives record it.
pub(crate) fn timestamp() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// The current time with nanoseconds and the offset of the user's time zone, as Go's `time.Now()`.
pub(crate) fn local_time() -> Timestamp {
    let now = timestamp();
    now.with_offset(Zone::local().offset(now.unix()) / 60)
}

/// The system clock, with the offset of the user's time zone, which Helm records too.
pub(crate) struct SystemClock;

impl pintle::Clock for SystemClock {
    fn now(&self) -> Timestamp {
        local_time()
    }

    fn random(&self) -> u128 {
        rand::random()
    }
}

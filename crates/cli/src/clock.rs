//! Time and chance, for what is written with a date or needs a name that nobody else has.

use std::time::{SystemTime, UNIX_EPOCH};

use pintle::chart::metadata::Timestamp as ChartTimestamp;
use pintle::release::Timestamp;
use pintle_time::Zone;

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Now, with all its digits.
pub(crate) fn moment() -> ChartTimestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ChartTimestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// The clock of the computer, in the zone of the user.
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

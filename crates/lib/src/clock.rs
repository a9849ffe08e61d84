//! Where time and randomness come from. Operations take both from their session, never from the system, so that tests
//! can fix them; [`SystemClock`] is the one place that asks the system.
#![expect(clippy::disallowed_methods, reason = "the one place of the library that asks for the time")]

use std::time::{SystemTime, UNIX_EPOCH};

use pintle_release::Timestamp;

/// The source of time and randomness. The library never asks the system itself, so tests can fix both.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns unpredictable bits, used for version ids. Two versions that are created in the same millisecond differ
    /// only in these.
    fn random(&self) -> u128;
}

/// The clock and the random source of the operating system, with times in UTC. Sessions use it unless they are given
/// another [`Clock`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 is wrong anyway, and no reason to fail.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
    }

    fn random(&self) -> u128 {
        rand::random()
    }
}

//! Time and generated names. Both come in from outside ([`crate::Options`]), so that tests and rehearsals are
//! reproducible.
#![expect(clippy::disallowed_methods, reason = "the one place of the server that asks for the time")]

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pintle_time::{GoTime, Zone};

/// The source of the current time. A simulated one need not run evenly.
pub trait Clock: Send + Sync {
    /// The time since 1970.
    fn now(&self) -> Duration;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// Formats a time as `metav1.Time`: RFC 3339 in whole seconds.
pub(super) fn format_time(time: Duration) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    GoTime::from_unix(seconds, 0, Zone::utc()).format("2006-01-02T15:04:05Z")
}

/// The alphabet of generated names, as in Kubernetes: no vowels, so that no words are generated.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Generates uids and name suffixes.
pub(super) struct NameGenerator(Mutex<u64>);

impl NameGenerator {
    /// Starts from the seed and the store revision, so that a store which is opened again does not repeat names.
    pub(super) fn new(seed: u64, done: u64) -> NameGenerator {
        NameGenerator(Mutex::new(seed ^ done.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// The next pseudorandom number (splitmix64). Uniqueness is enough here; nothing secret depends on it.
    fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    /// A version 4 UUID.
    pub(super) fn uid(&self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff
        )
    }

    /// Five characters, as for `generateName`.
    pub(super) fn suffix(&self) -> String {
        let mut number = self.next();
        let mut letter = || {
            let index = number % LETTERS.len() as u64;
            number /= LETTERS.len() as u64;
            char::from(LETTERS[index as usize])
        };
        (0..5).map(|_| letter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_version_4_and_follow_from_the_seed() {
        let uid = NameGenerator::new(7, 0).uid();
        assert_eq!(uid, NameGenerator::new(7, 0).uid());
        assert_ne!(uid, NameGenerator::new(7, 1).uid());
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert!("89ab".contains(&uid[19..20]));
        assert_eq!(NameGenerator::new(1, 2).suffix().len(), 5);
    }

    #[test]
    fn timestamps_have_whole_seconds() {
        assert_eq!(format_time(Duration::from_millis(1_700_000_000_999)), "2023-11-14T22:13:20Z");
    }
}

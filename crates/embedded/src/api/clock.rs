//! What time it is, and names that nobody has yet.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pintle_time::{GoTime, Zone};

/// Tells the time; a simulated one may run as it likes.
pub trait Clock: Send + Sync {
    /// How long it is since 1970.
    fn now(&self) -> Duration;
}

/// The time of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// A time as objects have it: in whole seconds.
pub(super) fn format_time(time: Duration) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    GoTime::from_unix(seconds, 0, Zone::utc()).format("2006-01-02T15:04:05Z")
}

/// Letters of made-up names: no vowels, so that they make no words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Makes uids and the ends of names.
pub(super) struct NameGenerator(Mutex<u64>);

impl NameGenerator {
    /// Begins with a seed and what was already done, so that a store that is opened again makes others.
    pub(super) fn new(seed: u64, done: u64) -> NameGenerator {
        NameGenerator(Mutex::new(seed ^ done.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// The next of a long row of numbers (splitmix64).
    fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    /// A uid, of the random kind.
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

    /// The end of a made-up name.
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
    fn uids_are_of_the_random_kind_and_follow_from_the_seed() {
        let uid = NameGenerator::new(7, 0).uid();
        assert_eq!(uid, NameGenerator::new(7, 0).uid());
        assert_ne!(uid, NameGenerator::new(7, 1).uid());
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
        assert!("89ab".contains(&uid[19..20]));
        assert_eq!(NameGenerator::new(1, 2).suffix().len(), 5);
    }

    #[test]
    fn times_are_spelled_in_seconds() {
        assert_eq!(format_time(Duration::from_millis(1_700_000_000_999)), "2023-11-14T22:13:20Z");
    }
}

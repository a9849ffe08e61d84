//! The time and clock of the stores, for labels that say when and for ids that nobody gave.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_release::{Timestamp, VersionId};

/// The time now, in UTC.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// A new id for something of that moment.
pub(super) fn new_id(moment: Timestamp) -> VersionId {
    // The standard library seeds its hashers from the system; a hash of nothing is its seed, mixed.
    let word = || u128::from(RandomState::new().build_hasher().finish());
    VersionId::new(moment.unix_millis(), word() << 64 | word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_moment_differ() {
        let moment = now();
        assert_ne!(new_id(moment), new_id(moment));
        assert_eq!(new_id(moment).millis(), moment.unix_millis());
    }
}

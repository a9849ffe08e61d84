//! The clock and random ids of the stores, for timestamp labels and for versions without an id.
#![expect(clippy::disallowed_methods, reason = "labels of records have the time of writing, as in Helm")]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_release::{Timestamp, VersionId};

/// The current time, in UTC.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// A new version id with the given time.
pub(super) fn new_id(moment: Timestamp) -> VersionId {
    // `RandomState` is seeded by the operating system, which avoids a dependency on a random number generator.
    let word = || u128::from(RandomState::new().build_hasher().finish());
    VersionId::new(moment.unix_millis(), word() << 64 | word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_equal_timestamps_differ() {
        let moment = now();
        assert_ne!(new_id(moment), new_id(moment));
        assert_eq!(new_id(moment).millis(), moment.unix_millis());
    }
}

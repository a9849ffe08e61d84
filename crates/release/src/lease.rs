//! Who is working on a release right now: a lease that its holder renews, and that others may take when it runs out.

use crate::Timestamp;

/// The lease of an operation on a release version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it, as the holder calls itself.
    pub holder: String,
    /// Since when.
    pub since: Timestamp,
    /// When the holder was last heard of.
    pub renewed: Timestamp,
    /// How many seconds after that the holder counts as gone.
    pub seconds: u32,
}

impl Lease {
    /// Returns the lease of `holder`, made `now`.
    pub fn new(holder: impl Into<String>, now: Timestamp, seconds: u32) -> Self {
        Lease { holder: holder.into(), since: now, renewed: now, seconds }
    }

    /// Whether the holder has not been heard of for longer than the lease.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.renewed.plus_seconds(i64::from(self.seconds)) < now
    }

    /// The same lease, renewed `now`.
    #[must_use]
    pub fn renewed_at(&self, now: Timestamp) -> Self {
        Lease { renewed: now, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_stale_once_its_lease_has_passed_unrenewed() {
        let start = Timestamp::from_unix(1_000, 0);
        let lease = Lease::new("me", start, 30);
        assert!(!lease.is_expired(start.plus_seconds(30)));
        assert!(lease.is_expired(start.plus_seconds(31)));
        let renewed = lease.renewed_at(start.plus_seconds(20));
        assert!(!renewed.is_expired(start.plus_seconds(50)));
        assert_eq!(renewed.since, start);
    }
}

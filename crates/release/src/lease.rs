//! The lease on a release: held by the operation that works on it, renewed as a heartbeat, and free for others after
//! it expired. Modelled on Kubernetes' `coordination.k8s.io/Lease`.

use crate::Timestamp;

/// The lease of an operation on a release version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The identity of the holder.
    pub holder: String,
    /// When it was acquired.
    pub since: Timestamp,
    /// When it was last renewed.
    pub renewed: Timestamp,
    /// The lease duration: how long after the last renewal it expires.
    pub seconds: u32,
}

impl Lease {
    /// Returns the lease of `holder`, acquired `now`.
    pub fn new(holder: impl Into<String>, now: Timestamp, seconds: u32) -> Self {
        Lease { holder: holder.into(), since: now, renewed: now, seconds }
    }

    /// Whether it was not renewed for longer than its duration.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.renewed.plus_seconds(i64::from(self.seconds)) < now
    }

    /// Whether this is the same lease, however often it was renewed. The time distinguishes the leases of one holder.
    pub fn is_same(&self, other: &Lease) -> bool {
        self.holder == other.holder && self.since == other.since
    }

    /// The same lease, renewed at `now`.
    #[must_use]
    pub fn renewed_at(&self, now: Timestamp) -> Self {
        Lease { renewed: now, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_expires_when_it_is_not_renewed() {
        let start = Timestamp::from_unix(1_000, 0);
        let lease = Lease::new("me", start, 30);
        assert!(!lease.is_expired(start.plus_seconds(30)));
        assert!(lease.is_expired(start.plus_seconds(31)));
        let renewed = lease.renewed_at(start.plus_seconds(20));
        assert!(!renewed.is_expired(start.plus_seconds(50)));
        assert_eq!(renewed.since, start);
        assert!(renewed.is_same(&lease) && !lease.is_same(&Lease::new("you", start, 30)));
        assert!(!lease.is_same(&Lease::new("me", start.plus_seconds(1), 30)), "acquired again");
    }
}

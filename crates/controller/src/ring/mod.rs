//! Replicas that share the requests: the ring.
//!
//! Each request belongs to one of [`SLOTS`] slots by its namespace and name. A table says which replica owns which slot. One
//! replica at a time, the coordinator, writes it, and all others follow it: nobody computes owners from what he believes about
//! others, because two that believe different things would compute different owners. A replica is alive as long as it renews
//! its Lease, and is dead once that Lease was taken from it. `docs/decisions/0034-ring.md` says why it is so.
//!
//! [`table`] and [`replica`] are pure: observations and a monotonic clock in, actions out. `model` checks them in all orders of
//! messages, pauses and failures. [`driver`] executes the actions on Kubernetes Leases, and [`share`] is what the workers ask
//! before they begin.

mod driver;
#[cfg(test)]
mod model;
mod replica;
mod run;
mod share;
mod table;
mod wire;

pub(crate) use driver::Gains;
pub(crate) use run::run;
pub(crate) use share::{Refusal, Share};

use sha2::{Digest as _, Sha256};

/// The number of slots. It is a part of the protocol: replicas with different numbers would disagree about owners.
pub(crate) const SLOTS: u16 = 1024;

/// One of [`SLOTS`] parts of all requests.
pub(crate) type Slot = u16;

/// The slot of a request.
pub(crate) fn slot_of(namespace: &str, name: &str) -> Slot {
    let digest = Sha256::digest(format!("{namespace}/{name}"));
    u16::from_be_bytes([digest[0], digest[1]]) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replicas of different versions share the work during an update.
    #[test]
    fn the_slot_of_a_request_never_changes() {
        assert_eq!([slot_of("default", "web"), slot_of("apps", "web")], [691, 846]);
    }

    #[test]
    fn requests_are_spread_over_the_slots() {
        let mut counts = vec![0; usize::from(SLOTS)];
        for number in 0..10_240 {
            counts[usize::from(slot_of("apps", &format!("web-{number}")))] += 1;
        }
        assert!(counts.iter().all(|count| *count < 30), "{counts:?}");
    }
}

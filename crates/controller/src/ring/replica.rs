//! One replica of the ring as a state machine: what it read and when by its own monotonic clock in, what to write out.
//!
//! Clocks of two replicas are never compared. A replica acts only until a while after the *beginning* of its last renewal that
//! succeeded, and others take its Lease only when they have *seen* it unchanged for longer than that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Slot;
use super::table::{Ack, Id, Standing, Table};

/// After how many durations of a Lease that nobody holds its object is deleted.
const FORGET_AFTER: u32 = 4;

/// The times of the protocol.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) struct Times {
    /// How long a Lease is valid without a renewal.
    pub(super) lease: Duration,
    /// How long after a renewal a replica acts. Shorter than `lease`.
    pub(super) deadline: Duration,
    /// The pause between two rounds. Reads are uninterrupted if they are at most three of these apart.
    pub(super) retry: Duration,
}

/// A Lease of a replica as it was read.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Seen {
    /// Changes with the object.
    pub(super) version: u64,
    /// Whether its replica holds it; not if it was given up or taken.
    pub(super) held: bool,
    pub(super) ack: Ack,
    pub(super) leaving: bool,
}

/// The object with the table as it was read.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct SeenTable<M> {
    /// Changes with the object.
    pub(super) version: u64,
    /// Who writes it.
    pub(super) coordinator: Option<M>,
    /// The table; `None` if it is damaged.
    pub(super) table: Option<Table<M>>,
}

/// Everything that was read in a round.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Snapshot<M: Ord> {
    pub(super) leases: BTreeMap<M, Seen>,
    pub(super) table: Option<SeenTable<M>>,
}

/// What to write. Each is a compare-and-swap on the version in the snapshot.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum Action<M> {
    /// Renew our own Lease.
    Renew { ack: Ack, leaving: bool },
    /// Take the Lease of a silent replica, so that it can never renew it again.
    Take(M),
    /// Delete a Lease that nobody holds.
    Forget(M),
    /// Write the table, or create it.
    WriteTable { table: Table<M>, coordinator: Option<M> },
}

/// A replica.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Replica<M: Ord> {
    me: M,
    times: Times,
    slots: Slot,
    /// The table that we follow.
    table: Option<Table<M>>,
    /// Until when nobody can have taken our Lease.
    valid_until: Duration,
    /// The first and the last of the uninterrupted reads.
    reads: Option<(Duration, Duration)>,
    /// Since when each Lease has had its version; none for one that is missing.
    leases: BTreeMap<M, (Option<u64>, Duration)>,
    /// The same for the object with the table.
    coordinator: Option<(u64, Duration)>,
    /// When we last renewed our Lease, and what we wrote.
    renewed: Option<(Duration, Ack, bool)>,
    /// When we last wrote the table.
    table_written: Option<Duration>,
    leaving: bool,
    lost: bool,
}

impl<M: Id> Replica<M> {
    /// A replica that has created its Lease in a request that it began at `begin`.
    pub(super) fn new(me: M, times: Times, slots: Slot, begin: Duration) -> Replica<M> {
        Replica {
            me,
            times,
            slots,
            table: None,
            valid_until: begin + times.deadline,
            reads: None,
            leases: BTreeMap::new(),
            coordinator: None,
            renewed: None,
            table_written: None,
            leaving: false,
            lost: false,
        }
    }

    pub(super) fn me(&self) -> &M {
        &self.me
    }

    /// The table that we follow.
    pub(super) fn table(&self) -> Option<&Table<M>> {
        self.table.as_ref()
    }

    /// Whether our Lease was taken. We never act again under this identity.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether our Lease is ours, and nobody can have taken it yet.
    pub(super) fn is_valid(&self, now: Duration) -> bool {
        !self.lost && now < self.valid_until
    }

    /// Whether we may begin something in a slot.
    pub(super) fn admits(&self, slot: Slot, now: Duration) -> bool {
        self.is_valid(now)
            && !self.leaving
            && self.table.as_ref().is_some_and(|table| table.admits(&self.me, slot))
    }

    /// Begin nothing more, and give all slots away.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
    }

    /// Notes what was read at `now`; `None` if it could not be read.
    pub(super) fn observe(&mut self, now: Duration, snapshot: Option<&Snapshot<M>>) {
        let Some(snapshot) = snapshot else {
            self.reads = None;
            return;
        };
        let first = match self.reads {
            Some((first, last)) if now.saturating_sub(last) <= self.times.retry * 3 => first,
            _ => now,
        };
        self.reads = Some((first, now));
        if !snapshot.leases.get(&self.me).is_some_and(|lease| lease.held) {
            self.lost = true;
        }
        self.observe_leases(now, snapshot);
        let version = snapshot.table.as_ref().map(|table| table.version);
        if version != self.coordinator.map(|(version, _)| version) {
            self.coordinator = version.map(|version| (version, now));
        }
        let read = snapshot.table.as_ref().and_then(|read| read.table.as_ref());
        if let Some(read) = read.filter(|read| !self.is_behind(read)) {
            self.table = Some(read.clone());
        }
    }

    fn observe_leases(&mut self, now: Duration, snapshot: &Snapshot<M>) {
        let read = snapshot.table.as_ref().and_then(|read| read.table.as_ref());
        let members = read.into_iter().flat_map(|table| &table.members);
        let known: BTreeSet<&M> = snapshot.leases.keys().chain(members).collect();
        self.leases.retain(|replica, _| known.contains(replica));
        for replica in known {
            let version = snapshot.leases.get(replica).map(|lease| lease.version);
            let noted = self.leases.get(replica);
            if noted.is_none_or(|(noted, _)| *noted != version) {
                self.leases.insert(replica.clone(), (version, now));
            }
        }
    }

    /// Whether a table is older than the one that we follow. A new series begins after all epochs of the lost one.
    fn is_behind(&self, table: &Table<M>) -> bool {
        self.table.as_ref().is_some_and(|followed| {
            table.epoch < followed.epoch || table.epoch == followed.epoch && table.series != followed.series
        })
    }

    /// What to write after [`Replica::observe`] with this snapshot. `busy` has the slots in which something runs, found out
    /// after the table was adopted; `random` names a new series.
    pub(super) fn actions(
        &self,
        now: Duration,
        snapshot: &Snapshot<M>,
        busy: &BTreeSet<Slot>,
        random: u64,
    ) -> Vec<Action<M>> {
        let mut actions = Vec::new();
        if self.lost {
            return actions;
        }
        let ack = self.ack(busy);
        if self.is_renewal_due(now, &ack) {
            actions.push(Action::Renew { ack, leaving: self.leaving });
        }
        let coordinator = snapshot.table.as_ref().and_then(|read| read.coordinator.as_ref());
        let leads = coordinator == Some(&self.me);
        if self.leaving {
            let read = snapshot.table.as_ref().and_then(|read| read.table.clone()).filter(|_| leads);
            actions.extend(read.map(|table| Action::WriteTable { table, coordinator: None }));
        } else if self.is_valid(now) && (leads || coordinator.is_none() || self.is_coordinator_silent(now)) {
            actions.extend(self.coordinate(now, snapshot, leads, random));
        }
        actions
    }

    fn ack(&self, busy: &BTreeSet<Slot>) -> Ack {
        let table = self.table.as_ref();
        Ack {
            series: table.map_or(0, |table| table.series),
            epoch: table.map_or(0, |table| table.epoch),
            busy: busy.clone(),
        }
    }

    fn is_renewal_due(&self, now: Duration, ack: &Ack) -> bool {
        self.renewed.as_ref().is_none_or(|(at, written, leaving)| {
            written != ack || *leaving != self.leaving || now.saturating_sub(*at) >= self.times.retry / 2
        })
    }

    /// Notes that our Lease was renewed by a request that we began at `begin`.
    pub(super) fn note_renewed(&mut self, begin: Duration, ack: Ack, leaving: bool) {
        self.valid_until = begin + self.times.deadline;
        self.renewed = Some((begin, ack, leaving));
    }

    /// Notes that we wrote the table at `now`.
    pub(super) fn note_table_written(&mut self, now: Duration) {
        self.table_written = Some(now);
    }

    /// Whether something has not changed since `since`, and we would have seen it.
    fn is_silent(&self, now: Duration, since: Duration, times: u32) -> bool {
        self.reads.is_some_and(|(first, _)| now.saturating_sub(since.max(first)) > self.times.lease * times)
    }

    fn is_coordinator_silent(&self, now: Duration) -> bool {
        self.coordinator.is_some_and(|(_, since)| self.is_silent(now, since, 1))
    }

    fn has_been_silent(&self, now: Duration, replica: &M, times: u32) -> bool {
        self.leases.get(replica).is_some_and(|(_, since)| self.is_silent(now, *since, times))
    }

    /// What the coordinator does.
    fn coordinate(&self, now: Duration, snapshot: &Snapshot<M>, leads: bool, random: u64) -> Vec<Action<M>> {
        let read = snapshot.table.as_ref().and_then(|read| read.table.as_ref());
        let base = match read.filter(|table| !self.is_behind(table)) {
            Some(table) => table.clone(),
            None => Table::new(self.slots, random, self.latest_epoch(snapshot) + 1),
        };
        let standings = self.standings(now, snapshot, &base);
        let silent = snapshot.leases.iter().filter(|(replica, lease)| {
            lease.held && **replica != self.me && self.has_been_silent(now, replica, 1)
        });
        let mut actions: Vec<Action<M>> = silent.map(|(replica, _)| Action::Take(replica.clone())).collect();
        let table = base.next(&standings);
        let is_due =
            self.table_written.is_none_or(|at| now.saturating_sub(at) >= self.times.retry / 2) || !leads;
        if read != Some(&table) || is_due {
            actions.push(Action::WriteTable { table, coordinator: Some(self.me.clone()) });
        }
        let left = snapshot.leases.iter().filter(|(replica, lease)| {
            !lease.held
                && !base.members.contains(*replica)
                && self.has_been_silent(now, replica, FORGET_AFTER)
        });
        actions.extend(left.map(|(replica, _)| Action::Forget(replica.clone())));
        actions
    }

    fn standings(&self, now: Duration, snapshot: &Snapshot<M>, table: &Table<M>) -> BTreeMap<M, Standing> {
        let standing = |lease: &Seen| match lease.held {
            true => Standing::Live { ack: lease.ack.clone(), leaving: lease.leaving },
            false => Standing::Gone,
        };
        let mut all: BTreeMap<M, Standing> =
            snapshot.leases.iter().map(|(replica, lease)| (replica.clone(), standing(lease))).collect();
        for member in table.members.iter().filter(|member| !snapshot.leases.contains_key(*member)) {
            let standing =
                if self.has_been_silent(now, member, 1) { Standing::Gone } else { Standing::Unknown };
            all.insert(member.clone(), standing);
        }
        all
    }

    /// The latest epoch that anybody is known to follow.
    fn latest_epoch(&self, snapshot: &Snapshot<M>) -> u64 {
        let acks = snapshot.leases.values().map(|lease| lease.ack.epoch);
        let own = self.table.as_ref().map_or(0, |table| table.epoch);
        acks.max().unwrap_or_default().max(own)
    }
}

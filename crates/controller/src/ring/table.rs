//! The table: which replica owns which slot, and what the coordinator makes of it next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;

use super::Slot;

/// The identity of a replica: the uid of its Lease, which no other replica has or will have.
pub(super) trait Id: Clone + Ord + Debug + Hash {}

impl<T: Clone + Ord + Debug + Hash> Id for T {}

/// Who owns a slot.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum Owner<M> {
    /// Nobody.
    None,
    /// This replica, which acts on its requests.
    Held(M),
    /// This replica, which is to begin nothing more. The slot moves when the replica says so about this epoch or a later one.
    Draining(M, u64),
}

impl<M> Owner<M> {
    pub(super) fn replica(&self) -> Option<&M> {
        match self {
            Owner::None => None,
            Owner::Held(replica) | Owner::Draining(replica, _) => Some(replica),
        }
    }
}

/// Which replica owns which slot.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Table<M> {
    /// Distinguishes this table from one that was deleted or damaged. Whoever follows another series begins anew.
    pub(super) series: u64,
    /// Grows with each change.
    pub(super) epoch: u64,
    /// Whether all replicas follow this series. Before, nobody owns anything.
    pub(super) settled: bool,
    /// The replicas that may own slots. One leaves only when its Lease was given up or taken.
    pub(super) members: BTreeSet<M>,
    /// The owner of each slot.
    pub(super) slots: Vec<Owner<M>>,
}

/// What a replica says about a table in its Lease: it follows it, and begins nothing that it does not own there.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) series: u64,
    pub(super) epoch: u64,
    /// The slots in which something of it still runs.
    pub(super) busy: BTreeSet<Slot>,
}

/// A replica, as the coordinator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It holds its Lease, and may own slots unless it leaves.
    Live { ack: Ack, leaving: bool },
    /// It does not hold its Lease any more, and cannot hold it again.
    Gone,
    /// Nobody knows: its Lease is not there, and was not missing for long enough.
    Unknown,
}

impl<M: Id> Table<M> {
    /// A table that replaces one that is lost. Nobody owns anything until all replicas have stopped what they did by the
    /// lost one.
    pub(super) fn new(slots: Slot, series: u64, epoch: u64) -> Table<M> {
        let slots = vec![Owner::None; slots.into()];
        Table { series, epoch, settled: false, members: BTreeSet::new(), slots }
    }

    pub(super) fn owner(&self, slot: Slot) -> Option<&M> {
        self.slots.get(usize::from(slot)).and_then(Owner::replica)
    }

    /// Whether a replica may begin something in a slot.
    pub(super) fn admits(&self, replica: &M, slot: Slot) -> bool {
        matches!(self.slots.get(usize::from(slot)), Some(Owner::Held(owner)) if owner == replica)
    }

    /// Whether what a replica began in a slot at an epoch, and did not end, is left behind: it does not own the slot any more.
    /// It never does for an epoch that is later than this table.
    pub(super) fn has_left_behind(&self, replica: &M, slot: Slot, epoch: u64) -> bool {
        self.settled && epoch <= self.epoch && self.owner(slot) != Some(replica)
    }

    /// The slots that a replica owns, draining or not.
    pub(super) fn slots_of<'t>(&'t self, replica: &'t M) -> impl Iterator<Item = Slot> + 't {
        let owned = self.slots.iter().enumerate().filter(move |(_, owner)| owner.replica() == Some(replica));
        owned.filter_map(|(slot, _)| Slot::try_from(slot).ok())
    }

    /// How many slots have no owner, or one that begins nothing more.
    pub(super) fn unowned(&self) -> usize {
        self.slots.iter().filter(|owner| !matches!(owner, Owner::Held(_))).count()
    }

    /// The table after this one. Its epoch is later if anything changes.
    #[must_use]
    pub(super) fn next(&self, replicas: &BTreeMap<M, Standing>) -> Table<M> {
        let mut next = self.clone();
        next.members.retain(|member| !matches!(replicas.get(member), None | Some(Standing::Gone)));
        for (replica, standing) in replicas {
            if let Standing::Live { leaving: false, .. } = standing {
                next.members.insert(replica.clone());
            }
        }
        next.settled = self.settled || all_follow(self.series, replicas);
        for (slot, owner) in (0..).zip(&mut next.slots) {
            if is_free(slot, owner, self.series, replicas) {
                *owner = Owner::None;
            }
        }
        if next.settled {
            next.assign(self.epoch + 1, replicas);
        }
        next.epoch += u64::from(next != *self);
        next
    }

    /// Gives free slots to the replicas with the fewest, and lets those with too many drain some. What is drained now is given
    /// away later, so it counts for those who will get it.
    fn assign(&mut self, epoch: u64, replicas: &BTreeMap<M, Standing>) {
        let mut owned: BTreeMap<M, Vec<usize>> = BTreeMap::new();
        for (replica, standing) in replicas {
            // One that does not follow this table yet may never have known that it has a Lease.
            if matches!(standing, Standing::Live { ack, leaving: false } if ack.series == self.series) {
                owned.insert(replica.clone(), Vec::new());
            }
        }
        for (slot, owner) in self.slots.iter_mut().enumerate() {
            let Owner::Held(replica) = owner else { continue };
            match (owned.get_mut(replica), replicas.get(replica)) {
                (Some(slots), _) => slots.push(slot),
                (None, Some(Standing::Live { leaving: true, .. })) => {
                    *owner = Owner::Draining(replica.clone(), epoch);
                }
                // Whether it is alive is not known; if it is, it goes on.
                (None, _) => {}
            }
        }
        let mut coming: BTreeMap<M, usize> = owned.keys().map(|replica| (replica.clone(), 0)).collect();
        for (slot, owner) in self.slots.iter_mut().enumerate() {
            let Some(least) = fewest(&owned, &coming) else { return };
            match owner {
                Owner::None => {
                    *owner = Owner::Held(least.clone());
                    owned.entry(least).or_default().push(slot);
                }
                Owner::Draining(..) => *coming.entry(least).or_default() += 1,
                Owner::Held(_) => {}
            }
        }
        self.drain_excess(epoch, owned, coming);
    }

    /// Moves as few slots as possible: only from replicas with more than their capacity, or to replicas with far too few.
    fn drain_excess(
        &mut self,
        epoch: u64,
        mut owned: BTreeMap<M, Vec<usize>>,
        mut coming: BTreeMap<M, usize>,
    ) {
        let (most, least) = limits(self.slots.len(), owned.len());
        while let (Some(to), Some(from)) = (fewest(&owned, &coming), fullest(&owned)) {
            let has = |replica: &M| owned[replica].len() + coming[replica];
            let is_needed = has(&from) > most || has(&to) < least;
            if !is_needed || has(&from) <= has(&to) + 1 {
                break;
            }
            let Some(slot) = owned.get_mut(&from).and_then(Vec::pop) else { break };
            self.slots[slot] = Owner::Draining(from, epoch);
            *coming.entry(to).or_default() += 1;
        }
    }
}

/// How many slots a replica may have at most, and is to have at least.
pub(super) fn limits(slots: usize, replicas: usize) -> (usize, usize) {
    let replicas = replicas.max(1);
    ((slots * 11).div_ceil(replicas * 10), slots * 9 / (replicas * 10))
}

/// Whether every replica that may act has stopped what it did by an earlier series.
fn all_follow<M>(series: u64, replicas: &BTreeMap<M, Standing>) -> bool {
    replicas.values().all(|standing| match standing {
        Standing::Live { ack, .. } => ack.series == series && ack.busy.is_empty(),
        Standing::Gone => true,
        Standing::Unknown => false,
    })
}

/// Whether nobody acts in a slot any more.
fn is_free<M: Id>(slot: Slot, owner: &Owner<M>, series: u64, replicas: &BTreeMap<M, Standing>) -> bool {
    let standing = owner.replica().map(|replica| replicas.get(replica));
    match (owner, standing) {
        (Owner::None, _) => true,
        (_, None | Some(None | Some(Standing::Gone))) => true,
        (Owner::Draining(_, since), Some(Some(Standing::Live { ack, .. }))) => {
            ack.series == series && ack.epoch >= *since && !ack.busy.contains(&slot)
        }
        _ => false,
    }
}

fn fewest<M: Id>(owned: &BTreeMap<M, Vec<usize>>, coming: &BTreeMap<M, usize>) -> Option<M> {
    owned
        .iter()
        .min_by_key(|(replica, slots)| slots.len() + coming[*replica])
        .map(|(replica, _)| replica.clone())
}

fn fullest<M: Id>(owned: &BTreeMap<M, Vec<usize>>) -> Option<M> {
    owned.iter().rev().max_by_key(|(_, slots)| slots.len()).map(|(replica, _)| replica.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: Slot = super::super::SLOTS;

    /// Replicas that follow the table, and have nothing running.
    fn live(table: &Table<u8>, replicas: &[u8]) -> BTreeMap<u8, Standing> {
        let ack = Ack { series: table.series, epoch: table.epoch, busy: BTreeSet::new() };
        let standing = Standing::Live { ack, leaving: false };
        replicas.iter().map(|replica| (*replica, standing.clone())).collect()
    }

    /// The table when nothing moves any more.
    fn at_rest(mut table: Table<u8>, replicas: &[u8]) -> Table<u8> {
        for _ in 0..10 {
            let mut standings = live(&table, replicas);
            for member in &table.members {
                standings.entry(*member).or_insert(Standing::Gone);
            }
            let next = table.next(&standings);
            if next == table {
                return table;
            }
            table = next;
        }
        panic!("it does not come to rest: {table:?}");
    }

    fn loads(table: &Table<u8>) -> Vec<usize> {
        table.members.iter().map(|member| table.slots_of(member).count()).collect()
    }

    fn moved(before: &Table<u8>, after: &Table<u8>) -> usize {
        before.slots.iter().zip(&after.slots).filter(|(old, new)| old.replica() != new.replica()).count()
    }

    #[test]
    fn no_replica_has_more_than_its_capacity_and_a_join_moves_few_slots() {
        let mut table = at_rest(Table::new(SLOTS, 1, 1), &[0]);
        assert_eq!(loads(&table), [1024]);
        for count in 2..=20_u8 {
            let replicas: Vec<u8> = (0..count).collect();
            let joined = at_rest(table.clone(), &replicas);
            let (most, least) = limits(SLOTS.into(), count.into());
            assert!(loads(&joined).iter().all(|load| (least..=most).contains(load)), "{:?}", loads(&joined));
            let allowed = usize::from(SLOTS) / usize::from(count) + usize::from(SLOTS) / 10;
            assert!(moved(&table, &joined) <= allowed, "{count}: {}", moved(&table, &joined));
            assert_eq!(joined.unowned(), 0);
            table = joined;
        }
    }

    #[test]
    fn when_a_replica_is_gone_only_its_slots_move() {
        for count in 2..=12_u8 {
            let replicas: Vec<u8> = (0..count).collect();
            let table = at_rest(Table::new(SLOTS, 1, 1), &replicas);
            let left = at_rest(table.clone(), &replicas[1..]);
            assert_eq!(moved(&table, &left), table.slots_of(&0).count(), "of {count}");
            assert_eq!(left.unowned(), 0);
        }
    }

    #[test]
    fn a_slot_leaves_a_live_owner_only_when_that_one_says_so_and_has_nothing_running_there() {
        let table = at_rest(Table::new(8, 1, 1), &[0]);
        let mut replicas = live(&table, &[0, 1]);
        let draining = table.next(&replicas);
        assert_eq!(draining.slots[5..], [const { Owner::Draining(0, 3) }; 3]);
        assert_eq!((draining.epoch, draining.unowned()), (3, 3));
        assert_eq!(draining.next(&replicas), draining, "the ack is of an earlier epoch");
        let ack = Ack { series: 1, epoch: draining.epoch, busy: BTreeSet::from([7]) };
        replicas.insert(0, Standing::Live { ack, leaving: false });
        let moving = draining.next(&replicas);
        assert_eq!(moving.slots[5..], [Owner::Held(1), Owner::Held(1), Owner::Draining(0, 3)]);
        replicas.insert(0, Standing::Gone);
        assert_eq!(moving.next(&replicas).slots, vec![Owner::Held(1); 8]);
    }

    #[test]
    fn a_replica_that_leaves_drains_everything_and_gets_nothing() {
        let table = at_rest(Table::new(4, 1, 1), &[0, 1]);
        let mut replicas = live(&table, &[0, 1]);
        let Some(Standing::Live { leaving, .. }) = replicas.get_mut(&0) else { panic!("it is live") };
        *leaving = true;
        let next = table.next(&replicas);
        assert!(next.slots_of(&0).all(|slot| matches!(next.slots[usize::from(slot)], Owner::Draining(0, _))));
        assert_eq!(next.slots_of(&0).count(), 2);
    }

    #[test]
    fn a_new_series_gives_out_nothing_before_everybody_follows_it() {
        let table: Table<u8> = Table::new(4, 2, 8);
        let mut replicas = live(&table, &[0, 1]);
        let behind = Ack { series: 1, epoch: 7, busy: BTreeSet::new() };
        replicas.insert(1, Standing::Live { ack: behind, leaving: false });
        let next = table.next(&replicas);
        assert!(!next.settled && next.unowned() == 4);
        replicas.insert(1, Standing::Unknown);
        assert!(!next.next(&replicas).settled, "it may still act");
        replicas.insert(1, Standing::Gone);
        assert_eq!(next.next(&replicas).slots, vec![Owner::Held(0); 4]);
    }

    #[test]
    fn what_a_replica_began_is_left_behind_once_it_does_not_own_the_slot() {
        let table = at_rest(Table::new(4, 1, 1), &[0]);
        assert!(!table.has_left_behind(&0, 1, table.epoch));
        assert!(table.has_left_behind(&7, 1, table.epoch));
        assert!(!table.has_left_behind(&7, 1, table.epoch + 1), "it knows a later table than we do");
        assert!(!Table::<u8>::new(4, 2, 9).has_left_behind(&7, 1, 3), "nothing is settled");
    }
}

//! What the workers of a replica know about the ring: whether a request is theirs, and for how long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use pintle::LeaseHolder;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::replica::{Action, Replica, Snapshot, Times};
use super::table::Ack;
use super::wire::Uid;
use super::{SLOTS, Slot};
use crate::metrics::{Metrics, RingStatus};

/// The part of the requests that this replica acts on. Shared by its driver and its workers.
pub(crate) struct Share {
    /// In front of the names of all holders of this ring.
    prefix: String,
    identity: String,
    retry: Duration,
    start: Instant,
    state: Mutex<State>,
    /// Until when we may act.
    valid: watch::Sender<Instant>,
    /// Wakes the driver.
    pub(super) wake: Notify,
    gained: UnboundedSender<BTreeSet<Slot>>,
    metrics: Arc<Metrics>,
}

struct State {
    replica: Replica<Uid>,
    /// How many reconciliations run in each slot.
    running: BTreeMap<Slot, usize>,
    moves: u64,
    /// When the unowned slots were last counted, how many there were, and how many seconds slots had no owner.
    unowned: (Option<Instant>, usize, f64),
}

/// Why a request is not reconciled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It belongs to another replica, or will soon.
    NotOurs,
    /// We do not know whether we are still considered alive; try again after this time.
    Unsure(Duration),
}

/// A reconciliation that runs.
pub(crate) struct Turn {
    share: Arc<Share>,
    slot: Slot,
    /// The epoch of the table at its beginning.
    epoch: u64,
}

impl Share {
    pub(super) fn new(
        prefix: String,
        identity: String,
        (uid, times): (Uid, Times),
        begin: Instant,
        metrics: Arc<Metrics>,
    ) -> (Arc<Share>, UnboundedReceiver<BTreeSet<Slot>>) {
        let (gained, gains) = unbounded();
        let replica = Replica::new(uid, times, SLOTS, Duration::ZERO);
        let state = State { replica, running: BTreeMap::new(), moves: 0, unowned: (None, 0, 0.0) };
        let (valid, _) = watch::channel(begin + times.deadline);
        let share = Share {
            prefix,
            identity,
            retry: times.retry,
            start: begin,
            state: Mutex::new(state),
            valid,
            wake: Notify::new(),
            gained,
            metrics,
        };
        (Arc::new(share), gains)
    }

    /// A poisoned lock is fine: nothing in its critical sections panics halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Whether a reconciliation in a slot may begin now.
    pub(crate) fn admits(&self, slot: Slot) -> bool {
        self.state().replica.admits(slot, self.now())
    }

    /// Begins a reconciliation in a slot.
    ///
    /// # Errors
    /// Why it must not begin.
    pub(crate) fn enter(self: &Arc<Self>, slot: Slot) -> Result<Turn, Refusal> {
        let mut state = self.state();
        if !state.replica.admits(slot, self.now()) {
            // Whoever stops acting for a while goes on at a time of his own, so that not all replicas do at once.
            let later = self.retry + self.retry.mul_f64(f64::from(rand::random::<f32>()) * 2.0);
            return Err(match state.replica.is_valid(self.now()) {
                true => Refusal::NotOurs,
                false => Refusal::Unsure(later),
            });
        }
        *state.running.entry(slot).or_default() += 1;
        let epoch = state.replica.table().map_or(0, |table| table.epoch);
        Ok(Turn { share: Arc::clone(self), slot, epoch })
    }

    /// Gives all slots to others. Nothing begins any more.
    pub(crate) fn leave(&self) {
        self.state().replica.leave();
        self.wake.notify_one();
    }

    /// Notes what was read, and returns what to write.
    pub(super) fn observe(&self, snapshot: Option<&Snapshot<Uid>>) -> Vec<Action<Uid>> {
        let now = self.now();
        let mut state = self.state();
        let before = state.held();
        state.replica.observe(now, snapshot);
        let held = state.held();
        let gained: BTreeSet<Slot> = held.difference(&before).copied().collect();
        if !gained.is_empty() {
            let _ = self.gained.unbounded_send(gained);
        }
        state.moves += held.symmetric_difference(&before).count() as u64;
        if state.replica.is_lost() {
            self.valid.send_replace(Instant::now());
        }
        self.report(&mut state, held.len(), snapshot);
        let Some(snapshot) = snapshot else { return Vec::new() };
        let busy = state.busy();
        state.replica.actions(now, snapshot, &busy, rand::random())
    }

    fn report(&self, state: &mut State, slots: usize, snapshot: Option<&Snapshot<Uid>>) {
        let Some(table) = state.replica.table() else { return };
        let (epoch, members, unowned) = (table.epoch, table.members.len(), table.unowned());
        let now = Instant::now();
        let (since, count, seconds) = state.unowned;
        let more = since.map_or(0.0, |since| now.duration_since(since).as_secs_f64() * count as f64);
        state.unowned = (Some(now), unowned, seconds + more);
        let coordinator = snapshot.and_then(|read| read.table.as_ref()?.coordinator.as_ref());
        self.metrics.set_ring(RingStatus {
            slots,
            epoch,
            replicas: members,
            moves: state.moves,
            unowned,
            unowned_seconds: state.unowned.2,
            coordinates: coordinator == Some(state.replica.me()),
        });
    }

    pub(super) fn is_lost(&self) -> bool {
        self.state().replica.is_lost()
    }

    /// Notes that our Lease was renewed by a request that we began at `begin`.
    pub(super) fn note_renewed(&self, begin: Instant, ack: Ack, leaving: bool, deadline: Duration) {
        self.state().replica.note_renewed(begin.duration_since(self.start), ack, leaving);
        self.valid.send_replace(begin + deadline);
    }

    pub(super) fn note_table_written(&self) {
        self.state().replica.note_table_written(self.now());
    }

    /// Another replica of this ring, by the name of a holder.
    fn parse(&self, holder: &str) -> Option<(Uid, Slot, u64)> {
        let rest = holder.strip_prefix(&self.prefix)?.strip_suffix(')')?;
        let (_, rest) = rest.split_once(" (lease ")?;
        let (uid, rest) = rest.split_once(", slot ")?;
        let (slot, epoch) = rest.split_once(", epoch ")?;
        Some((uid.into(), slot.parse().ok()?, epoch.parse().ok()?))
    }

    /// Whether a holder of a release is known to do nothing more: its slot belongs to another replica by now, and that
    /// happens only when it has stopped, or when its Lease was taken.
    ///
    /// What we began ourselves in the slot of the reconciliation that asks is left behind if nothing else runs there: it was
    /// revoked.
    fn is_dead(&self, holder: &str, asks: Slot) -> bool {
        let state = self.state();
        let Some((uid, slot, epoch)) = self.parse(holder) else { return false };
        if uid == *state.replica.me() && slot == asks && state.running.get(&slot) == Some(&1) {
            return state.replica.is_valid(self.now());
        }
        let left = state.replica.table().is_some_and(|table| table.has_left_behind(&uid, slot, epoch));
        left && state.replica.is_valid(self.now())
    }

    /// Whether a holder is another replica that owns the slot: its clock does not matter.
    fn is_alive(&self, holder: &str) -> bool {
        let state = self.state();
        let Some((uid, slot, _)) = self.parse(holder) else { return false };
        let owns = state.replica.table().is_some_and(|table| table.owner(slot) == Some(&uid));
        owns && uid != *state.replica.me()
    }
}

impl State {
    /// The slots in which we may begin something.
    fn held(&self) -> BTreeSet<Slot> {
        let (me, table) = (self.replica.me(), self.replica.table());
        let owned =
            table.into_iter().flat_map(|table| table.slots_of(me).filter(|slot| table.admits(me, *slot)));
        owned.collect()
    }

    /// The slots in which something runs that may not begin any more. Others are of no interest to anybody.
    fn busy(&self) -> BTreeSet<Slot> {
        let admits = |slot| self.replica.table().is_some_and(|table| table.admits(self.replica.me(), slot));
        self.running.keys().copied().filter(|slot| !admits(*slot)).collect()
    }
}

impl Turn {
    /// Who we are in the lease on the release.
    pub(crate) fn holder(&self) -> LeaseHolder {
        let Share { prefix, identity, .. } = &*self.share;
        let uid = self.share.state().replica.me().clone();
        let (slot, epoch) = (self.slot, self.epoch);
        let name = format!("{prefix}{identity} (lease {uid}, slot {slot}, epoch {epoch})");
        let (dead, alive, current) =
            (Arc::clone(&self.share), Arc::clone(&self.share), Arc::clone(&self.share));
        LeaseHolder::new(name)
            .with_is_dead(move |other| dead.is_dead(other, slot))
            .with_is_alive(move |other| alive.is_alive(other))
            .with_is_current(move || current.state().replica.is_valid(current.now()))
    }

    /// Completes when nobody can know whether we are still considered alive: the reconciliation has to stop.
    pub(crate) async fn revoked(&self) {
        let mut valid = self.share.valid.subscribe();
        loop {
            let until = *valid.borrow_and_update();
            if Instant::now() >= until {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                _ = valid.changed() => {}
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.share.state();
        if let Some(count) = state.running.get_mut(&self.slot) {
            *count -= 1;
            if *count == 0 {
                state.running.remove(&self.slot);
            }
        }
        let slot = self.slot;
        let is_awaited = state.replica.table().is_some_and(|table| !table.admits(state.replica.me(), slot));
        drop(state);
        if is_awaited {
            self.share.wake.notify_one();
        }
    }
}

//! Checks the protocol: three replicas, five slots, and all orders of a bounded number of failures, on the state machine that
//! the controller runs.
//!
//! Time passes in units, of which a Lease lasts [`LEASE`]. In each unit each replica has one round: it reads, decides and
//! writes. A failure is a round that is late, lost, answered by nobody or never done, an outage of the server, or a table that
//! somebody deletes. Requests that are late arrive after the replica was suspended, when others have gone on.
//!
//! `PINTLE_RING_FAILURES` sets how many failures there are: one in the tests, which takes a second, and two at night.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stateright::{Checker as _, Model, Property};

use super::Slot;
use super::replica::{Action, Replica, Seen, SeenTable, Snapshot, Times};
use super::table::{Ack, Owner};

const REPLICAS: usize = 3;
const SLOTS: Slot = 5;
/// How long a Lease lasts, in units.
const LEASE: u64 = 4;
/// How long work on a release takes: longer than it takes to drain a slot.
const WORK: u64 = 6;
/// How long failures go on after the first one.
const WINDOW: u64 = 9;
/// How long after the last failure everything must be in order: the coordinator's Lease and that of another replica expire one
/// after the other, and slots are drained.
const SETTLED_AFTER: u64 = 3 * LEASE + 2 * WORK + 4;
/// A long suspension: others have taken the Lease by then.
const LONG: u64 = LEASE + 3;

fn unit(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn times() -> Times {
    Times { lease: unit(LEASE), deadline: unit(LEASE - 1), retry: unit(1) }
}

/// A write that may be under way: the action, and the version of the object that it replaces.
type Write = (Action<u8>, Option<u64>);

/// The release of the request in a slot. Two requests name the same one.
fn release_of(slot: Slot) -> usize {
    usize::from(slot / 2)
}

/// What the API server has.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Server {
    version: u64,
    leases: BTreeMap<u8, Seen>,
    table: Option<SeenTable<u8>>,
    /// Who works on each release, for which slot, since which epoch: the leases on records.
    records: Vec<Option<(u8, Slot, u64)>>,
    /// Whether the request of a slot was changed and nobody has acted on it.
    changed: Vec<bool>,
}

/// A process.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Process {
    id: u8,
    replica: Option<Replica<u8>>,
    /// What it works on, since which epoch, and since when.
    works: BTreeMap<Slot, (u64, u64)>,
    /// Writes that have not arrived yet.
    late: Vec<Write>,
    /// Until when it is suspended.
    suspended: u64,
    /// Whether it was killed, or has left.
    is_gone: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct World {
    now: u64,
    /// Whose turn it is.
    turn: usize,
    server: Server,
    processes: Vec<Process>,
    failures: usize,
    first_failure: Option<u64>,
    last_failure: u64,
    outage: u64,
    taken: bool,
}

/// What happens in the round of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// Everything works.
    Whole,
    /// It is suspended before it reads.
    Suspended(u64),
    /// It is suspended after it has read and decided; its writes arrive when it is back.
    Late(u64),
    /// Its writes are lost.
    Lost,
    /// Its writes arrive, and the answers do not.
    Unanswered,
    /// It is killed, while writes are under way that arrive later.
    Killed,
    /// It is asked to stop.
    Leaves,
    /// The server cannot be reached by anybody for so long.
    Outage(u64),
    /// Somebody deletes the table, and it goes on.
    TableDeleted,
    /// A request of this slot changes, and it goes on.
    Changed(Slot),
}

const FAILURES: [Round; 13] = [
    Round::Suspended(1),
    Round::Suspended(LONG),
    Round::Late(1),
    Round::Late(LONG),
    Round::Lost,
    Round::Unanswered,
    Round::Killed,
    Round::Leaves,
    Round::Outage(2),
    Round::Outage(LONG),
    Round::TableDeleted,
    Round::Changed(0),
    Round::Changed(2),
];

struct Ring {
    failures: usize,
}

impl Server {
    fn read(&self) -> Snapshot<u8> {
        Snapshot { leases: self.leases.clone(), table: self.table.clone() }
    }

    fn version_for(&self, me: u8, action: &Action<u8>) -> Option<u64> {
        let lease = |id: &u8| self.leases.get(id).map(|lease| lease.version);
        match action {
            Action::Renew { .. } => lease(&me),
            Action::Take(other) | Action::Forget(other) => lease(other),
            Action::WriteTable { .. } => self.table.as_ref().map(|table| table.version),
        }
    }

    /// A compare-and-swap; returns whether it succeeded.
    fn write(&mut self, me: u8, (action, expected): &Write) -> bool {
        let current = self.version_for(me, action);
        let is_creation = expected.is_none() && matches!(action, Action::WriteTable { .. });
        if current != *expected || current.is_none() && !is_creation {
            return false;
        }
        self.version += 1;
        let version = self.version;
        match action {
            Action::Renew { ack, leaving } => {
                let seen = Seen { version, held: true, ack: ack.clone(), leaving: *leaving };
                self.leases.insert(me, seen);
            }
            Action::Take(other) => {
                if let Some(lease) = self.leases.get_mut(other) {
                    (lease.version, lease.held) = (version, false);
                }
            }
            Action::Forget(other) => drop(self.leases.remove(other)),
            Action::WriteTable { table, coordinator } => {
                let (table, coordinator) = (Some(table.clone()), *coordinator);
                self.table = Some(SeenTable { version, coordinator, table });
            }
        }
        true
    }

    /// A new process creates its Lease.
    fn join(&mut self, id: u8) {
        self.version += 1;
        let seen = Seen { version: self.version, held: true, ack: Ack::default(), leaving: false };
        self.leases.insert(id, seen);
    }
}

impl Process {
    fn new(id: u8) -> Process {
        Process { id, replica: None, works: BTreeMap::new(), late: Vec::new(), suspended: 0, is_gone: false }
    }

    fn admits(&self, slot: Slot, now: u64) -> bool {
        !self.is_gone && self.replica.as_ref().is_some_and(|replica| replica.admits(slot, unit(now)))
    }

    /// Whether it believes that nobody else can act for it.
    fn is_valid(&self, now: u64) -> bool {
        !self.is_gone && self.replica.as_ref().is_some_and(|replica| replica.is_valid(unit(now)))
    }
}

impl World {
    /// Three replicas that run, and requests that changed.
    fn start() -> World {
        let server = Server {
            version: 0,
            leases: BTreeMap::new(),
            table: None,
            records: vec![None; SLOTS.into()],
            changed: vec![true; SLOTS.into()],
        };
        World {
            now: 1,
            turn: 0,
            server,
            processes: (0..REPLICAS).map(|id| Process::new(id as u8)).collect(),
            failures: 0,
            first_failure: None,
            last_failure: 0,
            outage: 0,
            taken: false,
        }
    }

    fn fail(&mut self) {
        self.failures += 1;
        self.first_failure.get_or_insert(self.now);
        self.last_failure = self.now;
    }

    /// The round of the replica whose turn it is.
    fn round(&mut self, kind: Round) {
        let (turn, now) = (self.turn, self.now);
        if kind != Round::Whole {
            self.fail();
        }
        match kind {
            Round::Outage(units) => {
                self.outage = now + units;
                self.last_failure = self.outage;
            }
            Round::TableDeleted => self.server.table = None,
            Round::Changed(slot) => self.server.changed[usize::from(slot)] = true,
            Round::Suspended(units) | Round::Late(units) => {
                self.processes[turn].suspended = now + units;
                self.last_failure = now + units;
            }
            Round::Leaves => {
                if let Some(replica) = &mut self.processes[turn].replica {
                    replica.leave();
                }
            }
            _ => {}
        }
        if !matches!(kind, Round::Suspended(_)) && now >= self.processes[turn].suspended
            || matches!(kind, Round::Late(_))
        {
            self.act(kind);
        }
        self.turn = (turn + 1) % REPLICAS;
        if self.turn == 0 {
            self.now += 1;
        }
    }

    fn act(&mut self, kind: Round) {
        let (now, is_reachable) = (self.now, self.now >= self.outage);
        let mut process = self.processes[self.turn].clone();
        if is_reachable {
            for write in std::mem::take(&mut process.late) {
                self.server.write(process.id, &write);
            }
        }
        if process.is_gone {
            self.processes[self.turn] = process;
            return;
        }
        if process.replica.is_none() && is_reachable {
            self.server.join(process.id);
            process.replica = Some(Replica::new(process.id, times(), SLOTS, unit(now)));
        }
        let snapshot = is_reachable.then(|| self.server.read());
        self.follow(&mut process, snapshot, kind);
        self.processes[self.turn] = process;
    }

    /// Observes, ends and begins work, and writes.
    fn follow(&mut self, process: &mut Process, snapshot: Option<Snapshot<u8>>, kind: Round) {
        let now = self.now;
        let Some(replica) = &mut process.replica else { return };
        replica.observe(unit(now), snapshot.as_ref());
        if replica.is_lost() || !replica.is_valid(unit(now)) {
            // Revoked: what it has begun is dropped where it stands.
            process.works.clear();
        }
        if replica.is_lost() {
            // It starts again, as another one.
            *process = Process { id: process.id + 10, ..Process::new(0) };
            return;
        }
        let Some(snapshot) = snapshot else { return };
        self.end_work(process);
        let Some(replica) = &mut process.replica else { return };
        let admits = |slot: &Slot| replica.table().is_some_and(|table| table.admits(replica.me(), *slot));
        let busy: BTreeSet<Slot> = process.works.keys().filter(|slot| !admits(slot)).copied().collect();
        let actions = replica.actions(unit(now), &snapshot, &busy, now);
        let writes = actions.into_iter().map(|action| (self.server.version_for(process.id, &action), action));
        let writes: Vec<Write> = writes.map(|(version, action)| (action, version)).collect();
        self.send(process, writes, kind);
        self.begin_work(process);
        self.release_if_done(process);
    }

    fn send(&mut self, process: &mut Process, writes: Vec<Write>, kind: Round) {
        match kind {
            Round::Lost => return,
            Round::Late(_) => return process.late = writes,
            Round::Killed => {
                process.late = writes;
                process.is_gone = true;
                process.works.clear();
                return;
            }
            _ => {}
        }
        let now = unit(self.now);
        for write in writes {
            let written = self.server.write(process.id, &write);
            self.taken |= written && matches!(write.0, Action::Take(_));
            let Some(replica) = process.replica.as_mut().filter(|_| written && kind != Round::Unanswered)
            else {
                continue;
            };
            match write.0 {
                Action::Renew { ack, leaving } => replica.note_renewed(now, ack, leaving),
                Action::WriteTable { .. } => replica.note_table_written(now),
                _ => {}
            }
        }
    }

    /// Acts on changes: only with the lease on the record.
    fn begin_work(&mut self, process: &mut Process) {
        let Some(replica) = &process.replica else { return };
        let Some(table) = replica.table() else { return };
        for slot in 0..SLOTS {
            let record = &mut self.server.records[release_of(slot)];
            let is_free = record.is_none_or(|(holder, of, epoch)| {
                // Its own, of work that was revoked, expires.
                let is_own = holder == process.id && !process.works.contains_key(&of);
                table.has_left_behind(&holder, of, epoch) || is_own
            });
            let is_wanted = self.server.changed[usize::from(slot)] && !process.works.contains_key(&slot);
            if replica.admits(slot, unit(self.now)) && is_wanted && is_free {
                *record = Some((process.id, slot, table.epoch));
                process.works.insert(slot, (table.epoch, self.now));
            }
        }
    }

    /// Nothing is recorded with a lease that another one has by now.
    fn end_work(&mut self, process: &mut Process) {
        for slot in 0..SLOTS {
            let Some((epoch, since)) = process.works.get(&slot).copied() else { continue };
            if self.now < since + WORK {
                continue;
            }
            process.works.remove(&slot);
            let record = &mut self.server.records[release_of(slot)];
            if *record == Some((process.id, slot, epoch)) {
                *record = None;
                self.server.changed[usize::from(slot)] = false;
            }
        }
    }

    /// A replica that leaves gives its Lease up when it has nothing to do any more.
    fn release_if_done(&mut self, process: &mut Process) {
        let id = process.id;
        let Some(lease) = self.server.leases.get_mut(&id).filter(|lease| lease.leaving) else { return };
        if process.works.is_empty() {
            self.server.version += 1;
            (lease.held, lease.version) = (false, self.server.version);
            process.is_gone = true;
        }
    }

    fn is_quiet(&self) -> bool {
        self.now > self.last_failure + SETTLED_AFTER
    }

    /// Whether a replica is left that could act.
    fn has_replicas(&self) -> bool {
        self.processes.iter().any(|process| !process.is_gone)
    }

    /// Whether each slot is held by a replica that acts in it.
    fn is_shared(&self) -> bool {
        (0..SLOTS).all(|slot| self.processes.iter().any(|process| process.admits(slot, self.now)))
    }
}

impl Model for Ring {
    type State = World;
    type Action = Round;

    fn init_states(&self) -> Vec<World> {
        // While they join, and when they share the slots already.
        let mut world = World::start();
        let mut all = vec![world.clone()];
        while !world.is_shared() || world.turn != 0 {
            world.round(Round::Whole);
        }
        world.server.changed = vec![true; SLOTS.into()];
        world.last_failure = world.now;
        all.push(world);
        all
    }

    fn actions(&self, world: &World, actions: &mut Vec<Round>) {
        actions.push(Round::Whole);
        let process = &world.processes[world.turn];
        let is_first = world.first_failure.is_none();
        // The first failure comes in the first unit: what comes before it is the same.
        let may_fail = match world.first_failure {
            None => world.now <= world.last_failure.max(1) + 1,
            Some(first) => world.now <= first + WINDOW,
        };
        let is_away =
            process.is_gone || world.now < process.suspended || process.replica.is_none() && !is_first;
        if world.failures < self.failures && may_fail && !is_away {
            actions.extend(FAILURES);
        }
    }

    fn next_state(&self, world: &World, round: Round) -> Option<World> {
        let mut next = world.clone();
        next.round(round);
        Some(next)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.now <= world.last_failure + SETTLED_AFTER + 1
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no slot has two actors", |_, world: &World| {
                (0..SLOTS).all(|slot| {
                    world.processes.iter().filter(|process| process.admits(slot, world.now)).count() <= 1
                })
            }),
            Property::always("no release has two workers that may both be alive", |_, world: &World| {
                (0..=release_of(SLOTS - 1)).all(|release| {
                    let valid = world.processes.iter().filter(|process| process.is_valid(world.now));
                    let works = valid.flat_map(|process| process.works.keys());
                    works.filter(|slot| release_of(**slot) == release).count() <= 1
                })
            }),
            Property::always("no record is taken from a replica that may be alive", |_, world: &World| {
                world.processes.iter().filter(|process| process.is_valid(world.now)).all(|process| {
                    process.works.iter().all(|(slot, (epoch, _))| {
                        world.server.records[release_of(*slot)] == Some((process.id, *slot, *epoch))
                    })
                })
            }),
            Property::always("no slot is unowned for ever", |_, world: &World| {
                !world.is_quiet() || !world.has_replicas() || world.is_shared()
            }),
            Property::always("every change is finally acted on", |_, world: &World| {
                let is_done = world.server.changed.iter().all(|changed| !changed);
                !world.is_quiet() || !world.has_replicas() || is_done
            }),
            Property::sometimes("a silent replica is replaced", |_, world: &World| {
                world.taken && world.is_quiet() && world.is_shared()
            }),
            Property::sometimes("a slot is drained", |_, world: &World| {
                let table = world.server.table.as_ref().and_then(|table| table.table.as_ref());
                table
                    .is_some_and(|table| table.slots.iter().any(|owner| matches!(owner, Owner::Draining(..))))
            }),
            Property::sometimes("a replica leaves, and its slots are owned again", |_, world: &World| {
                let gone = world.processes.iter().filter(|process| process.is_gone).count();
                gone == 1 && !world.taken && world.is_quiet() && world.is_shared()
            }),
        ]
    }
}

#[test]
fn the_protocol_keeps_its_promises_in_all_orders_of_failures() {
    #[allow(clippy::disallowed_methods, reason = "nightly sets it")]
    let failures = std::env::var("PINTLE_RING_FAILURES").ok().and_then(|text| text.parse().ok());
    let checker = Ring { failures: failures.unwrap_or(1) }.checker().threads(2).spawn_dfs().join();
    assert!(checker.unique_state_count() > 1_000, "{} states", checker.unique_state_count());
    checker.assert_properties();
}

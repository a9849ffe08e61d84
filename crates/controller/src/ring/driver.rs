//! Executes what a replica decides on Kubernetes Leases: one per replica, and one whose annotation has the table and whose
//! holder is the coordinator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pintle::cluster::{Cluster, ListParams, Preconditions, PropagationPolicy, WatchEvent};
use pintle::objects::{Object, ObjectId};
use pintle_tree::{LogLevel, LogLine, Map, Node};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Slot;
use super::replica::{Action, Seen, SeenTable, Snapshot, Times};
use super::share::Share;
use super::table::{Ack, Table};
use super::wire::{self, ACK_ANNOTATION, COORDINATOR_ANNOTATION, RING_LABEL, TABLE_ANNOTATION, Uid};
use crate::leader::{LeaderElection, leases, micro_time, params};
use crate::metrics::Metrics;
use crate::reconcile::Log;

/// The least time between two rounds, however much happens.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// Takes part in a ring.
pub(crate) struct Driver {
    cluster: Cluster,
    ring: LeaderElection,
    share: Arc<Share>,
    log: Log,
    /// The uid of our Lease.
    uid: Uid,
    /// The objects as they were last read, by uid; the one with the table by an empty uid.
    read: BTreeMap<Uid, Object>,
    /// A number for each version of an object: resource versions are compared only with `==`.
    versions: BTreeMap<Uid, (String, u64)>,
    watch: JoinHandle<()>,
}

/// The annotations whose changes wake the driver.
const WAKING: [&str; 3] = [TABLE_ANNOTATION, ACK_ANNOTATION, COORDINATOR_ANNOTATION];

/// The slots that a replica gained, as they come.
pub(crate) type Gains = futures::channel::mpsc::UnboundedReceiver<std::collections::BTreeSet<Slot>>;

impl Driver {
    /// Creates the Lease of this replica. The name, the namespace and the times are those of `ring`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) async fn join(
        cluster: Cluster,
        ring: LeaderElection,
        metrics: Arc<Metrics>,
        log: Log,
    ) -> pintle::cluster::Result<(Driver, Arc<Share>, Gains)> {
        let begin = Instant::now();
        let id = ObjectId::new("coordination.k8s.io/v1", "Lease", &ring.namespace, "");
        let mut lease = Object::from_id(&id);
        lease.metadata_mut().remove("name");
        lease.metadata_mut().insert("generateName".into(), format!("{}-", ring.name).into());
        lease.set_label(RING_LABEL, &ring.name);
        lease.set_annotation(ACK_ANNOTATION, &wire::encode_ack(&Ack::default(), false));
        let spec = spec(&ring, Some(&ring.identity), &lease);
        lease.body_mut().insert("spec".into(), Node::Map(spec));
        let created = cluster.create(&lease, &params()).await?.object()?;
        let uid: Uid = created.uid().into();
        let prefix = format!("{}/{} ", ring.namespace, ring.name);
        let known = (uid.clone(), times(&ring));
        let (share, gains) = Share::new(prefix, ring.identity.clone(), known, begin, metrics);
        let watch = tokio::spawn(watch(cluster.clone(), ring.clone(), Arc::clone(&share)));
        let read = BTreeMap::from([(uid.clone(), created)]);
        let versions = BTreeMap::new();
        let driver = Driver { cluster, ring, share: Arc::clone(&share), log, uid, read, versions, watch };
        Ok((driver, share, gains))
    }

    /// Takes part until the Lease is lost.
    pub(crate) async fn run(&mut self) {
        loop {
            let is_done = self.round().await;
            if self.share.is_lost() {
                return;
            }
            if !is_done {
                // What was taken can be given away at once.
                continue;
            }
            let wait = async {
                tokio::time::sleep(MIN_PAUSE).await;
                self.share.wake.notified().await;
            };
            let _ = tokio::time::timeout(self.ring.retry_period, wait).await;
        }
    }

    /// Gives the Lease up, and the table, when nothing runs any more. Others need not wait for them.
    pub(crate) async fn release(&mut self) {
        let Ok(snapshot) = self.read().await else { return };
        if let Some(lease) = self.read.get(&self.uid).filter(|lease| is_held(lease)).cloned() {
            let _ = self.give_up(lease).await;
        }
        let coordinates = |read: &SeenTable<Uid>| read.coordinator.as_ref() == Some(&self.uid);
        if let Some(table) = snapshot.table.filter(coordinates).and_then(|read| read.table) {
            let _ = self.write_table(&table, None).await;
        }
    }

    /// Reads, decides and writes once. Returns false if there is more to do at once.
    async fn round(&mut self) -> bool {
        let limit = self.ring.renew_deadline / 2;
        let read = tokio::time::timeout(limit, self.read()).await;
        let snapshot = read.ok().and_then(|read| self.report("read the table", read));
        let mut is_done = true;
        for action in self.share.observe(snapshot.as_ref()) {
            let is_taking = matches!(action, Action::Take(_));
            let (begin, text) = (Instant::now(), describe(&action));
            let written = tokio::time::timeout(limit, self.write(&action)).await;
            let written = written.ok().and_then(|written| self.report(text, written)).unwrap_or(false);
            match action {
                Action::Renew { ack, leaving } if written => {
                    self.share.note_renewed(begin, ack, leaving, self.ring.renew_deadline);
                }
                Action::WriteTable { .. } if written => self.share.note_table_written(),
                _ => {}
            }
            is_done &= !(is_taking && written);
        }
        is_done
    }

    fn report<T>(&self, what: &str, result: pintle::cluster::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                (self.log)(&LogLine::warn(format!("cannot {what} of the ring: {error}"), Vec::new()));
                None
            }
        }
    }

    /// Reads all Leases of the ring.
    async fn read(&mut self) -> pintle::cluster::Result<Snapshot<Uid>> {
        let selection = ListParams::labels(format!("{RING_LABEL}={}", self.ring.name));
        let objects = self.cluster.list(&leases(), &self.ring.namespace, &selection).await?;
        let mut snapshot = Snapshot { leases: BTreeMap::new(), table: None };
        self.read.clear();
        let table_name = table_name(&self.ring);
        for object in objects {
            let uid: Uid = if object.name() == table_name { "".into() } else { object.uid().into() };
            let version = self.version(&uid, &object);
            if uid.is_empty() {
                let holder = object.text(&["spec", "holderIdentity"]);
                let coordinator = Some(holder).filter(|holder| !holder.is_empty()).map(Uid::from);
                let table = object.annotation(TABLE_ANNOTATION).and_then(wire::decode_table);
                snapshot.table = Some(SeenTable { version, coordinator, table });
            } else {
                let text = object.annotation(ACK_ANNOTATION).unwrap_or_default();
                let (ack, leaving) = wire::decode_ack(text);
                let seen = Seen { version, held: is_held(&object), ack, leaving };
                snapshot.leases.insert(uid.clone(), seen);
            }
            self.read.insert(uid, object);
        }
        let read = &self.read;
        self.versions.retain(|uid, _| read.contains_key(uid));
        Ok(snapshot)
    }

    fn version(&mut self, uid: &Uid, object: &Object) -> u64 {
        let version = format!("{} {}", object.uid(), object.resource_version());
        let known = self.versions.entry(uid.clone()).or_default();
        if known.0 != version {
            *known = (version, known.1 + 1);
        }
        known.1
    }

    /// Writes, and returns whether nobody was faster.
    async fn write(&mut self, action: &Action<Uid>) -> pintle::cluster::Result<bool> {
        match action {
            Action::Renew { ack, leaving } => {
                let Some(mut lease) = self.read.get(&self.uid).cloned() else { return Ok(false) };
                lease.set_annotation(ACK_ANNOTATION, &wire::encode_ack(ack, *leaving));
                let spec = spec(&self.ring, Some(lease.text(&["spec", "holderIdentity"])), &lease);
                lease.body_mut().insert("spec".into(), Node::Map(spec));
                swapped(self.cluster.replace(&lease, &params()).await)
            }
            Action::Take(replica) => {
                let Some(lease) = self.read.get(replica).cloned() else { return Ok(false) };
                let holder = lease.text(&["spec", "holderIdentity"]).to_owned();
                let taken = self.give_up(lease).await?;
                if taken {
                    let text = format!("{holder} is silent: its requests are given to others");
                    (self.log)(&LogLine {
                        level: LogLevel::Info,
                        message: text.into(),
                        attributes: Vec::new(),
                    });
                }
                Ok(taken)
            }
            Action::Forget(replica) => {
                let Some(lease) = self.read.get(replica) else { return Ok(false) };
                let conditions = Preconditions {
                    uid: lease.uid().to_owned(),
                    resource_version: lease.resource_version().to_owned(),
                };
                self.cluster.delete(&lease.id(), PropagationPolicy::Background, &conditions).await
            }
            Action::WriteTable { table, coordinator } => {
                self.write_table(table, coordinator.as_deref()).await
            }
        }
    }

    async fn give_up(&self, mut lease: Object) -> pintle::cluster::Result<bool> {
        // Others are woken by what changes in annotations.
        lease.set_annotation(ACK_ANNOTATION, "{}");
        let spec = spec(&self.ring, None, &lease);
        lease.body_mut().insert("spec".into(), Node::Map(spec));
        swapped(self.cluster.replace(&lease, &params()).await)
    }

    async fn write_table(
        &self,
        table: &Table<Uid>,
        coordinator: Option<&str>,
    ) -> pintle::cluster::Result<bool> {
        let id =
            ObjectId::new("coordination.k8s.io/v1", "Lease", &self.ring.namespace, &table_name(&self.ring));
        let read = self.read.get("");
        let mut object = read.cloned().unwrap_or_else(|| Object::from_id(&id));
        object.set_label(RING_LABEL, &self.ring.name);
        object.set_annotation(TABLE_ANNOTATION, &wire::encode_table(table));
        object.set_annotation(COORDINATOR_ANNOTATION, coordinator.map_or("", |_| &self.ring.identity));
        let spec = spec(&self.ring, coordinator, &object);
        object.body_mut().insert("spec".into(), Node::Map(spec));
        swapped(match read {
            Some(_) => self.cluster.replace(&object, &params()).await,
            None => self.cluster.create(&object, &params()).await,
        })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

fn describe(action: &Action<Uid>) -> &'static str {
    match action {
        Action::Renew { .. } => "renew the lease",
        Action::Take(_) => "take a silent lease",
        Action::Forget(_) => "delete an old lease",
        Action::WriteTable { .. } => "write the table",
    }
}

fn times(ring: &LeaderElection) -> Times {
    Times { lease: ring.lease_duration, deadline: ring.renew_deadline, retry: ring.retry_period }
}

fn table_name(ring: &LeaderElection) -> String {
    format!("{}-ring", ring.name)
}

fn is_held(lease: &Object) -> bool {
    !lease.text(&["spec", "holderIdentity"]).is_empty()
}

/// The spec of a Lease that is renewed now, by the holder that it had or by another one. The times are for people: nobody
/// compares them with a clock.
fn spec(ring: &LeaderElection, holder: Option<&str>, lease: &Object) -> Map<Node> {
    let now = micro_time();
    let before = lease.text(&["spec", "holderIdentity"]);
    let is_same = holder == Some(before);
    let since = lease.text(&["spec", "acquireTime"]);
    let since = if is_same && !since.is_empty() { since.to_owned() } else { now.clone() };
    let transitions = lease.int(&["spec", "leaseTransitions"]).unwrap_or_default();
    let seconds = i64::try_from(ring.lease_duration.as_secs()).unwrap_or(15).max(1);
    Map::from_entries(vec![
        ("holderIdentity".into(), holder.unwrap_or_default().into()),
        ("leaseDurationSeconds".into(), Node::Int(seconds)),
        ("acquireTime".into(), since.into()),
        ("renewTime".into(), now.into()),
        ("leaseTransitions".into(), Node::Int(transitions + i64::from(!is_same && !before.is_empty()))),
    ])
}

/// Whether a compare-and-swap succeeded.
fn swapped<T>(written: pintle::cluster::Result<T>) -> pintle::cluster::Result<bool> {
    match written {
        Ok(_) => Ok(true),
        Err(error) if error.is_conflict() || error.is_already_exists() || error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Wakes the driver when another replica has written something new: a table, or what it says about one. Nothing rests on
/// this but speed; what is true is what the driver reads.
async fn watch(cluster: Cluster, ring: LeaderElection, share: Arc<Share>) {
    let labels = format!("{RING_LABEL}={}", ring.name);
    let selection = ListParams { labels, metadata_only: true, ..ListParams::default() };
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    loop {
        if let Ok(mut events) = cluster.watch(&leases(), &ring.namespace, &selection, "").await {
            while let Ok(Some(event)) = events.next().await {
                let (object, is_there) = match &event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
                    WatchEvent::Deleted(object) => (object, false),
                    WatchEvent::Bookmark(_) => continue,
                };
                let text = WAKING.map(|key| object.annotation(key).unwrap_or_default());
                let text = format!("{is_there} {}", text.concat());
                if known.insert(object.uid().to_owned(), text.clone()) != Some(text) {
                    share.wake.notify_one();
                }
                if !is_there {
                    known.remove(object.uid());
                }
            }
        }
        tokio::time::sleep(ring.retry_period).await;
    }
}

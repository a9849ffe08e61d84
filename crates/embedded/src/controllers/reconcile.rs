//! The controller manager: which objects are reconciled, and when.
//!
//! Store events enqueue the changed object, its owners and whatever selects or waits for it. The queue is drained
//! before the answer to a request is sent ([`Pace::Fast`]), or in the background ([`Pace::Real`]).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pintle_tree::{Node, Str};
use tokio::sync::Mutex;

use super::client::Client;
use super::delay_queue::DelayQueue;
use super::selector_index::{self, SelectorIndex};
use super::{Pace, SimulatedClock};
use super::{
    cron_job, daemon_set, deployment, job, network, node, persistent_volume, pod, replica_set, stateful_set,
};
use crate::api::meta::{is_deleted, list_at, text_at};
use crate::api::{Api, Clock as _};
use crate::status::Status;
use crate::store::{Event, Object, prefix};

/// The limit of reconciles per API request, so that one request cannot keep the server busy for ever. What is left
/// continues with the next request or in a watch. A reconcile counts as one plus its dependents divided by
/// [`DEPENDENTS_PER_RECONCILE`].
const MAX_RECONCILES_PER_REQUEST: usize = 20_000;
/// Reading this many dependents costs about as much as a reconcile.
const DEPENDENTS_PER_RECONCILE: usize = 16;
/// The longest wait at [`Pace::Real`] when nothing is due.
const RESYNC_PERIOD: Duration = Duration::from_secs(3600);

/// When to reconcile an object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Requeue {
    pub(super) at: Duration,
    /// Whether the clock may be advanced to that time.
    pub(super) advances_clock: bool,
}

impl Requeue {
    /// Requeues something that will come to an end: the clock may be advanced to it.
    pub(super) fn at(at: Duration) -> Option<Requeue> {
        Some(Requeue { at, advances_clock: true })
    }

    /// Requeues something that never ends, such as a schedule. If the clock were advanced for these, it would run
    /// away.
    pub(super) fn at_without_advancing(at: Duration) -> Option<Requeue> {
        Some(Requeue { at, advances_clock: false })
    }
}

/// Runs the controllers.
pub(crate) struct ControllerManager {
    clock: Arc<SimulatedClock>,
    pace: Pace,
    // Locked for a whole drain: reconciles never run concurrently, which makes their order deterministic.
    queue: Mutex<WorkQueue>,
    /// Whether the last request hit [`MAX_RECONCILES_PER_REQUEST`].
    pending_work: AtomicBool,
}

/// The objects to reconcile. Keys are queued once, in the order of the changes.
#[derive(Default)]
struct WorkQueue {
    /// The store revision up to which events have been enqueued.
    synced_revision: u64,
    queue: VecDeque<Str>,
    queued: BTreeSet<Str>,
    delayed: DelayQueue,
    /// Pods that wait for an object which does not exist.
    waiting_pods: BTreeSet<Str>,
    /// Deleted claims that wait until no pod uses them.
    terminating: BTreeSet<Str>,
    /// Selectors of Services and PodDisruptionBudgets.
    selectors: SelectorIndex,
}

impl ControllerManager {
    pub(crate) fn new(clock: Arc<SimulatedClock>, pace: Pace) -> ControllerManager {
        ControllerManager {
            clock,
            pace,
            queue: Mutex::new(WorkQueue::default()),
            pending_work: AtomicBool::new(false),
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// Creates the node and enqueues all objects. A store from a file may hold objects in any state.
    pub(crate) async fn start(&self, api: &Api) -> Result<(), Status> {
        node::ensure(&Client::new(api)).await?;
        let mut queue = self.queue.lock().await;
        queue.enqueue_all(api);
        drop(queue);
        self.run_until_idle(api).await;
        Ok(())
    }

    /// Drains the queue. At [`Pace::Real`] this is up to [`ControllerManager::run`].
    pub(crate) async fn run_until_idle(&self, api: &Api) {
        if self.pace == Pace::Fast {
            let mut queue = self.queue.lock().await;
            self.drain(api, &mut queue).await;
        }
    }

    /// Whether the queue was not drained by the last request.
    pub(crate) fn has_pending_work(&self) -> bool {
        // At a real pace, `run` continues without a request.
        self.pace == Pace::Fast && self.pending_work.load(Ordering::Relaxed)
    }

    /// Runs whenever something has changed or is due, until the store is dropped.
    pub(crate) async fn run(&self, api: &Api) {
        let mut changes = api.store().subscribe();
        loop {
            // Before the drain, so that a change during the drain ends the wait below at once.
            changes.mark_unchanged();
            let mut queue = self.queue.lock().await;
            self.drain(api, &mut queue).await;
            let next = queue.delayed.next();
            drop(queue);
            // Let requests be served before the next batch.
            if self.pending_work.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
                continue;
            }
            let pause =
                next.map_or(RESYNC_PERIOD, |at| at.saturating_sub(self.clock.now())).min(RESYNC_PERIOD);
            // At least a few milliseconds, so that a requeue in the past cannot spin.
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(pause.max(Duration::from_millis(5))) => {}
            }
        }
    }

    /// Reconciles until the queue is empty and no requeue may advance the clock. Events are synced before each
    /// reconcile, so that the order of reconciles depends on the order of changes only.
    async fn drain(&self, api: &Api, queue: &mut WorkQueue) {
        let mut done = 0;
        while done < MAX_RECONCILES_PER_REQUEST {
            queue.sync(api);
            queue.pop_due(self.clock.now());
            if let Some(key) = queue.pop() {
                // An owner of a thousand pods reads all of them, for each one that changes.
                done += 1 + queue.reconcile(api, &key).await / DEPENDENTS_PER_RECONCILE;
                continue;
            }
            // Only an idle queue advances the clock: whatever is due now must not see a later time.
            match queue.delayed.next_advance().filter(|_| self.pace == Pace::Fast) {
                Some(at) => self.clock.advance_to(at),
                None => return self.pending_work.store(false, Ordering::Relaxed),
            }
        }
        self.pending_work.store(true, Ordering::Relaxed);
    }
}

impl WorkQueue {
    /// Adds a key, once: a queued object will be reconciled in its newest state anyway.
    fn add(&mut self, key: Str) {
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    fn pop(&mut self) -> Option<Str> {
        let key = self.queue.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    fn pop_due(&mut self, now: Duration) {
        while let Some(key) = self.delayed.pop_due(now) {
            self.add(key);
        }
    }

    /// Enqueues whatever the events since the last call affect.
    fn sync(&mut self, api: &Api) {
        if api.store().revision() == self.synced_revision {
            return;
        }
        match api.store().changes("", self.synced_revision) {
            Ok((events, revision)) => {
                for event in &events {
                    self.enqueue_for(api, event);
                }
                self.synced_revision = revision;
            }
            // The events have left the history window.
            Err(_) => self.enqueue_all(api),
        }
    }

    fn enqueue_all(&mut self, api: &Api) {
        // Read before the lists: a change during them is then an event as well, and seen twice rather than never.
        self.synced_revision = api.store().revision();
        for (kind, _) in CONTROLLERS {
            let listing = api.store().list(&prefix(kind, None), None, usize::MAX, None, &|_| true);
            for object in listing.iter().flat_map(|listing| &listing.objects) {
                self.index_waiters(kind, object);
                self.add(object.key.clone());
            }
        }
    }

    fn enqueue_for(&mut self, api: &Api, event: &Event) {
        let object = &event.object;
        let text = object.key.to_str_lossy().into_owned();
        let (kind, rest) = text.split_once('/').unwrap_or_default();
        let namespace = rest.split('/').next().unwrap_or_default();
        // No index may keep the key of a removed object, as another one can be created under the same name.
        if event.removed {
            self.delayed.remove(&object.key);
            self.waiting_pods.remove(&object.key);
            self.terminating.remove(&object.key);
            self.selectors.remove(&object.key);
        } else if CONTROLLERS.iter().any(|(name, _)| *name == kind) {
            self.index_waiters(kind, object);
            self.add(object.key.clone());
        }
        // The status of an owner depends on its dependents, also on one that was released from it.
        let released = event.previous.iter().filter(|previous| previous.meta.owners != object.meta.owners);
        for owner in std::iter::once(object).chain(released).flat_map(|state| &state.meta.owners) {
            if let Some(owner) = api.store().by_uid(owner) {
                self.add(owner.key.clone());
            }
        }
        match kind {
            "pods" => self.enqueue_for_pod(namespace, event),
            // The kinds that pods can wait for.
            "secrets" | "configmaps" | "persistentvolumeclaims" | "serviceaccounts" => {
                for key in with_prefix(&self.waiting_pods, &prefix("pods", Some(namespace))) {
                    self.add(key);
                }
            }
            _ => {}
        }
    }

    /// Indexes what waits for pods: selectors, and deleted claims in use.
    fn index_waiters(&mut self, kind: &str, object: &Object) {
        if selector_index::KINDS.contains(&kind) {
            self.selectors.insert(object);
        } else if kind == CLAIMS && object.meta.deleting {
            self.terminating.insert(object.key.clone());
        }
    }

    fn enqueue_for_pod(&mut self, namespace: &str, event: &Event) {
        let object = &event.object;
        // What selected the pod before its labels were changed has one pod less.
        let relabeled = event.previous.iter().filter(|previous| previous.meta.labels != object.meta.labels);
        for state in std::iter::once(object).chain(relabeled) {
            for key in self.selectors.matching(&state.key, &state.meta) {
                self.add(key);
            }
        }
        if event.removed {
            for key in with_prefix(&self.terminating, &prefix(CLAIMS, Some(namespace))) {
                self.add(key);
            }
        }
    }

    /// Reconciles one object and returns the number of its dependents, which is a measure of the work.
    async fn reconcile(&mut self, api: &Api, key: &Str) -> usize {
        // This reconcile replaces a pending requeue; a controller that still needs one returns it again.
        let pending = self.delayed.remove(key);
        let Some(object) = api.store().get(key) else { return 0 };
        let kind = key.to_str_lossy();
        let kind = kind.split('/').next().unwrap_or_default();
        let Some((_, controller)) = CONTROLLERS.iter().find(|(name, _)| *name == kind) else { return 0 };
        // The object is read here and not when it was enqueued, so that a controller never works on an old state.
        let request =
            Request { client: Client::new(api), key, object: object.node(), now: api.now(), pending };
        let outcome = controller.reconcile(&request).await;
        if *controller == Controller::Pod {
            self.waiting_pods.remove(key);
        }
        match outcome {
            Ok(Action::Done) => {}
            Ok(Action::Requeue(requeue)) => self.delayed.insert(key.clone(), requeue),
            Ok(Action::AwaitDependency) => drop(self.waiting_pods.insert(key.clone())),
            // What the API rejects now, such as a pod over quota, may be accepted later.
            Err(_) => {
                // Without advancing the clock, which would run away for an object that is always rejected.
                let requeue = Requeue { at: api.now() + Duration::from_secs(60), advances_clock: false };
                self.delayed.insert(key.clone(), requeue);
            }
        }
        api.store().count_dependents(&object.meta.uid)
    }
}

const CLAIMS: &str = "persistentvolumeclaims";

fn with_prefix(keys: &BTreeSet<Str>, prefix: &str) -> Vec<Str> {
    let matching = keys.range(Str::from(prefix)..);
    matching.take_while(|key| key.starts_with(prefix.as_bytes())).cloned().collect()
}

/// What follows from a reconcile.
pub(super) enum Action {
    Done,
    Requeue(Requeue),
    /// A referenced object does not exist; reconcile again when one of that kind changes.
    AwaitDependency,
}

impl From<Option<Requeue>> for Action {
    fn from(requeue: Option<Requeue>) -> Action {
        requeue.map_or(Action::Done, Action::Requeue)
    }
}

/// One reconcile of one object.
pub(super) struct Request<'l> {
    pub(super) client: Client<'l>,
    pub(super) key: &'l Str,
    pub(super) object: Node,
    pub(super) now: Duration,
    /// The pending requeue of the object, if this reconcile came earlier.
    pub(super) pending: Option<Requeue>,
}

impl Request<'_> {
    pub(super) fn text(&self, path: &[&str]) -> &str {
        text_at(&self.object, path)
    }

    pub(super) fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    pub(super) fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    pub(super) fn uid(&self) -> &str {
        self.text(&["metadata", "uid"])
    }

    /// The dependents of a kind of which this object is the controller.
    pub(super) fn owned(&self, kind: &str) -> Vec<Node> {
        let all = self.client.owned(self.uid(), kind);
        let controls = |node: &Node| {
            list_at(node, &["metadata", "ownerReferences"]).iter().any(|owner| {
                text_at(owner, &["uid"]) == self.uid()
                    && owner.get("controller").and_then(Node::as_bool) == Some(true)
            })
        };
        all.into_iter().filter(controls).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Pod,
    ReplicaSet,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    Claim,
    Volume,
    Service,
    Ingress,
    Budget,
}

/// The reconciled kinds, as in the prefix of keys.
const CONTROLLERS: [(&str, Controller); 13] = [
    ("deployments.apps", Controller::Deployment),
    ("replicasets.apps", Controller::ReplicaSet),
    ("replicationcontrollers", Controller::ReplicaSet),
    ("statefulsets.apps", Controller::StatefulSet),
    ("daemonsets.apps", Controller::DaemonSet),
    ("jobs.batch", Controller::Job),
    ("cronjobs.batch", Controller::CronJob),
    ("pods", Controller::Pod),
    (CLAIMS, Controller::Claim),
    ("persistentvolumes", Controller::Volume),
    ("services", Controller::Service),
    ("ingresses.networking.k8s.io", Controller::Ingress),
    ("poddisruptionbudgets.policy", Controller::Budget),
];

impl Controller {
    async fn reconcile(self, request: &Request<'_>) -> Result<Action, Status> {
        // Objects that are being deleted are only reconciled by controllers that remove a finalizer.
        let deleting = is_deleted(&request.object);
        match self {
            Controller::Pod => pod::reconcile(request).await,
            Controller::Claim => persistent_volume::reconcile(request).await.map(Action::from),
            Controller::Volume => persistent_volume::reconcile_volume(request).await.map(Action::from),
            _ if deleting => Ok(Action::Done),
            Controller::ReplicaSet => replica_set::reconcile(request).await.map(Action::from),
            Controller::Deployment => deployment::reconcile(request).await.map(Action::from),
            Controller::StatefulSet => stateful_set::reconcile(request).await.map(Action::from),
            Controller::DaemonSet => daemon_set::reconcile(request).await.map(Action::from),
            Controller::Job => job::reconcile(request).await.map(Action::from),
            Controller::CronJob => cron_job::reconcile(request).await.map(Action::from),
            Controller::Service => network::reconcile_service(request).await.map(Action::from),
            Controller::Ingress => network::reconcile_ingress(request).await.map(Action::from),
            Controller::Budget => network::reconcile_disruption_budget(request).await.map(Action::from),
        }
    }
}

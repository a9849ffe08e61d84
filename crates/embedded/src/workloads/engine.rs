//! Who looks at what, and when.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pintle_tree::{Node, Str};
use tokio::sync::Mutex;

use super::hand::Hand;
use super::later::Later;
use super::selecting::{self, Selecting};
use super::{Pace, SimulatedClock};
use super::{claim, cron_job, daemon_set, deployment, job, network, node, pod, replica_set, stateful_set};
use crate::api::meta::{is_deleted, list_at, text_at};
use crate::api::{Api, Clock as _};
use crate::status::Status;
use crate::store::{Event, Object, prefix};

/// How much may follow from one request; whatever is left comes with the next, or while somebody watches. A look counts
/// as one, and so do some of the objects that belong to what is looked at.
const MOST_WORK: usize = 20_000;
/// So many objects that belong to another are read in the time of a look.
const READ_IN_A_LOOK: usize = 16;
/// How long nothing may be due before somebody looks anyway.
const IDLE: Duration = Duration::from_secs(3600);

/// When an object wants to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) at: Duration,
    /// Whether the clock may jump there.
    pub(super) jumps: bool,
}

impl Wake {
    /// Something that goes on until it is done.
    pub(super) fn at(at: Duration) -> Option<Wake> {
        Some(Wake { at, jumps: true })
    }

    /// Something that comes again and again, and would let the clock run away.
    pub(super) fn some_day(at: Duration) -> Option<Wake> {
        Some(Wake { at, jumps: false })
    }
}

/// What moves.
pub(crate) struct Workloads {
    clock: Arc<SimulatedClock>,
    pace: Pace,
    agenda: Mutex<Agenda>,
    /// Whether something was left over.
    unfinished: AtomicBool,
}

/// What is to be looked at.
#[derive(Default)]
struct Agenda {
    /// The revision up to which changes are known.
    seen: u64,
    queue: VecDeque<Str>,
    queued: BTreeSet<Str>,
    /// Who wants to be looked at later.
    later: Later,
    /// Pods that wait for something that is not there.
    wanting: BTreeSet<Str>,
    /// Claims that were deleted and wait for pods to go.
    leaving: BTreeSet<Str>,
    /// Who looks for pods by their labels.
    selecting: Selecting,
}

impl Workloads {
    pub(crate) fn new(clock: Arc<SimulatedClock>, pace: Pace) -> Workloads {
        Workloads { clock, pace, agenda: Mutex::new(Agenda::default()), unfinished: AtomicBool::new(false) }
    }

    /// How fast things move.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// Makes the node and looks at everything that is there.
    pub(crate) async fn begin(&self, api: &Api) -> Result<(), Status> {
        node::make(&Hand::of(api)).await?;
        let mut agenda = self.agenda.lock().await;
        agenda.look_at_all(api);
        drop(agenda);
        self.follow(api).await;
        Ok(())
    }

    /// Does what follows from the last changes; at a real pace somebody else does.
    pub(crate) async fn follow(&self, api: &Api) {
        if self.pace == Pace::Fast {
            let mut agenda = self.agenda.lock().await;
            self.work(api, &mut agenda).await;
        }
    }

    /// Whether there is more to do than was done with the last request.
    pub(crate) fn is_unfinished(&self) -> bool {
        // At a real pace somebody else goes on.
        self.pace == Pace::Fast && self.unfinished.load(Ordering::Relaxed)
    }

    /// Works whenever something has changed or is due.
    pub(crate) async fn keep_moving(&self, api: &Api) {
        let mut changes = api.store().subscribe();
        loop {
            changes.mark_unchanged();
            let mut agenda = self.agenda.lock().await;
            self.work(api, &mut agenda).await;
            let next = agenda.later.next();
            drop(agenda);
            if self.unfinished.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
                continue;
            }
            let pause = next.map_or(IDLE, |at| at.saturating_sub(self.clock.now())).min(IDLE);
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(pause.max(Duration::from_millis(5))) => {}
            }
        }
    }

    async fn work(&self, api: &Api, agenda: &mut Agenda) {
        let mut work = 0;
        while work < MOST_WORK {
            agenda.hear(api);
            agenda.take_due(self.clock.now());
            if let Some(key) = agenda.next() {
                work += 1 + agenda.look(api, &key).await / READ_IN_A_LOOK;
                continue;
            }
            match agenda.later.next_jump().filter(|_| self.pace == Pace::Fast) {
                Some(at) => self.clock.jump_to(at),
                None => return self.unfinished.store(false, Ordering::Relaxed),
            }
        }
        self.unfinished.store(true, Ordering::Relaxed);
    }
}

impl Agenda {
    fn push(&mut self, key: Str) {
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    fn next(&mut self) -> Option<Str> {
        let key = self.queue.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    fn take_due(&mut self, now: Duration) {
        while let Some(key) = self.later.take_due(now) {
            self.push(key);
        }
    }

    /// Takes note of what has changed since.
    fn hear(&mut self, api: &Api) {
        if api.store().revision() == self.seen {
            return;
        }
        match api.store().changes("", self.seen) {
            Ok((events, revision)) => {
                for event in &events {
                    self.note(api, event);
                }
                self.seen = revision;
            }
            // So much has changed that nobody knows what.
            Err(_) => self.look_at_all(api),
        }
    }

    fn look_at_all(&mut self, api: &Api) {
        self.seen = api.store().revision();
        for (kind, _) in CONTROLLERS {
            let listing = api.store().list(&prefix(kind, None), None, usize::MAX, None, &|_| true);
            for object in listing.iter().flat_map(|listing| &listing.objects) {
                self.note_what_waits(kind, object);
                self.push(object.key.clone());
            }
        }
    }

    fn note(&mut self, api: &Api, event: &Event) {
        let object = &event.object;
        let text = object.key.to_str_lossy().into_owned();
        let (kind, rest) = text.split_once('/').unwrap_or_default();
        let namespace = rest.split('/').next().unwrap_or_default();
        if event.removed {
            self.later.remove(&object.key);
            self.wanting.remove(&object.key);
            self.leaving.remove(&object.key);
            self.selecting.forget(&object.key);
        } else if CONTROLLERS.iter().any(|(name, _)| *name == kind) {
            self.note_what_waits(kind, object);
            self.push(object.key.clone());
        }
        for owner in &object.head.owners {
            if let Some(owner) = api.store().by_uid(owner) {
                self.push(owner.key.clone());
            }
        }
        match kind {
            "pods" => self.note_pod(namespace, event),
            "secrets" | "configmaps" | "persistentvolumeclaims" | "serviceaccounts" => {
                for key in under(&self.wanting, &prefix("pods", Some(namespace))) {
                    self.push(key);
                }
            }
            _ => {}
        }
    }

    /// Takes note of what waits for pods: services look for them, and claims that are deleted for those that use them.
    fn note_what_waits(&mut self, kind: &str, object: &Object) {
        if selecting::KINDS.contains(&kind) {
            self.selecting.note(object);
        } else if kind == CLAIMS && object.head.leaving {
            self.leaving.insert(object.key.clone());
        }
    }

    fn note_pod(&mut self, namespace: &str, event: &Event) {
        for key in self.selecting.of(&event.object.key, &event.object.head) {
            self.push(key);
        }
        if event.removed {
            for key in under(&self.leaving, &prefix(CLAIMS, Some(namespace))) {
                self.push(key);
            }
        }
    }

    /// Looks at one object, and says how many belong to it.
    async fn look(&mut self, api: &Api, key: &Str) -> usize {
        let pending = self.later.remove(key);
        let Some(object) = api.store().get(key) else { return 0 };
        let kind = key.to_str_lossy();
        let kind = kind.split('/').next().unwrap_or_default();
        let Some((_, controller)) = CONTROLLERS.iter().find(|(name, _)| *name == kind) else { return 0 };
        let look = Look { hand: Hand::of(api), key, object: object.node(), now: api.moment(), pending };
        let outcome = controller.look(&look).await;
        if *controller == Controller::Pod {
            self.wanting.remove(key);
        }
        match outcome {
            Ok(Next::Done) => {}
            Ok(Next::Wake(wake)) => self.later.insert(key.clone(), wake),
            Ok(Next::Wants) => drop(self.wanting.insert(key.clone())),
            // What the API refuses now may be right later.
            Err(_) => {
                let wake = Wake { at: api.moment() + Duration::from_secs(60), jumps: false };
                self.later.insert(key.clone(), wake);
            }
        }
        api.store().count_dependents(&object.head.uid)
    }
}

const CLAIMS: &str = "persistentvolumeclaims";

/// The keys that begin with `prefix`.
fn under(keys: &BTreeSet<Str>, prefix: &str) -> Vec<Str> {
    let these = keys.range(Str::from(prefix)..);
    these.take_while(|key| key.starts_with(prefix.as_bytes())).cloned().collect()
}

/// What comes after a look.
pub(super) enum Next {
    Done,
    Wake(Wake),
    /// It waits for something that is not there.
    Wants,
}

impl From<Option<Wake>> for Next {
    fn from(wake: Option<Wake>) -> Next {
        wake.map_or(Next::Done, Next::Wake)
    }
}

/// One look at one object.
pub(super) struct Look<'l> {
    pub(super) hand: Hand<'l>,
    pub(super) key: &'l Str,
    pub(super) object: Node,
    pub(super) now: Duration,
    /// When it was to be looked at, if that is still to come.
    pub(super) pending: Option<Wake>,
}

impl Look<'_> {
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

    /// What it owns of a kind, as the controller of it.
    pub(super) fn owned(&self, kind: &str) -> Vec<Node> {
        let all = self.hand.owned(self.uid(), kind);
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

/// The kinds that move, as keys begin with them.
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
    async fn look(self, look: &Look<'_>) -> Result<Next, Status> {
        // What is on its way out is left alone by all but those who let it go.
        let leaves = is_deleted(&look.object);
        match self {
            Controller::Pod => pod::look(look).await,
            Controller::Claim => claim::look(look).await.map(Next::from),
            Controller::Volume => claim::look_at_volume(look).await.map(Next::from),
            _ if leaves => Ok(Next::Done),
            Controller::ReplicaSet => replica_set::look(look).await.map(Next::from),
            Controller::Deployment => deployment::look(look).await.map(Next::from),
            Controller::StatefulSet => stateful_set::look(look).await.map(Next::from),
            Controller::DaemonSet => daemon_set::look(look).await.map(Next::from),
            Controller::Job => job::look(look).await.map(Next::from),
            Controller::CronJob => cron_job::look(look).await.map(Next::from),
            Controller::Service => network::look_at_service(look).await.map(Next::from),
            Controller::Ingress => network::look_at_ingress(look).await.map(Next::from),
            Controller::Budget => network::look_at_budget(look).await.map(Next::from),
        }
    }
}

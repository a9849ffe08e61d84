//! Who looks at what, and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use pintle_tree::{Node, Str};
use tokio::sync::Mutex;

use super::hand::Hand;
use super::network::Labels;
use super::{Pace, SimulatedClock};
use super::{claim, cron_job, daemon_set, deployment, job, network, node, pod, replica_set, stateful_set};
use crate::api::meta::{is_deleted, list_at, text_at};
use crate::api::{Api, Clock as _};
use crate::status::Status;
use crate::store::{Event, Object, prefix};

/// The most looks that follow from one request; whatever is left comes with the next.
const MOST_LOOKS: usize = 50_000;
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
}

/// What is to be looked at.
#[derive(Default)]
struct Agenda {
    /// The revision up to which changes are known.
    seen: u64,
    queue: VecDeque<Str>,
    queued: BTreeSet<Str>,
    /// Who wants to be looked at later.
    later: BTreeMap<Str, Wake>,
    /// Pods that wait for something that is not there.
    wanting: BTreeSet<Str>,
    /// The labels of the pods that services and budgets are about, so that not all are read for every pod.
    selectors: BTreeMap<Str, Labels>,
}

impl Workloads {
    pub(crate) fn new(clock: Arc<SimulatedClock>, pace: Pace) -> Workloads {
        Workloads { clock, pace, agenda: Mutex::new(Agenda::default()) }
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

    /// Works whenever something has changed or is due.
    pub(crate) async fn keep_moving(&self, api: &Api) {
        let mut changes = api.store().subscribe();
        loop {
            changes.mark_unchanged();
            let mut agenda = self.agenda.lock().await;
            self.work(api, &mut agenda).await;
            let next = agenda.later.values().map(|wake| wake.at).min();
            drop(agenda);
            let pause = next.map_or(IDLE, |at| at.saturating_sub(self.clock.now())).min(IDLE);
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(pause.max(Duration::from_millis(5))) => {}
            }
        }
    }

    async fn work(&self, api: &Api, agenda: &mut Agenda) {
        for _ in 0..MOST_LOOKS {
            agenda.hear(api);
            agenda.take_due(self.clock.now());
            if let Some(key) = agenda.next() {
                agenda.look(api, &key).await;
                continue;
            }
            let jump = agenda.later.values().filter(|wake| wake.jumps).map(|wake| wake.at).min();
            match jump.filter(|_| self.pace == Pace::Fast) {
                Some(at) => self.clock.jump_to(at),
                None => return,
            }
        }
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
        let due: Vec<Str> =
            self.later.iter().filter(|(_, wake)| wake.at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.later.remove(&key);
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
                self.note_selector(kind, object);
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
            self.selectors.remove(&object.key);
        } else if CONTROLLERS.iter().any(|(name, _)| *name == kind) {
            self.note_selector(kind, object);
            self.push(object.key.clone());
        }
        for owner in &object.head.owners {
            if let Some(owner) = api.store().by_uid(owner) {
                self.push(owner.key.clone());
            }
        }
        match kind {
            "pods" => self.note_pod(api, namespace, event),
            "secrets" | "configmaps" | "persistentvolumeclaims" | "serviceaccounts" => {
                let waits = self.wanting.iter().filter(|key| is_in(key, namespace)).cloned();
                for key in waits.collect::<Vec<Str>>() {
                    self.push(key);
                }
            }
            _ => {}
        }
    }

    fn note_selector(&mut self, kind: &str, object: &Object) {
        if SELECTING.contains(&kind) {
            self.selectors.insert(object.key.clone(), network::selector(&object.node()));
        }
    }

    /// Services look for pods, and claims that are deleted wait for those that use them.
    fn note_pod(&mut self, api: &Api, namespace: &str, event: &Event) {
        let head = &event.object.head;
        for kind in SELECTING {
            let first = Str::from(prefix(kind, Some(namespace)));
            let these = self.selectors.range(first.clone()..);
            let these = these.take_while(|(key, _)| key.starts_with(&first[..]));
            let these =
                these.filter(|(_, labels)| network::selects(labels, head)).map(|(key, _)| key.clone());
            for key in these.collect::<Vec<Str>>() {
                self.push(key);
            }
        }
        if event.removed {
            let claims = prefix("persistentvolumeclaims", Some(namespace));
            let listing = api.store().list(&claims, None, usize::MAX, None, &|_| true);
            for claim in listing.iter().flat_map(|listing| &listing.objects) {
                if is_deleted(&claim.node()) {
                    self.push(claim.key.clone());
                }
            }
        }
    }

    async fn look(&mut self, api: &Api, key: &Str) {
        self.later.remove(key);
        let Some(object) = api.store().get(key) else { return };
        let kind = key.to_str_lossy();
        let kind = kind.split('/').next().unwrap_or_default();
        let Some((_, controller)) = CONTROLLERS.iter().find(|(name, _)| *name == kind) else { return };
        let look = Look { hand: Hand::of(api), key, object: object.node(), now: api.moment() };
        let outcome = controller.look(&look).await;
        if *controller == Controller::Pod {
            self.wanting.remove(key);
        }
        match outcome {
            Ok(Next::Done) => {}
            Ok(Next::Wake(wake)) => drop(self.later.insert(key.clone(), wake)),
            Ok(Next::Wants) => drop(self.wanting.insert(key.clone())),
            // What the API refuses now may be right later.
            Err(_) => {
                let wake = Wake { at: api.moment() + Duration::from_secs(60), jumps: false };
                self.later.insert(key.clone(), wake);
            }
        }
    }
}

/// The kinds that look for pods by their labels.
const SELECTING: [&str; 2] = ["services", "poddisruptionbudgets.policy"];

fn is_in(key: &Str, namespace: &str) -> bool {
    key.to_str_lossy().split('/').nth(1) == Some(namespace)
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
    ("persistentvolumeclaims", Controller::Claim),
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

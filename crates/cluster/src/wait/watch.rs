//! Waits by the rules of kstatus: every kind in every namespace is watched, and each change recomputes a status.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::diagnose::{self, FailureDetector};
use super::outcome::{PendingObject, Progress, WaitError, WaitFor};
use super::pods::PodProgress;
use super::readiness::{self, Readiness, Status, job_completion, pod_completion, ready};
use super::reflector::{ReflectorEvent, WatchTarget, reflect};
use super::{Observer, Waiter, with_deadline};

/// How often statuses that depend on the clock are recomputed.
const TICK: Duration = Duration::from_secs(1);
/// How many ticks pass between two checks for failures, and before the first.
const TICKS_BETWEEN_CHECKS: u32 = 3;
/// How long one round of checks may take before events are handled again.
const CHECK_BUDGET: Duration = Duration::from_secs(1);
/// The delays between reads of workloads without pods, before they are watched. Their controller needs a moment to observe
/// them.
const IDLE_POLL_DELAYS: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
    Duration::from_millis(320),
];
/// How many events are buffered before reflectors wait.
const CHANNEL_CAPACITY: usize = 64;

/// Waits until the condition holds for all objects.
pub(super) async fn wait(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    written: Vec<Object>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run::new(waiter, ids);
    let watch = async {
        run.start_from(written, observer).await;
        run.poll_idle_workloads(observer).await;
        run.run_until_settled(observer).await
    };
    let ended = with_deadline(waiter.deadline(), watch).await;
    let deadline = match ended {
        Some(Err(error)) => return Err(error),
        Some(Ok(())) => false,
        None => true,
    };
    run.result(deadline).await
}

/// One object that is waited for.
struct TrackedObject {
    id: ObjectId,
    readiness: Readiness,
    /// Whether the object has been looked up.
    is_listed: bool,
    /// Whether the object is excluded from waiting, as paused Deployments are.
    is_skipped: bool,
    /// The latest state, kept for kinds that may have to be diagnosed.
    object: Option<Box<Object>>,
    /// The pods that were not ready when failures were last looked for.
    pods: Vec<PodProgress>,
}

impl TrackedObject {
    fn is_done(&self, wait_for: WaitFor) -> bool {
        self.is_skipped || wait_for.is_reached(self.readiness.status, self.is_listed)
    }
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    tracks: Vec<TrackedObject>,
    /// The position of each tracked object, by its target and name.
    index: BTreeMap<(usize, String), usize>,
    groups: Vec<WatchTarget>,
    failure_detector: Option<FailureDetector>,
    /// The object that was checked last.
    cursor: usize,
    ticks: u32,
}

impl<'w, 'c> Run<'w, 'c> {
    fn new(waiter: &'w Waiter<'c>, ids: Vec<ObjectId>) -> Self {
        let wait_for = waiter.options.wait_for;
        let mut groups: Vec<WatchTarget> = Vec::new();
        let mut groups_by_key = BTreeMap::new();
        let mut index = BTreeMap::new();
        let mut tracks = Vec::with_capacity(ids.len());
        for id in ids {
            let key = (id.group.clone(), id.kind.clone(), id.namespace.clone());
            let group = *groups_by_key.entry(key).or_insert_with(|| {
                let metadata_only = wait_for != WaitFor::HookCompleted
                    && readiness::needs_metadata_only(&id.group, &id.kind)
                    && !waiter.has_rules_for(&id);
                groups.push(WatchTarget { metadata_only, ..WatchTarget::for_object(&id) });
                groups.len() - 1
            });
            groups[group].names.insert(id.name.clone());
            index.insert((group, id.name.clone()), tracks.len());
            tracks.push(TrackedObject {
                id,
                readiness: Readiness::unknown(),
                is_listed: false,
                is_skipped: false,
                object: None,
                pods: Vec::new(),
            });
        }
        let failure_detector = waiter.options.fail_fast.map(FailureDetector::new);
        Run { waiter, tracks, index, groups, failure_detector, cursor: 0, ticks: 0 }
    }

    /// Takes the state of objects from the responses to their writes.
    async fn start_from(&mut self, mut written: Vec<Object>, observer: Observer<'_>) {
        // Responses come in any order; what is reported should not depend on it.
        written.sort_by_cached_key(Object::id);
        for object in written {
            let id = object.id();
            let is_group = |target: &WatchTarget| {
                (target.api_version == id.api_version() && target.kind == id.kind)
                    && target.namespace == id.namespace
            };
            let Some(group) = self.groups.iter().position(is_group) else { continue };
            // An object that is not waited for does not tell where the watch has to start.
            if !self.groups[group].names.contains(&id.name) {
                continue;
            }
            // The version of one object says nothing about the others of its kind: their changes may be older or
            // newer.
            if self.groups[group].names.len() == 1 {
                self.groups[group].since = object.resource_version().to_owned();
            }
            self.update(group, Box::new(object), observer).await;
        }
    }

    /// Polls workloads without pods a few times, if nothing else is left: they are ready as soon as their controller has
    /// observed them. That costs less than a watch, which opens a connection of its own and closes it at the end.
    async fn poll_idle_workloads(&mut self, observer: Observer<'_>) {
        let wait_for = self.waiter.options.wait_for;
        let is_idle = |track: &TrackedObject| track.object.as_deref().is_some_and(has_no_replicas);
        for pause in IDLE_POLL_DELAYS {
            let open: Vec<&TrackedObject> =
                self.tracks.iter().filter(|track| !track.is_done(wait_for)).collect();
            if self.is_settled() || !wait_for.is_readiness() || !open.iter().all(|track| is_idle(track)) {
                return;
            }
            let ids: Vec<ObjectId> = open.iter().map(|track| track.id.clone()).collect();
            tokio::time::sleep(pause).await;
            for id in ids {
                // Errors are left to the watch, which reports them.
                let Ok(Some(object)) = self.waiter.cluster.get(&id).await else { return };
                self.start_from(vec![object], observer).await;
            }
        }
    }

    async fn run_until_settled(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let (sender, mut events) = mpsc::channel(CHANNEL_CAPACITY);
        // Aborted when the set is dropped, and so when waiting is cancelled.
        let mut followers = JoinSet::new();
        let mut handles = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let reflecting = reflect(self.waiter.cluster.clone(), group.clone(), number, sender.clone());
            let is_done = self.is_group_done(number);
            handles.push(followers.spawn(async move {
                if !is_done {
                    reflecting.await;
                }
            }));
        }
        // `interval` would tick at once, after up to two milliseconds.
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_settled() {
            tokio::select! {
                received = events.recv() => match received {
                    Some((_, ReflectorEvent::Failed(error))) => return Err(error.into()),
                    Some((group, events)) => {
                        self.handle(group, events, observer).await;
                        // Objects that only have to exist need not be polled any more.
                        if self.groups[group].metadata_only && self.is_group_done(group) {
                            handles[group].abort();
                        }
                    }
                    None => return Ok(()),
                },
                _ = ticks.tick() => self.tick(observer).await?,
            }
        }
        Ok(())
    }

    async fn handle(&mut self, group: usize, events: ReflectorEvent, observer: Observer<'_>) {
        match events {
            ReflectorEvent::Updated(object) => self.update(group, object, observer).await,
            ReflectorEvent::Deleted(name) => self.remove(group, &name, observer),
            ReflectorEvent::Replaced(objects) => {
                let mut missing = self.groups[group].names.clone();
                for object in objects {
                    missing.remove(object.name());
                    self.update(group, Box::new(object), observer).await;
                }
                missing.iter().for_each(|name| self.remove(group, name, observer));
            }
            ReflectorEvent::Failed(_) => {}
        }
    }

    async fn update(&mut self, group: usize, object: Box<Object>, observer: Observer<'_>) {
        let Some(&position) = self.index.get(&(group, object.name().to_owned())) else { return };
        let readiness = self.compute_readiness(&object).await;
        let track = &mut self.tracks[position];
        track.is_listed = true;
        // A paused Deployment makes no progress; Helm does not wait for it either.
        track.is_skipped = self.waiter.options.wait_for != WaitFor::Deleted && is_paused(&object);
        track.object = is_workload(&track.id).then_some(object);
        self.set_readiness(position, readiness, observer);
    }

    fn remove(&mut self, group: usize, name: &str, observer: Observer<'_>) {
        let Some(&position) = self.index.get(&(group, name.to_owned())) else { return };
        let track = &mut self.tracks[position];
        let was_seen = track.is_listed && track.readiness.status != Status::Unknown;
        let first = !std::mem::replace(&mut track.is_listed, true);
        track.object = None;
        if was_seen {
            self.set_readiness(position, Readiness::not_found(), observer);
        } else if first {
            // An object that was never observed stays unknown; if waiting for its deletion, that is all there is to
            // report.
            self.report(position, observer);
        }
    }

    /// Computes the status of an object by the rules for the condition.
    async fn compute_readiness(&self, object: &Object) -> Readiness {
        if let Some(readiness) = self.waiter.own_readiness_blocking(object).await {
            return readiness;
        }
        let wait_for = self.waiter.options.wait_for;
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        match (wait_for, group, object.kind()) {
            (WaitFor::HookCompleted | WaitFor::ReadyWithJobs, "batch", "Job") => job_completion(object),
            (WaitFor::HookCompleted, "", "Pod") => pod_completion(object),
            // The failure detector checks the pods anyway, with limits of its own.
            (WaitFor::Ready | WaitFor::ReadyWithJobs, "apps", "StatefulSet" | "ReplicaSet")
                if self.failure_detector.is_none() =>
            {
                self.readiness_with_pods(object).await
            }
            _ => ready(object),
        }
    }

    /// kstatus' addition for the kinds whose own status does not show failing pods.
    async fn readiness_with_pods(&self, object: &Object) -> Readiness {
        let readiness = ready(object);
        if readiness.status != Status::InProgress {
            return readiness;
        }
        let Ok(pods) = diagnose::selected_pods(self.waiter.cluster, object).await else { return readiness };
        let failed = pods.iter().filter(|pod| has_failed(pod)).count();
        if failed == 0 {
            return readiness;
        }
        let detail = format!("{failed} pods have failed. {}", readiness.detail);
        Readiness::failed(format!("{failed} pods have failed"), detail)
    }

    /// Stores a status and reports it if it changed.
    fn set_readiness(&mut self, position: usize, readiness: Readiness, observer: Observer<'_>) {
        let track = &mut self.tracks[position];
        if track.readiness != readiness {
            track.readiness = readiness;
            self.report(position, observer);
        }
    }

    fn report(&self, position: usize, observer: Observer<'_>) {
        let counted = || self.tracks.iter().filter(|track| !track.is_skipped);
        let track = &self.tracks[position];
        observer(&Progress {
            id: &track.id,
            readiness: &track.readiness,
            pods: if self.is_done(track) { &[] } else { &track.pods },
            is_done: self.is_done(track),
            done: counted().filter(|track| self.is_done(track)).count(),
            total: counted().count(),
        });
    }

    fn is_done(&self, track: &TrackedObject) -> bool {
        track.is_done(self.waiter.options.wait_for)
    }

    fn is_group_done(&self, group: usize) -> bool {
        let mut index = self.index.range((group, String::new())..(group + 1, String::new()));
        index.all(|(_, position)| self.is_done(&self.tracks[*position]))
    }

    /// Whether nothing is left to wait for. Failed objects are not waited for, all others are.
    fn is_settled(&self) -> bool {
        let wait_for = self.waiter.options.wait_for;
        let failed =
            |track: &TrackedObject| wait_for != WaitFor::Deleted && track.readiness.status == Status::Failed;
        self.tracks.iter().all(|track| self.is_done(track) || failed(track))
            || (self.failure_detector.is_some()
                && self.tracks.iter().any(|track| failed(track) && is_permanent(wait_for, &track.id)))
    }

    /// Recomputes what depends on the clock.
    async fn tick(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        self.ticks = self.ticks.wrapping_add(1);
        for position in 0..self.tracks.len() {
            let unschedulable =
                self.tracks[position].object.as_deref().filter(|object| object.kind() == "Pod");
            if let Some(pod) = unschedulable.filter(|pod| readiness::is_unschedulable(pod)) {
                let readiness = self.compute_readiness(pod).await;
                self.set_readiness(position, readiness, observer);
            }
        }
        if self.ticks.is_multiple_of(TICKS_BETWEEN_CHECKS) && self.waiter.options.wait_for != WaitFor::Deleted
        {
            return self.check_failures(observer).await;
        }
        Ok(())
    }

    /// Checks for failures. The detector is not taken out of `self`: the timeout may cancel this in the middle, and
    /// whether there is a detector decides on the diagnoses afterwards.
    async fn check_failures(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let started = Instant::now();
        for _ in 0..self.tracks.len() {
            self.cursor = (self.cursor + 1) % self.tracks.len();
            let position = self.cursor;
            let Run { waiter, tracks, failure_detector: Some(failure_detector), .. } = self else {
                return Ok(());
            };
            let track = &mut tracks[position];
            let waits = !track.is_done(waiter.options.wait_for);
            let Some(object) = track.object.as_deref().filter(|_| waits) else { continue };
            let cluster = waiter.cluster;
            // Not being able to read the pods is not a failure of the workload.
            let Ok(pods) = diagnose::newest_pods(cluster, object).await else { continue };
            if let Some(diagnosis) = failure_detector.check_pods(cluster, &track.id, object, &pods).await {
                return Err(WaitError::FailedFast(Box::new(diagnosis)));
            }
            // The row of a pod shows its own status.
            let pods = match object.kind() {
                "Pod" => Vec::new(),
                _ => diagnose::pod_progress(cluster, &pods).await,
            };
            if track.pods != pods {
                track.pods = pods;
                self.report(position, observer);
            }
            if started.elapsed() > CHECK_BUDGET {
                break;
            }
        }
        Ok(())
    }

    /// The result of waiting.
    async fn result(&self, deadline: bool) -> Result<(), WaitError> {
        let missing: Vec<&TrackedObject> = self.tracks.iter().filter(|track| !self.is_done(track)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // When failing fast, other objects may just not have had the time; they are not part of the cause.
        let only_failed = self.failure_detector.is_some() && !deadline;
        let reported =
            || missing.iter().filter(|track| !only_failed || track.readiness.status == Status::Failed);
        let pending = reported()
            .map(|track| PendingObject { id: track.id.clone(), readiness: track.readiness.clone() })
            .collect();
        let error = WaitError::NotReady {
            wait_for: self.waiter.options.wait_for,
            pending,
            deadline,
            diagnoses: Vec::new(),
        };
        if self.failure_detector.is_none() || self.waiter.options.wait_for == WaitFor::Deleted {
            return Err(error);
        }
        let objects = reported().filter_map(|track| Some((&track.id, track.object.as_deref()?)));
        Err(error.with_diagnoses(diagnose::explain(self.waiter.cluster, objects).await))
    }
}

/// Whether kstatus considers a pod of a workload as permanently failed.
fn has_failed(pod: &Object) -> bool {
    let transient = readiness::is_unschedulable(pod)
        || pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil());
    !transient && ready(pod).status == Status::Failed
}

/// Whether a failure of this object is permanent; pods may still recover.
fn is_permanent(wait_for: WaitFor, id: &ObjectId) -> bool {
    wait_for == WaitFor::HookCompleted || !matches!(id.kind.as_str(), "Pod" | "StatefulSet" | "ReplicaSet")
}

fn is_paused(object: &Object) -> bool {
    object.kind() == "Deployment"
        && object.api_version().starts_with("apps/")
        && object.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true)
}

/// Whether a workload is to have no pods.
fn has_no_replicas(object: &Object) -> bool {
    matches!(object.kind(), "Deployment" | "StatefulSet" | "ReplicaSet")
        && object.api_version().starts_with("apps/")
        && object.int(&["spec", "replicas"]) == Some(0)
}

fn is_workload(id: &ObjectId) -> bool {
    matches!(
        id.kind.as_str(),
        "Pod" | "Job" | "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController"
    )
}

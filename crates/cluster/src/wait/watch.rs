//! WaitOptions by the rules of kstatus: every kind in every namespace is followed, and each change judged anew.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::diagnose::{self, FailureDetector};
use super::outcome::{PendingObject, Progress, WaitError, WaitFor};
use super::readiness::{self, Readiness, Status, job_completion, pod_completion, ready};
use super::reflector::{ReflectorEvent, WatchTarget, reflect};
use super::{Observer, Waiter, with_deadline};

/// How often the clock may change an answer.
const TICK: Duration = Duration::from_secs(1);
/// After how many ticks pods are looked at for the first time, and again.
const TICKS_BETWEEN_CHECKS: u32 = 3;
/// How long one look at the pods may take before the news are heard again.
const CHECK_BUDGET: Duration = Duration::from_secs(1);
/// How many news may wait to be judged.
const CHANNEL_CAPACITY: usize = 64;

/// Waits until the wait_for is reached for all objects.
pub(super) async fn wait(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run::new(waiter, ids);
    let ended = with_deadline(waiter.deadline(), run.run_until_settled(observer)).await;
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
    /// Whether the cluster was asked for the object.
    is_listed: bool,
    /// Whether the object turned out to be one that is not waited for.
    is_skipped: bool,
    /// The latest state, where it may have to be looked at again.
    object: Option<Box<Object>>,
}

impl TrackedObject {
    fn is_done(&self, wait_for: WaitFor) -> bool {
        self.is_skipped || wait_for.is_reached(self.readiness.status, self.is_listed)
    }
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    tracks: Vec<TrackedObject>,
    /// Where a track is, by its group and name.
    index: BTreeMap<(usize, String), usize>,
    groups: Vec<WatchTarget>,
    failure_detector: Option<FailureDetector>,
    /// The track that was examined last.
    cursor: usize,
    ticks: u32,
}

impl<'w, 'c> Run<'w, 'c> {
    fn new(waiter: &'w Waiter<'c>, ids: Vec<ObjectId>) -> Self {
        let wait_for = waiter.waiting.wait_for;
        let mut groups: Vec<WatchTarget> = Vec::new();
        let mut groups_by_key = BTreeMap::new();
        let mut index = BTreeMap::new();
        let mut tracks = Vec::with_capacity(ids.len());
        for id in ids {
            let key = (id.group.clone(), id.kind.clone(), id.namespace.clone());
            let group = *groups_by_key.entry(key).or_insert_with(|| {
                let metadata_only =
                    wait_for != WaitFor::HookCompleted && readiness::needs_metadata_only(&id.group, &id.kind);
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
            });
        }
        let failure_detector = waiter.waiting.fail_fast.map(FailureDetector::new);
        Run { waiter, tracks, index, groups, failure_detector, cursor: 0, ticks: 0 }
    }

    async fn run_until_settled(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let (sender, mut news) = mpsc::channel(CHANNEL_CAPACITY);
        // Ends with the set, and so when the waiting is dropped.
        let mut followers = JoinSet::new();
        let mut handles = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let task = reflect(self.waiter.cluster.clone(), group.clone(), number, sender.clone());
            handles.push(followers.spawn(task));
        }
        // The first tick of an interval that begins now would take up to two milliseconds.
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_settled() {
            tokio::select! {
                heard = news.recv() => match heard {
                    Some((_, ReflectorEvent::Failed(error))) => return Err(error.into()),
                    Some((group, news)) => {
                        self.handle(group, news, observer).await;
                        // What needs no more than to be there is not asked for over and over.
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

    async fn handle(&mut self, group: usize, news: ReflectorEvent, observer: Observer<'_>) {
        match news {
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
        track.is_skipped = self.waiter.waiting.wait_for != WaitFor::Deleted && is_paused(&object);
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
            // Something that was never seen stays unknown, but whoever waits for its end has what they want.
            self.report(position, observer);
        }
    }

    /// Judges an object by the rules for the wait_for.
    async fn compute_readiness(&self, object: &Object) -> Readiness {
        let wait_for = self.waiter.waiting.wait_for;
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        match (wait_for, group, object.kind()) {
            (WaitFor::HookCompleted | WaitFor::ReadyWithJobs, "batch", "Job") => job_completion(object),
            (WaitFor::HookCompleted, "", "Pod") => pod_completion(object),
            // Whoever examines the pods anyway does so with more limits.
            (WaitFor::Ready | WaitFor::ReadyWithJobs, "apps", "StatefulSet" | "ReplicaSet")
                if self.failure_detector.is_none() =>
            {
                self.readiness_with_pods(object).await
            }
            _ => ready(object),
        }
    }

    /// What kstatus adds for the kinds whose own status is silent about failing pods.
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
        let detail = format!("{failed} of its pods cannot run; {}", readiness.detail);
        Readiness::failed(format!("{failed} pods have failed"), detail)
    }

    /// Takes a judgement down and tells of it when it is new.
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
            is_done: self.is_done(track),
            done: counted().filter(|track| self.is_done(track)).count(),
            total: counted().count(),
        });
    }

    fn is_done(&self, track: &TrackedObject) -> bool {
        track.is_done(self.waiter.waiting.wait_for)
    }

    fn is_group_done(&self, group: usize) -> bool {
        let mut index = self.index.range((group, String::new())..(group + 1, String::new()));
        index.all(|(_, position)| self.is_done(&self.tracks[*position]))
    }

    /// Whether nothing is left to wait for: what has failed is not waited for, but all others are.
    fn is_settled(&self) -> bool {
        let wait_for = self.waiter.waiting.wait_for;
        let failed =
            |track: &TrackedObject| wait_for != WaitFor::Deleted && track.readiness.status == Status::Failed;
        self.tracks.iter().all(|track| self.is_done(track) || failed(track))
            || (self.failure_detector.is_some()
                && self.tracks.iter().any(|track| failed(track) && is_permanent(wait_for, &track.id)))
    }

    /// Does what only the passing of time calls for.
    async fn tick(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        self.ticks = self.ticks.wrapping_add(1);
        for position in 0..self.tracks.len() {
            let aging = self.tracks[position].object.as_deref().filter(|object| object.kind() == "Pod");
            if let Some(pod) = aging.filter(|pod| readiness::is_unschedulable(pod)) {
                let readiness = self.compute_readiness(pod).await;
                self.set_readiness(position, readiness, observer);
            }
        }
        if self.ticks.is_multiple_of(TICKS_BETWEEN_CHECKS) && self.waiter.waiting.wait_for != WaitFor::Deleted
        {
            return self.check_failures().await;
        }
        Ok(())
    }

    /// Looks for reasons to give up. The failure_detector stays where it is: time may run out in the middle of this, and
    /// whether there is one decides on what is said then.
    async fn check_failures(&mut self) -> Result<(), WaitError> {
        let Run { waiter, tracks, failure_detector: Some(failure_detector), cursor, .. } = self else {
            return Ok(());
        };
        let started = Instant::now();
        for _ in 0..tracks.len() {
            *cursor = (*cursor + 1) % tracks.len();
            let track = &tracks[*cursor];
            let waits = !track.is_done(waiter.waiting.wait_for);
            let Some(object) = track.object.as_deref().filter(|_| waits) else { continue };
            if let Some(diagnosis) = failure_detector.check(waiter.cluster, &track.id, object).await {
                return Err(WaitError::FailedFast(Box::new(diagnosis)));
            }
            if started.elapsed() > CHECK_BUDGET {
                break;
            }
        }
        Ok(())
    }

    /// Says how it ended.
    async fn result(&self, deadline: bool) -> Result<(), WaitError> {
        let missing: Vec<&TrackedObject> = self.tracks.iter().filter(|track| !self.is_done(track)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // With early failure, others may just not have had their time yet; they are no part of the reason.
        let only_failed = self.failure_detector.is_some() && !deadline;
        let reported =
            || missing.iter().filter(|track| !only_failed || track.readiness.status == Status::Failed);
        let pending = reported()
            .map(|track| PendingObject { id: track.id.clone(), readiness: track.readiness.clone() })
            .collect();
        let error = WaitError::NotReady {
            wait_for: self.waiter.waiting.wait_for,
            pending,
            deadline,
            diagnoses: Vec::new(),
        };
        if self.failure_detector.is_none() || self.waiter.waiting.wait_for == WaitFor::Deleted {
            return Err(error);
        }
        let objects = reported().filter_map(|track| Some((&track.id, track.object.as_deref()?)));
        Err(error.with_diagnoses(diagnose::explain(self.waiter.cluster, objects).await))
    }
}

/// Whether the rules of kstatus call a pod of a workload failed for good.
fn has_failed(pod: &Object) -> bool {
    let transient = readiness::is_unschedulable(pod)
        || pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil());
    !transient && ready(pod).status == Status::Failed
}

/// Whether a failure of this object is beyond repair; pods may still come around.
fn is_permanent(wait_for: WaitFor, id: &ObjectId) -> bool {
    wait_for == WaitFor::HookCompleted || !matches!(id.kind.as_str(), "Pod" | "StatefulSet" | "ReplicaSet")
}

fn is_paused(object: &Object) -> bool {
    object.kind() == "Deployment"
        && object.api_version().starts_with("apps/")
        && object.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true)
}

fn is_workload(id: &ObjectId) -> bool {
    matches!(
        id.kind.as_str(),
        "Pod" | "Job" | "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController"
    )
}

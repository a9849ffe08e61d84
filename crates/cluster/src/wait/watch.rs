//! Waiting by the rules of kstatus: every kind in every namespace is followed, and each change judged anew.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::diagnose::{self, Examiner};
use super::follow::{Group, News, follow};
use super::outcome::{Goal, Progress, Unready, WaitError};
use super::readiness::{self, Readiness, State, job_completion, pod_completion, ready};
use super::{Observer, Waiter, before};

/// How often the clock may change an answer.
const TICK: Duration = Duration::from_secs(1);
/// After how many ticks pods are looked at for the first time, and again.
const TICKS_BETWEEN_EXAMINATIONS: u32 = 3;
/// How long one look at the pods may take before the news are heard again.
const EXAMINATION: Duration = Duration::from_secs(1);
/// How many news may wait to be judged.
const BACKLOG: usize = 64;

/// Waits until the goal is reached for all objects.
pub(super) async fn wait(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run::new(waiter, ids);
    let ended = before(waiter.deadline(), run.until_settled(observer)).await;
    let deadline = match ended {
        Some(Err(error)) => return Err(error),
        Some(Ok(())) => false,
        None => true,
    };
    run.verdict(deadline).await
}

/// One object that is waited for.
struct Track {
    id: ObjectId,
    readiness: Readiness,
    /// Whether the cluster was asked for the object.
    is_listed: bool,
    /// Whether the object turned out to be one that is not waited for.
    is_excused: bool,
    /// The latest state, where it may have to be looked at again.
    object: Option<Box<Object>>,
}

impl Track {
    fn is_done(&self, goal: Goal) -> bool {
        self.is_excused || goal.is_reached(self.readiness.state, self.is_listed)
    }
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    tracks: Vec<Track>,
    /// Where a track is, by its group and name.
    places: BTreeMap<(usize, String), usize>,
    groups: Vec<Group>,
    examiner: Option<Examiner>,
    /// The track that was examined last.
    cursor: usize,
    ticks: u32,
}

impl<'w, 'c> Run<'w, 'c> {
    fn new(waiter: &'w Waiter<'c>, ids: Vec<ObjectId>) -> Self {
        let goal = waiter.waiting.goal;
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut places = BTreeMap::new();
        let mut tracks = Vec::with_capacity(ids.len());
        for id in ids {
            let key = (id.group.clone(), id.kind.clone(), id.namespace.clone());
            let group = *numbers.entry(key).or_insert_with(|| {
                let metadata_only =
                    goal != Goal::HookDone && readiness::needs_metadata_only(&id.group, &id.kind);
                groups.push(Group { metadata_only, ..Group::of(&id) });
                groups.len() - 1
            });
            groups[group].names.insert(id.name.clone());
            places.insert((group, id.name.clone()), tracks.len());
            tracks.push(Track {
                id,

                readiness: Readiness::unseen(),
                is_listed: false,
                is_excused: false,
                object: None,
            });
        }
        let examiner = waiter.waiting.early_failure.map(Examiner::new);
        Run { waiter, tracks, places, groups, examiner, cursor: 0, ticks: 0 }
    }

    async fn until_settled(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let (sender, mut news) = mpsc::channel(BACKLOG);
        // Ends with the set, and so when the waiting is dropped.
        let mut followers = JoinSet::new();
        let mut handles = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let task = follow(self.waiter.cluster.clone(), group.clone(), number, sender.clone());
            handles.push(followers.spawn(task));
        }
        // The first tick of an interval that begins now would take up to two milliseconds.
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_settled() {
            tokio::select! {
                heard = news.recv() => match heard {
                    Some((_, News::Broken(error))) => return Err(error.into()),
                    Some((group, news)) => {
                        self.hear(group, news, observer).await;
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

    async fn hear(&mut self, group: usize, news: News, observer: Observer<'_>) {
        match news {
            News::Seen(object) => self.see(group, object, observer).await,
            News::Gone(name) => self.lose(group, &name, observer),
            News::Listed(objects) => {
                let mut missing = self.groups[group].names.clone();
                for object in objects {
                    missing.remove(object.name());
                    self.see(group, Box::new(object), observer).await;
                }
                missing.iter().for_each(|name| self.lose(group, name, observer));
            }
            News::Broken(_) => {}
        }
    }

    async fn see(&mut self, group: usize, object: Box<Object>, observer: Observer<'_>) {
        let Some(&place) = self.places.get(&(group, object.name().to_owned())) else { return };
        let readiness = self.judge(&object).await;
        let track = &mut self.tracks[place];
        track.is_listed = true;
        track.is_excused = self.waiter.waiting.goal != Goal::Deleted && is_paused(&object);
        track.object = is_worth_keeping(&track.id).then_some(object);
        self.note(place, readiness, observer);
    }

    fn lose(&mut self, group: usize, name: &str, observer: Observer<'_>) {
        let Some(&place) = self.places.get(&(group, name.to_owned())) else { return };
        let track = &mut self.tracks[place];
        let was_seen = track.is_listed && track.readiness.state != State::Unknown;
        let first = !std::mem::replace(&mut track.is_listed, true);
        track.object = None;
        if was_seen {
            self.note(place, Readiness::gone(), observer);
        } else if first {
            // Something that was never seen stays unknown, but whoever waits for its end has what they want.
            self.tell(place, observer);
        }
    }

    /// Judges an object by the rules for the goal.
    async fn judge(&self, object: &Object) -> Readiness {
        let goal = self.waiter.waiting.goal;
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
        match (goal, group, object.kind()) {
            (Goal::HookDone | Goal::ReadyWithJobs, "batch", "Job") => job_completion(object),
            (Goal::HookDone, "", "Pod") => pod_completion(object),
            // Whoever examines the pods anyway does so with more limits.
            (Goal::Ready | Goal::ReadyWithJobs, "apps", "StatefulSet" | "ReplicaSet")
                if self.examiner.is_none() =>
            {
                self.judge_with_pods(object).await
            }
            _ => ready(object),
        }
    }

    /// What kstatus adds for the kinds whose own status is silent about failing pods.
    async fn judge_with_pods(&self, object: &Object) -> Readiness {
        let readiness = ready(object);
        if readiness.state != State::InProgress {
            return readiness;
        }
        let Ok(pods) = diagnose::selected_pods(self.waiter.cluster, object).await else { return readiness };
        let failed = pods.iter().filter(|pod| has_failed(pod)).count();
        if failed == 0 {
            return readiness;
        }
        let sentence = format!("{failed} of its pods cannot run; {}", readiness.sentence);
        Readiness::failed(format!("{failed} pods have failed"), sentence)
    }

    /// Takes a judgement down and tells of it when it is new.
    fn note(&mut self, place: usize, readiness: Readiness, observer: Observer<'_>) {
        let track = &mut self.tracks[place];
        if track.readiness != readiness {
            track.readiness = readiness;
            self.tell(place, observer);
        }
    }

    fn tell(&self, place: usize, observer: Observer<'_>) {
        let counted = || self.tracks.iter().filter(|track| !track.is_excused);
        let track = &self.tracks[place];
        observer(&Progress {
            id: &track.id,
            readiness: &track.readiness,
            is_done: self.is_done(track),
            done: counted().filter(|track| self.is_done(track)).count(),
            total: counted().count(),
        });
    }

    fn is_done(&self, track: &Track) -> bool {
        track.is_done(self.waiter.waiting.goal)
    }

    fn is_group_done(&self, group: usize) -> bool {
        let mut places = self.places.range((group, String::new())..(group + 1, String::new()));
        places.all(|(_, place)| self.is_done(&self.tracks[*place]))
    }

    /// Whether nothing is left to wait for: what has failed is not waited for, but all others are.
    fn is_settled(&self) -> bool {
        let goal = self.waiter.waiting.goal;
        let failed = |track: &Track| goal != Goal::Deleted && track.readiness.state == State::Failed;
        self.tracks.iter().all(|track| self.is_done(track) || failed(track))
            || (self.examiner.is_some()
                && self.tracks.iter().any(|track| failed(track) && is_final(goal, &track.id)))
    }

    /// Does what only the passing of time calls for.
    async fn tick(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        self.ticks = self.ticks.wrapping_add(1);
        for place in 0..self.tracks.len() {
            let aging = self.tracks[place].object.as_deref().filter(|object| object.kind() == "Pod");
            if let Some(pod) = aging.filter(|pod| readiness::is_unschedulable(pod)) {
                let readiness = self.judge(pod).await;
                self.note(place, readiness, observer);
            }
        }
        if self.ticks.is_multiple_of(TICKS_BETWEEN_EXAMINATIONS) && self.waiter.waiting.goal != Goal::Deleted
        {
            return self.examine().await;
        }
        Ok(())
    }

    /// Looks for reasons to give up. The examiner stays where it is: time may run out in the middle of this, and
    /// whether there is one decides on what is said then.
    async fn examine(&mut self) -> Result<(), WaitError> {
        let Run { waiter, tracks, examiner: Some(examiner), cursor, .. } = self else { return Ok(()) };
        let started = Instant::now();
        for _ in 0..tracks.len() {
            *cursor = (*cursor + 1) % tracks.len();
            let track = &tracks[*cursor];
            let waits = !track.is_done(waiter.waiting.goal);
            let Some(object) = track.object.as_deref().filter(|_| waits) else { continue };
            if let Some(diagnosis) = examiner.examine(waiter.cluster, &track.id, object).await {
                return Err(WaitError::Hopeless(Box::new(diagnosis)));
            }
            if started.elapsed() > EXAMINATION {
                break;
            }
        }
        Ok(())
    }

    /// Says how it ended.
    async fn verdict(&self, deadline: bool) -> Result<(), WaitError> {
        let missing: Vec<&Track> = self.tracks.iter().filter(|track| !self.is_done(track)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // With early failure, others may just not have had their time yet; they are no part of the reason.
        let only_failed = self.examiner.is_some() && !deadline;
        let told = || missing.iter().filter(|track| !only_failed || track.readiness.state == State::Failed);
        let unready = told()
            .map(|track| Unready { id: track.id.clone(), readiness: track.readiness.clone() })
            .collect();
        let error =
            WaitError::Unreached { goal: self.waiter.waiting.goal, unready, deadline, diagnoses: Vec::new() };
        if self.examiner.is_none() || self.waiter.waiting.goal == Goal::Deleted {
            return Err(error);
        }
        let suspects = told().filter_map(|track| Some((&track.id, track.object.as_deref()?)));
        Err(error.with_diagnoses(diagnose::explain(self.waiter.cluster, suspects).await))
    }
}

/// Whether the rules of kstatus call a pod of a workload failed for good.
fn has_failed(pod: &Object) -> bool {
    let transient = readiness::is_unschedulable(pod)
        || pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil());
    !transient && ready(pod).state == State::Failed
}

/// Whether a failure of this object is beyond repair; pods may still come around.
fn is_final(goal: Goal, id: &ObjectId) -> bool {
    goal == Goal::HookDone || !matches!(id.kind.as_str(), "Pod" | "StatefulSet" | "ReplicaSet")
}

fn is_paused(object: &Object) -> bool {
    object.kind() == "Deployment"
        && object.api_version().starts_with("apps/")
        && object.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true)
}

fn is_worth_keeping(id: &ObjectId) -> bool {
    matches!(
        id.kind.as_str(),
        "Pod" | "Job" | "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController"
    )
}

//! Waits for hooks: which kinds run to completion, and the rules of Helm 3 for them.

use std::collections::BTreeMap;
use std::time::Duration;

use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::diagnose::{self, FailureDetector};
use super::legacy;
use super::outcome::{Progress, WaitError};
use super::readiness::{Readiness, job_completion, pod_completion};
use super::reflector::{ReflectorEvent, WatchTarget, reflect};
use super::{Observer, Waiter, with_deadline};

/// The message of apimachinery's `wait.ErrWaitTimeout`.
pub(super) const TIMED_OUT: &str = "timed out waiting for the condition";
/// How often pods are checked for failures.
const CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// Whether a hook of this kind runs to completion. Others are done once they exist.
pub(super) fn runs_to_completion(id: &ObjectId) -> bool {
    matches!((id.group.as_str(), id.kind.as_str()), ("batch", "Job") | ("", "Pod"))
}

/// Waits for hooks as Helm 3 does: a deleted hook counts as done, and errors name only the hook.
pub(super) async fn wait_legacy(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run {
        waiter,
        total: ids.len(),
        pending: ids.into_iter().enumerate().collect(),
        latest: BTreeMap::new(),
        failures: Vec::new(),
        failure_detector: waiter.options.fail_fast.map(FailureDetector::new),
    };
    match with_deadline(waiter.deadline(), run.until_done(observer)).await {
        Some(result) => result?,
        // One message for each hook: Helm's `perform` joins the errors of all of them.
        None => run.failures.extend(run.pending.values().map(|_| TIMED_OUT.to_owned())),
    }
    if run.failures.is_empty() {
        return Ok(());
    }
    let error = WaitError::legacy(run.failures.join("\n"));
    if run.failure_detector.is_none() {
        return Err(error);
    }
    let objects = run.latest.values().map(|(id, object)| (id, object));
    Err(error.with_diagnoses(diagnose::explain(waiter.cluster, objects).await))
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    total: usize,
    /// The hooks that have not completed, by index.
    pending: BTreeMap<usize, ObjectId>,
    /// The latest state of the hooks that have not succeeded.
    latest: BTreeMap<usize, (ObjectId, Object)>,
    /// Helm's messages for the failed hooks.
    failures: Vec<String>,
    failure_detector: Option<FailureDetector>,
}

impl Run<'_, '_> {
    async fn until_done(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let (sender, mut events) = mpsc::channel(16);
        let mut followers = JoinSet::new();
        for (number, id) in &self.pending {
            let group = WatchTarget { names: [id.name.clone()].into(), ..WatchTarget::for_object(id) };
            followers.spawn(reflect(self.waiter.cluster.clone(), group, *number, sender.clone()));
        }
        // `interval` would tick at once, after up to two milliseconds.
        let mut ticks =
            tokio::time::interval_at(tokio::time::Instant::now() + CHECK_INTERVAL, CHECK_INTERVAL);
        while !self.pending.is_empty() {
            tokio::select! {
                received = events.recv() => match received {
                    Some((_, ReflectorEvent::Failed(error))) => return Err(error.into()),
                    Some((number, events)) => self.handle(number, events, observer),
                    None => return Ok(()),
                },
                _ = ticks.tick() => self.check_failures().await?,
            }
        }
        Ok(())
    }

    fn handle(&mut self, number: usize, events: ReflectorEvent, observer: Observer<'_>) {
        let object = match events {
            ReflectorEvent::Updated(object) => Some(*object),
            ReflectorEvent::Replaced(mut objects) => objects.pop(),
            ReflectorEvent::Deleted(_) | ReflectorEvent::Failed(_) => None,
        };
        let Some(id) = self.pending.get(&number).cloned() else { return };
        let (readiness, done) = match &object {
            Some(object) => (completion(object), legacy::hook_done(object)),
            None if self.latest.contains_key(&number) => (Readiness::not_found(), Ok(true)),
            // It does not exist yet.
            None => return,
        };
        if done != Ok(false) {
            self.pending.remove(&number);
        }
        let is_done = done == Ok(true);
        match done {
            Ok(true) => drop(self.latest.remove(&number)),
            Ok(false) => self.latest.extend(object.map(|object| (number, (id.clone(), object)))),
            Err(text) => {
                self.latest.extend(object.map(|object| (number, (id.clone(), object))));
                self.failures.push(text);
            }
        }
        let done = self.total - self.pending.len() - self.failures.len();
        observer(&Progress { id: &id, readiness: &readiness, pods: &[], is_done, done, total: self.total });
    }

    async fn check_failures(&mut self) -> Result<(), WaitError> {
        let Some(failure_detector) = &mut self.failure_detector else { return Ok(()) };
        for (number, (id, object)) in &self.latest {
            if !self.pending.contains_key(number) {
                continue;
            }
            if let Some(diagnosis) = failure_detector.check(self.waiter.cluster, id, object).await {
                return Err(WaitError::FailedFast(Box::new(diagnosis)));
            }
        }
        Ok(())
    }
}

fn completion(object: &Object) -> Readiness {
    if object.kind() == "Job" { job_completion(object) } else { pod_completion(object) }
}

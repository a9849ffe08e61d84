//! Waiting for hooks: which kinds run to an end, and the rules of Helm 3 for them.

use std::collections::BTreeMap;
use std::time::Duration;

use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::diagnose::{self, Examiner};
use super::follow::{Group, News, follow};
use super::legacy;
use super::outcome::{Progress, WaitError};
use super::readiness::{Readiness, job_completion, pod_completion};
use super::{Observer, Waiter, before};

/// What Go's watch helpers say when time is up.
pub(super) const TIMED_OUT: &str = "timed out waiting for the condition";
/// How often pods are looked at for reasons to give up.
const EXAMINATION: Duration = Duration::from_secs(3);

/// Whether a hook of this kind is something that runs and ends; all others are done once they are there.
pub(super) fn runs_to_an_end(id: &ObjectId) -> bool {
    matches!((id.group.as_str(), id.kind.as_str()), ("batch", "Job") | ("", "Pod"))
}

/// Waits for hooks as Helm 3 does: a hook that vanishes counts as done, and errors name the hook alone.
pub(super) async fn wait_legacy(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let total = ids.len();
    let mut pending: BTreeMap<usize, ObjectId> = ids.into_iter().enumerate().collect();
    let mut latest = BTreeMap::new();
    let mut failures = Vec::new();
    let ended = before(
        waiter.deadline(),
        follow_all(waiter, &mut pending, &mut latest, &mut failures, total, observer),
    );
    if let Some(result) = ended.await {
        result?;
    } else {
        failures.extend(pending.values().map(|_| TIMED_OUT.to_owned()));
    }
    if failures.is_empty() {
        return Ok(());
    }
    let error = WaitError::legacy(failures.join("\n"));
    if waiter.waiting.early_failure.is_none() {
        return Err(error);
    }
    let suspects = latest.values().map(|(id, object)| (id, object));
    Err(error.with_diagnoses(diagnose::explain(waiter.cluster, suspects).await))
}

async fn follow_all(
    waiter: &Waiter<'_>,
    pending: &mut BTreeMap<usize, ObjectId>,
    latest: &mut BTreeMap<usize, (ObjectId, Object)>,
    failures: &mut Vec<String>,
    total: usize,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let (sender, mut news) = mpsc::channel(16);
    let mut followers = JoinSet::new();
    for (number, id) in pending.iter() {
        let group = Group { names: [id.name.clone()].into(), ..Group::of(id) };
        followers.spawn(follow(waiter.cluster.clone(), group, *number, sender.clone()));
    }
    let mut examiner = waiter.waiting.early_failure.map(Examiner::new);
    let mut ticks = tokio::time::interval(EXAMINATION);
    ticks.tick().await;
    while !pending.is_empty() {
        let (number, object) = tokio::select! {
            heard = news.recv() => match heard {
                Some((_, News::Broken(error))) => return Err(error.into()),
                Some((number, News::Seen(object))) => (number, Some(*object)),
                Some((number, News::Gone(_))) => (number, None),
                Some((number, News::Listed(mut objects))) => match objects.pop() {
                    Some(object) => (number, Some(object)),
                    // Nothing was there yet, or what was there went between two looks.
                    None if latest.contains_key(&number) => (number, None),
                    None => continue,
                },
                None => return Ok(()),
            },
            _ = ticks.tick() => {
                examine(waiter, examiner.as_mut(), latest).await?;
                continue;
            }
        };
        let Some(id) = pending.get(&number).cloned() else { continue };
        let (readiness, done) = match &object {
            None => (Readiness::gone(), Ok(true)),
            Some(object) => (completion(object), legacy::hook_done(object)),
        };
        if done != Ok(false) {
            pending.remove(&number);
        }
        observer(&Progress {
            id: &id,
            readiness: &readiness,
            is_done: done == Ok(true),
            done: total - pending.len() - failures.len() - usize::from(done.is_err()),
            total,
        });
        if let Some(object) = object {
            latest.insert(number, (id, object));
        }
        match done {
            Ok(true) => drop(latest.remove(&number)),
            Ok(false) => {}
            Err(text) => failures.push(text),
        }
    }
    Ok(())
}

async fn examine(
    waiter: &Waiter<'_>,
    examiner: Option<&mut Examiner>,
    latest: &BTreeMap<usize, (ObjectId, Object)>,
) -> Result<(), WaitError> {
    let Some(examiner) = examiner else { return Ok(()) };
    for (id, object) in latest.values() {
        if let Some(diagnosis) = examiner.examine(waiter.cluster, id, object).await {
            return Err(WaitError::Hopeless(Box::new(diagnosis)));
        }
    }
    Ok(())
}

fn completion(object: &Object) -> Readiness {
    if object.kind() == "Job" { job_completion(object) } else { pod_completion(object) }
}

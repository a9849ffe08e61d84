//! Jobs: pods that end, tried again until enough have succeeded or too many have failed.

use std::collections::BTreeSet;
use std::time::Duration;

use pintle_tree::Node;

use super::engine::{Look, Wake};
use super::hand::{JOBS, PODS};
use super::scale::{again, make_pod};
use super::status::{count, set_condition, set_count};
use super::template::{condition, is_active, ready_since, time};
use crate::api::meta::{at, is_deleted, list_at, number_at, set, text_at};
use crate::status::Status;

const SOURCE: &str = "job-controller";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// How a job ended.
enum End {
    Complete(&'static str, &'static str),
    Failed(&'static str, &'static str),
}

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    if has_ended(&look.object) {
        return clean_up(look).await;
    }
    let suspended = at(&look.object, &["spec", "suspend"]).and_then(Node::as_bool) == Some(true);
    let pods = look.owned("pods");
    if suspended {
        return suspend(look, &pods).await;
    }
    let active: Vec<&Node> = pods.iter().filter(|pod| is_active(pod)).collect();
    let phase = |word: &'static str| count(&pods, |pod| text_at(pod, &["status", "phase"]) == word);
    let (succeeded, failed) = (phase("Succeeded"), phase("Failed"));
    let restarts: i64 = active.iter().map(|pod| restarts(pod)).sum();
    let end = end(look, succeeded, failed + restarts);
    if let Some(end) = &end {
        for pod in &active {
            look.hand.delete(PODS, pod, false).await?;
        }
        return finish(look, end, succeeded, failed + i64::try_from(active.len()).unwrap_or(0)).await;
    }
    let later = grow(look, &pods, active.len(), succeeded).await?;
    tell_numbers(look).await?;
    Ok(earlier(later, deadline(look).and_then(Wake::at)))
}

fn restarts(pod: &Node) -> i64 {
    let statuses = list_at(pod, &["status", "containerStatuses"]);
    statuses.iter().map(|status| number_at(status, &["restartCount"]).unwrap_or(0)).sum()
}

fn earlier(one: Option<Wake>, other: Option<Wake>) -> Option<Wake> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.at <= other.at { one } else { other }),
        (one, other) => one.or(other),
    }
}

fn has_ended(job: &Node) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|kind| condition(job, kind).is_some_and(|it| text_at(it, &["status"]) == "True"))
}

fn deadline(look: &Look<'_>) -> Option<Duration> {
    let seconds = number_at(&look.object, &["spec", "activeDeadlineSeconds"])?;
    let start = time(look.text(&["status", "startTime"])).unwrap_or(look.now);
    Some(start + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn end(look: &Look<'_>, succeeded: i64, failures: i64) -> Option<End> {
    let limit = number_at(&look.object, &["spec", "backoffLimit"]).unwrap_or(6);
    let wanted = number_at(&look.object, &["spec", "completions"]);
    if failures > limit {
        return Some(End::Failed("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    if deadline(look).is_some_and(|due| look.now >= due) {
        return Some(End::Failed("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    if wanted.is_some_and(|wanted| succeeded >= wanted) || (wanted.is_none() && succeeded > 0) {
        let message = "Reached expected number of succeeded pods";
        return Some(End::Complete("CompletionsReached", message));
    }
    None
}

/// Makes pods, as many as may run at a time.
async fn grow(look: &Look<'_>, pods: &[Node], active: usize, succeeded: i64) -> Result<Option<Wake>, Status> {
    let parallel = number_at(&look.object, &["spec", "parallelism"]).unwrap_or(1).max(0);
    let left =
        number_at(&look.object, &["spec", "completions"]).map_or(parallel, |wanted| wanted - succeeded);
    let wanted = usize::try_from(parallel.min(left)).unwrap_or(0);
    let indexed = look.text(&["spec", "completionMode"]) == "Indexed";
    let taken: BTreeSet<i64> = pods
        .iter()
        .filter(|pod| text_at(pod, &["status", "phase"]) != "Failed" && !is_deleted(pod))
        .filter_map(|pod| text_at(pod, &["metadata", "annotations", INDEX]).parse().ok())
        .collect();
    let mut free = (0..).filter(|index| !taken.contains(index));
    for _ in active..wanted {
        let index = free.next().unwrap_or(0);
        let name = if indexed { format!("{}-{index}-", look.name()) } else { format!("{}-", look.name()) };
        let adjust = |pod: &mut Node| {
            if indexed {
                set(pod, &["metadata", "annotations", INDEX], index.to_string());
                set(pod, &["metadata", "labels", INDEX], index.to_string());
            }
        };
        if make_pod(look, SOURCE, &name, adjust).await?.is_err() {
            return Ok(again(look));
        }
    }
    Ok(None)
}

async fn tell_numbers(look: &Look<'_>) -> Result<(), Status> {
    let pods = look.owned("pods");
    let now = look.hand.api.now();
    let act = |job: &mut Node| {
        if text_at(job, &["status", "startTime"]).is_empty() {
            set(job, &["status", "startTime"], now.as_str());
        }
        set_count(job, "active", count(&pods, is_active));
        set_count(job, "succeeded", count(&pods, |pod| text_at(pod, &["status", "phase"]) == "Succeeded"));
        set_count(job, "failed", count(&pods, |pod| text_at(pod, &["status", "phase"]) == "Failed"));
        set(job, &["status", "ready"], Node::Int(count(&pods, |pod| ready_since(pod).is_some())));
        set(job, &["status", "terminating"], Node::Int(count(&pods, is_deleted)));
        set(job, &["status", "uncountedTerminatedPods"], Node::empty_map());
        super::status::drop_condition(job, "Suspended");
    };
    look.hand.edit(look.key, act).await
}

async fn finish(look: &Look<'_>, end: &End, succeeded: i64, failed: i64) -> Result<Option<Wake>, Status> {
    let now = look.hand.api.now();
    let act = |job: &mut Node| {
        set_count(job, "active", 0);
        set_count(job, "succeeded", succeeded);
        set_count(job, "failed", failed);
        set(job, &["status", "ready"], Node::Int(0));
        set(job, &["status", "terminating"], Node::Int(0));
        set(job, &["status", "uncountedTerminatedPods"], Node::empty_map());
        if text_at(job, &["status", "startTime"]).is_empty() {
            set(job, &["status", "startTime"], now.as_str());
        }
        match end {
            End::Complete(reason, message) => {
                set_condition(job, ("SuccessCriteriaMet", true, reason, message), &now);
                set_condition(job, ("Complete", true, reason, message), &now);
                set(job, &["status", "completionTime"], now.as_str());
            }
            End::Failed(reason, message) => {
                set_condition(job, ("FailureTarget", true, reason, message), &now);
                set_condition(job, ("Failed", true, reason, message), &now);
            }
        }
    };
    look.hand.edit(look.key, act).await?;
    let (kind, text) = match end {
        End::Complete(..) => (("Normal", "Completed"), "Job completed"),
        End::Failed(reason, message) => (("Warning", *reason), *message),
    };
    look.hand.tell(&look.object, SOURCE, kind, text).await?;
    Ok(None)
}

async fn suspend(look: &Look<'_>, pods: &[Node]) -> Result<Option<Wake>, Status> {
    for pod in pods.iter().filter(|pod| is_active(pod)) {
        look.hand.delete(PODS, pod, false).await?;
    }
    let now = look.hand.api.now();
    look.hand
        .edit(look.key, |job| set_condition(job, ("Suspended", true, "JobSuspended", "Job suspended"), &now))
        .await?;
    Ok(None)
}

/// How long a job that has ended stays at least. The real controller takes a moment, too, in which whoever waits for the
/// job sees that it has ended.
const LINGERS: Duration = Duration::from_secs(3);

/// A job that has ended may ask to be deleted after a while.
async fn clean_up(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    let Some(seconds) = number_at(&look.object, &["spec", "ttlSecondsAfterFinished"]) else {
        return Ok(None);
    };
    let ended = ["Complete", "Failed"].iter().find_map(|kind| condition(&look.object, kind));
    let ended = ended.and_then(|it| time(text_at(it, &["lastTransitionTime"]))).unwrap_or(look.now);
    let due = ended + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).max(LINGERS);
    if look.now < due {
        return Ok(Wake::some_day(due));
    }
    look.hand.delete(JOBS, &look.object, false).await?;
    Ok(None)
}

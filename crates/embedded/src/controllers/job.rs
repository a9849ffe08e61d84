//! The Job controller: creates pods until enough have succeeded, or more than `backoffLimit` have failed.

use std::collections::BTreeSet;
use std::time::Duration;

use pintle_tree::Node;

use super::client::{JOBS, PODS};
use super::reconcile::{Request, Requeue};
use super::scale::{backoff, create_pod};
use super::status::{count, set_condition, set_count};
use super::template::{condition, is_active, ready_since, time};
use crate::api::meta::{at, is_deleted, list_at, number_at, set, text_at};
use crate::status::Status;

const SOURCE: &str = "job-controller";
/// The annotation and label with the index of a pod of an Indexed job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

enum End {
    Complete(&'static str, &'static str),
    Failed(&'static str, &'static str),
}

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if is_finished(&request.object) {
        return delete_after_ttl(request).await;
    }
    let suspended = at(&request.object, &["spec", "suspend"]).and_then(Node::as_bool) == Some(true);
    let pods = request.owned("pods");
    if suspended {
        return suspend(request, &pods).await;
    }
    let active: Vec<&Node> = pods.iter().filter(|pod| is_active(pod)).collect();
    let phase = |word: &'static str| count(&pods, |pod| text_at(pod, &["status", "phase"]) == word);
    let (succeeded, failed) = (phase("Succeeded"), phase("Failed"));
    // Pods with `restartPolicy: OnFailure` fail by restarting, which counts towards `backoffLimit`.
    let restarts: i64 = active.iter().map(|pod| restarts(pod)).sum();
    let end = end(request, succeeded, failed + restarts);
    if let Some(end) = &end {
        for pod in &active {
            request.client.delete(PODS, pod, false).await?;
        }
        // The active pods that were deleted count as failed.
        return finish(request, end, succeeded, failed + i64::try_from(active.len()).unwrap_or(0)).await;
    }
    let later = create_pods(request, &pods, active.len(), succeeded).await?;
    update_counts(request).await?;
    Ok(earliest(later, deadline(request).and_then(Requeue::at)))
}

fn restarts(pod: &Node) -> i64 {
    let statuses = list_at(pod, &["status", "containerStatuses"]);
    statuses.iter().map(|status| number_at(status, &["restartCount"]).unwrap_or(0)).sum()
}

fn earliest(one: Option<Requeue>, other: Option<Requeue>) -> Option<Requeue> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.at <= other.at { one } else { other }),
        (one, other) => one.or(other),
    }
}

fn is_finished(job: &Node) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|kind| condition(job, kind).is_some_and(|it| text_at(it, &["status"]) == "True"))
}

fn deadline(request: &Request<'_>) -> Option<Duration> {
    let seconds = number_at(&request.object, &["spec", "activeDeadlineSeconds"])?;
    let start = time(request.text(&["status", "startTime"])).unwrap_or(request.now);
    Some(start + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn end(request: &Request<'_>, succeeded: i64, failures: i64) -> Option<End> {
    // Failures before success: a job that exceeds its limit and reaches its completions at the same time has failed.
    let limit = number_at(&request.object, &["spec", "backoffLimit"]).unwrap_or(6);
    let desired = number_at(&request.object, &["spec", "completions"]);
    if failures > limit {
        return Some(End::Failed("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    if deadline(request).is_some_and(|due| request.now >= due) {
        return Some(End::Failed("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    // Without `completions` a single success completes the job.
    if desired.is_some_and(|desired| succeeded >= desired) || (desired.is_none() && succeeded > 0) {
        let message = "Reached expected number of succeeded pods";
        return Some(End::Complete("CompletionsReached", message));
    }
    None
}

/// Creates pods up to `parallelism`.
async fn create_pods(
    request: &Request<'_>,
    pods: &[Node],
    active: usize,
    succeeded: i64,
) -> Result<Option<Requeue>, Status> {
    let parallel = number_at(&request.object, &["spec", "parallelism"]).unwrap_or(1).max(0);
    let left =
        number_at(&request.object, &["spec", "completions"]).map_or(parallel, |desired| desired - succeeded);
    let desired = usize::try_from(parallel.min(left)).unwrap_or(0);
    let indexed = request.text(&["spec", "completionMode"]) == "Indexed";
    let taken: BTreeSet<i64> = pods
        .iter()
        .filter(|pod| text_at(pod, &["status", "phase"]) != "Failed" && !is_deleted(pod))
        .filter_map(|pod| text_at(pod, &["metadata", "annotations", INDEX]).parse().ok())
        .collect();
    // The lowest free index first, as the real controller does; a failed index becomes free again.
    let mut free = (0..).filter(|index| !taken.contains(index));
    for _ in active..desired {
        let index = free.next().unwrap_or(0);
        let name =
            if indexed { format!("{}-{index}-", request.name()) } else { format!("{}-", request.name()) };
        let adjust = |pod: &mut Node| {
            if indexed {
                set(pod, &["metadata", "annotations", INDEX], index.to_string());
                set(pod, &["metadata", "labels", INDEX], index.to_string());
            }
        };
        if create_pod(request, SOURCE, &name, adjust).await?.is_err() {
            return Ok(backoff(request));
        }
    }
    Ok(None)
}

async fn update_counts(request: &Request<'_>) -> Result<(), Status> {
    let pods = request.owned("pods");
    let now = request.client.api.timestamp();
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
        super::status::remove_condition(job, "Suspended");
    };
    request.client.update(request.key, act).await
}

async fn finish(
    request: &Request<'_>,
    end: &End,
    succeeded: i64,
    failed: i64,
) -> Result<Option<Requeue>, Status> {
    let now = request.client.api.timestamp();
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
    request.client.update(request.key, act).await?;
    let (kind, text) = match end {
        End::Complete(..) => (("Normal", "Completed"), "Job completed"),
        End::Failed(reason, message) => (("Warning", *reason), *message),
    };
    request.client.record_event(&request.object, SOURCE, kind, text).await?;
    Ok(None)
}

async fn suspend(request: &Request<'_>, pods: &[Node]) -> Result<Option<Requeue>, Status> {
    for pod in pods.iter().filter(|pod| is_active(pod)) {
        request.client.delete(PODS, pod, false).await?;
    }
    let now = request.client.api.timestamp();
    request
        .client
        .update(request.key, |job| {
            set_condition(job, ("Suspended", true, "JobSuspended", "Job suspended"), &now)
        })
        .await?;
    Ok(None)
}

/// How long a finished job is kept at least. The real TTL controller also takes a moment, in which clients that wait
/// for the job see that it has finished; with `ttlSecondsAfterFinished: 0` they would otherwise only see it gone.
const MIN_TTL: Duration = Duration::from_secs(3);

/// Deletes a finished job after its `ttlSecondsAfterFinished`.
async fn delete_after_ttl(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let Some(seconds) = number_at(&request.object, &["spec", "ttlSecondsAfterFinished"]) else {
        return Ok(None);
    };
    let ended = ["Complete", "Failed"].iter().find_map(|kind| condition(&request.object, kind));
    let ended = ended.and_then(|it| time(text_at(it, &["lastTransitionTime"]))).unwrap_or(request.now);
    let due = ended + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).max(MIN_TTL);
    if request.now < due {
        return Ok(Requeue::at_without_advancing(due));
    }
    request.client.delete(JOBS, &request.object, false).await?;
    Ok(None)
}

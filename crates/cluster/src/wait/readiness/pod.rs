//! Pods: ready, completed, crash-looping and unschedulable ones.

use pintle_objects::Object;
use pintle_tree::Node;

use super::generic::because;
use super::{Condition, Malformed, Readiness, Status, conditions};
use crate::wait::time::unix_seconds;

/// How long a pod may be unschedulable before it counts as failed, in seconds; kstatus' `scheduleWindow`.
const SCHEDULE_WINDOW: i64 = 15;

pub(super) fn readiness(object: &Object, now: i64) -> Result<Readiness, Malformed> {
    let conditions = conditions(object)?;
    Ok(match object.text(&["status", "phase"]) {
        "Succeeded" => Readiness::verbatim(Status::Current, "Pod has completed successfully"),
        "Failed" => {
            let why = object.text(&["status", "message"]);
            let detail = because("Pod has completed, but not successfully", why);
            // `Current` even though it failed: kstatus counts a pod that will not change any more as reconciled.
            Readiness::current("Pod has completed, but not successfully", detail)
        }
        "Running" if conditions.iter().any(|condition| condition.is_true("Ready")) => {
            Readiness::verbatim(Status::Current, "Pod is Ready")
        }
        "Running" => running(object),
        "Pending" => pending(object, &conditions, now),
        "" => Readiness::verbatim(Status::InProgress, "Pod phase not available"),
        _ => return Err(Malformed("phase")),
    })
}

fn running(object: &Object) -> Readiness {
    let crashing = crash_looping(object);
    if crashing.is_empty() {
        return Readiness::verbatim(Status::InProgress, "Pod is running but is not Ready");
    }
    let detail = format!("Containers in CrashLoop state: {}", crashing.join(", "));
    Readiness::failed(format!("Containers in CrashLoop state: {}", crashing.join(",")), detail)
}

fn pending(object: &Object, conditions: &[Condition<'_>], now: i64) -> Readiness {
    let unscheduled =
        conditions.iter().find(|condition| condition.kind == "PodScheduled" && condition.status == "False");
    match unscheduled.filter(|condition| condition.reason == "Unschedulable") {
        None => Readiness::in_progress(
            "Pod is in the Pending phase",
            because("Pod is pending", &waiting_for(object)),
        ),
        Some(condition) => {
            let detail = because("Pod is unschedulable", condition.message);
            // kstatus counts from the creation, since conditions do not say when scheduling was first tried.
            let created = unix_seconds(object.text(&["metadata", "creationTimestamp"])).unwrap_or(0);
            if now.saturating_sub(SCHEDULE_WINDOW) < created {
                Readiness::in_progress("Pod has not been scheduled", detail)
            } else {
                Readiness::failed("Pod could not be scheduled", detail)
            }
        }
    }
}

/// The reason of the first waiting container of a pending pod.
fn waiting_for(object: &Object) -> String {
    let statuses = object.at(&["status", "containerStatuses"]).and_then(Node::as_list).unwrap_or_default();
    let reason =
        |status: &Node| status.get("state")?.get("waiting")?.get("reason")?.as_str().map(str::to_owned);
    statuses.iter().find_map(reason).unwrap_or_default()
}

/// The containers of a pod in `CrashLoopBackOff`.
fn crash_looping(object: &Object) -> Vec<&str> {
    let statuses = object.at(&["status", "containerStatuses"]).and_then(Node::as_list).unwrap_or_default();
    let crashing = |status: &&Node| {
        let reason = status.get("state").and_then(|state| state.get("waiting")?.get("reason")?.as_str());
        reason == Some("CrashLoopBackOff")
    };
    statuses.iter().filter(crashing).filter_map(|status| status.get("name")?.as_str()).collect()
}

/// Whether the scheduler has found no node for the pod.
pub(crate) fn is_unschedulable(object: &Object) -> bool {
    conditions(object).is_ok_and(|conditions| {
        conditions.iter().any(|condition| {
            condition.kind == "PodScheduled"
                && condition.status == "False"
                && condition.reason == "Unschedulable"
        })
    })
}

/// Whether a hook's pod has completed.
pub(crate) fn completion(object: &Object) -> Readiness {
    let name = object.name();
    match object.text(&["status", "phase"]) {
        "Succeeded" => Readiness::current(format!("pod {name} succeeded"), "Pod has completed successfully"),
        "Failed" => Readiness::failed(
            format!("pod {name} failed"),
            because("Pod failed", object.text(&["status", "message"])),
        ),
        "" | "Pending" => {
            Readiness::in_progress("Pod in progress", because("Pod is pending", &waiting_for(object)))
        }
        _ => Readiness::in_progress("Pod in progress", "Pod is running"),
    }
}

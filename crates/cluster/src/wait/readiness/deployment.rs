//! Deployments: all replicas updated and available, and the conditions of the controller.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, Status, conditions, pending_termination, rollout};

/// The `progressDeadlineSeconds` that means "no deadline" to the controller.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    let deadline = object.int(&["spec", "progressDeadlineSeconds"]).unwrap_or(NO_DEADLINE);
    // Without a deadline the controller sets no `Progressing` condition, so it is not required.
    let mut progressing = deadline == NO_DEADLINE;
    let mut available = false;
    let mut refused = "";
    for condition in conditions(object)? {
        match condition.kind {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                let statement = format!("Progress deadline of {deadline}s exceeded");
                let detail = because(&statement, condition.message);
                return Ok(Readiness::failed("Progress deadline exceeded", detail));
            }
            "Progressing" => {
                progressing |=
                    condition.is_true("Progressing") && condition.reason == "NewReplicaSetAvailable";
            }
            "Available" => available |= condition.is_true("Available"),
            "ReplicaFailure" if condition.is_true("ReplicaFailure") => refused = condition.why(),
            _ => {}
        }
    }
    Ok(by_replicas(object, refused).unwrap_or_else(|| by_conditions(object, progressing, available)))
}

/// What is missing by replica counts. `refused` is the reason why pods cannot be created, if there is one.
fn by_replicas(object: &Object, refused: &str) -> Option<Readiness> {
    let status = |field| object.int(&["status", field]).unwrap_or(0);
    let desired = object.int(&["spec", "replicas"]).unwrap_or(1);
    let replicas = status("replicas");
    let updated = status("updatedReplicas");
    let available = status("availableReplicas");
    let ready = status("readyReplicas");
    let answer =
        |message: String, detail: String| Some(Readiness::in_progress(message, because(&detail, refused)));
    if desired > replicas {
        answer(format!("Replicas: {replicas}/{desired}"), rollout(replicas, desired, "replicas", "created"))
    } else if desired > updated {
        answer(format!("Updated: {updated}/{desired}"), rollout(updated, desired, "replicas", "updated"))
    } else if replicas > desired {
        let surplus = replicas.saturating_sub(desired);
        answer(format!("Pending termination: {surplus}"), pending_termination(surplus))
    } else if updated > available {
        let detail = rollout(available, updated, "updated replicas", "available");
        answer(format!("Available: {available}/{updated}"), detail)
    } else if desired > ready {
        answer(format!("Ready: {ready}/{desired}"), rollout(ready, desired, "replicas", "ready"))
    } else {
        None
    }
}

fn by_conditions(object: &Object, progressing: bool, available: bool) -> Readiness {
    if !progressing {
        return Readiness::in_progress(
            "ReplicaSet not Available",
            "Waiting for rollout: new ReplicaSet is not available",
        );
    }
    if !available {
        let detail = "Deployment is not available";
        return Readiness::in_progress("Deployment not Available", detail);
    }
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    Readiness::verbatim(Status::Current, format!("Deployment is available. Replicas: {replicas}"))
}

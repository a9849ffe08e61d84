//! ReplicaSets: all replicas labelled, available and ready.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, Status, conditions, pending_termination, rollout};

pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    if let Some(failure) = conditions(object)?.iter().find(|condition| condition.is_true("ReplicaFailure")) {
        let detail = because("Pods cannot be created", failure.why());
        return Ok(Readiness::in_progress("Replica Failure condition. Check Pods", detail));
    }
    Ok(by_replicas(object))
}

fn by_replicas(object: &Object) -> Readiness {
    let desired = object.int(&["spec", "replicas"]).unwrap_or(1);
    let steps = [
        ("Labelled", "fullyLabeledReplicas", "fully labelled"),
        ("Available", "availableReplicas", "available"),
        ("Ready", "readyReplicas", "ready"),
    ];
    for (word, field, what) in steps {
        let have = object.int(&["status", field]).unwrap_or(0);
        if desired > have {
            return Readiness::in_progress(
                format!("{word}: {have}/{desired}"),
                rollout(have, desired, "replicas", what),
            );
        }
    }
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    if replicas > desired {
        let surplus = replicas.saturating_sub(desired);
        return Readiness::in_progress(
            format!("Pending termination: {surplus}"),
            pending_termination(surplus),
        );
    }
    Readiness::verbatim(Status::Current, format!("ReplicaSet is available. Replicas: {replicas}"))
}

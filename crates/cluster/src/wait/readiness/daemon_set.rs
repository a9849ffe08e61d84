//! DaemonSets: an updated and available pod on every node that should have one.

use pintle_objects::Object;

use super::generic::generations;
use super::{Malformed, Readiness, Status, rollout};

pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    let kind = object.kind();
    // The controller always sets these; without them it has not reconciled the object yet.
    let unseen = "Waiting for the DaemonSet controller";
    match generations(object)? {
        (None, _) => {
            return Ok(Readiness::in_progress(format!("{kind} metadata.generation not found"), unseen));
        }
        (_, None) => {
            return Ok(Readiness::in_progress(format!("{kind} status.observedGeneration not found"), unseen));
        }
        _ => {}
    }
    // kstatus treats -1 as "not set".
    let desired = object.int(&["status", "desiredNumberScheduled"]).filter(|desired| *desired != -1);
    let Some(desired) = desired else {
        return Ok(Readiness::in_progress("Missing .status.desiredNumberScheduled", unseen));
    };
    Ok(by_numbers(object, desired))
}

fn by_numbers(object: &Object, desired: i64) -> Readiness {
    let steps = [
        ("Current", "currentNumberScheduled", "scheduled"),
        ("Updated", "updatedNumberScheduled", "updated"),
        ("Available", "numberAvailable", "available"),
        ("Ready", "numberReady", "ready"),
    ];
    for (word, field, what) in steps {
        let have = object.int(&["status", field]).unwrap_or(0);
        if desired > have {
            return Readiness::in_progress(
                format!("{word}: {have}/{desired}"),
                rollout(have, desired, "pods", what),
            );
        }
    }
    Readiness::verbatim(Status::Current, format!("All replicas scheduled as expected. Replicas: {desired}"))
}

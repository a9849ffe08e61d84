//! StatefulSets: replicas, partitions and revisions; the controller sets no conditions.

use pintle_objects::Object;

use super::{Readiness, Status, pending_termination, rollout};

pub(super) fn readiness(object: &Object) -> Readiness {
    // Nothing is updated until someone deletes the pods, which may be never.
    if object.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Readiness::verbatim(Status::Current, "StatefulSet is using the ondelete update strategy");
    }
    let desired = object.int(&["spec", "replicas"]).unwrap_or(1);
    by_replicas(object, desired)
        .or_else(|| by_partition(object, desired))
        .unwrap_or_else(|| by_revision(object, desired))
}

fn by_replicas(object: &Object, desired: i64) -> Option<Readiness> {
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    let ready = object.int(&["status", "readyReplicas"]).unwrap_or(0);
    if desired > replicas {
        let detail = rollout(replicas, desired, "replicas", "created");
        return Some(Readiness::in_progress(format!("Replicas: {replicas}/{desired}"), detail));
    }
    if desired > ready {
        let detail = rollout(ready, desired, "replicas", "ready");
        return Some(Readiness::in_progress(format!("Ready: {ready}/{desired}"), detail));
    }
    let surplus = replicas.saturating_sub(desired);
    (surplus > 0).then(|| {
        Readiness::in_progress(format!("Pending termination: {surplus}"), pending_termination(surplus))
    })
}

/// With a partition, only the replicas above it are updated and waited for.
fn by_partition(object: &Object, desired: i64) -> Option<Readiness> {
    // kstatus treats -1 as "no partition".
    let partition = object
        .int(&["spec", "updateStrategy", "rollingUpdate", "partition"])
        .filter(|partition| *partition != -1)?;
    let updated = object.int(&["status", "updatedReplicas"]).unwrap_or(0);
    let due = desired.saturating_sub(partition);
    Some(if updated < due {
        Readiness::in_progress(
            format!("updated: {updated}/{due}"),
            rollout(updated, due, "replicas above the partition", "updated"),
        )
    } else {
        Readiness::verbatim(Status::Current, format!("Partition rollout complete. updated: {updated}"))
    })
}

fn by_revision(object: &Object, desired: i64) -> Readiness {
    let current = object.int(&["status", "currentReplicas"]).unwrap_or(0);
    if desired > current {
        let detail = rollout(current, desired, "replicas", "at the current revision");
        return Readiness::in_progress(format!("current: {current}/{desired}"), detail);
    }
    if object.text(&["status", "currentRevision"]) != object.text(&["status", "updateRevision"]) {
        return Readiness::verbatim(Status::InProgress, "Waiting for updated revision to match current");
    }
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    Readiness::verbatim(Status::Current, format!("All replicas scheduled as expected. Replicas: {replicas}"))
}

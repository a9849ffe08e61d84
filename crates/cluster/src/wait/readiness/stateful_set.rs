//! StatefulSets: replicas, partitions and revisions; the controller sets no conditions.

use pintle_objects::Object;

use super::{Readiness, Status, pending_termination, rollout};

pub(super) fn readiness(object: &Object) -> Readiness {
    if object.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Readiness::verbatim(Status::Current, "StatefulSet is using the ondelete update strategy");
    }
    let wanted = object.int(&["spec", "replicas"]).unwrap_or(1);
    by_replicas(object, wanted)
        .or_else(|| by_partition(object, wanted))
        .unwrap_or_else(|| by_revision(object, wanted))
}

fn by_replicas(object: &Object, wanted: i64) -> Option<Readiness> {
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    let ready = object.int(&["status", "readyReplicas"]).unwrap_or(0);
    if wanted > replicas {
        let detail = rollout(replicas, wanted, "replicas", "created");
        return Some(Readiness::in_progress(format!("Replicas: {replicas}/{wanted}"), detail));
    }
    if wanted > ready {
        let detail = rollout(ready, wanted, "replicas", "ready");
        return Some(Readiness::in_progress(format!("Ready: {ready}/{wanted}"), detail));
    }
    let surplus = replicas.saturating_sub(wanted);
    (surplus > 0).then(|| {
        Readiness::in_progress(format!("Pending termination: {surplus}"), pending_termination(surplus))
    })
}

/// With a partition, only the replicas above it are updated and waited for.
fn by_partition(object: &Object, wanted: i64) -> Option<Readiness> {
    // kstatus treats -1 as "no partition".
    let partition = object
        .int(&["spec", "updateStrategy", "rollingUpdate", "partition"])
        .filter(|partition| *partition != -1)?;
    let updated = object.int(&["status", "updatedReplicas"]).unwrap_or(0);
    let due = wanted.saturating_sub(partition);
    Some(if updated < due {
        Readiness::in_progress(
            format!("updated: {updated}/{due}"),
            rollout(updated, due, "replicas above the partition", "updated"),
        )
    } else {
        Readiness::verbatim(Status::Current, format!("Partition rollout complete. updated: {updated}"))
    })
}

fn by_revision(object: &Object, wanted: i64) -> Readiness {
    let current = object.int(&["status", "currentReplicas"]).unwrap_or(0);
    if wanted > current {
        let detail = rollout(current, wanted, "replicas", "at the current revision");
        return Readiness::in_progress(format!("current: {current}/{wanted}"), detail);
    }
    if object.text(&["status", "currentRevision"]) != object.text(&["status", "updateRevision"]) {
        return Readiness::verbatim(Status::InProgress, "Waiting for updated revision to match current");
    }
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    Readiness::verbatim(Status::Current, format!("All replicas scheduled as expected. Replicas: {replicas}"))
}

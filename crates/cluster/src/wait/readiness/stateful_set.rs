//! StatefulSets: replicas, partitions and revisions; the controller sets no conditions.

use pintle_objects::Object;

use super::{Readiness, counted, share};

pub(super) fn readiness(object: &Object) -> Readiness {
    if object.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Readiness::current(
            "StatefulSet is using the ondelete update strategy",
            "its pods change only when somebody deletes them",
        );
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
        let detail = share(replicas, wanted, "replica", "created");
        return Some(Readiness::in_progress(format!("Replicas: {replicas}/{wanted}"), detail));
    }
    if wanted > ready {
        let detail = share(ready, wanted, "replica", "ready");
        return Some(Readiness::in_progress(format!("Ready: {ready}/{wanted}"), detail));
    }
    let surplus = replicas.saturating_sub(wanted);
    (surplus > 0).then(|| {
        Readiness::in_progress(
            format!("Pending termination: {surplus}"),
            format!("{} still to end", counted(surplus, "surplus replica")),
        )
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
            share(updated, due, "replica", "updated beyond the partition"),
        )
    } else {
        Readiness::current(
            format!("Partition rollout complete. updated: {updated}"),
            format!("{} beyond the partition", counted(updated, "updated replica")),
        )
    })
}

fn by_revision(object: &Object, wanted: i64) -> Readiness {
    let current = object.int(&["status", "currentReplicas"]).unwrap_or(0);
    if wanted > current {
        let detail = share(current, wanted, "replica", "of the current revision");
        return Readiness::in_progress(format!("current: {current}/{wanted}"), detail);
    }
    if object.text(&["status", "currentRevision"]) != object.text(&["status", "updateRevision"]) {
        return Readiness::in_progress(
            "Waiting for updated revision to match current",
            "its replicas are not all of the latest revision yet",
        );
    }
    let replicas = object.int(&["status", "replicas"]).unwrap_or(0);
    Readiness::current(
        format!("All replicas scheduled as expected. Replicas: {replicas}"),
        share(replicas, replicas, "replica", "ready"),
    )
}

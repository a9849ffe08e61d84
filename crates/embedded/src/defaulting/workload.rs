//! Defaults of workloads.

use pintle_tree::{Map, Node};

use super::pod::template;
use crate::fields::{for_each_map, map_mut, map_of, map_or_insert, set_default, str_of};

pub(super) fn apps(kind: &str, minor: u16, map: &mut Map<Node>) {
    // `spec.templateGeneration` of extensions/v1beta1 survives as an annotation.
    if kind == "DaemonSet"
        && let Some(annotations) =
            map_or_insert(map, "metadata").and_then(|metadata| map_or_insert(metadata, "annotations"))
    {
        set_default(annotations, "deprecated.daemonset.template.generation", "0");
    }
    let Some(spec) = map_mut(map, "spec") else { return };
    template(spec, "template");
    match kind {
        "Deployment" => deployment(spec),
        "StatefulSet" => stateful_set(spec, minor),
        "DaemonSet" => daemon_set(spec),
        "ReplicaSet" => set_default(spec, "replicas", 1_i64),
        _ => {}
    }
}

fn deployment(spec: &mut Map<Node>) {
    set_default(spec, "replicas", 1_i64);
    set_default(spec, "revisionHistoryLimit", 10_i64);
    set_default(spec, "progressDeadlineSeconds", 600_i64);
    let Some(strategy) = map_or_insert(spec, "strategy") else { return };
    set_default(strategy, "type", "RollingUpdate");
    if str_of(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = map_or_insert(strategy, "rollingUpdate")
    {
        set_default(rolling, "maxUnavailable", "25%");
        set_default(rolling, "maxSurge", "25%");
    }
}

fn stateful_set(spec: &mut Map<Node>, minor: u16) {
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "replicas", 1_i64);
    set_default(spec, "revisionHistoryLimit", 10_i64);
    if let Some(strategy) = map_or_insert(spec, "updateStrategy") {
        // `rollingUpdate` is only added with a defaulted type: an explicit `RollingUpdate` without it stays as it is.
        if str_of(strategy, "type").is_empty() {
            strategy.insert("type".into(), "RollingUpdate".into());
            set_default(strategy, "rollingUpdate", Node::empty_map());
        }
        if str_of(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = map_mut(strategy, "rollingUpdate")
        {
            set_default(rolling, "partition", 0_i64);
            // Since 1.37 the feature gate `MaxUnavailableStatefulSet` is on.
            if minor >= 37 {
                set_default(rolling, "maxUnavailable", 1_i64);
            }
        }
    }
    if let Some(policy) = map_or_insert(spec, "persistentVolumeClaimRetentionPolicy") {
        set_default(policy, "whenDeleted", "Retain");
        set_default(policy, "whenScaled", "Retain");
    }
    for_each_map(spec, "volumeClaimTemplates", |claim| {
        set_default(claim, "apiVersion", "v1");
        set_default(claim, "kind", "PersistentVolumeClaim");
        super::other::claim(claim);
    });
}

fn daemon_set(spec: &mut Map<Node>) {
    set_default(spec, "revisionHistoryLimit", 10_i64);
    let Some(strategy) = map_or_insert(spec, "updateStrategy") else { return };
    set_default(strategy, "type", "RollingUpdate");
    if str_of(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = map_or_insert(strategy, "rollingUpdate")
    {
        set_default(rolling, "maxUnavailable", 1_i64);
        set_default(rolling, "maxSurge", 0_i64);
    }
}

/// A ReplicationController, whose labels and selector default to those of its template.
pub(super) fn replication_controller(map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    template(spec, "template");
    set_default(spec, "replicas", 1_i64);
    let labels = labels_of(spec);
    if let Some(labels) = labels {
        set_default(spec, "selector", labels.clone());
        if let Some(metadata) = map_or_insert(map, "metadata") {
            set_default(metadata, "labels", labels);
        }
    }
}

fn labels_of(spec: &Map<Node>) -> Option<Node> {
    let labels = spec.get("template")?.get("metadata")?.get("labels")?;
    labels.as_map().filter(|labels| !labels.is_empty()).map(|_| labels.clone())
}

pub(super) fn job(map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    template(spec, "template");
    let absent = |spec: &Map<Node>, key: &str| spec.get(key).is_none_or(Node::is_nil);
    // With neither the job runs one pod; with `parallelism` alone it is a work queue.
    if absent(spec, "completions") && absent(spec, "parallelism") {
        set_default(spec, "completions", 1_i64);
    }
    set_default(spec, "parallelism", 1_i64);
    set_default(
        spec,
        "backoffLimit",
        // With a limit per index, the total is effectively unlimited.
        if absent(spec, "backoffLimitPerIndex") { 6 } else { i64::from(i32::MAX) },
    );
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    let replacement = if absent(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set_default(spec, "podReplacementPolicy", replacement);
    let labels = labels_of(spec);
    if let (Some(labels), Some(metadata)) = (labels, map_or_insert(map, "metadata")) {
        set_default(metadata, "labels", labels);
    }
}

/// A CronJob. The jobs that it creates are defaulted when they are created.
pub(super) fn cron_job(map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3_i64);
    set_default(spec, "failedJobsHistoryLimit", 1_i64);
    if let Some(job) = map_mut(spec, "jobTemplate").and_then(|template| map_mut(template, "spec")) {
        template(job, "template");
    }
}

/// The scaling policies of a HorizontalPodAutoscaler, which has them only if it sets `behavior`.
pub(super) fn behavior(behavior: &mut Map<Node>) {
    let policy = |kind: &str, value: i64| {
        map_of(&[("type", kind.into()), ("value", value.into()), ("periodSeconds", 15_i64.into())])
    };
    if let Some(up) = map_or_insert(behavior, "scaleUp") {
        set_default(up, "stabilizationWindowSeconds", 0_i64);
        set_default(up, "selectPolicy", "Max");
        set_default(up, "policies", Node::List(vec![policy("Pods", 4), policy("Percent", 100)]));
    }
    if let Some(down) = map_or_insert(behavior, "scaleDown") {
        set_default(down, "selectPolicy", "Max");
        set_default(down, "policies", Node::List(vec![policy("Percent", 100)]));
    }
}

//! Defaults of workloads.

use pintle_tree::{Map, Node};

use super::pod::template;
use crate::fields::{each, inner, made, map_of, put, word};

pub(super) fn apps(kind: &str, map: &mut Map<Node>) {
    // `spec.templateGeneration` of extensions/v1beta1 survives as an annotation.
    if kind == "DaemonSet"
        && let Some(annotations) = made(map, "metadata").and_then(|metadata| made(metadata, "annotations"))
    {
        put(annotations, "deprecated.daemonset.template.generation", "0");
    }
    let Some(spec) = inner(map, "spec") else { return };
    template(spec, "template");
    match kind {
        "Deployment" => deployment(spec),
        "StatefulSet" => stateful_set(spec),
        "DaemonSet" => daemon_set(spec),
        "ReplicaSet" => put(spec, "replicas", 1_i64),
        _ => {}
    }
}

fn deployment(spec: &mut Map<Node>) {
    put(spec, "replicas", 1_i64);
    put(spec, "revisionHistoryLimit", 10_i64);
    put(spec, "progressDeadlineSeconds", 600_i64);
    let Some(strategy) = made(spec, "strategy") else { return };
    put(strategy, "type", "RollingUpdate");
    if word(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        put(rolling, "maxUnavailable", "25%");
        put(rolling, "maxSurge", "25%");
    }
}

fn stateful_set(spec: &mut Map<Node>) {
    put(spec, "podManagementPolicy", "OrderedReady");
    put(spec, "replicas", 1_i64);
    put(spec, "revisionHistoryLimit", 10_i64);
    if let Some(strategy) = made(spec, "updateStrategy") {
        if word(strategy, "type").is_empty() {
            strategy.insert("type".into(), "RollingUpdate".into());
            put(strategy, "rollingUpdate", Node::empty_map());
        }
        if word(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = inner(strategy, "rollingUpdate")
        {
            put(rolling, "partition", 0_i64);
        }
    }
    if let Some(policy) = made(spec, "persistentVolumeClaimRetentionPolicy") {
        put(policy, "whenDeleted", "Retain");
        put(policy, "whenScaled", "Retain");
    }
    each(spec, "volumeClaimTemplates", |claim| {
        put(claim, "apiVersion", "v1");
        put(claim, "kind", "PersistentVolumeClaim");
        super::other::claim(claim);
    });
}

fn daemon_set(spec: &mut Map<Node>) {
    put(spec, "revisionHistoryLimit", 10_i64);
    let Some(strategy) = made(spec, "updateStrategy") else { return };
    put(strategy, "type", "RollingUpdate");
    if word(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        put(rolling, "maxUnavailable", 1_i64);
        put(rolling, "maxSurge", 0_i64);
    }
}

/// A ReplicationController, whose labels and selector default to those of its template.
pub(super) fn replication_controller(map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    template(spec, "template");
    put(spec, "replicas", 1_i64);
    let labels = labels_of(spec);
    if let Some(labels) = labels {
        put(spec, "selector", labels.clone());
        if let Some(metadata) = made(map, "metadata") {
            put(metadata, "labels", labels);
        }
    }
}

fn labels_of(spec: &Map<Node>) -> Option<Node> {
    let labels = spec.get("template")?.get("metadata")?.get("labels")?;
    labels.as_map().filter(|labels| !labels.is_empty()).map(|_| labels.clone())
}

pub(super) fn job(map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    template(spec, "template");
    let absent = |spec: &Map<Node>, key: &str| spec.get(key).is_none_or(Node::is_nil);
    if absent(spec, "completions") && absent(spec, "parallelism") {
        put(spec, "completions", 1_i64);
    }
    put(spec, "parallelism", 1_i64);
    put(spec, "backoffLimit", if absent(spec, "backoffLimitPerIndex") { 6 } else { i64::from(i32::MAX) });
    put(spec, "completionMode", "NonIndexed");
    put(spec, "suspend", false);
    put(spec, "manualSelector", false);
    let replacement = if absent(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    put(spec, "podReplacementPolicy", replacement);
    let labels = labels_of(spec);
    if let (Some(labels), Some(metadata)) = (labels, made(map, "metadata")) {
        put(metadata, "labels", labels);
    }
}

/// A CronJob. The jobs that it creates are defaulted when they are created.
pub(super) fn cron_job(map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    put(spec, "concurrencyPolicy", "Allow");
    put(spec, "suspend", false);
    put(spec, "successfulJobsHistoryLimit", 3_i64);
    put(spec, "failedJobsHistoryLimit", 1_i64);
    if let Some(job) = inner(spec, "jobTemplate").and_then(|template| inner(template, "spec")) {
        template(job, "template");
    }
}

/// The scaling policies of a HorizontalPodAutoscaler, which has them only if it sets `behavior`.
pub(super) fn behavior(behavior: &mut Map<Node>) {
    let policy = |kind: &str, value: i64| {
        map_of(&[("type", kind.into()), ("value", value.into()), ("periodSeconds", 15_i64.into())])
    };
    if let Some(up) = made(behavior, "scaleUp") {
        put(up, "stabilizationWindowSeconds", 0_i64);
        put(up, "selectPolicy", "Max");
        put(up, "policies", Node::List(vec![policy("Pods", 4), policy("Percent", 100)]));
    }
    if let Some(down) = made(behavior, "scaleDown") {
        put(down, "selectPolicy", "Max");
        put(down, "policies", Node::List(vec![policy("Percent", 100)]));
    }
}

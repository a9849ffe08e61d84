//! Conversion between the served versions of a kind and the storage version.
//!
//! Of the built-in kinds only Events and HorizontalPodAutoscalers have versions whose fields differ. Custom resources
//! change their `apiVersion` only, as with the conversion strategy `None`.

use pintle_tree::Node;

use super::meta::{at, list_at, map, set, text_at, unset};
use crate::schema::Resource;

/// Fields of Events that are named differently in `v1` and in `events.k8s.io/v1`.
const EVENT_FIELDS: [(&str, &str); 6] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];
/// The same, where `v1` has the longer name.
const EVENT_REPORTERS: [(&str, &str); 2] =
    [("reportingComponent", "reportingController"), ("reportingInstance", "reportingInstance")];

/// Converts an object from the storage version to the version of `resource`.
pub(super) fn from_storage(object: &mut Node, resource: &Resource) {
    if resource.group == "events.k8s.io" {
        rename(object, EVENT_FIELDS.iter().chain(&EVENT_REPORTERS).copied());
        for field in ["reportingController", "reportingInstance"] {
            if text_at(object, &[field]).is_empty() {
                unset(object, &[field]);
            }
        }
    }
    if resource.group == "autoscaling" && resource.version == "v1" {
        autoscaler_to_v1(object);
    }
    set(object, &["apiVersion"], resource.api_version());
    set(object, &["kind"], resource.kind.clone());
}

/// Converts an object from the version of `resource` to the storage version.
pub(super) fn to_storage(object: &mut Node, resource: &Resource, version: &pintle_tree::Str) {
    if resource.group == "events.k8s.io" {
        rename(object, EVENT_FIELDS.iter().chain(&EVENT_REPORTERS).map(|(core, own)| (*own, *core)));
    }
    if resource.group == "autoscaling" && resource.version == "v1" {
        autoscaler_to_v2(object);
    }
    set(object, &["apiVersion"], version.clone());
}

fn rename<'f>(object: &mut Node, fields: impl Iterator<Item = (&'f str, &'f str)>) {
    for (from, to) in fields.filter(|(from, to)| from != to) {
        if let Some(value) = unset(object, &[from]) {
            set(object, &[to], value);
        }
    }
}

/// `targetCPUUtilizationPercentage` of `autoscaling/v1` is one of the metrics of `v2`.
fn autoscaler_to_v1(object: &mut Node) {
    let is_processor = |metric: &&Node| {
        text_at(metric, &["resource", "name"]) == "cpu"
            && text_at(metric, &["resource", "target", "type"]) == "Utilization"
    };
    let metrics = list_at(object, &["spec", "metrics"]);
    let target = metrics.iter().find(is_processor);
    let target = target.and_then(|metric| at(metric, &["resource", "target", "averageUtilization"])).cloned();
    if let Some(target) = target {
        set(object, &["spec", "targetCPUUtilizationPercentage"], target);
    }
    // The real server keeps what `v1` cannot express in annotations; here it is not shown.
    unset(object, &["spec", "metrics"]);
    unset(object, &["status", "currentMetrics"]);
    unset(object, &["status", "conditions"]);
}

fn autoscaler_to_v2(object: &mut Node) {
    let Some(target) = unset(object, &["spec", "targetCPUUtilizationPercentage"]) else { return };
    let mut metric = map([("type", "Resource".into())]);
    set(&mut metric, &["resource", "name"], "cpu");
    set(&mut metric, &["resource", "target", "type"], "Utilization");
    set(&mut metric, &["resource", "target", "averageUtilization"], target);
    set(object, &["spec", "metrics"], vec![metric]);
}

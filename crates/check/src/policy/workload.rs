//! Rules for workloads.

use pintle_tree::Node;

use super::{Pod, number, selects, text};
use crate::document::get;
use crate::scope::Scope;

pub(super) fn check(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    let (object, kind) = (pod.object, pod.object.name.kind.as_str());
    selector(scope, pod);
    let replicas = object.get(&["spec", "replicas"]).and_then(number);
    if kind == "Deployment" && replicas.is_some_and(|replicas| replicas < 3) {
        let message = format!("the Deployment has {} replicas", replicas.unwrap_or_default());
        scope.add("minimum-replicas", object, "/spec/replicas", message);
    }
    if matches!(kind, "Deployment" | "StatefulSet") && replicas.is_some_and(|replicas| replicas > 1) {
        let anti = get(pod.spec, &["affinity", "podAntiAffinity"]).is_some_and(|it| !it.is_nil());
        let spread = pod.spec.get("topologySpreadConstraints").and_then(Node::as_list);
        if !anti && spread.unwrap_or_default().is_empty() {
            let message = "the replicas may all run on one node".to_owned();
            scope.add("no-anti-affinity", object, &pod.pointer, message);
        }
    }
    let strategy = object.get(&["spec", "strategy"]).map(|strategy| text(strategy, &["type"]));
    if kind == "Deployment" && strategy.is_some_and(|strategy| !matches!(strategy, "" | "RollingUpdate")) {
        let message = format!("the strategy is {}", strategy.unwrap_or_default());
        scope.add("no-rolling-update-strategy", object, "/spec/strategy", message);
    }
    let is_hook = object.annotation("helm.sh/hook").is_some();
    if kind == "Job" && !is_hook && object.get(&["spec", "ttlSecondsAfterFinished"]).is_none() {
        let message = "the Job has no ttlSecondsAfterFinished".to_owned();
        scope.add("job-ttl-seconds-after-finished", object, "/spec", message);
    }
}

fn selector(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    let kind = pod.object.name.kind.as_str();
    if !matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Rollout") {
        return;
    }
    let Some(labels) = pod.object.get(&["spec", "selector", "matchLabels"]) else { return };
    if labels.as_map().is_some_and(|labels| !labels.is_empty()) && !selects(labels, pod.labels()) {
        let missing = labels.as_map().into_iter().flat_map(|labels| labels.iter());
        let missing: Vec<String> = missing
            .filter(|(key, value)| pod.labels().and_then(|labels| labels.get(key)) != Some(value))
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("?")))
            .collect();
        let message = format!("the pods do not have the labels {}", missing.join(", "));
        scope.add("mismatching-selector", pod.object, "/spec/selector/matchLabels", message);
    }
}

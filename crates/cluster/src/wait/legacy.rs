//! The readiness rules of Helm 3, which `--wait=legacy` uses: fewer kinds, other thresholds, and no explanation.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use super::readiness::conditions;
use super::selector::is_controlled_by;

/// The label that the Deployment controller adds to distinguish ReplicaSets.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Whether a pod is ready.
pub(crate) fn pod_ready(pod: &Object) -> bool {
    conditions(pod).is_ok_and(|conditions| conditions.iter().any(|condition| condition.is_true("Ready")))
}

/// Whether a job has completed. The error is Helm's message for a failed one.
pub(crate) fn job_ready(job: &Object) -> Result<bool, String> {
    let failed = job.int(&["status", "failed"]).unwrap_or(0);
    // 6 is the server's default. Helm's comparison is strict, as the controller gives up only beyond the limit.
    if failed > job.int(&["spec", "backoffLimit"]).unwrap_or(6) {
        return Err(format!("job is failed: {}/{}", job.namespace(), job.name()));
    }
    let succeeded = job.int(&["status", "succeeded"]).unwrap_or(0);
    Ok(job.int(&["spec", "completions"]).is_none_or(|desired| succeeded >= desired))
}

/// Whether a service has the addresses that its type requires.
pub(crate) fn service_ready(service: &Object) -> bool {
    let kind = service.text(&["spec", "type"]);
    if kind == "ExternalName" {
        return true;
    }
    if service.text(&["spec", "clusterIP"]).is_empty() {
        return false;
    }
    let any = |path: &[&str]| service.at(path).and_then(Node::as_list).is_some_and(|list| !list.is_empty());
    kind != "LoadBalancer"
        || any(&["spec", "externalIPs"])
        || service.at(&["status", "loadBalancer", "ingress"]).is_some_and(|node| !node.is_nil())
}

/// Whether a claim is bound.
pub(crate) fn pvc_ready(claim: &Object) -> bool {
    claim.text(&["status", "phase"]) == "Bound"
}

/// Whether the controller has observed the latest generation.
pub(crate) fn is_observed(object: &Object) -> bool {
    let observed = object.int(&["status", "observedGeneration"]).unwrap_or(0);
    observed == object.int(&["metadata", "generation"]).unwrap_or(0)
}

/// Whether enough replicas are ready, given `maxUnavailable`. `newest` is the ReplicaSet of the current template.
pub(crate) fn deployment_ready(deployment: &Object, newest: &Object) -> bool {
    let replicas = deployment.int(&["spec", "replicas"]).unwrap_or(1);
    let ready = newest.int(&["status", "readyReplicas"]).unwrap_or(0);
    is_observed(newest)
        && is_observed(deployment)
        && ready >= replicas.saturating_sub(max_unavailable(deployment, replicas))
}

/// How many pods may be unavailable during a rollout.
fn max_unavailable(deployment: &Object, replicas: i64) -> i64 {
    // With `Recreate`, or without replicas, Helm 3 allows none to be missing.
    if deployment.text(&["spec", "strategy", "type"]) != "RollingUpdate" || replicas == 0 {
        return 0;
    }
    let field = |name| deployment.at(&["spec", "strategy", "rollingUpdate", name]);
    let surge = scaled_value(field("maxSurge"), replicas, true);
    let unavailable = scaled_value(field("maxUnavailable"), replicas, false);
    match (surge, unavailable) {
        // Rounding down can yield zero for both; the controller then allows one.
        (Some(0), Some(0)) => 1.min(replicas),
        (Some(_), Some(unavailable)) => unavailable.min(replicas),
        _ => 0,
    }
}

/// Resolves an `IntOrString`: a number, or a percentage of `whole`. `None` when it is neither.
fn scaled_value(node: Option<&Node>, whole: i64, round_up: bool) -> Option<i64> {
    match node {
        None | Some(Node::Nil) => Some(0),
        Some(Node::Int(value)) => Some(*value),
        Some(node) => {
            let percent: i64 = node.as_str()?.strip_suffix('%')?.parse().ok()?;
            let product = percent.checked_mul(whole)?;
            Some(if round_up { product.saturating_add(99).div_euclid(100) } else { product.div_euclid(100) })
        }
    }
}

/// Finds the ReplicaSet of a Deployment's current template, as the controller's `FindNewReplicaSet`.
pub(crate) fn newest_replica_set<'s>(deployment: &Object, sets: &'s [Object]) -> Option<&'s Object> {
    let template = without_hash(deployment.at(&["spec", "template"]));
    let mut same: Vec<&Object> = sets
        .iter()
        .filter(|set| is_controlled_by(set, deployment))
        .filter(|set| without_hash(set.at(&["spec", "template"])) == template)
        .collect();
    // With several matches, the controller uses the oldest.
    same.sort_by_key(|set| (set.text(&["metadata", "creationTimestamp"]), set.name()));
    same.first().copied()
}

/// A pod template without the hash label, which only ReplicaSets have, and without empty maps.
fn without_hash(template: Option<&Node>) -> Map<Node> {
    let mut template = template.and_then(Node::as_map).cloned().unwrap_or_default();
    if let Some(metadata) = template.get_mut("metadata").and_then(Node::as_map_mut) {
        if let Some(labels) = metadata.get_mut("labels").and_then(Node::as_map_mut) {
            labels.remove(TEMPLATE_HASH);
        }
        // One of the two may have nulls and empty maps that the other does not have.
        metadata.retain(|_, node| !node.is_nil() && node.as_map().is_none_or(|map| !map.is_empty()));
    }
    template.retain(|_, node| node.as_map().is_none_or(|map| !map.is_empty()));
    template
}

/// Whether enough pods of a DaemonSet are ready, given `maxUnavailable`.
pub(crate) fn daemon_set_ready(set: &Object) -> bool {
    if !is_observed(set) {
        return false;
    }
    if set.text(&["spec", "updateStrategy", "type"]) != "RollingUpdate" {
        return true;
    }
    let status = |field| set.int(&["status", field]).unwrap_or(0);
    let desired = status("desiredNumberScheduled");
    if status("updatedNumberScheduled") != desired {
        return false;
    }
    let allowed = set.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]);
    // Rounded up here and down for Deployments: so do the two controllers, and so does Helm. With a value that is
    // neither a number nor a percentage, Helm waits for no pods.
    let unavailable = scaled_value(allowed, desired, true).unwrap_or(desired);
    status("numberReady") >= desired.saturating_sub(unavailable)
}

/// Whether a StatefulSet has updated the replicas above its partition, and all replicas are ready.
pub(crate) fn stateful_set_ready(set: &Object) -> bool {
    if !is_observed(set) {
        return false;
    }
    if set.text(&["spec", "updateStrategy", "type"]) != "RollingUpdate" {
        return true;
    }
    let status = |field| set.int(&["status", field]).unwrap_or(0);
    let partition = set.int(&["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or(0);
    let replicas = set.int(&["spec", "replicas"]).unwrap_or(1);
    let revisions_agree = set.text(&["status", "currentRevision"]) == set.text(&["status", "updateRevision"]);
    status("updatedReplicas") >= replicas.saturating_sub(partition)
        && status("readyReplicas") == replicas
        // With a partition the revisions never agree, because the replicas below it stay at the old one.
        && (partition != 0 || revisions_agree)
}

/// Whether a CRD is established. One whose names conflict counts too, since waiting would not help.
pub(crate) fn crd_ready(crd: &Object) -> bool {
    conditions(crd).is_ok_and(|conditions| {
        conditions.iter().any(|condition| {
            condition.is_true("Established")
                || (condition.kind == "NamesAccepted" && condition.status == "False")
        })
    })
}

/// Whether a hook has completed. The error is Helm's message for a failed one.
pub(crate) fn hook_done(object: &Object) -> Result<bool, String> {
    let name = object.name();
    match object.kind() {
        "Job" => {
            for condition in conditions(object).unwrap_or_default() {
                if condition.is_true("Complete") {
                    return Ok(true);
                }
                if condition.is_true("Failed") {
                    return Err(format!("job {name} failed: {}", condition.reason));
                }
            }
            Ok(false)
        }
        "Pod" => match object.text(&["status", "phase"]) {
            "Succeeded" => Ok(true),
            "Failed" => Err(format!("pod {name} failed")),
            _ => Ok(false),
        },
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match pintle_yaml::read_exact(text.as_bytes()).expect("good YAML") {
            pintle_tree::Node::Map(body) => Object::new(body),
            other => panic!("{other:?} is no object"),
        }
    }

    #[test]
    fn a_job_fails_beyond_its_limit_and_is_done_at_its_completions() {
        let job = |rest: &str| {
            job_ready(&object(&format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, namespace: ns}}\n{rest}"
            )))
        };
        assert_eq!(job("spec: {backoffLimit: 0}\nstatus: {failed: 1}"), Err("job is failed: ns/j".into()));
        assert_eq!(job("spec: {completions: 2}\nstatus: {succeeded: 1, failed: 6}"), Ok(false));
        assert_eq!(job("spec: {completions: 2}\nstatus: {succeeded: 2}"), Ok(true));
        assert_eq!(job("spec: {}"), Ok(true));
    }

    #[test]
    fn a_service_needs_addresses_by_its_type() {
        let service = |rest: &str| service_ready(&object(&format!("apiVersion: v1\nkind: Service\n{rest}")));
        assert!(service("spec: {type: ExternalName}"));
        assert!(!service("spec: {type: ClusterIP}"));
        assert!(service("spec: {clusterIP: None}"));
        assert!(!service("spec: {type: LoadBalancer, clusterIP: 1.2.3.4}"));
        assert!(service("spec: {type: LoadBalancer, clusterIP: 1.2.3.4, externalIPs: [5.6.7.8]}"));
        assert!(service(
            "spec: {type: LoadBalancer, clusterIP: 1.2.3.4}\nstatus: {loadBalancer: {ingress: [{ip: 9.9.9.9}]}}"
        ));
    }

    #[test]
    fn a_deployment_may_lack_what_its_strategy_allows() {
        let ready = |unavailable: &str, ready: i64| {
            let deployment = object(&format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{generation: 2}}\nspec: {{replicas: 4, strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 1, maxUnavailable: {unavailable}}}}}}}\nstatus: {{observedGeneration: 2}}"
            ));
            let newest =
                object(&format!("apiVersion: apps/v1\nkind: ReplicaSet\nstatus: {{readyReplicas: {ready}}}"));
            deployment_ready(&deployment, &newest)
        };
        assert!(ready("25%", 3) && !ready("25%", 2));
        assert!(ready("2", 2) && !ready("0", 3));
        assert!(!ready("none", 3), "what is no number allows nothing");
    }

    #[test]
    fn rounding_to_nothing_still_lets_one_pod_be_missing() {
        let deployment = object(
            "apiVersion: apps/v1\nkind: Deployment\nspec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1%}}}",
        );
        assert_eq!(max_unavailable(&deployment, 2), 1);
    }

    #[test]
    fn the_newest_replica_set_has_the_template_and_the_owner() {
        let deployment = object(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {uid: u}\nspec: {template: {metadata: {labels: {a: b}}, spec: {x: 1}}}",
        );
        let set = |name: &str, owner: &str, x: i64, created: &str| {
            object(&format!(
                "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: {name}, creationTimestamp: '{created}', ownerReferences: [{{uid: {owner}, controller: true}}]}}\nspec: {{template: {{metadata: {{labels: {{a: b, pod-template-hash: h}}}}, spec: {{x: {x}}}}}}}"
            ))
        };
        let sets = [
            set("old", "u", 2, "1"),
            set("alien", "v", 1, "1"),
            set("b", "u", 1, "3"),
            set("c", "u", 1, "2"),
        ];
        assert_eq!(newest_replica_set(&deployment, &sets).expect("there").name(), "c");
        assert!(newest_replica_set(&deployment, &sets[..2]).is_none());
    }

    #[test]
    fn sets_follow_their_update_strategies() {
        let daemons =
            |rest: &str| daemon_set_ready(&object(&format!("apiVersion: apps/v1\nkind: DaemonSet\n{rest}")));
        assert!(!daemons("metadata: {generation: 1}"));
        assert!(daemons("spec: {updateStrategy: {type: OnDelete}}\nstatus: {desiredNumberScheduled: 3}"));
        let rolling = "spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}}";
        assert!(daemons(&format!(
            "{rolling}\nstatus: {{desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberReady: 2}}"
        )));
        assert!(!daemons(&format!(
            "{rolling}\nstatus: {{desiredNumberScheduled: 3, updatedNumberScheduled: 2, numberReady: 3}}"
        )));

        let stateful = |rest: &str| {
            stateful_set_ready(&object(&format!("apiVersion: apps/v1\nkind: StatefulSet\n{rest}")))
        };
        assert!(stateful("spec: {replicas: 3, updateStrategy: {type: OnDelete}}"));
        let partitioned =
            "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}";
        assert!(stateful(&format!(
            "{partitioned}\nstatus: {{updatedReplicas: 1, readyReplicas: 3, currentRevision: a, updateRevision: b}}"
        )));
        let whole = "spec: {replicas: 3, updateStrategy: {type: RollingUpdate}}";
        assert!(!stateful(&format!(
            "{whole}\nstatus: {{updatedReplicas: 3, readyReplicas: 3, currentRevision: a, updateRevision: b}}"
        )));
        assert!(!stateful(&format!("{whole}\nstatus: {{updatedReplicas: 3, readyReplicas: 2}}")));
    }

    #[test]
    fn hooks_fail_with_the_messages_of_helm_3() {
        let job = object(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nstatus: {conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}",
        );
        assert_eq!(hook_done(&job), Err("job j failed: BackoffLimitExceeded".into()));
        let pod = object("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Failed}");
        assert_eq!(hook_done(&pod), Err("pod p failed".into()));
        assert_eq!(hook_done(&object("apiVersion: v1\nkind: ConfigMap")), Ok(true));
    }
}

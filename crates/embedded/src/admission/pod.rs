//! Pods: the ServiceAccount, DefaultTolerationSeconds and Priority admission plugins, and the initial status.

use pintle_tree::{Map, Node};

use super::{AdmissionContext, app_armor};
use crate::defaulting::container_names;
use crate::fields::{for_each_map, list, map, map_of, map_or_insert, set_default, str_of, text};
use crate::quantity::Quantity;
use crate::validation::app_armor_warning;

const TOKEN_MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(super) fn mutate(object: &mut Node, context: &mut dyn AdmissionContext) {
    let class = text(object, &["spec", "priorityClassName"]).to_owned();
    let (priority, policy) = match class.as_str() {
        // The built-in classes have fixed values, also if their objects were deleted.
        "system-node-critical" => (2_000_001_000, "PreemptLowerPriority".into()),
        "system-cluster-critical" => (2_000_000_000, "PreemptLowerPriority".into()),
        "" => (0, "PreemptLowerPriority".into()),
        class => context.priority(class).unwrap_or_else(|| (0, "PreemptLowerPriority".into())),
    };
    let qos_class = qos_class(object);
    let suffix = context.suffix();
    for container in app_armor::mutate(object) {
        context.warn(app_armor_warning("", &container));
    }
    let Some(pod) = object.as_map_mut() else { return };
    pod.insert("status".into(), map_of(&[("phase", "Pending".into()), ("qosClass", qos_class.into())]));
    let Some(spec) = map_or_insert(pod, "spec") else { return };
    if str_of(spec, "serviceAccountName").is_empty() {
        spec.insert("serviceAccountName".into(), "default".into());
        spec.insert("serviceAccount".into(), "default".into());
    }
    set_default(spec, "priority", priority);
    set_default(spec, "preemptionPolicy", policy);
    add_default_tolerations(spec);
    if spec.get("automountServiceAccountToken").and_then(Node::as_bool).unwrap_or(true) {
        mount_service_account_token(spec, &format!("kube-api-access-{suffix}"));
    }
}

/// The DefaultTolerationSeconds plugin: pods tolerate an unreachable node for five minutes.
fn add_default_tolerations(spec: &mut Map<Node>) {
    set_default(spec, "tolerations", Node::List(Vec::new()));
    let Some(Node::List(tolerations)) = spec.get_mut("tolerations") else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Node| {
            let (known, effect) = (text(toleration, &["key"]), text(toleration, &["effect"]));
            (known == key || known.is_empty()) && (effect.is_empty() || effect == "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(map_of(&[
                ("key", key.into()),
                ("operator", "Exists".into()),
                ("effect", "NoExecute".into()),
                ("tolerationSeconds", 300_i64.into()),
            ]));
        }
    }
}

fn mount_service_account_token(spec: &mut Map<Node>, name: &str) {
    let mut mounted = false;
    for containers in ["containers", "initContainers"] {
        for_each_map(spec, containers, |container| {
            set_default(container, "volumeMounts", Node::List(Vec::new()));
            // A container that mounts something at this path itself keeps its own.
            let Some(Node::List(mounts)) = container.get_mut("volumeMounts") else { return };
            if mounts.iter().any(|mount| text(mount, &["mountPath"]) == TOKEN_MOUNT_PATH) {
                return;
            }
            mounted = true;
            mounts.push(map_of(&[
                ("name", name.into()),
                ("readOnly", true.into()),
                ("mountPath", TOKEN_MOUNT_PATH.into()),
            ]));
        });
    }
    if mounted {
        set_default(spec, "volumes", Node::List(Vec::new()));
        if let Some(Node::List(volumes)) = spec.get_mut("volumes") {
            volumes.push(token_volume(name));
        }
    }
}

fn token_volume(name: &str) -> Node {
    // An hour and seven seconds: by this odd number (`WarnOnlyBoundTokenExpirationSeconds`) the real server
    // recognizes tokens that it has mounted itself.
    let token = map_of(&[("expirationSeconds", 3607_i64.into()), ("path", "token".into())]);
    let authority = map_of(&[("key", "ca.crt".into()), ("path", "ca.crt".into())]);
    let authority = map_of(&[("name", "kube-root-ca.crt".into()), ("items", Node::List(vec![authority]))]);
    let field = map_of(&[("apiVersion", "v1".into()), ("fieldPath", "metadata.namespace".into())]);
    let item = map_of(&[("path", "namespace".into()), ("fieldRef", field)]);
    let sources = vec![
        map_of(&[("serviceAccountToken", token)]),
        map_of(&[("configMap", authority)]),
        map_of(&[("downwardAPI", map_of(&[("items", Node::List(vec![item]))]))]),
    ];
    let projected = map_of(&[("sources", Node::List(sources)), ("defaultMode", 0o644_i64.into())]);
    map_of(&[("name", name.into()), ("projected", projected)])
}

/// The quality of service class.
fn qos_class(pod: &Node) -> &'static str {
    // Ephemeral containers have no resources and do not count.
    let lists = container_names().into_iter().take(2);
    let containers: Vec<&Node> = lists.flat_map(|name| list(pod, &["spec", name])).collect();
    let amounts = |container: &Node, kind: &str| -> Vec<(String, Quantity)> {
        let map = map(container, &["resources", kind]).into_iter().flat_map(Map::iter);
        let known = map.filter(|(name, _)| *name == "cpu" || *name == "memory");
        let read =
            known.filter_map(|(name, amount)| Some((name.to_string(), Quantity::parse(amount.as_str()?)?)));
        read.filter(|(_, amount)| !amount.is_zero()).collect()
    };
    let has_amounts = |container: &&&Node| {
        !amounts(container, "limits").is_empty() || !amounts(container, "requests").is_empty()
    };
    if containers.iter().filter(has_amounts).count() == 0 {
        return "BestEffort";
    }
    let is_guaranteed = |container: &&Node| {
        let (limits, requests) = (amounts(container, "limits"), amounts(container, "requests"));
        limits.len() == 2
            && requests.iter().all(|(name, amount)| {
                limits.iter().any(|(known, limit)| known == name && limit.canonical() == amount.canonical())
            })
    };
    if containers.iter().all(is_guaranteed) { "Guaranteed" } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;

    #[test]
    fn the_qos_class_of_a_pod_follows_from_its_containers() {
        let pod = |resources: &str| {
            let text = format!(r#"{{"spec":{{"containers":[{{"resources":{resources}}}]}}}}"#);
            qos_class(&json::read_exact(text.as_bytes()).unwrap())
        };
        assert_eq!(pod("{}"), "BestEffort");
        assert_eq!(pod(r#"{"requests":{"cpu":"1"}}"#), "Burstable");
        let sure = r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1024Mi"}}"#;
        assert_eq!(pod(sure), "Guaranteed");
    }
}

//! The objects that a pod refers to: claims before it can be scheduled, ConfigMaps and Secrets before its containers
//! start.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::super::reconcile::Request;
use crate::api::meta::{at, is_deleted, list_at, text_at};
use crate::store::{key, prefix};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A missing object that keeps containers from starting.
pub(super) enum Missing {
    /// A volume that cannot be mounted.
    Volume { message: String },
    /// A variable that cannot be set.
    EnvSource { container: String, message: String },
}

/// Returns the scheduler's reason why the node cannot take the pod.
pub(super) fn unschedulable(request: &Request<'_>) -> Option<String> {
    let pod = &request.object;
    for volume in list_at(pod, &["spec", "volumes"]) {
        let claim = match at(volume, &["ephemeral"]) {
            // The ephemeral volume controller would create this claim. It is not simulated, and the pod runs without the
            // claim.
            Some(_) => continue,
            None => text_at(volume, &["persistentVolumeClaim", "claimName"]),
        };
        if claim.is_empty() {
            continue;
        }
        match request.client.get(&key("persistentvolumeclaims", request.namespace(), claim)) {
            None => return Some(format!("persistentvolumeclaim {claim:?} not found")),
            Some(claim) if is_deleted(&claim) => {
                let name = text_at(&claim, &["metadata", "name"]);
                return Some(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            Some(claim) if text_at(&claim, &["status", "phase"]) != "Bound" => {
                return Some("pod has unbound immediate PersistentVolumeClaims".to_owned());
            }
            Some(_) => {}
        }
    }
    let node = request.client.get(&key("nodes", "", super::node::NAME))?;
    let wanted = at(pod, &["spec", "nodeSelector"]).and_then(Node::as_map);
    let unlike = wanted.into_iter().flat_map(pintle_tree::Map::iter).any(|(name, value)| {
        at(&node, &["metadata", "labels"]).and_then(|labels| labels.get(name)) != Some(value)
    });
    unlike.then(|| "1 node(s) didn't match Pod's node affinity/selector".to_owned())
}

fn is_optional(node: &Node) -> bool {
    node.get("optional").and_then(Node::as_bool) == Some(true)
}

/// Returns the first missing object.
pub(super) fn find(request: &Request<'_>) -> Option<Missing> {
    let pod = &request.object;
    let volumes =
        list_at(pod, &["spec", "volumes"]).iter().find_map(|volume| missing_volume(request, volume));
    if volumes.is_some() {
        return volumes;
    }
    let containers =
        list_at(pod, &["spec", "initContainers"]).iter().chain(list_at(pod, &["spec", "containers"]));
    for container in containers {
        if let Some(message) = missing_env_source(request, container) {
            return Some(Missing::EnvSource { container: text_at(container, &["name"]).to_owned(), message });
        }
    }
    None
}

fn missing_volume(request: &Request<'_>, volume: &Node) -> Option<Missing> {
    let name = text_at(volume, &["name"]);
    let single = [("configMap", "name"), ("secret", "secretName")];
    let direct = single.iter().filter_map(|(kind, field)| Some((*kind, volume.get(kind)?, *field)));
    let projected = list_at(volume, &["projected", "sources"]).iter().flat_map(|source| {
        ["configMap", "secret"].into_iter().filter_map(move |kind| Some((kind, source.get(kind)?, "name")))
    });
    for (kind, source, field) in direct.chain(projected) {
        let keys: Vec<&str> =
            list_at(source, &["items"]).iter().map(|item| text_at(item, &["key"])).collect();
        let found = missing_reference(request, kind, text_at(source, &[field]), &keys, is_optional(source));
        if let Some(what) = found {
            return Some(Missing::Volume {
                message: format!("MountVolume.SetUp failed for volume {name:?} : {what}"),
            });
        }
    }
    None
}

fn missing_env_source(request: &Request<'_>, container: &Node) -> Option<String> {
    for source in list_at(container, &["envFrom"]) {
        for (kind, field) in [("configMap", "configMapRef"), ("secret", "secretRef")] {
            if let Some(reference) = source.get(field)
                && let Some(what) = missing_reference(
                    request,
                    kind,
                    text_at(reference, &["name"]),
                    &[],
                    is_optional(reference),
                )
            {
                return Some(what);
            }
        }
    }
    for variable in list_at(container, &["env"]) {
        for (kind, field) in [("configMap", "configMapKeyRef"), ("secret", "secretKeyRef")] {
            if let Some(reference) = at(variable, &["valueFrom", field])
                && let Some(what) = missing_reference(
                    request,
                    kind,
                    text_at(reference, &["name"]),
                    &[text_at(reference, &["key"])],
                    is_optional(reference),
                )
            {
                return Some(what);
            }
        }
    }
    None
}

/// Whether a role grants, or once granted, a service account of this namespace the right to create such objects. An
/// operator or a hook job would create the object with this right, but nothing runs here; so it is assumed to exist.
/// Operators in other namespaces do not count: they know nothing of this release.
fn may_be_created_later(request: &Request<'_>, plural: &str) -> bool {
    let bindings = ["rolebindings", "clusterrolebindings"].map(|kind| format!("{kind}.{RBAC}"));
    let [in_namespace, in_cluster] = &bindings;
    let namespaced = past_and_present(request, &prefix(in_namespace, Some(request.namespace())));
    let cluster_wide = past_and_present(request, &prefix(in_cluster, None));
    let bound: BTreeSet<String> = namespaced
        .iter()
        .chain(cluster_wide.iter().filter(|binding| has_subject_in(binding, request.namespace())))
        .filter(|binding| text_at(binding, &["roleRef", "kind"]) == "ClusterRole")
        .map(|binding| text_at(binding, &["roleRef", "name"]).to_owned())
        .collect();
    let roles = past_and_present(request, &prefix(&format!("roles.{RBAC}"), Some(request.namespace())));
    let cluster_roles = past_and_present(request, &prefix(&format!("clusterroles.{RBAC}"), None));
    roles.iter().any(|role| grants(role, plural))
        || cluster_roles
            .iter()
            .any(|role| bound.contains(text_at(role, &["metadata", "name"])) && grants(role, plural))
}

/// All objects under a prefix, and earlier states of them as far as the history goes: hooks remove their roles when
/// they end.
fn past_and_present(request: &Request<'_>, prefix: &str) -> Vec<Node> {
    let store = request.client.api.store();
    let now = store.list(prefix, None, usize::MAX, None, &|_| true).map(|it| it.objects).unwrap_or_default();
    // From the beginning, or from as far back as the history goes.
    let past = store.changes(prefix, 0).or_else(|old| store.changes(prefix, old.oldest));
    let past = past.map(|(events, _)| events).unwrap_or_default();
    now.iter().map(|object| object.node()).chain(past.iter().map(|event| event.object.node())).collect()
}

fn has_subject_in(binding: &Node, namespace: &str) -> bool {
    list_at(binding, &["subjects"]).iter().any(|subject| text_at(subject, &["namespace"]) == namespace)
}

fn grants(role: &Node, plural: &str) -> bool {
    list_at(role, &["rules"]).iter().any(|rule| {
        let has = |field: &str, words: &[&str]| {
            list_at(rule, &[field]).iter().filter_map(Node::as_str).any(|word| words.contains(&word))
        };
        has("apiGroups", &["", "*"]) && has("resources", &[plural, "*"]) && has("verbs", &["create", "*"])
    })
}

/// Returns the kubelet's message if the object, or one of its keys, does not exist.
fn missing_reference(
    request: &Request<'_>,
    kind: &str,
    name: &str,
    keys: &[&str],
    optional: bool,
) -> Option<String> {
    if optional {
        return None;
    }
    let plural = if kind == "secret" { "secrets" } else { "configmaps" };
    let Some(object) = request.client.get(&key(plural, request.namespace(), name)) else {
        let lost = format!("{} {name:?} not found", kind.to_lowercase());
        return (!may_be_created_later(request, plural)).then_some(lost);
    };
    let has = |key: &str| {
        ["data", "binaryData"].iter().any(|field| object.get(field).and_then(|data| data.get(key)).is_some())
    };
    let word = if kind == "secret" { "Secret" } else { "ConfigMap" };
    let lost = keys.iter().find(|key| !has(key))?;
    Some(format!("couldn't find key {lost} in {word} {}/{name}", request.namespace()))
}

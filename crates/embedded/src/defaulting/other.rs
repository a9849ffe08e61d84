//! Defaults of storage, networking, RBAC, admission webhooks and the rest.

use pintle_tree::{Map, Node, Str};

use super::pod::disks;
use super::workload::behavior;
use crate::fields::{each, inner, made, map_of, put, word};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn other(group: &str, kind: &str, version: &str, map: &mut Map<Node>) {
    match (group, kind) {
        ("", "Secret") => secret(map),
        ("", "PersistentVolumeClaim") => claim(map),
        ("", "PersistentVolume") => volume(map),
        ("", "Namespace") => namespace(map),
        ("", "LimitRange") => limit_range(map),
        ("", "Endpoints") => {
            each(map, "subsets", |subset| each(subset, "ports", |port| put(port, "protocol", "TCP")))
        }
        ("autoscaling", _) => autoscaler(version, map),
        ("storage.k8s.io", kind) => storage(kind, map),
        ("networking.k8s.io", kind) => network(kind, map),
        (RBAC, kind) => access(kind, map),
        ("discovery.k8s.io", "EndpointSlice") => each(map, "ports", |port| {
            put(port, "name", "");
            put(port, "protocol", "TCP");
        }),
        ("scheduling.k8s.io", "PriorityClass") => put(map, "preemptionPolicy", "PreemptLowerPriority"),
        ("admissionregistration.k8s.io", kind) => admission(kind, map),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(map),
        ("apiregistration.k8s.io", "APIService") => {
            if let Some(service) = inner(map, "spec").and_then(|spec| inner(spec, "service")) {
                put(service, "port", 443_i64);
            }
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            if let Some(spec) = inner(map, "spec")
                && matches!(spec.get("matchingPrecedence"), None | Some(Node::Int(0)))
            {
                spec.insert("matchingPrecedence".into(), Node::Int(1000));
            }
        }
        _ => {}
    }
}

/// Moves `stringData` into `data`, over existing keys.
fn secret(map: &mut Map<Node>) {
    use base64::Engine as _;
    if word(map, "type").is_empty() {
        map.insert("type".into(), "Opaque".into());
    }
    let Some(Node::Map(texts)) = map.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    if let Some(data) = made(map, "data") {
        for (name, text) in texts {
            let bytes = text.as_text().cloned().unwrap_or_default();
            data.insert(name, base64::engine::general_purpose::STANDARD.encode(&*bytes).into());
        }
    }
}

/// A claim, or a claim template.
pub(super) fn claim(map: &mut Map<Node>) {
    if let Some(status) = made(map, "status") {
        put(status, "phase", "Pending");
    }
    if let Some(spec) = made(map, "spec") {
        put(spec, "volumeMode", "Filesystem");
    }
}

fn volume(map: &mut Map<Node>) {
    if let Some(status) = made(map, "status") {
        put(status, "phase", "Pending");
    }
    let Some(spec) = made(map, "spec") else { return };
    put(spec, "persistentVolumeReclaimPolicy", "Retain");
    put(spec, "volumeMode", "Filesystem");
    if let Some(path) = inner(spec, "hostPath") {
        put(path, "type", "");
    }
    disks(spec);
}

fn namespace(map: &mut Map<Node>) {
    if let Some(status) = made(map, "status") {
        put(status, "phase", "Active");
    }
    // Every namespace has its name as a label (`kubernetes.io/metadata.name`).
    let name = inner(map, "metadata").map(|metadata| word(metadata, "name").to_owned()).unwrap_or_default();
    if !name.is_empty()
        && let Some(labels) = made(map, "metadata").and_then(|metadata| made(metadata, "labels"))
    {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

/// `max` is the default of `default`, which is the default of `defaultRequest`.
fn limit_range(map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    each(spec, "limits", |limit| {
        if word(limit, "type") != "Container" {
            return;
        }
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            let Some(Node::Map(source)) = limit.get(from).cloned() else { continue };
            if let Some(target) = made(limit, to) {
                for (name, value) in source {
                    target.entry_or_insert_with(&name, || value.clone());
                }
            }
        }
    });
}

fn autoscaler(version: &str, map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    put(spec, "minReplicas", 1_i64);
    if version == "v1" {
        return put(spec, "targetCPUUtilizationPercentage", 80_i64);
    }
    if spec.get("metrics").and_then(Node::as_list).is_none_or(<[Node]>::is_empty) {
        let target = map_of(&[("type", "Utilization".into()), ("averageUtilization", 80_i64.into())]);
        let resource = map_of(&[("name", "cpu".into()), ("target", target)]);
        let metric = map_of(&[("type", "Resource".into()), ("resource", resource)]);
        spec.insert("metrics".into(), Node::List(vec![metric]));
    }
    if let Some(says) = inner(spec, "behavior") {
        behavior(says);
    }
}

fn storage(kind: &str, map: &mut Map<Node>) {
    if kind == "StorageClass" {
        put(map, "reclaimPolicy", "Delete");
        put(map, "volumeBindingMode", "Immediate");
    }
    if kind == "CSIDriver"
        && let Some(spec) = made(map, "spec")
    {
        put(spec, "attachRequired", true);
        for name in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            put(spec, name, false);
        }
        put(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        put(spec, "volumeLifecycleModes", Node::List(vec!["Persistent".into()]));
    }
}

fn network(kind: &str, map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    match kind {
        "IngressClass" => {
            if let Some(parameters) = inner(spec, "parameters") {
                put(parameters, "scope", "Cluster");
            }
        }
        "NetworkPolicy" => {
            for way in ["ingress", "egress"] {
                each(spec, way, |rule| each(rule, "ports", |port| put(port, "protocol", "TCP")));
            }
            let goes_out = spec.get("egress").and_then(Node::as_list).is_some_and(|rules| !rules.is_empty());
            let mut types: Vec<Node> = vec!["Ingress".into()];
            types.extend(goes_out.then(|| Node::from("Egress")));
            if spec.get("policyTypes").and_then(Node::as_list).is_none_or(<[Node]>::is_empty) {
                spec.insert("policyTypes".into(), Node::List(types));
            }
        }
        _ => {}
    }
}

fn access(kind: &str, map: &mut Map<Node>) {
    if !matches!(kind, "RoleBinding" | "ClusterRoleBinding") {
        return;
    }
    if let Some(role) = inner(map, "roleRef")
        && word(role, "apiGroup").is_empty()
    {
        role.insert("apiGroup".into(), RBAC.into());
    }
    each(map, "subjects", |subject| {
        if word(subject, "apiGroup").is_empty() && matches!(word(subject, "kind"), "User" | "Group") {
            subject.insert("apiGroup".into(), RBAC.into());
        }
    });
}

fn admission(kind: &str, map: &mut Map<Node>) {
    each(map, "webhooks", |webhook| {
        put(webhook, "failurePolicy", "Fail");
        put(webhook, "timeoutSeconds", 10_i64);
        if kind == "MutatingWebhookConfiguration" {
            put(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = inner(webhook, "clientConfig").and_then(|config| inner(config, "service")) {
            put(service, "port", 443_i64);
        }
        matches(webhook, "rules");
    });
    if let Some(spec) = inner(map, "spec") {
        if kind.ends_with("Policy") {
            put(spec, "failurePolicy", "Fail");
        }
        for name in ["matchConstraints", "matchResources"] {
            if let Some(constraints) = inner(spec, name) {
                matches(constraints, "resourceRules");
            }
        }
    }
}

fn matches(map: &mut Map<Node>, rules: &str) {
    put(map, "matchPolicy", "Equivalent");
    put(map, "namespaceSelector", Node::empty_map());
    put(map, "objectSelector", Node::empty_map());
    each(map, rules, |rule| put(rule, "scope", "*"));
    each(map, "excludeResourceRules", |rule| put(rule, "scope", "*"));
}

fn definition(map: &mut Map<Node>) {
    let Some(spec) = inner(map, "spec") else { return };
    if let Some(conversion) = made(spec, "conversion") {
        put(conversion, "strategy", "None");
        let config = inner(conversion, "webhook").and_then(|webhook| inner(webhook, "clientConfig"));
        if let Some(service) = config.and_then(|config| inner(config, "service")) {
            put(service, "port", 443_i64);
        }
    }
    if let Some(names) = inner(spec, "names") {
        let kind = word(names, "kind").to_owned();
        if word(names, "singular").is_empty() {
            names.insert("singular".into(), kind.to_lowercase().into());
        }
        if word(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".into(), format!("{kind}List").into());
        }
    }
    let storage = |version: &&Node| version.get("storage").and_then(Node::as_bool).unwrap_or(false);
    let versions = spec.get("versions").and_then(Node::as_list).unwrap_or_default();
    let stored: Option<Str> =
        versions.iter().find(storage).and_then(|version| version.get("name")?.as_text().cloned());
    if let (Some(status), Some(stored)) = (made(map, "status"), stored) {
        let versions = status.get("storedVersions").and_then(Node::as_list).unwrap_or_default();
        if versions.is_empty() {
            status.insert("storedVersions".into(), Node::List(vec![stored.into()]));
        }
    }
}

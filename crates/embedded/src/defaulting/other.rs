//! Defaults of storage, networking, RBAC, admission webhooks and the rest.

use pintle_tree::{Map, Node, Str};

use super::pod::shared_sources;
use super::workload::behavior;
use crate::fields::{for_each_map, map_mut, map_of, map_or_insert, set_default, str_of};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn other(group: &str, kind: &str, version: &str, map: &mut Map<Node>) {
    match (group, kind) {
        ("", "Secret") => secret(map),
        ("", "PersistentVolumeClaim") => claim(map),
        ("", "PersistentVolume") => volume(map),
        ("", "Namespace") => namespace(map),
        ("", "LimitRange") => limit_range(map),
        ("", "Endpoints") => for_each_map(map, "subsets", |subset| {
            for_each_map(subset, "ports", |port| set_default(port, "protocol", "TCP"))
        }),
        ("autoscaling", _) => autoscaler(version, map),
        ("networking.k8s.io", kind) => network(kind, map),
        (RBAC, kind) => access(kind, map),
        ("discovery.k8s.io", "EndpointSlice") => for_each_map(map, "ports", |port| {
            set_default(port, "name", "");
            set_default(port, "protocol", "TCP");
        }),
        ("scheduling.k8s.io", "PriorityClass") => {
            set_default(map, "preemptionPolicy", "PreemptLowerPriority")
        }
        ("admissionregistration.k8s.io", kind) => admission(kind, map),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(map),
        ("apiregistration.k8s.io", "APIService") => {
            if let Some(service) = map_mut(map, "spec").and_then(|spec| map_mut(spec, "service")) {
                set_default(service, "port", 443_i64);
            }
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            if let Some(spec) = map_mut(map, "spec")
                // Not a pointer in Go, so zero and absent are the same.
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
    if str_of(map, "type").is_empty() {
        map.insert("type".into(), "Opaque".into());
    }
    let Some(Node::Map(texts)) = map.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    if let Some(data) = map_or_insert(map, "data") {
        for (name, text) in texts {
            let bytes = text.as_text().cloned().unwrap_or_default();
            data.insert(name, base64::engine::general_purpose::STANDARD.encode(&*bytes).into());
        }
    }
}

/// A claim, or a claim template.
pub(super) fn claim(map: &mut Map<Node>) {
    if let Some(status) = map_or_insert(map, "status") {
        set_default(status, "phase", "Pending");
    }
    if let Some(spec) = map_or_insert(map, "spec") {
        set_default(spec, "volumeMode", "Filesystem");
    }
}

fn volume(map: &mut Map<Node>) {
    if let Some(status) = map_or_insert(map, "status") {
        set_default(status, "phase", "Pending");
    }
    let Some(spec) = map_or_insert(map, "spec") else { return };
    set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
    set_default(spec, "volumeMode", "Filesystem");
    if let Some(path) = map_mut(spec, "hostPath") {
        set_default(path, "type", "");
    }
    shared_sources(spec);
}

fn namespace(map: &mut Map<Node>) {
    if let Some(status) = map_or_insert(map, "status") {
        set_default(status, "phase", "Active");
    }
    // Every namespace has its name as a label (`kubernetes.io/metadata.name`).
    let name =
        map_mut(map, "metadata").map(|metadata| str_of(metadata, "name").to_owned()).unwrap_or_default();
    if !name.is_empty()
        && let Some(labels) =
            map_or_insert(map, "metadata").and_then(|metadata| map_or_insert(metadata, "labels"))
    {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

/// `max` is the default of `default`, which is the default of `defaultRequest`.
fn limit_range(map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    for_each_map(spec, "limits", |limit| {
        if str_of(limit, "type") != "Container" {
            return;
        }
        // In this order: each step may use what the one before it has set, and `min` fills only what is left.
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            let Some(Node::Map(source)) = limit.get(from).cloned() else { continue };
            if let Some(target) = map_or_insert(limit, to) {
                for (name, value) in source {
                    target.entry_or_insert_with(&name, || value.clone());
                }
            }
        }
    });
}

fn autoscaler(version: &str, map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    set_default(spec, "minReplicas", 1_i64);
    if version == "v1" {
        return set_default(spec, "targetCPUUtilizationPercentage", 80_i64);
    }
    if spec.get("metrics").and_then(Node::as_list).is_none_or(<[Node]>::is_empty) {
        let target = map_of(&[("type", "Utilization".into()), ("averageUtilization", 80_i64.into())]);
        let resource = map_of(&[("name", "cpu".into()), ("target", target)]);
        let metric = map_of(&[("type", "Resource".into()), ("resource", resource)]);
        spec.insert("metrics".into(), Node::List(vec![metric]));
    }
    if let Some(says) = map_mut(spec, "behavior") {
        behavior(says);
    }
}

pub(super) fn storage(kind: &str, minor: u16, map: &mut Map<Node>) {
    if kind == "StorageClass" {
        set_default(map, "reclaimPolicy", "Delete");
        set_default(map, "volumeBindingMode", "Immediate");
    }
    if kind == "CSIDriver"
        && let Some(spec) = map_or_insert(map, "spec")
    {
        set_default(spec, "attachRequired", true);
        for name in ["podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"] {
            set_default(spec, name, false);
        }
        // Since 1.37 the feature gate `VolumeLimitScaling` is on.
        if minor >= 37 {
            set_default(spec, "preventPodSchedulingIfMissing", false);
        }
        set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        set_default(spec, "volumeLifecycleModes", Node::List(vec!["Persistent".into()]));
    }
}

fn network(kind: &str, map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    match kind {
        "IngressClass" => {
            if let Some(parameters) = map_mut(spec, "parameters") {
                set_default(parameters, "scope", "Cluster");
            }
        }
        "NetworkPolicy" => {
            for direction in ["ingress", "egress"] {
                for_each_map(spec, direction, |rule| {
                    for_each_map(rule, "ports", |port| set_default(port, "protocol", "TCP"))
                });
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
    if let Some(role) = map_mut(map, "roleRef")
        && str_of(role, "apiGroup").is_empty()
    {
        role.insert("apiGroup".into(), RBAC.into());
    }
    for_each_map(map, "subjects", |subject| {
        // Service accounts are of the core group, whose name is empty.
        if str_of(subject, "apiGroup").is_empty() && matches!(str_of(subject, "kind"), "User" | "Group") {
            subject.insert("apiGroup".into(), RBAC.into());
        }
    });
}

fn admission(kind: &str, map: &mut Map<Node>) {
    for_each_map(map, "webhooks", |webhook| {
        set_default(webhook, "failurePolicy", "Fail");
        set_default(webhook, "timeoutSeconds", 10_i64);
        if kind == "MutatingWebhookConfiguration" {
            set_default(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = map_mut(webhook, "clientConfig").and_then(|config| map_mut(config, "service"))
        {
            set_default(service, "port", 443_i64);
        }
        matches(webhook, "rules");
    });
    if let Some(spec) = map_mut(map, "spec") {
        if kind.ends_with("Policy") {
            set_default(spec, "failurePolicy", "Fail");
        }
        for name in ["matchConstraints", "matchResources"] {
            if let Some(constraints) = map_mut(spec, name) {
                matches(constraints, "resourceRules");
            }
        }
    }
}

fn matches(map: &mut Map<Node>, rules: &str) {
    set_default(map, "matchPolicy", "Equivalent");
    set_default(map, "namespaceSelector", Node::empty_map());
    set_default(map, "objectSelector", Node::empty_map());
    for_each_map(map, rules, |rule| set_default(rule, "scope", "*"));
    for_each_map(map, "excludeResourceRules", |rule| set_default(rule, "scope", "*"));
}

fn definition(map: &mut Map<Node>) {
    let Some(spec) = map_mut(map, "spec") else { return };
    if let Some(conversion) = map_or_insert(spec, "conversion") {
        set_default(conversion, "strategy", "None");
        let config = map_mut(conversion, "webhook").and_then(|webhook| map_mut(webhook, "clientConfig"));
        if let Some(service) = config.and_then(|config| map_mut(config, "service")) {
            set_default(service, "port", 443_i64);
        }
    }
    if let Some(names) = map_mut(spec, "names") {
        let kind = str_of(names, "kind").to_owned();
        if str_of(names, "singular").is_empty() {
            names.insert("singular".into(), kind.to_lowercase().into());
        }
        if str_of(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".into(), format!("{kind}List").into());
        }
    }
    let storage = |version: &&Node| version.get("storage").and_then(Node::as_bool).unwrap_or(false);
    let versions = spec.get("versions").and_then(Node::as_list).unwrap_or_default();
    let stored: Option<Str> =
        versions.iter().find(storage).and_then(|version| version.get("name")?.as_text().cloned());
    if let (Some(status), Some(stored)) = (map_or_insert(map, "status"), stored) {
        let versions = status.get("storedVersions").and_then(Node::as_list).unwrap_or_default();
        if versions.is_empty() {
            status.insert("storedVersions".into(), Node::List(vec![stored.into()]));
        }
    }
}

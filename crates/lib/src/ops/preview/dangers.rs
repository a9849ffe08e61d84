//! Changes that lose data, fail in the cluster, or give rights.

use std::collections::BTreeSet;

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use super::compare::{ObjectChange, ObjectChangeKind};
use super::report::{Danger, DangerKind};

/// The dangers of a change.
pub(crate) fn of(change: &ObjectChange) -> Vec<Danger> {
    let old = change.old.as_ref().map(|body| Object::new(Map::clone(body)));
    let new = change.new.as_ref().map(|body| Object::new(Map::clone(body)));
    let name = format!("{} {}", change.id.kind, change.id.name);
    let mut found = Vec::new();
    let mut add =
        |kind: DangerKind, text: String| found.push(Danger { kind, object: change.id.clone(), text });
    if let (ObjectChangeKind::Removed, Some(old)) = (change.kind, &old)
        && let Some((kind, text)) = removal(old)
    {
        add(kind, format!("{name} {text}"));
    }
    if let (Some(old), Some(new)) = (&old, &new) {
        for finding in pintle_upgrade::immutable_changes(&name, old, new) {
            add(DangerKind::Immutable, finding.message);
        }
        if let Some(text) = shrinks(old, new) {
            add(DangerKind::DataLoss, format!("{name}: {text}"));
        }
    }
    if let Some(new) = &new {
        let before = old.as_ref().map(rights).unwrap_or_default();
        let gained: Vec<String> = rights(new).difference(&before).cloned().collect();
        if !gained.is_empty() {
            add(DangerKind::Rbac, format!("{name} gives {}", gained.join("; ")));
        }
        let before = old.as_ref().map(privileges).unwrap_or_default();
        let gained: Vec<String> = privileges(new).difference(&before).cloned().collect();
        if !gained.is_empty() {
            add(DangerKind::Privilege, format!("{name}: {}", gained.join("; ")));
        }
    }
    found
}

fn removal(old: &Object) -> Option<(DangerKind, &'static str)> {
    if old.annotation("helm.sh/resource-policy") == Some("keep")
        || old.annotation("kustomize.toolkit.fluxcd.io/prune") == Some("disabled")
    {
        return None;
    }
    Some(match old.kind() {
        "CustomResourceDefinition" => {
            (DangerKind::CrdRemoved, "is removed, and all objects of its kind with it")
        }
        "PersistentVolumeClaim" => {
            (DangerKind::DataLoss, "is removed, and with most storage classes its data")
        }
        "PersistentVolume" => (DangerKind::DataLoss, "is removed"),
        "Namespace" => (DangerKind::DataLoss, "is removed, and everything in it"),
        _ => return None,
    })
}

fn shrinks(old: &Object, new: &Object) -> Option<String> {
    let path = ["spec", "resources", "requests", "storage"];
    let (before, after) = (old.text(&path), new.text(&path));
    let is_smaller = quantity(before)? > quantity(after)?;
    is_smaller.then(|| format!("its storage shrinks from {before} to {after}, which is refused"))
}

fn quantity(text: &str) -> Option<f64> {
    let digits =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" => 1.0,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    Some(number * factor)
}

fn texts<'n>(node: &'n Node, key: &str) -> Vec<&'n str> {
    node.get(key).and_then(Node::as_list).unwrap_or_default().iter().filter_map(Node::as_str).collect()
}

/// The rights that an object gives, one by one.
fn rights(object: &Object) -> BTreeSet<String> {
    let mut rights = BTreeSet::new();
    match object.kind() {
        "Role" | "ClusterRole" => {
            for rule in object.at(&["rules"]).and_then(Node::as_list).unwrap_or_default() {
                let resources = [texts(rule, "resources"), texts(rule, "nonResourceURLs")].concat();
                for resource in resources {
                    for verb in texts(rule, "verbs") {
                        let group = texts(rule, "apiGroups").join(",");
                        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                        rights.insert(format!("{verb} {resource}{group}"));
                    }
                }
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = object.text(&["roleRef", "name"]);
            for subject in object.at(&["subjects"]).and_then(Node::as_list).unwrap_or_default() {
                let text = |key: &str| subject.get(key).and_then(Node::as_str).unwrap_or_default();
                rights.insert(format!("{role} to {} {}/{}", text("kind"), text("namespace"), text("name")));
            }
        }
        _ => {}
    }
    rights
}

/// What the pods of an object may do on their node.
fn privileges(object: &Object) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let pod = match object.kind() {
        "Pod" => object.at(&["spec"]),
        "CronJob" => object.at(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => object.at(&["spec", "template", "spec"]),
    };
    let Some(pod) = pod else { return found };
    for flag in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod.get(flag).and_then(Node::as_bool) == Some(true) {
            found.insert(format!("{flag} is on"));
        }
    }
    for volume in pod.get("volumes").and_then(Node::as_list).unwrap_or_default() {
        if let Some(path) = volume.get("hostPath").and_then(|it| it.get("path")).and_then(Node::as_str) {
            found.insert(format!("{path} of the node is mounted"));
        }
    }
    add_context("the pod", pod.get("securityContext"), &mut found);
    for list in ["initContainers", "containers"] {
        for container in pod.get(list).and_then(Node::as_list).unwrap_or_default() {
            let name = container.get("name").and_then(Node::as_str).unwrap_or_default();
            add_context(&format!("container {name}"), container.get("securityContext"), &mut found);
        }
    }
    found
}

fn add_context(name: &str, context: Option<&Node>, found: &mut BTreeSet<String>) {
    let Some(context) = context else { return };
    for flag in ["privileged", "allowPrivilegeEscalation"] {
        if context.get(flag).and_then(Node::as_bool) == Some(true) {
            found.insert(format!("{name} has {flag}"));
        }
    }
    if matches!(context.get("runAsUser"), Some(Node::Int(0))) {
        found.insert(format!("{name} runs as root"));
    }
    for capability in context.get("capabilities").map(|it| texts(it, "add")).unwrap_or_default() {
        found.insert(format!("{name} has the capability {capability}"));
    }
}

//! Validation of roles and bindings.

use pintle_tree::Node;

use super::{ErrorList, FieldPath, items, names};
use crate::fields::{at, list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(kind: &str, object: &Node, errors: &mut ErrorList) {
    let namespaced = !kind.starts_with("Cluster");
    match kind {
        "Role" | "ClusterRole" => {
            for (child_path, rule) in items(object, "rules", &FieldPath::root("")) {
                self::rule(rule, namespaced, &child_path, errors);
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(object, namespaced, errors),
        _ => {}
    }
}

fn rule(rule: &Node, namespaced: bool, field: &FieldPath, errors: &mut ErrorList) {
    let has = |name: &str| !list(rule, &[name]).is_empty();
    if !has("verbs") {
        errors.required(&field.child("verbs"), "verbs must contain at least one value");
    }
    if has("nonResourceURLs") {
        let urls = Node::List(list(rule, &["nonResourceURLs"]).to_vec());
        let child_path = field.child("nonResourceURLs");
        if namespaced {
            errors.invalid(&child_path, urls.clone(), "namespaced rules cannot apply to non-resource URLs");
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(&child_path, urls, detail);
        }
        return;
    }
    if !has("apiGroups") {
        errors.required(&field.child("apiGroups"), "resource rules must supply at least one api group");
    }
    if !has("resources") {
        errors.required(&field.child("resources"), "resource rules must supply at least one resource");
    }
}

fn binding(object: &Node, namespaced: bool, errors: &mut ErrorList) {
    let child_path = FieldPath::root("roleRef");
    let (group, kind, name) = (
        text(object, &["roleRef", "apiGroup"]),
        text(object, &["roleRef", "kind"]),
        text(object, &["roleRef", "name"]),
    );
    if group != GROUP {
        errors.not_supported(&child_path.child("apiGroup"), group, &[GROUP]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.one_of(&child_path.child("kind"), kind, kinds);
    if name.is_empty() {
        errors.required(&child_path.child("name"), "");
    } else {
        errors.add_all(&child_path.child("name"), name, names::path_segment(name));
    }
    for (child_path, subject) in items(object, "subjects", &FieldPath::root("")) {
        self::subject(subject, namespaced, &child_path, errors);
    }
}

fn subject(subject: &Node, namespaced: bool, field: &FieldPath, errors: &mut ErrorList) {
    let name = text(subject, &["name"]);
    if name.is_empty() {
        errors.required(&field.child("name"), "");
    }
    let group = text(subject, &["apiGroup"]);
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.add_all(&field.child("name"), name, names::subdomain(name));
            }
            if !group.is_empty() {
                errors.not_supported(&field.child("apiGroup"), group, &[""]);
            }
            if !namespaced && at(subject, &["namespace"]).is_none() {
                errors.required(&field.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.not_supported(&field.child("apiGroup"), group, &[GROUP]);
            }
        }
        other => errors.not_supported(&field.child("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}

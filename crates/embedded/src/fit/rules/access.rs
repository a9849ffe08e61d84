//! Rules for roles and bindings.

use pintle_tree::Node;

use super::{Faults, Field, items, names};
use crate::fit::tree::{at, list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

/// An object about access.
pub(super) fn access(kind: &str, object: &Node, faults: &mut Faults) {
    let namespaced = !kind.starts_with("Cluster");
    match kind {
        "Role" | "ClusterRole" => {
            for (place, rule) in items(object, "rules", &Field::root("")) {
                self::rule(rule, namespaced, &place, faults);
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(object, namespaced, faults),
        _ => {}
    }
}

fn rule(rule: &Node, namespaced: bool, field: &Field, faults: &mut Faults) {
    let has = |name: &str| !list(rule, &[name]).is_empty();
    if !has("verbs") {
        faults.required(&field.child("verbs"), "verbs must contain at least one value");
    }
    if has("nonResourceURLs") {
        let urls = Node::List(list(rule, &["nonResourceURLs"]).to_vec());
        let place = field.child("nonResourceURLs");
        if namespaced {
            faults.invalid(&place, urls.clone(), "namespaced rules cannot apply to non-resource URLs");
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            faults.invalid(&place, urls, detail);
        }
        return;
    }
    if !has("apiGroups") {
        faults.required(&field.child("apiGroups"), "resource rules must supply at least one api group");
    }
    if !has("resources") {
        faults.required(&field.child("resources"), "resource rules must supply at least one resource");
    }
}

fn binding(object: &Node, namespaced: bool, faults: &mut Faults) {
    let place = Field::root("roleRef");
    let (group, kind, name) = (
        text(object, &["roleRef", "apiGroup"]),
        text(object, &["roleRef", "kind"]),
        text(object, &["roleRef", "name"]),
    );
    if group != GROUP {
        faults.not_supported(&place.child("apiGroup"), group, &[GROUP]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    faults.one_of(&place.child("kind"), kind, kinds);
    if name.is_empty() {
        faults.required(&place.child("name"), "");
    } else {
        faults.each(&place.child("name"), name, names::path_segment(name));
    }
    for (place, subject) in items(object, "subjects", &Field::root("")) {
        self::subject(subject, namespaced, &place, faults);
    }
}

fn subject(subject: &Node, namespaced: bool, field: &Field, faults: &mut Faults) {
    let name = text(subject, &["name"]);
    if name.is_empty() {
        faults.required(&field.child("name"), "");
    }
    let group = text(subject, &["apiGroup"]);
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                faults.each(&field.child("name"), name, names::subdomain(name));
            }
            if !group.is_empty() {
                faults.not_supported(&field.child("apiGroup"), group, &[""]);
            }
            if !namespaced && at(subject, &["namespace"]).is_none() {
                faults.required(&field.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                faults.not_supported(&field.child("apiGroup"), group, &[GROUP]);
            }
        }
        other => faults.not_supported(&field.child("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}

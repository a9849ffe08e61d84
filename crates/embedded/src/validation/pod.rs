//! Validation of pods and pod templates.

use pintle_tree::Node;

use super::{ErrorList, FieldPath, affinity, container, items, labels, names, security_profile, volume};
use crate::fields::{at, int, is_true, list, text};

pub(super) fn pod(object: &Node, errors: &mut ErrorList) {
    security_profile::check(object, &FieldPath::root("metadata.annotations"), errors);
    spec(object, &[], &FieldPath::root("spec"), errors);
}

/// A pod template that is an object of its own.
pub(super) fn template(object: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let template = at(object, &["template"]).cloned().unwrap_or_default();
    template_of(&template, field, errors);
}

pub(super) fn template_of(template: &Node, field: &FieldPath, errors: &mut ErrorList) {
    template_with(template, &[], field, errors);
}

/// A pod template whose `claims` provide further volumes, as in a StatefulSet.
pub(super) fn template_with(template: &Node, claims: &[&str], field: &FieldPath, errors: &mut ErrorList) {
    let meta = at(template, &["metadata"]).cloned().unwrap_or_default();
    labels(&meta, "labels", &field.child("metadata"), errors);
    // Without `metadata` in the path, as in the server's messages about templates.
    security_profile::check(template, &field.child("annotations"), errors);
    spec(template, claims, &field.child("spec"), errors);
}

fn spec(parent: &Node, claims: &[&str], field: &FieldPath, errors: &mut ErrorList) {
    let spec = at(parent, &["spec"]).cloned().unwrap_or_default();
    let spec = &spec;
    let mut volumes = volume::volumes(spec, field, errors);
    volumes.extend(claims.iter().map(|name| (*name).to_owned()));
    container::containers(spec, &volumes, field, errors);
    host_network(spec, field, errors);
    let policy = text(spec, &["restartPolicy"]);
    errors.one_of(&field.child("restartPolicy"), policy, &["Always", "OnFailure", "Never"]);
    let dns = text(spec, &["dnsPolicy"]);
    errors.one_of(
        &field.child("dnsPolicy"),
        dns,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    labels(spec, "nodeSelector", field, errors);
    security(spec, field, errors);
    affinity::affinity(spec, field, errors);
    if dns == "None" && list(spec, &["dnsConfig", "nameservers"]).is_empty() {
        let (child_path, detail) = match at(spec, &["dnsConfig"]) {
            None => (field.child("dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None"),
            Some(_) => (
                field.child("dnsConfig").child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            ),
        };
        errors.required(&child_path, detail);
    }
    affinity::spread(spec, field, errors);
    let account = text(spec, &["serviceAccountName"]);
    if !account.is_empty() {
        errors.add_all(&field.child("serviceAccountName"), account, names::subdomain(account));
    }
    if let Some(deadline) =
        int(spec, &["activeDeadlineSeconds"]).filter(|it| !(1..=i64::from(i32::MAX)).contains(it))
    {
        errors.invalid(
            &field.child("activeDeadlineSeconds"),
            deadline,
            "must be between 1 and 2147483647, inclusive",
        );
    }
    for name in ["hostname", "subdomain"] {
        let value = text(spec, &[name]);
        if !value.is_empty() {
            errors.add_all(&field.child(name), value, names::label(value));
        }
    }
    tolerations(spec, field, errors);
    aliases(spec, field, errors);
    let class = text(spec, &["priorityClassName"]);
    if !class.is_empty() {
        errors.add_all(&field.child("priorityClassName"), class, names::subdomain(class));
    }
}

fn host_network(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if !is_true(spec, &["hostNetwork"]) {
        return;
    }
    for containers in ["containers", "initContainers"] {
        for (child_path, container) in items(spec, containers, field) {
            for (child_path, port) in items(container, "ports", &child_path) {
                let host = int(port, &["hostPort"]).unwrap_or(0);
                if host != 0 && Some(host) != int(port, &["containerPort"]) {
                    let detail = "must match `containerPort` when `hostNetwork` is true";
                    errors.invalid(&child_path.child("hostPort"), host, detail);
                }
            }
        }
    }
}

/// A user or group id.
pub(super) fn user(parent: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    if let Some(number) = int(parent, &[name]).filter(|it| !(0..=i64::from(i32::MAX)).contains(it)) {
        errors.invalid(&field.child(name), number, "must be between 0 and 2147483647, inclusive");
    }
}

fn security(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(context) = at(spec, &["securityContext"]) else { return };
    let field = field.child("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        user(context, name, &field, errors);
    }
}

fn tolerations(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (field, toleration) in items(spec, "tolerations", field) {
        let (key, operator) = (text(toleration, &["key"]), text(toleration, &["operator"]));
        if !key.is_empty() {
            errors.add_all(&field.child("key"), key, names::qualified(key));
        }
        let child_path = field.child("operator");
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(&child_path, operator, detail);
        }
        let effect = text(toleration, &["effect"]);
        if at(toleration, &["tolerationSeconds"]).is_some() && effect != "NoExecute" {
            errors.invalid(
                &field.child("effect"),
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            );
        }
        let value = text(toleration, &["value"]);
        match operator {
            "" | "Equal" => {
                let found = names::label_value(value);
                if let Some(first) = found.first() {
                    // The server puts all errors of a toleration's value under `operator`.
                    errors.invalid(&child_path, value, first);
                }
            }
            "Exists" if !value.is_empty() => {
                errors.invalid(&child_path, value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            other => errors.not_supported(&child_path, other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            errors.one_of(&field.child("effect"), effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

fn aliases(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (field, alias) in items(spec, "hostAliases", field) {
        let address = text(alias, &["ip"]);
        errors.add_all(&field.child("ip"), address, names::address(address));
        for (field, host) in items(alias, "hostnames", &field) {
            let host = host.as_str().unwrap_or_default();
            errors.add_all(&field, host, names::subdomain(host));
        }
    }
}

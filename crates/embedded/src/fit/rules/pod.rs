//! Rules for pods and their templates.

use pintle_tree::Node;

use super::{Faults, Field, affinity, container, items, labels, names, profile, volume};
use crate::fit::tree::{at, int, is_true, list, text};

/// A pod.
pub(super) fn pod(object: &Node, faults: &mut Faults) {
    profile::check(object, &Field::root("metadata.annotations"), faults);
    spec(object, &[], &Field::root("spec"), faults);
}

/// A template of pods at `field`, whose spec is checked after its metadata.
pub(super) fn template(object: &Node, field: &Field, faults: &mut Faults) {
    let template = at(object, &["template"]).cloned().unwrap_or_default();
    template_of(&template, field, faults);
}

/// A template of pods.
pub(super) fn template_of(template: &Node, field: &Field, faults: &mut Faults) {
    template_with(template, &[], field, faults);
}

/// A template of pods that get these volumes from elsewhere.
pub(super) fn template_with(template: &Node, claims: &[&str], field: &Field, faults: &mut Faults) {
    let meta = at(template, &["metadata"]).cloned().unwrap_or_default();
    labels(&meta, "labels", &field.child("metadata"), faults);
    profile::check(template, &field.child("annotations"), faults);
    spec(template, claims, &field.child("spec"), faults);
}

fn spec(parent: &Node, claims: &[&str], field: &Field, faults: &mut Faults) {
    let spec = at(parent, &["spec"]).cloned().unwrap_or_default();
    let spec = &spec;
    let mut volumes = volume::volumes(spec, field, faults);
    volumes.extend(claims.iter().map(|name| (*name).to_owned()));
    container::containers(spec, &volumes, field, faults);
    host_network(spec, field, faults);
    let policy = text(spec, &["restartPolicy"]);
    faults.one_of(&field.child("restartPolicy"), policy, &["Always", "OnFailure", "Never"]);
    let dns = text(spec, &["dnsPolicy"]);
    faults.one_of(
        &field.child("dnsPolicy"),
        dns,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    labels(spec, "nodeSelector", field, faults);
    security(spec, field, faults);
    affinity::affinity(spec, field, faults);
    if dns == "None" && list(spec, &["dnsConfig", "nameservers"]).is_empty() {
        let (place, detail) = match at(spec, &["dnsConfig"]) {
            None => (field.child("dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None"),
            Some(_) => (
                field.child("dnsConfig").child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            ),
        };
        faults.required(&place, detail);
    }
    affinity::spread(spec, field, faults);
    let account = text(spec, &["serviceAccountName"]);
    if !account.is_empty() {
        faults.each(&field.child("serviceAccountName"), account, names::subdomain(account));
    }
    if let Some(deadline) =
        int(spec, &["activeDeadlineSeconds"]).filter(|it| !(1..=i64::from(i32::MAX)).contains(it))
    {
        faults.invalid(
            &field.child("activeDeadlineSeconds"),
            deadline,
            "must be between 1 and 2147483647, inclusive",
        );
    }
    for name in ["hostname", "subdomain"] {
        let value = text(spec, &[name]);
        if !value.is_empty() {
            faults.each(&field.child(name), value, names::label(value));
        }
    }
    tolerations(spec, field, faults);
    aliases(spec, field, faults);
    let class = text(spec, &["priorityClassName"]);
    if !class.is_empty() {
        faults.each(&field.child("priorityClassName"), class, names::subdomain(class));
    }
}

fn host_network(spec: &Node, field: &Field, faults: &mut Faults) {
    if !is_true(spec, &["hostNetwork"]) {
        return;
    }
    for containers in ["containers", "initContainers"] {
        for (place, container) in items(spec, containers, field) {
            for (place, port) in items(container, "ports", &place) {
                let host = int(port, &["hostPort"]).unwrap_or(0);
                if host != 0 && Some(host) != int(port, &["containerPort"]) {
                    let detail = "must match `containerPort` when `hostNetwork` is true";
                    faults.invalid(&place.child("hostPort"), host, detail);
                }
            }
        }
    }
}

/// A user or group, which is a number that is not negative.
pub(super) fn user(parent: &Node, name: &str, field: &Field, faults: &mut Faults) {
    if let Some(number) = int(parent, &[name]).filter(|it| !(0..=i64::from(i32::MAX)).contains(it)) {
        faults.invalid(&field.child(name), number, "must be between 0 and 2147483647, inclusive");
    }
}

fn security(spec: &Node, field: &Field, faults: &mut Faults) {
    let Some(context) = at(spec, &["securityContext"]) else { return };
    let field = field.child("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        user(context, name, &field, faults);
    }
}

fn tolerations(spec: &Node, field: &Field, faults: &mut Faults) {
    for (field, toleration) in items(spec, "tolerations", field) {
        let (key, operator) = (text(toleration, &["key"]), text(toleration, &["operator"]));
        if !key.is_empty() {
            faults.each(&field.child("key"), key, names::qualified(key));
        }
        let place = field.child("operator");
        if key.is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            faults.invalid(&place, operator, detail);
        }
        let effect = text(toleration, &["effect"]);
        if at(toleration, &["tolerationSeconds"]).is_some() && effect != "NoExecute" {
            faults.invalid(
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
                    faults.invalid(&place, value, first);
                }
            }
            "Exists" if !value.is_empty() => {
                faults.invalid(&place, value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            other => faults.not_supported(&place, other, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            faults.one_of(&field.child("effect"), effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

fn aliases(spec: &Node, field: &Field, faults: &mut Faults) {
    for (field, alias) in items(spec, "hostAliases", field) {
        let address = text(alias, &["ip"]);
        faults.each(&field.child("ip"), address, names::address(address));
        for (field, host) in items(alias, "hostnames", &field) {
            let host = host.as_str().unwrap_or_default();
            faults.each(&field, host, names::subdomain(host));
        }
    }
}

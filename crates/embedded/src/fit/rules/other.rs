//! Rules for configuration, limits, priorities, leases, addresses and webhooks.

use base64::Engine as _;
use pintle_tree::Node;

use super::{Faults, Field, entries, items, names};
use crate::fit::quantity::Quantity;
use crate::fit::tree::{at, int, list, text};

/// The most bytes of a config map or a secret.
const MOST_BYTES: usize = 1 << 20;

/// Kinds with few rules.
pub(super) fn other(group: &str, kind: &str, object: &Node, faults: &mut Faults) {
    match (group, kind) {
        ("", "ConfigMap") => config_map(object, faults),
        ("", "Secret") => secret(object, faults),
        ("", "ResourceQuota") => quota(object, faults),
        ("", "LimitRange") => limits(object, faults),
        ("", "Endpoints") => endpoints(object, faults),
        ("", "Event") => event(object, faults),
        ("scheduling.k8s.io", "PriorityClass") => priority(object, faults),
        ("coordination.k8s.io", "Lease") => lease(object, faults),
        ("discovery.k8s.io", "EndpointSlice") => slice(object, faults),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            webhooks(object, faults);
        }
        _ => {}
    }
}

fn config_map(object: &Node, faults: &mut Faults) {
    let root = Field::root("");
    let binary = entries(object, "binaryData");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let name = key.to_str_lossy();
        let place = root.child("data").key(&name);
        faults.each(&place, &name, names::config_key(&name));
        if binary.iter().any(|(other, _)| *other == key) {
            faults.invalid(&place, &*name, "duplicate of key present in binaryData");
        }
        size += value.as_text().map_or(0, |text| text.len());
    }
    for (key, value) in &binary {
        let name = key.to_str_lossy();
        faults.each(&root.child("binaryData").key(&name), &name, names::config_key(&name));
        size += value.as_text().map_or(0, |text| text.len() / 4 * 3);
    }
    if size > MOST_BYTES {
        faults.too_long(&Field::root("[]"), MOST_BYTES);
    }
}

fn secret(object: &Node, faults: &mut Faults) {
    let data = Field::root("data");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let name = key.to_str_lossy();
        faults.each(&data.key(&name), &name, names::config_key(&name));
        size += value.as_text().map_or(0, |text| text.len() / 4 * 3);
    }
    if size > MOST_BYTES {
        faults.too_long(&data, MOST_BYTES);
    }
    let bytes = |key: &str| {
        let text = at(object, &["data", key])?.as_text()?;
        base64::engine::general_purpose::STANDARD.decode(&**text).ok()
    };
    match text(object, &["type"]) {
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"], object, &data, faults),
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"], object, &data, faults),
        kind @ ("kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") => {
            let key = if kind.ends_with("json") { ".dockerconfigjson" } else { ".dockercfg" };
            need(&[key], object, &data, faults);
            if let Some(bytes) = bytes(key)
                && let Err(error) = pintle_tree::json::read(&bytes)
            {
                faults.invalid(&data.key(key), "<secret contents redacted>", &error.to_string());
            }
        }
        "kubernetes.io/basic-auth" => {
            let has = |key: &str| at(object, &["data", key]).is_some();
            if !has("username") && !has("password") {
                need(&["username", "password"], object, &data, faults);
            }
        }
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if text(object, &["metadata", "annotations", name]).is_empty() {
                faults.required(&Field::root("metadata.annotations").key(name), "");
            }
        }
        _ => {}
    }
}

fn need(keys: &[&str], object: &Node, data: &Field, faults: &mut Faults) {
    for key in keys {
        if at(object, &["data", key]).is_none() {
            faults.required(&data.key(key), "");
        }
    }
}

fn quota(object: &Node, faults: &mut Faults) {
    let field = Field::root("spec.hard");
    let empty = Node::empty_map();
    for (name, amount) in entries(at(object, &["spec"]).unwrap_or(&empty), "hard") {
        let (name, amount) = (name.to_str_lossy(), amount.as_str().unwrap_or_default());
        let Some(quantity) = Quantity::read(amount) else { continue };
        let is_whole = !name.contains("cpu") && !name.contains("memory") && !name.contains("storage");
        if quantity.is_negative() {
            faults.invalid(&field.key(&name), amount, "must be greater than or equal to 0");
        } else if is_whole && quantity.whole().is_none() {
            faults.invalid(&field.key(&name), amount, "must be an integer");
        }
    }
}

fn limits(object: &Node, faults: &mut Faults) {
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    for (place, limit) in items(spec, "limits", &Field::root("spec")) {
        for (name, least) in entries(limit, "min") {
            let name = name.to_str_lossy();
            let least = least.as_str().unwrap_or_default();
            let exceeds = |other: &str| {
                let most = at(limit, &[other, &name]).and_then(Node::as_str)?;
                (Quantity::read(least)?.exceeds(&Quantity::read(most)?)).then(|| most.to_owned())
            };
            if let Some(most) = exceeds("max") {
                let detail = format!("min value {least} is greater than max value {most}");
                faults.invalid(&place.child("min").key(&name), least, &detail);
            }
            if let Some(most) = exceeds("defaultRequest") {
                let detail = format!("min value {least} is greater than default request value {most}");
                faults.invalid(&place.child("defaultRequest").key(&name), most.as_str(), &detail);
            }
            if let Some(most) = exceeds("default") {
                let detail = format!("min value {least} is greater than default value {most}");
                faults.invalid(&place.child("default").key(&name), least, &detail);
            }
        }
    }
}

fn endpoints(object: &Node, faults: &mut Faults) {
    for (place, subset) in items(object, "subsets", &Field::root("")) {
        for (place, address) in items(subset, "addresses", &place) {
            let address = text(address, &["ip"]);
            let found = names::address(address);
            if !found.is_empty() {
                faults.each(&place.child("ip"), address, found);
                // Two checks look at it.
                faults.invalid(&place.child("ip"), address, "must be a valid IP address");
            }
        }
        for (place, port) in items(subset, "ports", &place) {
            faults.port(&place.child("port"), int(port, &["port"]).unwrap_or(0));
        }
    }
}

fn event(object: &Node, faults: &mut Faults) {
    let (own, other) =
        (text(object, &["metadata", "namespace"]), text(object, &["involvedObject", "namespace"]));
    let is_default = other.is_empty() && own == "default";
    if own != other && !is_default {
        faults.invalid(&Field::root("involvedObject.namespace"), other, "does not match event.namespace");
    }
}

fn priority(object: &Node, faults: &mut Faults) {
    let root = Field::root("");
    let name = text(object, &["metadata", "name"]);
    if name.starts_with("system-") {
        if !matches!(name, "system-node-critical" | "system-cluster-critical") {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            faults.forbidden(&root.child("metadata.name"), &detail);
        }
    } else if int(object, &["value"]).unwrap_or(0) > 1_000_000_000 {
        faults.forbidden(
            &root.child("value"),
            "maximum allowed value of a user defined priority is 1000000000",
        );
    }
    let policy = text(object, &["preemptionPolicy"]);
    if !policy.is_empty() {
        faults.one_of(&root.child("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
}

fn lease(object: &Node, faults: &mut Faults) {
    let field = Field::root("spec");
    if let Some(seconds) = int(object, &["spec", "leaseDurationSeconds"]).filter(|seconds| *seconds <= 0) {
        faults.invalid(&field.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(spec) = at(object, &["spec"]) {
        faults.not_negative(spec, "leaseTransitions", &field);
    }
}

fn slice(object: &Node, faults: &mut Faults) {
    let root = Field::root("");
    let kind = text(object, &["addressType"]);
    if kind.is_empty() {
        faults.required(&root.child("addressType"), "");
    } else {
        faults.one_of(&root.child("addressType"), kind, &["FQDN", "IPv4", "IPv6"]);
    }
    for (place, endpoint) in items(object, "endpoints", &root) {
        if list(endpoint, &["addresses"]).is_empty() {
            faults.required(&place.child("addresses"), "must contain at least 1 address");
        }
    }
}

fn webhooks(object: &Node, faults: &mut Faults) {
    for (place, webhook) in items(object, "webhooks", &Field::root("")) {
        let name = text(webhook, &["name"]);
        if name.is_empty() {
            faults.required(&place.child("name"), "");
        } else if name.split('.').count() < 3 {
            let detail = "should be a domain with at least three segments separated by dots";
            faults.invalid(&place.child("name"), name, detail);
        }
        if text(webhook, &["sideEffects"]).is_empty() {
            faults.required(&place.child("sideEffects"), "must specify one of None, NoneOnDryRun");
        }
        let sources =
            ["url", "service"].iter().filter(|name| at(webhook, &["clientConfig", name]).is_some()).count();
        if sources != 1 {
            faults.required(&place.child("clientConfig"), "exactly one of url or service is required");
        }
        if list(webhook, &["admissionReviewVersions"]).is_empty() {
            faults.required(&place.child("admissionReviewVersions"), "must specify one of v1, v1beta1");
        }
    }
}

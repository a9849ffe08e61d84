//! Validation of ConfigMaps, Secrets, quotas, limit ranges, priority classes, leases, endpoints and webhooks.

use base64::Engine as _;
use pintle_tree::Node;

use super::{ErrorList, FieldPath, entries, items, names};
use crate::fields::{at, int, list, text};
use crate::quantity::Quantity;

/// The limit of the data of a ConfigMap or a Secret (`MaxSecretSize`).
const MAX_DATA_BYTES: usize = 1 << 20;

pub(super) fn other(group: &str, kind: &str, object: &Node, errors: &mut ErrorList) {
    match (group, kind) {
        ("", "ConfigMap") => config_map(object, errors),
        ("", "Secret") => secret(object, errors),
        ("", "ResourceQuota") => quota(object, errors),
        ("", "LimitRange") => limits(object, errors),
        ("", "Endpoints") => endpoints(object, errors),
        ("", "Event") => event(object, errors),
        ("scheduling.k8s.io", "PriorityClass") => priority(object, errors),
        ("coordination.k8s.io", "Lease") => lease(object, errors),
        ("discovery.k8s.io", "EndpointSlice") => slice(object, errors),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            webhooks(object, errors);
        }
        _ => {}
    }
}

fn config_map(object: &Node, errors: &mut ErrorList) {
    let root = FieldPath::root("");
    let binary = entries(object, "binaryData");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let name = key.to_str_lossy();
        let child_path = root.child("data").key(&name);
        errors.add_all(&child_path, &name, names::config_key(&name));
        if binary.iter().any(|(other, _)| *other == key) {
            errors.invalid(&child_path, &*name, "duplicate of key present in binaryData");
        }
        size += value.as_text().map_or(0, |text| text.len());
    }
    for (key, value) in &binary {
        let name = key.to_str_lossy();
        errors.add_all(&root.child("binaryData").key(&name), &name, names::config_key(&name));
        size += value.as_text().map_or(0, |text| decoded_len(text));
    }
    if size > MAX_DATA_BYTES {
        errors.too_long(&FieldPath::root("[]"), MAX_DATA_BYTES);
    }
}

/// The number of bytes that a valid base64 text decodes to, without decoding it: the size limits apply to these.
fn decoded_len(text: &[u8]) -> usize {
    let padding = text.iter().rev().take(2).filter(|byte| **byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

fn secret(object: &Node, errors: &mut ErrorList) {
    let data = FieldPath::root("data");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        let name = key.to_str_lossy();
        errors.add_all(&data.key(&name), &name, names::config_key(&name));
        size += value.as_text().map_or(0, |text| decoded_len(text));
    }
    if size > MAX_DATA_BYTES {
        errors.too_long(&data, MAX_DATA_BYTES);
    }
    let bytes = |key: &str| {
        let text = at(object, &["data", key])?.as_text()?;
        base64::engine::general_purpose::STANDARD.decode(&**text).ok()
    };
    match text(object, &["type"]) {
        "kubernetes.io/tls" => require_keys(&["tls.crt", "tls.key"], object, &data, errors),
        "kubernetes.io/ssh-auth" => require_keys(&["ssh-privatekey"], object, &data, errors),
        kind @ ("kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") => {
            let key = if kind.ends_with("json") { ".dockerconfigjson" } else { ".dockercfg" };
            require_keys(&[key], object, &data, errors);
            if let Some(bytes) = bytes(key)
                && let Err(error) = pintle_tree::json::read(&bytes)
            {
                // As in the server: the error must not repeat the content of a Secret.
                errors.invalid(&data.key(key), "<secret contents redacted>", error.kubernetes_text());
            }
        }
        "kubernetes.io/basic-auth" => {
            let has = |key: &str| at(object, &["data", key]).is_some();
            if !has("username") && !has("password") {
                require_keys(&["username", "password"], object, &data, errors);
            }
        }
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if text(object, &["metadata", "annotations", name]).is_empty() {
                errors.required(&FieldPath::root("metadata.annotations").key(name), "");
            }
        }
        _ => {}
    }
}

fn require_keys(keys: &[&str], object: &Node, data: &FieldPath, errors: &mut ErrorList) {
    for key in keys {
        if at(object, &["data", key]).is_none() {
            errors.required(&data.key(key), "");
        }
    }
}

fn quota(object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec.hard");
    let empty = Node::empty_map();
    for (name, amount) in entries(at(object, &["spec"]).unwrap_or(&empty), "hard") {
        let (name, amount) = (name.to_str_lossy(), amount.as_str().unwrap_or_default());
        let Some(quantity) = Quantity::parse(amount) else { continue };
        let is_whole = !name.contains("cpu") && !name.contains("memory") && !name.contains("storage");
        if quantity.is_negative() {
            errors.invalid(&field.key(&name), amount, "must be greater than or equal to 0");
        } else if is_whole && quantity.whole().is_none() {
            errors.invalid(&field.key(&name), amount, "must be an integer");
        }
    }
}

fn limits(object: &Node, errors: &mut ErrorList) {
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    for (child_path, limit) in items(spec, "limits", &FieldPath::root("spec")) {
        for (name, least) in entries(limit, "min") {
            let name = name.to_str_lossy();
            let least = least.as_str().unwrap_or_default();
            let exceeds = |other: &str| {
                let most = at(limit, &[other, &name]).and_then(Node::as_str)?;
                (Quantity::parse(least)?.exceeds(&Quantity::parse(most)?)).then(|| most.to_owned())
            };
            if let Some(most) = exceeds("max") {
                let detail = format!("min value {least} is greater than max value {most}");
                errors.invalid(&child_path.child("min").key(&name), least, &detail);
            }
            if let Some(most) = exceeds("defaultRequest") {
                let detail = format!("min value {least} is greater than default request value {most}");
                errors.invalid(&child_path.child("defaultRequest").key(&name), most.as_str(), &detail);
            }
            if let Some(most) = exceeds("default") {
                let detail = format!("min value {least} is greater than default value {most}");
                errors.invalid(&child_path.child("default").key(&name), least, &detail);
            }
        }
    }
}

fn endpoints(object: &Node, errors: &mut ErrorList) {
    for (child_path, subset) in items(object, "subsets", &FieldPath::root("")) {
        for (child_path, address) in items(subset, "addresses", &child_path) {
            let address = text(address, &["ip"]);
            let found = names::address(address);
            if !found.is_empty() {
                errors.add_all(&child_path.child("ip"), address, found);
                // The server validates this twice and reports it twice.
                errors.invalid(&child_path.child("ip"), address, "must be a valid IP address");
            }
        }
        for (child_path, port) in items(subset, "ports", &child_path) {
            errors.port(&child_path.child("port"), int(port, &["port"]).unwrap_or(0));
        }
    }
}

fn event(object: &Node, errors: &mut ErrorList) {
    let (own, other) =
        (text(object, &["metadata", "namespace"]), text(object, &["involvedObject", "namespace"]));
    // Events about cluster-scoped objects are in the namespace `default`.
    let is_default = other.is_empty() && own == "default";
    if own != other && !is_default {
        errors.invalid(&FieldPath::root("involvedObject.namespace"), other, "does not match event.namespace");
    }
}

fn priority(object: &Node, errors: &mut ErrorList) {
    let root = FieldPath::root("");
    let name = text(object, &["metadata", "name"]);
    if name.starts_with("system-") {
        if !matches!(name, "system-node-critical" | "system-cluster-critical") {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            errors.forbidden(&root.child("metadata.name"), &detail);
        }
    // `HighestUserDefinablePriority`; the system classes are above it.
    } else if int(object, &["value"]).unwrap_or(0) > 1_000_000_000 {
        errors.forbidden(
            &root.child("value"),
            "maximum allowed value of a user defined priority is 1000000000",
        );
    }
    let policy = text(object, &["preemptionPolicy"]);
    if !policy.is_empty() {
        errors.one_of(&root.child("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }
}

fn lease(object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    if let Some(seconds) = int(object, &["spec", "leaseDurationSeconds"]).filter(|seconds| *seconds <= 0) {
        errors.invalid(&field.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(spec) = at(object, &["spec"]) {
        errors.not_negative(spec, "leaseTransitions", &field);
    }
}

fn slice(object: &Node, errors: &mut ErrorList) {
    let root = FieldPath::root("");
    let kind = text(object, &["addressType"]);
    if kind.is_empty() {
        errors.required(&root.child("addressType"), "");
    } else {
        errors.one_of(&root.child("addressType"), kind, &["FQDN", "IPv4", "IPv6"]);
    }
    for (child_path, endpoint) in items(object, "endpoints", &root) {
        if list(endpoint, &["addresses"]).is_empty() {
            errors.required(&child_path.child("addresses"), "must contain at least 1 address");
        }
    }
}

fn webhooks(object: &Node, errors: &mut ErrorList) {
    for (child_path, webhook) in items(object, "webhooks", &FieldPath::root("")) {
        let name = text(webhook, &["name"]);
        if name.is_empty() {
            errors.required(&child_path.child("name"), "");
        } else if name.split('.').count() < 3 {
            let detail = "should be a domain with at least three segments separated by dots";
            errors.invalid(&child_path.child("name"), name, detail);
        }
        if text(webhook, &["sideEffects"]).is_empty() {
            errors.required(&child_path.child("sideEffects"), "must specify one of None, NoneOnDryRun");
        }
        let sources =
            ["url", "service"].iter().filter(|name| at(webhook, &["clientConfig", name]).is_some()).count();
        if sources != 1 {
            errors.required(&child_path.child("clientConfig"), "exactly one of url or service is required");
        }
        if list(webhook, &["admissionReviewVersions"]).is_empty() {
            errors.required(&child_path.child("admissionReviewVersions"), "must specify one of v1, v1beta1");
        }
    }
}

//! Validation of containers.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node};

use super::pod::user;
use super::probe::{lifecycle, probes};
use super::{ErrorList, FieldPath, entries, items, names};
use crate::fields::{at, int, is_true, list, text};
use crate::quantity::Quantity;

/// Validates the containers of a pod; `volumes` are the names that they can mount.
pub(super) fn containers(spec: &Node, volumes: &[String], field: &FieldPath, errors: &mut ErrorList) {
    let regular = items(spec, "containers", field);
    if regular.is_empty() {
        errors.required(&field.child("containers"), "");
    }
    // Names are unique across containers and init containers; the later list reports the duplicate.
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (child_path, container) in &regular {
        common(container, volumes, child_path, errors);
        if !seen.insert(text(container, &["name"])) {
            errors.duplicate(&child_path.child("name"), text(container, &["name"]));
        }
        lifecycle(container, child_path, errors);
        probes(container, child_path, errors);
    }
    host_ports(&regular, errors);
    // After the containers, although the manifest usually has them before: the order of `ValidatePodSpec`.
    for (child_path, container) in items(spec, "initContainers", field) {
        common(container, volumes, &child_path, errors);
        let name = text(container, &["name"]);
        if seen.contains(name) {
            errors.duplicate(&child_path.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        if text(container, &["restartPolicy"]) == "Always" {
            lifecycle(container, &child_path, errors);
            probes(container, &child_path, errors);
            continue;
        }
        for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if at(container, &[name]).is_some() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&child_path.child(name), detail);
            }
        }
    }
}

fn common(container: &Node, volumes: &[String], field: &FieldPath, errors: &mut ErrorList) {
    let name = text(container, &["name"]);
    if name.is_empty() {
        errors.required(&field.child("name"), "");
    } else {
        errors.add_all(&field.child("name"), name, names::label(name));
    }
    if text(container, &["image"]).is_empty() {
        errors.required(&field.child("image"), "");
    }
    let policy = text(container, &["terminationMessagePolicy"]);
    errors.one_of(&field.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    ports(container, field, errors);
    variables(container, field, errors);
    mounts(container, volumes, field, errors);
    let policy = text(container, &["imagePullPolicy"]);
    errors.one_of(&field.child("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    if let Some(wanted) = at(container, &["resources"]) {
        resources(wanted, &field.child("resources"), errors);
    }
    security(container, field, errors);
}

fn ports(container: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (child_path, port) in items(container, "ports", field) {
        let name = text(port, &["name"]);
        if !name.is_empty() {
            let found = names::port_name(name);
            let is_good = found.is_empty();
            errors.add_all(&child_path.child("name"), name, found);
            if is_good && !seen.insert(name) {
                errors.duplicate(&child_path.child("name"), name);
            }
        }
        match int(port, &["containerPort"]).unwrap_or(0) {
            0 => errors.required(&child_path.child("containerPort"), ""),
            number => errors.port(&child_path.child("containerPort"), number),
        }
        match int(port, &["hostPort"]).unwrap_or(0) {
            0 => {}
            number => errors.port(&child_path.child("hostPort"), number),
        }
        errors.one_of(&child_path.child("protocol"), text(port, &["protocol"]), &["SCTP", "TCP", "UDP"]);
    }
}

fn host_ports(containers: &[(FieldPath, &Node)], errors: &mut ErrorList) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (child_path, container) in containers {
        for (child_path, port) in items(container, "ports", child_path) {
            let number = int(port, &["hostPort"]).unwrap_or(0);
            let name = format!("{}/{}/{number}", text(port, &["protocol"]), text(port, &["hostIP"]));
            if number != 0 && !seen.insert(name.clone()) {
                errors.duplicate(&child_path.child("hostPort"), name);
            }
        }
    }
}

fn variables(container: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (child_path, variable) in items(container, "env", field) {
        let name = text(variable, &["name"]);
        if name.is_empty() {
            errors.required(&child_path.child("name"), "");
        } else {
            errors.add_all(&child_path.child("name"), name, names::variable(name));
        }
        if let Some(from) = at(variable, &["valueFrom"]) {
            variable_source(from, text(variable, &["value"]), &child_path.child("valueFrom"), errors);
        }
    }
    // Without index, like `subPath` below: the server passes the path of the list.
    let child_path = field.child("envFrom");
    for source in list(container, &["envFrom"]) {
        let sources =
            ["configMapRef", "secretRef"].into_iter().filter(|name| at(source, &[name]).is_some()).count();
        match sources {
            0 => errors.invalid(&child_path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(&child_path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn variable_source(from: &Node, value: &str, field: &FieldPath, errors: &mut ErrorList) {
    const SOURCES: [&str; 5] =
        ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let present: Vec<&str> = SOURCES.into_iter().filter(|name| at(from, &[name]).is_some()).collect();
    if let Some(reference) = at(from, &["fieldRef"]) {
        field_reference(reference, &field.child("fieldRef"), errors);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = at(from, &[name]) {
            let key = text(reference, &["key"]);
            if key.is_empty() {
                errors.required(&field.child(name).child("key"), "");
            } else {
                errors.add_all(&field.child(name).child("key"), key, names::config_key(key));
            }
        }
    }
    match present.len() {
        0 => {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.invalid(field, "", detail);
        }
        _ if !value.is_empty() => errors.invalid(field, "", "may not be specified when `value` is not empty"),
        1 => {}
        _ => errors.invalid(field, "", "may not have more than one field specified at a time"),
    }
}

fn field_reference(reference: &Node, field: &FieldPath, errors: &mut ErrorList) {
    const KNOWN: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let path = text(reference, &["fieldPath"]);
    if path.is_empty() {
        return errors.required(&field.child("fieldPath"), "");
    }
    let is_subscript = path.starts_with("metadata.labels['") || path.starts_with("metadata.annotations['");
    if !KNOWN.contains(&path) && !is_subscript {
        let detail = format!("error converting fieldPath: field label not supported: {path}");
        errors.invalid(&field.child("fieldPath"), path, &detail);
    }
}

fn mounts(container: &Node, volumes: &[String], field: &FieldPath, errors: &mut ErrorList) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (child_path, mount) in items(container, "volumeMounts", field) {
        let name = text(mount, &["name"]);
        if name.is_empty() {
            errors.required(&child_path.child("name"), "");
        } else if !volumes.iter().any(|known| known == name) {
            errors.not_found(&child_path.child("name"), name);
        }
        let path = text(mount, &["mountPath"]);
        if path.is_empty() {
            errors.required(&child_path.child("mountPath"), "");
        } else if !seen.insert(path) {
            errors.invalid(&child_path.child("mountPath"), path, "must be unique");
        }
        // The server omits the index in this path.
        relative_path(text(mount, &["subPath"]), &field.child("volumeMounts").child("subPath"), errors);
    }
}

/// A relative path that does not leave its base.
pub(super) fn relative_path(path: &str, field: &FieldPath, errors: &mut ErrorList) {
    if path.starts_with('/') {
        errors.invalid(field, path, "must be a relative path");
    }
    no_parent_directories(path, field, errors);
}

/// A path without `..`.
pub(super) fn no_parent_directories(path: &str, field: &FieldPath, errors: &mut ErrorList) {
    if path.split('/').any(|part| part == "..") {
        errors.invalid(field, path, "must not contain '..'");
    }
}

/// Requests and limits.
pub(super) fn resources(wanted: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for kind in ["limits", "requests"] {
        for (name, amount) in entries(wanted, kind) {
            resource(&name.to_str_lossy(), amount, &field.child(kind), errors);
        }
        if kind == "requests" {
            compare(wanted, field, errors);
        }
    }
}

fn resource(name: &str, amount: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let child_path = field.key(name);
    let found = names::qualified(name);
    let is_good = found.is_empty();
    errors.add_all(&child_path, name, found);
    let is_standard =
        matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if is_good && !name.contains('/') && !is_standard {
        errors.invalid(&child_path, name, "must be a standard resource type or fully qualified");
    }
    // A second error about the same name: the server validates the name as a resource and as one of containers.
    if !name.contains('/') && !is_standard {
        errors.invalid(&child_path, name, "must be a standard resource for containers");
    }
    if !is_good && name.contains('/') {
        errors.invalid(&child_path, name, "doesn't follow extended resource name standard");
    }
    let text = amount.as_str().unwrap_or_default();
    let Some(quantity) = Quantity::parse(text) else { return };
    if quantity.is_negative() {
        errors.invalid(&child_path, text, "must be greater than or equal to 0");
    } else if name.contains('/')
        && is_good
        && !name.starts_with("kubernetes.io/")
        && quantity.whole().is_none()
    {
        errors.invalid(&child_path, text, "must be an integer");
    }
}

fn compare(wanted: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let limits = at(wanted, &["limits"]).and_then(Node::as_map);
    for (name, request) in entries(wanted, "requests") {
        let Some(limit) = limits.and_then(|limits: &Map<Node>| limits.get(name)).and_then(Node::as_str)
        else {
            continue;
        };
        let request = request.as_str().unwrap_or_default();
        if let (Some(least), Some(most)) = (Quantity::parse(request), Quantity::parse(limit))
            && least.exceeds(&most)
        {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.invalid(&field.child("requests"), request, &detail);
        }
    }
}

fn security(container: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(context) = at(container, &["securityContext"]) else { return };
    let field = field.child("securityContext");
    user(context, "runAsUser", &field, errors);
    user(context, "runAsGroup", &field, errors);
    // Only an explicit `false` contradicts `privileged`.
    let escalates = at(context, &["allowPrivilegeEscalation"]).and_then(Node::as_bool) != Some(false);
    if !escalates && is_true(context, &["privileged"]) {
        errors.invalid_formatted(
            &field,
            &format_context(context),
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        );
    }
}

/// A security context as the server shows it: with the names of the Go fields.
fn format_context(context: &Node) -> String {
    const FIELDS: [(&str, &str); 12] = [
        ("capabilities", "Capabilities"),
        ("privileged", "Privileged"),
        ("seLinuxOptions", "SELinuxOptions"),
        ("windowsOptions", "WindowsOptions"),
        ("runAsUser", "RunAsUser"),
        ("runAsGroup", "RunAsGroup"),
        ("runAsNonRoot", "RunAsNonRoot"),
        ("readOnlyRootFilesystem", "ReadOnlyRootFilesystem"),
        ("allowPrivilegeEscalation", "AllowPrivilegeEscalation"),
        ("procMount", "ProcMount"),
        ("seccompProfile", "SeccompProfile"),
        ("appArmorProfile", "AppArmorProfile"),
    ];
    super::format_struct(context, &FIELDS)
}

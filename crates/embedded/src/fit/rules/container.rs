//! Rules for containers.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node};

use super::pod::user;
use super::probe::{lifecycle, probes};
use super::{Faults, Field, entries, items, names};
use crate::fit::quantity::Quantity;
use crate::fit::tree::{at, int, is_true, list, text};

/// The containers of a pod, which has these volumes.
pub(super) fn containers(spec: &Node, volumes: &[String], field: &Field, faults: &mut Faults) {
    let regular = items(spec, "containers", field);
    if regular.is_empty() {
        faults.required(&field.child("containers"), "");
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (place, container) in &regular {
        common(container, volumes, place, faults);
        if !seen.insert(text(container, &["name"])) {
            faults.duplicate(&place.child("name"), text(container, &["name"]));
        }
        lifecycle(container, place, faults);
        probes(container, place, faults);
    }
    host_ports(&regular, faults);
    for (place, container) in items(spec, "initContainers", field) {
        common(container, volumes, &place, faults);
        let name = text(container, &["name"]);
        if seen.contains(name) {
            faults.duplicate(&place.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        if text(container, &["restartPolicy"]) == "Always" {
            lifecycle(container, &place, faults);
            probes(container, &place, faults);
            continue;
        }
        for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if at(container, &[name]).is_some() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                faults.forbidden(&place.child(name), detail);
            }
        }
    }
}

fn common(container: &Node, volumes: &[String], field: &Field, faults: &mut Faults) {
    let name = text(container, &["name"]);
    if name.is_empty() {
        faults.required(&field.child("name"), "");
    } else {
        faults.each(&field.child("name"), name, names::label(name));
    }
    if text(container, &["image"]).is_empty() {
        faults.required(&field.child("image"), "");
    }
    let policy = text(container, &["terminationMessagePolicy"]);
    faults.one_of(&field.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    ports(container, field, faults);
    variables(container, field, faults);
    mounts(container, volumes, field, faults);
    let policy = text(container, &["imagePullPolicy"]);
    faults.one_of(&field.child("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    if let Some(wanted) = at(container, &["resources"]) {
        resources(wanted, &field.child("resources"), faults);
    }
    security(container, field, faults);
}

fn ports(container: &Node, field: &Field, faults: &mut Faults) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (place, port) in items(container, "ports", field) {
        let name = text(port, &["name"]);
        if !name.is_empty() {
            let found = names::port_name(name);
            let is_good = found.is_empty();
            faults.each(&place.child("name"), name, found);
            if is_good && !seen.insert(name) {
                faults.duplicate(&place.child("name"), name);
            }
        }
        match int(port, &["containerPort"]).unwrap_or(0) {
            0 => faults.required(&place.child("containerPort"), ""),
            number => faults.port(&place.child("containerPort"), number),
        }
        match int(port, &["hostPort"]).unwrap_or(0) {
            0 => {}
            number => faults.port(&place.child("hostPort"), number),
        }
        faults.one_of(&place.child("protocol"), text(port, &["protocol"]), &["SCTP", "TCP", "UDP"]);
    }
}

fn host_ports(containers: &[(Field, &Node)], faults: &mut Faults) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (place, container) in containers {
        for (place, port) in items(container, "ports", place) {
            let number = int(port, &["hostPort"]).unwrap_or(0);
            let name = format!("{}/{}/{number}", text(port, &["protocol"]), text(port, &["hostIP"]));
            if number != 0 && !seen.insert(name.clone()) {
                faults.duplicate(&place.child("hostPort"), name);
            }
        }
    }
}

fn variables(container: &Node, field: &Field, faults: &mut Faults) {
    for (place, variable) in items(container, "env", field) {
        let name = text(variable, &["name"]);
        if name.is_empty() {
            faults.required(&place.child("name"), "");
        } else {
            faults.each(&place.child("name"), name, names::variable(name));
        }
        if let Some(from) = at(variable, &["valueFrom"]) {
            variable_source(from, text(variable, &["value"]), &place.child("valueFrom"), faults);
        }
    }
    let place = field.child("envFrom");
    for source in list(container, &["envFrom"]) {
        let sources =
            ["configMapRef", "secretRef"].into_iter().filter(|name| at(source, &[name]).is_some()).count();
        match sources {
            0 => faults.invalid(&place, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => faults.invalid(&place, "", "may not have more than one field specified at a time"),
        }
    }
}

fn variable_source(from: &Node, value: &str, field: &Field, faults: &mut Faults) {
    const SOURCES: [&str; 5] =
        ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let present: Vec<&str> = SOURCES.into_iter().filter(|name| at(from, &[name]).is_some()).collect();
    if let Some(reference) = at(from, &["fieldRef"]) {
        field_reference(reference, &field.child("fieldRef"), faults);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = at(from, &[name]) {
            let key = text(reference, &["key"]);
            if key.is_empty() {
                faults.required(&field.child(name).child("key"), "");
            } else {
                faults.each(&field.child(name).child("key"), key, names::config_key(key));
            }
        }
    }
    match present.len() {
        0 => {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            faults.invalid(field, "", detail);
        }
        _ if !value.is_empty() => faults.invalid(field, "", "may not be specified when `value` is not empty"),
        1 => {}
        _ => faults.invalid(field, "", "may not have more than one field specified at a time"),
    }
}

fn field_reference(reference: &Node, field: &Field, faults: &mut Faults) {
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
        return faults.required(&field.child("fieldPath"), "");
    }
    let is_subscript = path.starts_with("metadata.labels['") || path.starts_with("metadata.annotations['");
    if !KNOWN.contains(&path) && !is_subscript {
        let detail = format!("error converting fieldPath: field label not supported: {path}");
        faults.invalid(&field.child("fieldPath"), path, &detail);
    }
}

fn mounts(container: &Node, volumes: &[String], field: &Field, faults: &mut Faults) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (place, mount) in items(container, "volumeMounts", field) {
        let name = text(mount, &["name"]);
        if name.is_empty() {
            faults.required(&place.child("name"), "");
        } else if !volumes.iter().any(|known| known == name) {
            faults.not_found(&place.child("name"), name);
        }
        let path = text(mount, &["mountPath"]);
        if path.is_empty() {
            faults.required(&place.child("mountPath"), "");
        } else if !seen.insert(path) {
            faults.invalid(&place.child("mountPath"), path, "must be unique");
        }
        // The server leaves the index out here.
        below(text(mount, &["subPath"]), &field.child("volumeMounts").child("subPath"), faults);
    }
}

/// A path that stays below where it begins.
pub(super) fn below(path: &str, field: &Field, faults: &mut Faults) {
    if path.starts_with('/') {
        faults.invalid(field, path, "must be a relative path");
    }
    not_up(path, field, faults);
}

/// A path that does not go up.
pub(super) fn not_up(path: &str, field: &Field, faults: &mut Faults) {
    if path.split('/').any(|part| part == "..") {
        faults.invalid(field, path, "must not contain '..'");
    }
}

/// What a container asks for.
pub(super) fn resources(wanted: &Node, field: &Field, faults: &mut Faults) {
    for kind in ["limits", "requests"] {
        for (name, amount) in entries(wanted, kind) {
            resource(&name.to_str_lossy(), amount, &field.child(kind), faults);
        }
        if kind == "requests" {
            compare(wanted, field, faults);
        }
    }
}

fn resource(name: &str, amount: &Node, field: &Field, faults: &mut Faults) {
    let place = field.key(name);
    let found = names::qualified(name);
    let is_good = found.is_empty();
    faults.each(&place, name, found);
    let is_standard =
        matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if is_good && !name.contains('/') && !is_standard {
        faults.invalid(&place, name, "must be a standard resource type or fully qualified");
    }
    if !name.contains('/') && !is_standard {
        faults.invalid(&place, name, "must be a standard resource for containers");
    }
    if !is_good && name.contains('/') {
        faults.invalid(&place, name, "doesn't follow extended resource name standard");
    }
    let text = amount.as_str().unwrap_or_default();
    let Some(quantity) = Quantity::read(text) else { return };
    if quantity.is_negative() {
        faults.invalid(&place, text, "must be greater than or equal to 0");
    } else if name.contains('/')
        && is_good
        && !name.starts_with("kubernetes.io/")
        && quantity.whole().is_none()
    {
        faults.invalid(&place, text, "must be an integer");
    }
}

fn compare(wanted: &Node, field: &Field, faults: &mut Faults) {
    let limits = at(wanted, &["limits"]).and_then(Node::as_map);
    for (name, request) in entries(wanted, "requests") {
        let Some(limit) = limits.and_then(|limits: &Map<Node>| limits.get(name)).and_then(Node::as_str)
        else {
            continue;
        };
        let request = request.as_str().unwrap_or_default();
        if let (Some(least), Some(most)) = (Quantity::read(request), Quantity::read(limit))
            && least.exceeds(&most)
        {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            faults.invalid(&field.child("requests"), request, &detail);
        }
    }
}

fn security(container: &Node, field: &Field, faults: &mut Faults) {
    let Some(context) = at(container, &["securityContext"]) else { return };
    let field = field.child("securityContext");
    user(context, "runAsUser", &field, faults);
    user(context, "runAsGroup", &field, faults);
    let escalates = at(context, &["allowPrivilegeEscalation"]).and_then(Node::as_bool) != Some(false);
    if !escalates && is_true(context, &["privileged"]) {
        faults.invalid_shown(
            &field,
            &shown(context),
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        );
    }
}

/// A context as the server shows it.
fn shown(context: &Node) -> String {
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
    super::shown(context, &FIELDS)
}

//! Table cells of networking, RBAC, storage and the other groups.

use pintle_tree::Node;

use super::PrintRow;
use super::core::{event, load_balancer_addresses, shortened};
use crate::api::meta::{at, list_at, number_at, text_at};

pub(super) fn cells(group: &str, kind: &str, minor: u16, row: &PrintRow<'_>) -> Option<Vec<Node>> {
    let mut cells = vec![row.name()];
    match (group, kind) {
        ("events.k8s.io", "Event") => return Some(event(row)),
        ("networking.k8s.io", "Ingress") => ingress(row, &mut cells),
        ("networking.k8s.io", "IngressClass") => ingress_class(row, &mut cells),
        ("networking.k8s.io", "NetworkPolicy") => {
            cells.extend([row.selector(&["spec", "podSelector"]), row.age()])
        }
        ("networking.k8s.io", "ServiceCIDR") => {
            let ranges: Vec<&str> =
                list_at(row.object, &["spec", "cidrs"]).iter().filter_map(Node::as_str).collect();
            cells.extend([ranges.join(",").into(), row.age()]);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(row, &mut cells),
        ("storage.k8s.io", "StorageClass") => storage_class(row, minor, &mut cells),
        ("scheduling.k8s.io", "PriorityClass") => {
            let global = at(row.object, &["globalDefault"]).and_then(Node::as_bool).unwrap_or(false);
            cells.extend([Node::Int(row.number(&["value"])), global.into(), row.age()]);
            cells.push(row.text(&["preemptionPolicy"]).into());
        }
        ("coordination.k8s.io", "Lease") => {
            cells.extend([row.text(&["spec", "holderIdentity"]).into(), row.age()])
        }
        ("discovery.k8s.io", "EndpointSlice") => slice(row, &mut cells),
        ("node.k8s.io", "RuntimeClass") => cells.extend([row.text(&["handler"]).into(), row.age()]),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            cells.extend([Node::Int(row.count(&["webhooks"])), row.age()]);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            policy(row, "validations", &mut cells)
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => policy(row, "mutations", &mut cells),
        ("apiregistration.k8s.io", "APIService") => service(row, &mut cells),
        ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => cells.push(row.age()),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            cells.extend([row.text(&["driverName"]).into(), row.age()])
        }
        ("storage.k8s.io", "CSINode") => {
            cells.extend([Node::Int(row.count(&["spec", "drivers"])), row.age()])
        }
        _ => return None,
    }
    Some(cells)
}

/// A CustomResourceDefinition, which has columns of its own since 1.37.
pub(super) fn definition(row: &PrintRow<'_>) -> Vec<Node> {
    let served = list_at(row.object, &["spec", "versions"])
        .iter()
        .filter(|version| at(version, &["served"]).and_then(Node::as_bool).unwrap_or_default());
    let mut versions: Vec<String> = served
        .map(|version| {
            let is_stored = at(version, &["storage"]).and_then(Node::as_bool).unwrap_or_default();
            format!("{}{}", text_at(version, &["name"]), if is_stored { "(storage)" } else { "" })
        })
        .collect();
    versions.sort();
    let short_names: Vec<&str> =
        list_at(row.object, &["spec", "names", "shortNames"]).iter().filter_map(Node::as_str).collect();
    vec![
        row.name(),
        row.text(&["spec", "scope"]).into(),
        versions.join(",").into(),
        row.text(&["metadata", "creationTimestamp"]).into(),
        row.text(&["spec", "group"]).into(),
        row.text(&["spec", "names", "kind"]).into(),
        short_names.join(",").into(),
        row.has_condition("Established").into(),
    ]
}

fn ingress(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let rules =
        list_at(row.object, &["spec", "rules"]).iter().map(|rule| text_at(rule, &["host"]).to_owned());
    let hosts: Vec<String> = rules.filter(|host| !host.is_empty()).collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { shortened(&hosts, 3) };
    let ports = if list_at(row.object, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" };
    cells.extend([
        row.text_or(&["spec", "ingressClassName"], "<none>"),
        hosts.into(),
        load_balancer_addresses(row.object).join(",").into(),
        ports.into(),
        row.age(),
    ]);
}

fn is_default(row: &PrintRow<'_>, annotation: &str) -> bool {
    row.text(&["metadata", "annotations", annotation]) == "true"
}

fn mark_default(row: &PrintRow<'_>, annotation: &str, cells: &mut [Node]) {
    if is_default(row, annotation)
        && let Some(Node::Str(name)) = cells.first_mut()
    {
        *name = format!("{name} (default)").into();
    }
}

fn ingress_class(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    mark_default(row, "ingressclass.kubernetes.io/is-default-class", cells);
    let parameters = at(row.object, &["spec", "parameters"]).map(|parameters| {
        let (kind, group) = (text_at(parameters, &["kind"]), text_at(parameters, &["apiGroup"]));
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", text_at(parameters, &["name"]))
    });
    cells.push(row.text(&["spec", "controller"]).into());
    cells.extend([parameters.unwrap_or_else(|| "<none>".to_owned()).into(), row.age()]);
}

fn binding(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let role = format!("{}/{}", row.text(&["roleRef", "kind"]), row.text(&["roleRef", "name"]));
    cells.extend([role.into(), row.age()]);
    for kind in ["User", "Group", "ServiceAccount"] {
        let subjects =
            list_at(row.object, &["subjects"]).iter().filter(|subject| text_at(subject, &["kind"]) == kind);
        let names = subjects.map(|subject| match kind {
            "ServiceAccount" => {
                format!("{}/{}", text_at(subject, &["namespace"]), text_at(subject, &["name"]))
            }
            _ => text_at(subject, &["name"]).to_owned(),
        });
        cells.push(names.collect::<Vec<_>>().join(", ").into());
    }
}

/// The class that claims without one get: of those that are marked, the youngest. Since 1.37 only this one is shown as
/// the default, and only in lists, where all are known.
pub(in crate::api) fn default_storage_class(classes: &[Node]) -> Option<usize> {
    let is_marked = |class: &Node| {
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|annotation| text_at(class, &["metadata", "annotations", annotation]) == "true")
    };
    let age = |class: &Node| text_at(class, &["metadata", "creationTimestamp"]).to_owned();
    let name = |class: &Node| text_at(class, &["metadata", "name"]).to_owned();
    let marked = classes.iter().enumerate().filter(|(_, class)| is_marked(class));
    let youngest = marked.max_by_key(|(_, class)| (age(class), std::cmp::Reverse(name(class))));
    youngest.map(|(index, _)| index)
}

fn storage_class(row: &PrintRow<'_>, minor: u16, cells: &mut Vec<Node>) {
    if minor < 37 {
        mark_default(row, "storageclass.kubernetes.io/is-default-class", cells);
    }
    let expands = at(row.object, &["allowVolumeExpansion"]).and_then(Node::as_bool).unwrap_or(false);
    cells.extend([
        row.text(&["provisioner"]).into(),
        row.text_or(&["reclaimPolicy"], "Delete"),
        row.text_or(&["volumeBindingMode"], "Immediate"),
        expands.into(),
        row.age(),
    ]);
}

fn slice(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let ports = list_at(row.object, &["ports"]).iter().map(|port| {
        let name = text_at(port, &["name"]);
        match number_at(port, &["port"]) {
            Some(number) => number.to_string(),
            None if name.is_empty() => "*".to_owned(),
            None => name.to_owned(),
        }
    });
    let ports: Vec<String> = ports.collect();
    let ports = if ports.is_empty() { "<unset>".to_owned() } else { shortened(&ports, 3) };
    let addresses = list_at(row.object, &["endpoints"]).iter().flat_map(|it| list_at(it, &["addresses"]));
    let addresses: Vec<String> = addresses.filter_map(Node::as_str).map(str::to_owned).collect();
    let addresses = if addresses.is_empty() { "<unset>".to_owned() } else { shortened(&addresses, 3) };
    cells.extend([row.text(&["addressType"]).into(), ports.into(), addresses.into(), row.age()]);
}

fn policy(row: &PrintRow<'_>, field: &str, cells: &mut Vec<Node>) {
    let parameter = at(row.object, &["spec", "paramKind"]);
    let parameter =
        parameter.map(|kind| format!("{}/{}", text_at(kind, &["apiVersion"]), text_at(kind, &["kind"])));
    cells.push(Node::Int(row.count(&["spec", field])));
    cells.extend([parameter.unwrap_or_else(|| "<unset>".to_owned()).into(), row.age()]);
}

fn service(row: &PrintRow<'_>, cells: &mut Vec<Node>) {
    let service = at(row.object, &["spec", "service"]).filter(|service| !service.is_nil());
    let service = service.map(|it| format!("{}/{}", text_at(it, &["namespace"]), text_at(it, &["name"])));
    let conditions = list_at(row.object, &["status", "conditions"]);
    let available = conditions.iter().find(|condition| text_at(condition, &["type"]) == "Available");
    let available = available.map_or("Unknown", |condition| text_at(condition, &["status"]));
    cells.extend([service.unwrap_or_else(|| "Local".to_owned()).into(), available.into(), row.age()]);
}

//! Networking, access, storage and all other groups in tables.

use pintle_tree::Node;

use super::Seen;
use super::core::{balancers, event, shortened};
use crate::api::meta::{at, list_at, number_at, text_at};

pub(super) fn cells(group: &str, kind: &str, seen: &Seen<'_>) -> Option<Vec<Node>> {
    let mut cells = vec![seen.name()];
    match (group, kind) {
        ("events.k8s.io", "Event") => return Some(event(seen)),
        ("networking.k8s.io", "Ingress") => ingress(seen, &mut cells),
        ("networking.k8s.io", "IngressClass") => ingress_class(seen, &mut cells),
        ("networking.k8s.io", "NetworkPolicy") => {
            cells.extend([seen.selector(&["spec", "podSelector"]), seen.age()])
        }
        ("networking.k8s.io", "ServiceCIDR") => {
            let ranges: Vec<&str> =
                list_at(seen.object, &["spec", "cidrs"]).iter().filter_map(Node::as_str).collect();
            cells.extend([ranges.join(",").into(), seen.age()]);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(seen, &mut cells),
        ("storage.k8s.io", "StorageClass") => storage_class(seen, &mut cells),
        ("scheduling.k8s.io", "PriorityClass") => {
            let global = at(seen.object, &["globalDefault"]).and_then(Node::as_bool).unwrap_or(false);
            cells.extend([Node::Int(seen.number(&["value"])), global.into(), seen.age()]);
            cells.push(seen.text(&["preemptionPolicy"]).into());
        }
        ("coordination.k8s.io", "Lease") => {
            cells.extend([seen.text(&["spec", "holderIdentity"]).into(), seen.age()])
        }
        ("discovery.k8s.io", "EndpointSlice") => slice(seen, &mut cells),
        ("node.k8s.io", "RuntimeClass") => cells.extend([seen.text(&["handler"]).into(), seen.age()]),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            cells.extend([Node::Int(seen.count(&["webhooks"])), seen.age()]);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            policy(seen, "validations", &mut cells)
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => policy(seen, "mutations", &mut cells),
        ("apiregistration.k8s.io", "APIService") => service(seen, &mut cells),
        ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => cells.push(seen.age()),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            cells.extend([seen.text(&["driverName"]).into(), seen.age()])
        }
        ("storage.k8s.io", "CSINode") => {
            cells.extend([Node::Int(seen.count(&["spec", "drivers"])), seen.age()])
        }
        _ => return None,
    }
    Some(cells)
}

fn ingress(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let rules =
        list_at(seen.object, &["spec", "rules"]).iter().map(|rule| text_at(rule, &["host"]).to_owned());
    let hosts: Vec<String> = rules.filter(|host| !host.is_empty()).collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { shortened(&hosts, 3) };
    let ports = if list_at(seen.object, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" };
    cells.extend([
        seen.text_or(&["spec", "ingressClassName"], "<none>"),
        hosts.into(),
        balancers(seen.object).join(",").into(),
        ports.into(),
        seen.age(),
    ]);
}

fn is_default(seen: &Seen<'_>, annotation: &str) -> bool {
    seen.text(&["metadata", "annotations", annotation]) == "true"
}

fn mark_default(seen: &Seen<'_>, annotation: &str, cells: &mut [Node]) {
    if is_default(seen, annotation)
        && let Some(Node::Str(name)) = cells.first_mut()
    {
        *name = format!("{name} (default)").into();
    }
}

fn ingress_class(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    mark_default(seen, "ingressclass.kubernetes.io/is-default-class", cells);
    let parameters = at(seen.object, &["spec", "parameters"]).map(|parameters| {
        let (kind, group) = (text_at(parameters, &["kind"]), text_at(parameters, &["apiGroup"]));
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", text_at(parameters, &["name"]))
    });
    cells.push(seen.text(&["spec", "controller"]).into());
    cells.extend([parameters.unwrap_or_else(|| "<none>".to_owned()).into(), seen.age()]);
}

fn binding(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let role = format!("{}/{}", seen.text(&["roleRef", "kind"]), seen.text(&["roleRef", "name"]));
    cells.extend([role.into(), seen.age()]);
    for kind in ["User", "Group", "ServiceAccount"] {
        let subjects =
            list_at(seen.object, &["subjects"]).iter().filter(|subject| text_at(subject, &["kind"]) == kind);
        let names = subjects.map(|subject| match kind {
            "ServiceAccount" => {
                format!("{}/{}", text_at(subject, &["namespace"]), text_at(subject, &["name"]))
            }
            _ => text_at(subject, &["name"]).to_owned(),
        });
        cells.push(names.collect::<Vec<_>>().join(", ").into());
    }
}

fn storage_class(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let default = "storageclass.kubernetes.io/is-default-class";
    mark_default(seen, default, cells);
    let expands = at(seen.object, &["allowVolumeExpansion"]).and_then(Node::as_bool).unwrap_or(false);
    cells.extend([
        seen.text(&["provisioner"]).into(),
        seen.text_or(&["reclaimPolicy"], "Delete"),
        seen.text_or(&["volumeBindingMode"], "Immediate"),
        expands.into(),
        seen.age(),
    ]);
}

fn slice(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let ports = list_at(seen.object, &["ports"]).iter().map(|port| {
        let name = text_at(port, &["name"]);
        match number_at(port, &["port"]) {
            Some(number) => number.to_string(),
            None if name.is_empty() => "*".to_owned(),
            None => name.to_owned(),
        }
    });
    let ports: Vec<String> = ports.collect();
    let ports = if ports.is_empty() { "<unset>".to_owned() } else { shortened(&ports, 3) };
    let addresses = list_at(seen.object, &["endpoints"]).iter().flat_map(|it| list_at(it, &["addresses"]));
    let addresses: Vec<String> = addresses.filter_map(Node::as_str).map(str::to_owned).collect();
    let addresses = if addresses.is_empty() { "<unset>".to_owned() } else { shortened(&addresses, 3) };
    cells.extend([seen.text(&["addressType"]).into(), ports.into(), addresses.into(), seen.age()]);
}

fn policy(seen: &Seen<'_>, field: &str, cells: &mut Vec<Node>) {
    let parameter = at(seen.object, &["spec", "paramKind"]);
    let parameter =
        parameter.map(|kind| format!("{}/{}", text_at(kind, &["apiVersion"]), text_at(kind, &["kind"])));
    cells.push(Node::Int(seen.count(&["spec", field])));
    cells.extend([parameter.unwrap_or_else(|| "<unset>".to_owned()).into(), seen.age()]);
}

fn service(seen: &Seen<'_>, cells: &mut Vec<Node>) {
    let service = at(seen.object, &["spec", "service"]).filter(|service| !service.is_nil());
    let service = service.map(|it| format!("{}/{}", text_at(it, &["namespace"]), text_at(it, &["name"])));
    let conditions = list_at(seen.object, &["status", "conditions"]);
    let available = conditions.iter().find(|condition| text_at(condition, &["type"]) == "Available");
    let available = available.map_or("Unknown", |condition| text_at(condition, &["status"]));
    cells.extend([service.unwrap_or_else(|| "Local".to_owned()).into(), available.into(), seen.age()]);
}

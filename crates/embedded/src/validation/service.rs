//! Validation of Services.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{ErrorList, FieldPath, items, labels, names};
use crate::fields::{at, int, list, text};

pub(super) fn service(object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    let kind = text(spec, &["type"]);
    let headless = text(spec, &["clusterIP"]) == "None";
    if list(spec, &["ports"]).is_empty() && !headless && kind != "ExternalName" {
        errors.required(&field.child("ports"), "");
    }
    if kind == "ExternalName" {
        external_name(spec, &field, errors);
    }
    ports(spec, kind, headless, &field, errors);
    labels(spec, "selector", &field, errors);
    let affinity = text(spec, &["sessionAffinity"]);
    errors.one_of(&field.child("sessionAffinity"), affinity, &["ClientIP", "None"]);
    addresses(spec, &field, errors);
    for (child_path, address) in items(spec, "externalIPs", &field) {
        let address = address.as_str().unwrap_or_default();
        errors.add_all(&child_path, address, names::address(address));
    }
    errors.one_of(&field.child("type"), kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    unique_ports(spec, &field, errors);
    node_ports(spec, kind, &field, errors);
    if kind == "LoadBalancer" {
        for (at, range) in list(spec, &["loadBalancerSourceRanges"]).iter().enumerate() {
            let range = range.as_str().unwrap_or_default();
            // The server capitalizes the field name here.
            errors.add_all(&field.child("LoadBalancerSourceRanges").index(at), range, names::range(range));
        }
    }
    traffic(spec, kind, &field, errors);
    if errors.causes.is_empty() {
        // The real server allocates addresses after validation, so their errors never come together.
        in_range(spec, &field, errors);
    }
}

/// Cluster IPs must be in 10.96.0.0/16.
fn in_range(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let address = text(spec, &["clusterIP"]);
    if let Ok(std::net::IpAddr::V4(number)) = address.parse()
        && number.octets()[..2] != [10, 96]
    {
        let detail = format!(
            "failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        );
        errors.invalid(&field.child("clusterIPs"), Node::List(vec![address.into()]), &detail);
    }
}

fn external_name(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let name = text(spec, &["externalName"]);
    let child_path = field.child("externalName");
    if name.is_empty() {
        errors.required(&child_path, "");
    } else {
        errors.add_all(&child_path, name, names::subdomain(name.strip_suffix('.').unwrap_or(name)));
    }
}

fn ports(spec: &Node, kind: &str, headless: bool, field: &FieldPath, errors: &mut ErrorList) {
    let all = items(spec, "ports", field);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (child_path, port) in &all {
        let name = text(port, &["name"]);
        let name_path = child_path.child("name");
        if name.is_empty() && all.len() > 1 {
            errors.required(&name_path, "");
        } else if !name.is_empty() {
            errors.add_all(&name_path, name, names::label(name));
            if !seen.insert(name) {
                errors.duplicate(&name_path, name);
            }
        }
        errors.port(&child_path.child("port"), int(port, &["port"]).unwrap_or(0));
        errors.one_of(&child_path.child("protocol"), text(port, &["protocol"]), &["SCTP", "TCP", "UDP"]);
        if let Some(target) = at(port, &["targetPort"])
            && !(headless && kind == "ClusterIP" && matches!(target, Node::Int(0)))
        {
            errors.port_or_name(&child_path.child("targetPort"), target);
        }
    }
}

fn addresses(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let first = text(spec, &["clusterIP"]);
    let all = list(spec, &["clusterIPs"]);
    let all: Vec<&str> =
        if all.is_empty() { vec![first] } else { all.iter().filter_map(Node::as_str).collect() };
    for (at, address) in all.into_iter().enumerate() {
        if !address.is_empty() && address != "None" {
            errors.add_all(&field.child("clusterIPs").index(at), address, names::address(address));
        }
    }
}

fn unique_ports(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let mut seen: BTreeSet<(i64, &str)> = BTreeSet::new();
    for (child_path, port) in items(spec, "ports", field) {
        let key = (int(port, &["port"]).unwrap_or(0), text(port, &["protocol"]));
        if !seen.insert(key) {
            let message = format!(
                "Duplicate value: {{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                key.1, key.0
            );
            errors.causes.push(crate::status::StatusCause {
                reason: "FieldValueDuplicate",
                message,
                field: child_path.0,
            });
        }
    }
}

fn node_ports(spec: &Node, kind: &str, field: &FieldPath, errors: &mut ErrorList) {
    if kind != "ClusterIP" {
        return;
    }
    for (child_path, port) in items(spec, "ports", field) {
        if int(port, &["nodePort"]).unwrap_or(0) != 0 {
            errors.forbidden(&child_path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
}

fn traffic(spec: &Node, kind: &str, field: &FieldPath, errors: &mut ErrorList) {
    let policy = text(spec, &["externalTrafficPolicy"]);
    let child_path = field.child("externalTrafficPolicy");
    let is_outside = matches!(kind, "NodePort" | "LoadBalancer") || !list(spec, &["externalIPs"]).is_empty();
    if !policy.is_empty() {
        if !is_outside {
            errors.invalid(&child_path, policy, "may only be set for externally-accessible services");
        } else {
            errors.one_of(&child_path, policy, &["Cluster", "Local"]);
        }
    }
}

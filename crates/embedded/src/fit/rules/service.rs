//! Rules for services.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{Faults, Field, items, labels, names};
use crate::fit::tree::{at, int, list, text};

/// A service.
pub(super) fn service(object: &Node, faults: &mut Faults) {
    let field = Field::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    let kind = text(spec, &["type"]);
    let headless = text(spec, &["clusterIP"]) == "None";
    if list(spec, &["ports"]).is_empty() && !headless && kind != "ExternalName" {
        faults.required(&field.child("ports"), "");
    }
    if kind == "ExternalName" {
        external_name(spec, &field, faults);
    }
    ports(spec, kind, headless, &field, faults);
    labels(spec, "selector", &field, faults);
    let affinity = text(spec, &["sessionAffinity"]);
    faults.one_of(&field.child("sessionAffinity"), affinity, &["ClientIP", "None"]);
    addresses(spec, &field, faults);
    for (place, address) in items(spec, "externalIPs", &field) {
        let address = address.as_str().unwrap_or_default();
        faults.each(&place, address, names::address(address));
    }
    faults.one_of(&field.child("type"), kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    unique_ports(spec, &field, faults);
    node_ports(spec, kind, &field, faults);
    if kind == "LoadBalancer" {
        for (at, range) in list(spec, &["loadBalancerSourceRanges"]).iter().enumerate() {
            let range = range.as_str().unwrap_or_default();
            // The server has the letter large here.
            faults.each(&field.child("LoadBalancerSourceRanges").index(at), range, names::range(range));
        }
    }
    traffic(spec, kind, &field, faults);
    if faults.causes.is_empty() {
        in_range(spec, &field, faults);
    }
}

/// Addresses of services are those of 10.96.0.0/16.
fn in_range(spec: &Node, field: &Field, faults: &mut Faults) {
    let address = text(spec, &["clusterIP"]);
    if let Ok(std::net::IpAddr::V4(number)) = address.parse()
        && number.octets()[..2] != [10, 96]
    {
        let detail = format!(
            "failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        );
        faults.invalid(&field.child("clusterIPs"), Node::List(vec![address.into()]), &detail);
    }
}

fn external_name(spec: &Node, field: &Field, faults: &mut Faults) {
    let name = text(spec, &["externalName"]);
    let place = field.child("externalName");
    if name.is_empty() {
        faults.required(&place, "");
    } else {
        faults.each(&place, name, names::subdomain(name.strip_suffix('.').unwrap_or(name)));
    }
}

fn ports(spec: &Node, kind: &str, headless: bool, field: &Field, faults: &mut Faults) {
    let all = items(spec, "ports", field);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (place, port) in &all {
        let name = text(port, &["name"]);
        let place_of_name = place.child("name");
        if name.is_empty() && all.len() > 1 {
            faults.required(&place_of_name, "");
        } else if !name.is_empty() {
            faults.each(&place_of_name, name, names::label(name));
            if !seen.insert(name) {
                faults.duplicate(&place_of_name, name);
            }
        }
        faults.port(&place.child("port"), int(port, &["port"]).unwrap_or(0));
        faults.one_of(&place.child("protocol"), text(port, &["protocol"]), &["SCTP", "TCP", "UDP"]);
        if let Some(target) = at(port, &["targetPort"])
            && !(headless && kind == "ClusterIP" && matches!(target, Node::Int(0)))
        {
            faults.port_or_name(&place.child("targetPort"), target);
        }
    }
}

fn addresses(spec: &Node, field: &Field, faults: &mut Faults) {
    let first = text(spec, &["clusterIP"]);
    let all = list(spec, &["clusterIPs"]);
    let all: Vec<&str> =
        if all.is_empty() { vec![first] } else { all.iter().filter_map(Node::as_str).collect() };
    for (at, address) in all.into_iter().enumerate() {
        if !address.is_empty() && address != "None" {
            faults.each(&field.child("clusterIPs").index(at), address, names::address(address));
        }
    }
}

fn unique_ports(spec: &Node, field: &Field, faults: &mut Faults) {
    let mut seen: BTreeSet<(i64, &str)> = BTreeSet::new();
    for (place, port) in items(spec, "ports", field) {
        let key = (int(port, &["port"]).unwrap_or(0), text(port, &["protocol"]));
        if !seen.insert(key) {
            let message = format!(
                "Duplicate value: {{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                key.1, key.0
            );
            faults.causes.push(crate::status::Cause {
                reason: "FieldValueDuplicate",
                message,
                field: place.0,
            });
        }
    }
}

fn node_ports(spec: &Node, kind: &str, field: &Field, faults: &mut Faults) {
    if kind != "ClusterIP" {
        return;
    }
    for (place, port) in items(spec, "ports", field) {
        if int(port, &["nodePort"]).unwrap_or(0) != 0 {
            faults.forbidden(&place.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
}

fn traffic(spec: &Node, kind: &str, field: &Field, faults: &mut Faults) {
    let policy = text(spec, &["externalTrafficPolicy"]);
    let place = field.child("externalTrafficPolicy");
    let is_outside = matches!(kind, "NodePort" | "LoadBalancer") || !list(spec, &["externalIPs"]).is_empty();
    if !policy.is_empty() {
        if !is_outside {
            faults.invalid(&place, policy, "may only be set for externally-accessible services");
        } else {
            faults.one_of(&place, policy, &["Cluster", "Local"]);
        }
    }
}

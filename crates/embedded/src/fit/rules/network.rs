//! Rules for ingresses and network policies.

use pintle_tree::Node;

use super::{Faults, Field, items, names, selector};
use crate::fit::tree::{at, int, list, text};

/// An object about networks.
pub(super) fn network(kind: &str, object: &Node, faults: &mut Faults) {
    let field = Field::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "Ingress" => ingress(spec, &field, faults),
        "NetworkPolicy" => policy(spec, &field, faults),
        _ => {}
    }
}

fn ingress(spec: &Node, field: &Field, faults: &mut Faults) {
    let rules = items(spec, "rules", field);
    if rules.is_empty() && at(spec, &["defaultBackend"]).is_none() {
        faults.invalid(field, Node::Nil, "either `defaultBackend` or `rules` must be specified");
    }
    if let Some(wanted) = at(spec, &["defaultBackend"]) {
        backend(wanted, &field.child("defaultBackend"), faults);
    }
    for (place, rule) in rules {
        let host = text(rule, &["host"]);
        if !host.is_empty() {
            host_name(host, &place.child("host"), faults);
        }
        if let Some(http) = at(rule, &["http"]) {
            paths(http, &place.child("http"), faults);
        }
    }
    for (place, certificate) in items(spec, "tls", field) {
        for (place, host) in items(certificate, "hosts", &place) {
            let host = host.as_str().unwrap_or_default();
            let found = if host.contains('*') { names::wildcard(host) } else { names::subdomain(host) };
            faults.each(&place, host, found);
        }
        let secret = text(certificate, &["secretName"]);
        if !secret.is_empty() {
            faults.each(&place.child("secretName"), secret, names::subdomain(secret));
        }
    }
    let class = text(spec, &["ingressClassName"]);
    if !class.is_empty() {
        faults.each(&field.child("ingressClassName"), class, names::subdomain(class));
    }
}

fn host_name(host: &str, field: &Field, faults: &mut Faults) {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return faults.invalid(field, host, "must be a DNS name, not an IP address");
    }
    let found = if host.contains('*') { names::wildcard(host) } else { names::subdomain(host) };
    faults.each(field, host, found);
}

fn paths(http: &Node, field: &Field, faults: &mut Faults) {
    if list(http, &["paths"]).is_empty() {
        faults.required(&field.child("paths"), "");
    }
    for (place, entry) in items(http, "paths", field) {
        let (kind, path) = (text(entry, &["pathType"]), text(entry, &["path"]));
        match kind {
            "Exact" | "Prefix" => absolute(path, &place.child("path"), faults),
            "ImplementationSpecific" => {
                if !path.is_empty() && !path.starts_with('/') {
                    faults.invalid(&place.child("path"), path, "must be an absolute path");
                }
            }
            "" => {
                faults.required(&place.child("pathType"), "pathType must be specified");
                continue;
            }
            other => {
                let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
                faults.not_supported(&place.child("pathType"), other, &kinds);
            }
        }
        let empty = Node::empty_map();
        backend(at(entry, &["backend"]).unwrap_or(&empty), &place.child("backend"), faults);
    }
}

fn absolute(path: &str, field: &Field, faults: &mut Faults) {
    if !path.starts_with('/') {
        faults.invalid(field, path, "must be an absolute path");
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"] {
        if path.contains(part) {
            faults.invalid(field, path, &format!("must not contain '{part}'"));
        }
    }
    for end in ["/..", "/."] {
        if path.ends_with(end) {
            faults.invalid(field, path, &format!("cannot end with '{end}'"));
        }
    }
}

fn backend(backend: &Node, field: &Field, faults: &mut Faults) {
    match (at(backend, &["service"]), at(backend, &["resource"])) {
        (None, None) => faults.invalid(field, "", "resource or service backend is required"),
        (Some(_), Some(_)) => {
            faults.invalid(field, "", "cannot set both resource and service backends");
        }
        (Some(service), None) => {
            let name = text(service, &["name"]);
            let place = field.child("service");
            if name.is_empty() {
                faults.required(&place.child("name"), "");
            } else {
                faults.each(&place.child("name"), name, names::label(name));
            }
            let (number, port) =
                (int(service, &["port", "number"]).unwrap_or(0), text(service, &["port", "name"]));
            match (number != 0, !port.is_empty()) {
                (true, true) => faults.invalid(field, "", "cannot set both port name & port number"),
                (false, false) => faults.required(field, "port name or number is required"),
                (true, false) => faults.port(&place.child("port").child("number"), number),
                (false, true) => {
                    faults.each(&place.child("port").child("name"), port, names::port_name(port))
                }
            }
        }
        (None, Some(_)) => {}
    }
}

fn policy(spec: &Node, field: &Field, faults: &mut Faults) {
    if let Some(pods) = at(spec, &["podSelector"]) {
        selector(pods, &field.child("podSelector"), faults);
    }
    for (way, peers) in [("ingress", "from"), ("egress", "to")] {
        for (place, rule) in items(spec, way, field) {
            for (place, port) in items(rule, "ports", &place) {
                let protocol = text(port, &["protocol"]);
                faults.one_of(&place.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
                if let Some(number) = at(port, &["port"]) {
                    faults.port_or_name(&place.child("port"), number);
                }
            }
            for (place, wanted) in items(rule, peers, &place) {
                peer(wanted, &place, faults);
            }
        }
    }
    for (place, kind) in items(spec, "policyTypes", field) {
        faults.one_of(&place, kind.as_str().unwrap_or_default(), &["Ingress", "Egress"]);
    }
}

fn peer(peer: &Node, field: &Field, faults: &mut Faults) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if let Some(wanted) = at(peer, &[name]) {
            count += 1;
            selector(wanted, &field.child(name), faults);
        }
    }
    if let Some(block) = at(peer, &["ipBlock"]) {
        count += 1;
        let range = text(block, &["cidr"]);
        let place = field.child("ipBlock").child("cidr");
        if range.is_empty() {
            faults.required(&place, "");
        } else {
            faults.each(&place, range, names::range(range));
        }
        if count > 1 {
            faults.forbidden(field, "may not specify both ipBlock and another peer");
        }
    }
    if count == 0 {
        faults.required(field, "must specify a peer");
    }
}

//! Validation of Ingresses and NetworkPolicies.

use pintle_tree::Node;

use super::{ErrorList, FieldPath, items, names, selector};
use crate::fields::{at, int, list, text};

pub(super) fn network(kind: &str, object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "Ingress" => ingress(spec, &field, errors),
        "NetworkPolicy" => policy(spec, &field, errors),
        _ => {}
    }
}

fn ingress(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let rules = items(spec, "rules", field);
    if rules.is_empty() && at(spec, &["defaultBackend"]).is_none() {
        errors.invalid(field, Node::Nil, "either `defaultBackend` or `rules` must be specified");
    }
    if let Some(wanted) = at(spec, &["defaultBackend"]) {
        backend(wanted, &field.child("defaultBackend"), errors);
    }
    for (child_path, rule) in rules {
        let host = text(rule, &["host"]);
        if !host.is_empty() {
            host_name(host, &child_path.child("host"), errors);
        }
        if let Some(http) = at(rule, &["http"]) {
            paths(http, &child_path.child("http"), errors);
        }
    }
    for (child_path, certificate) in items(spec, "tls", field) {
        for (child_path, host) in items(certificate, "hosts", &child_path) {
            let host = host.as_str().unwrap_or_default();
            let found = if host.contains('*') { names::wildcard(host) } else { names::subdomain(host) };
            errors.add_all(&child_path, host, found);
        }
        let secret = text(certificate, &["secretName"]);
        if !secret.is_empty() {
            errors.add_all(&child_path.child("secretName"), secret, names::subdomain(secret));
        }
    }
    let class = text(spec, &["ingressClassName"]);
    if !class.is_empty() {
        errors.add_all(&field.child("ingressClassName"), class, names::subdomain(class));
    }
}

fn host_name(host: &str, field: &FieldPath, errors: &mut ErrorList) {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return errors.invalid(field, host, "must be a DNS name, not an IP address");
    }
    let found = if host.contains('*') { names::wildcard(host) } else { names::subdomain(host) };
    errors.add_all(field, host, found);
}

fn paths(http: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if list(http, &["paths"]).is_empty() {
        errors.required(&field.child("paths"), "");
    }
    for (child_path, entry) in items(http, "paths", field) {
        let (kind, path) = (text(entry, &["pathType"]), text(entry, &["path"]));
        match kind {
            "Exact" | "Prefix" => absolute(path, &child_path.child("path"), errors),
            "ImplementationSpecific" => {
                if !path.is_empty() && !path.starts_with('/') {
                    errors.invalid(&child_path.child("path"), path, "must be an absolute path");
                }
            }
            "" => {
                errors.required(&child_path.child("pathType"), "pathType must be specified");
                continue;
            }
            other => {
                let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
                errors.not_supported(&child_path.child("pathType"), other, &kinds);
            }
        }
        let empty = Node::empty_map();
        backend(at(entry, &["backend"]).unwrap_or(&empty), &child_path.child("backend"), errors);
    }
}

fn absolute(path: &str, field: &FieldPath, errors: &mut ErrorList) {
    if !path.starts_with('/') {
        errors.invalid(field, path, "must be an absolute path");
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"] {
        if path.contains(part) {
            errors.invalid(field, path, &format!("must not contain '{part}'"));
        }
    }
    for end in ["/..", "/."] {
        if path.ends_with(end) {
            errors.invalid(field, path, &format!("cannot end with '{end}'"));
        }
    }
}

fn backend(backend: &Node, field: &FieldPath, errors: &mut ErrorList) {
    match (at(backend, &["service"]), at(backend, &["resource"])) {
        (None, None) => errors.invalid(field, "", "resource or service backend is required"),
        (Some(_), Some(_)) => {
            errors.invalid(field, "", "cannot set both resource and service backends");
        }
        (Some(service), None) => {
            let name = text(service, &["name"]);
            let child_path = field.child("service");
            if name.is_empty() {
                errors.required(&child_path.child("name"), "");
            } else {
                errors.add_all(&child_path.child("name"), name, names::label(name));
            }
            let (number, port) =
                (int(service, &["port", "number"]).unwrap_or(0), text(service, &["port", "name"]));
            match (number != 0, !port.is_empty()) {
                (true, true) => errors.invalid(field, "", "cannot set both port name & port number"),
                (false, false) => errors.required(field, "port name or number is required"),
                (true, false) => errors.port(&child_path.child("port").child("number"), number),
                (false, true) => {
                    errors.add_all(&child_path.child("port").child("name"), port, names::port_name(port))
                }
            }
        }
        (None, Some(_)) => {}
    }
}

fn policy(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if let Some(pods) = at(spec, &["podSelector"]) {
        selector(pods, &field.child("podSelector"), errors);
    }
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (child_path, rule) in items(spec, direction, field) {
            for (child_path, port) in items(rule, "ports", &child_path) {
                let protocol = text(port, &["protocol"]);
                errors.one_of(&child_path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
                if let Some(number) = at(port, &["port"]) {
                    errors.port_or_name(&child_path.child("port"), number);
                }
            }
            for (child_path, wanted) in items(rule, peers, &child_path) {
                peer(wanted, &child_path, errors);
            }
        }
    }
    for (child_path, kind) in items(spec, "policyTypes", field) {
        errors.one_of(&child_path, kind.as_str().unwrap_or_default(), &["Ingress", "Egress"]);
    }
}

fn peer(peer: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if let Some(wanted) = at(peer, &[name]) {
            count += 1;
            selector(wanted, &field.child(name), errors);
        }
    }
    if let Some(block) = at(peer, &["ipBlock"]) {
        count += 1;
        let range = text(block, &["cidr"]);
        let child_path = field.child("ipBlock").child("cidr");
        if range.is_empty() {
            errors.required(&child_path, "");
        } else {
            errors.add_all(&child_path, range, names::range(range));
        }
        if count > 1 {
            errors.forbidden(field, "may not specify both ipBlock and another peer");
        }
    }
    if count == 0 {
        errors.required(field, "must specify a peer");
    }
}

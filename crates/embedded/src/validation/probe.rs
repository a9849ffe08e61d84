//! Validation of probes and lifecycle hooks.

use pintle_tree::Node;

use super::{ErrorList, FieldPath};
use crate::fields::{at, int, list, text};

pub(super) fn probes(container: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at(container, &[name]) else { continue };
        let child_path = field.child(name);
        handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], &child_path, errors);
        for number in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            errors.not_negative(probe, number, &child_path);
        }
        let threshold = int(probe, &["successThreshold"]).unwrap_or(1);
        if name != "readinessProbe" && threshold != 1 {
            errors.invalid(&child_path.child("successThreshold"), threshold, "must be 1");
        }
    }
}

pub(super) fn lifecycle(container: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(lifecycle) = at(container, &["lifecycle"]) else { return };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = at(lifecycle, &[name]) {
            handler(
                hook,
                &["exec", "httpGet", "tcpSocket", "sleep"],
                &field.child("lifecycle").child(name),
                errors,
            );
        }
    }
}

fn handler(parent: &Node, kinds: &[&str], field: &FieldPath, errors: &mut ErrorList) {
    let mut count = 0;
    for kind in kinds {
        let Some(handler) = at(parent, &[kind]) else { continue };
        count += 1;
        let child_path = field.child(kind);
        if count > 1 {
            errors.forbidden(&child_path, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" if list(handler, &["command"]).is_empty() => {
                errors.required(&child_path.child("command"), "")
            }
            "httpGet" => {
                if text(handler, &["path"]).is_empty() {
                    errors.required(&child_path.child("path"), "");
                }
                port(handler, &child_path, errors);
                errors.one_of(&child_path.child("scheme"), text(handler, &["scheme"]), &["HTTP", "HTTPS"]);
            }
            "tcpSocket" | "grpc" => port(handler, &child_path, errors),
            _ => {}
        }
    }
    if count == 0 {
        errors.required(field, "must specify a handler type");
    }
}

fn port(handler: &Node, field: &FieldPath, errors: &mut ErrorList) {
    match at(handler, &["port"]) {
        Some(port) => errors.port_or_name(&field.child("port"), port),
        None => errors.port(&field.child("port"), 0),
    }
}

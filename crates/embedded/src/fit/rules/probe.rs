//! Rules for probes and hooks of containers.

use pintle_tree::Node;

use super::{Faults, Field};
use crate::fit::tree::{at, int, list, text};

/// The probes of a container.
pub(super) fn probes(container: &Node, field: &Field, faults: &mut Faults) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at(container, &[name]) else { continue };
        let place = field.child(name);
        handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], &place, faults);
        for number in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            faults.not_negative(probe, number, &place);
        }
        let threshold = int(probe, &["successThreshold"]).unwrap_or(1);
        if name != "readinessProbe" && threshold != 1 {
            faults.invalid(&place.child("successThreshold"), threshold, "must be 1");
        }
    }
}

/// The hooks of a container.
pub(super) fn lifecycle(container: &Node, field: &Field, faults: &mut Faults) {
    let Some(lifecycle) = at(container, &["lifecycle"]) else { return };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = at(lifecycle, &[name]) {
            handler(
                hook,
                &["exec", "httpGet", "tcpSocket", "sleep"],
                &field.child("lifecycle").child(name),
                faults,
            );
        }
    }
}

fn handler(parent: &Node, kinds: &[&str], field: &Field, faults: &mut Faults) {
    let mut count = 0;
    for kind in kinds {
        let Some(handler) = at(parent, &[kind]) else { continue };
        count += 1;
        let place = field.child(kind);
        if count > 1 {
            faults.forbidden(&place, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" if list(handler, &["command"]).is_empty() => faults.required(&place.child("command"), ""),
            "httpGet" => {
                if text(handler, &["path"]).is_empty() {
                    faults.required(&place.child("path"), "");
                }
                port(handler, &place, faults);
                faults.one_of(&place.child("scheme"), text(handler, &["scheme"]), &["HTTP", "HTTPS"]);
            }
            "tcpSocket" | "grpc" => port(handler, &place, faults),
            _ => {}
        }
    }
    if count == 0 {
        faults.required(field, "must specify a handler type");
    }
}

fn port(handler: &Node, field: &Field, faults: &mut Faults) {
    match at(handler, &["port"]) {
        Some(port) => faults.port_or_name(&field.child("port"), port),
        None => faults.port(&field.child("port"), 0),
    }
}

//! Rules for where pods go: affinity to nodes and pods, and spreading.

use pintle_tree::Node;

use super::{Faults, Field, items, names, selector};
use crate::fit::tree::{at, int, list, text};

/// The affinity of a pod.
pub(super) fn affinity(spec: &Node, field: &Field, faults: &mut Faults) {
    let Some(affinity) = at(spec, &["affinity"]) else { return };
    let field = field.child("affinity");
    if let Some(nodes) = at(affinity, &["nodeAffinity"]) {
        node(nodes, &field.child("nodeAffinity"), faults);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        if let Some(pods) = at(affinity, &[name]) {
            pod(pods, &field.child(name), faults);
        }
    }
}

fn node(affinity: &Node, field: &Field, faults: &mut Faults) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    if let Some(wanted) = at(affinity, &[required]) {
        let place = field.child(required);
        if list(wanted, &["nodeSelectorTerms"]).is_empty() {
            faults.required(&place.child("nodeSelectorTerms"), "must have at least one node selector term");
        }
        for (place, term) in items(wanted, "nodeSelectorTerms", &place) {
            expressions(term, &place, faults);
        }
    }
    for (place, preference) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", field) {
        weight(preference, &place, faults);
        if let Some(term) = at(preference, &["preference"]) {
            expressions(term, &place.child("preference"), faults);
        }
    }
}

fn expressions(term: &Node, field: &Field, faults: &mut Faults) {
    for (place, expression) in items(term, "matchExpressions", field) {
        let values = list(expression, &["values"]);
        let place_of_values = place.child("values");
        match text(expression, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                faults.required(&place_of_values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                faults.forbidden(
                    &place_of_values,
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "Gt" | "Lt" if values.len() != 1 => {
                faults.required(
                    &place_of_values,
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => faults.invalid(&place.child("operator"), other, "not a valid selector operator"),
        }
        let key = text(expression, &["key"]);
        faults.each(&place.child("key"), key, names::qualified(key));
    }
}

fn weight(preference: &Node, field: &Field, faults: &mut Faults) {
    let weight = int(preference, &["weight"]).unwrap_or(0);
    if !(1..=100).contains(&weight) {
        faults.invalid(&field.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod(affinity: &Node, field: &Field, faults: &mut Faults) {
    for (place, wanted) in items(affinity, "requiredDuringSchedulingIgnoredDuringExecution", field) {
        term(wanted, &place, faults);
    }
    for (place, preference) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", field) {
        weight(preference, &place, faults);
        if let Some(wanted) = at(preference, &["podAffinityTerm"]) {
            term(wanted, &place.child("podAffinityTerm"), faults);
        }
    }
}

fn term(term: &Node, field: &Field, faults: &mut Faults) {
    for name in ["labelSelector", "namespaceSelector"] {
        if let Some(wanted) = at(term, &[name]) {
            selector(wanted, &field.child(name), faults);
        }
    }
    let key = text(term, &["topologyKey"]);
    let place = field.child("topologyKey");
    if key.is_empty() {
        faults.required(&place, "can not be empty");
    }
    faults.each(&place, key, names::qualified(key));
}

/// How a pod is spread.
pub(super) fn spread(spec: &Node, field: &Field, faults: &mut Faults) {
    for (place, constraint) in items(spec, "topologySpreadConstraints", field) {
        let skew = int(constraint, &["maxSkew"]).unwrap_or(0);
        if skew <= 0 {
            faults.invalid(&place.child("maxSkew"), skew, "must be greater than zero");
        }
        if text(constraint, &["topologyKey"]).is_empty() {
            faults.required(&place.child("topologyKey"), "can not be empty");
        }
        let otherwise = text(constraint, &["whenUnsatisfiable"]);
        faults.one_of(&place.child("whenUnsatisfiable"), otherwise, &["DoNotSchedule", "ScheduleAnyway"]);
        if let Some(wanted) = at(constraint, &["labelSelector"]) {
            selector(wanted, &place.child("labelSelector"), faults);
        }
    }
}

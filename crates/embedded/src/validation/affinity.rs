//! Validation of node affinity, pod affinity and topology spread constraints.

use pintle_tree::Node;

use super::{ErrorList, FieldPath, items, names, selector};
use crate::fields::{at, int, list, text};

pub(super) fn affinity(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(affinity) = at(spec, &["affinity"]) else { return };
    let field = field.child("affinity");
    if let Some(nodes) = at(affinity, &["nodeAffinity"]) {
        node(nodes, &field.child("nodeAffinity"), errors);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        if let Some(pods) = at(affinity, &[name]) {
            pod(pods, &field.child(name), errors);
        }
    }
}

fn node(affinity: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    if let Some(wanted) = at(affinity, &[required]) {
        let child_path = field.child(required);
        if list(wanted, &["nodeSelectorTerms"]).is_empty() {
            errors.required(
                &child_path.child("nodeSelectorTerms"),
                "must have at least one node selector term",
            );
        }
        for (child_path, term) in items(wanted, "nodeSelectorTerms", &child_path) {
            expressions(term, &child_path, errors);
        }
    }
    for (child_path, preference) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", field)
    {
        weight(preference, &child_path, errors);
        if let Some(term) = at(preference, &["preference"]) {
            expressions(term, &child_path.child("preference"), errors);
        }
    }
}

fn expressions(term: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (child_path, expression) in items(term, "matchExpressions", field) {
        let values = list(expression, &["values"]);
        let values_path = child_path.child("values");
        match text(expression, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&values_path, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(
                    &values_path,
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "Gt" | "Lt" if values.len() != 1 => {
                errors
                    .required(&values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => errors.invalid(&child_path.child("operator"), other, "not a valid selector operator"),
        }
        let key = text(expression, &["key"]);
        errors.add_all(&child_path.child("key"), key, names::qualified(key));
    }
}

fn weight(preference: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let weight = int(preference, &["weight"]).unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.invalid(&field.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod(affinity: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (child_path, wanted) in items(affinity, "requiredDuringSchedulingIgnoredDuringExecution", field) {
        term(wanted, &child_path, errors);
    }
    for (child_path, preference) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", field)
    {
        weight(preference, &child_path, errors);
        if let Some(wanted) = at(preference, &["podAffinityTerm"]) {
            term(wanted, &child_path.child("podAffinityTerm"), errors);
        }
    }
}

fn term(term: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for name in ["labelSelector", "namespaceSelector"] {
        if let Some(wanted) = at(term, &[name]) {
            selector(wanted, &field.child(name), errors);
        }
    }
    let key = text(term, &["topologyKey"]);
    let child_path = field.child("topologyKey");
    if key.is_empty() {
        errors.required(&child_path, "can not be empty");
    }
    errors.add_all(&child_path, key, names::qualified(key));
}

pub(super) fn spread(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for (child_path, constraint) in items(spec, "topologySpreadConstraints", field) {
        let skew = int(constraint, &["maxSkew"]).unwrap_or(0);
        if skew <= 0 {
            errors.invalid(&child_path.child("maxSkew"), skew, "must be greater than zero");
        }
        if text(constraint, &["topologyKey"]).is_empty() {
            errors.required(&child_path.child("topologyKey"), "can not be empty");
        }
        let otherwise = text(constraint, &["whenUnsatisfiable"]);
        errors.one_of(
            &child_path.child("whenUnsatisfiable"),
            otherwise,
            &["DoNotSchedule", "ScheduleAnyway"],
        );
        if let Some(wanted) = at(constraint, &["labelSelector"]) {
            selector(wanted, &child_path.child("labelSelector"), errors);
        }
    }
}

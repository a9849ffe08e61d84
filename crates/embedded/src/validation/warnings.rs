//! Warnings about objects that are accepted.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{FieldPath, items, security_profile};
use crate::fields::{at, int, list, text};
use crate::schema::Kind;

pub(super) fn warnings(kind: Kind<'_>, object: &Node) -> Vec<String> {
    let minor = kind.minor;
    let (group, kind) = super::group_and_kind(kind);
    let (path, field): (&[&str], &str) = match (group, kind) {
        ("", "Pod") => (&[], ""),
        ("", "PodTemplate") => (&["template"], "template"),
        ("apps", _) | ("batch", "Job") | ("", "ReplicationController") => {
            (&["spec", "template"], "spec.template")
        }
        ("", "Service") if minor >= 35 => return service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let mut found = formats(object, minor);
            if minor >= 37 {
                found.extend(sets_of_structures(object));
            }
            return found;
        }
        ("batch", "CronJob") => {
            (&["spec", "jobTemplate", "spec", "template"], "spec.jobTemplate.spec.template")
        }
        _ => return Vec::new(),
    };
    let template = if path.is_empty() { Some(object) } else { at(object, path) };
    let mut found = Vec::new();
    let old = "scheduler.alpha.kubernetes.io/critical-pod";
    if template.is_some_and(|template| at(template, &["metadata", "annotations", old]).is_some()) {
        let child_path = FieldPath::root(field).child("metadata").child("annotations").key(old).0;
        found.push(format!(
            "{child_path}: non-functional in v1.16+; use the \"priorityClassName\" field instead"
        ));
    }
    if let Some(template) = template {
        security_profile::warn_of_pod(template, field, &mut found);
        pod(template, field, &mut found);
    }
    found
}

fn service(object: &Node) -> Vec<String> {
    let is_old = text(object, &["spec", "trafficDistribution"]) == "PreferClose";
    let warning = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
    if is_old { vec![warning.to_owned()] } else { Vec::new() }
}

/// The string formats of JSON Schema, without dashes and each between blanks.
const TEXT_FORMATS: &str = " bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 \
    creditcard ssn hexcolor rgbcolor byte password date duration datetime k8sshortname k8slongname ";

/// Unrecognized formats in the schemas of a CustomResourceDefinition.
fn formats(object: &Node, minor: u16) -> Vec<String> {
    let mut found = Vec::new();
    for schema in schemas(object) {
        add_formats(schema, minor, &mut found);
    }
    found
}

/// The schemas of the versions of a CustomResourceDefinition.
fn schemas(object: &Node) -> impl Iterator<Item = &Node> {
    let versions = at(object, &["spec", "versions"]).and_then(Node::as_list).unwrap_or_default();
    versions.iter().filter_map(|version| at(version, &["schema", "openAPIV3Schema"]))
}

/// Lists of objects and of lists that are declared as sets, by type.
fn sets_of_structures(object: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    schemas(object).for_each(|schema| add_sets(schema, &mut found));
    found
}

fn add_sets(schema: &Node, found: &mut BTreeSet<String>) {
    let kind = text(schema, &["items", "type"]);
    if text(schema, &["x-kubernetes-list-type"]) == "set" && matches!(kind, "object" | "array") {
        found.insert(format!(
            "x-kubernetes-list-type: set for items of type \"{kind}\" is not supported by server-side apply or CEL validation rules"
        ));
    }
    inner_schemas(schema).for_each(|inner| add_sets(inner, found));
}

/// The schemas inside a schema.
fn inner_schemas(schema: &Node) -> impl Iterator<Item = &Node> {
    let one = ["items", "additionalProperties", "not"].into_iter().filter_map(|key| schema.get(key));
    let many = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_list());
    let named = schema.get("properties").and_then(Node::as_map);
    one.chain(many.flatten()).chain(named.into_iter().flat_map(|map| map.values()))
}

fn add_formats(schema: &Node, minor: u16, found: &mut Vec<String>) {
    let (format, kind) = (text(schema, &["format"]), text(schema, &["type"]));
    let known = match kind {
        _ if format.is_empty() => true,
        // Until 1.36, servers looked only at the formats of strings.
        other if minor < 36 && other != "string" => true,
        "" | "string" => TEXT_FORMATS.contains(&format!(" {} ", format.replace('-', ""))),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    };
    let warning = format!("unrecognized format \"{format}\"");
    if !known && !found.contains(&warning) {
        found.push(warning);
    }
    inner_schemas(schema).for_each(|inner| add_formats(inner, minor, found));
}

/// Port names and numbers that occur in several containers.
fn ports(spec: &Node, field: &FieldPath, found: &mut Vec<String>) {
    let mut names: Vec<(&str, String)> = Vec::new();
    let mut numbers: Vec<(String, String)> = Vec::new();
    for (child_path, container) in items(spec, "containers", field) {
        for (child_path, port) in items(container, "ports", &child_path) {
            let name = text(port, &["name"]);
            if let Some((_, first)) = names.iter().find(|(known, _)| *known == name && !name.is_empty()) {
                found.push(format!(
                    "{}: duplicate port name \"{name}\" with {first}, services and probes that select ports by name will use {first}",
                    child_path.0
                ));
            } else {
                names.push((name, child_path.0.clone()));
            }
            let number = int(port, &["containerPort"]).unwrap_or(0);
            let key = format!("{number}/{}", text(port, &["protocol"]));
            if let Some((_, first)) = numbers.iter().find(|(known, _)| *known == key) {
                found.push(format!("{}: duplicate port definition with {first}", child_path.0));
            } else {
                numbers.push((key, child_path.0.clone()));
            }
        }
    }
}

/// The warnings about a pod or a pod template at `child_path`.
fn pod(pod: &Node, child_path: &str, found: &mut Vec<String>) {
    let Some(spec) = at(pod, &["spec"]) else { return };
    let field = &FieldPath::root(child_path).child("spec");
    for (child_path, secret) in items(spec, "imagePullSecrets", field) {
        if text(secret, &["name"]).is_empty() {
            found.push(format!("{}: invalid empty name \"\"", child_path.child("name").0));
        }
    }
    for container in list(spec, &["initContainers"]) {
        security_profile::warn_of(pod, container, child_path, found);
    }
    for (at_container, container) in items(spec, "containers", field) {
        security_profile::warn_of(pod, container, child_path, found);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (child_path, variable) in items(container, "env", &at_container) {
            let name = text(variable, &["name"]);
            if !seen.insert(name) && at(variable, &["valueFrom"]).is_none() {
                found.push(format!(
                    "{}: hides previous definition of \"{name}\", which may be dropped when using apply",
                    child_path.0
                ));
            }
        }
    }
    ports(spec, field, found);
    if int(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        let child_path = field.child("terminationGracePeriodSeconds").0;
        found.push(format!(
            "{child_path}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrecognized_formats_are_warned_of_once() {
        let definition = "
spec:
  versions:
    - schema:
        openAPIV3Schema:
          type: object
          properties:
            known: {type: string, format: date-time}
            number: {type: integer, format: int64}
            list: {type: array, format: cidr, items: {type: string, format: cidr}}
            odd: {type: string, format: phone}
            again: {additionalProperties: {anyOf: [{format: phone}]}}
";
        let definition = pintle_yaml::read(definition.as_bytes()).expect("it reads");
        let found = |minor| {
            let mut found = formats(&definition, minor);
            found.sort();
            found
        };
        assert_eq!(found(36), ["unrecognized format \"cidr\"", "unrecognized format \"phone\""]);
        assert_eq!(found(35), ["unrecognized format \"phone\""], "only formats of strings were looked at");
    }
}

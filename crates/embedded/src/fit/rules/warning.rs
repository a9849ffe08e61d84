//! What is let pass with a warning.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{Field, items};
use crate::fit::tree::{at, int, text};

/// The warnings about an object of a built-in kind.
pub(in crate::fit) fn warnings(group: &str, kind: &str, object: &Node) -> Vec<String> {
    let (path, field): (&[&str], &str) = match (group, kind) {
        ("", "Pod") => (&[], ""),
        ("", "PodTemplate") => (&["template"], "template"),
        ("apps", _) | ("batch", "Job") | ("", "ReplicationController") => {
            (&["spec", "template"], "spec.template")
        }
        ("batch", "CronJob") => {
            (&["spec", "jobTemplate", "spec", "template"], "spec.jobTemplate.spec.template")
        }
        _ => return Vec::new(),
    };
    let template = if path.is_empty() { Some(object) } else { at(object, path) };
    let mut found = Vec::new();
    if let Some(spec) = template.and_then(|template| at(template, &["spec"])) {
        pod(spec, &Field::root(field).child("spec"), &mut found);
    }
    found
}

fn pod(spec: &Node, field: &Field, found: &mut Vec<String>) {
    for (place, secret) in items(spec, "imagePullSecrets", field) {
        if text(secret, &["name"]).is_empty() {
            found.push(format!("{}: invalid empty name \"\"", place.child("name").0));
        }
    }
    for (place, container) in items(spec, "containers", field) {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (place, variable) in items(container, "env", &place) {
            let name = text(variable, &["name"]);
            if !seen.insert(name) && at(variable, &["valueFrom"]).is_none() {
                found.push(format!(
                    "{}: hides previous definition of \"{name}\", which may be dropped when using apply",
                    place.0
                ));
            }
        }
    }
    if int(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        let place = field.child("terminationGracePeriodSeconds").0;
        found.push(format!("{place}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
}

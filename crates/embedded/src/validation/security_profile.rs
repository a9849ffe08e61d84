//! Validation of, and warnings about, the deprecated annotations for AppArmor and seccomp profiles, which are fields
//! now.

use pintle_tree::Node;

use super::{ErrorList, FieldPath};
use crate::fields::{at, list, text};

/// The prefix of the AppArmor annotation; the name of the container follows.
pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";

/// All containers of a pod or a pod template.
fn containers(pod: &Node) -> impl Iterator<Item = &Node> {
    let kinds = ["initContainers", "containers", "ephemeralContainers"];
    kinds.into_iter().flat_map(move |kind| list(pod, &["spec", kind]))
}

/// Validates the annotations of a pod or a pod template.
pub(super) fn check(pod: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let Some(annotations) = at(pod, &["metadata", "annotations"]).and_then(Node::as_map) else { return };
    let named = |prefix: &'static str| {
        let all =
            annotations.iter().map(|(key, value)| (key.to_string(), value.as_str().unwrap_or_default()));
        all.filter(move |(key, _)| key.starts_with(prefix))
    };
    for (key, value) in named(SECCOMP_OF_POD).chain(named(SECCOMP)) {
        let is_known = matches!(value, "runtime/default" | "docker/default" | "unconfined");
        if !is_known && !value.starts_with("localhost/") {
            errors.invalid(&field.child(&key), value, "must be a valid seccomp profile");
        }
    }
    for (key, value) in named(APP_ARMOR) {
        let name = &key[APP_ARMOR.len()..];
        if !containers(pod).any(|container| text(container, &["name"]) == name) {
            errors.invalid(&field.key(&key), name, "container not found");
        }
        if !matches!(value, "" | "runtime/default" | "unconfined") && !value.starts_with("localhost/") {
            errors.invalid(&field.key(&key), value, &format!("invalid AppArmor profile name: {value:?}"));
        }
    }
}

/// The warning about an AppArmor annotation.
pub(crate) fn app_armor_warning(child_path: &str, container: &str) -> String {
    let child_path = FieldPath::root(child_path)
        .child("metadata")
        .child("annotations")
        .key(&format!("{APP_ARMOR}{container}"));
    format!("{}: deprecated since v1.30; use the \"appArmorProfile\" field instead", child_path.0)
}

/// The warning about a seccomp annotation for the whole pod.
pub(super) fn warn_of_pod(pod: &Node, child_path: &str, found: &mut Vec<String>) {
    let is_old = at(pod, &["metadata", "annotations", SECCOMP_OF_POD]).is_some()
        && at(pod, &["spec", "securityContext", "seccompProfile"]).is_none();
    found.extend(is_old.then(|| seccomp_warning(child_path, SECCOMP_OF_POD)));
}

/// The warnings about annotations for one container. AppArmor annotations of pods are converted to fields at
/// admission, which warns of them itself.
pub(super) fn warn_of(pod: &Node, container: &Node, child_path: &str, found: &mut Vec<String>) {
    let name = text(container, &["name"]);
    let is_old = |prefix: &str, field: &str| {
        at(pod, &["metadata", "annotations", &format!("{prefix}{name}")]).is_some()
            && at(container, &["securityContext", field]).is_none()
    };
    if !child_path.is_empty() && is_old(APP_ARMOR, "appArmorProfile") {
        found.push(app_armor_warning(child_path, name));
    }
    if is_old(SECCOMP, "seccompProfile") {
        found.push(seccomp_warning(child_path, &format!("{SECCOMP}{name}")));
    }
}

fn seccomp_warning(child_path: &str, annotation: &str) -> String {
    let child_path = FieldPath::root(child_path).child("metadata").child("annotations").key(annotation);
    format!("{}: non-functional in v1.27+; use the \"seccompProfile\" field instead", child_path.0)
}

//! Ownership metadata: the label and annotations that make an object part of a release, and the check before an
//! object is adopted.

use pintle_objects::{Object, ObjectId};
use pintle_tree::quote::quote;

/// The label that names the managing tool.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The managing tool. It is Helm's name, so that either tool can continue with the releases of the other.
pub const MANAGER: &str = "Helm";
/// The annotation that names the release.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// The annotation that names the release's namespace.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// Why a live object does not belong to a release. The text is Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid ownership metadata; {}", .0.join("; "))]
pub struct OwnershipError(Vec<String>);

/// Sets the ownership metadata of an object, replacing that of another release.
pub fn set(object: &mut Object, release: &str, namespace: &str) {
    object.set_label(MANAGED_BY, MANAGER);
    object.set_annotation(RELEASE_NAME, release);
    object.set_annotation(RELEASE_NAMESPACE, namespace);
}

/// Returns the release that a live object belongs to, by name and namespace, as its ownership metadata says.
pub fn owner(live: &Object) -> Option<(&str, &str)> {
    live.label(MANAGED_BY).filter(|manager| *manager == MANAGER)?;
    Some((live.annotation(RELEASE_NAME)?, live.annotation(RELEASE_NAMESPACE)?))
}

/// Checks that a live object belongs to a release (Helm's `checkOwnership`).
///
/// # Errors
/// Everything that is missing or names another release.
pub fn check(live: &Object, release: &str, namespace: &str) -> Result<(), OwnershipError> {
    let label = live.label(MANAGED_BY);
    let annotations = [(RELEASE_NAME, release), (RELEASE_NAMESPACE, namespace)];
    let mut problems: Vec<String> = Vec::new();
    if let Err(problem) = require(MANAGED_BY, label, MANAGER) {
        problems.push(format!("label validation error: {problem}"));
    }
    for (key, value) in annotations {
        if let Err(problem) = require(key, live.annotation(key), value) {
            problems.push(format!("annotation validation error: {problem}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(OwnershipError(problems)) }
}

fn require(key: &str, actual: Option<&str>, expected: &str) -> Result<(), String> {
    let quoted = |text: &str| quote(text.as_bytes());
    match actual {
        Some(actual) if actual == expected => Ok(()),
        None => Err(format!("missing key {}: must be set to {}", quoted(key), quoted(expected))),
        Some(actual) => Err(format!(
            "key {} must equal {}: current value is {}",
            quoted(key),
            quoted(expected),
            quoted(actual)
        )),
    }
}

/// An object as Helm's messages name it.
pub fn describe(id: &ObjectId) -> String {
    let quoted = |text: &str| quote(text.as_bytes());
    format!("{} {} in namespace {}", id.kind, quoted(&id.name), quoted(&id.namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Object {
        Object::from_id(&ObjectId::new("v1", "ConfigMap", "shop", "conf"))
    }

    #[test]
    fn a_marked_object_belongs_to_its_release_and_to_no_other() {
        let mut object = object();
        set(&mut object, "web", "shop");
        assert_eq!(check(&object, "web", "shop"), Ok(()));
        assert_eq!(
            check(&object, "other", "shop").expect_err("another release").to_string(),
            "invalid ownership metadata; annotation validation error: key \"meta.helm.sh/release-name\" must equal \
             \"other\": current value is \"web\""
        );
    }

    #[test]
    fn all_missing_ownership_metadata_is_reported_at_once() {
        assert_eq!(
            check(&object(), "web", "shop").expect_err("no marks").to_string(),
            "invalid ownership metadata; label validation error: missing key \"app.kubernetes.io/managed-by\": must be \
             set to \"Helm\"; annotation validation error: missing key \"meta.helm.sh/release-name\": must be set to \
             \"web\"; annotation validation error: missing key \"meta.helm.sh/release-namespace\": must be set to \
             \"shop\""
        );
    }

    #[test]
    fn setting_ownership_replaces_that_of_another_release() {
        let mut object = object();
        set(&mut object, "old", "old");
        set(&mut object, "new", "new");
        assert_eq!(check(&object, "new", "new"), Ok(()));
    }
}

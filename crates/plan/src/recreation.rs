//! Changes of fields that the server does not change in place: which fields they are, and whether the object may be
//! deleted and created again.

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::diff::missing_or_changed;

/// Whether an object may be deleted and created again when a field cannot be changed in place: `recreate`, `orphan` or
/// `never`.
pub const RECREATE_POLICY: &str = "helm.sh/recreate-policy";

/// Kinds whose deletion destroys data or the objects of others.
const NEVER: [&str; 4] =
    ["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"];

/// What happens to the dependents of an object that is deleted and created again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recreation {
    /// They are deleted, and the new object creates its own.
    DeleteDependents,
    /// They stay, and the new object adopts them.
    OrphanDependents,
}

/// Returns how an object is recreated, or `None` if it may not be. `wanted` are the objects that the user named, as
/// `Kind/name`.
pub fn recreation(live: &Object, desired: &Object, wanted: &[String]) -> Option<Recreation> {
    let id = desired.id();
    let is_wanted = wanted.iter().any(|name| names(name, &id));
    let policy = desired.annotation(RECREATE_POLICY).map(str::trim);
    if NEVER.contains(&id.kind.as_str()) || policy == Some("never") || (!is_wanted && policy.is_none()) {
        return None;
    }
    match policy {
        Some("recreate") => Some(Recreation::DeleteDependents),
        Some("orphan") => Some(Recreation::OrphanDependents),
        // An unknown policy does not permit a deletion.
        _ if !is_wanted => None,
        _ => Some(usual(live, desired)),
    }
}

/// Pods of controllers that can adopt them again are kept, so that recreating a StatefulSet restarts nothing and keeps
/// its claims.
fn usual(live: &Object, desired: &Object) -> Recreation {
    let adopts =
        matches!(desired.kind(), "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController");
    let selector = |object: &Object| object.at(&["spec", "selector"]).cloned();
    match adopts && selector(live) == selector(desired) {
        true => Recreation::OrphanDependents,
        false => Recreation::DeleteDependents,
    }
}

/// Whether `Kind/name` names an object; the kind in any case.
fn names(text: &str, id: &ObjectId) -> bool {
    text.split_once('/').is_some_and(|(kind, name)| kind.eq_ignore_ascii_case(&id.kind) && name == id.name)
}

/// Returns the immutable fields that a rejected update would have changed, from the fields and messages of the causes.
/// Some messages name only `spec` and the fields that may change; then all other fields that differ are returned.
pub fn immutable_fields<'c>(
    causes: impl IntoIterator<Item = (&'c str, &'c str)>,
    live: Option<&Object>,
    desired: Option<&Object>,
) -> Vec<String> {
    let mut fields = Vec::new();
    for (field, message) in causes.into_iter().filter(|(_, message)| is_about_immutability(message)) {
        let precise = match (live, desired) {
            (Some(live), Some(desired)) if !field.contains('.') => {
                changed_below(field, message, live, desired)
            }
            _ => Vec::new(),
        };
        match precise.is_empty() {
            true => fields.push(field.to_owned()),
            false => fields.extend(precise),
        }
    }
    fields.sort();
    fields.dedup();
    fields
}

fn is_about_immutability(message: &str) -> bool {
    message.contains("immutable")
        || message.contains("may not be changed")
        || message.contains("updates to")
        || message.contains("may not change once set")
        // Of the role of a binding, before Kubernetes 1.37.
        || message.contains("cannot change")
}

fn changed_below(field: &str, message: &str, live: &Object, desired: &Object) -> Vec<String> {
    let may_change = mutable_fields(message);
    let is_mutable = |rest: &str| {
        may_change.iter().any(|name| {
            rest.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    let differs = missing_or_changed(live.body(), desired.body()).into_iter();
    differs
        // Quantities have several notations (`1`, `1000m`): one that differs in notation only has not changed, but that
        // cannot be detected here.
        .filter(|difference| difference.after != Some(&Node::Nil))
        .filter_map(|difference| {
            let rest = difference.path.strip_prefix(field)?.strip_prefix('.')?;
            (!is_mutable(rest)).then(|| difference.path.clone())
        })
        .collect()
}

/// The fields that a message exempts: `fields other than 'replicas', 'template'` or `except resources.requests and x`.
fn mutable_fields(message: &str) -> Vec<String> {
    let quoted = |text: &str| text.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    if let Some((_, rest)) = message.split_once("other than ") {
        return quoted(rest);
    }
    let Some((_, rest)) = message.split_once("except ") else { return Vec::new() };
    rest.split([' ', ',']).filter(|word| !matches!(*word, "" | "and" | "for")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(extra: &str, selector: &str) -> Object {
        let text = format!(
            r#"{{"kind":"StatefulSet","metadata":{{"name":"db"}},"spec":{{"replicas":1,{extra}"selector":"{selector}"}}}}"#
        );
        Object::read_json(text.as_bytes()).expect("good JSON")
    }

    #[test]
    fn the_field_behind_a_vague_message_is_found() {
        let message = "Forbidden: updates to statefulset spec for fields other than 'replicas', 'template' are forbidden";
        let (live, desired) =
            (set(r#""serviceName":"a","#, "x"), set(r#""serviceName":"b","template":1,"#, "x"));
        let fields = immutable_fields([("spec", message)], Some(&live), Some(&desired));
        assert_eq!(fields, ["spec.serviceName"]);
        assert_eq!(
            immutable_fields([("spec.selector", "field is immutable")], None, None),
            ["spec.selector"]
        );
        let role = [("roleRef", "Invalid value: {}: cannot change roleRef")];
        assert_eq!(immutable_fields(role, None, None), ["roleRef"]);
        assert!(immutable_fields([("spec.ports", "Required value")], None, None).is_empty());
    }

    #[test]
    fn only_what_was_named_is_recreated_and_pods_stay_where_they_can_be_adopted() {
        let wanted = ["statefulset/db".to_owned()];
        let (live, desired) = (set("", "x"), set("", "x"));
        assert_eq!(recreation(&live, &desired, &[]), None);
        assert_eq!(recreation(&live, &desired, &wanted), Some(Recreation::OrphanDependents));
        assert_eq!(recreation(&live, &set("", "y"), &wanted), Some(Recreation::DeleteDependents));
        let mut annotated = desired.clone();
        annotated.set_annotation(RECREATE_POLICY, "recreate");
        assert_eq!(recreation(&live, &annotated, &[]), Some(Recreation::DeleteDependents));
        annotated.set_annotation(RECREATE_POLICY, "never");
        assert_eq!(recreation(&live, &annotated, &wanted), None);
        let claim = Object::from_id(&ObjectId::new("v1", "PersistentVolumeClaim", "a", "data"));
        assert_eq!(recreation(&claim, &claim, &["PersistentVolumeClaim/data".to_owned()]), None);
    }
}

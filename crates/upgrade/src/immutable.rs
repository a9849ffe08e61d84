//! Fields that the API server does not change in place.

use pintle_objects::Object;
use pintle_tree::Node;

use crate::report::{Finding, FindingKind, Severity};

/// The immutable fields of a kind.
enum Rule {
    /// These fields, with what is below them.
    Fields(&'static [&'static [&'static str]]),
    /// All of `spec`, but these of its fields.
    SpecExcept(&'static [&'static str]),
}

const SELECTOR: Rule = Rule::Fields(&[&["spec", "selector"]]);

/// The rule of a kind of Kubernetes.
fn rule(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Deployment" | "DaemonSet" | "ReplicaSet" => SELECTOR,
        "StatefulSet" => Rule::SpecExcept(&[
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
            "revisionHistoryLimit",
        ]),
        "Job" => Rule::Fields(&[
            &["spec", "selector"],
            &["spec", "template"],
            &["spec", "completions"],
            &["spec", "completionMode"],
            &["spec", "podFailurePolicy"],
            &["spec", "backoffLimitPerIndex"],
            &["spec", "managedBy"],
        ]),
        "PersistentVolumeClaim" => Rule::SpecExcept(&["resources", "volumeAttributesClassName"]),
        "PersistentVolume" => {
            Rule::Fields(&[&["spec", "volumeMode"], &["spec", "csi"], &["spec", "hostPath"]])
        }
        "RoleBinding" | "ClusterRoleBinding" => Rule::Fields(&[&["roleRef"]]),
        "StorageClass" => {
            Rule::Fields(&[&["provisioner"], &["parameters"], &["reclaimPolicy"], &["volumeBindingMode"]])
        }
        "IngressClass" => Rule::Fields(&[&["spec", "controller"]]),
        "PriorityClass" => Rule::Fields(&[&["value"], &["preemptionPolicy"]]),
        "RuntimeClass" => Rule::Fields(&[&["handler"]]),
        "Secret" => Rule::Fields(&[&["type"]]),
        "Service" => Rule::Fields(&[&["spec", "clusterIP"]]),
        "CustomResourceDefinition" => {
            Rule::Fields(&[&["spec", "group"], &["spec", "scope"], &["spec", "names", "kind"]])
        }
        _ => return None,
    })
}

/// The immutable fields that differ between two versions of an object.
pub fn changes(name: &str, old: &Object, new: &Object) -> Vec<Finding> {
    let mut fields = match rule(new.kind()) {
        Some(Rule::Fields(fields)) => {
            let differs = |field: &&&[&str]| differs(old.at(field), new.at(field), new.kind(), field);
            fields.iter().filter(differs).map(|field| field.join(".")).collect()
        }
        Some(Rule::SpecExcept(mutable)) => spec_changes(old, new, mutable),
        None => Vec::new(),
    };
    let is_fixed = |object: &Object| object.at(&["immutable"]).and_then(Node::as_bool) == Some(true);
    if matches!(new.kind(), "ConfigMap" | "Secret") && is_fixed(old) {
        let parts = ["data", "binaryData", "stringData"];
        fields.extend(
            parts.iter().filter(|key| old.at(&[**key]) != new.at(&[**key])).map(|key| (*key).to_owned()),
        );
    }
    // A hook is deleted and created again by default.
    if new.annotation("helm.sh/hook").is_some() {
        return Vec::new();
    }
    let finding = |field: String| {
        let message = format!(
            "{field} of {name} is immutable and differs: the upgrade fails unless the object is deleted first"
        );
        Finding::new(FindingKind::ImmutableField, Severity::Error, format!("{name} {field}"), message)
    };
    fields.into_iter().map(finding).collect()
}

fn differs(old: Option<&Node>, new: Option<&Node>, kind: &str, field: &[&str]) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old != new,
        // The server fills these in, or keeps what it has.
        (None, Some(Node::Str(text))) if kind == "Service" => text.to_str_lossy() == "None",
        (Some(Node::Str(text)), None) if kind == "Service" => text.to_str_lossy() == "None",
        (Some(_), None) | (None, Some(_)) => {
            kind == "StorageClass" && field == ["parameters"]
                || matches!(field, ["spec", "selector" | "template"] | ["roleRef"]) && kind != "Job"
        }
        (None, None) => false,
    }
}

/// The fields of `spec` that differ and are not among those that may.
fn spec_changes(old: &Object, new: &Object, mutable: &[&str]) -> Vec<String> {
    let nothing = pintle_tree::Map::new();
    let (before, after) = (old.at(&["spec"]), new.at(&["spec"]));
    let before = before.and_then(Node::as_map).unwrap_or(&nothing);
    let after = after.and_then(Node::as_map).unwrap_or(&nothing);
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(key)));
    keys.filter(|key| !mutable.iter().any(|field| **key == *field))
        .filter(|key| without_labels(before.get(key)) != without_labels(after.get(key)))
        .map(|key| format!("spec.{key}"))
        .collect()
}

/// A value as it is compared. In templates of claims, the server compares everything.
fn without_labels(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_nil())
}

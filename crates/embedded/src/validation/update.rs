//! Validation of updates: immutable fields.

use pintle_tree::{Map, Node, Str};

use super::{ErrorList, FieldPath};
use crate::fields::{at, is_true, list, text};
use crate::quantity::Quantity;

const IMMUTABLE: &str = "field is immutable";

/// Validates what changes between `old` and `new`; the new object itself is validated apart.
pub(super) fn validate(group: &str, kind: &str, old: &Node, new: &Node, errors: &mut ErrorList) {
    match (group, kind) {
        ("", "ConfigMap") => config(old, new, &["data", "binaryData"], errors),
        ("", "Secret") => {
            immutable(old, new, &["type"], errors);
            config(old, new, &["data"], errors);
        }
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => {
            immutable(old, new, &["spec", "selector"], errors)
        }
        ("apps", "StatefulSet") => stateful_set(old, new, errors),
        ("batch", "Job") => job(old, new, errors),
        ("", "Pod") => pod(old, new, errors),
        ("", "Service") => service(old, new, errors),
        ("", "PersistentVolumeClaim") => claim(old, new, errors),
        ("", "PersistentVolume") => volume(old, new, errors),
        ("storage.k8s.io", "StorageClass") => {
            for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                immutable(old, new, &[name], errors);
            }
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => role(old, new, errors),
        ("scheduling.k8s.io", "PriorityClass") if at(old, &["value"]) != at(new, &["value"]) => {
            errors.forbidden(&FieldPath::root("value"), "may not be changed in an update.");
        }
        _ => {}
    }
}

/// An immutable field.
fn immutable(old: &Node, new: &Node, path: &[&str], errors: &mut ErrorList) {
    if at(old, path) != at(new, path) {
        let value = at(new, path).cloned().unwrap_or_default();
        errors.invalid(&FieldPath::root(&path.join(".")), value, IMMUTABLE);
    }
}

fn config(old: &Node, new: &Node, fields: &[&str], errors: &mut ErrorList) {
    if !is_true(old, &["immutable"]) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !is_true(new, &["immutable"]) {
        errors.forbidden(&FieldPath::root("immutable"), detail);
    }
    for name in fields {
        if at(old, &[name]) != at(new, &[name]) {
            errors.forbidden(&FieldPath::root(name), detail);
        }
    }
}

/// A spec without its mutable fields, for comparison.
fn without_fields(spec: Option<&Node>, fields: &[&str]) -> Map<Node> {
    let mut rest = spec.and_then(Node::as_map).cloned().unwrap_or_default();
    // A null and an absent field are the same to the server, which compares Go structs.
    rest.retain(|name, value| !fields.iter().any(|field| *name == **field) && !value.is_nil());
    rest
}

fn stateful_set(old: &Node, new: &Node, errors: &mut ErrorList) {
    if errors.minor >= 37 {
        let zeros = [
            ("selector", Node::Nil),
            ("volumeClaimTemplates", Node::List(Vec::new())),
            ("serviceName", "".into()),
            ("podManagementPolicy", "".into()),
        ];
        for (name, zero) in zeros {
            let value = |node: &Node| at(node, &["spec", name]).cloned().unwrap_or_else(|| zero.clone());
            if value(old) != value(new) {
                errors.invalid(&FieldPath::root("spec").child(name), value(new), IMMUTABLE);
            }
        }
        return;
    }
    const MUTABLE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    if without_fields(at(old, &["spec"]), &MUTABLE) != without_fields(at(new, &["spec"]), &MUTABLE) {
        let (last, others) = ("minReadySeconds", &MUTABLE[..6]);
        let others: Vec<String> = others.iter().map(|name| format!("'{name}'")).collect();
        let detail = format!(
            "updates to statefulset spec for fields other than {} and '{last}' are forbidden",
            others.join(", ")
        );
        errors.forbidden(&FieldPath::root("spec"), &detail);
    }
}

fn job(old: &Node, new: &Node, errors: &mut ErrorList) {
    // Elastic indexed jobs: `completions` may change together with `parallelism`.
    let completions_may = text(old, &["spec", "completionMode"]) == "Indexed"
        && at(new, &["spec", "completions"]) == at(new, &["spec", "parallelism"])
        && at(new, &["spec", "completions"]).is_some();
    if !completions_may {
        immutable(old, new, &["spec", "completions"], errors);
    }
    immutable(old, new, &["spec", "selector"], errors);
    let template = |node: &Node| at(node, &["spec", "template"]).cloned();
    // The server reports `spec.template`, with the part that differs as its value.
    if template(old) != template(new) {
        let field = |path: &[&str]| at(old, path) != at(new, path);
        let (path, value): (&str, &[&str]) = if field(&["spec", "template", "spec"]) {
            ("spec.template.spec", &["spec", "template", "spec"])
        } else {
            ("spec.template", &["spec", "template"])
        };
        errors.invalid(&FieldPath::root(path), at(new, value).cloned().unwrap_or_default(), IMMUTABLE);
    }
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        immutable(old, new, &["spec", name], errors);
    }
}

/// Of a pod only images, `activeDeadlineSeconds`, additional tolerations, scheduling gates and a negative grace period may
/// change.
fn pod(old: &Node, new: &Node, errors: &mut ErrorList) {
    for name in ["containers", "initContainers"] {
        if list(old, &["spec", name]).len() != list(new, &["spec", name]).len() {
            let detail = "pod updates may not add or remove containers";
            return errors.forbidden(&FieldPath::root("spec").child(name), detail);
        }
    }
    let old_tolerations = list(old, &["spec", "tolerations"]);
    let now = list(new, &["spec", "tolerations"]);
    let rest = |node: &Node| {
        const MUTABLE: [&str; 4] =
            ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"];
        let mut spec = without_fields(at(node, &["spec"]), &MUTABLE);
        for name in ["containers", "initContainers"] {
            crate::fields::for_each_map(&mut spec, name, |container| drop(container.remove("image")));
        }
        spec
    };
    if rest(old) != rest(new) || !old_tolerations.iter().all(|toleration| now.contains(toleration)) {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        errors.forbidden(&FieldPath::root("spec"), detail);
    }
}

fn service(old: &Node, new: &Node, errors: &mut ErrorList) {
    let is_external = |node: &Node| text(node, &["spec", "type"]) == "ExternalName";
    // A change from or to ExternalName allocates or releases the address.
    if is_external(old) || is_external(new) {
        return;
    }
    let (was, is) = (text(old, &["spec", "clusterIP"]), text(new, &["spec", "clusterIP"]));
    if was != is && !was.is_empty() {
        let all = at(new, &["spec", "clusterIPs"]).cloned().unwrap_or_default();
        errors.invalid(&FieldPath::root("spec.clusterIPs").index(0), all, "may not change once set");
    }
}

fn claim(old: &Node, new: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    let size = |node: &Node| {
        let text = at(node, &["spec", "resources", "requests", "storage"]).and_then(Node::as_str)?;
        Quantity::parse(text)
    };
    let rest = |node: &Node| {
        let mut spec = without_fields(at(node, &["spec"]), &["volumeAttributesClassName"]);
        if let Some(Node::Map(resources)) = spec.get_mut("resources")
            && let Some(Node::Map(requests)) = resources.get_mut("requests")
        {
            requests.remove("storage");
        }
        spec
    };
    let is_bound = text(old, &["status", "phase"]) == "Bound";
    let shrinks = matches!((size(old), size(new)), (Some(old), Some(new)) if old.exceeds(&new));
    let grows = matches!((size(old), size(new)), (Some(old), Some(new)) if new.exceeds(&old));
    // The controller sets the volume once; it is the only other field that may change.
    let binds = at(old, &["spec", "volumeName"]).is_none() && at(new, &["spec", "volumeName"]).is_some();
    let rest_of = |node: &Node| {
        let mut rest = rest(node);
        if binds {
            rest.remove("volumeName");
        }
        rest
    };
    if rest_of(old) != rest_of(new) || ((grows || shrinks) && !is_bound) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        return errors.forbidden(&field, detail);
    }
    if shrinks {
        let child_path = field.child("resources").child("requests").child("storage");
        errors.forbidden(&child_path, "field can not be less than status.capacity");
    }
}

fn volume(old: &Node, new: &Node, errors: &mut ErrorList) {
    const SOURCES: [&str; 8] = ["hostPath", "nfs", "csi", "local", "iscsi", "fc", "rbd", "cephfs"];
    let source = |node: &Node| -> Map<Node> {
        let spec = at(node, &["spec"]).and_then(Node::as_map).cloned().unwrap_or_default();
        spec.into_iter()
            .filter(|(name, _): &(Str, Node)| SOURCES.iter().any(|known| *name == **known))
            .collect()
    };
    if source(old) != source(new) {
        let detail = "spec.persistentvolumesource is immutable after creation";
        errors.forbidden(&FieldPath::root("spec.persistentvolumesource"), detail);
    }
    immutable(old, new, &["spec", "volumeMode"], errors);
}

fn role(old: &Node, new: &Node, errors: &mut ErrorList) {
    if at(old, &["roleRef"]) != at(new, &["roleRef"]) {
        let empty = Node::empty_map();
        let fields = [("apiGroup", "APIGroup"), ("kind", "Kind"), ("name", "Name")];
        let shown = super::format_struct(at(new, &["roleRef"]).unwrap_or(&empty), &fields);
        let detail = if errors.minor < 37 { "cannot change roleRef" } else { IMMUTABLE };
        errors.invalid_formatted(&FieldPath::root("roleRef"), &shown, detail);
    }
}

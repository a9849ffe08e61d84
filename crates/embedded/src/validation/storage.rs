//! Validation of PersistentVolumes, PersistentVolumeClaims and StorageClasses.

use pintle_tree::Node;

use super::volume::{host_path, required};
use super::{ErrorList, FieldPath, names, selector};
use crate::fields::{at, list, map, text};
use crate::quantity::Quantity;

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) fn storage(kind: &str, object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "PersistentVolumeClaim" => claim(spec, &field, errors),
        "PersistentVolume" => volume(spec, &field, errors),
        "StorageClass" => class(object, errors),
        _ => {}
    }
}

/// A claim, or a claim template.
pub(super) fn claim(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if list(spec, &["accessModes"]).is_empty() {
        errors.required(&field.child("accessModes"), "at least 1 access mode is required");
    }
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), errors);
    }
    modes(spec, field, errors);
    let child_path = field.child("resources").key("storage");
    match at(spec, &["resources", "requests", "storage"]).and_then(Node::as_str) {
        None => errors.required(&child_path, ""),
        Some(size) => {
            if Quantity::parse(size).is_none_or(|size| size.is_zero() || size.is_negative()) {
                errors.invalid(&child_path, size, "must be greater than zero");
            }
        }
    }
    let class = text(spec, &["storageClassName"]);
    if !class.is_empty() {
        errors.add_all(&field.child("storageClassName"), class, names::subdomain(class));
    }
    let mode = text(spec, &["volumeMode"]);
    if !mode.is_empty() {
        errors.one_of(&field.child("volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

fn modes(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    for mode in list(spec, &["accessModes"]) {
        errors.one_of(&field.child("accessModes"), mode.as_str().unwrap_or_default(), &MODES);
    }
}

fn volume(spec: &Node, field: &FieldPath, errors: &mut ErrorList) {
    if list(spec, &["accessModes"]).is_empty() {
        errors.required(&field.child("accessModes"), "");
    }
    modes(spec, field, errors);
    let capacity = map(spec, &["capacity"]);
    if capacity.is_none_or(pintle_tree::Map::is_empty) {
        errors.required(&field.child("capacity"), "");
    }
    if capacity.is_none_or(|capacity| capacity.len() != 1 || !capacity.contains_key("storage")) {
        let value = at(spec, &["capacity"]).cloned().unwrap_or_default();
        errors.not_supported(&field.child("capacity"), value, &["storage"]);
    }
    let policy = text(spec, &["persistentVolumeReclaimPolicy"]);
    if !policy.is_empty() {
        errors.one_of(
            &field.child("persistentVolumeReclaimPolicy"),
            policy,
            &["Delete", "Recycle", "Retain"],
        );
    }
    let mut count = 0;
    for kind in [
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "nfs",
        "rbd",
        "cephfs",
        "iscsi",
        "fc",
        "csi",
        "local",
        "azureDisk",
        "azureFile",
        "cinder",
    ] {
        let Some(source) = at(spec, &[kind]) else { continue };
        count += 1;
        let child_path = field.child(kind);
        if count > 1 {
            errors.forbidden(&child_path, "may not specify more than 1 volume type");
        } else if kind == "hostPath" {
            host_path(source, &child_path, errors);
        } else if kind == "nfs" {
            required(source, "server", &child_path, errors);
            required(source, "path", &child_path, errors);
        }
    }
    if count == 0 {
        errors.required(field, "must specify a volume type");
    }
    let mode = text(spec, &["volumeMode"]);
    if !mode.is_empty() {
        errors.one_of(&field.child("volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

fn class(object: &Node, errors: &mut ErrorList) {
    let root = FieldPath::root("");
    if text(object, &["provisioner"]).is_empty() {
        errors.required(&root.child("provisioner"), "");
    }
    errors.one_of(&root.child("reclaimPolicy"), text(object, &["reclaimPolicy"]), &["Delete", "Retain"]);
    let mode = text(object, &["volumeBindingMode"]);
    errors.one_of(&root.child("volumeBindingMode"), mode, &["Immediate", "WaitForFirstConsumer"]);
}

//! Rules for volumes, claims and classes of storage.

use pintle_tree::Node;

use super::volume::{host_path, required};
use super::{Faults, Field, names, selector};
use crate::fit::quantity::Quantity;
use crate::fit::tree::{at, list, map, text};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// An object about storage.
pub(super) fn storage(kind: &str, object: &Node, faults: &mut Faults) {
    let field = Field::root("spec");
    let empty = Node::empty_map();
    let spec = at(object, &["spec"]).unwrap_or(&empty);
    match kind {
        "PersistentVolumeClaim" => claim(spec, &field, faults),
        "PersistentVolume" => volume(spec, &field, faults),
        "StorageClass" => class(object, faults),
        _ => {}
    }
}

/// A claim.
pub(super) fn claim(spec: &Node, field: &Field, faults: &mut Faults) {
    if list(spec, &["accessModes"]).is_empty() {
        faults.required(&field.child("accessModes"), "at least 1 access mode is required");
    }
    if let Some(wanted) = at(spec, &["selector"]) {
        selector(wanted, &field.child("selector"), faults);
    }
    modes(spec, field, faults);
    let place = field.child("resources").key("storage");
    match at(spec, &["resources", "requests", "storage"]).and_then(Node::as_str) {
        None => faults.required(&place, ""),
        Some(size) => {
            if Quantity::read(size).is_none_or(|size| size.is_zero() || size.is_negative()) {
                faults.invalid(&place, size, "must be greater than zero");
            }
        }
    }
    let class = text(spec, &["storageClassName"]);
    if !class.is_empty() {
        faults.each(&field.child("storageClassName"), class, names::subdomain(class));
    }
    let mode = text(spec, &["volumeMode"]);
    if !mode.is_empty() {
        faults.one_of(&field.child("volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

fn modes(spec: &Node, field: &Field, faults: &mut Faults) {
    for mode in list(spec, &["accessModes"]) {
        faults.one_of(&field.child("accessModes"), mode.as_str().unwrap_or_default(), &MODES);
    }
}

fn volume(spec: &Node, field: &Field, faults: &mut Faults) {
    if list(spec, &["accessModes"]).is_empty() {
        faults.required(&field.child("accessModes"), "");
    }
    modes(spec, field, faults);
    let capacity = map(spec, &["capacity"]);
    if capacity.is_none_or(pintle_tree::Map::is_empty) {
        faults.required(&field.child("capacity"), "");
    }
    if capacity.is_none_or(|capacity| capacity.len() != 1 || !capacity.contains_key("storage")) {
        let value = at(spec, &["capacity"]).cloned().unwrap_or_default();
        faults.not_supported(&field.child("capacity"), value, &["storage"]);
    }
    let policy = text(spec, &["persistentVolumeReclaimPolicy"]);
    if !policy.is_empty() {
        faults.one_of(
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
        let place = field.child(kind);
        if count > 1 {
            faults.forbidden(&place, "may not specify more than 1 volume type");
        } else if kind == "hostPath" {
            host_path(source, &place, faults);
        } else if kind == "nfs" {
            required(source, "server", &place, faults);
            required(source, "path", &place, faults);
        }
    }
    if count == 0 {
        faults.required(field, "must specify a volume type");
    }
    let mode = text(spec, &["volumeMode"]);
    if !mode.is_empty() {
        faults.one_of(&field.child("volumeMode"), mode, &["Block", "Filesystem"]);
    }
}

fn class(object: &Node, faults: &mut Faults) {
    let root = Field::root("");
    if text(object, &["provisioner"]).is_empty() {
        faults.required(&root.child("provisioner"), "");
    }
    faults.one_of(&root.child("reclaimPolicy"), text(object, &["reclaimPolicy"]), &["Delete", "Retain"]);
    let mode = text(object, &["volumeBindingMode"]);
    faults.one_of(&root.child("volumeBindingMode"), mode, &["Immediate", "WaitForFirstConsumer"]);
}

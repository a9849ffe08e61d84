//! Validation of pod volumes.

use pintle_tree::Node;

use super::container::{no_parent_directories, relative_path};
use super::{ErrorList, FieldPath, items, names};
use crate::fields::{at, int, text};

/// Validates the volumes of a pod and returns the names that can be mounted.
pub(super) fn volumes(spec: &Node, field: &FieldPath, errors: &mut ErrorList) -> Vec<String> {
    let mut good: Vec<String> = Vec::new();
    for (child_path, volume) in items(spec, "volumes", field) {
        let before = errors.causes.len();
        source(volume, &child_path, errors);
        let name = text(volume, &["name"]);
        if name.is_empty() {
            errors.required(&child_path.child("name"), "");
        } else {
            errors.add_all(&child_path.child("name"), name, names::label(name));
        }
        if good.iter().any(|known| known == name) {
            errors.duplicate(&child_path.child("name"), name);
        }
        // As in the real server: mounts of a volume that is itself invalid are reported as not found.
        if errors.causes.len() == before {
            good.push(name.to_owned());
        }
    }
    good
}

fn source(volume: &Node, field: &FieldPath, errors: &mut ErrorList) {
    // The order in which the server checks them; the first counts, the others are forbidden.
    const ORDER: [&str; 12] = [
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "persistentVolumeClaim",
        "downwardAPI",
        "configMap",
        "projected",
    ];
    let mut count = 0;
    for kind in ORDER {
        let Some(source) = at(volume, &[kind]) else { continue };
        let child_path = field.child(kind);
        count += 1;
        if count > 1 {
            errors.forbidden(&child_path, "may not specify more than 1 volume type");
            continue;
        }
        match kind {
            "hostPath" => host_path(source, &child_path, errors),
            "secret" => {
                required(source, "secretName", &child_path, errors);
                files(source, &child_path, errors);
            }
            "configMap" => {
                required(source, "name", &child_path, errors);
                files(source, &child_path, errors);
            }
            "persistentVolumeClaim" => required(source, "claimName", &child_path, errors),
            "nfs" => {
                required(source, "server", &child_path, errors);
                required(source, "path", &child_path, errors);
            }
            "downwardAPI" | "projected" => mode(source, "defaultMode", &child_path, errors),
            _ => {}
        }
    }
}

/// A path on the node.
pub(super) fn host_path(source: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let path = text(source, &["path"]);
    if path.is_empty() {
        return errors.required(&field.child("path"), "");
    }
    no_parent_directories(path, &field.child("path"), errors);
}

/// A required string.
pub(super) fn required(source: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    if text(source, &[name]).is_empty() {
        errors.required(&field.child(name), "");
    }
}

fn mode(parent: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    if let Some(mode) = int(parent, &[name]).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.invalid(
            &field.child(name),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        );
    }
}

fn files(source: &Node, field: &FieldPath, errors: &mut ErrorList) {
    mode(source, "defaultMode", field, errors);
    for (child_path, item) in items(source, "items", field) {
        required(item, "key", &child_path, errors);
        required(item, "path", &child_path, errors);
        relative_path(text(item, &["path"]), &child_path.child("path"), errors);
        mode(item, "mode", &child_path, errors);
    }
}

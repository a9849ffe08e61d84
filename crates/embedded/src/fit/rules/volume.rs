//! Rules for volumes of pods.

use pintle_tree::Node;

use super::container::{below, not_up};
use super::{Faults, Field, items, names};
use crate::fit::tree::{at, int, text};

/// The volumes of a pod; returns the names of those that can be mounted.
pub(super) fn volumes(spec: &Node, field: &Field, faults: &mut Faults) -> Vec<String> {
    let mut good: Vec<String> = Vec::new();
    for (place, volume) in items(spec, "volumes", field) {
        let before = faults.causes.len();
        source(volume, &place, faults);
        let name = text(volume, &["name"]);
        if name.is_empty() {
            faults.required(&place.child("name"), "");
        } else {
            faults.each(&place.child("name"), name, names::label(name));
        }
        if good.iter().any(|known| known == name) {
            faults.duplicate(&place.child("name"), name);
        }
        if faults.causes.len() == before {
            good.push(name.to_owned());
        }
    }
    good
}

fn source(volume: &Node, field: &Field, faults: &mut Faults) {
    // The order in which the server looks at them.
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
        let place = field.child(kind);
        count += 1;
        if count > 1 {
            faults.forbidden(&place, "may not specify more than 1 volume type");
            continue;
        }
        match kind {
            "hostPath" => host_path(source, &place, faults),
            "secret" => {
                required(source, "secretName", &place, faults);
                files(source, &place, faults);
            }
            "configMap" => {
                required(source, "name", &place, faults);
                files(source, &place, faults);
            }
            "persistentVolumeClaim" => required(source, "claimName", &place, faults),
            "nfs" => {
                required(source, "server", &place, faults);
                required(source, "path", &place, faults);
            }
            "downwardAPI" | "projected" => mode(source, "defaultMode", &place, faults),
            _ => {}
        }
    }
}

/// A path of the machine.
pub(super) fn host_path(source: &Node, field: &Field, faults: &mut Faults) {
    let path = text(source, &["path"]);
    if path.is_empty() {
        return faults.required(&field.child("path"), "");
    }
    not_up(path, &field.child("path"), faults);
}

/// A text that must be there.
pub(super) fn required(source: &Node, name: &str, field: &Field, faults: &mut Faults) {
    if text(source, &[name]).is_empty() {
        faults.required(&field.child(name), "");
    }
}

fn mode(parent: &Node, name: &str, field: &Field, faults: &mut Faults) {
    if let Some(mode) = int(parent, &[name]).filter(|mode| !(0..=0o777).contains(mode)) {
        faults.invalid(
            &field.child(name),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        );
    }
}

fn files(source: &Node, field: &Field, faults: &mut Faults) {
    mode(source, "defaultMode", field, faults);
    for (place, item) in items(source, "items", field) {
        required(item, "key", &place, faults);
        required(item, "path", &place, faults);
        below(text(item, &["path"]), &place.child("path"), faults);
        mode(item, "mode", &place, faults);
    }
}

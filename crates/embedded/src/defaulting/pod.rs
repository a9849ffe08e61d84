//! Defaults of pods and pod templates.

use pintle_tree::{Map, Node};

use crate::fields::{for_each_map, map_mut, map_or_insert, set_default, str_of};

/// The fields of a pod spec that are lists of containers.
pub(crate) fn container_names() -> [&'static str; 3] {
    ["containers", "initContainers", "ephemeralContainers"]
}

/// A pod, which has defaults that pod templates do not have.
pub(super) fn pod(map: &mut Map<Node>) {
    let Some(spec) = map_or_insert(map, "spec") else { return };
    set_default(spec, "enableServiceLinks", true);
    // Of pods only: templates keep what they say.
    if matches!(spec.get("terminationGracePeriodSeconds"), Some(Node::Int(..0))) {
        spec.insert("terminationGracePeriodSeconds".into(), Node::Int(1));
    }
    let on_host = spec.get("hostNetwork").and_then(Node::as_bool).unwrap_or(false);
    for containers in container_names() {
        for_each_map(spec, containers, |container| {
            requests_from_limits(container);
            // Ports of pods in the host network are ports of the node.
            if on_host && containers != "ephemeralContainers" {
                for_each_map(container, "ports", |port| {
                    if let Some(number) = port.get("containerPort").cloned() {
                        set_default(port, "hostPort", number);
                    }
                });
            }
        });
    }
    pod_spec(spec);
}

pub(super) fn template(map: &mut Map<Node>, key: &str) {
    if let Some(spec) = map_mut(map, key).and_then(|template| map_or_insert(template, "spec")) {
        pod_spec(spec);
    }
}

fn requests_from_limits(container: &mut Map<Node>) {
    let Some(resources) = map_mut(container, "resources") else { return };
    let Some(Node::Map(limits)) = resources.get("limits").cloned() else { return };
    let Some(requests) = map_or_insert(resources, "requests") else { return };
    for (name, limit) in limits.iter() {
        requests.entry_or_insert_with(name, || limit.clone());
    }
}

fn pod_spec(spec: &mut Map<Node>) {
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "securityContext", Node::empty_map());
    set_default(spec, "terminationGracePeriodSeconds", 30_i64);
    set_default(spec, "schedulerName", "default-scheduler");
    // The deprecated `serviceAccount` is kept in sync with `serviceAccountName`.
    let old = str_of(spec, "serviceAccount").to_owned();
    if str_of(spec, "serviceAccountName").is_empty() && !old.is_empty() {
        set_default(spec, "serviceAccountName", old);
    } else if !str_of(spec, "serviceAccountName").is_empty() {
        let name = str_of(spec, "serviceAccountName").to_owned();
        spec.insert("serviceAccount".into(), name.into());
    }
    for containers in container_names() {
        for_each_map(spec, containers, container);
    }
    for_each_map(spec, "volumes", volume);
}

fn container(container: &mut Map<Node>) {
    if str_of(container, "imagePullPolicy").is_empty() {
        let policy = if is_latest(str_of(container, "image")) { "Always" } else { "IfNotPresent" };
        container.insert("imagePullPolicy".into(), policy.into());
    }
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    for_each_map(container, "ports", |port| set_default(port, "protocol", "TCP"));
    for_each_map(container, "env", |variable| {
        if let Some(reference) = map_mut(variable, "valueFrom").and_then(|from| map_mut(from, "fieldRef")) {
            set_default(reference, "apiVersion", "v1");
        }
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = map_mut(container, name) {
            set_default(probe, "timeoutSeconds", 1_i64);
            set_default(probe, "periodSeconds", 10_i64);
            set_default(probe, "successThreshold", 1_i64);
            set_default(probe, "failureThreshold", 3_i64);
            http_get(probe);
            if let Some(grpc) = map_mut(probe, "grpc") {
                set_default(grpc, "service", "");
            }
        }
    }
    if let Some(lifecycle) = map_mut(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = map_mut(lifecycle, name) {
                http_get(handler);
            }
        }
    }
}

fn http_get(handler: &mut Map<Node>) {
    if let Some(get) = map_mut(handler, "httpGet") {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
}

/// Whether the image has the tag `latest`, or neither tag nor digest: it is then always pulled. Invalid references are
/// not, as the server fails to parse them.
fn is_latest(image: &str) -> bool {
    // A host has a dot or a port, by which Docker tells it from the first part of a path.
    let path =
        image.split_once('/').filter(|(host, _)| host.contains(['.', ':'])).map_or(image, |(_, path)| path);
    let name = path.rsplit_once(':').map_or(path, |(name, _)| name);
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-/".contains(&byte);
    if image.contains('@') || name.is_empty() || !name.bytes().all(is_name) {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn volume(volume: &mut Map<Node>) {
    // A volume without a source is an `emptyDir`, a relic of the first API.
    if volume.len() == 1 && volume.contains_key("name") {
        volume.insert("emptyDir".into(), Node::empty_map());
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = map_mut(volume, source) {
            set_default(source, "defaultMode", 0o644_i64);
            field_references(source);
            for_each_map(source, "sources", |source| {
                if let Some(token) = map_mut(source, "serviceAccountToken") {
                    // Not the 3607 of the token that admission mounts: this one was requested by the author of the
                    // pod.
                    set_default(token, "expirationSeconds", 3600_i64);
                }
                if let Some(downward) = map_mut(source, "downwardAPI") {
                    field_references(downward);
                }
            });
        }
    }
    if let Some(path) = map_mut(volume, "hostPath") {
        set_default(path, "type", "");
    }
    if let Some(template) =
        map_mut(volume, "ephemeral").and_then(|source| map_mut(source, "volumeClaimTemplate"))
        && let Some(spec) = map_mut(template, "spec")
    {
        set_default(spec, "volumeMode", "Filesystem");
    }
    shared_sources(volume);
}

fn field_references(source: &mut Map<Node>) {
    for_each_map(source, "items", |item| {
        if let Some(reference) = map_mut(item, "fieldRef") {
            set_default(reference, "apiVersion", "v1");
        }
    });
}

/// Volume sources that pods and PersistentVolumes share.
pub(super) fn shared_sources(volume: &mut Map<Node>) {
    if let Some(disk) = map_mut(volume, "iscsi") {
        set_default(disk, "iscsiInterface", "default");
    }
    if let Some(disk) = map_mut(volume, "rbd") {
        set_default(disk, "pool", "rbd");
        set_default(disk, "user", "admin");
        set_default(disk, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = map_mut(volume, "azureDisk") {
        set_default(disk, "cachingMode", "ReadWrite");
        set_default(disk, "kind", "Shared");
        set_default(disk, "fsType", "ext4");
        set_default(disk, "readOnly", false);
    }
    if let Some(disk) = map_mut(volume, "scaleIO") {
        set_default(disk, "storageMode", "ThinProvisioned");
        set_default(disk, "fsType", "xfs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_without_a_tag_are_always_pulled() {
        for image in ["nginx", "nginx:latest", "reg:5000/a/b", "a/b:latest"] {
            assert!(is_latest(image), "{image}");
        }
        for image in ["nginx:1", "reg:5000/x:v1", "a@sha256:00", "a:latest@sha256:00", " x", "A", ""] {
            assert!(!is_latest(image), "{image}");
        }
    }
}

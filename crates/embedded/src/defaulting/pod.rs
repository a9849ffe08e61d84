//! Defaults of pods and pod templates.

use pintle_tree::{Map, Node};

use crate::fields::{each, inner, made, put, word};

/// The fields of a pod spec that are lists of containers.
pub(crate) fn container_names() -> [&'static str; 3] {
    ["containers", "initContainers", "ephemeralContainers"]
}

/// A pod, which has defaults that pod templates do not have.
pub(super) fn pod(map: &mut Map<Node>) {
    let Some(spec) = made(map, "spec") else { return };
    put(spec, "enableServiceLinks", true);
    let on_host = spec.get("hostNetwork").and_then(Node::as_bool).unwrap_or(false);
    for containers in container_names() {
        each(spec, containers, |container| {
            requests_from_limits(container);
            if on_host && containers != "ephemeralContainers" {
                each(container, "ports", |port| {
                    if let Some(number) = port.get("containerPort").cloned() {
                        put(port, "hostPort", number);
                    }
                });
            }
        });
    }
    pod_spec(spec);
}

pub(super) fn template(map: &mut Map<Node>, key: &str) {
    if let Some(spec) = inner(map, key).and_then(|template| made(template, "spec")) {
        pod_spec(spec);
    }
}

fn requests_from_limits(container: &mut Map<Node>) {
    let Some(resources) = inner(container, "resources") else { return };
    let Some(Node::Map(limits)) = resources.get("limits").cloned() else { return };
    let Some(requests) = made(resources, "requests") else { return };
    for (name, limit) in limits.iter() {
        requests.entry_or_insert_with(name, || limit.clone());
    }
}

fn pod_spec(spec: &mut Map<Node>) {
    put(spec, "dnsPolicy", "ClusterFirst");
    put(spec, "restartPolicy", "Always");
    put(spec, "securityContext", Node::empty_map());
    put(spec, "terminationGracePeriodSeconds", 30_i64);
    put(spec, "schedulerName", "default-scheduler");
    // The deprecated `serviceAccount` is kept in sync with `serviceAccountName`.
    let old = word(spec, "serviceAccount").to_owned();
    if word(spec, "serviceAccountName").is_empty() && !old.is_empty() {
        put(spec, "serviceAccountName", old);
    } else if !word(spec, "serviceAccountName").is_empty() {
        let name = word(spec, "serviceAccountName").to_owned();
        spec.insert("serviceAccount".into(), name.into());
    }
    for containers in container_names() {
        each(spec, containers, container);
    }
    each(spec, "volumes", volume);
}

fn container(container: &mut Map<Node>) {
    if word(container, "imagePullPolicy").is_empty() {
        let policy = if is_latest(word(container, "image")) { "Always" } else { "IfNotPresent" };
        container.insert("imagePullPolicy".into(), policy.into());
    }
    put(container, "terminationMessagePath", "/dev/termination-log");
    put(container, "terminationMessagePolicy", "File");
    each(container, "ports", |port| put(port, "protocol", "TCP"));
    each(container, "env", |variable| {
        if let Some(reference) = inner(variable, "valueFrom").and_then(|from| inner(from, "fieldRef")) {
            put(reference, "apiVersion", "v1");
        }
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = inner(container, name) {
            put(probe, "timeoutSeconds", 1_i64);
            put(probe, "periodSeconds", 10_i64);
            put(probe, "successThreshold", 1_i64);
            put(probe, "failureThreshold", 3_i64);
            http_get(probe);
            if let Some(grpc) = inner(probe, "grpc") {
                put(grpc, "service", "");
            }
        }
    }
    if let Some(lifecycle) = inner(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = inner(lifecycle, name) {
                http_get(handler);
            }
        }
    }
}

fn http_get(handler: &mut Map<Node>) {
    if let Some(get) = inner(handler, "httpGet") {
        put(get, "path", "/");
        put(get, "scheme", "HTTP");
    }
}

/// Whether the image has the tag `latest`, or neither tag nor digest: it is then always pulled. An invalid reference
/// has neither and counts as such.
fn is_latest(image: &str) -> bool {
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
    if volume.len() == 1 && volume.contains_key("name") {
        volume.insert("emptyDir".into(), Node::empty_map());
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = inner(volume, source) {
            put(source, "defaultMode", 0o644_i64);
            field_references(source);
            each(source, "sources", |source| {
                if let Some(token) = inner(source, "serviceAccountToken") {
                    put(token, "expirationSeconds", 3600_i64);
                }
                if let Some(downward) = inner(source, "downwardAPI") {
                    field_references(downward);
                }
            });
        }
    }
    if let Some(path) = inner(volume, "hostPath") {
        put(path, "type", "");
    }
    if let Some(template) = inner(volume, "ephemeral").and_then(|source| inner(source, "volumeClaimTemplate"))
        && let Some(spec) = inner(template, "spec")
    {
        put(spec, "volumeMode", "Filesystem");
    }
    disks(volume);
}

fn field_references(source: &mut Map<Node>) {
    each(source, "items", |item| {
        if let Some(reference) = inner(item, "fieldRef") {
            put(reference, "apiVersion", "v1");
        }
    });
}

/// Volume sources that pods and PersistentVolumes share.
pub(super) fn disks(volume: &mut Map<Node>) {
    if let Some(disk) = inner(volume, "iscsi") {
        put(disk, "iscsiInterface", "default");
    }
    if let Some(disk) = inner(volume, "rbd") {
        put(disk, "pool", "rbd");
        put(disk, "user", "admin");
        put(disk, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = inner(volume, "azureDisk") {
        put(disk, "cachingMode", "ReadWrite");
        put(disk, "kind", "Shared");
        put(disk, "fsType", "ext4");
        put(disk, "readOnly", false);
    }
    if let Some(disk) = inner(volume, "scaleIO") {
        put(disk, "storageMode", "ThinProvisioned");
        put(disk, "fsType", "xfs");
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

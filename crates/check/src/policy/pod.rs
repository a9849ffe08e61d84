//! Rules for pods.

use pintle_tree::Node;

use super::{Pod, text};
use crate::fix::Replacement;
use crate::scope::Scope;

/// Directories of a node that no pod should have as a whole.
const SENSITIVE: [&str; 7] = ["/", "/boot", "/dev", "/etc", "/lib", "/proc", "/usr"];

/// Sockets of container runtimes.
const SOCKETS: [&str; 4] = [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/var/run/crio/crio.sock",
];

pub(super) fn check(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    for (field, rule) in [("hostNetwork", "host-network"), ("hostPID", "host-pid"), ("hostIPC", "host-ipc")] {
        if pod.spec.get(field).and_then(Node::as_bool) == Some(true) {
            let pointer = format!("{}/{field}", pod.pointer);
            scope.add(rule, pod.object, &pointer, format!("the pod sets {field}"));
        }
    }
    volumes(scope, pod);
    service_account(scope, pod);
}

fn volumes(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    let volumes = pod.spec.get("volumes").and_then(Node::as_list).unwrap_or_default();
    for (index, volume) in volumes.iter().enumerate() {
        let path = text(volume, &["hostPath", "path"]);
        let pointer = format!("{}/volumes/{index}/hostPath/path", pod.pointer);
        if SOCKETS.contains(&path) {
            scope.add("docker-sock", pod.object, &pointer, format!("the pod mounts {path}"));
        } else if SENSITIVE.contains(&path.trim_end_matches('/')) || path == "/" {
            scope.add(
                "sensitive-host-mounts",
                pod.object,
                &pointer,
                format!("the pod mounts {path} of its node"),
            );
        }
    }
}

fn service_account(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    let old = text(pod.spec, &["serviceAccount"]);
    let name = text(pod.spec, &["serviceAccountName"]);
    if !old.is_empty() && name.is_empty() {
        let pointer = format!("{}/serviceAccount", pod.pointer);
        let message = "the pod sets serviceAccount and not serviceAccountName".to_owned();
        let fix = Replacement { from: "serviceAccount:".to_owned(), to: "serviceAccountName:".to_owned() };
        scope.add_fixable(
            "deprecated-service-account-field",
            pod.object,
            &pointer,
            message,
            (None, Some(fix)),
        );
    }
    let wanted = if name.is_empty() { old } else { name };
    if matches!(wanted, "" | "default") {
        return;
    }
    let pointer = format!("{}/serviceAccountName", pod.pointer);
    let message = format!("the chart does not create the service account {wanted:?}");
    let missing = ("ServiceAccount".to_owned(), wanted.to_owned());
    scope.add_missing("non-existent-service-account", pod.object, &pointer, message, missing);
}

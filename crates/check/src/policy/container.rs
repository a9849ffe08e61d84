//! Rules for containers.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{Container, Pod, number, text};
use crate::document::get;
use crate::scope::Scope;

pub(super) fn check(scope: &mut Scope<'_>, pod: &Pod<'_>) {
    for container in pod.containers(true) {
        image(scope, pod, &container);
        security(scope, pod, &container);
        environment(scope, pod, &container);
        resources(scope, pod, &container);
        ports(scope, pod, &container);
    }
    for container in pod.containers(false) {
        probes(scope, pod, &container);
    }
}

fn image(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    let image = text(container.node, &["image"]);
    if image.is_empty() || image.contains('@') {
        return;
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    let message = match name.split_once(':') {
        None => format!("container {:?}: image {image:?} has no tag", container.name()),
        Some((_, "latest")) => {
            format!("container {:?}: image {image:?} has the tag latest", container.name())
        }
        Some((_, "")) => format!("container {:?}: image {image:?} has an empty tag", container.name()),
        Some(_) => return,
    };
    scope.add("latest-tag", pod.object, &format!("{}/image", container.pointer), message);
}

/// A setting of the container, or of its pod.
fn security_setting<'n>(pod: &Pod<'n>, container: &Container<'n>, name: &str) -> Option<&'n Node> {
    let own = get(container.node, &["securityContext", name]);
    own.or_else(|| get(pod.spec, &["securityContext", name]))
}

fn security(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    let pointer = format!("{}/securityContext", container.pointer);
    let name = container.name();
    let own = |field: &str| get(container.node, &["securityContext", field]);
    let capabilities = |list: &str| {
        let found = get(container.node, &["securityContext", "capabilities", list]).and_then(Node::as_list);
        found.unwrap_or_default().iter().filter_map(Node::as_str).collect::<Vec<_>>()
    };
    let user = security_setting(pod, container, "runAsUser").and_then(number);
    let non_root = security_setting(pod, container, "runAsNonRoot").and_then(Node::as_bool) == Some(true);
    if user == Some(0) {
        scope.add("run-as-non-root", pod.object, &pointer, format!("container {name:?} runs as user 0"));
    } else if !non_root && user.is_none() {
        let message = format!("container {name:?} does not set runAsNonRoot or runAsUser");
        scope.add("run-as-non-root", pod.object, &pointer, message);
    }
    if own("readOnlyRootFilesystem").and_then(Node::as_bool) != Some(true) {
        let message = format!("container {name:?} does not set readOnlyRootFilesystem to true");
        scope.add("no-read-only-root-fs", pod.object, &pointer, message);
    }
    if own("privileged").and_then(Node::as_bool) == Some(true) {
        let pointer = format!("{pointer}/privileged");
        scope.add("privileged-container", pod.object, &pointer, format!("container {name:?} is privileged"));
    }
    let escalates = own("allowPrivilegeEscalation").and_then(Node::as_bool) == Some(true);
    let is_admin = capabilities("add").iter().any(|it| matches!(*it, "SYS_ADMIN" | "CAP_SYS_ADMIN"));
    if escalates || is_admin {
        let why = if escalates { "sets allowPrivilegeEscalation" } else { "has the capability SYS_ADMIN" };
        let message = format!("container {name:?} {why}");
        scope.add("privilege-escalation-container", pod.object, &pointer, message);
    }
    if !capabilities("drop").iter().any(|it| matches!(*it, "ALL" | "all" | "NET_RAW")) {
        let message = format!("container {name:?} does not drop the capability NET_RAW");
        scope.add("drop-net-raw-capability", pod.object, &pointer, message);
    }
}

/// Parts of names of environment variables whose values should come from a Secret.
const SECRET_WORDS: [&str; 5] = ["password", "secret", "token", "api_key", "private_key"];
/// Suffixes of such names whose values are not the secret itself, but its location or lifetime.
const PLACE_WORDS: [&str; 7] = ["_file", "_path", "_name", "_dir", "_url", "_expiration", "_ttl"];

fn environment(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in container.list("env").iter().enumerate() {
        let name = text(variable, &["name"]);
        let pointer = format!("{}/env/{index}", container.pointer);
        if !name.is_empty() && !seen.insert(name) {
            let message = format!("container {:?} has the variable {name} twice", container.name());
            scope.add("duplicate-env-var", pod.object, &pointer, message);
        }
        let lower = name.to_lowercase();
        let is_secret = SECRET_WORDS.iter().any(|word| lower.contains(word))
            && !PLACE_WORDS.iter().any(|word| lower.ends_with(word));
        let value = text(variable, &["value"]);
        // A reference to another variable, or a boolean, is not a secret.
        if is_secret && !value.is_empty() && !value.contains("$(") && !matches!(value, "true" | "false") {
            let message = format!("container {:?}: the value of {name} is in the object", container.name());
            scope.add("env-var-secret", pod.object, &pointer, message);
        }
    }
}

fn resources(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    if container.is_init {
        return;
    }
    let pointer = format!("{}/resources", container.pointer);
    let missing = |list: &str, name: &str| {
        let own = get(container.node, &["resources", list, name]);
        own.or_else(|| get(pod.spec, &["resources", list, name])).is_none()
    };
    let name = container.name();
    if missing("requests", "cpu") {
        let message = format!("container {name:?} has no CPU request");
        scope.add("unset-cpu-requirements", pod.object, &pointer, message);
    }
    let unset: Vec<&str> =
        ["requests", "limits"].into_iter().filter(|list| missing(list, "memory")).collect();
    if !unset.is_empty() {
        let what: Vec<&str> = unset.iter().map(|list| list.trim_end_matches('s')).collect();
        let message = format!("container {name:?} has no memory {}", what.join(" and no memory "));
        scope.add("unset-memory-requirements", pod.object, &pointer, message);
    }
}

fn ports(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    for (index, port) in container.list("ports").iter().enumerate() {
        let is_tcp = matches!(text(port, &["protocol"]), "" | "TCP");
        if is_tcp && port.get("containerPort").and_then(number) == Some(22) {
            let message = format!("container {:?} has port 22 open", container.name());
            scope.add("ssh-port", pod.object, &format!("{}/ports/{index}", container.pointer), message);
        }
    }
}

fn probes(scope: &mut Scope<'_>, pod: &Pod<'_>, container: &Container<'_>) {
    let runs_on = matches!(
        pod.object.name.kind.as_str(),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Rollout" | "DeploymentConfig"
    );
    let name = container.name();
    for (field, absent, port) in [
        ("livenessProbe", Some("no-liveness-probe"), "liveness-port"),
        ("readinessProbe", Some("no-readiness-probe"), "readiness-port"),
        ("startupProbe", None, "startup-port"),
    ] {
        let Some(probe) = container.node.get(field).filter(|probe| !probe.is_nil()) else {
            if let Some(rule) = absent.filter(|_| runs_on) {
                scope.add(rule, pod.object, &container.pointer, format!("container {name:?} has no {field}"));
            }
            continue;
        };
        for (action, key) in [("httpGet", "port"), ("tcpSocket", "port"), ("grpc", "port")] {
            // Numbers may be ports that the container does not declare; names must be declared.
            let Some(Node::Str(wanted)) = get(probe, &[action, key]) else { continue };
            let is_number = wanted.as_str().is_some_and(|wanted| wanted.parse::<u16>().is_ok());
            let declared = container
                .list("ports")
                .iter()
                .any(|port| port.get("name") == Some(&Node::Str(wanted.clone())));
            if !declared && !is_number {
                let pointer = format!("{}/{field}/{action}/{key}", container.pointer);
                let message = format!("container {name:?} has no port named {:?}", wanted.to_str_lossy());
                scope.add(port, pod.object, &pointer, message);
            }
        }
    }
}

//! Why the pods of a workload are not ready, in a few words, for the progress of a wait.

use pintle_objects::Object;
use pintle_tree::Node;

use super::failure::{FailFastLimits, container_statuses, pod_failure, termination_text};
use super::legacy::pod_ready;
use super::readiness::conditions;

/// A pod that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodProgress {
    /// The name of the pod.
    pub name: String,
    /// Why it is not ready, such as `pulling image "nginx:1.29"`.
    pub reason: String,
}

/// Why a pod is not ready, as far as its status says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unready {
    /// Known from the status alone.
    Reason(String),
    /// Containers are being created; events say whether images are pulled or volumes are missing.
    Starting,
    /// Containers run, but a probe has not succeeded; events say what it got.
    Probe(String),
}

/// Returns why a pod is not ready; `None` when it is, has completed, or is being deleted.
pub(super) fn unready(pod: &Object) -> Option<Unready> {
    let is_deleted = pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil());
    let phase = pod.text(&["status", "phase"]);
    if is_deleted || phase == "Succeeded" || pod_ready(pod) {
        return None;
    }
    if phase == "Failed" {
        let why = [pod.text(&["status", "reason"]), pod.text(&["status", "message"])];
        return Some(Unready::Reason(sentence("failed", &why)));
    }
    let any_restarts = FailFastLimits { max_restarts: 0, ..FailFastLimits::default() };
    if let Some(failure) = pod_failure(pod, &any_restarts) {
        return Some(Unready::Reason(format!("container {} {}", failure.container, failure.message)));
    }
    if let Some(pending) = unscheduled(pod) {
        return Some(Unready::Reason(pending));
    }
    Some(container_statuses(pod).find_map(|status| container(pod, status)).unwrap_or(Unready::Starting))
}

/// Why a pod is not scheduled; `None` when it is.
fn unscheduled(pod: &Object) -> Option<String> {
    if !pod.text(&["spec", "nodeName"]).is_empty() {
        return None;
    }
    let conditions = conditions(pod).unwrap_or_default();
    let scheduled = conditions.iter().find(|condition| condition.kind == "PodScheduled");
    match scheduled {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(sentence("pending", &[condition.message, condition.reason])),
        None => Some("pending: not scheduled yet".to_owned()),
    }
}

/// Why a container keeps its pod from being ready; `None` if it does not.
fn container(pod: &Object, status: &Node) -> Option<Unready> {
    let name = status.get("name").and_then(Node::as_str).unwrap_or_default();
    let state = status.get("state")?;
    // A sidecar keeps running beside the containers that come after it, so a running one does not hold up the pod.
    let is_sidecar =
        |container: &Node| container.get("restartPolicy").and_then(Node::as_str) == Some("Always");
    let is_init = spec(pod, "initContainers", name).is_some_and(|container| !is_sidecar(container));
    if let Some(ended) = state.get("terminated") {
        let failed = !matches!(ended.get("exitCode"), Some(Node::Int(0)) | None);
        return failed
            .then(|| Unready::Reason(format!("container {name} terminated{}", termination_text(ended))));
    }
    if state.get("running").is_some() {
        let flag = |key| status.get(key).and_then(Node::as_bool);
        return match (is_init, flag("started"), flag("ready")) {
            (true, _, _) => Some(Unready::Reason(format!("init container {name} is running"))),
            (false, _, Some(true)) => None,
            (false, Some(false), _) => Some(probe(pod, name, "startupProbe", "startup probe")),
            (false, _, _) => Some(probe(pod, name, "readinessProbe", "readiness probe")),
        };
    }
    let waiting = state.get("waiting")?;
    let text = |key| waiting.get(key).and_then(Node::as_str).unwrap_or_default();
    match text("reason") {
        "" | "ContainerCreating" => Some(Unready::Starting),
        // The init containers before it are the reason.
        "PodInitializing" => None,
        reason => Some(Unready::Reason(sentence(&format!("container {name}"), &[reason, text("message")]))),
    }
}

fn probe(pod: &Object, container: &str, field: &str, what: &str) -> Unready {
    let found = spec(pod, "containers", container).or_else(|| spec(pod, "initContainers", container));
    match found.is_some_and(|container| container.get(field).is_some()) {
        true => Unready::Probe(format!("{what} of container {container} has not succeeded yet")),
        false => Unready::Reason(format!("container {container} is not ready yet")),
    }
}

fn spec<'p>(pod: &'p Object, field: &str, name: &str) -> Option<&'p Node> {
    let containers = pod.at(&["spec", field]).and_then(Node::as_list).unwrap_or_default();
    containers.iter().find(|container| container.get("name").and_then(Node::as_str) == Some(name))
}

/// Returns why a pod is not ready, with what its events add, oldest first; `None` when it is, has completed, or is being
/// deleted.
pub fn pod_progress(pod: &Object, events: &[Object]) -> Option<PodProgress> {
    let reason = describe(unready(pod)?, events);
    Some(PodProgress { name: pod.name().to_owned(), reason })
}

/// Returns the reason in words, with what the events of the pod add. They are oldest first.
pub(super) fn describe(unready: Unready, events: &[Object]) -> String {
    let last = |reasons: &[&str]| {
        events.iter().rev().find(|event| reasons.is_empty() || reasons.contains(&event.text(&["reason"])))
    };
    let message = |event: &Object| event.text(&["message"]).trim().to_owned();
    match unready {
        Unready::Reason(reason) => reason,
        Unready::Probe(reason) => last(&["Unhealthy"]).map_or(reason, message),
        Unready::Starting => match last(&[]) {
            Some(event) if event.text(&["reason"]) == "Pulling" => {
                // kubelet's message is `Pulling image "name"`.
                message(event).replacen("Pulling", "pulling", 1)
            }
            Some(event) if event.text(&["type"]) == "Warning" => sentence("starting", &[&message(event)]),
            _ => "starting".to_owned(),
        },
    }
}

/// Joins the parts that are not empty with colons.
fn sentence(what: &str, details: &[&str]) -> String {
    let mut text = what.to_owned();
    for detail in details.iter().filter(|detail| !detail.is_empty()) {
        text.push_str(": ");
        text.push_str(detail);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: &str, status: &str) -> Object {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web-1}}\nspec: {{{spec}}}\nstatus: {{{status}}}\n"
        );
        Object::read_manifest(text.as_bytes(), "test").expect("good YAML").remove(0)
    }

    fn event(reason: &str, kind: &str, message: &str) -> Object {
        let text =
            format!("apiVersion: v1\nkind: Event\nreason: {reason}\ntype: {kind}\nmessage: '{message}'\n");
        Object::read_manifest(text.as_bytes(), "test").expect("good YAML").remove(0)
    }

    const PLACED: &str = "nodeName: a, containers: [{name: app, readinessProbe: {}}]";

    fn reason(spec: &str, status: &str, events: &[Object]) -> Option<String> {
        unready(&pod(spec, status)).map(|unready| describe(unready, events))
    }

    #[test]
    fn pods_that_are_ready_completed_or_terminating_need_no_reason() {
        assert_eq!(reason(PLACED, "phase: Running, conditions: [{type: Ready, status: 'True'}]", &[]), None);
        assert_eq!(reason(PLACED, "phase: Succeeded", &[]), None);
        let text =
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}\n";
        assert_eq!(unready(&Object::read_manifest(text.as_bytes(), "test").expect("good YAML")[0]), None);
    }

    #[test]
    fn a_sidecar_that_runs_is_no_reason() {
        let spec =
            "nodeName: a, containers: [{name: app}], initContainers: [{name: proxy, restartPolicy: Always}]";
        let status = |proxy: &str| {
            format!(
                "phase: Pending, initContainerStatuses: [{{name: proxy, {proxy}, state: {{running: {{}}}}}}], \
                 containerStatuses: [{{name: app, ready: false, started: true, state: {{running: {{}}}}}}]"
            )
        };
        let of_app = reason(spec, &status("started: true, ready: true"), &[]);
        assert_eq!(of_app.as_deref(), Some("container app is not ready yet"));
        let of_proxy = reason(spec, &status("started: false, ready: false"), &[]);
        assert_eq!(of_proxy.as_deref(), Some("container proxy is not ready yet"));
    }

    #[test]
    fn the_status_says_why_a_pod_is_pending_waiting_or_restarting() {
        let container =
            |state: &str| format!("phase: Pending, containerStatuses: [{{name: app, image: x, {state}}}]");
        for (spec, status, expected) in [
            ("", "phase: Pending".to_owned(), "pending: not scheduled yet"),
            (
                "",
                "conditions: [{type: PodScheduled, status: 'False', message: 0/3 nodes are available}]"
                    .to_owned(),
                "pending: 0/3 nodes are available",
            ),
            (PLACED, "phase: Pending".to_owned(), "starting"),
            (PLACED, container("state: {waiting: {reason: ContainerCreating}}"), "starting"),
            (
                PLACED,
                container("state: {waiting: {reason: ImagePullBackOff}}"),
                "container app cannot pull image \"x\" (ImagePullBackOff)",
            ),
            (
                PLACED,
                container(
                    "restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2}}",
                ),
                "container app is in a crash loop: restarted once, last terminated with exit code 2",
            ),
            (
                PLACED,
                container("ready: false, started: true, state: {running: {}}"),
                "readiness probe of container app has not succeeded yet",
            ),
            (
                "nodeName: a",
                container("ready: false, state: {running: {}}"),
                "container app is not ready yet",
            ),
            (PLACED, "phase: Failed, reason: Evicted, message: disk".to_owned(), "failed: Evicted: disk"),
            (
                "nodeName: a, initContainers: [{name: migrate}], containers: [{name: app}]",
                "initContainerStatuses: [{name: migrate, state: {running: {}}}], \
                 containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]"
                    .to_owned(),
                "init container migrate is running",
            ),
        ] {
            assert_eq!(reason(spec, &status, &[]).as_deref(), Some(expected), "{status}");
        }
    }

    #[test]
    fn events_say_what_is_pulled_mounted_or_probed() {
        let starting = "phase: Pending";
        let pulling = event("Pulling", "Normal", "Pulling image \"nginx:1\"");
        assert_eq!(
            reason(PLACED, starting, std::slice::from_ref(&pulling)).as_deref(),
            Some("pulling image \"nginx:1\"")
        );
        let pulled = event("Pulled", "Normal", "Successfully pulled image");
        assert_eq!(reason(PLACED, starting, &[pulling, pulled]).as_deref(), Some("starting"));
        let mount = event("FailedMount", "Warning", "secret \"tls\" not found");
        assert_eq!(reason(PLACED, starting, &[mount]).as_deref(), Some("starting: secret \"tls\" not found"));
        let running = "containerStatuses: [{name: app, ready: false, started: true, state: {running: {}}}]";
        let unhealthy =
            event("Unhealthy", "Warning", "Readiness probe failed: HTTP probe failed with statuscode: 503");
        assert_eq!(
            reason(PLACED, running, &[unhealthy]).as_deref(),
            Some("Readiness probe failed: HTTP probe failed with statuscode: 503")
        );
    }
}

//! The states of a pod, read from and written to its status.
//!
//! The status is the only state: whatever the next step needs (when the containers started, how often they were
//! restarted) is read back from it, so that a cluster in a file continues where it was closed.

use std::time::Duration;

use pintle_tree::Node;
use sha2::{Digest as _, Sha256};

use super::super::node;
use super::super::reconcile::Request;
use super::super::status::{remove_condition, set_condition};
use super::super::template::{hash_text, time};
use super::{address, blank_status, names};
use crate::api::meta::{at, list_at, map, number_at, set, text_at};

pub(super) enum State {
    /// The containers have not been created.
    Creating,
    /// Waits for something that will not happen, such as an image that cannot be pulled.
    Waiting,
    /// The containers have exited and wait for the restart backoff.
    Crashed {
        since: Duration,
        restarts: i64,
    },
    Running {
        since: Duration,
        restarts: i64,
    },
}

impl State {
    /// Reads the state from the first container. All containers of a simulated pod behave alike.
    pub(super) fn from_status(pod: &Node) -> State {
        let Some(first) = list_at(pod, &["status", "containerStatuses"]).first() else {
            return State::Creating;
        };
        let restarts = number_at(first, &["restartCount"]).unwrap_or(0);
        if let Some(running) = at(first, &["state", "running"]) {
            let since = time(text_at(running, &["startedAt"])).unwrap_or_default();
            return State::Running { since, restarts };
        }
        match text_at(first, &["state", "waiting", "reason"]) {
            "CrashLoopBackOff" => {
                let since = time(text_at(first, &["lastState", "terminated", "finishedAt"]));
                State::Crashed { since: since.unwrap_or_default(), restarts }
            }
            "ImagePullBackOff" => State::Waiting,
            _ => State::Creating,
        }
    }
}

/// What the kubelet adds to a status besides the pod itself.
pub(super) struct KubeletView {
    now: String,
    uid: String,
}

impl KubeletView {
    pub(super) fn new(request: &Request<'_>) -> KubeletView {
        KubeletView { now: request.client.api.timestamp(), uid: request.uid().to_owned() }
    }
}

/// The container lists of a spec, each with the list of their statuses.
const KINDS: [(&str, &str); 2] =
    [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")];

fn map_container_statuses(pod: &mut Node, act: impl Fn(&Node, &Node, bool) -> Node) {
    for (kind, field) in KINDS {
        let containers = list_at(pod, &["spec", kind]).to_vec();
        if containers.is_empty() {
            continue;
        }
        let before = list_at(pod, &["status", field]).to_vec();
        let status = |container: &Node| {
            let name = text_at(container, &["name"]);
            let current = before.iter().find(|status| text_at(status, &["name"]) == name);
            let blank = || blank_status(container, Node::empty_map());
            act(container, &current.cloned().unwrap_or_else(blank), kind == "initContainers")
        };
        let statuses: Vec<Node> = containers.iter().map(status).collect();
        set(pod, &["status", field], statuses);
    }
}

/// Whether an init container is a sidecar (`restartPolicy: Always`), which keeps running beside the main containers.
fn is_sidecar(container: &Node) -> bool {
    text_at(container, &["restartPolicy"]) == "Always"
}

/// Sets the status of a pod that was bound to the node.
pub(super) fn admit(pod: &mut Node, view: &KubeletView) {
    let now = view.now.as_str();
    set(pod, &["status", "startTime"], now);
    set(pod, &["status", "hostIP"], node::ADDRESS);
    set(pod, &["status", "hostIPs"], vec![map([("ip", node::ADDRESS.into())])]);
    let prepares = !list_at(pod, &["spec", "initContainers"]).is_empty();
    let reason = if prepares { "PodInitializing" } else { "ContainerCreating" };
    map_container_statuses(pod, |container, _, _| {
        blank_status(container, map([("waiting", map([("reason", reason.into())]))]))
    });
    let unready = format!("containers with unready status: {}", names(pod));
    // The kubelet writes the conditions in its own order, with `PodScheduled` last.
    remove_condition(pod, "PodScheduled");
    set_condition(pod, ("PodReadyToStartContainers", false, "", ""), now);
    set_condition(pod, ("Initialized", !prepares, "", ""), now);
    set_condition(pod, ("Ready", false, "ContainersNotReady", &unready), now);
    set_condition(pod, ("ContainersReady", false, "ContainersNotReady", &unready), now);
    set_condition(pod, ("PodScheduled", true, "", ""), now);
}

/// Sets the waiting state of one container.
pub(super) fn wait(pod: &mut Node, name: &str, reason: &str, message: &str) {
    map_container_statuses(pod, |container, status, _| {
        let mut status = status.clone();
        if text_at(container, &["name"]) == name {
            let why = map([("reason", reason.into()), ("message", message.into())]);
            set(&mut status, &["state"], map([("waiting", why)]));
        }
        status
    });
}

/// Sets all containers to running; init containers have completed.
pub(super) fn start(pod: &mut Node, view: &KubeletView, ready: bool) {
    let now = view.now.as_str();
    set(pod, &["status", "phase"], "Running");
    let address = address(&view.uid);
    set(pod, &["status", "podIP"], address.as_str());
    set(pod, &["status", "podIPs"], vec![map([("ip", address.into())])]);
    map_container_statuses(pod, |container, status, prepares| {
        let mut status = status.clone();
        let name = text_at(container, &["name"]);
        let id = format!("containerd://{:016x}", hash_text(&format!("{}/{name}", view.uid)));
        set(&mut status, &["containerID"], id.as_str());
        set(&mut status, &["imageID"], image_id(text_at(container, &["image"])));
        // Init containers take no time, so they have exited when the pod starts.
        let done = prepares && !is_sidecar(container);
        let state = if done {
            map([("terminated", terminated(0, now, now, &id))])
        } else {
            map([("running", map([("startedAt", now.into())]))])
        };
        set(&mut status, &["state"], state);
        set(&mut status, &["started"], !done);
        set(&mut status, &["ready"], ready || prepares);
        status
    });
    set_condition(pod, ("PodReadyToStartContainers", true, "", ""), now);
    set_condition(pod, ("Initialized", true, "", ""), now);
    set_ready(pod, ready, now);
}

/// The image ID that a runtime reports is a digest. Nothing is pulled, so it is one of the name.
fn image_id(image: &str) -> String {
    use std::fmt::Write as _;
    let mut id = "sha256:".to_owned();
    for byte in Sha256::digest(image.as_bytes()) {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

fn set_ready(pod: &mut Node, ready: bool, now: &str) {
    let unready = format!("containers with unready status: {}", names(pod));
    let (reason, message) = if ready { ("", "") } else { ("ContainersNotReady", unready.as_str()) };
    set_condition(pod, ("Ready", ready, reason, message), now);
    set_condition(pod, ("ContainersReady", ready, reason, message), now);
}

pub(super) fn become_ready(pod: &mut Node, view: &KubeletView) {
    map_container_statuses(pod, |_, status, _| {
        let mut status = status.clone();
        set(&mut status, &["ready"], true);
        status
    });
    set_ready(pod, true, &view.now);
}

/// Sets the final phase of a pod.
pub(super) fn end(pod: &mut Node, view: &KubeletView, code: i64) {
    let now = view.now.as_str();
    set(pod, &["status", "phase"], if code == 0 { "Succeeded" } else { "Failed" });
    map_container_statuses(pod, |_, status, prepares| {
        let mut status = status.clone();
        if at(&status, &["state", "running"]).is_some() {
            let since = text_at(&status, &["state", "running", "startedAt"]).to_owned();
            let id = text_at(&status, &["containerID"]).to_owned();
            let code = if prepares { 0 } else { code };
            set(&mut status, &["state"], map([("terminated", terminated(code, &since, now, &id))]));
        }
        set(&mut status, &["ready"], prepares);
        set(&mut status, &["started"], false);
        status
    });
    let reason = if code == 0 { "PodCompleted" } else { "PodFailed" };
    set_condition(pod, ("PodReadyToStartContainers", false, "", ""), now);
    set_condition(pod, ("Initialized", true, if code == 0 { reason } else { "" }, ""), now);
    set_condition(pod, ("Ready", false, reason, ""), now);
    set_condition(pod, ("ContainersReady", false, reason, ""), now);
}

/// Sets the state of containers that have exited and will be restarted.
pub(super) fn crash(pod: &mut Node, view: &KubeletView, code: i64, restarts: i64, message: &str) {
    let now = view.now.as_str();
    map_container_statuses(pod, |_, status, prepares| {
        let mut status = status.clone();
        if prepares {
            return status;
        }
        let since = text_at(&status, &["state", "running", "startedAt"]).to_owned();
        let id = text_at(&status, &["containerID"]).to_owned();
        set(&mut status, &["lastState"], map([("terminated", terminated(code, &since, now, &id))]));
        let why = map([("reason", "CrashLoopBackOff".into()), ("message", message.into())]);
        set(&mut status, &["state"], map([("waiting", why)]));
        set(&mut status, &["restartCount"], Node::Int(restarts));
        set(&mut status, &["ready"], false);
        set(&mut status, &["started"], false);
        status
    });
    set_ready(pod, false, now);
}

fn terminated(code: i64, since: &str, until: &str, id: &str) -> Node {
    map([
        ("exitCode", Node::Int(code)),
        ("reason", if code == 0 { "Completed" } else { "Error" }.into()),
        ("startedAt", since.into()),
        ("finishedAt", until.into()),
        ("containerID", id.into()),
    ])
}

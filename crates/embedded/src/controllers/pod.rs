//! Pods: the scheduler binds them to the node, the kubelet starts their simulated containers and makes them ready, or
//! ends them.

mod dependencies;
mod lifecycle;

use std::time::Duration;

use pintle_tree::Node;

use super::Pace;
use super::client::PODS;
use super::event::{KUBELET, SCHEDULER};
use super::node;
use super::reconcile::{Action, Request, Requeue};
use super::simulation::{self, Simulation};
use super::status::set_condition;
use super::template::{condition, hash_text, is_finished, time};
use crate::api::meta::{is_deleted, list_at, map, number_at, set, text_at};
use crate::status::Status;
use dependencies::Missing;
use lifecycle::{KubeletView, State};

/// The clock is advanced for this many restarts of a pod. A crash loop never ends, so later restarts wait for real
/// time.
const MAX_FAST_RESTARTS: i64 = 5;

/// How long starting a container takes. With [`Pace::Fast`] it takes no time, so that the clock need not be advanced.
fn startup_delay(request: &Request<'_>) -> Duration {
    match request.client.api.pace() {
        Pace::Fast => Duration::ZERO,
        Pace::Real => Duration::from_secs(1),
    }
}

/// Moves a pod to its next state.
pub(super) async fn reconcile(request: &Request<'_>) -> Result<Action, Status> {
    let pod = &request.object;
    if is_deleted(pod) {
        return terminate(request).await;
    }
    if is_finished(pod) {
        return Ok(Action::Done);
    }
    if request.text(&["spec", "nodeName"]).is_empty() {
        return schedule(request).await;
    }
    // A pod that was bound to another node by its author stays pending, as there is no kubelet for it.
    if request.text(&["spec", "nodeName"]) != node::NAME {
        return Ok(Action::Done);
    }
    if request.text(&["status", "startTime"]).is_empty() {
        return admit(request).await;
    }
    match State::from_status(pod) {
        State::Creating => create(request).await,
        State::Waiting => Ok(Action::Done),
        State::Crashed { since, restarts } => restart(request, since, restarts).await,
        State::Running { since, restarts } => run(request, since, restarts).await,
    }
}

/// Ends the grace period of a deleted pod: nothing runs in it that would have to stop first.
async fn terminate(request: &Request<'_>) -> Result<Action, Status> {
    if number_at(&request.object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) > 0 {
        if matches!(State::from_status(&request.object), State::Running { .. }) {
            for container in list_at(&request.object, &["spec", "containers"]) {
                let name = text_at(container, &["name"]);
                let text = format!("Stopping container {name}");
                let container_path = container_path("containers", name);
                request
                    .client
                    .record_container_event(
                        &request.object,
                        &container_path,
                        KUBELET,
                        ("Normal", "Killing"),
                        &text,
                    )
                    .await?;
            }
        }
        request.client.delete(PODS, &request.object, true).await?;
    }
    Ok(Action::Done)
}

async fn schedule(request: &Request<'_>) -> Result<Action, Status> {
    let now = request.client.api.timestamp();
    if !list_at(&request.object, &["spec", "schedulingGates"]).is_empty() {
        return Ok(Action::Done);
    }
    if let Some(why) = dependencies::unschedulable(request) {
        let message = format!("0/1 nodes are available: {why}.");
        let wanted = ("PodScheduled", false, "Unschedulable", message.as_str());
        // Recorded once: the pod is reconciled again with every change of an object that it may wait for.
        if condition(&request.object, "PodScheduled").is_none() {
            request
                .client
                .record_event(&request.object, SCHEDULER, ("Warning", "FailedScheduling"), &message)
                .await?;
        }
        request.client.update(request.key, |pod| set_condition(pod, wanted, &now)).await?;
        return Ok(Action::AwaitDependency);
    }
    let text = format!("Successfully assigned {}/{} to {}", request.namespace(), request.name(), node::NAME);
    request.client.record_event(&request.object, SCHEDULER, ("Normal", "Scheduled"), &text).await?;
    let bind = |pod: &mut Node| {
        set(pod, &["spec", "nodeName"], node::NAME);
        set_condition(pod, ("PodScheduled", true, "", ""), &now);
    };
    request.client.update(request.key, bind).await?;
    Ok(Action::Done)
}

/// The kubelet accepts the pod. Simulation annotations that cannot be parsed are reported as events here, once.
async fn admit(request: &Request<'_>) -> Result<Action, Status> {
    for text in simulation::invalid_annotations(&request.object) {
        request.client.record_event(&request.object, KUBELET, ("Warning", "Simulated"), &text).await?;
    }
    let view = KubeletView::new(request);
    request.client.update(request.key, |pod| lifecycle::admit(pod, &view)).await?;
    Ok(Action::Done)
}

/// Starts the containers if all referenced ConfigMaps, Secrets and claims exist.
async fn create(request: &Request<'_>) -> Result<Action, Status> {
    let pod = &request.object;
    let simulation = Simulation::from_annotations(pod);
    match dependencies::find(request) {
        Some(Missing::Volume { message }) => {
            request.client.record_event(pod, KUBELET, ("Warning", "FailedMount"), &message).await?;
            return Ok(Action::AwaitDependency);
        }
        Some(Missing::EnvSource { container, message }) => {
            let text = format!("Error: {message}");
            let container_path = container_path("containers", &container);
            request
                .client
                .record_container_event(pod, &container_path, KUBELET, ("Warning", "Failed"), &text)
                .await?;
            let act =
                |pod: &mut Node| lifecycle::wait(pod, &container, "CreateContainerConfigError", &message);
            request.client.update(request.key, act).await?;
            return Ok(Action::AwaitDependency);
        }
        None => {}
    }
    if !simulation.has_image {
        return fail_image_pull(request).await;
    }
    let due = time(request.text(&["status", "startTime"])).unwrap_or(request.now) + startup_delay(request);
    if request.now < due {
        return Ok(Requeue::at(due).into());
    }
    for kind in ["initContainers", "containers"] {
        for container in list_at(pod, &["spec", kind]) {
            record_start_events(request, kind, container).await?;
        }
    }
    let view = KubeletView::new(request);
    let ready = starts_ready(request, &simulation, 0);
    request.client.update(request.key, |pod| lifecycle::start(pod, &view, ready)).await?;
    Ok(Action::Done)
}

/// The `fieldPath` of events about a container.
fn container_path(kind: &str, container: &str) -> String {
    format!("spec.{kind}{{{container}}}")
}

async fn record_start_events(request: &Request<'_>, kind: &str, container: &Node) -> Result<(), Status> {
    let (name, image) = (text_at(container, &["name"]), text_at(container, &["image"]));
    let pulled = format!("Container image {image:?} already present on machine");
    let events = if request.client.api.catalog().minor() < 35 {
        [
            ("Pulled", pulled),
            ("Created", format!("Created container: {name}")),
            ("Started", format!("Started container {name}")),
        ]
    } else {
        [
            ("Pulled", format!("{pulled} and can be accessed by the pod")),
            ("Created", "Container created".to_owned()),
            ("Started", "Container started".to_owned()),
        ]
    };
    for (reason, message) in events {
        let reason = ("Normal", reason);
        request
            .client
            .record_container_event(&request.object, &container_path(kind, name), KUBELET, reason, &message)
            .await?;
    }
    Ok(())
}

async fn fail_image_pull(request: &Request<'_>) -> Result<Action, Status> {
    let containers = list_at(&request.object, &["spec", "containers"]);
    let Some(container) = containers.first() else { return Ok(Action::Done) };
    let (name, image) = (text_at(container, &["name"]).to_owned(), text_at(container, &["image"]));
    let failed = format!("Failed to pull image {image:?}: simulated as missing");
    let message = format!("Back-off pulling image {image:?}");
    let container_path = container_path("containers", &name);
    request
        .client
        .record_container_event(&request.object, &container_path, KUBELET, ("Warning", "Failed"), &failed)
        .await?;
    request
        .client
        .record_container_event(&request.object, &container_path, KUBELET, ("Normal", "BackOff"), &message)
        .await?;
    request
        .client
        .update(request.key, |pod| lifecycle::wait(pod, &name, "ImagePullBackOff", &message))
        .await?;
    Ok(Action::Done)
}

/// When a started pod becomes ready; `None` if it never does.
fn ready_time(pod: &Node, simulation: &Simulation, since: Duration) -> Option<Duration> {
    if !simulation.becomes_ready {
        return None;
    }
    let delay =
        |container: &Node| number_at(container, &["readinessProbe", "initialDelaySeconds"]).unwrap_or(0);
    let delays = list_at(pod, &["spec", "containers"]).iter().map(delay);
    let delay = Duration::from_secs(u64::try_from(delays.max().unwrap_or(0)).unwrap_or(0));
    // The duration of a pod that exits is the time until then; it is ready in the meantime.
    Some(since + if runs_to_completion(pod) { Duration::ZERO } else { delay.max(simulation.duration) })
}

/// Whether a pod is ready as soon as it runs. A run that is going to fail is never ready: a Deployment would
/// otherwise count it as available and make progress.
fn starts_ready(request: &Request<'_>, simulation: &Simulation, restarts: i64) -> bool {
    let ready = ready_time(&request.object, simulation, request.now).is_some_and(|at| at <= request.now);
    // `failures` counts attempts, and this one fails if fewer have failed before.
    ready && previous_attempts(request, restarts) >= simulation.failures
}

/// Whether the containers are expected to exit.
fn runs_to_completion(pod: &Node) -> bool {
    !matches!(text_at(pod, &["spec", "restartPolicy"]), "" | "Always")
}

async fn run(request: &Request<'_>, since: Duration, restarts: i64) -> Result<Action, Status> {
    let pod = &request.object;
    let simulation = Simulation::from_annotations(pod);
    let fails = previous_attempts(request, restarts) < simulation.failures;
    if fails || runs_to_completion(pod) {
        let due = since + simulation.duration.max(startup_delay(request));
        if request.now < due {
            return Ok(Requeue::at(due).into());
        }
        return end(request, &simulation, fails, restarts).await;
    }
    let is_ready = condition(pod, "Ready").is_some_and(|it| text_at(it, &["status"]) == "True");
    match ready_time(pod, &simulation, since) {
        Some(due) if !is_ready && request.now < due => Ok(Requeue::at(due).into()),
        Some(_) if !is_ready => {
            let view = KubeletView::new(request);
            request.client.update(request.key, |pod| lifecycle::become_ready(pod, &view)).await?;
            Ok(Action::Done)
        }
        None => {
            let text = "Readiness probe failed: simulated as never ready";
            request.client.record_event(pod, KUBELET, ("Warning", "Unhealthy"), text).await?;
            Ok(Action::Done)
        }
        _ => Ok(Action::Done),
    }
}

/// The number of failed attempts: restarts of this pod, and failed pods of the same Job.
fn previous_attempts(request: &Request<'_>, restarts: i64) -> u64 {
    let owners = list_at(&request.object, &["metadata", "ownerReferences"]);
    let job = owners.iter().find(|owner| text_at(owner, &["kind"]) == "Job");
    let failed = job.map_or(0, |job| {
        let pods = request.client.owned(text_at(job, &["uid"]), "pods");
        pods.iter().filter(|pod| text_at(pod, &["status", "phase"]) == "Failed").count()
    });
    failed as u64 + u64::try_from(restarts).unwrap_or(0)
}

async fn end(
    request: &Request<'_>,
    simulation: &Simulation,
    fails: bool,
    restarts: i64,
) -> Result<Action, Status> {
    let view = KubeletView::new(request);
    let again = fails && text_at(&request.object, &["spec", "restartPolicy"]) != "Never";
    if !again {
        let code = if fails { simulation.exit_code } else { 0 };
        request.client.update(request.key, |pod| lifecycle::end(pod, &view, code)).await?;
        return Ok(Action::Done);
    }
    let first = list_at(&request.object, &["spec", "containers"]).first();
    let name = first.map(|container| text_at(container, &["name"])).unwrap_or_default();
    let text = format!(
        "Back-off restarting failed container {name} in pod {}_{}({})",
        request.name(),
        request.namespace(),
        request.uid()
    );
    let container_path = container_path("containers", name);
    request
        .client
        .record_container_event(&request.object, &container_path, KUBELET, ("Warning", "BackOff"), &text)
        .await?;
    let crash = |pod: &mut Node| lifecycle::crash(pod, &view, simulation.exit_code, restarts + 1, &text);
    request.client.update(request.key, crash).await?;
    Ok(Action::Done)
}

/// Restarts the containers after the kubelet's crash loop backoff: 10 s, doubled with each restart, at most 5 min.
async fn restart(request: &Request<'_>, since: Duration, restarts: i64) -> Result<Action, Status> {
    // Five doublings of 10 s exceed the maximum.
    let doublings = u32::try_from(restarts.clamp(1, 6) - 1).unwrap_or(0);
    let pause = Duration::from_secs((10_u64 << doublings).min(300));
    let due = since + pause;
    if request.now < due {
        let requeue =
            if restarts > MAX_FAST_RESTARTS { Requeue::at_without_advancing(due) } else { Requeue::at(due) };
        return Ok(requeue.into());
    }
    let simulation = Simulation::from_annotations(&request.object);
    let ready = starts_ready(request, &simulation, restarts);
    let view = KubeletView::new(request);
    request.client.update(request.key, |pod| lifecycle::start(pod, &view, ready)).await?;
    Ok(Action::Done)
}

/// A pod address, derived from the uid so that it stays the same.
fn address(uid: &str) -> String {
    // The default pod network of kubeadm and kind. Addresses may collide, which nothing here depends on.
    let number = hash_text(uid);
    format!("10.244.{}.{}", (number >> 8) % 256, number % 254 + 1)
}

/// Container names as Go prints a slice: `[a b]`.
fn names(pod: &Node) -> String {
    let names: Vec<&str> =
        list_at(pod, &["spec", "containers"]).iter().map(|container| text_at(container, &["name"])).collect();
    format!("[{}]", names.join(" "))
}

/// The status of a container that has not been created.
fn blank_status(container: &Node, state: Node) -> Node {
    map([
        ("name", text_at(container, &["name"]).into()),
        ("image", text_at(container, &["image"]).into()),
        ("imageID", "".into()),
        ("lastState", Node::empty_map()),
        ("ready", false.into()),
        ("restartCount", Node::Int(0)),
        ("started", false.into()),
        ("state", state),
    ])
}

//! Pods: the scheduler and the kubelet. A pod is put on the node, its containers start, it becomes ready or ends.

mod life;
mod missing;

use std::time::Duration;

use pintle_tree::Node;

use super::Pace;
use super::engine::{Look, Next, Wake};
use super::event::{KUBELET, SCHEDULER};
use super::hand::PODS;
use super::node;
use super::status::set_condition;
use super::steer::{self, Steering};
use super::template::{condition, has_ended, hash_text, time};
use crate::api::meta::{is_deleted, list_at, map, number_at, set, text_at};
use crate::status::Status;
use life::{Moment, State};
use missing::Missing;

/// After so many restarts the clock no longer jumps to the next.
const RESTARTS: i64 = 5;

/// How long containers take to start, and a try that ends to do so. When nobody waits for it, it takes no time, so that
/// the clock need not jump.
fn moment(look: &Look<'_>) -> Duration {
    match look.hand.api.pace() {
        Pace::Fast => Duration::ZERO,
        Pace::Real => Duration::from_secs(1),
    }
}

/// Does the next thing for a pod.
pub(super) async fn look(look: &Look<'_>) -> Result<Next, Status> {
    let pod = &look.object;
    if is_deleted(pod) {
        return leave(look).await;
    }
    if has_ended(pod) {
        return Ok(Next::Done);
    }
    if look.text(&["spec", "nodeName"]).is_empty() {
        return schedule(look).await;
    }
    // Whoever puts a pod on a node that is not there waits for ever.
    if look.text(&["spec", "nodeName"]) != node::NAME {
        return Ok(Next::Done);
    }
    if look.text(&["status", "startTime"]).is_empty() {
        return admit(look).await;
    }
    match State::of(pod) {
        State::Creating => create(look).await,
        State::Waiting => Ok(Next::Done),
        State::Crashed { since, restarts } => restart(look, since, restarts).await,
        State::Running { since, restarts } => run(look, since, restarts).await,
    }
}

/// The kubelet lets a pod go that was deleted.
async fn leave(look: &Look<'_>) -> Result<Next, Status> {
    if number_at(&look.object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) > 0 {
        if matches!(State::of(&look.object), State::Running { .. }) {
            for container in list_at(&look.object, &["spec", "containers"]) {
                let name = text_at(container, &["name"]);
                let text = format!("Stopping container {name}");
                let part = part("containers", name);
                look.hand.tell_of_part(&look.object, &part, KUBELET, ("Normal", "Killing"), &text).await?;
            }
        }
        look.hand.delete(PODS, &look.object, true).await?;
    }
    Ok(Next::Done)
}

async fn schedule(look: &Look<'_>) -> Result<Next, Status> {
    let now = look.hand.api.now();
    if !list_at(&look.object, &["spec", "schedulingGates"]).is_empty() {
        return Ok(Next::Done);
    }
    if let Some(why) = missing::unschedulable(look) {
        let message = format!("0/1 nodes are available: {why}.");
        let wanted = ("PodScheduled", false, "Unschedulable", message.as_str());
        if condition(&look.object, "PodScheduled").is_none() {
            look.hand.tell(&look.object, SCHEDULER, ("Warning", "FailedScheduling"), &message).await?;
        }
        look.hand.edit(look.key, |pod| set_condition(pod, wanted, &now)).await?;
        return Ok(Next::Wants);
    }
    let text = format!("Successfully assigned {}/{} to {}", look.namespace(), look.name(), node::NAME);
    look.hand.tell(&look.object, SCHEDULER, ("Normal", "Scheduled"), &text).await?;
    let bind = |pod: &mut Node| {
        set(pod, &["spec", "nodeName"], node::NAME);
        set_condition(pod, ("PodScheduled", true, "", ""), &now);
    };
    look.hand.edit(look.key, bind).await?;
    Ok(Next::Done)
}

/// The kubelet has seen the pod.
async fn admit(look: &Look<'_>) -> Result<Next, Status> {
    for text in steer::nonsense(&look.object) {
        look.hand.tell(&look.object, KUBELET, ("Warning", "Simulated"), &text).await?;
    }
    let moment = Moment::of(look);
    look.hand.edit(look.key, |pod| life::admit(pod, &moment)).await?;
    Ok(Next::Done)
}

/// Starts the containers, if all that they need is there.
async fn create(look: &Look<'_>) -> Result<Next, Status> {
    let pod = &look.object;
    let steering = Steering::of(pod);
    match missing::find(look) {
        Some(Missing::Volume { message }) => {
            look.hand.tell(pod, KUBELET, ("Warning", "FailedMount"), &message).await?;
            return Ok(Next::Wants);
        }
        Some(Missing::Setting { container, message }) => {
            let text = format!("Error: {message}");
            let part = part("containers", &container);
            look.hand.tell_of_part(pod, &part, KUBELET, ("Warning", "Failed"), &text).await?;
            let act = |pod: &mut Node| life::wait(pod, &container, "CreateContainerConfigError", &message);
            look.hand.edit(look.key, act).await?;
            return Ok(Next::Wants);
        }
        None => {}
    }
    if !steering.has_image {
        return lack_image(look).await;
    }
    let due = time(look.text(&["status", "startTime"])).unwrap_or(look.now) + moment(look);
    if look.now < due {
        return Ok(Wake::at(due).into());
    }
    for kind in ["initContainers", "containers"] {
        for container in list_at(pod, &["spec", kind]) {
            tell_start(look, kind, container).await?;
        }
    }
    let moment = Moment::of(look);
    let ready = starts_ready(look, &steering, 0);
    look.hand.edit(look.key, |pod| life::start(pod, &moment, ready)).await?;
    Ok(Next::Done)
}

/// The part of a pod that events are about.
fn part(kind: &str, container: &str) -> String {
    format!("spec.{kind}{{{container}}}")
}

async fn tell_start(look: &Look<'_>, kind: &str, container: &Node) -> Result<(), Status> {
    let (name, image) = (text_at(container, &["name"]), text_at(container, &["image"]));
    let pulled = format!("Container image {image:?} already present on machine");
    let told = if look.hand.api.table().minor() < 35 {
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
    for (reason, message) in told {
        let reason = ("Normal", reason);
        look.hand.tell_of_part(&look.object, &part(kind, name), KUBELET, reason, &message).await?;
    }
    Ok(())
}

async fn lack_image(look: &Look<'_>) -> Result<Next, Status> {
    let containers = list_at(&look.object, &["spec", "containers"]);
    let Some(container) = containers.first() else { return Ok(Next::Done) };
    let (name, image) = (text_at(container, &["name"]).to_owned(), text_at(container, &["image"]));
    let failed = format!("Failed to pull image {image:?}: it is said to be missing");
    let message = format!("Back-off pulling image {image:?}");
    let part = part("containers", &name);
    look.hand.tell_of_part(&look.object, &part, KUBELET, ("Warning", "Failed"), &failed).await?;
    look.hand.tell_of_part(&look.object, &part, KUBELET, ("Normal", "BackOff"), &message).await?;
    look.hand.edit(look.key, |pod| life::wait(pod, &name, "ImagePullBackOff", &message)).await?;
    Ok(Next::Done)
}

/// When a pod that was started becomes ready, if it ever does.
fn is_ready_at(pod: &Node, steering: &Steering, since: Duration) -> Option<Duration> {
    if !steering.becomes_ready {
        return None;
    }
    let delay =
        |container: &Node| number_at(container, &["readinessProbe", "initialDelaySeconds"]).unwrap_or(0);
    let delays = list_at(pod, &["spec", "containers"]).iter().map(delay);
    let delay = Duration::from_secs(u64::try_from(delays.max().unwrap_or(0)).unwrap_or(0));
    Some(since + if ends(pod) { Duration::ZERO } else { delay.max(steering.duration) })
}

/// Whether a pod is ready as soon as it runs. A try that fails never is, or a workload would seem to get somewhere.
fn starts_ready(look: &Look<'_>, steering: &Steering, restarts: i64) -> bool {
    let ready = is_ready_at(&look.object, steering, look.now).is_some_and(|at| at <= look.now);
    ready && tries(look, restarts) >= steering.failures
}

/// Whether a pod is made to end by itself.
fn ends(pod: &Node) -> bool {
    !matches!(text_at(pod, &["spec", "restartPolicy"]), "" | "Always")
}

async fn run(look: &Look<'_>, since: Duration, restarts: i64) -> Result<Next, Status> {
    let pod = &look.object;
    let steering = Steering::of(pod);
    let fails = tries(look, restarts) < steering.failures;
    if fails || ends(pod) {
        let due = since + steering.duration.max(moment(look));
        if look.now < due {
            return Ok(Wake::at(due).into());
        }
        return end(look, &steering, fails, restarts).await;
    }
    let is_ready = condition(pod, "Ready").is_some_and(|it| text_at(it, &["status"]) == "True");
    match is_ready_at(pod, &steering, since) {
        Some(due) if !is_ready && look.now < due => Ok(Wake::at(due).into()),
        Some(_) if !is_ready => {
            let moment = Moment::of(look);
            look.hand.edit(look.key, |pod| life::become_ready(pod, &moment)).await?;
            Ok(Next::Done)
        }
        None => {
            let text = "Readiness probe failed: it is told never to become ready";
            look.hand.tell(pod, KUBELET, ("Warning", "Unhealthy"), text).await?;
            Ok(Next::Done)
        }
        _ => Ok(Next::Done),
    }
}

/// How often it was tried before: restarts of the pod, and pods of the same job that failed.
fn tries(look: &Look<'_>, restarts: i64) -> u64 {
    let owners = list_at(&look.object, &["metadata", "ownerReferences"]);
    let job = owners.iter().find(|owner| text_at(owner, &["kind"]) == "Job");
    let failed = job.map_or(0, |job| {
        let pods = look.hand.owned(text_at(job, &["uid"]), "pods");
        pods.iter().filter(|pod| text_at(pod, &["status", "phase"]) == "Failed").count()
    });
    failed as u64 + u64::try_from(restarts).unwrap_or(0)
}

async fn end(look: &Look<'_>, steering: &Steering, fails: bool, restarts: i64) -> Result<Next, Status> {
    let moment = Moment::of(look);
    let again = fails && text_at(&look.object, &["spec", "restartPolicy"]) != "Never";
    if !again {
        let code = if fails { steering.exit_code } else { 0 };
        look.hand.edit(look.key, |pod| life::end(pod, &moment, code)).await?;
        return Ok(Next::Done);
    }
    let first = list_at(&look.object, &["spec", "containers"]).first();
    let name = first.map(|container| text_at(container, &["name"])).unwrap_or_default();
    let text = format!(
        "Back-off restarting failed container {name} in pod {}_{}({})",
        look.name(),
        look.namespace(),
        look.uid()
    );
    let part = part("containers", name);
    look.hand.tell_of_part(&look.object, &part, KUBELET, ("Warning", "BackOff"), &text).await?;
    let crash = |pod: &mut Node| life::crash(pod, &moment, steering.exit_code, restarts + 1, &text);
    look.hand.edit(look.key, crash).await?;
    Ok(Next::Done)
}

/// A container that ended too early is started again, after longer and longer pauses.
async fn restart(look: &Look<'_>, since: Duration, restarts: i64) -> Result<Next, Status> {
    let doublings = u32::try_from(restarts.clamp(1, 6) - 1).unwrap_or(0);
    let pause = Duration::from_secs((10_u64 << doublings).min(300));
    let due = since + pause;
    if look.now < due {
        let wake = if restarts > RESTARTS { Wake::some_day(due) } else { Wake::at(due) };
        return Ok(wake.into());
    }
    let steering = Steering::of(&look.object);
    let ready = starts_ready(look, &steering, restarts);
    let moment = Moment::of(look);
    look.hand.edit(look.key, |pod| life::start(pod, &moment, ready)).await?;
    Ok(Next::Done)
}

/// An address in the network of pods.
fn address(uid: &str) -> String {
    let number = hash_text(uid);
    format!("10.244.{}.{}", (number >> 8) % 256, number % 254 + 1)
}

/// `[a b]`, as Go prints lists of names.
fn names(pod: &Node) -> String {
    let names: Vec<&str> =
        list_at(pod, &["spec", "containers"]).iter().map(|container| text_at(container, &["name"])).collect();
    format!("[{}]", names.join(" "))
}

/// The state of one container that is not there yet.
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

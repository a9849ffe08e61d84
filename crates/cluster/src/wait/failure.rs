//! Failures that keep a pod from ever becoming ready, read from its status.

use std::time::Duration;

use pintle_objects::Object;
use pintle_tree::Node;

use super::readiness::conditions;

/// How long a failure may persist before waiting ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailFastLimits {
    /// For images that cannot be pulled. Pulls are retried, and registries recover.
    pub image_pull: Duration,
    /// For containers that cannot be created, for example because of a missing ConfigMap, which may still be created.
    pub container_config: Duration,
    /// How many restarts a container may have before a crash counts as a crash loop.
    pub max_restarts: i64,
    /// For pods that the API server rejects, for example because of a quota.
    pub pod_rejected: Duration,
}

impl Default for FailFastLimits {
    fn default() -> Self {
        FailFastLimits {
            image_pull: Duration::from_secs(10),
            container_config: Duration::from_secs(10),
            max_restarts: 2,
            pod_rejected: Duration::from_secs(20),
        }
    }
}

/// The reason of a failure; each has its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureReason {
    /// An image reference that is not valid.
    InvalidImageName,
    /// An image that cannot be pulled at present.
    ImagePull,
    /// A container that cannot be created.
    ContainerConfig,
    /// A container in a crash loop.
    CrashLoop,
    /// A pod that the API server rejects.
    PodRejected,
}

impl FailureReason {
    /// How long a failure with this reason must persist.
    pub(crate) fn limits(self, limits: &FailFastLimits) -> Duration {
        match self {
            // A name does not become valid by waiting, and a crash loop has used up its restarts already.
            FailureReason::InvalidImageName | FailureReason::CrashLoop => Duration::ZERO,
            FailureReason::ImagePull => limits.image_pull,
            FailureReason::ContainerConfig => limits.container_config,
            FailureReason::PodRejected => limits.pod_rejected,
        }
    }
}

/// A failure that waiting does not fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: FailureReason,
    /// The failing container; empty when no container exists yet.
    pub(crate) container: String,
    /// The problem, as the rest of a sentence that begins with the container.
    pub(crate) message: String,
}

/// Finds the first failing container of a pod.
pub(crate) fn pod_failure(pod: &Object, limits: &FailFastLimits) -> Option<Failure> {
    // A terminating pod says nothing about the new state.
    if pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil()) {
        return None;
    }
    // Jobs restart containers by design; only in long-running pods is a restart a failure.
    let restarts_for_ever = matches!(pod.text(&["spec", "restartPolicy"]), "" | "Always");
    container_statuses(pod).find_map(|status| container_failure(status, restarts_for_ever, limits))
}

/// The container statuses of a pod, init containers first.
pub(crate) fn container_statuses(pod: &Object) -> impl Iterator<Item = &Node> {
    ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .flat_map(|field| pod.at(&["status", field]).and_then(Node::as_list).unwrap_or_default())
}

fn container_failure(status: &Node, restarts_for_ever: bool, limits: &FailFastLimits) -> Option<Failure> {
    let text = |node: Option<&Node>, key: &str| {
        node.and_then(|node| node.get(key)).and_then(Node::as_str).unwrap_or_default().to_owned()
    };
    let name = text(Some(status), "name");
    let waiting = status.get("state")?.get("waiting")?;
    let waiting_reason = text(Some(waiting), "reason");
    let message = text(Some(waiting), "message");
    let image = text(Some(status), "image");
    let restarts = match status.get("restartCount") {
        Some(Node::Int(restarts)) => *restarts,
        _ => 0,
    };
    let (reason, text) = match waiting_reason.as_str() {
        "InvalidImageName" => {
            (FailureReason::InvalidImageName, format!("has an invalid image name: {image:?}"))
        }
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "RegistryUnavailable"
        | "ImageInspectError" => (
            FailureReason::ImagePull,
            with_reason(&format!("cannot pull image {image:?}"), &waiting_reason, &message),
        ),
        "CreateContainerConfigError"
        | "CreateContainerError"
        | "RunContainerError"
        | "PreCreateHookError" => {
            (FailureReason::ContainerConfig, with_reason("cannot be created", &waiting_reason, &message))
        }
        "CrashLoopBackOff" if restarts_for_ever && restarts >= limits.max_restarts => {
            (FailureReason::CrashLoop, crash_message(status, restarts))
        }
        _ => return None,
    };
    Some(Failure { reason, container: name, message: text })
}

/// How often a container crashed, and how its last run ended.
fn crash_message(status: &Node, restarts: i64) -> String {
    let last = status.get("lastState").and_then(|state| state.get("terminated"));
    let end = last.map(termination_text).unwrap_or_default();
    let times = if restarts == 1 { "once".to_owned() } else { format!("{restarts} times") };
    format!("is in a crash loop: restarted {times}, last terminated{end}")
}

/// ` with exit code 137 (OOMKilled)`.
pub(crate) fn termination_text(terminated: &Node) -> String {
    let code = match terminated.get("exitCode") {
        Some(Node::Int(code)) => format!(" with exit code {code}"),
        _ => String::new(),
    };
    match terminated.get("reason").and_then(Node::as_str).filter(|reason| *reason != "Error") {
        Some(reason) => format!("{code} ({reason})"),
        None => code,
    }
}

fn with_reason(statement: &str, reason: &str, message: &str) -> String {
    if message.is_empty() {
        format!("{statement} ({reason})")
    } else {
        format!("{statement} ({reason}: {message})")
    }
}

/// Finds the reason that a controller gives for rejected pods.
pub(crate) fn condition_failure(workload: &Object) -> Option<Failure> {
    let conditions = conditions(workload).ok()?;
    let failure = conditions.iter().find(|condition| condition.is_true("ReplicaFailure"))?;
    rejection(failure.message)
}

/// Treats the message of a failed pod creation as a failure if the API server rejected the pod; other errors may be
/// transient.
pub(crate) fn rejection(message: &str) -> Option<Failure> {
    (message.contains(" is forbidden: ") || message.contains("exceeded quota")).then(|| Failure {
        reason: FailureReason::PodRejected,
        container: String::new(),
        message: format!("cannot create pods: {message}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: &str, more: &str) -> Object {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n{more}\nstatus: {{containerStatuses: [{{name: app, image: x/y, {status}}}]}}"
        );
        Object::read_manifest(text.as_bytes(), "test").expect("good YAML").remove(0)
    }

    fn message(status: &str) -> Option<(FailureReason, String)> {
        pod_failure(&pod(status, ""), &FailFastLimits::default())
            .map(|failure| (failure.reason, failure.message))
    }

    #[test]
    fn images_that_cannot_be_pulled_are_failures() {
        assert_eq!(
            message("state: {waiting: {reason: ErrImagePull, message: not found}}"),
            Some((FailureReason::ImagePull, "cannot pull image \"x/y\" (ErrImagePull: not found)".into()))
        );
        assert_eq!(
            message("state: {waiting: {reason: InvalidImageName}}"),
            Some((FailureReason::InvalidImageName, "has an invalid image name: \"x/y\"".into()))
        );
        assert_eq!(message("state: {waiting: {reason: ContainerCreating}}"), None);
        assert_eq!(message("state: {running: {}}"), None);
    }

    #[test]
    fn a_crash_is_a_failure_only_when_it_repeats_in_a_long_running_pod() {
        let crash_message = |restarts: i64| {
            format!(
                "restartCount: {restarts}, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: {{exitCode: 137, reason: OOMKilled}}}}"
            )
        };
        assert_eq!(message(&crash_message(1)), None);
        assert_eq!(
            message(&crash_message(2)),
            Some((
                FailureReason::CrashLoop,
                "is in a crash loop: restarted 2 times, last terminated with exit code 137 (OOMKilled)"
                    .into()
            ))
        );
        let job = pod(&crash_message(9), "spec: {restartPolicy: OnFailure}");
        assert_eq!(pod_failure(&job, &FailFastLimits::default()), None);
    }

    #[test]
    fn a_rejected_pod_is_a_failure_and_a_broken_webhook_is_not() {
        let set = |message: &str| {
            let text = format!(
                "apiVersion: apps/v1\nkind: Deployment\nstatus: {{conditions: [{{type: ReplicaFailure, status: 'True', message: '{message}'}}]}}"
            );
            condition_failure(&Object::read_manifest(text.as_bytes(), "test").expect("good YAML")[0])
        };
        let quota = "pods \"a\" is forbidden: exceeded quota: q";
        assert_eq!(
            set(quota).expect("failure").message,
            "cannot create pods: pods \"a\" is forbidden: exceeded quota: q"
        );
        assert_eq!(set("Internal error occurred: failed calling webhook"), None);
    }
}

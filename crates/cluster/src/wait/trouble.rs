//! What keeps a pod from ever becoming ready, read from its status alone.

use std::time::Duration;

use pintle_objects::Object;
use pintle_tree::Node;

use super::readiness::conditions;

/// How long a state that usually lasts may last before waiting is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailFastLimits {
    /// For images that cannot be pulled.
    pub image: Duration,
    /// For containers that cannot be created, such as those with a missing ConfigMap.
    pub configuration: Duration,
    /// How often a container may have been started again before a crash counts as a crash loop.
    pub restarts: i64,
    /// For pods that the cluster refuses to create, such as those beyond a quota.
    pub refusal: Duration,
}

impl Default for FailFastLimits {
    fn default() -> Self {
        FailFastLimits {
            image: Duration::from_secs(10),
            configuration: Duration::from_secs(10),
            restarts: 2,
            refusal: Duration::from_secs(20),
        }
    }
}

/// The families of trouble; each has its own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// An image that no registry can ever have.
    ImageName,
    /// An image that cannot be pulled now.
    Image,
    /// A container that cannot be created.
    Configuration,
    /// A container that crashes over and over.
    CrashLoop,
    /// A pod that the cluster refuses.
    Refusal,
}

impl Cause {
    /// How long trouble of this family has to last.
    pub(crate) fn limits(self, limits: &FailFastLimits) -> Duration {
        match self {
            Cause::ImageName | Cause::CrashLoop => Duration::ZERO,
            Cause::Image => limits.image,
            Cause::Configuration => limits.configuration,
            Cause::Refusal => limits.refusal,
        }
    }
}

/// Something that will not go away by waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) cause: Cause,
    /// The container that is in trouble; empty when no container has come to be.
    pub(crate) container: String,
    /// What is wrong, as a sentence without its subject's pod.
    pub(crate) sentence: String,
}

/// Finds the first container of a pod that is in trouble.
pub(crate) fn of_pod(pod: &Object, limits: &FailFastLimits) -> Option<Trouble> {
    // A pod that is on its way out, or was asked to end, says nothing about the new state.
    if pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|moment| !moment.is_nil()) {
        return None;
    }
    // Only where pods are to run for ever is a restart no part of the plan.
    let restarts_for_ever = matches!(pod.text(&["spec", "restartPolicy"]), "" | "Always");
    statuses(pod).find_map(|status| of_container(status, restarts_for_ever, limits))
}

/// The states of all containers of a pod, those that prepare it first.
pub(crate) fn statuses(pod: &Object) -> impl Iterator<Item = &Node> {
    ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .flat_map(|field| pod.at(&["status", field]).and_then(Node::as_list).unwrap_or_default())
}

fn of_container(status: &Node, restarts_for_ever: bool, limits: &FailFastLimits) -> Option<Trouble> {
    let text = |node: Option<&Node>, key: &str| {
        node.and_then(|node| node.get(key)).and_then(Node::as_str).unwrap_or_default().to_owned()
    };
    let name = text(Some(status), "name");
    let waiting = status.get("state")?.get("waiting")?;
    let reason = text(Some(waiting), "reason");
    let message = text(Some(waiting), "message");
    let image = text(Some(status), "image");
    let restarts = match status.get("restartCount") {
        Some(Node::Int(restarts)) => *restarts,
        _ => 0,
    };
    let (cause, sentence) = match reason.as_str() {
        "InvalidImageName" => (Cause::ImageName, format!("has no valid image name: {image:?}")),
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "RegistryUnavailable"
        | "ImageInspectError" => {
            (Cause::Image, with_reason(&format!("cannot get its image {image:?}"), &reason, &message))
        }
        "CreateContainerConfigError"
        | "CreateContainerError"
        | "RunContainerError"
        | "PreCreateHookError" => (Cause::Configuration, with_reason("cannot be created", &reason, &message)),
        "CrashLoopBackOff" if restarts_for_ever && restarts >= limits.restarts => {
            (Cause::CrashLoop, crash(status, restarts))
        }
        _ => return None,
    };
    Some(Trouble { cause, container: name, sentence })
}

/// How the last run of a container ended.
fn crash(status: &Node, restarts: i64) -> String {
    let last = status.get("lastState").and_then(|state| state.get("terminated"));
    let end = last.map(end).unwrap_or_default();
    let times = if restarts == 1 { "once".to_owned() } else { format!("{restarts} times") };
    format!("crashes again and again: it was restarted {times} and last ended{end}")
}

/// ` with exit code 137 (OOMKilled)`.
pub(crate) fn end(terminated: &Node) -> String {
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

/// Finds why a controller says that the cluster refuses its pods.
pub(crate) fn of_conditions(workload: &Object) -> Option<Trouble> {
    let conditions = conditions(workload).ok()?;
    let failure = conditions.iter().find(|condition| condition.is_true("ReplicaFailure"))?;
    refusal(failure.message)
}

/// Takes the message of a failed creation as trouble when the cluster says no; other errors may pass.
pub(crate) fn refusal(message: &str) -> Option<Trouble> {
    (message.contains(" is forbidden: ") || message.contains("exceeded quota")).then(|| Trouble {
        cause: Cause::Refusal,
        container: String::new(),
        sentence: format!("the cluster refuses its pods: {message}"),
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

    fn sentence(status: &str) -> Option<(Cause, String)> {
        of_pod(&pod(status, ""), &FailFastLimits::default()).map(|trouble| (trouble.cause, trouble.sentence))
    }

    #[test]
    fn images_that_cannot_be_had_are_trouble() {
        assert_eq!(
            sentence("state: {waiting: {reason: ErrImagePull, message: not found}}"),
            Some((Cause::Image, "cannot get its image \"x/y\" (ErrImagePull: not found)".into()))
        );
        assert_eq!(
            sentence("state: {waiting: {reason: InvalidImageName}}"),
            Some((Cause::ImageName, "has no valid image name: \"x/y\"".into()))
        );
        assert_eq!(sentence("state: {waiting: {reason: ContainerCreating}}"), None);
        assert_eq!(sentence("state: {running: {}}"), None);
    }

    #[test]
    fn a_crash_is_trouble_only_when_it_comes_again_in_a_pod_that_should_run_for_ever() {
        let crash = |restarts: i64| {
            format!(
                "restartCount: {restarts}, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: {{exitCode: 137, reason: OOMKilled}}}}"
            )
        };
        assert_eq!(sentence(&crash(1)), None);
        assert_eq!(
            sentence(&crash(2)),
            Some((
                Cause::CrashLoop,
                "crashes again and again: it was restarted 2 times and last ended with exit code 137 (OOMKilled)".into()
            ))
        );
        let job = pod(&crash(9), "spec: {restartPolicy: OnFailure}");
        assert_eq!(of_pod(&job, &FailFastLimits::default()), None);
    }

    #[test]
    fn a_refused_pod_is_trouble_and_a_broken_webhook_is_not() {
        let set = |message: &str| {
            let text = format!(
                "apiVersion: apps/v1\nkind: Deployment\nstatus: {{conditions: [{{type: ReplicaFailure, status: 'True', message: '{message}'}}]}}"
            );
            of_conditions(&Object::read_manifest(text.as_bytes(), "test").expect("good YAML")[0])
        };
        let quota = "pods \"a\" is forbidden: exceeded quota: q";
        assert_eq!(
            set(quota).expect("trouble").sentence,
            "the cluster refuses its pods: pods \"a\" is forbidden: exceeded quota: q"
        );
        assert_eq!(set("Internal error occurred: failed calling webhook"), None);
    }
}

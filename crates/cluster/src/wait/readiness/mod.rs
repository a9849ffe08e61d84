//! The status of an object by the rules of kstatus, which `--wait=watcher` uses. One file per kind or family of
//! kinds.
//!
//! Every rule is a pure function of the live object. A result has two texts: kstatus' message, which appears in
//! errors that match Helm's, and a detail for progress output, which says what is still missing.

mod crd;
mod daemon_set;
mod deployment;
mod expressions;
mod generic;
mod job;
mod persistent_volume_claim;
mod pod;
mod pod_disruption_budget;
mod replica_set;
mod service;
mod stateful_set;

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use pintle_objects::Object;

pub use expressions::{InvalidExpression, READINESS_FAILURE, READINESS_SUCCESS, ReadinessExpressions};
pub(crate) use generic::{Condition, conditions};
pub(crate) use job::completion as job_completion;
pub(crate) use pod::{completion as pod_completion, is_unschedulable};

/// The status of an object, as kstatus names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The object matches its spec.
    Current,
    /// The controller is still reconciling.
    InProgress,
    /// The controller has given up.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// The object existed and was deleted.
    NotFound,
    /// The object has not been observed, or its status is malformed.
    Unknown,
}

impl Status {
    /// kstatus' name of the status, which Helm prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Current => "Current",
            Status::InProgress => "InProgress",
            Status::Failed => "Failed",
            Status::Terminating => "Terminating",
            Status::NotFound => "NotFound",
            Status::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The status of an object with its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The status.
    pub status: Status,
    /// kstatus' message, verbatim.
    pub message: String,
    /// What is missing, for progress output.
    pub detail: String,
}

impl Readiness {
    /// Returns a result with both texts.
    pub fn new(status: Status, message: impl Into<String>, detail: impl Into<String>) -> Self {
        Readiness { status, message: message.into(), detail: detail.into() }
    }

    /// A result whose detail is kstatus' message.
    fn verbatim(status: Status, message: impl Into<String>) -> Self {
        let message = message.into();
        Readiness { status, detail: message.clone(), message }
    }

    pub(crate) fn current(message: impl Into<String>, detail: impl Into<String>) -> Self {
        Readiness::new(Status::Current, message, detail)
    }

    pub(crate) fn in_progress(message: impl Into<String>, detail: impl Into<String>) -> Self {
        Readiness::new(Status::InProgress, message, detail)
    }

    pub(crate) fn failed(message: impl Into<String>, detail: impl Into<String>) -> Self {
        Readiness::new(Status::Failed, message, detail)
    }

    /// An object that has not been observed yet.
    pub fn unknown() -> Self {
        Readiness::new(Status::Unknown, "", "Waiting for the resource to be created")
    }

    /// An object that existed and was deleted.
    pub fn not_found() -> Self {
        Readiness::verbatim(Status::NotFound, "Resource not found")
    }

    /// An object whose status is malformed.
    fn malformed(reason: Malformed) -> Self {
        Readiness::new(Status::Unknown, "", format!("Resource has a malformed {}", reason.0))
    }
}

/// The part of an object that does not follow the API conventions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

/// Computes the status of an object, now.
pub fn ready(object: &Object) -> Readiness {
    ready_at(object, unix_now())
}

/// Computes the status of an object at a time, in seconds of Unix time. Only unschedulable pods depend on it.
pub fn ready_at(object: &Object, now: i64) -> Readiness {
    compute(object, now).unwrap_or_else(Readiness::malformed)
}

fn compute(object: &Object, now: i64) -> Result<Readiness, Malformed> {
    if let Some(answer) = generic::common_status(object)? {
        return Ok(answer);
    }
    let (group, _) = object.api_version().split_once('/').unwrap_or_default();
    match (group, object.kind()) {
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => {
            Ok(Readiness::verbatim(Status::Current, "Resource is always ready"))
        }
        ("", "Service") => Ok(service::readiness(object)),
        ("", "Pod") => pod::readiness(object, now),
        ("", "PersistentVolumeClaim") => Ok(persistent_volume_claim::readiness(object)),
        ("apps", "StatefulSet") => Ok(stateful_set::readiness(object)),
        ("apps" | "extensions", "DaemonSet") => daemon_set::readiness(object),
        ("apps" | "extensions", "Deployment") => deployment::readiness(object),
        ("apps" | "extensions", "ReplicaSet") => replica_set::readiness(object),
        ("policy", "PodDisruptionBudget") => Ok(pod_disruption_budget::readiness()),
        ("batch", "Job") => job::readiness(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::readiness(object),
        _ => generic::by_ready_condition(object),
    }
}

/// Readiness rules of the caller for some kinds, which take precedence over the built-in ones.
pub trait ReadinessRules: fmt::Debug + Send + Sync {
    /// Whether there is a rule for a kind.
    fn covers(&self, group: &str, kind: &str) -> bool;

    /// Computes the status of an object of such a kind. Not called while the object is being deleted, or while its status
    /// is of an earlier generation.
    fn readiness(&self, object: &Object) -> Readiness;
}

/// Computes the status of an object by rules of the caller; `None` if there is none for its kind.
pub(crate) fn by_rules(rules: &dyn ReadinessRules, object: &Object) -> Option<Readiness> {
    let (group, _) = object.api_version().split_once('/').unwrap_or_default();
    rules.covers(group, object.kind()).then(|| match generic::outdated(object) {
        Ok(None) => rules.readiness(object),
        Ok(Some(outdated)) => outdated,
        Err(malformed) => Readiness::malformed(malformed),
    })
}

/// Whether the readiness of this kind depends on metadata alone.
pub(crate) fn needs_metadata_only(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Secret" | "ConfigMap" | "ServiceAccount" | "LimitRange")
            | ("rbac.authorization.k8s.io", "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding")
    )
}

/// The current time, in seconds of Unix time.
#[expect(clippy::disallowed_methods, reason = "compared with the times of a real cluster, never recorded")]
pub(crate) fn unix_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// `Waiting for rollout: 1 of 3 replicas ready`, close to the wording of `kubectl rollout status`.
fn rollout(done: i64, desired: i64, noun: &str, what: &str) -> String {
    format!("Waiting for rollout: {done} of {desired} {noun} {what}")
}

/// `Waiting for rollout: 2 old replicas pending termination`.
fn pending_termination(surplus: i64) -> String {
    format!("Waiting for rollout: {surplus} old replicas pending termination")
}

#[cfg(test)]
mod tests;

//! Whether an object is there: the rules of kstatus, which `--wait=watcher` goes by, one file for each kind or family.
//!
//! Every rule is a pure function of the object as the cluster shows it. An answer has two texts: the message of
//! kstatus, which ends up in errors that Helm's users know, and a detail that tells a user what is missing.

mod crd;
mod daemon_set;
mod deployment;
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

pub(crate) use generic::{Condition, conditions};
pub(crate) use job::completion as job_completion;
pub(crate) use pod::{completion as pod_completion, is_unschedulable};

/// How far an object has come, in the words of kstatus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The cluster has done what the object asks for.
    Current,
    /// The cluster is at it.
    InProgress,
    /// The cluster has given up.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// The object was there and is gone.
    NotFound,
    /// The object has not been seen, or makes no sense.
    Unknown,
}

impl Status {
    /// The word that kstatus, and so Helm, has for the status.
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

/// The answer to whether an object is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// How far the object has come.
    pub status: Status,
    /// What kstatus says, word for word.
    pub message: String,
    /// What the user is told.
    pub detail: String,
}

impl Readiness {
    /// An answer in both voices.
    pub fn new(status: Status, message: impl Into<String>, detail: impl Into<String>) -> Self {
        Readiness { status, message: message.into(), detail: detail.into() }
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

    /// An object that nobody has seen yet.
    pub fn unknown() -> Self {
        Readiness::new(Status::Unknown, "", "the cluster does not have it yet")
    }

    /// An object that was there and is gone.
    pub fn not_found() -> Self {
        Readiness::new(Status::NotFound, "Resource not found", "it is gone")
    }

    /// An object whose status is in no form that the rules know.
    fn malformed(reason: Malformed) -> Self {
        Readiness::new(Status::Unknown, "", format!("its {} has an unexpected form", reason.0))
    }
}

/// Names the part of an object that has another form than Kubernetes' conventions give it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

/// Tells how far an object has come, now.
pub fn ready(object: &Object) -> Readiness {
    ready_at(object, unix_now())
}

/// Tells how far an object has come at a moment, given in seconds of Unix time.
pub fn ready_at(object: &Object, now: i64) -> Readiness {
    compute(object, now).unwrap_or_else(Readiness::malformed)
}

fn compute(object: &Object, now: i64) -> Result<Readiness, Malformed> {
    if let Some(answer) = generic::before_kind(object)? {
        return Ok(answer);
    }
    let (group, _) = object.api_version().split_once('/').unwrap_or_default();
    match (group, object.kind()) {
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => {
            Ok(Readiness::current("Resource is always ready", "it needs nothing more"))
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

/// Whether the metadata of an object of this kind is all that its readiness depends on.
pub(crate) fn needs_metadata_only(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Secret" | "ConfigMap" | "ServiceAccount" | "LimitRange")
            | ("rbac.authorization.k8s.io", "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding")
    )
}

/// The clock, in seconds of Unix time.
pub(crate) fn unix_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// `1 replica`, `2 replicas`.
fn counted(count: i64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `1 of 3 replicas are ready`, `0 of 1 replica is ready`.
fn share(part: i64, whole: i64, noun: &str, what: &str) -> String {
    let verb = if whole == 1 { "is" } else { "are" };
    format!("{part} of {} {verb} {what}", counted(whole, noun))
}

#[cfg(test)]
mod tests;

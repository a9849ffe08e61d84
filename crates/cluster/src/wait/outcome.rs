//! Progress and errors of waiting, with Helm's messages.

use std::fmt;

use pintle_objects::ObjectId;

use super::diagnose::Diagnosis;
use super::pods::PodProgress;
use super::readiness::{Readiness, Status};
use crate::error::Error;

/// Go's `context.DeadlineExceeded`.
const DEADLINE: &str = "context deadline exceeded";

/// A change of the status of one object or of its pods.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'w> {
    /// The object.
    pub id: &'w ObjectId,
    /// Its status.
    pub readiness: &'w Readiness,
    /// Its pods that are not ready, as far as they were read. Only waits that fail fast read pods.
    pub pods: &'w [PodProgress],
    /// Whether the condition holds for the object.
    pub is_done: bool,
    /// For how many objects the condition holds.
    pub done: usize,
    /// How many objects are waited for.
    pub total: usize,
}

/// The condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// All objects are current; jobs count once they have started.
    Ready,
    /// All objects are current and all jobs have completed.
    ReadyWithJobs,
    /// All objects are deleted.
    Deleted,
    /// Jobs and pods have completed; other kinds are not waited for.
    HookCompleted,
}

/// An object for which the condition does not hold when waiting ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingObject {
    /// The object.
    pub id: ObjectId,
    /// Its last status.
    pub readiness: Readiness,
}

/// Why waiting failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// Objects failed, or the timeout expired.
    NotReady {
        /// The condition that was waited for.
        wait_for: WaitFor,
        /// The objects for which it does not hold, in the given order.
        pending: Vec<PendingObject>,
        /// Whether the timeout expired.
        deadline: bool,
        /// What is known about the causes; empty unless failing fast.
        diagnoses: Vec<Diagnosis>,
    },
    /// A failure persisted, so that waiting longer is pointless.
    FailedFast(Box<Diagnosis>),
    /// Helm 3's error; with `--wait=legacy` only.
    Legacy {
        /// Helm's message.
        text: String,
        /// What is known about the causes; empty unless failing fast.
        diagnoses: Vec<Diagnosis>,
    },
    /// The objects cannot be read.
    Cluster(Error),
}

impl WaitError {
    /// Whether the timeout expired.
    pub fn is_deadline(&self) -> bool {
        match self {
            WaitError::NotReady { deadline, .. } => *deadline,
            WaitError::Legacy { text, .. } => text == DEADLINE || text == super::hook::TIMED_OUT,
            WaitError::FailedFast(_) | WaitError::Cluster(_) => false,
        }
    }

    pub(crate) fn legacy_deadline() -> Self {
        WaitError::Legacy { text: DEADLINE.to_owned(), diagnoses: Vec::new() }
    }

    pub(crate) fn legacy(text: String) -> Self {
        WaitError::Legacy { text, diagnoses: Vec::new() }
    }

    /// Adds what is known about the causes.
    pub(crate) fn with_diagnoses(mut self, found: Vec<Diagnosis>) -> Self {
        if let WaitError::NotReady { diagnoses, .. } | WaitError::Legacy { diagnoses, .. } = &mut self {
            *diagnoses = found;
        }
        self
    }

    /// Leaves out what containers have logged.
    #[must_use]
    pub fn without_logs(mut self) -> Self {
        match &mut self {
            WaitError::NotReady { diagnoses, .. } | WaitError::Legacy { diagnoses, .. } => {
                diagnoses.iter_mut().for_each(|diagnosis| diagnosis.log.clear());
            }
            WaitError::FailedFast(diagnosis) => diagnosis.log.clear(),
            WaitError::Cluster(_) => {}
        }
        self
    }

    /// What is known about the causes.
    pub fn diagnoses(&self) -> &[Diagnosis] {
        match self {
            WaitError::NotReady { diagnoses, .. } | WaitError::Legacy { diagnoses, .. } => diagnoses,
            WaitError::FailedFast(diagnosis) => std::slice::from_ref(diagnosis),
            WaitError::Cluster(_) => &[],
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::FailedFast(diagnosis) => return diagnosis.fmt(formatter),
            WaitError::Cluster(error) => return error.fmt(formatter),
            WaitError::Legacy { text, .. } => formatter.write_str(text)?,
            WaitError::NotReady { wait_for, pending, deadline, .. } => {
                let what = if *wait_for == WaitFor::Deleted { "still exists" } else { "not ready" };
                let mut lines: Vec<String> = pending.iter().map(|pending| pending.line(what)).collect();
                if *deadline {
                    lines.push(DEADLINE.to_owned());
                }
                formatter.write_str(&lines.join("\n"))?;
            }
        }
        self.diagnoses().iter().try_for_each(|diagnosis| write!(formatter, "\n{diagnosis}"))
    }
}

impl std::error::Error for WaitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WaitError::Cluster(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Error> for WaitError {
    fn from(error: Error) -> Self {
        WaitError::Cluster(error)
    }
}

impl PendingObject {
    /// The line of Helm's error. Cluster-scoped objects have an empty namespace.
    fn line(&self, what: &str) -> String {
        let (id, readiness) = (&self.id, &self.readiness);
        format!(
            "resource {}/{}/{} {what}. status: {}, message: {}",
            id.kind, id.namespace, id.name, readiness.status, readiness.message
        )
    }
}

impl WaitFor {
    /// Whether this waits for readiness, which a chart may define for its objects.
    pub(crate) fn is_readiness(self) -> bool {
        matches!(self, WaitFor::Ready | WaitFor::ReadyWithJobs)
    }

    /// Whether the condition holds for an object with this status. `listed` says whether the object has been looked
    /// up.
    pub(crate) fn is_reached(self, state: Status, listed: bool) -> bool {
        match self {
            // An object that was gone before the watch began is never reported as deleted; not being in the list says
            // the same.
            WaitFor::Deleted => matches!(state, Status::NotFound) || (state == Status::Unknown && listed),
            _ => state == Status::Current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_all_objects_and_the_deadline_last() {
        let pending = |kind: &str, namespace: &str, readiness| PendingObject {
            id: ObjectId::new("v1", kind, namespace, "x"),
            readiness,
        };
        let error = WaitError::NotReady {
            wait_for: WaitFor::Ready,
            pending: vec![
                pending("Job", "ns", Readiness::failed("Job Failed. failed: 1/1", "")),
                pending("Namespace", "", Readiness::unknown()),
            ],
            deadline: true,
            diagnoses: Vec::new(),
        };
        assert_eq!(
            error.to_string(),
            "resource Job/ns/x not ready. status: Failed, message: Job Failed. failed: 1/1\nresource Namespace//x not ready. status: Unknown, message: \ncontext deadline exceeded"
        );
    }
}

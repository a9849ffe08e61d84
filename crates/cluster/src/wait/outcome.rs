//! How waiting ends: what is told on the way, and the errors with the words that Helm has for them.

use std::fmt;

use pintle_objects::ObjectId;

use super::diagnose::Diagnosis;
use super::readiness::{Readiness, Status};
use crate::error::Error;

/// What Go says when the time is up.
const DEADLINE: &str = "context deadline exceeded";

/// A change in the state of one object that is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'w> {
    /// The object.
    pub id: &'w ObjectId,
    /// How far it has come.
    pub readiness: &'w Readiness,
    /// Whether the object is where it should be.
    pub is_done: bool,
    /// How many objects are where they should be.
    pub done: usize,
    /// How many objects are waited for.
    pub total: usize,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// All objects are ready; jobs once they have started.
    Ready,
    /// All objects are ready and all jobs are done.
    ReadyWithJobs,
    /// All objects are gone.
    Deleted,
    /// Jobs and pods have run to their end; other kinds need not be waited for.
    HookCompleted,
}

/// An object that is not where it should be when waiting ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingObject {
    /// The object.
    pub id: ObjectId,
    /// How far it has come.
    pub readiness: Readiness,
}

/// Why waiting ended without success.
#[derive(Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// Objects failed, or time ran out.
    NotReady {
        /// What was waited for.
        wait_for: WaitFor,
        /// The objects that are missing, in the order that they were given in.
        pending: Vec<PendingObject>,
        /// Whether time ran out.
        deadline: bool,
        /// What is known about the reasons; empty unless early failure is asked for.
        diagnoses: Vec<Diagnosis>,
    },
    /// WaitOptions longer would not help.
    FailedFast(Box<Diagnosis>),
    /// What Helm 3 says; with `--wait=legacy` only.
    Legacy {
        /// Helm's text.
        text: String,
        /// What is known about the reasons; empty unless early failure is asked for.
        diagnoses: Vec<Diagnosis>,
    },
    /// The cluster did not let us look.
    Cluster(Error),
}

impl WaitError {
    /// Whether time ran out.
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

    /// Adds what is known about the reasons.
    pub(crate) fn with_diagnoses(mut self, found: Vec<Diagnosis>) -> Self {
        if let WaitError::NotReady { diagnoses, .. } | WaitError::Legacy { diagnoses, .. } = &mut self {
            *diagnoses = found;
        }
        self
    }

    /// What is known about the reasons.
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
    /// The line of Helm's error; objects without a namespace leave its place empty.
    fn line(&self, what: &str) -> String {
        let (id, readiness) = (&self.id, &self.readiness);
        format!(
            "resource {}/{}/{} {what}. status: {}, message: {}",
            id.kind, id.namespace, id.name, readiness.status, readiness.message
        )
    }
}

impl WaitFor {
    /// Whether an object in this state is where it should be. `listed` says whether the cluster was asked for it.
    pub(crate) fn is_reached(self, state: Status, listed: bool) -> bool {
        match self {
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

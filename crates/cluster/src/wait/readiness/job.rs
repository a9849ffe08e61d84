//! Jobs: kstatus considers a job current once it has started; hooks and `--wait-for-jobs` wait for its completion.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, Status, conditions};

/// Whether a job has started, or ended already.
pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    if let Some(answer) = ended(object)? {
        return Ok(answer);
    }
    if object.text(&["status", "startTime"]).is_empty() {
        return Ok(Readiness::verbatim(Status::InProgress, "Job not started"));
    }
    let counts = Counts::from_status(object);
    Ok(Readiness::current(
        format!(
            "Job in progress. success:{}, active: {}, failed: {}",
            counts.succeeded, counts.active, counts.failed
        ),
        counts.summary(),
    ))
}

/// Whether a job has completed; a running one is still in progress here.
pub(crate) fn completion(object: &Object) -> Readiness {
    match ended(object) {
        Ok(Some(answer)) => answer,
        Ok(None) => Readiness::in_progress("Job in progress", Counts::from_status(object).summary()),
        Err(reason) => Readiness::malformed(reason),
    }
}

fn ended(object: &Object) -> Result<Option<Readiness>, Malformed> {
    let counts = Counts::from_status(object);
    let completions = counts.completions;
    for condition in conditions(object)? {
        if condition.is_true("Complete") {
            return Ok(Some(Readiness::verbatim(
                Status::Current,
                format!("Job Completed. succeeded: {}/{completions}", counts.succeeded),
            )));
        }
        if condition.is_true("Failed") {
            return Ok(Some(Readiness::failed(
                format!("Job Failed. failed: {}/{completions}", counts.failed),
                because(&format!("Job Failed. failed: {}/{completions}", counts.failed), condition.why()),
            )));
        }
    }
    Ok(None)
}

struct Counts {
    completions: i64,
    succeeded: i64,
    active: i64,
    failed: i64,
}

impl Counts {
    fn from_status(object: &Object) -> Self {
        let status = |field| object.int(&["status", field]).unwrap_or(0);
        let parallelism = object.int(&["spec", "parallelism"]).unwrap_or(1);
        Counts {
            completions: object.int(&["spec", "completions"]).unwrap_or(parallelism),
            succeeded: status("succeeded"),
            active: status("active"),
            failed: status("failed"),
        }
    }

    fn summary(&self) -> String {
        let mut summary = format!("Job in progress. succeeded: {}/{}", self.succeeded, self.completions);
        if self.active > 0 {
            summary.push_str(&format!(", active: {}", self.active));
        }
        if self.failed > 0 {
            summary.push_str(&format!(", failed: {}", self.failed));
        }
        summary
    }
}

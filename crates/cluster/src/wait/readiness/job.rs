//! Jobs: kstatus considers a job current once it has started; hooks and `--wait-for-jobs` wait for its completion.

use pintle_objects::Object;

use super::generic::because;
use super::{Malformed, Readiness, conditions, counted, share};

/// Whether a job has started, or ended already.
pub(super) fn readiness(object: &Object) -> Result<Readiness, Malformed> {
    if let Some(answer) = ended(object)? {
        return Ok(answer);
    }
    if object.text(&["status", "startTime"]).is_empty() {
        return Ok(Readiness::in_progress("Job not started", "it has not started yet"));
    }
    let counts = Counts::of(object);
    Ok(Readiness::current(
        format!(
            "Job in progress. success:{}, active: {}, failed: {}",
            counts.succeeded, counts.active, counts.failed
        ),
        counts.detail(),
    ))
}

/// Whether a job has completed; a running one is still in progress here.
pub(crate) fn completion(object: &Object) -> Readiness {
    match ended(object) {
        Ok(Some(answer)) => answer,
        Ok(None) => Readiness::in_progress("Job in progress", Counts::of(object).detail()),
        Err(reason) => Readiness::malformed(reason),
    }
}

fn ended(object: &Object) -> Result<Option<Readiness>, Malformed> {
    let counts = Counts::of(object);
    let wanted = counts.completions;
    for condition in conditions(object)? {
        if condition.is_true("Complete") {
            return Ok(Some(Readiness::current(
                format!("Job Completed. succeeded: {}/{wanted}", counts.succeeded),
                share(counts.succeeded, wanted, "pod", "done"),
            )));
        }
        if condition.is_true("Failed") {
            return Ok(Some(Readiness::failed(
                format!("Job Failed. failed: {}/{wanted}", counts.failed),
                because(&format!("{} failed", counted(counts.failed, "pod")), condition.why()),
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
    fn of(object: &Object) -> Self {
        let status = |field| object.int(&["status", field]).unwrap_or(0);
        let parallelism = object.int(&["spec", "parallelism"]).unwrap_or(1);
        Counts {
            completions: object.int(&["spec", "completions"]).unwrap_or(parallelism),
            succeeded: status("succeeded"),
            active: status("active"),
            failed: status("failed"),
        }
    }

    fn detail(&self) -> String {
        let mut detail = share(self.succeeded, self.completions, "pod", "done");
        if self.active > 0 {
            detail.push_str(&format!(", {} running", self.active));
        }
        if self.failed > 0 {
            detail.push_str(&format!(", {} failed", self.failed));
        }
        detail
    }
}

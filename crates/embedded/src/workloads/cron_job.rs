//! CronJobs: a job whenever the schedule says so. The clock does not jump for them, or it would never stand still.

use std::time::Duration;

use pintle_tree::Node;

use super::cron::Schedule;
use super::engine::{Look, Wake};
use super::hand::JOBS;
use super::template::{condition, owner_reference, time};
use crate::api::meta::{at, map, number_at, set, take_over, text_at};
use crate::status::Status;

const SOURCE: &str = "cronjob-controller";

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    if at(&look.object, &["spec", "suspend"]).and_then(Node::as_bool) == Some(true) {
        return Ok(None);
    }
    let Some(schedule) = Schedule::read(look.text(&["spec", "schedule"])) else {
        let text = format!("unparseable schedule: {}", look.text(&["spec", "schedule"]));
        look.hand.tell(&look.object, SOURCE, ("Warning", "UnparseableSchedule"), &text).await?;
        return Ok(None);
    };
    let last = time(look.text(&["status", "lastScheduleTime"]))
        .or_else(|| time(look.text(&["metadata", "creationTimestamp"])))
        .unwrap_or(look.now);
    let jobs = look.owned("jobs.batch");
    tidy(look, &jobs).await?;
    let Some(due) = schedule.next(last) else { return Ok(None) };
    if look.now < due {
        report(look, &jobs, None).await?;
        return Ok(Wake::some_day(due));
    }
    let busy = jobs.iter().any(|job| !has_ended(job));
    if !(busy && look.text(&["spec", "concurrencyPolicy"]) == "Forbid") {
        if busy && look.text(&["spec", "concurrencyPolicy"]) == "Replace" {
            for job in jobs.iter().filter(|job| !has_ended(job)) {
                look.hand.delete(JOBS, job, false).await?;
            }
        }
        make(look, due).await?;
    }
    // What was missed while nobody looked is not made up for.
    let last = look.hand.api.now();
    report(look, &look.owned("jobs.batch"), Some(&last)).await?;
    Ok(schedule.next(look.now).and_then(Wake::some_day))
}

fn has_ended(job: &Node) -> bool {
    condition(job, "Complete").is_some() || condition(job, "Failed").is_some()
}

async fn make(look: &Look<'_>, due: Duration) -> Result<(), Status> {
    let mut job = map([("apiVersion", "batch/v1".into()), ("kind", "Job".into())]);
    for field in ["labels", "annotations"] {
        if let Some(value) = at(&look.object, &["spec", "jobTemplate", "metadata", field]) {
            set(&mut job, &["metadata", field], value.clone());
        }
    }
    if let Some(spec) = at(&look.object, &["spec", "jobTemplate", "spec"]) {
        set(&mut job, &["spec"], spec.clone());
    }
    let name = format!("{}-{}", look.name(), due.as_secs() / 60);
    set(&mut job, &["metadata", "name"], name.as_str());
    set(&mut job, &["metadata", "namespace"], look.namespace());
    set(&mut job, &["metadata", "ownerReferences"], vec![owner_reference(&look.object)]);
    let (kind, text) = match look.hand.make(JOBS, look.namespace(), &job).await {
        Ok(_) => (("Normal", "SuccessfulCreate"), format!("Created job {name}")),
        Err(refused) if refused.code == 409 => return Ok(()),
        Err(refused) => (("Warning", "FailedCreate"), format!("Error creating job: {}", refused.message)),
    };
    look.hand.tell(&look.object, SOURCE, kind, &text).await
}

async fn report(look: &Look<'_>, jobs: &[Node], last: Option<&str>) -> Result<(), Status> {
    let reference = |job: &Node| {
        let mut reference = map([("apiVersion", "batch/v1".into()), ("kind", "Job".into())]);
        for field in ["name", "namespace", "uid"] {
            set(&mut reference, &[field], text_at(job, &["metadata", field]));
        }
        reference
    };
    let active: Vec<Node> = jobs.iter().filter(|job| !has_ended(job)).map(reference).collect();
    let ended = jobs
        .iter()
        .filter(|job| condition(job, "Complete").is_some())
        .max_by_key(|job| time(text_at(job, &["status", "completionTime"])));
    let act = |it: &mut Node| {
        if active.is_empty() {
            crate::api::meta::unset(it, &["status", "active"]);
        } else {
            set(it, &["status", "active"], active.clone());
        }
        if let Some(last) = last {
            set(it, &["status", "lastScheduleTime"], last);
        }
        if let Some(job) = ended {
            let mut source = Node::empty_map();
            take_over(&mut source, job, &["status", "completionTime"]);
            set(it, &["status", "lastSuccessfulTime"], text_at(&source, &["status", "completionTime"]));
        }
    };
    look.hand.edit(look.key, act).await
}

/// Jobs that have ended are kept only so many.
async fn tidy(look: &Look<'_>, jobs: &[Node]) -> Result<(), Status> {
    for (kind, field, usual) in
        [("Complete", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)]
    {
        let limit = number_at(&look.object, &["spec", field]).unwrap_or(usual);
        let mut ended: Vec<&Node> = jobs.iter().filter(|job| condition(job, kind).is_some()).collect();
        ended.sort_by_key(|job| time(text_at(job, &["metadata", "creationTimestamp"])));
        let surplus = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for job in &ended[..surplus] {
            look.hand.delete(JOBS, job, false).await?;
        }
    }
    Ok(())
}

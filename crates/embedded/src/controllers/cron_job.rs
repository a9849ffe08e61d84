//! The CronJob controller. It requeues without advancing the clock: a schedule never ends, so the clock would run
//! away.

use std::time::Duration;

use pintle_time::Zone;
use pintle_tree::Node;

use super::client::JOBS;
use super::cron::Schedule;
use super::reconcile::{Request, Requeue};
use super::template::{condition, owner_reference, time};
use crate::api::meta::{at, copy_field, map, number_at, set, text_at};
use crate::status::Status;

const SOURCE: &str = "cronjob-controller";

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if at(&request.object, &["spec", "suspend"]).and_then(Node::as_bool) == Some(true) {
        return Ok(None);
    }
    let Some(schedule) = Schedule::parse(request.text(&["spec", "schedule"])) else {
        let text = format!("unparseable schedule: {}", request.text(&["spec", "schedule"]));
        request
            .client
            .record_event(&request.object, SOURCE, ("Warning", "UnparseableSchedule"), &text)
            .await?;
        return Ok(None);
    };
    // Without one, the real controller uses that of its own process, which is UTC in its image.
    let zone = Zone::named(request.text(&["spec", "timeZone"])).unwrap_or_else(|_| Zone::utc());
    let last = time(request.text(&["status", "lastScheduleTime"]))
        .or_else(|| time(request.text(&["metadata", "creationTimestamp"])))
        .unwrap_or(request.now);
    let jobs = request.owned("jobs.batch");
    prune_finished_jobs(request, &jobs).await?;
    let Some(due) = schedule.next(last, &zone) else { return Ok(None) };
    if request.now < due {
        update_status(request, &jobs, None).await?;
        return Ok(Requeue::at_without_advancing(due));
    }
    let busy = jobs.iter().any(|job| !is_finished(job));
    if !(busy && request.text(&["spec", "concurrencyPolicy"]) == "Forbid") {
        if busy && request.text(&["spec", "concurrencyPolicy"]) == "Replace" {
            for job in jobs.iter().filter(|job| !is_finished(job)) {
                request.client.delete(JOBS, job, false).await?;
            }
        }
        create(request, due).await?;
    }
    // Runs that were missed while the cluster was closed are skipped rather than made up for.
    let last = request.client.api.timestamp();
    update_status(request, &request.owned("jobs.batch"), Some(&last)).await?;
    Ok(schedule.next(request.now, &zone).and_then(Requeue::at_without_advancing))
}

fn is_finished(job: &Node) -> bool {
    condition(job, "Complete").is_some() || condition(job, "Failed").is_some()
}

async fn create(request: &Request<'_>, due: Duration) -> Result<(), Status> {
    let mut job = map([("apiVersion", "batch/v1".into()), ("kind", "Job".into())]);
    for field in ["labels", "annotations"] {
        if let Some(value) = at(&request.object, &["spec", "jobTemplate", "metadata", field]) {
            set(&mut job, &["metadata", field], value.clone());
        }
    }
    if let Some(spec) = at(&request.object, &["spec", "jobTemplate", "spec"]) {
        set(&mut job, &["spec"], spec.clone());
    }
    // As the real controller: the scheduled minute in the name keeps a run from being started twice.
    let name = format!("{}-{}", request.name(), due.as_secs() / 60);
    set(&mut job, &["metadata", "name"], name.as_str());
    set(&mut job, &["metadata", "namespace"], request.namespace());
    set(&mut job, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    let (kind, text) = match request.client.create(JOBS, request.namespace(), &job).await {
        Ok(_) => (("Normal", "SuccessfulCreate"), format!("Created job {name}")),
        // Started by an earlier reconcile whose status update did not succeed.
        Err(error) if error.code == 409 => return Ok(()),
        Err(error) => (("Warning", "FailedCreate"), format!("Error creating job: {}", error.message)),
    };
    request.client.record_event(&request.object, SOURCE, kind, &text).await
}

async fn update_status(request: &Request<'_>, jobs: &[Node], last: Option<&str>) -> Result<(), Status> {
    let reference = |job: &Node| {
        let mut reference = map([("apiVersion", "batch/v1".into()), ("kind", "Job".into())]);
        for field in ["name", "namespace", "uid"] {
            set(&mut reference, &[field], text_at(job, &["metadata", field]));
        }
        reference
    };
    let active: Vec<Node> = jobs.iter().filter(|job| !is_finished(job)).map(reference).collect();
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
            copy_field(&mut source, job, &["status", "completionTime"]);
            set(it, &["status", "lastSuccessfulTime"], text_at(&source, &["status", "completionTime"]));
        }
    };
    request.client.update(request.key, act).await
}

/// Deletes finished jobs beyond `successfulJobsHistoryLimit` and `failedJobsHistoryLimit`.
async fn prune_finished_jobs(request: &Request<'_>, jobs: &[Node]) -> Result<(), Status> {
    for (kind, field, usual) in
        [("Complete", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)]
    {
        let limit = number_at(&request.object, &["spec", field]).unwrap_or(usual);
        let mut ended: Vec<&Node> = jobs.iter().filter(|job| condition(job, kind).is_some()).collect();
        ended.sort_by_key(|job| time(text_at(job, &["metadata", "creationTimestamp"])));
        let surplus = ended.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for job in &ended[..surplus] {
            request.client.delete(JOBS, job, false).await?;
        }
    }
    Ok(())
}

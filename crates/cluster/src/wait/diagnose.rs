//! Finds out why an object does not become ready: from the pods of the workload, their events, and the last lines of
//! their logs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use super::failure::{self, FailFastLimits, Failure, FailureReason};
use super::legacy::newest_replica_set;
use super::pods::{self, PodProgress, Unready};
use super::readiness::{ready, unix_now};
use super::selector::{is_controlled_by, pod_selector};
use super::time::{age, unix_seconds};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::Result;
use crate::logs::{LogSource, tail};
use crate::read::ListParams;

/// For how many pods of a workload events are read while waiting. The progress table has no room for more.
const MAX_PODS_WITH_EVENTS: usize = 3;
/// How many log lines a diagnosis shows.
const LOG_LINES: u32 = 20;
/// How many events a diagnosis shows.
const MAX_EVENTS: usize = 10;
/// A failure that was not observed for this long counts as recovered, and its time starts over when it returns.
const FAILURE_EXPIRY: Duration = Duration::from_secs(60);
/// How many objects are diagnosed when waiting ends. More would bury the first cause.
const MAX_DIAGNOSES: usize = 3;
/// How long collecting diagnoses may take after waiting has ended.
const DIAGNOSIS_TIMEOUT: Duration = Duration::from_secs(10);

/// Why an object does not become ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The object.
    pub id: ObjectId,
    /// The problem, as a sentence.
    pub message: String,
    /// The failing pod; empty when there is none.
    pub pod: String,
    /// The failing container; empty when there is none.
    pub container: String,
    /// The recent events of the pod, or of the object when there is no pod, oldest first.
    pub events: Vec<String>,
    /// The last lines of the container's log.
    pub log: Vec<String>,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.id, self.message)?;
        if !self.events.is_empty() {
            let whose = if self.pod.is_empty() { self.id.to_string() } else { format!("Pod/{}", self.pod) };
            write!(formatter, "\n  events of {whose}:")?;
            self.events.iter().try_for_each(|event| write!(formatter, "\n    {event}"))?;
        }
        if !self.log.is_empty() {
            write!(formatter, "\n  last lines of container {}:", self.container)?;
            self.log.iter().try_for_each(|line| write!(formatter, "\n    {line}"))?;
        }
        Ok(())
    }
}

/// Checks workloads repeatedly, and reports a failure once it has persisted beyond its limit.
#[derive(Debug)]
pub(super) struct FailureDetector {
    limits: FailFastLimits,
    /// When each failure was observed, by the uid of the object or pod, the container and the reason.
    since: BTreeMap<(String, String, FailureReason), FailureAge>,
}

impl FailureDetector {
    pub(super) fn new(limits: FailFastLimits) -> Self {
        FailureDetector { limits, since: BTreeMap::new() }
    }

    /// Checks a workload. A diagnosis means that waiting for it is pointless.
    pub(super) async fn check(
        &mut self,
        cluster: &Cluster,
        id: &ObjectId,
        workload: &Object,
    ) -> Option<Diagnosis> {
        // Not being able to read the pods is not a failure of the workload.
        let pods = newest_pods(cluster, workload).await.ok()?;
        self.check_pods(cluster, id, workload, &pods).await
    }

    /// As [`FailureDetector::check`], with the pods of the workload.
    pub(super) async fn check_pods(
        &mut self,
        cluster: &Cluster,
        id: &ObjectId,
        workload: &Object,
        pods: &[Object],
    ) -> Option<Diagnosis> {
        let now = Instant::now();
        let mut persistent = None;
        for pod in pods {
            let failure = failure::pod_failure(pod, &self.limits);
            if let Some(failure) = failure.filter(|failure| self.has_persisted(pod.uid(), failure, now)) {
                // All pods are checked even after the first: `has_persisted` also records when each failure was seen.
                persistent.get_or_insert((Some(pod), failure));
            }
        }
        if persistent.is_none()
            && let Some(failure) = rejection(cluster, workload, pods).await
        {
            // Progress shows that the rejection is not permanent, so the time counts from the last progress.
            let key = format!("{} {}", workload.uid(), ready(workload).message);
            persistent = self.has_persisted(&key, &failure, now).then_some((None, failure));
        }
        let (pod, failure) = persistent?;
        Some(build_diagnosis(cluster, id, workload, pod, &failure).await)
    }

    fn has_persisted(&mut self, uid: &str, failure: &Failure, now: Instant) -> bool {
        let key = (uid.to_owned(), failure.container.clone(), failure.reason);
        let persistent = self.since.entry(key).or_insert(FailureAge { since: now, seen: now });
        if now.duration_since(persistent.seen) > FAILURE_EXPIRY {
            persistent.since = now;
        }
        persistent.seen = now;
        now.duration_since(persistent.since) >= failure.reason.limits(&self.limits)
    }
}

/// When a failure was observed first and last.
#[derive(Debug)]
struct FailureAge {
    since: Instant,
    seen: Instant,
}

/// Diagnoses objects that failed or timed out.
pub(super) async fn explain<'o>(
    cluster: &Cluster,
    objects: impl Iterator<Item = (&'o ObjectId, &'o Object)>,
) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    let search = async {
        for (id, workload) in objects.take(MAX_DIAGNOSES) {
            diagnoses.extend(explanation(cluster, id, workload).await);
        }
    };
    // The user has waited for the whole timeout already.
    let _ = tokio::time::timeout(DIAGNOSIS_TIMEOUT, search).await;
    diagnoses
}

async fn explanation(cluster: &Cluster, id: &ObjectId, workload: &Object) -> Option<Diagnosis> {
    let pods = newest_pods(cluster, workload).await.unwrap_or_default();
    // Waiting is over, so even one restart is worth showing.
    let limits = FailFastLimits { max_restarts: 1, ..FailFastLimits::default() };
    let failing = pods
        .iter()
        .rev()
        .find_map(|pod| Some((Some(pod), failure::pod_failure(pod, &limits).or_else(|| exit_failure(pod))?)));
    let found = match failing {
        Some(found) => Some(found),
        None => rejection(cluster, workload, &pods).await.map(|failure| (None, failure)),
    };
    if let Some((pod, failure)) = found {
        return Some(build_diagnosis(cluster, id, workload, pod, &failure).await);
    }
    // No container has failed: the youngest pod that is not ready is the most informative.
    let slow = pods.iter().rev().find(|pod| !super::legacy::pod_ready(pod))?;
    let failure = Failure {
        reason: FailureReason::ContainerConfig,
        container: running_container(slow),
        message: String::new(),
    };
    let mut diagnosis = build_diagnosis(cluster, id, workload, Some(slow), &failure).await;
    diagnosis.message = format!("pod {}: {}", slow.name(), ready(slow).detail);
    Some(diagnosis)
}

/// A container of a pod that exited with an error.
fn exit_failure(pod: &Object) -> Option<Failure> {
    failure::container_statuses(pod).find_map(|status| {
        let ended = status.get("state")?.get("terminated")?;
        let Some(Node::Int(code)) = ended.get("exitCode") else { return None };
        (*code != 0).then(|| Failure {
            reason: FailureReason::CrashLoop,
            container: status.get("name").and_then(Node::as_str).unwrap_or_default().to_owned(),
            message: format!("terminated{}", failure::termination_text(ended)),
        })
    })
}

/// The first container of a pod that runs and is not ready.
fn running_container(pod: &Object) -> String {
    let unready = |status: &&Node| {
        status.get("ready").and_then(Node::as_bool) == Some(false)
            && status.get("state").is_some_and(|state| state.get("running").is_some())
    };
    let name = failure::container_statuses(pod).find(unready).and_then(|status| status.get("name")?.as_str());
    name.unwrap_or_default().to_owned()
}

/// Collects events and logs for a failure.
async fn build_diagnosis(
    cluster: &Cluster,
    id: &ObjectId,
    workload: &Object,
    pod: Option<&Object>,
    failure: &Failure,
) -> Diagnosis {
    let subject = pod.unwrap_or(workload);
    let events = events(cluster, subject).await.unwrap_or_default();
    let now = unix_now();
    let skipped = events.len().saturating_sub(MAX_EVENTS);
    let mut diagnosis = Diagnosis {
        id: id.clone(),
        message: failure.message.clone(),
        pod: pod.map(|pod| pod.name().to_owned()).unwrap_or_default(),
        container: failure.container.clone(),
        events: events[skipped..].iter().map(|event| event_line(event, now)).collect(),
        log: Vec::new(),
    };
    let Some(pod) = pod else { return diagnosis };
    if !failure.container.is_empty() {
        let whose = if pod.name() == id.name && id.kind == "Pod" {
            String::new()
        } else {
            format!(" of pod {}", pod.name())
        };
        diagnosis.message = format!("container {}{whose} {}", failure.container, failure.message);
        if failure.reason == FailureReason::CrashLoop || failure.message.is_empty() {
            let source = LogSource::new(pod.namespace(), pod.name(), &failure.container);
            diagnosis.log = tail(cluster, &source, LOG_LINES).await.unwrap_or_default();
        }
    }
    diagnosis
}

/// Why the API server rejects the pods of a workload, if it does.
async fn rejection(cluster: &Cluster, workload: &Object, pods: &[Object]) -> Option<Failure> {
    if let Some(failure) = failure::condition_failure(workload) {
        return Some(failure);
    }
    let desired = match workload.kind() {
        "StatefulSet" | "ReplicaSet" | "ReplicationController" => {
            workload.int(&["spec", "replicas"]).unwrap_or(1)
        }
        "DaemonSet" => workload.int(&["status", "desiredNumberScheduled"]).unwrap_or(0),
        "Job" => 1,
        _ => return None,
    };
    // Events outlive their cause by an hour: with all pods there, a `FailedCreate` is an old one.
    if i64::try_from(pods.len()).is_ok_and(|there| there >= desired) {
        return None;
    }
    let events = events(cluster, workload).await.ok()?;
    let latest = events.iter().rev().find(|event| {
        // The latest of these decides, because a success after a failure means that the cause is gone.
        matches!(event.text(&["reason"]), "FailedCreate" | "SuccessfulCreate" | "FailedDaemonPod")
    })?;
    (latest.text(&["reason"]) == "FailedCreate").then(|| failure::rejection(latest.text(&["message"])))?
}

fn pod_resource() -> Resource {
    Resource::new("", "v1", "Pod", "pods")
}

/// The pods that match a workload's selector, whoever owns them, oldest first.
pub(super) async fn selected_pods(cluster: &Cluster, workload: &Object) -> Result<Vec<Object>> {
    let Some(query) = pod_selector(workload) else { return Ok(Vec::new()) };
    let mut pods = cluster.list(&pod_resource(), workload.namespace(), &ListParams::labels(query)).await?;
    pods.sort_by(|a, b| age_key(a).cmp(&age_key(b)));
    Ok(pods)
}

fn age_key(object: &Object) -> (&str, &str) {
    (object.text(&["metadata", "creationTimestamp"]), object.name())
}

/// The pods of a workload's current template, oldest first. Pods of older templates are being replaced and do not
/// matter. Other kinds have none.
///
/// # Errors
/// When they cannot be listed.
pub async fn newest_pods(cluster: &Cluster, workload: &Object) -> Result<Vec<Object>> {
    let mut pods = match workload.kind() {
        "Pod" => return Ok(vec![workload.clone()]),
        _ => selected_pods(cluster, workload).await?,
    };
    match workload.kind() {
        "Deployment" => {
            let Some(query) = pod_selector(workload) else { return Ok(Vec::new()) };
            let sets = Resource::new("apps", "v1", "ReplicaSet", "replicasets");
            let sets = cluster.list(&sets, workload.namespace(), &ListParams::labels(query)).await?;
            let newest = newest_replica_set(workload, &sets);
            pods.retain(|pod| newest.is_some_and(|newest| is_controlled_by(pod, newest)));
        }
        kind => {
            pods.retain(|pod| is_controlled_by(pod, workload));
            match kind {
                "StatefulSet" => {
                    let revision = workload.text(&["status", "updateRevision"]);
                    pods.retain(|pod| {
                        pod.label("controller-revision-hash").is_none_or(|hash| hash == revision)
                    });
                }
                "DaemonSet" => {
                    let generation = workload.annotation("deprecated.daemonset.template.generation");
                    pods.retain(|pod| {
                        generation.is_none()
                            || pod.label("pod-template-generation").is_none_or(|of| Some(of) == generation)
                    });
                }
                _ => {}
            }
        }
    }
    Ok(pods)
}

/// Returns which of a workload's pods are not ready, and why.
pub(super) async fn pod_progress(cluster: &Cluster, pods: &[Object]) -> Vec<PodProgress> {
    let mut unready = Vec::new();
    for pod in pods {
        let Some(why) = pods::unready(pod) else { continue };
        let needs_events = !matches!(why, Unready::Reason(_)) && unready.len() < MAX_PODS_WITH_EVENTS;
        let events = match needs_events {
            true => events(cluster, pod).await.unwrap_or_default(),
            false => Vec::new(),
        };
        unready.push(PodProgress { name: pod.name().to_owned(), reason: pods::describe(why, &events) });
    }
    unready
}

/// The events of an object, oldest first.
///
/// # Errors
/// When they cannot be listed.
pub async fn events(cluster: &Cluster, object: &Object) -> Result<Vec<Object>> {
    let fields = format!("involvedObject.uid={}", object.uid());
    let selection = ListParams { fields, ..ListParams::default() };
    let resource = Resource::new("", "v1", "Event", "events");
    let mut events = cluster.list(&resource, object.namespace(), &selection).await?;
    events.sort_by_key(event_time);
    Ok(events)
}

/// When an event was last observed, in seconds of Unix time; clients fill different fields.
pub fn event_time(event: &Object) -> i64 {
    let paths: [&[&str]; 5] = [
        &["series", "lastObservedTime"],
        &["lastTimestamp"],
        &["eventTime"],
        &["firstTimestamp"],
        &["metadata", "creationTimestamp"],
    ];
    paths.iter().find_map(|path| unix_seconds(event.text(path))).unwrap_or(0)
}

fn event_line(event: &Object, now: i64) -> String {
    let count = event.int(&["series", "count"]).or_else(|| event.int(&["count"])).unwrap_or(1);
    let times = if count > 1 { format!(" (x{count})") } else { String::new() };
    let message = event.text(&["message"]).trim().replace('\n', " ");
    format!(
        "{} ago{times} {} {}: {message}",
        age(now.saturating_sub(event_time(event))),
        event.text(&["type"]),
        event.text(&["reason"]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnosis_reads_as_a_sentence_with_events_and_log_below() {
        let diagnosis = Diagnosis {
            id: ObjectId::new("apps/v1", "Deployment", "ns", "web"),
            message: "container app of pod web-1 crashes".into(),
            pod: "web-1".into(),
            container: "app".into(),
            events: vec!["3s ago Warning BackOff: no".into()],
            log: vec!["boom".into()],
        };
        assert_eq!(
            diagnosis.to_string(),
            "Deployment/ns/web: container app of pod web-1 crashes\n  events of Pod/web-1:\n    3s ago Warning BackOff: no\n  last lines of container app:\n    boom"
        );
    }

    #[test]
    fn events_show_age_count_and_message() {
        let text = "apiVersion: v1\nkind: Event\ntype: Warning\nreason: BackOff\ncount: 4\nlastTimestamp: '1970-01-01T00:01:00Z'\nmessage: \"Back-off\\npulling\"\n";
        let event = &Object::read_manifest(text.as_bytes(), "test").expect("good")[0];
        assert_eq!(event_line(event, 70), "10s ago (x4) Warning BackOff: Back-off pulling");
    }
}

//! Waits as Helm 3 did (`--wait=legacy`): every two seconds it checks one object after the other.

use std::time::Duration;

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use super::diagnose::{self, FailureDetector};
use super::legacy;
use super::outcome::{Progress, WaitError, WaitFor};
use super::readiness::{Readiness, Status, job_completion, ready};
use super::selector::pod_selector;
use super::{Observer, Waiter, with_deadline};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::ListParams;

/// Helm 3's poll interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How many consecutive errors Helm 3 tolerates per object.
const MAX_RETRIES: u32 = 30;

/// Waits until the condition holds for all objects.
pub(super) async fn wait(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run {
        waiter,
        failures: vec![0; ids.len()],
        reported: vec![Readiness::unknown(); ids.len()],
        latest: None,
        failure_detector: waiter.options.fail_fast.map(FailureDetector::new),
        ids,
    };
    let ended = with_deadline(waiter.deadline(), run.until_done(observer)).await;
    let error = match ended {
        Some(Ok(())) => return Ok(()),
        Some(Err(error)) => error,
        None => WaitError::legacy_deadline(),
    };
    match (&run.failure_detector, &run.latest) {
        (Some(_), Some((index, object))) if waiter.options.wait_for != WaitFor::Deleted => {
            let objects = std::iter::once((&run.ids[*index], object));
            Err(error.with_diagnoses(diagnose::explain(waiter.cluster, objects).await))
        }
        _ => Err(error),
    }
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    ids: Vec<ObjectId>,
    /// The consecutive errors of each object.
    failures: Vec<u32>,
    /// What was last reported for each object.
    reported: Vec<Readiness>,
    /// The object that the others wait for, and its index.
    latest: Option<(usize, Object)>,
    failure_detector: Option<FailureDetector>,
}

/// The result of checking one object.
enum PollResult {
    Ready(Option<Object>),
    NotReady(Option<Object>),
    /// An error that may be transient.
    Retryable(WaitError),
    /// A permanent failure that Helm 3 retries nevertheless.
    Failed(Object, WaitError),
}

impl Run<'_, '_> {
    async fn until_done(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        // A slow round must not be followed by several at once, which would use up the thirty retries.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut first = 0;
        loop {
            ticks.tick().await;
            match self.first_unready(&mut first, observer).await? {
                None => return Ok(()),
                Some(index) => self.check_failures(index).await?,
            }
        }
    }

    /// Checks all objects in order and returns the first that is not ready. All are checked again every time, since a
    /// ready object may become unready.
    async fn first_unready(
        &mut self,
        ready_before: &mut usize,
        observer: Observer<'_>,
    ) -> Result<Option<usize>, WaitError> {
        for index in 0..self.ids.len() {
            let answer = self.check(index).await?;
            let (object, done) = match answer {
                PollResult::Retryable(error) => {
                    self.failures[index] += 1;
                    if self.failures[index] > MAX_RETRIES {
                        return Err(error);
                    }
                    return Ok(Some(index));
                }
                PollResult::Failed(object, error) => {
                    self.failures[index] += 1;
                    self.report(index, Some(&object), false, index, observer);
                    self.latest = Some((index, object));
                    if self.failure_detector.is_some() || self.failures[index] > MAX_RETRIES {
                        return Err(error);
                    }
                    return Ok(Some(index));
                }
                PollResult::Ready(object) => (object, true),
                PollResult::NotReady(object) => (object, false),
            };
            // Consecutive errors only: Helm resets the counter of an object when a request for it succeeds.
            self.failures[index] = 0;
            *ready_before = if done { (*ready_before).max(index + 1) } else { index };
            self.report(index, object.as_ref(), done, *ready_before, observer);
            self.latest = object.map(|object| (index, object)).filter(|_| !done);
            if !done {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    async fn check(&self, index: usize) -> Result<PollResult, WaitError> {
        let id = &self.ids[index];
        let cluster = self.waiter.cluster;
        let checked = match self.waiter.options.wait_for {
            WaitFor::Deleted => cluster.get(id).await.map(|object| match object {
                None => PollResult::Ready(None),
                object => PollResult::NotReady(object),
            }),
            wait_for => match self.own_readiness(id).await {
                Ok(None) => is_ready(cluster, id, wait_for == WaitFor::ReadyWithJobs).await,
                Ok(Some(answer)) => Ok(answer),
                Err(error) => Err(error),
            },
        };
        match checked {
            Ok(answer) => Ok(answer),
            Err(error) if self.waiter.options.wait_for != WaitFor::Deleted && is_retryable(&error) => {
                Ok(PollResult::Retryable(error.into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The readiness by rules of the caller or by the object's annotations, where these apply.
    async fn own_readiness(&self, id: &ObjectId) -> Result<Option<PollResult>> {
        if !self.waiter.options.readiness_annotations && !self.waiter.has_rules_for(id) {
            return Ok(None);
        }
        let Some(object) = self.waiter.cluster.get(id).await? else { return Ok(None) };
        let Some(readiness) = self.waiter.own_readiness(&object) else { return Ok(None) };
        Ok(Some(match readiness.status {
            Status::Current => PollResult::Ready(Some(object)),
            Status::Failed => PollResult::Failed(object, WaitError::legacy(readiness.message)),
            _ => PollResult::NotReady(Some(object)),
        }))
    }

    fn report(
        &mut self,
        index: usize,
        object: Option<&Object>,
        is_done: bool,
        done: usize,
        observer: Observer<'_>,
    ) {
        let readiness = match object {
            Some(object) => self.waiter.own_readiness(object).unwrap_or_else(|| match object.kind() {
                "Job" if self.waiter.options.wait_for == WaitFor::ReadyWithJobs => job_completion(object),
                _ => ready(object),
            }),
            None if self.waiter.options.wait_for == WaitFor::Deleted => Readiness::not_found(),
            None => Readiness::new(Status::Current, "", "Resource is always ready"),
        };
        if self.reported[index] != readiness {
            let total = self.ids.len();
            let id = &self.ids[index];
            observer(&Progress { id, readiness: &readiness, pods: &[], is_done, done, total });
            self.reported[index] = readiness;
        }
    }

    async fn check_failures(&mut self, index: usize) -> Result<(), WaitError> {
        let (Some(failure_detector), Some((at, object))) = (&mut self.failure_detector, &self.latest) else {
            return Ok(());
        };
        if *at != index || self.waiter.options.wait_for == WaitFor::Deleted {
            return Ok(());
        }
        match failure_detector.check(self.waiter.cluster, &self.ids[index], object).await {
            Some(diagnosis) => Err(WaitError::FailedFast(Box::new(diagnosis))),
            None => Ok(()),
        }
    }
}

/// Whether Helm 3 retries after such an error: anything but a rejected request, and server errors.
fn is_retryable(error: &Error) -> bool {
    error.status().is_none_or(|status| match status.code {
        0 | 429 => true,
        501 => false,
        code => code >= 500,
    })
}

/// Whether an object is ready by the rules of Helm 3 (`kube.ReadyChecker`).
async fn is_ready(cluster: &Cluster, id: &ObjectId, with_jobs: bool) -> Result<PollResult> {
    let known = matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("", "Pod" | "PersistentVolumeClaim" | "Service" | "ReplicationController")
            | ("apps", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    );
    let job = (id.group.as_str(), id.kind.as_str()) == ("batch", "Job");
    let is_checked = known || (job && with_jobs);
    if !is_checked {
        return Ok(PollResult::Ready(None));
    }
    let resource = cluster.resource(&id.api_version(), &id.kind).await?;
    let Some(object) = cluster.get_by_name(&resource, &id.namespace, &id.name).await? else {
        return Err(not_found(&resource, &id.name));
    };
    let ready = match id.kind.as_str() {
        "Pod" => legacy::pod_ready(&object),
        "PersistentVolumeClaim" => legacy::pvc_ready(&object),
        "Service" => legacy::service_ready(&object),
        "DaemonSet" => legacy::daemon_set_ready(&object),
        "StatefulSet" => legacy::stateful_set_ready(&object),
        "CustomResourceDefinition" => legacy::crd_ready(&object),
        "ReplicaSet" | "ReplicationController" => {
            legacy::is_observed(&object) && pods_are_ready(cluster, &object).await?
        }
        "Deployment" => deployment_is_ready(cluster, &object).await?,
        _ => match legacy::job_ready(&object) {
            Ok(ready) => ready,
            // Helm 3 treats this like any other error, and retries it thirty times.
            Err(text) => return Ok(PollResult::Failed(object, WaitError::legacy(text))),
        },
    };
    Ok(if ready { PollResult::Ready(Some(object)) } else { PollResult::NotReady(Some(object)) })
}

async fn deployment_is_ready(cluster: &Cluster, deployment: &Object) -> Result<bool> {
    if deployment.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true) {
        return Ok(true);
    }
    let selection = ListParams::labels(pod_selector(deployment).unwrap_or_default());
    let resource = Resource::new("apps", "v1", "ReplicaSet", "replicasets");
    let sets = cluster.list(&resource, deployment.namespace(), &selection).await?;
    let newest = legacy::newest_replica_set(deployment, &sets);
    Ok(newest.is_some_and(|newest| legacy::deployment_ready(deployment, newest)))
}

async fn pods_are_ready(cluster: &Cluster, workload: &Object) -> Result<bool> {
    let pods = diagnose::selected_pods(cluster, workload).await;
    let pods = pods.map_err(|error| error.during("failed to list pods"))?;
    Ok(pods.iter().all(legacy::pod_ready))
}

/// The server's message for an object that does not exist.
fn not_found(resource: &Resource, name: &str) -> Error {
    let dot = if resource.group.is_empty() { "" } else { "." };
    Error::Api(Box::new(crate::error::ApiStatus {
        code: 404,
        reason: "NotFound".into(),
        message: format!("{}{dot}{} {name:?} not found", resource.plural, resource.group),
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        name: name.to_owned(),
        ..crate::error::ApiStatus::default()
    }))
}

//! Waiting as Helm 3 did: every two seconds one object after the other is asked whether it is ready.

use std::time::Duration;

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use super::diagnose::{self, Examiner};
use super::legacy;
use super::outcome::{Goal, Progress, WaitError};
use super::readiness::{Readiness, State, job_completion, ready};
use super::selector::pods_of;
use super::{Observer, Waiter, before};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::Selection;

/// How often Helm 3 looks.
const POLL: Duration = Duration::from_secs(2);
/// How many failures in a row Helm 3 takes for passing.
const RETRIES: u32 = 30;

/// Waits until the goal is reached for all objects.
pub(super) async fn wait(
    waiter: &Waiter<'_>,
    ids: Vec<ObjectId>,
    observer: Observer<'_>,
) -> Result<(), WaitError> {
    let mut run = Run {
        waiter,
        failures: vec![0; ids.len()],
        told: vec![Readiness::unseen(); ids.len()],
        latest: None,
        examiner: waiter.waiting.early_failure.map(Examiner::new),
        ids,
    };
    let ended = before(waiter.deadline(), run.until_done(observer)).await;
    let error = match ended {
        Some(Ok(())) => return Ok(()),
        Some(Err(error)) => error,
        None => WaitError::legacy_deadline(),
    };
    match (&run.examiner, &run.latest) {
        (Some(_), Some((place, object))) if waiter.waiting.goal != Goal::Deleted => {
            let suspects = std::iter::once((&run.ids[*place], object));
            Err(error.with_diagnoses(diagnose::explain(waiter.cluster, suspects).await))
        }
        _ => Err(error),
    }
}

struct Run<'w, 'c> {
    waiter: &'w Waiter<'c>,
    ids: Vec<ObjectId>,
    /// How often each object could not be asked in a row.
    failures: Vec<u32>,
    /// What was told of each object last.
    told: Vec<Readiness>,
    /// The object that holds up the others, and its number.
    latest: Option<(usize, Object)>,
    examiner: Option<Examiner>,
}

/// What asking for one object came to.
enum Answer {
    Ready(Option<Object>),
    NotReady(Option<Object>),
    /// Something that may pass.
    Trouble(WaitError),
    /// Something that will not pass, though Helm 3 hopes so.
    Failed(Object, WaitError),
}

impl Run<'_, '_> {
    async fn until_done(&mut self, observer: Observer<'_>) -> Result<(), WaitError> {
        let mut ticks = tokio::time::interval(POLL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut first = 0;
        loop {
            ticks.tick().await;
            match self.first_unready(&mut first, observer).await? {
                None => return Ok(()),
                Some(place) => self.examine(place).await?,
            }
        }
    }

    /// Asks all objects in order and returns the first that is not ready. All are asked again every time, since what
    /// was ready may no longer be.
    async fn first_unready(
        &mut self,
        ready_before: &mut usize,
        observer: Observer<'_>,
    ) -> Result<Option<usize>, WaitError> {
        for place in 0..self.ids.len() {
            let answer = self.ask(place).await?;
            let (object, done) = match answer {
                Answer::Trouble(error) => {
                    self.failures[place] += 1;
                    if self.failures[place] > RETRIES {
                        return Err(error);
                    }
                    return Ok(Some(place));
                }
                Answer::Failed(object, error) => {
                    self.failures[place] += 1;
                    self.tell(place, Some(&object), false, place, observer);
                    self.latest = Some((place, object));
                    if self.examiner.is_some() || self.failures[place] > RETRIES {
                        return Err(error);
                    }
                    return Ok(Some(place));
                }
                Answer::Ready(object) => (object, true),
                Answer::NotReady(object) => (object, false),
            };
            self.failures[place] = 0;
            *ready_before = if done { (*ready_before).max(place + 1) } else { place };
            self.tell(place, object.as_ref(), done, *ready_before, observer);
            self.latest = object.map(|object| (place, object)).filter(|_| !done);
            if !done {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    async fn ask(&self, place: usize) -> Result<Answer, WaitError> {
        let id = &self.ids[place];
        let cluster = self.waiter.cluster;
        let asked = match self.waiter.waiting.goal {
            Goal::Deleted => cluster.get(id).await.map(|object| match object {
                None => Answer::Ready(None),
                object => Answer::NotReady(object),
            }),
            goal => is_ready(cluster, id, goal == Goal::ReadyWithJobs).await,
        };
        match asked {
            Ok(answer) => Ok(answer),
            Err(error) if self.waiter.waiting.goal != Goal::Deleted && may_pass(&error) => {
                Ok(Answer::Trouble(error.into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn tell(
        &mut self,
        place: usize,
        object: Option<&Object>,
        is_done: bool,
        done: usize,
        observer: Observer<'_>,
    ) {
        let readiness = match object {
            Some(job) if job.kind() == "Job" && self.waiter.waiting.goal == Goal::ReadyWithJobs => {
                job_completion(job)
            }
            Some(object) => ready(object),
            None if self.waiter.waiting.goal == Goal::Deleted => Readiness::gone(),
            None => Readiness::new(State::Current, "", "it needs nothing more"),
        };
        if self.told[place] != readiness {
            let total = self.ids.len();
            observer(&Progress { id: &self.ids[place], readiness: &readiness, is_done, done, total });
            self.told[place] = readiness;
        }
    }

    async fn examine(&mut self, place: usize) -> Result<(), WaitError> {
        let (Some(examiner), Some((at, object))) = (&mut self.examiner, &self.latest) else { return Ok(()) };
        if *at != place || self.waiter.waiting.goal == Goal::Deleted {
            return Ok(());
        }
        match examiner.examine(self.waiter.cluster, &self.ids[place], object).await {
            Some(diagnosis) => Err(WaitError::Hopeless(Box::new(diagnosis))),
            None => Ok(()),
        }
    }
}

/// Whether Helm 3 looks again after such an error: one that is no refusal, or one by a server in trouble.
fn may_pass(error: &Error) -> bool {
    error.status().is_none_or(|status| match status.code {
        0 | 429 => true,
        501 => false,
        code => code >= 500,
    })
}

/// Asks whether an object is ready by the rules of Helm 3.
async fn is_ready(cluster: &Cluster, id: &ObjectId, with_jobs: bool) -> Result<Answer> {
    let known = matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("", "Pod" | "PersistentVolumeClaim" | "Service" | "ReplicationController")
            | ("apps", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    );
    let job = (id.group.as_str(), id.kind.as_str()) == ("batch", "Job");
    let asked = known || (job && with_jobs);
    if !asked {
        return Ok(Answer::Ready(None));
    }
    let resource = cluster.resource(&id.api_version(), &id.kind).await?;
    let Some(object) = cluster.get_at(&resource, &id.namespace, &id.name).await? else {
        return Err(not_found(&resource, &id.name));
    };
    let ready = match id.kind.as_str() {
        "Pod" => legacy::pod_ready(&object),
        "PersistentVolumeClaim" => legacy::claim_ready(&object),
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
            // To Helm 3 this is an error like any other, which it looks at thirty times more.
            Err(text) => return Ok(Answer::Failed(object, WaitError::legacy(text))),
        },
    };
    Ok(if ready { Answer::Ready(Some(object)) } else { Answer::NotReady(Some(object)) })
}

async fn deployment_is_ready(cluster: &Cluster, deployment: &Object) -> Result<bool> {
    if deployment.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true) {
        return Ok(true);
    }
    let selection = Selection::labelled(pods_of(deployment).unwrap_or_default());
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

/// What the server says of an object that is not there.
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

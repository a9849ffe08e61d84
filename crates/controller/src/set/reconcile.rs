//! One reconciliation of a set: find the clusters, compare their requests with what is wanted, and change those that are next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::core::{Selector, SelectorExt as _};
use pintle::Clock;
use pintle::cluster::{Cluster, ListParams, PatchType, Preconditions, PropagationPolicy, WriteParams, crds};
use pintle::objects::{Object, ObjectId};
use pintle::release::Timestamp;
use serde_json::{Value, json};

use super::clusters::{self, ChartQuery, TargetCluster};
use super::rollout::{Decision, Member, Progress, Rollout, RolloutStep};
use super::{
    APPROVE_STEP_ANNOTATION, CLUSTER_LABEL, DIGEST_ANNOTATION, HelmRequestSet, Limit, OnRemoval,
    RESUME_ANNOTATION, RETRY_ANNOTATION, SET_LABEL, SetStatus, Step,
};
use crate::conditions::{MAX_MESSAGE, READY, truncated};
use crate::expression::{Evaluation, Expression};
use crate::request::{
    Condition, DELETION_POLICY_ANNOTATION, ORPHAN, RECONCILE_ANNOTATION, RESET_ANNOTATION, duration,
};
use crate::{Error, FIELD_MANAGER, Result};

/// The field manager of what sets write.
const SET_MANAGER: &str = "pintle-request-set";
/// How often clusters are looked for: Secrets are not watched, because the controller has no right to.
const INTERVAL: Duration = Duration::from_secs(60);
/// How much of a message of a request the status of a set shows.
const MAX_FAILURE: usize = 300;

/// Reconciles sets.
pub struct SetReconciler {
    /// The cluster, with the controller's own rights.
    pub cluster: Cluster,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The service account for sets that name none; the controller's own rights if empty.
    pub default_service_account: String,
}

/// What one reconciliation knows.
struct Reconciliation<'r> {
    reconciler: &'r SetReconciler,
    set: HelmRequestSet,
    /// With the rights of the set.
    cluster: Cluster,
    status: SetStatus,
}

/// A request of the set as it is.
struct Child {
    object: Object,
    json: Value,
}

impl SetReconciler {
    /// Reconciles a set, and returns when to look again. What is wrong with it is in its status.
    ///
    /// # Errors
    /// When the set cannot be read, or its status cannot be written.
    pub async fn reconcile(&self, namespace: &str, name: &str) -> Result<Option<Duration>> {
        let Some(body) = self.cluster.get_raw(&crds::helm_request_sets(), namespace, name).await? else {
            return Ok(None);
        };
        let set: HelmRequestSet = match serde_json::from_slice(&body) {
            Ok(set) => set,
            Err(error) => {
                let text = error.to_string();
                let reason = text.split(" at line ").next().unwrap_or_default();
                self.write_condition(namespace, name, &format!("the set cannot be decoded: {reason}"))
                    .await?;
                return Ok(None);
            }
        };
        // Its requests have it as their owner, and are deleted after it.
        if set.metadata.deletion_timestamp.is_some() || set.spec.suspend {
            return Ok(None);
        }
        let account = set.spec.service_account_name.clone().filter(|name| !name.is_empty());
        let account = account.unwrap_or_else(|| self.default_service_account.clone());
        let cluster = match account.as_str() {
            "" => self.cluster.clone(),
            account => {
                self.cluster.impersonate(&format!("system:serviceaccount:{namespace}:{account}"), &[])?
            }
        };
        let status = set.status.clone().unwrap_or_default();
        let mut reconciliation = Reconciliation { reconciler: self, set, cluster, status };
        match reconciliation.run().await {
            Ok(decision) => {
                let after = decision.after.map_or(INTERVAL, |after| after.min(INTERVAL));
                reconciliation.finish(Ok(decision)).await?;
                Ok(Some(after.max(Duration::from_secs(1))))
            }
            Err(error) => {
                reconciliation.finish(Err(error)).await?;
                Ok(Some(INTERVAL))
            }
        }
    }

    async fn write_condition(&self, namespace: &str, name: &str, message: &str) -> Result<()> {
        let now = self.clock.now().to_string();
        let condition = condition(None, 0, &now, (false, "InvalidSpec", message));
        let id = ObjectId::new("helm.sh/v3", "HelmRequestSet", namespace, name);
        let body = json!({"status": {"conditions": [condition]}}).to_string();
        let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::status() };
        self.cluster.patch(&id, PatchType::Merge, body.into_bytes(), &params).await?;
        Ok(())
    }
}

impl Reconciliation<'_> {
    async fn run(&mut self) -> std::result::Result<Decision, String> {
        let spec = &self.set.spec;
        let namespace = self.set.namespace().to_owned();
        let found = clusters::find(&self.cluster, &namespace, &spec.clusters).await?;
        let set = self.set.clone();
        let wanted = tokio::task::spawn_blocking(move || clusters::wanted(&set, found)).await;
        let wanted = wanted.unwrap_or_else(|_| Err("the spec cannot be checked".to_owned()))?;
        let children = self.children().await?;
        let revision = clusters::digest(&json!([spec.template, spec.values, spec.steps]));
        if self.status.revision != revision {
            self.status.revision = revision;
            (self.status.paused, self.status.tolerated_failures) = (None, 0);
            self.status.steps.clear();
        }
        self.handle_annotations(&wanted, &children).await?;
        let rollout = self.rollout(&wanted, &children).await?;
        let mut decision = rollout.decide();
        self.note_times(&rollout, &mut decision);
        self.remove(&wanted, &children).await?;
        for index in &decision.start {
            self.apply(&wanted[*index], &children).await?;
        }
        Ok(decision)
    }

    /// The requests of the set, by the name of their cluster.
    async fn children(&self) -> std::result::Result<BTreeMap<String, Child>, String> {
        let params = ListParams::labels(format!("{SET_LABEL}={}", self.set.name()));
        let all = self.cluster.list(&crds::helm_requests(), self.set.namespace(), &params).await;
        let all = all.map_err(|error| format!("cannot list the requests: {error}"))?;
        let uid = self.set.metadata.uid.as_deref().unwrap_or_default();
        let children = all.into_iter().filter_map(|object| {
            let json: Value = serde_json::from_slice(&object.to_json()).ok()?;
            let owners = json["metadata"]["ownerReferences"].as_array()?;
            owners.iter().any(|owner| owner["uid"] == uid).then_some(())?;
            Some((object.label(CLUSTER_LABEL)?.to_owned(), Child { object, json }))
        });
        Ok(children.collect())
    }

    /// Goes on after a pause, or tries again what failed, if somebody asks for it.
    async fn handle_annotations(
        &mut self,
        wanted: &[ChartQuery],
        children: &BTreeMap<String, Child>,
    ) -> std::result::Result<(), String> {
        let failed = wanted.iter().filter_map(|wanted| {
            let child = children.get(&wanted.cluster.name)?;
            matches!(child.progress(&wanted.digest), Progress::Failed(_)).then_some(child)
        });
        let failed: Vec<&Child> = failed.collect();
        let resume = self.set.annotation(RESUME_ANNOTATION).to_owned();
        if !resume.is_empty() && resume != self.status.last_handled_resume_at {
            self.status.tolerated_failures = u32::try_from(failed.len()).unwrap_or(u32::MAX);
            (self.status.paused, self.status.last_handled_resume_at) = (None, resume);
        }
        let retry = self.set.annotation(RETRY_ANNOTATION).to_owned();
        if !retry.is_empty() && retry != self.status.last_handled_retry_at {
            for child in failed {
                let token = json!({RECONCILE_ANNOTATION: retry, RESET_ANNOTATION: retry});
                self.annotate(child, &token).await?;
            }
            (self.status.paused, self.status.tolerated_failures) = (None, 0);
            self.status.last_handled_retry_at = retry;
        }
        Ok(())
    }

    async fn annotate(&self, child: &Child, annotations: &Value) -> std::result::Result<(), String> {
        let body = json!({"metadata": {"annotations": annotations}}).to_string().into_bytes();
        let written = self.cluster.patch(&child.object.id(), PatchType::Merge, body, &params()).await;
        written
            .map(drop)
            .map_err(|error| format!("cannot change the request {}: {error}", child.object.name()))
    }

    async fn rollout(
        &self,
        wanted: &[ChartQuery],
        children: &BTreeMap<String, Child>,
    ) -> std::result::Result<Rollout, String> {
        let spec = &self.set.spec;
        let (assigned, rest) = steps_of(&spec.steps, wanted)?;
        let members: Vec<Member> = wanted
            .iter()
            .zip(&assigned)
            .map(|(wanted, step)| {
                let child = children.get(&wanted.cluster.name);
                Member {
                    cluster: wanted.cluster.name.clone(),
                    step: *step,
                    progress: child.map_or(Progress::Missing, |child| child.progress(&wanted.digest)),
                    available: child.is_some_and(Child::is_ready),
                }
            })
            .collect();
        let mut steps = Vec::new();
        for (index, step) in spec.steps.iter().chain(rest.as_ref()).enumerate() {
            let requests = wanted.iter().zip(&assigned).filter(|(_, at)| **at == index);
            let requests = requests.filter_map(|(wanted, _)| children.get(&wanted.cluster.name));
            let requests: Vec<Value> = requests.map(|child| child.json.clone()).collect();
            steps.push(self.step(index, step, requests).await?);
        }
        let limit = |field: &str, limit: &Option<Limit>| {
            let limit = limit.as_ref().map(|limit| limit.of(wanted.len())).transpose();
            limit.map_err(|error| format!("spec.{field}: {error}"))
        };
        Ok(Rollout {
            steps,
            members,
            max_unavailable: limit("maxUnavailable", &spec.max_unavailable)?,
            pause_after: limit("pauseAfter", &spec.pause_after)?.unwrap_or(1),
            tolerated: self.status.tolerated_failures as usize,
            paused: self.status.paused.clone(),
        })
    }

    /// A step with its gate.
    async fn step(
        &self,
        index: usize,
        step: &Step,
        requests: Vec<Value>,
    ) -> std::result::Result<RolloutStep, String> {
        let wrong = |field: &str, error: String| format!("spec.steps[{index}].{field}: {error}");
        let max_concurrent = step.max_concurrent.as_ref().map(|limit| limit.of(requests.len().max(1)));
        let max_concurrent = max_concurrent.transpose().map_err(|error| wrong("maxConcurrent", error))?;
        let bake = step.gate.bake_time.as_deref().unwrap_or("0s");
        let bake_time = duration("bakeTime", bake).map_err(|error| wrong("gate", error))?;
        let approval = format!("{}/{}", self.status.revision, step.name);
        let done_at = self.status.steps.get(index).and_then(|status| status.done_at.as_deref());
        let now = self.reconciler.clock.now();
        let done_for = done_at
            .and_then(|time| Timestamp::parse(time).ok())
            .map(|time| Duration::from_secs(u64::try_from(now.unix() - time.unix()).unwrap_or_default()));
        let refused = match step.gate.expression.clone() {
            None => None,
            Some(expression) => {
                let checked = tokio::task::spawn_blocking(move || refusal(&expression, &requests)).await;
                checked
                    .unwrap_or_else(|_| Err("it cannot be evaluated".to_owned()))
                    .map_err(|error| wrong("gate.expression", error))?
            }
        };
        Ok(RolloutStep {
            name: step.name.clone(),
            max_concurrent: max_concurrent.unwrap_or(usize::MAX),
            bake_time,
            awaits_approval: step.gate.approval && self.set.annotation(APPROVE_STEP_ANNOTATION) != approval,
            refused,
            done_for,
        })
    }

    /// Notes since when steps are done. A step that is done for the first time begins to bake now.
    fn note_times(&self, rollout: &Rollout, decision: &mut Decision) {
        let now = Timestamp::from_unix(self.reconciler.clock.now().unix(), 0).to_string();
        for (index, step) in decision.steps.iter_mut().enumerate() {
            if matches!(step.state.as_str(), "Done" | "Gated") {
                let known = self.status.steps.get(index).and_then(|status| status.done_at.clone());
                step.done_at = Some(known.unwrap_or_else(|| now.clone()));
            }
        }
        let gated = decision.steps.iter().position(|step| step.state == "Gated");
        if let Some(step) =
            gated.and_then(|index| rollout.steps.get(index)).filter(|step| step.done_for.is_none())
        {
            decision.after = decision.after.or((!step.bake_time.is_zero()).then_some(step.bake_time));
        }
    }

    /// Deletes the requests of clusters that are not selected any more.
    async fn remove(
        &self,
        wanted: &[ChartQuery],
        children: &BTreeMap<String, Child>,
    ) -> std::result::Result<(), String> {
        if wanted.is_empty() && !children.is_empty() {
            return Err(format!(
                "no cluster is selected, and there are {} requests: nothing is deleted until at least one is, or the set is deleted",
                children.len()
            ));
        }
        for (cluster, child) in children {
            let is_wanted = wanted.iter().any(|wanted| wanted.cluster.name == *cluster);
            if is_wanted || child.json["metadata"]["deletionTimestamp"].is_string() {
                continue;
            }
            if self.set.spec.on_removal == OnRemoval::Orphan {
                self.annotate(child, &json!({DELETION_POLICY_ANNOTATION: ORPHAN})).await?;
            }
            let conditions = Preconditions { uid: child.object.uid().to_owned(), ..Preconditions::default() };
            let deleted =
                self.cluster.delete(&child.object.id(), PropagationPolicy::Background, &conditions).await;
            deleted.map_err(|error| format!("cannot delete the request {}: {error}", child.object.name()))?;
        }
        Ok(())
    }

    /// Gives a cluster what is wanted.
    async fn apply(
        &self,
        wanted: &ChartQuery,
        children: &BTreeMap<String, Child>,
    ) -> std::result::Result<(), String> {
        let failed = |error: String| format!("cannot write the request {}: {error}", wanted.request);
        let namespace = self.set.namespace();
        if !children.contains_key(&wanted.cluster.name) {
            let found = self.cluster.get_metadata(&crds::helm_requests(), namespace, &wanted.request).await;
            if found.map_err(|error| failed(error.to_string()))?.is_some() {
                return Err(failed("it exists, and is not of this set".to_owned()));
            }
        }
        let metadata = &self.set.spec.template.metadata;
        let (mut labels, mut annotations) = (metadata.labels.clone(), metadata.annotations.clone());
        labels.insert(SET_LABEL.to_owned(), self.set.name().to_owned());
        labels.insert(CLUSTER_LABEL.to_owned(), wanted.cluster.name.clone());
        annotations.insert(DIGEST_ANNOTATION.to_owned(), wanted.digest.clone());
        let owner = json!({
            "apiVersion": "helm.sh/v3", "kind": "HelmRequestSet", "name": self.set.name(),
            "uid": self.set.metadata.uid, "controller": true,
        });
        let request = json!({
            "apiVersion": "helm.sh/v3", "kind": "HelmRequest",
            "metadata": {
                "name": wanted.request, "namespace": namespace, "labels": labels, "annotations": annotations,
                "ownerReferences": [owner],
            },
            "spec": wanted.spec,
        });
        let object = Object::read_json(request.to_string().as_bytes());
        let object = object.map_err(|error| failed(error.to_string()))?;
        let written = self.cluster.apply(&object, true, &params()).await;
        written.map(drop).map_err(|error| failed(error.to_string()))
    }

    /// Writes the status.
    async fn finish(mut self, outcome: std::result::Result<Decision, String>) -> Result<()> {
        let generation = self.set.metadata.generation.unwrap_or_default();
        let now = Timestamp::from_unix(self.reconciler.clock.now().unix(), 0).to_string();
        let ready = match outcome {
            Ok(decision) => self.note(decision),
            Err(message) => (false, "Failed", message),
        };
        let old = self.status.conditions.iter().find(|condition| condition.kind == READY).cloned();
        let (is_ready, reason, message) = ready;
        self.status.conditions = vec![condition(old, generation, &now, (is_ready, reason, &message))];
        self.status.observed_generation = generation;
        if self.set.status.as_ref() == Some(&self.status) {
            return Ok(());
        }
        let id = ObjectId::new("helm.sh/v3", "HelmRequestSet", self.set.namespace(), self.set.name());
        let body = json!({"status": self.status}).to_string().into_bytes();
        let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::status() };
        match self.reconciler.cluster.patch(&id, PatchType::Merge, body, &params).await {
            Err(error) if !error.is_not_found() => Err(Error::from(error)),
            _ => Ok(()),
        }
    }

    fn note(&mut self, decision: Decision) -> (bool, &'static str, String) {
        let status = &mut self.status;
        let sum = |count: fn(&super::StepStatus) -> u32| decision.steps.iter().map(count).sum();
        status.clusters = sum(|step| step.clusters);
        status.updated = sum(|step| step.updated);
        status.ready = sum(|step| step.ready);
        status.failed = sum(|step| step.failed);
        let approval = decision.awaits_approval.as_ref();
        status.approval_needed = approval.map(|step| format!("{}/{step}", status.revision));
        (status.paused, status.failing) = (decision.paused, decision.failing);
        status.steps = decision.steps;
        let is_ready = status.ready == status.clusters;
        let reason = match (&status.paused, &status.approval_needed) {
            (Some(_), _) => "Paused",
            (None, Some(_)) => "ApprovalNeeded",
            (None, None) if is_ready => "Ready",
            (None, None) => "Progressing",
        };
        (is_ready, reason, decision.message)
    }
}

impl Child {
    fn is_ready(&self) -> bool {
        self.condition(READY).is_some_and(|condition| condition["status"] == "True")
    }

    fn condition(&self, kind: &str) -> Option<&Value> {
        self.json["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
    }

    fn progress(&self, digest: &str) -> Progress {
        if self.object.annotation(DIGEST_ANNOTATION) != Some(digest) {
            return Progress::Outdated;
        }
        let is_current = self.json["status"]["observedGeneration"] == self.json["metadata"]["generation"];
        let ready = self.condition(READY).filter(|_| is_current);
        let has_failed = self.json["status"]["failures"].as_u64().unwrap_or_default() > 0;
        match ready {
            Some(condition) if condition["status"] == "True" => Progress::Ready,
            Some(condition) if has_failed => {
                let message = condition["message"].as_str().unwrap_or_default();
                Progress::Failed(truncated(message, MAX_FAILURE))
            }
            _ => Progress::Progressing,
        }
    }
}

/// The step of each cluster, and the step for those that none selects, if there are some.
fn steps_of(
    steps: &[Step],
    wanted: &[ChartQuery],
) -> std::result::Result<(Vec<usize>, Option<Step>), String> {
    let mut selectors: Vec<Option<Selector>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let selector = step.selector.as_ref().map(clusters::selector).transpose();
        selectors.push(selector.map_err(|error| format!("spec.steps[{index}].selector: {error}"))?);
    }
    let step_of = |cluster: &TargetCluster| {
        let selects = |selector: &Option<Selector>| {
            selector.as_ref().is_none_or(|selector| selector.matches(&cluster.labels))
        };
        selectors.iter().position(selects).unwrap_or(steps.len())
    };
    let assigned: Vec<usize> = wanted.iter().map(|wanted| step_of(&wanted.cluster)).collect();
    let rest = assigned.contains(&steps.len()).then(|| Step { name: "rest".to_owned(), ..Step::default() });
    Ok((assigned, rest))
}

/// Why the expression of a gate does not hold for all requests of its step, if it does not.
fn refusal(text: &str, requests: &[Value]) -> std::result::Result<Option<String>, String> {
    let expression = Expression::parse(text)?;
    for request in requests {
        let fields = request.as_object().into_iter().flatten();
        let fields = fields.map(|(name, value)| (name.as_str(), value.clone()));
        if expression.evaluate(fields.collect::<Vec<_>>())? != Evaluation::True {
            let name = request["metadata"]["name"].as_str().unwrap_or_default();
            return Ok(Some(format!("`{text}` does not hold for {name}")));
        }
    }
    Ok(None)
}

fn params() -> WriteParams {
    WriteParams { field_manager: SET_MANAGER, ..WriteParams::default() }
}

fn condition(
    old: Option<Condition>,
    generation: i64,
    now: &str,
    (is_ready, reason, message): (bool, &str, &str),
) -> Condition {
    let status = if is_ready { "True" } else { "False" }.to_owned();
    let since = old.filter(|old| old.status == status).map(|old| old.last_transition_time);
    Condition {
        kind: READY.to_owned(),
        status,
        observed_generation: generation,
        last_transition_time: since.unwrap_or_else(|| now.to_owned()),
        reason: reason.to_owned(),
        message: truncated(message, MAX_MESSAGE),
    }
}

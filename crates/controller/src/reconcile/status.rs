//! What a reconciliation writes into the status of its request: conditions, errors, when to reconcile again.

use std::time::Duration;

use pintle::cluster::{Cluster, PatchType, WriteParams, WrittenObject, crds};
use pintle::objects::Object;
use pintle_tree::LogLevel;
use serde_json::{Map, Value, json};

use super::{Reconciliation, Requeue};
use crate::FIELD_MANAGER;
use crate::address::with_advice;
use crate::conditions::{
    DRIFTED, MAX_MESSAGE, READY, RECONCILING, RELEASED, REMEDIATED, STALLED, TEST_SUCCESS, truncated,
};
use crate::error::{Error, Result};
use crate::events::{self, Kind, PendingEvent};
use crate::request::{
    FORCE_ANNOTATION, HelmRequest, HelmRequestStatus, LastError, Phase, RECONCILE_ANNOTATION,
    RESET_ANNOTATION,
};
use crate::state::{Action, Next, Operation};

/// The shortest and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The longest text of an event or a log line in the status, in bytes.
const MAX_DETAIL: usize = 1024;
/// How often the status is written again because the request changed meanwhile.
const MAX_CONFLICTS: u32 = 8;
/// How long an action takes before the status says that it is under way.
pub(super) const PROGRESS_AFTER: Duration = Duration::from_millis(1500);

impl Reconciliation<'_> {
    /// Notes what is about to be done.
    pub(super) fn note_progress(&mut self, action: Action, cluster: &Cluster) -> Result<()> {
        let timeout = self.timeout(action)?;
        let text = format!("Running '{}' action with timeout of {}s", action.as_str(), timeout.as_secs());
        self.status.observed_generation = self.request.generation();
        self.status.phase = Phase::Progressing;
        if matches!(action, Action::Install | Action::Upgrade) {
            // Before the records can say it, so that a release is found even if the controller is killed and the request
            // names another one then.
            self.note_location(cluster);
        }
        self.condition(RECONCILING, true, "Progressing", &text);
        self.status.remove_condition(STALLED);
        // A release that is being changed is not ready, or `kubectl wait` would not wait for the change. Tests and
        // corrections do not change what was requested.
        if !matches!(action, Action::Test | Action::CorrectDrift) {
            self.condition(READY, false, "Progressing", &text);
        }
        Ok(())
    }

    /// The write of the noted progress, for an action that takes longer than most do. A short one needs no progress: until
    /// its result is written, `observedGeneration` says that the request was not handled yet.
    pub(super) fn progress_update(&self) -> impl Future<Output = Option<WrittenObject>> + use<> {
        let body = self.status_body();
        let (cluster, id) = (self.reconciler.cluster.clone(), self.id());
        async move {
            let written = cluster.patch(&id, PatchType::Merge, body?, &status_params()).await;
            // Progress is informative, so errors are ignored; the result is written at the end.
            written.ok()
        }
    }

    pub(crate) fn condition(&mut self, kind: &str, status: bool, reason: &str, message: &str) {
        let now = self.now();
        self.status.set_condition(kind, status, reason, message, (self.request.generation(), &now));
    }

    pub(super) fn now(&self) -> String {
        // Conditions have whole seconds.
        pintle::release::Timestamp::from_unix(self.reconciler.clock.now().unix(), 0).to_string()
    }

    /// Notes that an action succeeded.
    pub(crate) fn succeeded(&mut self, action: Action, reason: &'static str, text: &str) {
        // Undoing a failure does not make it a success.
        if !matches!(action, Action::RollBack | Action::Uninstall) {
            self.last_success = reason;
            self.failure = None;
            self.status.last_error = None;
        }
        match action {
            Action::Install | Action::Upgrade => self.condition(RELEASED, true, reason, text),
            Action::Test => self.condition(TEST_SUCCESS, true, reason, text),
            Action::RollBack | Action::Uninstall => self.condition(REMEDIATED, true, reason, text),
            Action::CorrectDrift => self.condition(DRIFTED, false, reason, text),
            Action::Unlock => {}
        }
        self.publish(Kind::Normal, reason, action.as_str(), text);
    }

    /// Notes that an action failed.
    pub(crate) fn failed(&mut self, action: Action, reason: &'static str, error: LastError) {
        let text = match (error.object.is_empty(), error.hook_logs.last()) {
            (true, None) => error.message.clone(),
            (false, _) => format!("{} ({})", error.message, error.object),
            (true, Some(line)) => format!("{} (last line of its log: {line})", error.message),
        };
        match action {
            Action::Test => self.condition(TEST_SUCCESS, false, reason, &text),
            Action::RollBack | Action::Uninstall => self.condition(REMEDIATED, false, reason, &text),
            Action::Install | Action::Upgrade => self.condition(RELEASED, false, reason, &text),
            Action::CorrectDrift | Action::Unlock => {}
        }
        self.note_last_error(error);
        self.publish(Kind::Warning, reason, action.as_str(), &text);
        self.failure = Some((reason, text));
    }

    /// Notes what went wrong. Texts are cut, or a long one would keep the status from being written at all.
    pub(super) fn note_last_error(&mut self, error: LastError) {
        let cut = |texts: Vec<String>| texts.iter().map(|text| truncated(text, MAX_DETAIL)).collect();
        self.status.last_error = Some(LastError {
            step: error.step,
            object: truncated(&error.object, MAX_DETAIL),
            message: truncated(&error.message, MAX_MESSAGE),
            time: self.now(),
            events: cut(error.events),
            hook_logs: cut(error.hook_logs),
        });
    }

    /// Logs an event, and publishes it with the next write of the status.
    pub(super) fn publish(&mut self, kind: Kind, reason: &'static str, action: &'static str, message: &str) {
        let level = if kind == Kind::Normal { LogLevel::Info } else { LogLevel::Warn };
        self.reconciler.log(&self.request, level, format!("{reason}: {message}"));
        let clock = &self.reconciler.clock;
        let (now, unique) = (clock.now(), clock.random());
        self.events.push(PendingEvent { kind, reason, action, message: message.to_owned(), now, unique });
    }

    /// Publishes the events that wait for it.
    pub(super) fn publish_pending(&mut self) -> impl Future<Output = ()> + use<> {
        let events = std::mem::take(&mut self.events);
        let objects: Vec<Object> = events.iter().map(|event| event.object(&self.request)).collect();
        let cluster = self.reconciler.cluster.clone();
        async move {
            for object in objects {
                events::publish(&cluster, &object).await;
            }
        }
    }

    /// Writes the end of a reconciliation into the status.
    pub(super) async fn finish(&mut self, outcome: Result<Next>) -> Result<Requeue> {
        if self.reconciler.cancel.is_cancelled() {
            // The next leader goes on from what is recorded, and may have written the status already.
            let _ = self.write_status().await;
            return Ok(Requeue(None));
        }
        if !matches!(outcome, Ok(Next::Done)) {
            // Or what was there before it failed would count as settled when it comes back.
            self.status.settled.clear();
        }
        self.status.observed_generation = self.request.generation();
        self.status.last_handled_reconcile_at = self.request.annotation(RECONCILE_ANNOTATION).to_owned();
        let forces = self.request.is_requested(FORCE_ANNOTATION, &self.status.last_handled_force_at);
        if forces && !matches!(outcome, Err(_) | Ok(Next::RequeueSoon)) {
            self.status.last_handled_force_at = self.request.annotation(FORCE_ANNOTATION).to_owned();
        }
        let interval = self.request.spec.interval().unwrap_or(Duration::from_secs(600));
        let interval = self.reconciler.jittered(interval);
        let requeue = match outcome {
            Ok(Next::Done | Next::ReportDrift) => {
                self.become_ready();
                interval
            }
            Ok(Next::RetryLater(operation)) => {
                self.not_ready("ProgressingWithRetry");
                self.retry_interval(operation)
            }
            Ok(Next::AwaitApproval) => {
                self.status.remove_condition(RECONCILING);
                self.not_ready("");
                self.status.phase = Phase::Pending;
                interval
            }
            Ok(Next::RequeueSoon) => {
                self.not_ready("Progressing");
                backoff(self.status.failures.max(1))
            }
            // A new version of the chart may still come, so the request is reconciled at its interval.
            Ok(Next::Stall(reason)) => {
                self.not_ready("");
                let text = format!(
                    "{}; change the request, or set the annotations {RECONCILE_ANNOTATION} and {RESET_ANNOTATION}",
                    self.failure_text()
                );
                self.condition(STALLED, true, reason.as_str(), &text);
                interval
            }
            Ok(Next::Act(_)) => backoff(1),
            Err(error) => self.note_error(&error),
        };
        self.write_status().await?;
        Ok(Requeue(Some(requeue)))
    }

    fn retry_interval(&self, operation: Operation) -> Duration {
        let strategy = match operation {
            Operation::Install => &self.request.spec.install.release.strategy,
            Operation::Upgrade => &self.request.spec.upgrade.release.strategy,
        };
        strategy.retry_interval().unwrap_or(BACKOFF.1)
    }

    fn become_ready(&mut self) {
        let version = self.status.history.first().cloned().unwrap_or_default();
        let text = format!(
            "release {}/{} has version {} of chart {}-{}",
            self.status.release_namespace,
            self.status.release_name,
            version.number,
            version.chart_name,
            version.chart_version
        );
        let before = self.status.condition(READY).filter(|ready| ready.status == "True");
        let before = before.map(|ready| ready.reason.clone()).filter(|_| self.last_success.is_empty());
        let reason = before.unwrap_or_else(|| match self.last_success {
            "" => "Succeeded".to_owned(),
            reason => reason.to_owned(),
        });
        self.condition(READY, true, &reason, &text);
        self.status.remove_condition(RECONCILING);
        self.status.remove_condition(STALLED);
        self.status.remove_condition(REMEDIATED);
        self.status.failures = 0;
        self.status.remediated = false;
        self.status.phase = Phase::Ready;
        self.status.last_error = None;
    }

    fn failure_text(&self) -> String {
        match (&self.failure, &self.status.last_error) {
            (Some((_, text)), _) => text.clone(),
            (None, Some(error)) => error.message.clone(),
            (None, None) => "the release is not as requested yet".to_owned(),
        }
    }

    /// Notes that the release is not as requested. `reconciling` is the reason of that condition; empty removes it.
    fn not_ready(&mut self, reconciling: &str) {
        let text = self.failure_text();
        let before = self.status.condition(READY).map(|ready| ready.reason.clone());
        let reason = match (&self.failure, &self.status.last_error, before) {
            (Some((reason, _)), ..) => (*reason).to_owned(),
            (None, Some(_), Some(before)) => before,
            _ => "Progressing".to_owned(),
        };
        self.condition(READY, false, &reason, &text);
        match reconciling {
            "" => self.status.remove_condition(RECONCILING),
            reason => self.condition(RECONCILING, true, reason, &text),
        }
        self.status.phase = Phase::Failed;
    }

    /// Notes an error that did not come from an action, and returns the delay before the next try.
    fn note_error(&mut self, error: &Error) -> Duration {
        let text = with_advice(error.to_string());
        let is_new = self.status.condition(READY).is_none_or(|ready| ready.message != text);
        self.condition(READY, false, error.reason(), &text);
        self.status.phase = Phase::Failed;
        self.status.remove_condition(RECONCILING);
        self.status.remove_condition(STALLED);
        let interval = self.request.spec.interval().unwrap_or(BACKOFF.1);
        let pause = match error {
            Error::DependencyNotReady { .. } => {
                self.status.phase = Phase::Pending;
                self.condition(RECONCILING, true, "DependencyNotReady", &text);
                self.reconciler.requeue_dependency
            }
            _ if error.is_stalled() => {
                self.condition(STALLED, true, error.reason(), &text);
                interval
            }
            _ => {
                self.status.failures = self.status.failures.saturating_add(1);
                self.condition(RECONCILING, true, "ProgressingWithRetry", &text);
                backoff(self.status.failures).min(interval.max(BACKOFF.0))
            }
        };
        if !matches!(error, Error::DependencyNotReady { .. }) {
            let step = error.step().to_owned();
            self.note_last_error(LastError { step, message: text.clone(), ..LastError::default() });
        }
        // A repeated error is not published again.
        if is_new {
            self.publish(Kind::Warning, error.reason(), "reconcile", &text);
        }
        pause
    }

    /// The patch from the last written status to the current one; `None` if they are equal. It is conditional on the
    /// `resourceVersion` that was read.
    fn status_body(&self) -> Option<Vec<u8>> {
        let patch = status_patch(&self.written, &self.status)?;
        let version = self.request.metadata.resource_version.as_deref();
        serde_json::to_vec(&json!({ "metadata": {"resourceVersion": version}, "status": patch })).ok()
    }

    /// Writes what changed of the status, and the events.
    pub(crate) async fn write_status(&mut self) -> Result<()> {
        let events = self.publish_pending();
        let ((), written) = futures::join!(events, self.patch_status());
        match written {
            Ok(None) => {}
            Ok(Some(written)) => self.note_written(&written.body),
            // A request that is gone needs no status.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        self.written = self.status.clone();
        Ok(())
    }

    /// Writes what changed of the status; `None` if nothing did. Retries if others changed the request meanwhile, but must not
    /// overwrite a status that another controller wrote.
    async fn patch_status(&mut self) -> pintle::cluster::Result<Option<WrittenObject>> {
        let (cluster, id) = (&self.reconciler.cluster, self.id());
        let mut tries = 0;
        loop {
            let Some(body) = self.status_body() else { return Ok(None) };
            let conflict = match cluster.patch(&id, PatchType::Merge, body, &status_params()).await {
                Err(error) if error.is_conflict() && tries < MAX_CONFLICTS => error,
                written => return written.map(Some),
            };
            let found = cluster.get_raw(&crds::helm_requests(), &id.namespace, &id.name).await?;
            let found = found.and_then(|body| HelmRequest::decode(&body).ok());
            let found = found.map(|read| read.unwrap_or_else(|undecodable| undecodable.request));
            match found {
                Some(now) if now.status.clone().unwrap_or_default() == self.written => {
                    self.request.metadata.resource_version = now.metadata.resource_version;
                }
                _ => return Err(conflict),
            }
            tries += 1;
        }
    }
}

fn status_params() -> WriteParams {
    WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::status() }
}

/// The pause after a number of failures in a row.
pub(super) fn backoff(failures: u32) -> Duration {
    let (least, most) = BACKOFF;
    least.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(most)
}

/// The merge patch from one status to another; `None` if they are equal.
fn status_patch(old: &HelmRequestStatus, new: &HelmRequestStatus) -> Option<Map<String, Value>> {
    if old == new {
        return None;
    }
    let fields = |status: &HelmRequestStatus| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (old, mut new) = (fields(old), fields(new));
    for key in old.keys() {
        if !new.contains_key(key) {
            new.insert(key.clone(), Value::Null);
        }
    }
    // Counters at zero and empty lists are left out of a status that never had them.
    new.retain(|key, value| old.get(key) != Some(value));
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_patch_has_what_changed_and_removes_what_is_gone() {
        let old =
            HelmRequestStatus { plan_digest: "x".to_owned(), failures: 1, ..HelmRequestStatus::default() };
        let new = HelmRequestStatus { failures: 2, ..HelmRequestStatus::default() };
        let patch = status_patch(&old, &new).expect("they differ");
        assert_eq!(Value::Object(patch), json!({"planDigest": null, "failures": 2}));
        assert_eq!(status_patch(&new, &new), None);
    }

    #[test]
    fn the_pause_after_failures_doubles_and_has_a_limit() {
        assert_eq!(backoff(1), Duration::from_secs(1));
        assert_eq!(backoff(4), Duration::from_secs(8));
        assert_eq!(backoff(u32::MAX), Duration::from_secs(300));
    }
}

//! One turn of a request: find out the state of its release, act until nothing is left to do, and write down what happened.

use std::sync::Arc;
use std::time::Duration;

use pintle::cluster::{Cluster, PatchType, WriteParams, crds};
use pintle::objects::{Object, ObjectId};
use pintle::release::{Status, Summary};
use pintle::{Cancel, Clock, LeaseHolder};
use pintle_tree::{LogLevel, LogLine};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::FIELD_MANAGER;
use crate::charts::{Charts, LoadedChart, config_digest, inventory_entry};
use crate::conditions::{DRIFTED, READY, RECONCILING, RELEASED, REMEDIATED, STALLED, TEST_SUCCESS};
use crate::error::{Error, Result};
use crate::events::{self, Event, Kind};
use crate::metrics::Metrics;
use crate::request::{
    APPROVE_ANNOTATION, Approval, DELETION_POLICY_ANNOTATION, FINALIZER, FORCE_ANNOTATION, HelmRequest,
    HelmRequestStatus, HistoryEntry, LastError, ORPHAN, Phase, RECONCILE_ANNOTATION, RESET_ANNOTATION,
};
use crate::state::{Action, Attempts, Facts, Newest, Next, Operation, Tests};
use crate::{dependency, stamp, values};

/// How many versions the status shows.
const MAX_HISTORY: usize = 10;
/// How many objects the status lists.
const MAX_INVENTORY: usize = 500;
/// The shortest and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// Receives what the controller has to say.
pub type Log = Arc<dyn Fn(&LogLine) + Send + Sync>;

/// What all requests share.
pub struct Reconciler {
    /// The cluster, with the controller's own rights.
    pub cluster: Cluster,
    /// The charts.
    pub charts: Charts,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who we are in leases on releases.
    pub holder: LeaseHolder,
    /// The service account for requests that name none; the controller's own rights if empty.
    pub default_service_account: String,
    /// How much intervals vary, in percent.
    pub jitter: u8,
    /// How often a dependency that is not ready is looked at.
    pub requeue_dependency: Duration,
    /// Stops all operations.
    pub cancel: Cancel,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Receives log lines.
    pub log: Log,
}

/// When to look at a request again; `None` when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requeue(pub Option<Duration>);

impl Reconciler {
    /// Brings the release of a request to what it asks for. What goes wrong is in the status of the request; an error is
    /// returned when that cannot be written.
    ///
    /// # Errors
    /// When the API server refuses changes of the request.
    pub async fn reconcile(&self, request: HelmRequest) -> Result<Requeue> {
        Ok(self.reconcile_tracked(request).await?.0)
    }

    /// As [`Reconciler::reconcile`], with the resource version of the request after our last write.
    pub(crate) async fn reconcile_tracked(&self, request: HelmRequest) -> Result<(Requeue, Option<u64>)> {
        self.metrics.begin();
        let begin = Instant::now();
        let mut turn = Turn::new(self, request);
        let done = Box::pin(turn.run()).await;
        let outcome = match &done {
            Err(_) => "error",
            Ok(_) if turn.status.is_true(READY) => "ready",
            Ok(_) => "not-ready",
        };
        self.metrics.end(outcome, begin.elapsed());
        let version =
            turn.request.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        Ok((done?, version))
    }

    fn log(&self, request: &HelmRequest, level: LogLevel, message: String) {
        let attributes =
            vec![("namespace", request.namespace().to_owned()), ("name", request.name().to_owned())];
        (self.log)(&LogLine { level, message: message.into(), attributes });
    }

    /// An interval that differs a little from that of other requests, so that they do not all come at once.
    fn jittered(&self, interval: Duration) -> Duration {
        let spread = f64::from(self.jitter.min(100)) / 100.0;
        let random = (self.clock.random() % 10_000) as f64 / 10_000.0;
        interval.mul_f64(1.0 + spread * (2.0 * random - 1.0))
    }
}

/// The pause after a number of failures in a row.
fn backoff(failures: u32) -> Duration {
    let (least, most) = BACKOFF;
    least.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(most)
}

/// A reconciliation.
pub(crate) struct Turn<'r> {
    pub(crate) reconciler: &'r Reconciler,
    pub(crate) request: HelmRequest,
    pub(crate) status: HelmRequestStatus,
    /// The status as the API server has it.
    written: HelmRequestStatus,
    /// What went wrong in this turn, as condition reason and message.
    failure: Option<(&'static str, String)>,
    last_success: &'static str,
    /// The actions of this turn.
    taken: Vec<Action>,
}

/// What is to be deployed.
pub(crate) struct Desired {
    pub(crate) chart: LoadedChart,
    pub(crate) values: pintle_tree::Map<pintle_tree::Node>,
    pub(crate) digest: String,
}

impl<'r> Turn<'r> {
    fn new(reconciler: &'r Reconciler, request: HelmRequest) -> Turn<'r> {
        let status = request.status.clone().unwrap_or_default();
        let written = status.clone();
        Turn { reconciler, request, status, written, failure: None, last_success: "", taken: Vec::new() }
    }

    async fn run(&mut self) -> Result<Requeue> {
        if self.request.is_deleted() {
            return self.finalize().await;
        }
        if self.request.spec.suspend {
            return self.suspend().await;
        }
        if !self.request.has_finalizer() {
            self.add_finalizer().await?;
        }
        let outcome = Box::pin(self.reconcile()).await;
        self.finish(outcome).await
    }

    /// The rights of the request.
    pub(crate) fn cluster(&self) -> Result<Cluster> {
        let own = &self.reconciler.cluster;
        let account = self.request.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        let account = account.unwrap_or(&self.reconciler.default_service_account);
        if account.is_empty() {
            return Ok(own.clone());
        }
        // The API server adds the groups of service accounts by itself.
        Ok(own.impersonate(&format!("system:serviceaccount:{}:{account}", self.request.namespace()), &[])?)
    }

    async fn reconcile(&mut self) -> Result<Next> {
        self.request.spec.validate().map_err(Error::InvalidSpec)?;
        if self.request.is_requested(RESET_ANNOTATION, &self.status.last_handled_reset_at) {
            self.forget_failures();
            self.status.last_handled_reset_at = self.request.annotation(RESET_ANNOTATION).to_owned();
        }
        let cluster = self.cluster()?;
        dependency::check(&self.reconciler.cluster, &cluster, &self.request).await?;
        let session = self.session(&cluster)?;
        self.uninstall_former_release(&session).await?;
        let fresh = self.is_reconcile_requested();
        let desired = self.desired(&cluster, fresh).await?;
        if self.status.last_attempted_digest != desired.digest {
            self.forget_failures();
        }
        loop {
            let history = self.history(&session).await?;
            let facts = self.facts(&session, &history, &desired).await?;
            self.note_history(&history);
            let action = match facts.next(&self.request.spec, &self.taken) {
                Next::Act(action) => action,
                next => return Ok(next),
            };
            if matches!(action, Action::Install | Action::Upgrade)
                && self.awaits_approval(&desired, action, &history)
            {
                return Ok(Next::LookAgain);
            }
            self.announce(action).await?;
            Box::pin(self.act(&session, action, &desired, &history)).await?;
            self.taken.push(action);
        }
    }

    fn is_reconcile_requested(&self) -> bool {
        self.request.annotation(RECONCILE_ANNOTATION) != self.status.last_handled_reconcile_at
    }

    fn forget_failures(&mut self) {
        let status = &mut self.status;
        (status.failures, status.install_failures, status.upgrade_failures) = (0, 0, 0);
        status.remediated = false;
        status.remove_condition(REMEDIATED);
    }

    async fn desired(&self, cluster: &Cluster, fresh: bool) -> Result<Desired> {
        let chart = self.reconciler.charts.get(cluster, &self.request, fresh);
        let values = values::compose(cluster, &self.request);
        let (chart, values) = futures::try_join!(chart, values)?;
        let digest = config_digest(&chart.digest, &values);
        Ok(Desired { chart, values, digest })
    }

    /// All versions of the release, oldest first.
    pub(crate) async fn history(&self, session: &pintle::Session) -> Result<Vec<Summary>> {
        let (namespace, name) = (self.request.release_namespace(), self.request.release_name());
        for store in std::iter::once(&session.store).chain(&session.other_stores) {
            let history = store.history(namespace, &name).await.map_err(pintle::Error::from)?;
            if !history.is_empty() {
                return Ok(history);
            }
        }
        Ok(Vec::new())
    }

    async fn facts(
        &mut self,
        session: &pintle::Session,
        history: &[Summary],
        desired: &Desired,
    ) -> Result<Facts> {
        let newest = history.last();
        if let Some(newest) = newest {
            self.check_owner(newest).await?;
        }
        let attempts = Attempts {
            digest: self.status.last_attempted_digest.clone(),
            install_failures: self.status.install_failures,
            upgrade_failures: self.status.upgrade_failures,
            remediated: self.status.remediated,
        };
        let now = self.reconciler.clock.now();
        let mut facts = Facts {
            newest: newest.map(|version| Newest {
                status: version.status,
                digest: stamp::digest(version, self.request.uid()),
                held: version.lease.as_ref().is_some_and(|lease| {
                    !lease.is_expired(now) && !(self.reconciler.holder.is_dead)(&lease.holder)
                }),
            }),
            has_good_version: history
                .iter()
                .any(|version| matches!(version.status, Status::Deployed | Status::Superseded)),
            desired: desired.digest.clone(),
            attempts,
            tests: self.tests(newest),
            drifted: false,
            force: self.request.is_requested(FORCE_ANNOTATION, &self.status.last_handled_force_at),
        };
        if facts.state() == crate::state::State::InSync && !self.taken.contains(&Action::CorrectDrift) {
            facts.drifted = self.detect_drift(session).await?;
        }
        Ok(facts)
    }

    fn tests(&self, newest: Option<&Summary>) -> Tests {
        let test = &self.request.spec.test;
        let id = newest.map(version_id).unwrap_or_default();
        match (test.enable, self.status.tested_version == id, self.status.tests_failed) {
            (false, ..) => Tests::Unwanted,
            (true, false, _) => Tests::Pending,
            (true, true, true) if test.ignore_failures => Tests::Passed,
            (true, true, true) => Tests::Failed,
            (true, true, false) => Tests::Passed,
        }
    }

    /// Fails if another request that exists has made the release, so that two requests do not fight.
    async fn check_owner(&self, newest: &Summary) -> Result<()> {
        let Some(owner) = stamp::owner(newest) else { return Ok(()) };
        if owner.uid == self.request.uid() || newest.status == Status::Uninstalled {
            return Ok(());
        }
        let own = &self.reconciler.cluster;
        let found = own.get_metadata(&crds::helm_requests(), &owner.namespace, &owner.name).await?;
        match found {
            Some(other) if other.uid() == owner.uid => Err(Error::OwnedByAnother {
                release: newest.name.clone(),
                owner: format!("{}/{}", owner.namespace, owner.name),
            }),
            _ => Ok(()),
        }
    }

    fn note_history(&mut self, history: &[Summary]) {
        let uid = self.request.uid().to_owned();
        let time =
            |time: Option<pintle::release::Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
        let entry = |version: &Summary| HistoryEntry {
            number: version.number,
            id: version_id(version),
            status: version.status.as_str().to_owned(),
            chart_name: version.chart_name.clone(),
            chart_version: version.chart_version.clone(),
            app_version: version.app_version.clone(),
            digest: stamp::digest(version, &uid).unwrap_or_default(),
            first_deployed: time(version.first_deployed),
            last_deployed: time(version.last_deployed),
        };
        self.status.history = history.iter().rev().take(MAX_HISTORY).map(entry).collect();
        if let Some(newest) = history.last() {
            self.status.current_version = version_id(newest);
            self.status.chart_version.clone_from(&newest.chart_version);
            self.status.release_name = self.request.release_name();
            self.status.release_namespace = self.request.release_namespace().to_owned();
        }
    }

    /// Notes the objects of a version.
    pub(crate) fn note_inventory(&mut self, version: &pintle::release::ReleaseVersion) {
        let objects = Object::read_readable(version.manifest.as_bytes());
        let entries =
            objects.iter().take(MAX_INVENTORY).map(|object| inventory_entry(object, &version.namespace));
        self.status.inventory = entries.collect();
    }

    /// Whether an approval is missing. What waits for it is in the status.
    fn awaits_approval(&mut self, desired: &Desired, action: Action, history: &[Summary]) -> bool {
        let is_retry = self.status.last_attempted_digest == desired.digest;
        if self.request.spec.approval != Approval::Manual
            || is_retry
            || self.request.annotation(APPROVE_ANNOTATION) == desired.digest
        {
            self.status.plan_digest.clear();
            self.status.plan_summary.clear();
            return false;
        }
        let metadata = &desired.chart.chart.metadata;
        let from = match history.last() {
            Some(last) => format!(" from {}-{}", last.chart_name, last.chart_version),
            None => String::new(),
        };
        let name = self.request.release_name();
        self.status.plan_summary =
            format!("{} {name}{from} to {}-{}", action.as_str(), metadata.name, metadata.version);
        self.status.plan_digest.clone_from(&desired.digest);
        let text = format!(
            "{}; to approve it, set the annotation {APPROVE_ANNOTATION}: {}",
            self.status.plan_summary, desired.digest
        );
        self.failure = Some(("AwaitingApproval", text));
        true
    }

    /// Says what is about to be done.
    async fn announce(&mut self, action: Action) -> Result<()> {
        let timeout = self.timeout(action)?;
        let text = format!("Running '{}' action with timeout of {}s", action.as_str(), timeout.as_secs());
        self.status.observed_generation = self.request.generation();
        self.status.phase = Phase::Progressing;
        self.condition(RECONCILING, true, "Progressing", &text);
        self.status.remove_condition(STALLED);
        // A release that is being changed is not ready, or `kubectl wait` would not wait for the change. Tests and
        // corrections do not change what was requested.
        if !matches!(action, Action::Test | Action::CorrectDrift) {
            self.condition(READY, false, "Progressing", &text);
        }
        self.write_status().await
    }

    pub(crate) fn condition(&mut self, kind: &str, status: bool, reason: &str, message: &str) {
        let now = self.now();
        self.status.set_condition(kind, status, reason, message, (self.request.generation(), &now));
    }

    fn now(&self) -> String {
        // Conditions have whole seconds.
        pintle::release::Timestamp::from_unix(self.reconciler.clock.now().unix(), 0).to_string()
    }

    /// Notes that an action succeeded.
    pub(crate) async fn succeeded(&mut self, action: Action, reason: &'static str, text: &str) {
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
        self.publish(Kind::Normal, reason, action.as_str(), text).await;
    }

    /// Notes that an action failed.
    pub(crate) async fn failed(&mut self, action: Action, reason: &'static str, error: LastError) {
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
        self.status.last_error = Some(LastError { time: self.now(), ..error });
        self.publish(Kind::Warning, reason, action.as_str(), &text).await;
        self.failure = Some((reason, text));
    }

    async fn publish(&self, kind: Kind, reason: &str, action: &str, message: &str) {
        let level = if kind == Kind::Normal { LogLevel::Info } else { LogLevel::Warn };
        self.reconciler.log(&self.request, level, format!("{reason}: {message}"));
        let clock = &self.reconciler.clock;
        let event = Event { kind, reason, action, message };
        events::publish(&self.reconciler.cluster, &self.request, event, clock.now(), clock.random()).await;
    }

    /// Writes the end of a turn into the status.
    async fn finish(&mut self, outcome: Result<Next>) -> Result<Requeue> {
        if self.reconciler.cancel.is_cancelled() {
            // The next leader goes on from what is recorded.
            self.write_status().await?;
            return Ok(Requeue(None));
        }
        self.status.observed_generation = self.request.generation();
        self.status.last_handled_reconcile_at = self.request.annotation(RECONCILE_ANNOTATION).to_owned();
        let forces = self.request.is_requested(FORCE_ANNOTATION, &self.status.last_handled_force_at);
        if forces && !matches!(outcome, Err(_) | Ok(Next::LookAgain)) {
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
            Ok(Next::LookAgain)
                if self.failure.as_ref().is_some_and(|(reason, _)| *reason == "AwaitingApproval") =>
            {
                self.status.remove_condition(RECONCILING);
                self.not_ready("");
                self.status.phase = Phase::Pending;
                interval
            }
            Ok(Next::LookAgain) => {
                self.not_ready("Progressing");
                backoff(self.status.failures.max(1))
            }
            // A new version of the chart may still come, so the interval goes on.
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
            Err(error) => self.note_error(&error).await,
        };
        self.write_status().await?;
        Ok(Requeue(Some(requeue)))
    }

    fn retry_interval(&self, operation: Operation) -> Duration {
        let strategy = match operation {
            Operation::Install => &self.request.spec.install.strategy,
            Operation::Upgrade => &self.request.spec.upgrade.strategy,
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

    /// Notes that the release is not as requested. `reconciling` is why something is still going on, if it is.
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

    /// Notes an error that is none of an action, and says when to try again.
    async fn note_error(&mut self, error: &Error) -> Duration {
        let text = error.to_string();
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
            let time = self.now();
            self.status.last_error =
                Some(LastError { step, message: text.clone(), time, ..LastError::default() });
        }
        // The same error again is no news.
        if is_new {
            self.publish(Kind::Warning, error.reason(), "reconcile", &text).await;
        }
        pause
    }

    async fn suspend(&mut self) -> Result<Requeue> {
        self.status.phase = Phase::Suspended;
        self.write_status().await?;
        Ok(Requeue(None))
    }

    /// Uninstalls the release of a request that is to be deleted, and lets the request go.
    async fn finalize(&mut self) -> Result<Requeue> {
        if !self.request.has_finalizer() {
            return Ok(Requeue(None));
        }
        let orphans = self.request.annotation(DELETION_POLICY_ANNOTATION) == ORPHAN;
        // As in Flux, a suspended release is left alone to the end.
        if !orphans && !self.request.spec.suspend && !self.status.release_name.is_empty() {
            if self.status.phase != Phase::Deleting {
                self.status.phase = Phase::Deleting;
                self.condition(RECONCILING, true, "Progressing", "Running 'uninstall' action");
                self.write_status().await?;
            }
            if let Err(error) = self.uninstall_for_deletion().await {
                return self.note_failed_deletion(error).await;
            }
        }
        self.remove_finalizer().await?;
        Ok(Requeue(None))
    }

    async fn note_failed_deletion(&mut self, error: LastError) -> Result<Requeue> {
        if self.reconciler.cancel.is_cancelled() {
            return Ok(Requeue(None));
        }
        let text = format!(
            "{}; to delete the request and leave the release as it is, set the annotation {DELETION_POLICY_ANNOTATION}: {ORPHAN}",
            error.message
        );
        let is_new = self.status.condition(READY).is_none_or(|ready| ready.message != text);
        self.status.failures = self.status.failures.saturating_add(1);
        self.condition(READY, false, "UninstallFailed", &text);
        self.status.last_error = Some(LastError { time: self.now(), ..error });
        if is_new {
            self.publish(Kind::Warning, "UninstallFailed", "uninstall", &text).await;
        }
        self.write_status().await?;
        Ok(Requeue(Some(backoff(self.status.failures))))
    }

    fn id(&self) -> ObjectId {
        ObjectId::new("helm.sh/v3", "HelmRequest", self.request.namespace(), self.request.name())
    }

    async fn add_finalizer(&mut self) -> Result<()> {
        let mut finalizers = self.request.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FINALIZER.to_owned());
        self.write_finalizers(finalizers).await
    }

    async fn remove_finalizer(&mut self) -> Result<()> {
        let mut finalizers = self.request.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| name != FINALIZER);
        match self.write_finalizers(finalizers).await {
            Err(Error::Cluster(error)) if error.is_not_found() => Ok(()),
            done => done,
        }
    }

    /// Writes the finalizers, unless the request has changed since it was read: others have finalizers in the same list.
    async fn write_finalizers(&mut self, finalizers: Vec<String>) -> Result<()> {
        let version = self.request.metadata.resource_version.clone();
        let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
        let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::default() };
        let body = serde_json::to_vec(&patch).unwrap_or_default();
        let written = self.reconciler.cluster.patch(&self.id(), PatchType::Merge, body, &params).await?;
        self.request.metadata.finalizers = Some(finalizers);
        self.note_written(&written.body);
        Ok(())
    }

    fn note_written(&mut self, body: &[u8]) {
        if let Ok(object) = Object::read_json(body) {
            self.request.metadata.resource_version = Some(object.resource_version().to_owned());
        }
    }

    /// Writes what changed of the status; nothing if nothing did.
    pub(crate) async fn write_status(&mut self) -> Result<()> {
        let Some(patch) = status_patch(&self.written, &self.status) else { return Ok(()) };
        let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::status() };
        let body = serde_json::to_vec(&json!({ "status": patch })).unwrap_or_default();
        match self.reconciler.cluster.patch(&self.id(), PatchType::Merge, body, &params).await {
            Ok(written) => self.note_written(&written.body),
            // A request that is gone needs no status.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        self.written = self.status.clone();
        Ok(())
    }
}

/// The id of a version; its number where the store has no ids.
pub(crate) fn version_id(version: &Summary) -> String {
    version.id.map_or_else(|| version.number.to_string(), |id| id.to_string())
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

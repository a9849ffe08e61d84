//! The actions of a reconciliation, by the operations of the library.

use std::sync::Arc;
use std::time::Duration;

use pintle::cluster::store::{HelmSecrets, NativeStore};
use pintle::cluster::{Cluster, PropagationPolicy, WrittenObject};
use pintle::lua::{Limits, Permissions, Services};
use pintle::ops::{
    self, InstallRequest, RollbackRequest, TestRequest, UninstallRequest, UpgradeRequest, ValuesPolicy,
};
use pintle::release::{Status, Summary, VersionRef};
use pintle::{
    ChartRef, DeployOptions, Granted, Lifecycle, Method, MethodChoice, Network, RenderOptions, SchemaLoader,
    Scripting, Session, ValuesLayer, WaitStrategy,
};
use tokio::time::Instant;

use super::status::PROGRESS_AFTER;
use super::{Desired, Reconciliation, version_id};
use crate::error::{Error, Result};
use crate::health;
use crate::helm_releases::HelmLookup;
use crate::origin_labels;
use crate::post_render::{self, Frozen};
use crate::report::Collected;
use crate::request::{CrdPolicy, LastError, Propagation, ReleaseOptions, RunOptions};
use crate::state::Action;
use crate::storage::RequestStore;

/// How many events of failing objects the status has.
const MAX_EVENTS: usize = 20;

impl Reconciliation<'_> {
    /// The session for operations on a release in `namespace`; its records are in `storage`.
    pub(super) fn session(&self, cluster: &Cluster, namespace: &str, storage: &str) -> Result<Session> {
        let granted = self.request.spec.permissions.join(",");
        let granted = Permissions::parse(&granted)
            .map_err(|error| Error::InvalidSpec(format!("spec.permissions: {error}")))?;
        let services = Services { network: Some(Arc::new(Network::public())), ..Services::default() };
        let mut scripting = Scripting::new(services, Granted(granted));
        let memory = scripting.limits.all_memory.min(self.limits.scripts());
        scripting.limits =
            Limits { memory: scripting.limits.memory.min(memory), all_memory: memory, ..scripting.limits };
        let events = Lifecycle::default().with_scripting(scripting);
        let histories = Arc::clone(&self.reconciler.clusters.histories);
        let native = Arc::new(NativeStore::new(cluster.clone()).with_histories(histories));
        let native = RequestStore::new(native, storage, namespace);
        let helm = RequestStore::new(Arc::new(HelmSecrets::new(cluster.clone())), storage, namespace);
        let helm = helm.with_lookup(self.helm_lookup(cluster));
        Ok(Session::new(cluster.clone(), Arc::new(native))
            .with_other_stores(vec![Arc::new(helm)])
            .with_schemas(SchemaLoader::isolated())
            .with_clock(Arc::clone(&self.reconciler.clock))
            .with_holder(self.holder.clone())
            .with_cancel(self.reconciler.cancel.clone())
            .with_events(events))
    }

    fn helm_lookup(&self, cluster: &Cluster) -> HelmLookup {
        let account = self.request.spec.service_account_name.as_deref().unwrap_or_default();
        HelmLookup {
            releases: Arc::clone(&self.reconciler.clusters.helm_releases),
            cluster: cluster.clone(),
            // Accounts are those of the namespace of the request.
            user: format!("{}/{account}", self.request.namespace()),
            due: self.due,
        }
    }

    /// The timeout of an action.
    pub(super) fn timeout(&self, action: Action) -> Result<Duration> {
        let spec = &self.request.spec;
        let own = match action {
            Action::Install => &spec.install.release.run.timeout,
            Action::Upgrade => &spec.upgrade.release.run.timeout,
            Action::RollBack => &spec.rollback.run.timeout,
            Action::Uninstall => &spec.uninstall.timeout,
            Action::Test => &spec.test.timeout,
            Action::Unlock | Action::CorrectDrift => &None,
        };
        spec.timeout(own).map_err(Error::InvalidSpec)
    }

    fn deploy_options(&self, action: Action, run: &RunOptions) -> Result<DeployOptions> {
        Ok(DeployOptions {
            wait: if run.disable_wait { WaitStrategy::HookOnly } else { WaitStrategy::Watcher },
            wait_for_jobs: !run.disable_wait && !run.disable_wait_for_jobs,
            timeout: self.timeout(action)?,
            hooks: !run.disable_hooks,
            readiness_rules: health::rules(&self.request.spec.health_check_exprs)
                .map_err(Error::InvalidSpec)?,
            ..DeployOptions::default()
        })
    }

    fn render_options(&self, options: &ReleaseOptions, desired: &Desired) -> Result<RenderOptions> {
        let mut post_render =
            post_render::options(&self.request.spec, self.limits).map_err(Error::InvalidSpec)?;
        if let Some(objects) = &desired.frozen {
            post_render.renderers = vec![Arc::new(Frozen(objects.clone()))];
        }
        Ok(RenderOptions {
            skip_schema: options.disable_schema_validation,
            disable_openapi: options.disable_open_api_validation,
            post_render,
            limits: self.limits.templates(),
            ..RenderOptions::default()
        })
    }

    /// Runs an action. A failure is recorded in the status, and the state machine decides what follows from it.
    pub(super) async fn act(
        &mut self,
        session: &Session,
        action: Action,
        desired: &Desired,
        history: &[Summary],
    ) -> Result<()> {
        let begin = Instant::now();
        self.reserve().await;
        let mut collected = Collected::new(self.reserved.clone(), self.worker.clone());
        self.publish_pending().await;
        let (progress, noted) = (self.progress_update(), self.status.clone());
        let work = async {
            match action {
                Action::Install => self.install(session, desired, history, &mut collected).await,
                Action::Upgrade => self.upgrade(session, desired, history, &mut collected).await,
                Action::RollBack => self.roll_back(session, history, &mut collected).await,
                Action::Uninstall => self.uninstall(session, &mut collected).await,
                Action::Test => self.test(session, history, &mut collected).await,
                Action::Unlock => self.unlock(session).await,
                Action::CorrectDrift => self.correct_drift(session).await,
            }
        };
        // The futures of operations are large, so they are on the heap, here and below.
        let (outcome, written) = with_progress(Box::pin(work), progress).await;
        if let Some(worker) = &self.worker {
            worker.resume();
        }
        if let Some(written) = written {
            self.note_written(&written.body);
            self.written = noted;
        }
        for line in &collected.log {
            (self.reconciler.log)(line);
        }
        for text in session.cluster.take_warnings() {
            (self.reconciler.log)(&pintle_tree::LogLine::warn(text, Vec::new()));
        }
        let word = if outcome.is_ok() { "success" } else { "failure" };
        self.reconciler.metrics.action(action.as_str(), word, begin.elapsed());
        if self.reconciler.cancel.is_cancelled() || is_taken_over(&outcome) {
            // Interrupted, not failed: it does not count.
            return Ok(());
        }
        if is_out_of_memory(&outcome) && self.reconciler.memory.after(self.limits.0).is_some() {
            // Nothing was written yet.
            return Err(self.out_of_memory());
        }
        self.count(action, outcome.is_ok(), desired);
        match outcome {
            Ok(text) => {
                self.succeeded(action, success_reason(action), &text);
                Ok(())
            }
            Err(Error::Operation(error)) => {
                let error = last_error(action.as_str(), &error, collected);
                self.failed(action, failure_reason(action), error);
                Ok(())
            }
            Err(other) => Err(other),
        }
    }

    /// The error of a stage that needs more than the reconciliation has reserved.
    pub(super) fn out_of_memory(&self) -> Error {
        Error::Memory { stage: "templates", share: self.limits.0 }
    }

    /// Counts tries of these chart and values.
    fn count(&mut self, action: Action, succeeded: bool, desired: &Desired) {
        let status = &mut self.status;
        match action {
            Action::Install | Action::Upgrade => {
                status.last_attempted_digest.clone_from(&desired.digest);
                status.chart_digest.clone_from(&desired.chart.digest);
                status.remediated = false;
            }
            Action::RollBack | Action::Uninstall => status.remediated = succeeded,
            Action::Unlock | Action::Test | Action::CorrectDrift => {}
        }
        let is_first =
            status.history.iter().all(|version| version.status == "failed") && action == Action::Test;
        let counter = match action {
            Action::Install => &mut status.install_failures,
            Action::Test if is_first => &mut status.install_failures,
            Action::Upgrade | Action::Test => &mut status.upgrade_failures,
            _ if succeeded => return,
            _ => {
                status.failures = status.failures.saturating_add(1);
                return;
            }
        };
        if succeeded && action != Action::Test {
            *counter = 0;
        } else if !succeeded {
            *counter = counter.saturating_add(1);
            status.failures = status.failures.saturating_add(1);
        }
    }

    fn target(&self, desired: &Desired, history: &[Summary]) -> InstallRequest {
        let number = history.last().map_or(0, |last| last.number) + 1;
        InstallRequest {
            chart: ChartRef::Loaded {
                chart: Arc::clone(&desired.chart.chart),
                source: desired.chart.source.as_deref().cloned(),
            },
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            values: vec![ValuesLayer::Tree(desired.values.clone())],
            labels: origin_labels::labels(&self.request, number, &desired.digest),
            ..InstallRequest::default()
        }
    }

    /// The install that an action runs.
    pub(super) fn install_request(&self, desired: &Desired, history: &[Summary]) -> Result<InstallRequest> {
        let options = &self.request.spec.install;
        Ok(InstallRequest {
            create_namespace: options.create_namespace,
            // An uninstalled release whose history was kept does not block its name.
            replace: true,
            crds: match options.release.crds {
                Some(CrdPolicy::Skip) => pintle::CrdPolicy::Skip,
                _ => pintle::CrdPolicy::Helm,
            },
            take_ownership: options.release.take_ownership,
            method: Method::ServerSide,
            render: self.render_options(&options.release, desired)?,
            deploy: self.deploy_options(Action::Install, &options.release.run)?,
            ..self.target(desired, history)
        })
    }

    async fn install(
        &mut self,
        session: &Session,
        desired: &Desired,
        history: &[Summary],
        log: &mut Collected,
    ) -> Result<String> {
        let request = self.install_request(desired, history)?;
        let version = Box::pin(ops::install(session, &request, log)).await?;
        self.note_inventory(&version);
        self.note_deployed(history, &version);
        Ok(format!("installed {} as version {}", describe_chart(desired), version.number))
    }

    /// The upgrade that an action runs.
    pub(super) fn upgrade_request(&self, desired: &Desired, history: &[Summary]) -> Result<UpgradeRequest> {
        let options = &self.request.spec.upgrade;
        let mut deploy = self.deploy_options(Action::Upgrade, &options.release.run)?;
        deploy.force_replace = options.force;
        if options.force_conflicts && !options.force {
            deploy.conflicts = pintle::plan::ConflictPolicy::Take;
        }
        Ok(UpgradeRequest {
            target: InstallRequest {
                take_ownership: options.release.take_ownership,
                crds: match options.release.crds {
                    Some(CrdPolicy::Apply) => pintle::CrdPolicy::Update,
                    _ => pintle::CrdPolicy::Helm,
                },
                render: self.render_options(&options.release, desired)?,
                deploy,
                ..self.target(desired, history)
            },
            values_policy: match options.preserve_values {
                true => ValuesPolicy::ResetThenReuse,
                false => ValuesPolicy::Reset,
            },
            // Objects cannot be replaced by server-side apply.
            method: match options.force {
                true => MethodChoice::Fixed(Method::ClientSide),
                false => MethodChoice::Auto,
            },
            cleanup_on_fail: options.cleanup_on_fail,
            max_history: self.request.spec.max_history(),
            ..UpgradeRequest::default()
        })
    }

    async fn upgrade(
        &mut self,
        session: &Session,
        desired: &Desired,
        history: &[Summary],
        log: &mut Collected,
    ) -> Result<String> {
        let request = self.upgrade_request(desired, history)?;
        let upgraded = Box::pin(ops::upgrade(session, &request, log)).await?;
        self.note_inventory(&upgraded.version);
        self.note_deployed(history, &upgraded.version);
        Ok(format!("upgraded to {} as version {}", describe_chart(desired), upgraded.version.number))
    }

    async fn roll_back(
        &mut self,
        session: &Session,
        history: &[Summary],
        log: &mut Collected,
    ) -> Result<String> {
        let options = &self.request.spec.rollback;
        let good = |version: &&Summary| matches!(version.status, Status::Deployed | Status::Superseded);
        let Some(good) = history.iter().rev().find(good).map(|version| version.number) else {
            return Err(pintle::Error::NoDeployedReleases { name: self.request.release_name() }.into());
        };
        let mut deploy = self.deploy_options(Action::RollBack, &options.run)?;
        deploy.force_replace = options.force;
        let request = RollbackRequest {
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            to: VersionRef::Number(good),
            cleanup_on_fail: options.cleanup_on_fail,
            max_history: self.request.spec.max_history(),
            deploy,
            ..RollbackRequest::default()
        };
        let version = Box::pin(ops::rollback(session, &request, log)).await?;
        self.note_inventory(&version);
        Ok(format!("rolled back to version {good} as version {}", version.number))
    }

    /// The uninstall of a release that this request installed or adopted; any other is refused.
    pub(super) fn uninstall_request(&self, name: &str, namespace: &str) -> Result<UninstallRequest> {
        let options = &self.request.spec.uninstall;
        let run = RunOptions {
            disable_hooks: options.disable_hooks,
            disable_wait: options.disable_wait,
            disable_wait_for_jobs: true,
            timeout: None,
        };
        Ok(UninstallRequest {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            keep_history: options.keep_history,
            ignore_not_found: true,
            cascade: match options.deletion_propagation {
                Propagation::Background => PropagationPolicy::Background,
                Propagation::Foreground => PropagationPolicy::Foreground,
                Propagation::Orphan => PropagationPolicy::Orphan,
            },
            deploy: self.deploy_options(Action::Uninstall, &run)?,
            precondition: Some(self.is_ours()),
            ..UninstallRequest::default()
        })
    }

    async fn uninstall(&mut self, session: &Session, log: &mut Collected) -> Result<String> {
        let name = self.request.release_name();
        let mut request = self.uninstall_request(&name, self.request.release_namespace())?;
        // Remediation keeps no history, or the next install would be an upgrade.
        request.keep_history = false;
        Box::pin(ops::uninstall(session, &request, log)).await?;
        Ok(format!("uninstalled {name}"))
    }

    async fn test(&mut self, session: &Session, history: &[Summary], log: &mut Collected) -> Result<String> {
        let test = &self.request.spec.test;
        let names = |exclude: bool| {
            test.filters
                .iter()
                .filter(|filter| filter.exclude == exclude)
                .map(|filter| filter.name.clone())
                .collect()
        };
        let mut request = TestRequest {
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            include: names(false),
            exclude: names(true),
            ..TestRequest::default()
        };
        request.set_timeout(self.timeout(Action::Test)?);
        let tested = Box::pin(ops::test(session, &request, log)).await?;
        self.status.tested_version = history.last().map(version_id).unwrap_or_default();
        self.status.tests_failed = tested.failure.is_some();
        match tested.failure {
            Some(error) => Err(error.into()),
            None => Ok("the tests passed".to_owned()),
        }
    }

    async fn unlock(&mut self, session: &Session) -> Result<String> {
        let (name, namespace) = (self.request.release_name(), self.request.release_namespace());
        let unlocked = Box::pin(ops::unlock(session, namespace, &name)).await?;
        let holder =
            unlocked.lease.map_or_else(|| "a client without a lease".to_owned(), |lease| lease.holder);
        Ok(format!("took over from {holder}, which was interrupted"))
    }
}

/// Runs an action to completion. If it takes longer than `PROGRESS_AFTER`, `progress` runs concurrently. Returns the outcome,
/// and the request as written by `progress`.
async fn with_progress<T>(
    mut work: impl Future<Output = T> + Unpin,
    progress: impl Future<Output = Option<WrittenObject>>,
) -> (T, Option<WrittenObject>) {
    let mut progress = std::pin::pin!(progress);
    let mut is_due = std::pin::pin!(tokio::time::sleep(PROGRESS_AFTER));
    tokio::select! {
        outcome = &mut work => return (outcome, None),
        () = &mut is_due => {}
    }
    // Once the update is sent, its response is awaited: the next update must come after it.
    futures::join!(work, &mut progress)
}

/// Whether templates or post-renderers needed more than the reconciliation has reserved.
pub(super) fn is_over_limits(error: &pintle::Error) -> bool {
    error.exceeds_render_limits() || post_render::exceeds_limits(error)
}

/// Whether an action ended because templates needed more memory than there is for them.
fn is_out_of_memory<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Operation(error)) if is_over_limits(error))
}

/// Whether an action ended because another client has taken the release over.
fn is_taken_over<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Operation(error)) if matches!(**error, pintle::Error::LeaseLost { .. }))
}

fn describe_chart(desired: &Desired) -> String {
    let metadata = &desired.chart.chart.metadata;
    format!("chart {}-{}", metadata.name, metadata.version)
}

pub(super) fn last_error(step: &str, error: &pintle::Error, collected: Collected) -> LastError {
    LastError {
        step: step.to_owned(),
        object: collected.blocking_object().unwrap_or_default(),
        message: error.to_string(),
        time: String::new(),
        events: error
            .diagnoses()
            .iter()
            .flat_map(|diagnosis| &diagnosis.events)
            .take(MAX_EVENTS)
            .cloned()
            .collect(),
        hook_logs: collected.hook_logs(),
    }
}

fn success_reason(action: Action) -> &'static str {
    match action {
        Action::Install => "InstallSucceeded",
        Action::Upgrade => "UpgradeSucceeded",
        Action::RollBack => "RollbackSucceeded",
        Action::Uninstall => "UninstallSucceeded",
        Action::Test => "TestSucceeded",
        Action::Unlock => "Unlocked",
        Action::CorrectDrift => "DriftCorrected",
    }
}

fn failure_reason(action: Action) -> &'static str {
    match action {
        Action::Install => "InstallFailed",
        Action::Upgrade => "UpgradeFailed",
        Action::RollBack => "RollbackFailed",
        Action::Uninstall => "UninstallFailed",
        Action::Test => "TestFailed",
        Action::Unlock => "UnlockFailed",
        Action::CorrectDrift => "DriftCorrectionFailed",
    }
}

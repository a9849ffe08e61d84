//! The actions of a turn, by the operations of the library.

use std::sync::Arc;
use std::time::Duration;

use pintle::cluster::store::{HelmSecrets, NativeStore};
use pintle::cluster::{Cluster, PropagationPolicy};
use pintle::lua::{Permissions, Services};
use pintle::ops::{
    self, InstallRequest, RollbackRequest, TestRequest, UninstallRequest, UpgradeRequest, ValuesPolicy,
};
use pintle::release::{Status, Summary, VersionRef};
use pintle::values::Overrides;
use pintle::{
    DeployOptions, Granted, Lifecycle, Method, MethodChoice, Network, RenderOptions, Scripting, Session,
    WaitStrategy,
};
use pintle_tree::json;
use tokio::time::Instant;

use crate::conditions::DRIFTED;
use crate::error::{Error, Result};
use crate::reconcile::{Desired, Turn, version_id};
use crate::report::Collected;
use crate::request::{CrdPolicy, DriftMode, LastError, Propagation};
use crate::stamp;
use crate::state::Action;

/// The name under which the values of a request are handed to the library.
const VALUES: &str = "values of the request";

impl Turn<'_> {
    /// What operations of this request may touch.
    pub(crate) fn session(&self, cluster: &Cluster) -> Result<Session> {
        let granted = self.request.spec.permissions.join(",");
        let granted = Permissions::parse(&granted)
            .map_err(|error| Error::InvalidSpec(format!("spec.permissions: {error}")))?;
        let services = Services { network: Some(Arc::new(Network::public())), ..Services::default() };
        let events = Lifecycle::default().with_scripting(Scripting::new(services, Granted(granted)));
        Ok(Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster.clone())))
            .with_other_stores(vec![Arc::new(HelmSecrets::new(cluster.clone()))])
            .with_clock(Arc::clone(&self.reconciler.clock))
            .with_holder(self.reconciler.holder.clone())
            .with_cancel(self.reconciler.cancel.clone())
            .with_events(events))
    }

    /// The timeout of an action.
    pub(crate) fn timeout(&self, action: Action) -> Result<Duration> {
        let spec = &self.request.spec;
        let own = match action {
            Action::Install => &spec.install.timeout,
            Action::Upgrade => &spec.upgrade.timeout,
            Action::RollBack => &spec.rollback.timeout,
            Action::Uninstall => &spec.uninstall.timeout,
            Action::Test => &spec.test.timeout,
            Action::Unlock | Action::CorrectDrift => &None,
        };
        spec.timeout(own).map_err(Error::InvalidSpec)
    }

    fn deploy_options(&self, action: Action, hooks: bool, wait: bool, jobs: bool) -> Result<DeployOptions> {
        Ok(DeployOptions {
            wait: if wait { WaitStrategy::Watcher } else { WaitStrategy::HookOnly },
            wait_for_jobs: wait && jobs,
            timeout: self.timeout(action)?,
            hooks,
            ..DeployOptions::default()
        })
    }

    /// Runs an action. What fails is noted in the status, and the state says what follows from it.
    pub(crate) async fn act(
        &mut self,
        session: &Session,
        action: Action,
        desired: &Desired,
        history: &[Summary],
    ) -> Result<()> {
        let begin = Instant::now();
        let mut collected = Collected::default();
        // The futures of operations are large, so they are on the heap, here and below.
        let outcome = match action {
            Action::Install => self.install(session, desired, history, &mut collected).await,
            Action::Upgrade => self.upgrade(session, desired, history, &mut collected).await,
            Action::RollBack => self.roll_back(session, history, &mut collected).await,
            Action::Uninstall => self.uninstall(session, &mut collected).await,
            Action::Test => self.test(session, history, &mut collected).await,
            Action::Unlock => self.unlock(session).await,
            Action::CorrectDrift => self.correct_drift(session).await,
        };
        for line in &collected.log {
            (self.reconciler.log)(line);
        }
        for text in session.cluster.take_warnings() {
            (self.reconciler.log)(&pintle_tree::LogLine::warn(text, Vec::new()));
        }
        let word = if outcome.is_ok() { "success" } else { "failure" };
        self.reconciler.metrics.action(action.as_str(), word, begin.elapsed());
        if self.reconciler.cancel.is_cancelled() {
            // Interrupted, not failed: it does not count.
            return Ok(());
        }
        self.count(action, outcome.is_ok(), desired);
        match outcome {
            Ok(text) => {
                self.succeeded(action, success_reason(action), &text).await;
                Ok(())
            }
            Err(Error::Operation(error)) => {
                let error = last_error(action.as_str(), &error, collected);
                self.failed(action, failure_reason(action), error).await;
                Ok(())
            }
            Err(other) => Err(other),
        }
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

    fn target(&self, desired: &Desired, number: u64) -> InstallRequest {
        let values = json::write_raw(&desired.values).unwrap_or_default();
        InstallRequest {
            loaded: Some(Arc::clone(&desired.chart.chart)),
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            values: Overrides {
                files: vec![VALUES.to_owned()],
                fetched: [(VALUES.to_owned(), values)].into(),
                ..Overrides::default()
            },
            labels: stamp::labels(&self.request, number, &desired.digest),
            ..InstallRequest::default()
        }
    }

    async fn install(
        &mut self,
        session: &Session,
        desired: &Desired,
        history: &[Summary],
        log: &mut Collected,
    ) -> Result<String> {
        let options = &self.request.spec.install;
        let number = history.last().map_or(0, |last| last.number) + 1;
        let request = InstallRequest {
            create_namespace: options.create_namespace,
            // What is left of an uninstalled release with its history does not stand in the way.
            replace: true,
            skip_crds: options.crds == Some(CrdPolicy::Skip),
            take_ownership: options.take_ownership,
            method: Method::ServerSide,
            render: RenderOptions {
                skip_schema: options.disable_schema_validation,
                disable_openapi: options.disable_open_api_validation,
                ..RenderOptions::default()
            },
            deploy: self.deploy_options(
                Action::Install,
                !options.disable_hooks,
                !options.disable_wait,
                !options.disable_wait_for_jobs,
            )?,
            ..self.target(desired, number)
        };
        let version = Box::pin(ops::install(session, &request, log)).await?;
        self.note_inventory(&version);
        Ok(format!("installed {} as version {}", describe_chart(desired), version.number))
    }

    async fn upgrade(
        &mut self,
        session: &Session,
        desired: &Desired,
        history: &[Summary],
        log: &mut Collected,
    ) -> Result<String> {
        let options = &self.request.spec.upgrade;
        let number = history.last().map_or(0, |last| last.number) + 1;
        let mut deploy = self.deploy_options(
            Action::Upgrade,
            !options.disable_hooks,
            !options.disable_wait,
            !options.disable_wait_for_jobs,
        )?;
        deploy.force_replace = options.force;
        deploy.force_conflicts = options.force_conflicts && !options.force;
        let request = UpgradeRequest {
            target: InstallRequest {
                take_ownership: options.take_ownership,
                render: RenderOptions {
                    skip_schema: options.disable_schema_validation,
                    disable_openapi: options.disable_open_api_validation,
                    ..RenderOptions::default()
                },
                deploy,
                ..self.target(desired, number)
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
            apply_crds: options.crds == Some(CrdPolicy::Apply),
            ..UpgradeRequest::default()
        };
        let upgraded = Box::pin(ops::upgrade(session, &request, log)).await?;
        self.note_inventory(&upgraded.version);
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
        let mut deploy = self.deploy_options(
            Action::RollBack,
            !options.disable_hooks,
            !options.disable_wait,
            !options.disable_wait_for_jobs,
        )?;
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

    fn uninstall_request(&self, name: &str, namespace: &str) -> Result<UninstallRequest> {
        let options = &self.request.spec.uninstall;
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
            deploy: self.deploy_options(
                Action::Uninstall,
                !options.disable_hooks,
                !options.disable_wait,
                false,
            )?,
            ..UninstallRequest::default()
        })
    }

    async fn uninstall(&mut self, session: &Session, log: &mut Collected) -> Result<String> {
        let name = self.request.release_name();
        let mut request = self.uninstall_request(&name, self.request.release_namespace())?;
        // What is undone leaves no record behind, or the next install would be an upgrade.
        request.keep_history = false;
        Box::pin(ops::uninstall(session, &request, log)).await?;
        Ok(format!("uninstalled {name}"))
    }

    /// Uninstalls the release that the request had before its name or namespace changed.
    pub(crate) async fn uninstall_former_release(&mut self, session: &Session) -> Result<()> {
        let (name, namespace) = (self.status.release_name.clone(), self.status.release_namespace.clone());
        let is_same = name == self.request.release_name() && namespace == self.request.release_namespace();
        if name.is_empty() || is_same {
            return Ok(());
        }
        let request = self.uninstall_request(&name, &namespace)?;
        Box::pin(ops::uninstall(session, &request, &mut Collected::default())).await?;
        self.status.release_name.clear();
        self.status.release_namespace.clear();
        self.status.history.clear();
        self.status.inventory.clear();
        let text = format!("uninstalled {namespace}/{name}, because the request names another release now");
        self.succeeded(Action::Uninstall, "UninstallSucceeded", &text).await;
        self.status.remove_condition(crate::conditions::REMEDIATED);
        Ok(())
    }

    /// Uninstalls the release of a request that is being deleted.
    pub(crate) async fn uninstall_for_deletion(&mut self) -> std::result::Result<(), LastError> {
        let failed = |error: Error| LastError {
            step: "uninstall".to_owned(),
            message: error.to_string(),
            ..LastError::default()
        };
        let cluster = self.cluster().map_err(failed)?;
        let session = self.session(&cluster).map_err(failed)?;
        let (name, namespace) = (self.status.release_name.clone(), self.status.release_namespace.clone());
        let request = self.uninstall_request(&name, &namespace).map_err(failed)?;
        let mut collected = Collected::default();
        let begin = Instant::now();
        let outcome = Box::pin(ops::uninstall(&session, &request, &mut collected)).await;
        let word = if outcome.is_ok() { "success" } else { "failure" };
        self.reconciler.metrics.action("uninstall", word, begin.elapsed());
        match outcome {
            Ok(_) => Ok(()),
            // Already deleted, with its history kept.
            Err(pintle::Error::AlreadyDeleted { .. }) => Ok(()),
            Err(error) => Err(last_error("uninstall", &error, collected)),
        }
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
        let unlocked = Box::pin(ops::unlock(session, namespace, &name, true)).await?;
        let holder =
            unlocked.lease.map_or_else(|| "a client without a lease".to_owned(), |lease| lease.holder);
        Ok(format!("took over from {holder}, which was interrupted"))
    }

    /// Compares live objects with the release, as far as the request wants it.
    pub(crate) async fn detect_drift(&mut self, session: &Session) -> Result<bool> {
        if self.request.spec.drift_detection.mode == DriftMode::Disabled {
            self.status.drift.clear();
            self.status.remove_condition(DRIFTED);
            return Ok(false);
        }
        let drift = Box::pin(ops::drift(session, &self.drift_request(false))).await?;
        self.status.drift = drift.iter().map(describe_drift).collect();
        let names: Vec<&str> = self.status.drift.iter().map(|drifted| drifted.object.as_str()).collect();
        let text = match names.as_slice() {
            [] => "no object was changed".to_owned(),
            names => format!("changed by others: {}", names.join(", ")),
        };
        let reason = if drift.is_empty() { "NoDriftDetected" } else { "DriftDetected" };
        self.condition(DRIFTED, !drift.is_empty(), reason, &text);
        Ok(!drift.is_empty())
    }

    fn drift_request(&self, correct: bool) -> ops::DriftRequest {
        let rule = |ignore: &crate::request::DriftIgnore| {
            let target = ignore.target.clone().unwrap_or_default();
            ops::DriftIgnoreRule {
                paths: ignore.paths.clone(),
                group: target.group,
                version: target.version,
                kind: target.kind,
                name: target.name,
                namespace: target.namespace,
            }
        };
        ops::DriftRequest {
            name: self.request.release_name(),
            namespace: self.request.release_namespace().to_owned(),
            ignore: self.request.spec.drift_detection.ignore.iter().map(rule).collect(),
            correct,
        }
    }

    async fn correct_drift(&mut self, session: &Session) -> Result<String> {
        let corrected = Box::pin(ops::drift(session, &self.drift_request(true))).await?;
        self.status.drift.clear();
        Ok(format!("undid changes of {} objects", corrected.len()))
    }
}

fn describe_drift(drifted: &ops::Drifted) -> crate::request::DriftedObject {
    let id = &drifted.object;
    crate::request::DriftedObject {
        object: match id.namespace.as_str() {
            "" => format!("{}/{}", id.kind, id.name),
            namespace => format!("{}/{namespace}/{}", id.kind, id.name),
        },
        fields: drifted.fields.clone(),
        managers: drifted.managers.clone(),
    }
}

fn describe_chart(desired: &Desired) -> String {
    let metadata = &desired.chart.chart.metadata;
    format!("chart {}-{}", metadata.name, metadata.version)
}

fn last_error(step: &str, error: &pintle::Error, collected: Collected) -> LastError {
    LastError {
        step: step.to_owned(),
        object: collected.blocking_object().unwrap_or_default(),
        message: error.to_string(),
        time: String::new(),
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

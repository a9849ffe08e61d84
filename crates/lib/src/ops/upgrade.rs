//! `upgrade`: render a chart and deploy it over the current version of a release.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_events::{Context, Event as LifecycleEvent};
use pintle_objects::HookEvent;
use pintle_plan::Plan;
use pintle_release::{Info, ReleaseVersion, Status, Summary, VersionRef};
use pintle_render::Release;
use pintle_tree::{LogLine, Map, Node};

use super::install::{self, InstallRequest};
use super::name;
use super::plan::{Draft, Operation};
use super::rollback::{self, RollbackRequest};
use crate::crds::CrdStep;
use crate::deploy::{
    self, AdoptionPolicy, Executor, ForeseenHandlers, HookEvents, Outcome, PlanOptions, ThreeWayState,
};
use crate::lifecycle::{context, record_metadata};
use crate::live::{self, CrdStage, LiveInput};
use crate::options::{CrdPolicy, DeployOptions, DryRun, Method, MethodChoice};
use crate::prepare::Prepared;
use crate::records::{Records, newest_deployed};
use crate::{Error, Reporter, Result, Session, manifest};

/// What happens to the user's values of the earlier version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValuesPolicy {
    /// They are reused if no new ones are given, as `helm upgrade` does without flags.
    #[default]
    ReuseIfNoneGiven,
    /// They are dropped (`--reset-values`).
    Reset,
    /// New values are merged into them, with the defaults of the old chart (`--reuse-values`).
    Reuse,
    /// New values are merged into them, with the defaults of the new chart (`--reset-then-reuse-values`).
    ResetThenReuse,
}

/// What to upgrade to, and how.
#[derive(Clone, Debug, Default)]
pub struct UpgradeRequest {
    /// The chart, the values, the name, and how it is rendered and applied.
    pub target: InstallRequest,
    /// Installs the release if it does not exist.
    pub install: bool,
    /// What happens to the user's values of the earlier version.
    pub values_policy: ValuesPolicy,
    /// Who merges changes into live objects.
    pub method: MethodChoice,
    /// Deletes the objects that a failed upgrade created.
    pub cleanup_on_fail: bool,
    /// How many versions to keep; 0 for all.
    pub max_history: u64,
}

/// The result of an upgrade.
#[derive(Clone, Debug)]
pub struct Upgraded {
    /// The new version.
    pub version: ReleaseVersion,
    /// Whether the release did not exist and was installed.
    pub installed: bool,
}

impl UpgradeRequest {
    /// The request with a chart that is on this machine.
    async fn fetched(&self, reporter: &mut dyn Reporter) -> Result<Cow<'_, UpgradeRequest>> {
        Ok(match self.target.fetched(reporter).await? {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(target) => Cow::Owned(UpgradeRequest { target, ..self.clone() }),
        })
    }
}

/// Upgrades a release.
///
/// # Errors
/// The first stage that fails. If anything was applied, the version is recorded as failed.
pub async fn upgrade(
    session: &Session,
    request: &UpgradeRequest,
    reporter: &mut dyn Reporter,
) -> Result<Upgraded> {
    let request = &*request.fetched(reporter).await?;
    let target = &request.target;
    let (chart, user) = install::load_blocking(target, reporter).await?;
    session.cluster.check_reachable().await?;
    if request.install && is_new(session, target).await? {
        let outcome = install::install_loaded(session, &as_install(request), chart, user, reporter).await;
        let version = session.finish(outcome, reporter)?;
        return Ok(Upgraded { version, installed: true });
    }
    if !name::is_valid(&target.name) {
        return Err(Error::InvalidName { prefix: "release name is invalid", name: target.name.clone() });
    }
    reporter.debug("preparing upgrade", &[("name", &target.name)]);
    install::check_secrets(target)?;
    let outcome = Upgrade::new(session, request).await?.run(chart, user, reporter).await;
    let version = session.finish(outcome, reporter)?;
    Ok(Upgraded { version, installed: false })
}

/// Renders the new version and compares it with the cluster, for `plan`. A release that does not exist is installed if
/// the request says so.
pub(super) async fn draft(
    session: &Session,
    request: &UpgradeRequest,
    reporter: &mut dyn Reporter,
) -> Result<Draft> {
    let request = &*request.fetched(reporter).await?;
    let target = &request.target;
    let (chart, user) = install::load_blocking(target, reporter).await?;
    session.cluster.check_reachable().await?;
    if request.install && is_new(session, target).await? {
        return install::draft_loaded(session, &as_install(request), chart, user, reporter).await;
    }
    install::check_secrets(target)?;
    let upgrade = Upgrade::new(session, request).await?;
    let (session, prepared) = upgrade.prepare(chart, user, reporter).await?;
    let upgrade = Upgrade { session: &session, ..upgrade };
    let outcome = upgrade.draft_with_crds(&prepared, reporter).await;
    session.finish(outcome, reporter)
}

/// Compares a version that was rendered for a plan with the cluster. The session knows the kinds that the CRDs bring.
pub(super) async fn draft_of_version(
    session: &Session,
    request: &UpgradeRequest,
    version: ReleaseVersion,
    crds: Vec<CrdStep>,
) -> Result<Draft> {
    let upgrade = Upgrade::new(session, request).await?;
    let state = upgrade.load(&version).await?;
    plan_of(&state)?;
    Ok(upgrade.finish_draft(version, state, crds))
}

/// Deploys a version that was rendered for a plan. The session has the scripts of its chart.
pub(super) async fn upgrade_planned(
    session: &Session,
    request: &UpgradeRequest,
    mut version: ReleaseVersion,
    foreseen: &ForeseenHandlers,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    let upgrade = Upgrade::new(session, request).await?;
    let mut state = upgrade.load(&version).await?;
    let mut plan = plan_of(&state)?;
    let (event, context) = (LifecycleEvent::PreUpgrade, context::for_version(&version));
    if Box::pin(deploy::emit_planned(session, event, &mut version, foreseen, &context, reporter)).await? {
        state = upgrade.load(&version).await?;
        plan = plan_of(&state)?;
    }
    version.info.last_deployed = Some(session.clock.now());
    upgrade.deploy_version(version, (&state, &plan), context, reporter).await
}

/// The install that `upgrade --install` is for a release that does not exist, or was uninstalled.
pub(super) fn as_install(request: &UpgradeRequest) -> InstallRequest {
    let method = match request.method {
        MethodChoice::Fixed(method) => method,
        MethodChoice::Auto => request.target.method,
    };
    InstallRequest { replace: true, method, ..request.target.clone() }
}

/// Returns whether there is nothing to upgrade: no record, or one of an uninstalled release.
pub(super) async fn is_new(session: &Session, target: &InstallRequest) -> Result<bool> {
    let (_, history) = Records::find_with_history(session, &target.namespace, &target.name).await?;
    Ok(history.last().is_none_or(|last| last.status == Status::Uninstalled))
}

/// An upgrade in progress.
struct Upgrade<'s> {
    session: &'s Session,
    request: &'s UpgradeRequest,
    records: Records<'s>,
    history: Vec<Summary>,
    /// The newest version.
    last: Summary,
    /// The version whose objects are in the cluster.
    base: ReleaseVersion,
    /// Further versions whose objects may be in the cluster.
    unfinished: Vec<ReleaseVersion>,
    method: Method,
    /// How the newest version was applied, as its record says.
    last_method: String,
}

impl<'s> Upgrade<'s> {
    async fn new(session: &'s Session, request: &'s UpgradeRequest) -> Result<Upgrade<'s>> {
        let target = &request.target;
        let dry_run = target.dry_run.is_dry_run();
        let found = Records::find_for_update(session, &target.namespace, &target.name, dry_run).await;
        let (records, mut history) = found?;
        let missing = || Error::NoDeployedReleases { name: target.name.clone() };
        let Some(last) = history.last_mut() else {
            return Err(match records.missing().await {
                Error::NoSuchRelease { .. } => missing(),
                unreadable => unreadable,
            });
        };
        match dry_run {
            true => records.ensure_unlocked_dry_run(last)?,
            false => records.ensure_unlocked(last).await?,
        }
        let last = last.clone();
        // As in Helm, the base is the deployed version, even if later ones have failed; without one, it is the last
        // attempt.
        let base = match last.status {
            Status::Deployed => last.number,
            status => match newest_deployed(&history) {
                Some(deployed) => deployed.number,
                None if matches!(status, Status::Failed | Status::Superseded) => last.number,
                None => return Err(missing()),
            },
        };
        let base = records.load(base).await?;
        // Summaries of Helm's stores do not contain the apply method.
        let earlier = match last.number == base.number {
            true => base.apply_method.clone(),
            false => records.load(last.number).await?.apply_method,
        };
        let method = request.method.resolve(&earlier);
        let unfinished = records.unfinished(&history, base.number).await?;
        let last_method = earlier;
        Ok(Upgrade { session, request, records, history, last, base, unfinished, method, last_method })
    }

    async fn run(self, chart: Chart, user: Map<Node>, reporter: &mut dyn Reporter) -> Result<ReleaseVersion> {
        let (session, prepared) = self.prepare(chart, user, reporter).await?;
        Upgrade { session: &session, ..self }.deploy(prepared, reporter).await
    }

    /// Renders the chart with the values that the policy demands. Returns the session with its scripts, too.
    async fn prepare(
        &self,
        mut chart: Chart,
        user: Map<Node>,
        reporter: &mut dyn Reporter,
    ) -> Result<(Session, Prepared)> {
        let target = &self.request.target;
        let user = self.values(&mut chart, user, reporter)?;
        let input = LiveInput {
            chart,
            user,
            release: self.release(),
            render: &target.render,
            crds: match target.crds.in_upgrade() {
                CrdPolicy::Skip => CrdStage::Skip,
                _ if target.dry_run.is_dry_run() => CrdStage::Announce,
                policy => CrdStage::Install(policy, self.method),
            },
            lookup: target.dry_run != DryRun::Client,
            remember: !target.dry_run.is_dry_run(),
            wait: target.deploy.timeout,
            events: None,
        };
        // Unlike for an install, Helm adds no prefix to this error.
        live::prepare(self.session, input, reporter).await.map_err(|error| match error {
            Error::Dependencies(source) => Error::Values(source),
            other => other,
        })
    }

    /// Returns the new version and the state that it is applied to, for `plan`.
    async fn draft(
        &self,
        prepared: &Prepared,
        reporter: &mut dyn Reporter,
    ) -> Result<(ReleaseVersion, ThreeWayState, ForeseenHandlers)> {
        let mut version = self.next_version(prepared, reporter)?;
        let mut state = self.load(&version).await?;
        plan_of(&state)?;
        let context = &prepared.context;
        deploy::emit(self.session, LifecycleEvent::PostValidate, &version, context).await?;
        let event = LifecycleEvent::PreUpgrade;
        let foreseen =
            Box::pin(deploy::foresee(self.session, event, &mut version, context, reporter)).await?;
        if foreseen.rendered.is_some() {
            state = self.load(&version).await?;
            plan_of(&state)?;
        }
        Ok((version, state, foreseen))
    }

    /// As [`Upgrade::draft`], with what happens to the CRDs.
    async fn draft_with_crds(&self, prepared: &Prepared, reporter: &mut dyn Reporter) -> Result<Draft> {
        let target = &self.request.target;
        let crds = match target.crds.in_upgrade() {
            CrdPolicy::Skip => Vec::new(),
            policy => crate::crds::steps(self.session, &prepared.chart, &target.namespace, policy).await?,
        };
        let (version, state, handlers) = self.draft(prepared, reporter).await?;
        Ok(Draft { handlers, ..self.finish_draft(version, state, crds) })
    }

    fn finish_draft(&self, version: ReleaseVersion, state: ThreeWayState, crds: Vec<CrdStep>) -> Draft {
        Draft {
            operation: Operation::Upgrade,
            migrate: Method::from_record(&self.base.apply_method) == Method::ClientSide,
            method: self.method,
            from: Some(self.last.clone()),
            crds,
            version,
            state,
            handlers: ForeseenHandlers::default(),
        }
    }

    /// Deploys the prepared chart and records the outcome.
    async fn deploy(self, prepared: Prepared, reporter: &mut dyn Reporter) -> Result<ReleaseVersion> {
        let target = &self.request.target;
        let mut version = self.next_version(&prepared, reporter)?;
        self.debug_method(reporter);
        reporter.debug("performing update", &[("name", &target.name)]);
        let mut state = self.load(&version).await?;
        let mut plan = plan_of(&state)?;
        deploy::emit(self.session, LifecycleEvent::PostValidate, &version, &prepared.context).await?;
        let (event, context) = (LifecycleEvent::PreUpgrade, &prepared.context);
        if target.dry_run.is_dry_run() {
            reporter.debug("dry run for release", &[("name", &target.name)]);
            let foreseen =
                Box::pin(deploy::foresee(self.session, event, &mut version, context, reporter)).await?;
            if foreseen.rendered.is_some() {
                plan_of(&self.load(&version).await?)?;
            }
            if let Some(deferred) = &foreseen.deferred {
                deferred.warn(reporter);
            }
            version.info.description = described(&target.description, "Dry run complete");
            return Ok(version);
        }
        if deploy::emit_mut(self.session, event, &mut version, context, reporter).await? {
            state = self.load(&version).await?;
            plan = plan_of(&state)?;
        }
        self.deploy_version(version, (&state, &plan), prepared.context, reporter).await
    }

    /// Deploys a version that is not recorded yet.
    async fn deploy_version(
        self,
        version: ReleaseVersion,
        (state, plan): (&ThreeWayState, &Plan<'_>),
        context: Context,
        reporter: &mut dyn Reporter,
    ) -> Result<ReleaseVersion> {
        let target = &self.request.target;
        let deploy_options = target.deploy.clone().waiting_if(target.rollback_on_failure);
        let mut executor = Executor::new(self.session, &self.records, version, &deploy_options, self.method);
        executor.context = Some(context);
        executor.strict_fields = !target.render.disable_openapi;
        executor.migrate = Method::from_record(&self.base.apply_method) == Method::ClientSide;
        let events = HookEvents {
            before: (HookEvent::PreUpgrade, "pre-upgrade hooks failed"),
            after: (HookEvent::PostUpgrade, "post-upgrade hooks failed"),
        };
        executor.check_hooks(&events)?;
        reporter.debug("creating upgraded release", &[("name", &target.name)]);
        executor.begin(&self.history, self.request.max_history).await?;
        if !deploy_options.hooks {
            reporter.debug("upgrade hooks disabled", &[("name", &target.name)]);
        }
        executor.terminate_hooks_of_failed(&self.unfinished, &self.base).await;
        match executor.deploy(state, plan, events, reporter).await {
            Ok(_) => {
                let text = described(&target.description, "Upgrade complete");
                executor.supersede(&mut self.base.clone()).await?;
                reporter.debug("updating status for upgraded release", &[("name", &target.name)]);
                executor.finish(Outcome::Deployed(text)).await?;
                Ok(executor.version)
            }
            Err(error) => {
                let session = self.session.for_rollback(self.records.store());
                Err(failed(&session, self.request, &mut executor, error, reporter).await)
            }
        }
    }

    /// Loads the live state, with what failed versions left in the cluster.
    async fn load(&self, version: &ReleaseVersion) -> Result<ThreeWayState> {
        let adoption =
            if self.request.target.take_ownership { AdoptionPolicy::All } else { AdoptionPolicy::OwnedOnly };
        let validation = self.request.target.render.validation();
        let ordered = self.request.target.deploy.ordered;
        let options = PlanOptions { method: self.method, adoption, validation, ordered };
        let mut state = ThreeWayState::load(self.session, version, Some(&self.base), options).await?;
        state.add_orphans(self.session, &self.unfinished).await?;
        Ok(state)
    }

    /// Reports who merges changes into live objects, and who did so far.
    fn debug_method(&self, reporter: &mut dyn Reporter) {
        let by_server = (self.method == Method::ServerSide).to_string();
        let attributes =
            [("server_side_apply", by_server.as_str()), ("previous_release_apply_method", &self.last_method)];
        reporter.debug("determined release apply method", &attributes);
    }

    /// Reports where the user's values come from.
    fn debug_values(&self, is_copied: bool, reporter: &mut dyn Reporter) {
        match self.request.values_policy {
            ValuesPolicy::Reset => reporter.debug("resetting values to the chart's original version", &[]),
            ValuesPolicy::Reuse => reporter.debug("reusing the old release's values", &[]),
            ValuesPolicy::ResetThenReuse => {
                reporter.debug("merging values from old release to new values", &[]);
            }
            ValuesPolicy::ReuseIfNoneGiven if is_copied => {
                let number = self.base.number.to_string();
                let attributes = [("name", self.base.name.as_str()), ("version", &number)];
                reporter.debug("copying values from old release", &attributes);
            }
            ValuesPolicy::ReuseIfNoneGiven => {}
        }
    }

    /// Returns the user's values, merged with those of the earlier version as the policy demands.
    fn values(&self, chart: &mut Chart, new: Map<Node>, reporter: &mut dyn Reporter) -> Result<Map<Node>> {
        let old = self.base.config.clone().unwrap_or_default();
        self.debug_values(new.is_empty() && !old.is_empty(), reporter);
        let mut log = Vec::new();
        let values = match self.request.values_policy {
            ValuesPolicy::Reset => new,
            ValuesPolicy::Reuse => {
                let stored = self.base.chart.to_chart();
                let nulls = self.request.target.render.nulls;
                // `--reuse-values` means the result of the last version, so that its defaults replace those of the
                // new chart.
                chart.values = pintle_values::coalesce(&stored, &old, nulls, &mut log)
                    .map_err(|source| Error::OldValues { cause: source })?;
                pintle_values::coalesce_tables(&new, &old, &mut log)
            }
            ValuesPolicy::ResetThenReuse => pintle_values::coalesce_tables(&new, &old, &mut log),
            ValuesPolicy::ReuseIfNoneGiven if new.is_empty() && !old.is_empty() => old,
            ValuesPolicy::ReuseIfNoneGiven => new,
        };
        log.into_iter().for_each(|line| reporter.log(line));
        Ok(values)
    }

    fn release(&self) -> Release {
        Release {
            name: self.request.target.name.clone(),
            namespace: self.base.namespace.clone(),
            revision: i64::try_from(self.last.number + 1).unwrap_or(i64::MAX),
            is_upgrade: true,
        }
    }

    fn next_version(&self, prepared: &Prepared, reporter: &mut dyn Reporter) -> Result<ReleaseVersion> {
        let target = &self.request.target;
        let recorded = manifest::record(prepared, target.render.hide_secrets, reporter)?;
        super::check_labels(&target.labels)?;
        let mut labels = merged_labels(&self.last.labels, &target.labels);
        record_metadata::record_permissions(
            &mut labels,
            self.last.number + 1,
            &prepared.events().granted_list(),
        );
        record_metadata::record_list_events(
            &mut labels,
            self.last.number + 1,
            prepared.events().listens_to_list_events(),
        );
        let mut version = ReleaseVersion {
            name: target.name.clone(),
            namespace: self.base.namespace.clone(),
            number: self.last.number + 1,
            id: None,
            info: Info {
                first_deployed: self.base.info.first_deployed,
                last_deployed: Some(self.session.clock.now()),
                deleted: None,
                description: "Preparing upgrade".to_owned(),
                status: Status::PendingUpgrade,
                notes: recorded.notes,
                rollback_revision: None,
            },
            chart: record_metadata::stored(&prepared.chart, prepared.changed_values(), target.chart.source()),
            config: Some(prepared.user.clone()),
            manifest: recorded.manifest,
            hooks: recorded.hooks,
            apply_method: self.method.as_str().to_owned(),
            labels,
            ..ReleaseVersion::default()
        };
        self.records.complete(&mut version, &prepared.chart);
        Ok(version)
    }
}

/// Returns the requested description, or the default.
fn described(requested: &str, default: &str) -> String {
    if requested.is_empty() { default } else { requested }.to_owned()
}

/// Computes the plan, with Helm's prefix for objects that belong to someone else.
fn plan_of(state: &ThreeWayState) -> Result<Plan<'_>> {
    state.plan().map_err(|source| Error::CannotContinue { operation: "update", cause: source })
}

/// Merges labels; the value `null` removes one, as in Helm.
fn merged_labels(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut labels = old.clone();
    labels.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
    labels.retain(|_, value| value != "null");
    labels
}

/// Records the failure, then cleans up and rolls back as requested.
async fn failed(
    session: &Session,
    request: &UpgradeRequest,
    executor: &mut Executor<'_>,
    error: Error,
    reporter: &mut dyn Reporter,
) -> Error {
    let target = &request.target;
    let attributes = vec![("name", target.name.clone()), ("error", error.to_string())];
    reporter.log_failure(LogLine::warn("upgrade failed", attributes));
    if !executor.record_failure(format!("Upgrade {:?} failed: {error}", target.name)).await {
        return error;
    }
    if request.cleanup_on_fail
        && let Err(second) = executor.clean_up("cleanup on fail set", "cleaning_resources", reporter).await
    {
        return Error::CleanUpFailed {
            operation: "upgrade",
            first: Box::new(error),
            second: Box::new(second),
        };
    }
    if !target.rollback_on_failure {
        return error;
    }
    let text = "Upgrade failed and rollback-on-failure is set, rolling back to previous successful release";
    reporter.debug(text, &[]);
    roll_back(session, request, executor.options, error, reporter).await
}

/// Rolls back to the newest version that was deployed successfully.
async fn roll_back(
    session: &Session,
    request: &UpgradeRequest,
    options: &DeployOptions,
    error: Error,
    reporter: &mut dyn Reporter,
) -> Error {
    let target = &request.target;
    // The rollback session has only the store that holds the release.
    let history = match Records::new(session, &target.namespace, &target.name).history().await {
        Ok(history) => history,
        Err(second) => {
            return Error::RollbackFailed {
                doing: "finding last successful release",
                operation: "upgrade",
                first: Box::new(error),
                second: Box::new(second),
            };
        }
    };
    let went_well = |version: &&Summary| matches!(version.status, Status::Superseded | Status::Deployed);
    let Some(good) = history.iter().rev().find(went_well) else {
        return Error::NothingToRollBackTo { cause: Box::new(error) };
    };
    let back = RollbackRequest {
        name: target.name.clone(),
        namespace: target.namespace.clone(),
        to: VersionRef::Number(good.number),
        method: request.method,
        deploy: options.clone(),
        ..RollbackRequest::default()
    };
    match rollback::rollback(session, &back, reporter).await {
        Ok(_) => Error::RolledBack { name: target.name.clone(), how: "rolled back", cause: Box::new(error) },
        Err(second) => Error::RollbackFailed {
            doing: "rolling back",
            operation: "upgrade",
            first: Box::new(error),
            second: Box::new(second),
        },
    }
}

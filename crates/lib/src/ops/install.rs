//! `install`: prepare a chart, deploy it, and record the first version of a release.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_events::{Context, Event as LifecycleEvent};
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_plan::Plan;
use pintle_release::{Info, ReleaseVersion, Status, Summary, Timestamp};
use pintle_render::{Capabilities, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::ValuesLayer;

use super::plan::{DeferredHandlers, Draft, Operation};
use super::uninstall::{self, UninstallRequest};
use super::{locate, name};
use crate::crds::CrdStep;
use crate::deploy::{
    self, AdoptionPolicy, Executor, ForeseenHandlers, HookEvents, Outcome, PlanOptions, ThreeWayState,
};
use crate::lifecycle::{context, record_metadata};
use crate::live::{self, CrdStage, LiveInput};
use crate::options::{CrdPolicy, DeployOptions, DryRun, Method, RenderOptions};
use crate::prepare::{Prepared, RENDER_EVENTS, prepare_for};
use crate::records::Records;
use crate::report::run_blocking;
use crate::{
    AnySession, ChartRef, Error, OfflineSession, Progress, Reporter, Result, Session, Stage, manifest,
};

/// The hook events of an install, with Helm's error prefixes.
const EVENTS: HookEvents = HookEvents {
    before: (HookEvent::PreInstall, "failed pre-install"),
    after: (HookEvent::PostInstall, "failed post-install"),
};

/// What to install, and how.
#[derive(Clone, Debug, Default)]
pub struct InstallRequest {
    /// The chart.
    pub chart: ChartRef,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// Creates the namespace if it does not exist.
    pub create_namespace: bool,
    /// Allows the name of a failed or uninstalled release to be reused.
    pub replace: bool,
    /// What to do about the CRDs in `crds/`.
    pub crds: CrdPolicy,
    /// Takes over existing objects, whoever created them.
    pub take_ownership: bool,
    /// The description of the version; empty for the default.
    pub description: String,
    /// Labels of the release record.
    pub labels: BTreeMap<String, String>,
    /// Uninstalls everything if the install fails.
    pub rollback_on_failure: bool,
    /// Who merges changes into live objects.
    pub method: Method,
    /// How the chart is rendered.
    pub render: RenderOptions,
    /// How the release is applied.
    pub deploy: DeployOptions,
    /// Whether the install only shows what it would do.
    pub dry_run: DryRun,
}

impl InstallRequest {
    /// The request with a chart that is on this machine.
    pub(super) async fn fetched(&self, reporter: &mut dyn Reporter) -> Result<Cow<'_, InstallRequest>> {
        let chart = locate::fetched(&self.chart, reporter).await?;
        Ok(chart.map_or(Cow::Borrowed(self), |chart| Cow::Owned(InstallRequest { chart, ..self.clone() })))
    }
}

/// Installs a chart as a new release. Without a cluster, only a client-side dry run is possible, and the future never
/// waits.
///
/// # Errors
/// The first stage that fails. If anything was applied, the version is recorded as failed.
pub async fn install(
    session: impl Into<AnySession<'_>>,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    let session = session.into();
    let request = &*request.fetched(reporter).await?;
    let session = match session {
        AnySession::Offline(session) => return dry_run_offline(session, request, reporter),
        AnySession::Cluster(session) => session,
    };
    let (chart, user) = load_blocking(request, reporter).await?;
    session.cluster.check_reachable().await.map_err(Error::ReachabilityCheck)?;
    let outcome = install_loaded(session, request, chart, user, reporter).await;
    session.finish(outcome, reporter)
}

fn dry_run_offline(
    session: &OfflineSession,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    if request.dry_run != DryRun::Client {
        let text = "without a cluster, an install can only be a client-side dry run";
        return Err(Error::Input(text.to_owned()));
    }
    let (chart, user) = load(request, reporter)?;
    name::check(&request.name, reporter)?;
    let rules = request.render.rules(&session.schemas);
    let mut target = Target::offline(release(request, 1), Capabilities::default());
    target.dns = request.render.dns;
    let [loaded, before, after] = RENDER_EVENTS;
    let event = LifecycleEvent::PreInstall;
    let emitted = [loaded, before, after, event];
    let mut prepared = prepare_for(chart, user, &target, rules, (&session.events, &emitted), reporter)?;
    match prepared.events().effects(event) {
        Some(reason) => DeferredHandlers { event: event.to_string(), reason }.warn(reporter),
        None => prepared.emit(event)?,
    }
    session.events.report(reporter);
    let mut version = first_version(request, &prepared, 1, session.clock.now(), reporter)?;
    version.info.description = "Dry run complete".to_owned();
    Ok(version)
}

/// As [`load`], on a blocking thread.
pub(super) async fn load_blocking(
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<(Chart, Map<Node>)> {
    reporter.report(Progress::Stage(Stage::Loading));
    let request = request.clone();
    run_blocking("loading the chart failed", reporter, move |log| load(&request, log)).await
}

/// Loads the chart and the user's values.
pub(crate) fn load(request: &InstallRequest, reporter: &mut dyn Reporter) -> Result<(Chart, Map<Node>)> {
    locate::load_with_values(&request.chart, &request.values, reporter)
}

/// Rejects a request to hide Secrets from the record; what hides them is the display of a dry run.
pub(super) fn check_secrets(request: &InstallRequest) -> Result<()> {
    match request.render.hide_secrets && !request.dry_run.is_dry_run() {
        true => Err(Error::HideSecretsNeedsDryRun),
        false => Ok(()),
    }
}

/// Installs a loaded chart. The cluster is known to be reachable.
pub(super) async fn install_loaded(
    session: &Session,
    request: &InstallRequest,
    chart: Chart,
    user: Map<Node>,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    check_secrets(request)?;
    let (records, history) = records_for_new_release(session, request, reporter).await?;
    let is_dry_run = request.dry_run.is_dry_run();
    let input = LiveInput {
        chart,
        user,
        // The revision that templates see is 1 even if `--replace` reuses a name, as in Helm.
        release: release(request, 1),
        render: &request.render,
        crds: match request.crds {
            CrdPolicy::Skip => CrdStage::Skip,
            _ if is_dry_run => CrdStage::Warn,
            policy => CrdStage::Install(policy, request.method),
        },
        lookup: request.dry_run != DryRun::Client,
        remember: !is_dry_run,
        wait: request.deploy.timeout,
        events: None,
    };
    let (session, prepared) = live::prepare(session, input, reporter).await?;
    let session = &session;
    let number = history.last().map_or(1, |last| last.number + 1);
    let mut version = first_version(request, &prepared, number, session.clock.now(), reporter)?;
    records.complete(&mut version, &prepared.chart);
    let mut state = load_state(session, request, &version).await?;
    let mut plan = plan_of(&state)?;
    deploy::emit(session, LifecycleEvent::PostValidate, &version, &prepared.context).await?;
    let (event, context) = (LifecycleEvent::PreInstall, &prepared.context);
    if is_dry_run {
        let foreseen = Box::pin(deploy::foresee(session, event, &mut version, context, reporter)).await?;
        if foreseen.rendered.is_some() {
            plan_of(&load_state(session, request, &version).await?)?;
        }
        if let Some(deferred) = &foreseen.deferred {
            deferred.warn(reporter);
        }
        version.info.description = "Dry run complete".to_owned();
        return Ok(version);
    }
    if deploy::emit_mut(session, event, &mut version, context, reporter).await? {
        state = load_state(session, request, &version).await?;
        plan = plan_of(&state)?;
    }
    let records = (&records, history);
    deploy_version(session, request, records, version, (&state, &plan), prepared.context, reporter).await
}

/// Deploys a version that is not recorded yet.
async fn deploy_version(
    session: &Session,
    request: &InstallRequest,
    (records, history): (&Records<'_>, Vec<Summary>),
    version: ReleaseVersion,
    planned: (&ThreeWayState, &Plan<'_>),
    context: Context,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    let deploy_options = request.deploy.clone().waiting_if(request.rollback_on_failure);
    let mut executor = Executor::new(session, records, version, &deploy_options, request.method);
    executor.context = Some(context);
    // Before the namespace is created, so that a hook that cannot be built leaves none behind.
    executor.check_hooks(&EVENTS)?;
    if request.create_namespace {
        create_namespace(session, request).await?;
    }
    run(session, request, executor, planned, (records, history), reporter).await
}

/// Deploys a version that was rendered for a plan. The session has the scripts of its chart.
pub(super) async fn install_planned(
    session: &Session,
    request: &InstallRequest,
    mut version: ReleaseVersion,
    foreseen: &ForeseenHandlers,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    let (records, history) = records_for_new_release(session, request, reporter).await?;
    let mut state = load_state(session, request, &version).await?;
    let mut plan = plan_of(&state)?;
    let (event, context) = (LifecycleEvent::PreInstall, context::for_version(&version));
    if Box::pin(deploy::emit_planned(session, event, &mut version, foreseen, &context, reporter)).await? {
        state = load_state(session, request, &version).await?;
        plan = plan_of(&state)?;
    }
    let now = session.clock.now();
    (version.info.first_deployed, version.info.last_deployed) = (Some(now), Some(now));
    let records = (&records, history);
    deploy_version(session, request, records, version, (&state, &plan), context, reporter).await
}

/// Renders a chart and compares it with the cluster, for `plan`.
pub(super) async fn draft(
    session: &Session,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<Draft> {
    let request = &*request.fetched(reporter).await?;
    let (chart, user) = load_blocking(request, reporter).await?;
    session.cluster.check_reachable().await.map_err(Error::ReachabilityCheck)?;
    let outcome = draft_loaded(session, request, chart, user, reporter).await;
    session.finish(outcome, reporter)
}

/// As [`draft`], with a loaded chart.
pub(super) async fn draft_loaded(
    session: &Session,
    request: &InstallRequest,
    chart: Chart,
    user: Map<Node>,
    reporter: &mut dyn Reporter,
) -> Result<Draft> {
    check_secrets(request)?;
    let last = last_of_free_name(session, request, reporter).await?;
    let input = LiveInput {
        chart,
        user,
        release: release(request, 1),
        render: &request.render,
        crds: if request.crds == CrdPolicy::Skip { CrdStage::Skip } else { CrdStage::Announce },
        lookup: true,
        remember: false,
        wait: request.deploy.timeout,
        events: None,
    };
    let (session, prepared) = live::prepare(session, input, reporter).await?;
    let session = &session;
    let crds = match request.crds {
        CrdPolicy::Skip => Vec::new(),
        policy => crate::crds::steps(session, &prepared.chart, &request.namespace, policy).await?,
    };
    let number = last.as_ref().map_or(1, |last| last.number + 1);
    let mut version = first_version(request, &prepared, number, session.clock.now(), reporter)?;
    Records::new(session, &request.namespace, &request.name).complete(&mut version, &prepared.chart);
    let mut draft = draft_of_version(session, request, last, version, crds).await?;
    let context = &prepared.context;
    deploy::emit(session, LifecycleEvent::PostValidate, &draft.version, context).await?;
    let event = LifecycleEvent::PreInstall;
    draft.handlers = Box::pin(deploy::foresee(session, event, &mut draft.version, context, reporter)).await?;
    if draft.handlers.rendered.is_some() {
        draft.state = load_state(session, request, &draft.version).await?;
        plan_of(&draft.state)?;
    }
    Ok(draft)
}

/// Compares a rendered version with the cluster. The session knows the kinds that the CRDs bring.
pub(super) async fn draft_of_version(
    session: &Session,
    request: &InstallRequest,
    last: Option<Summary>,
    version: ReleaseVersion,
    crds: Vec<CrdStep>,
) -> Result<Draft> {
    let state = load_state(session, request, &version).await?;
    plan_of(&state)?;
    Ok(Draft {
        operation: Operation::Install,
        migrate: false,
        method: request.method,
        from: last,
        crds,
        version,
        state,
        handlers: ForeseenHandlers::default(),
    })
}

/// Returns the newest version of a name that an install may use.
pub(super) async fn last_of_free_name(
    session: &Session,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<Option<Summary>> {
    name::check(&request.name, reporter)?;
    let (_, mut history) = Records::find_with_history(session, &request.namespace, &request.name).await?;
    let last = history.pop();
    match &last {
        Some(last) if !(request.replace && matches!(last.status, Status::Uninstalled | Status::Failed)) => {
            let interrupted = last.was_interrupted();
            Err(name::check_failed(Error::NameInUse { interrupted, kept: None }, reporter))
        }
        _ => Ok(last),
    }
}

/// Computes the plan, with Helm's prefix for objects that belong to someone else.
fn plan_of(state: &ThreeWayState) -> Result<Plan<'_>> {
    state.plan().map_err(|source| Error::CannotContinue { operation: "install", cause: source })
}

async fn load_state(
    session: &Session,
    request: &InstallRequest,
    version: &ReleaseVersion,
) -> Result<ThreeWayState> {
    let adoption = if request.take_ownership { AdoptionPolicy::All } else { AdoptionPolicy::OwnedOnly };
    let validation = request.render.validation();
    let ordered = request.deploy.ordered;
    let options = PlanOptions { method: request.method, adoption, validation, ordered };
    ThreeWayState::load(session, version, None, options).await
}

/// Returns the records for the new version and, if the name was used before, its history.
///
/// # Errors
/// When the name is taken.
async fn records_for_new_release<'s>(
    session: &'s Session,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<(Records<'s>, Vec<Summary>)> {
    name::check(&request.name, reporter)?;
    let new = || (Records::new(session, &request.namespace, &request.name), Vec::new());
    if request.dry_run.is_dry_run() {
        return Ok(new());
    }
    let (records, mut history) =
        match Records::find_for_update(session, &request.namespace, &request.name, false).await {
            // As in Helm, a user who may not read records may still try to write one; a conflict is reported then.
            Err(error) if error.is_forbidden_store() => return Ok(new()),
            Err(
                error @ (Error::InOtherStore { .. }
                | Error::DuplicateRelease { .. }
                | Error::MoveInterrupted { .. }),
            ) => {
                return Err(name::check_failed(error, reporter));
            }
            found => found?,
        };
    let Some(last) = history.last_mut() else { return Ok((records, history)) };
    if last.status == Status::PendingInstall
        && let Some(lease) = &last.lease
        && records.is_abandoned(lease)
    {
        records.mark_interrupted(last).await?;
    }
    if !request.replace || !matches!(last.status, Status::Uninstalled | Status::Failed) {
        let interrupted = last.was_interrupted();
        let kept = records.is_in_other_store().then(|| records.store().driver());
        return Err(name::check_failed(Error::NameInUse { interrupted, kept }, reporter));
    }
    Ok((records, history))
}

/// Marks an uninstalled version as superseded. Runs last before the deployment, so that a failure until then changes
/// nothing.
async fn supersede(records: &Records<'_>, history: &mut [Summary]) -> Result<()> {
    let Some(last) = history.last_mut().filter(|last| last.status != Status::Failed) else { return Ok(()) };
    let mut old = records.load(last.number).await?;
    old.info.status = Status::Superseded;
    old.info.description = "superseded by new release".to_owned();
    records.compare_and_swap(last, &old, None).await
}

fn release(request: &InstallRequest, revision: i64) -> Release {
    Release { name: request.name.clone(), namespace: request.namespace.clone(), revision, is_upgrade: false }
}

/// Returns the record of a release that is about to be installed.
fn first_version(
    request: &InstallRequest,
    prepared: &Prepared,
    number: u64,
    now: Timestamp,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    super::check_labels(&request.labels)?;
    let mut labels = request.labels.clone();
    record_metadata::record_permissions(&mut labels, number, &prepared.events().granted_list());
    record_metadata::record_list_events(&mut labels, number, prepared.events().listens_to_list_events());
    let recorded = manifest::record(prepared, request.render.hide_secrets, reporter)?;
    Ok(ReleaseVersion {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        number,
        id: None,
        info: Info {
            first_deployed: Some(now),
            last_deployed: Some(now),
            deleted: None,
            description: "Initial install underway".to_owned(),
            status: Status::PendingInstall,
            notes: recorded.notes,
            rollback_revision: None,
        },
        chart: record_metadata::stored(&prepared.chart, prepared.changed_values(), request.chart.source()),
        config: Some(prepared.user.clone()),
        manifest: recorded.manifest,
        hooks: recorded.hooks,
        apply_method: request.method.as_str().to_owned(),
        labels,
        ..ReleaseVersion::default()
    })
}

async fn create_namespace(session: &Session, request: &InstallRequest) -> Result<()> {
    let mut namespace = Object::from_id(&ObjectId::new("v1", "Namespace", "", &request.namespace));
    // Helm sets this label, too.
    namespace.set_label("name", &request.namespace);
    deploy::create_or_apply(session, &namespace, request.method).await.map(drop)
}

/// Deploys the version and records the outcome.
async fn run(
    session: &Session,
    request: &InstallRequest,
    mut executor: Executor<'_>,
    (state, plan): (&ThreeWayState, &Plan<'_>),
    (records, mut history): (&Records<'_>, Vec<Summary>),
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    executor.strict_fields = !request.render.disable_openapi;
    supersede(records, &mut history).await?;
    executor.begin(&history, 0).await?;
    match executor.deploy(state, plan, EVENTS, reporter).await {
        Ok(_) => {
            let text = if request.description.is_empty() { "Install complete" } else { &request.description };
            executor.finish(Outcome::Deployed(text.to_owned())).await?;
            Ok(executor.version)
        }
        Err(error) => {
            let session = session.for_rollback(records.store());
            Err(failed(&session, request, &mut executor, error, reporter).await)
        }
    }
}

/// Records the failure, and uninstalls if `rollback_on_failure` is set.
async fn failed(
    session: &Session,
    request: &InstallRequest,
    executor: &mut Executor<'_>,
    error: Error,
    reporter: &mut dyn Reporter,
) -> Error {
    let text = format!("Release {:?} failed: {error}", request.name);
    let is_ours = executor.record_failure(text).await;
    if !is_ours || !request.rollback_on_failure {
        return error;
    }
    let text = "install failed and rollback-on-failure is set, uninstalling release";
    reporter.debug(text, &[("release", &request.name)]);
    let undo = UninstallRequest {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        deploy: executor.options.clone(),
        ..UninstallRequest::default()
    };
    match uninstall::uninstall(session, &undo, reporter).await {
        Ok(_) => Error::RolledBack { name: request.name.clone(), how: "uninstalled", cause: Box::new(error) },
        Err(second) => Error::RollbackFailed {
            doing: "uninstalling",
            operation: "install",
            first: Box::new(error),
            second: Box::new(second),
        },
    }
}

//! `plan`: what an operation would do, computed by the planner of the operation itself and a dry run of every object
//! on the server.

mod allocated;
mod apply;
mod saved;
mod sensitive;
mod stale;
mod trial;

use std::fmt;

use futures::{FutureExt as _, StreamExt as _, stream};
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_plan::FieldConflict;
use pintle_plan::recreation::Recreation;
use pintle_release::{ReleaseVersion, Status, Summary};
use pintle_tree::{LogLine, Node};

use super::hook_plan::{PlannedHook, hooks_of_release};
use super::{
    InstallRequest, RollbackRequest, UninstallRequest, UpgradeRequest, install, rollback, uninstall, upgrade,
};
use crate::crds::CrdStep;
use crate::deploy::{ForeseenHandlers, ThreeWayState};
use crate::options::{CrdPolicy, DeployOptions, DryRun, Method};
use crate::records::Records;
use crate::report::BufferedReporter;
use crate::{Reporter, Result, Session};

pub use apply::{AppliedPlan, apply_plan};
pub use saved::{PlanFile, PlanKey, SavedPlan};
pub use sensitive::SensitivePath;
pub use stale::StaleReason;
pub(super) use trial::changes_of_maps as changes_of;

/// The operation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new release.
    Install,
    /// Another version of a release.
    Upgrade,
    /// An earlier version of a release.
    Rollback,
    /// The removal of a release.
    Uninstall,
}

impl Operation {
    /// The name of the command.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Install => "install",
            Operation::Upgrade => "upgrade",
            Operation::Rollback => "rollback",
            Operation::Uninstall => "uninstall",
        }
    }

    /// The hook events before and after.
    fn events(self) -> [HookEvent; 2] {
        match self {
            Operation::Install => [HookEvent::PreInstall, HookEvent::PostInstall],
            Operation::Upgrade => [HookEvent::PreUpgrade, HookEvent::PostUpgrade],
            Operation::Rollback => [HookEvent::PreRollback, HookEvent::PostRollback],
            Operation::Uninstall => [HookEvent::PreDelete, HookEvent::PostDelete],
        }
    }
}

/// What to plan: the request of the operation.
#[derive(Clone, Debug)]
pub enum PlanRequest {
    /// An install.
    Install(Box<InstallRequest>),
    /// An upgrade, or an install if the release does not exist and the request allows it.
    Upgrade(Box<UpgradeRequest>),
    /// A rollback.
    Rollback(Box<RollbackRequest>),
    /// An uninstall.
    Uninstall(Box<UninstallRequest>),
}

/// What would happen to a release.
#[derive(Clone, Debug)]
pub struct ReleasePlan {
    /// What is planned.
    pub operation: Operation,
    /// The name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// The newest version so far.
    pub from: Option<u64>,
    /// The status of that version.
    pub from_status: Option<Status>,
    /// The version that would be recorded; `None` when the records are deleted.
    pub to: Option<u64>,
    /// The hooks before and after, in the order in which they would run.
    pub hooks: Vec<PlannedHook>,
    /// What would happen to the objects, in order: namespace, CRDs, objects, removals.
    pub objects: Vec<PlannedObject>,
    /// The handlers that may still change objects when the plan is applied.
    pub deferred: Option<DeferredHandlers>,
}

/// Handlers of lifecycle events that could change objects, and are not called for a plan or a dry run, because they may
/// have effects. They are called when the plan is applied, and may change objects then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredHandlers {
    /// The event.
    pub event: String,
    /// Why they are not called.
    pub reason: String,
}

impl fmt::Display for DeferredHandlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeferredHandlers { event, reason } = self;
        write!(
            formatter,
            "handlers of `{event}` are not called before the release is applied, because {reason}; they may change \
             objects then"
        )
    }
}

impl DeferredHandlers {
    pub(super) fn warn(&self, reporter: &mut dyn Reporter) {
        reporter.log(LogLine::warn(self.to_string(), Vec::new()));
    }
}

impl ReleasePlan {
    /// The number of stages; 0 if the chart requests no order.
    pub fn stages(&self) -> usize {
        self.objects.iter().filter_map(|object| object.stage).max().unwrap_or(0)
    }

    /// Whether objects would change.
    pub fn has_changes(&self) -> bool {
        self.objects.iter().any(|object| object.action.is_change())
    }

    /// The objects that the server or another field manager would not let us change.
    pub fn problems(&self) -> impl Iterator<Item = &PlannedObject> {
        self.objects.iter().filter(|object| object.problem.is_some())
    }
}

/// What would happen to an object.
#[derive(Clone, Debug)]
pub struct PlannedObject {
    /// The object.
    pub id: ObjectId,
    /// Whether it is a CRD from `crds/`.
    pub is_crd: bool,
    /// What would be done.
    pub action: PlannedAction,
    /// If the chart requests an order: the stage in which it is done, counted from 1.
    pub stage: Option<usize>,
    /// The object before, as YAML without status and volatile metadata; values of Secrets are redacted.
    pub before: Option<String>,
    /// The object after, likewise.
    pub after: Option<String>,
    /// The fields that change.
    pub changes: Vec<PlannedChange>,
    /// The fields that change by themselves or are only bookkeeping, and are not part of `before` and `after`: the status, and
    /// metadata such as `generation` and `managedFields`.
    pub insignificant_changes: Vec<PlannedChange>,
    /// Fields of other managers that we would have to take over.
    pub conflicts: Vec<FieldConflict>,
    /// Fields that would be left to other managers.
    pub yielded: Vec<FieldConflict>,
    /// Fields that cannot be changed without deleting the object and creating it again.
    pub immutable: Vec<String>,
    /// What would happen to the dependents of an object that is recreated.
    pub recreation: Option<Recreation>,
    /// Why an uninstall would keep the object, unless its resource policy says so.
    pub kept_because: Option<String>,
    /// Why the operation would fail.
    pub problem: Option<String>,
    /// Whether values at sensitive paths are hidden in `before` and `after`.
    is_hidden: bool,
    /// The live object that the plan was made for; a plan that was read from a file has none.
    live: Option<Object>,
    /// Of a plan that was read from a file: the digest of the object that it was made for, if not all of it is shown.
    saved_digest: Option<String>,
}

/// What would be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedAction {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It exists, and becomes part of the release.
    Adopt,
    /// Nothing.
    Unchanged,
    /// It is deleted.
    Delete,
    /// It is no longer part of the release, but its resource policy keeps it, or the release does not own it.
    Keep,
    /// It is no longer part of the release and does not exist.
    Forget,
    /// It is deleted and created again, because a field is immutable.
    Recreate,
}

impl PlannedAction {
    /// All actions.
    pub const ALL: [PlannedAction; 8] = [
        PlannedAction::Create,
        PlannedAction::Update,
        PlannedAction::Adopt,
        PlannedAction::Unchanged,
        PlannedAction::Delete,
        PlannedAction::Keep,
        PlannedAction::Forget,
        PlannedAction::Recreate,
    ];

    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            PlannedAction::Create => "create",
            PlannedAction::Update => "update",
            PlannedAction::Adopt => "adopt",
            PlannedAction::Unchanged => "unchanged",
            PlannedAction::Delete => "delete",
            PlannedAction::Keep => "keep",
            PlannedAction::Forget => "forget",
            PlannedAction::Recreate => "recreate",
        }
    }

    /// Whether the object changes.
    pub fn is_change(self) -> bool {
        !matches!(self, PlannedAction::Unchanged | PlannedAction::Keep | PlannedAction::Forget)
    }
}

/// A field that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// The path, such as `spec.template.spec.containers[0].image`.
    pub path: String,
    /// The value before.
    pub before: Option<Node>,
    /// The value after.
    pub after: Option<Node>,
}

/// A version and the live state that it would be applied to.
pub(super) struct Draft {
    pub(super) operation: Operation,
    pub(super) version: ReleaseVersion,
    pub(super) state: ThreeWayState,
    pub(super) method: Method,
    /// Whether fields of client-side apply are moved to server-side apply.
    pub(super) migrate: bool,
    /// The newest version so far.
    pub(super) from: Option<Summary>,
    /// The CRDs that are applied first.
    pub(super) crds: Vec<CrdStep>,
    /// What handlers did or left for later.
    pub(super) handlers: ForeseenHandlers,
}

/// A plan, with what was rendered for it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What would happen.
    pub plan: ReleasePlan,
    /// The version that would be deployed; an uninstall has none.
    version: Option<ReleaseVersion>,
    /// The CRDs of the chart.
    crds: Vec<Object>,
    /// What handlers did or left for later.
    handlers: ForeseenHandlers,
}

/// Plans an operation, whether or not the request says that it is a dry run.
///
/// # Errors
/// The first stage that fails before anything would be applied.
pub async fn plan(session: &Session, request: &PlanRequest, reporter: &mut dyn Reporter) -> Result<Planned> {
    let draft = match request {
        PlanRequest::Install(request) => {
            let request = InstallRequest { dry_run: DryRun::Server, ..(**request).clone() };
            install::draft(session, &request, reporter).await?
        }
        PlanRequest::Upgrade(request) => {
            let mut request = request.clone();
            request.target.dry_run = DryRun::Server;
            upgrade::draft(session, &request, reporter).await?
        }
        PlanRequest::Rollback(request) => rollback::draft(session, request, reporter).await?,
        PlanRequest::Uninstall(request) => {
            let plan = plan_uninstall(session, request).await?;
            let handlers = ForeseenHandlers::default();
            return Ok(Planned { plan, version: None, crds: Vec::new(), handlers });
        }
    };
    let version = Some(draft.version.clone());
    let crds = draft.crds.iter().map(|step| step.object.clone()).collect();
    let handlers = draft.handlers.clone();
    let plan = trial::try_all(session, draft, &request.settings()).await?;
    Ok(Planned { plan, version, crds, handlers })
}

/// How many releases are planned at a time. Each sends several requests at once, and holds its chart meanwhile.
const RELEASES_AT_A_TIME: usize = 4;

/// A release of several that are planned together.
#[derive(Debug)]
pub struct PlannedRelease {
    /// Where the request is in the list.
    pub index: usize,
    /// The messages of the operation.
    pub log: Vec<LogLine>,
    /// The plan, or why there is none.
    pub outcome: Result<Planned>,
}

/// Plans several operations, some at a time, with one connection and one discovery. Passes the plans to `each` in the order of
/// the requests, each as soon as it and those before it are ready.
pub async fn plan_all(session: &Session, requests: &[PlanRequest], mut each: impl FnMut(PlannedRelease)) {
    let planned = requests.iter().enumerate().map(|(index, request)| async move {
        let mut log = BufferedReporter::default();
        let outcome = plan(session, request, &mut log).await;
        PlannedRelease { index, log: log.0, outcome }
    });
    // Collected first, because a stream of closures is not `Send`. None of them runs before it is polled.
    let planned = stream::iter(planned.map(|planned| planned.boxed()).collect::<Vec<_>>());
    // `buffered` keeps the order, unlike `buffer_unordered`, so that the output is the same in every run.
    let mut planned = std::pin::pin!(planned.buffered(RELEASES_AT_A_TIME));
    while let Some(release) = planned.next().await {
        each(release);
    }
}

/// What the trial of a plan needs to know of its request.
struct TrialSettings<'r> {
    deploy: &'r DeployOptions,
    create_namespace: bool,
    /// Whether the server rejects unknown fields.
    strict: bool,
}

impl InstallRequest {
    fn settings(&self) -> TrialSettings<'_> {
        TrialSettings {
            deploy: &self.deploy,
            create_namespace: self.create_namespace,
            strict: !self.render.disable_openapi,
        }
    }
}

impl PlanRequest {
    fn settings(&self) -> TrialSettings<'_> {
        match self {
            PlanRequest::Install(request) => request.settings(),
            PlanRequest::Upgrade(request) => request.target.settings(),
            PlanRequest::Rollback(request) => {
                TrialSettings { deploy: &request.deploy, create_namespace: false, strict: true }
            }
            PlanRequest::Uninstall(request) => {
                TrialSettings { deploy: &request.deploy, create_namespace: false, strict: true }
            }
        }
    }

    fn name_and_namespace(&self) -> (&str, &str) {
        match self {
            PlanRequest::Install(request) => (&request.name, &request.namespace),
            PlanRequest::Upgrade(request) => (&request.target.name, &request.target.namespace),
            PlanRequest::Rollback(request) => (&request.name, &request.namespace),
            PlanRequest::Uninstall(request) => (&request.name, &request.namespace),
        }
    }

    /// What is done about the CRDs of the chart.
    fn crd_policy(&self) -> CrdPolicy {
        match self {
            PlanRequest::Install(request) => request.crds,
            PlanRequest::Upgrade(request) => request.target.crds.in_upgrade(),
            PlanRequest::Rollback(_) | PlanRequest::Uninstall(_) => CrdPolicy::Skip,
        }
    }
}

async fn plan_uninstall(session: &Session, request: &UninstallRequest) -> Result<ReleasePlan> {
    session.cluster.check_reachable().await?;
    let (records, history) =
        Records::find_for_update(session, &request.namespace, &request.name, true).await?;
    let Some(last) = history.last() else { return Err(records.missing().await) };
    let version = records.load(last.number).await?;
    let unfinished = records.unfinished(&history, version.number).await?;
    let (mut state, removal) =
        uninstall::removal_state(session, &version, &unfinished, request.deploy.ordered).await?;
    state.scope(session).await?;
    let unreadable = state.complete_readable(session).await;
    let mut objects: Vec<PlannedObject> = state
        .plan()?
        .removals
        .iter()
        .map(|step| {
            let reason = trial::reason_to_keep(step, &version, &unreadable);
            trial::uninstalled(step, &request.deploy.sensitive_paths, reason)
        })
        .collect();
    trial::set_stages(&mut objects, state.stages());
    objects.extend(removal.keep.iter().map(|kept| {
        let id = ObjectId::new("", &kept.kind, &version.namespace, &kept.name);
        PlannedObject::new(id, PlannedAction::Keep)
    }));
    let operation = Operation::Uninstall;
    Ok(ReleasePlan {
        operation,
        release: version.name.clone(),
        namespace: version.namespace.clone(),
        from: Some(version.number),
        from_status: Some(last.status),
        to: request.keep_history.then_some(version.number),
        hooks: hooks(&version, &request.deploy, operation)?,
        objects,
        deferred: None,
    })
}

/// The hooks of an operation, in the order in which they would run.
fn hooks(version: &ReleaseVersion, deploy: &DeployOptions, operation: Operation) -> Result<Vec<PlannedHook>> {
    if !deploy.hooks {
        return Ok(Vec::new());
    }
    let all = hooks_of_release(version)?;
    let events = operation.events();
    Ok(events.iter().flat_map(|event| all.iter().filter(move |hook| hook.event == *event)).cloned().collect())
}

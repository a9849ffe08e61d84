//! `plan`: what an operation would do, found out by the planner of the operation itself and a dry run of every object
//! on the server.

use futures::FutureExt as _;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_cluster::{Detail, FieldValidation, StatusCause};
use pintle_diff::redacted_pair;
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_plan::diff::differences;
use pintle_plan::{self as planner, Action, Step};
use pintle_release::ReleaseVersion;
use pintle_tree::Node;

use super::diff::tidied;
use super::hook_plan::{PlannedHook, planned_hooks};
use super::{InstallRequest, RollbackRequest, UninstallRequest, UpgradeRequest, install, rollback, upgrade};
use crate::deploy::ThreeWayState;
use crate::options::{DeployOptions, Method};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session, crds};

/// What would happen to a release.
#[derive(Clone, Debug)]
pub struct ReleasePlan {
    /// `install`, `upgrade`, `rollback` or `uninstall`.
    pub operation: &'static str,
    /// The name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// The newest version so far.
    pub from: Option<u64>,
    /// The version that would be recorded; `None` when the records are deleted.
    pub to: Option<u64>,
    /// The hooks before and after, in the order in which they would run.
    pub hooks: Vec<PlannedHook>,
    /// What would happen to the objects, in order: CRDs, objects, removals.
    pub objects: Vec<PlannedObject>,
}

impl ReleasePlan {
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
    /// The object before, as YAML without status and volatile metadata; values of Secrets are redacted.
    pub before: Option<String>,
    /// The object after, likewise.
    pub after: Option<String>,
    /// The fields that change.
    pub changes: Vec<PlannedChange>,
    /// Fields of other managers that we would have to take over.
    pub conflicts: Vec<FieldConflict>,
    /// Fields that cannot be changed without creating the object anew.
    pub immutable: Vec<String>,
    /// Why the operation would fail.
    pub problem: Option<String>,
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
    /// It is no longer part of the release, but its resource policy keeps it.
    Keep,
    /// It is no longer part of the release and does not exist.
    Forget,
    /// It would have to be created anew, because a field is immutable.
    Recreate,
}

impl PlannedAction {
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

/// A field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// The path of the field.
    pub field: String,
    /// The manager, as the server describes it.
    pub manager: String,
}

/// A version and the live state that it would be applied to.
pub(super) struct Draft {
    pub(super) version: ReleaseVersion,
    pub(super) state: ThreeWayState,
    pub(super) method: Method,
    /// Whether fields of client-side apply are moved to server-side apply.
    pub(super) migrate: bool,
    /// The newest version so far.
    pub(super) from: Option<u64>,
    /// The CRDs that are applied first.
    pub(super) crds: Vec<Object>,
    /// Objects of kinds that these CRDs bring.
    pub(super) unknown: Vec<Object>,
}

/// Plans an install.
///
/// # Errors
/// The first stage that fails before anything would be applied.
pub async fn plan_install(
    session: &Session,
    request: &InstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleasePlan> {
    let draft = install::draft(session, request, reporter).await?;
    let events = [HookEvent::PreInstall, HookEvent::PostInstall];
    finish(session, "install", draft, &request.deploy, events, request.create_namespace).await
}

/// Plans an upgrade, or an install if the release does not exist and the request allows it.
///
/// # Errors
/// As [`plan_install`].
pub async fn plan_upgrade(
    session: &Session,
    request: &UpgradeRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleasePlan> {
    let draft = upgrade::draft(session, request, reporter).await?;
    let (operation, events) = match draft.from {
        Some(_) => ("upgrade", [HookEvent::PreUpgrade, HookEvent::PostUpgrade]),
        None => ("install", [HookEvent::PreInstall, HookEvent::PostInstall]),
    };
    finish(session, operation, draft, &request.target.deploy, events, request.target.create_namespace).await
}

/// Plans a rollback.
///
/// # Errors
/// As [`plan_install`].
pub async fn plan_rollback(
    session: &Session,
    request: &RollbackRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleasePlan> {
    let draft = rollback::draft(session, request, reporter).await?;
    let events = [HookEvent::PreRollback, HookEvent::PostRollback];
    finish(session, "rollback", draft, &request.deploy, events, false).await
}

/// Plans an uninstall.
///
/// # Errors
/// When there is no such release, or its manifest cannot be read.
pub async fn plan_uninstall(session: &Session, request: &UninstallRequest) -> Result<ReleasePlan> {
    session.cluster.check_reachable().await?;
    let (records, history) =
        Records::find_for_update(session, &request.namespace, &request.name, true).await?;
    let Some(last) = history.last() else { return Err(records.missing().await) };
    let version = records.load(last.number).await?;
    let removal = planner::removal(&version.manifest).map_err(|source| Error::DeleteFailed {
        name: request.name.clone(),
        source: Box::new(source.into()),
    })?;
    let mut delete = removal.delete;
    for object in &mut delete {
        session.cluster.scope(object, &version.namespace).await?;
    }
    let ids: Vec<ObjectId> = delete.iter().map(Object::id).collect();
    let live = session.cluster.snapshot(&ids, Detail::Full).await?;
    let mut objects: Vec<PlannedObject> = ids
        .iter()
        .map(|id| {
            let action = if live.get(id).is_some() { PlannedAction::Delete } else { PlannedAction::Forget };
            PlannedObject::new(id.clone(), action).with_texts(live.get(id), None)
        })
        .collect();
    objects.extend(removal.keep.iter().map(|kept| {
        let id = ObjectId::new("", &kept.kind, &version.namespace, &kept.name);
        PlannedObject::new(id, PlannedAction::Keep)
    }));
    Ok(ReleasePlan {
        operation: "uninstall",
        release: version.name.clone(),
        namespace: version.namespace.clone(),
        from: Some(version.number),
        to: request.keep_history.then_some(version.number),
        hooks: hooks(&version, &request.deploy, [HookEvent::PreDelete, HookEvent::PostDelete])?,
        objects,
    })
}

/// The hooks of two events, in the order in which they would run.
fn hooks(
    version: &ReleaseVersion,
    deploy: &DeployOptions,
    events: [HookEvent; 2],
) -> Result<Vec<PlannedHook>> {
    if !deploy.hooks {
        return Ok(Vec::new());
    }
    let all = planned_hooks(version)?;
    Ok(events.iter().flat_map(|event| all.iter().filter(move |hook| hook.event == *event)).cloned().collect())
}

/// Tries every step on the server.
async fn finish(
    session: &Session,
    operation: &'static str,
    mut draft: Draft,
    deploy_options: &DeployOptions,
    events: [HookEvent; 2],
    create_namespace: bool,
) -> Result<ReleasePlan> {
    draft.state.complete(session).await?;
    let name = draft.version.name.clone();
    let records = Records::find(session, &draft.version.namespace, &name).await?;
    if draft.from.is_some() {
        draft.state.set_owner(records.store().as_ref()).await?;
    }
    let plan = draft.state.plan().map_err(|source| Error::CannotContinue { operation, cause: source })?;
    let namespace = &draft.version.namespace;
    let namespace_missing = create_namespace
        && session.cluster.get(&ObjectId::new("v1", "Namespace", "", namespace)).await?.is_none();
    let tried = Trial { session, draft: &draft, deploy_options, namespace_missing };
    let mut objects = Vec::new();
    if namespace_missing {
        let id = ObjectId::new("v1", "Namespace", "", namespace);
        objects.push(PlannedObject::new(id, PlannedAction::Create));
    }
    objects.extend(tried.crds().await?);
    objects.extend(run_concurrently(&plan.steps, |step| tried.step(step).boxed()).await);
    let blind = draft
        .unknown
        .iter()
        .map(|object| PlannedObject::new(object.id(), PlannedAction::Create).with_texts(None, Some(object)));
    objects.extend(blind);
    objects.extend(plan.removals.iter().map(removal));
    let version = &draft.version;
    Ok(ReleasePlan {
        operation,
        release: version.name.clone(),
        namespace: version.namespace.clone(),
        from: draft.from,
        to: Some(version.number),
        hooks: hooks(version, deploy_options, events)?,
        objects,
    })
}

fn removal(step: &Step<'_>) -> PlannedObject {
    let action = match step.action {
        Action::Keep => PlannedAction::Keep,
        Action::Forget => PlannedAction::Forget,
        _ => PlannedAction::Delete,
    };
    let before = step.live.filter(|_| action == PlannedAction::Delete);
    PlannedObject::new(step.id.clone(), action).with_texts(before, None)
}

/// Steps being tried.
struct Trial<'a> {
    session: &'a Session,
    draft: &'a Draft,
    deploy_options: &'a DeployOptions,
    /// Whether the namespace of the release is yet to be created, so that nothing in it can be tried.
    namespace_missing: bool,
}

impl Trial<'_> {
    /// As the executor applies a step, but as a dry run.
    fn options(&self, action: Action) -> ApplyOptions {
        let custom_three_way = action == Action::Adopt;
        let by_server = self.draft.method == Method::ServerSide;
        ApplyOptions {
            method: match self.draft.method {
                _ if self.deploy_options.force_replace => planner::Method::Replace,
                Method::ServerSide => planner::Method::ServerSide,
                Method::ClientSide => planner::Method::ClientSide { custom_three_way },
            },
            force_conflicts: self.deploy_options.force_conflicts && action != Action::Create,
            upgrade_field_manager: by_server && (self.draft.migrate || action == Action::Adopt),
            validation: FieldValidation::Strict,
            dry_run: true,
            ..ApplyOptions::default()
        }
    }

    async fn step(&self, step: &Step<'_>) -> PlannedObject {
        let action = match step.action {
            Action::Create => PlannedAction::Create,
            Action::Adopt => PlannedAction::Adopt,
            _ => PlannedAction::Update,
        };
        let planned = PlannedObject::new(step.id.clone(), action);
        if self.namespace_missing && step.id.namespace == self.draft.version.namespace {
            return planned.with_texts(step.live, step.desired);
        }
        match self.session.cluster.execute(step, &self.options(step.action)).await {
            Ok(Applied::Written(written)) => match written.object() {
                Ok(after) => planned.with_texts(step.live, Some(&after)),
                Err(error) => planned.with_texts(step.live, step.desired).failed(&error),
            },
            Ok(_) => planned.with_texts(step.live, step.live),
            Err(error) => planned.with_texts(step.live, step.desired).failed(&error),
        }
    }

    /// CRDs are created if they are missing; Helm never changes existing ones.
    async fn crds(&self) -> Result<Vec<PlannedObject>> {
        let mut planned = Vec::new();
        for object in &self.draft.crds {
            let live = self.session.cluster.get(&object.id()).await?;
            let action = if live.is_some() { PlannedAction::Unchanged } else { PlannedAction::Create };
            let shown = if live.is_some() { None } else { Some(object) };
            let mut crd = PlannedObject::new(object.id(), action).with_texts(None, shown);
            crd.is_crd = true;
            crd.action = action;
            planned.push(crd);
        }
        Ok(planned)
    }
}

impl PlannedObject {
    fn new(id: ObjectId, action: PlannedAction) -> Self {
        PlannedObject {
            id,
            is_crd: false,
            action,
            before: None,
            after: None,
            changes: Vec::new(),
            conflicts: Vec::new(),
            immutable: Vec::new(),
            problem: None,
        }
    }

    /// Adds the object before and after, and what changes between them. An update that changes nothing is none.
    fn with_texts(mut self, before: Option<&Object>, after: Option<&Object>) -> Self {
        let yaml = |object: Option<&Object>| object.map(quiet_yaml);
        let (before, after) = redacted_pair(&self.id.kind, yaml(before), yaml(after));
        if let (Some(before), Some(after)) = (&before, &after) {
            self.changes = changes(before, after);
            if self.action == PlannedAction::Update && before == after {
                self.action = PlannedAction::Unchanged;
            }
        }
        let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.before = text(before);
        self.after = text(after);
        self
    }

    /// Adds why the server refused.
    fn failed(mut self, error: &pintle_cluster::Error) -> Self {
        let causes: &[StatusCause] = error.status().map_or(&[], |status| &status.causes);
        if error.is_conflict() {
            let conflicts = causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
            self.conflicts = conflicts
                .map(|cause| FieldConflict {
                    field: cause.field.trim_start_matches('.').to_owned(),
                    manager: cause.message.trim_start_matches("conflict with ").to_owned(),
                })
                .collect();
        }
        let immutable = |cause: &&StatusCause| {
            cause.message.contains("immutable")
                || cause.message.contains("Forbidden: updates to")
                || cause.message.contains("updates to statefulset spec for fields other than")
        };
        self.immutable = causes.iter().filter(immutable).map(|cause| cause.field.clone()).collect();
        if error.is_invalid() && !self.immutable.is_empty() {
            self.action = PlannedAction::Recreate;
        }
        self.problem = Some(error.to_string());
        self
    }
}

/// The fields that differ between two objects in YAML.
fn changes(before: &[u8], after: &[u8]) -> Vec<PlannedChange> {
    let read = |text: &[u8]| pintle_yaml::read_map(text).unwrap_or_default();
    let (before, after) = (read(before), read(after));
    let found = differences(&before, &after).into_iter();
    found
        .map(|difference| PlannedChange {
            path: difference.path,
            before: difference.before.cloned(),
            after: difference.after.cloned(),
        })
        .collect()
}

/// An object as YAML, without what changes by itself and without kubectl's copy of it, which has the values of Secrets.
fn quiet_yaml(object: &Object) -> Vec<u8> {
    let mut object = tidied(object);
    let metadata = object.metadata_mut();
    metadata.remove("selfLink");
    if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    pintle_yaml::write(object.body()).unwrap_or_default()
}

/// Takes the objects of kinds that do not exist yet, and that the given CRDs bring, out of a manifest.
pub(super) async fn split_unknown(
    session: &Session,
    manifest: &mut String,
    definitions: &[Object],
) -> Vec<Object> {
    let mut new_kinds = Vec::new();
    for (version, kind) in definitions.iter().flat_map(crds::served_kinds) {
        if session.cluster.resource(&version, &kind).await.is_err() {
            new_kinds.push((version, kind));
        }
    }
    if new_kinds.is_empty() {
        return Vec::new();
    }
    let mut unknown = Vec::new();
    let mut known = String::new();
    for document in pintle_objects::split(manifest.as_bytes()) {
        let objects = Object::read_readable(document);
        let is_new = |object: &Object| {
            new_kinds.iter().any(|(version, kind)| object.api_version() == version && object.kind() == kind)
        };
        if !objects.is_empty() && objects.iter().all(is_new) {
            unknown.extend(objects);
        } else {
            known.push_str("---\n");
            known.push_str(&String::from_utf8_lossy(document));
            known.push('\n');
        }
    }
    *manifest = known;
    unknown
}

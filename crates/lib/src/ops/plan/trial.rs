//! Tries every step of a plan on the server, as a dry run.

use futures::FutureExt as _;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_cluster::{FieldValidation, Resource};
use pintle_diff::redacted_pair;
use pintle_objects::{Object, ObjectId};
use pintle_plan::conflicts::{Elements, quoted_path};
use pintle_plan::diff::{differences, equate_nulls};
use pintle_plan::recreation::recreation;
use pintle_plan::sequence::Stages;
use pintle_plan::{self as planner, Action, ConflictPolicy, FieldConflict, Step, ownership};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::allocated::remove_allocated;
use super::sensitive::{self, SensitivePath};
use super::{Draft, PlannedAction, PlannedChange, PlannedObject, ReleasePlan, TrialSettings, hooks};
use crate::crds::{CrdAction, CrdStep};
use crate::ops::diff::tidied;
use crate::options::Method;
use crate::records::Records;
use crate::{Error, Result, Session};

/// How much of a name is kept for a trial under another one: names of some kinds have at most 63 characters.
const MAX_TRIAL_NAME: usize = 50;

/// Tries every step on the server.
pub(super) async fn try_all(
    session: &Session,
    mut draft: Draft,
    settings: &TrialSettings<'_>,
) -> Result<ReleasePlan> {
    let operation = draft.operation;
    // For a server-side apply the executor needs metadata only, but a plan shows what was there before.
    draft.state.complete(session).await?;
    let name = draft.version.name.clone();
    let records = Records::find(session, &draft.version.namespace, &name).await?;
    // The owner of a new release does not exist yet, so its uid cannot be shown.
    if draft.from.is_some() {
        draft.state.set_owner(records.store().as_ref()).await?;
    }
    let plan = draft
        .state
        .plan()
        .map_err(|source| Error::CannotContinue { operation: operation.name(), cause: source })?;
    let namespace = ObjectId::new("v1", "Namespace", "", &draft.version.namespace);
    let namespace_missing = settings.create_namespace && session.cluster.get(&namespace).await?.is_none();
    let trial = Trial { session, draft: &draft, settings, namespace_missing };
    let mut objects = Vec::new();
    if namespace_missing {
        objects.push(PlannedObject::new(namespace, PlannedAction::Create));
    }
    objects.extend(run_concurrently(&draft.crds, |step| trial.crd(step).boxed()).await);
    let mut steps = run_concurrently(&plan.steps, |step| trial.step(step).boxed()).await;
    set_stages(&mut steps, draft.state.stages());
    objects.extend(steps);
    objects.extend(plan.removals.iter().map(|step| removal(step, &settings.deploy.sensitive_paths)));
    let version = &draft.version;
    Ok(ReleasePlan {
        operation,
        release: version.name.clone(),
        namespace: version.namespace.clone(),
        from: draft.from.as_ref().map(|from| from.number),
        from_status: draft.from.as_ref().map(|from| from.status),
        to: Some(version.number),
        hooks: hooks(version, settings.deploy, operation)?,
        objects,
        deferred: draft.handlers.deferred.clone(),
    })
}

/// Sets the stages of objects, in the order of the steps.
pub(super) fn set_stages(objects: &mut [PlannedObject], stages: Option<&Stages>) {
    for (object, stage) in objects.iter_mut().zip(stages.into_iter().flat_map(|stages| &stages.stages)) {
        object.stage = Some(stage + 1);
    }
}

pub(super) fn removal(step: &Step<'_>, sensitive: &[SensitivePath]) -> PlannedObject {
    let action = match (step.action, step.live) {
        (Action::Keep, _) => PlannedAction::Keep,
        (_, None) => PlannedAction::Forget,
        (_, Some(_)) => PlannedAction::Delete,
    };
    let before = step.live.filter(|_| action == PlannedAction::Delete);
    PlannedObject::new(step.id.clone(), action).with_texts(before, None, sensitive)
}

/// Why an uninstall keeps an object: it cannot be read, or does not belong to the release.
pub(super) fn reason_to_keep(
    step: &Step<'_>,
    version: &ReleaseVersion,
    unreadable: &[(ObjectId, pintle_cluster::Error)],
) -> Option<String> {
    if let Some((_, error)) = unreadable.iter().find(|(id, _)| *id == step.id) {
        return Some(format!("its ownership cannot be verified: {error}"));
    }
    if step.id.name.is_empty() {
        return Some("its name was generated, and is not known".to_owned());
    }
    let live = step.live?;
    ownership::check(live, &version.name, &version.namespace).err()?;
    Some(match ownership::owner(live) {
        Some((name, namespace)) => format!("it belongs to release {name} in namespace {namespace}"),
        None => "it belongs to no release".to_owned(),
    })
}

/// An object that an uninstall deletes, unless there is a reason to keep it.
pub(super) fn uninstalled(
    step: &Step<'_>,
    sensitive: &[SensitivePath],
    reason_to_keep: Option<String>,
) -> PlannedObject {
    let Some(reason) = reason_to_keep else { return removal(step, sensitive) };
    let mut kept = PlannedObject::new(step.id.clone(), PlannedAction::Keep);
    kept.kept_because = Some(reason);
    kept.with_texts(step.live, None, sensitive)
}

/// Steps being tried.
struct Trial<'a> {
    session: &'a Session,
    draft: &'a Draft,
    settings: &'a TrialSettings<'a>,
    /// Whether the namespace of the release is yet to be created, so that nothing in it can be tried.
    namespace_missing: bool,
}

impl Trial<'_> {
    /// As the executor applies a step, but as a dry run.
    fn options(&self, action: Action) -> ApplyOptions {
        let custom_three_way = action == Action::Adopt;
        let by_server = self.draft.method == Method::ServerSide;
        let deploy = self.settings.deploy;
        ApplyOptions {
            method: match self.draft.method {
                _ if deploy.force_replace => planner::Method::Replace,
                Method::ServerSide => planner::Method::ServerSide,
                Method::ClientSide => planner::Method::ClientSide { custom_three_way },
            },
            conflicts: deploy.conflicts,
            upgrade_field_manager: by_server && (self.draft.migrate || action == Action::Adopt),
            validation: match self.settings.strict {
                true => FieldValidation::Strict,
                false => FieldValidation::Ignore,
            },
            dry_run: true,
            ..ApplyOptions::default()
        }
    }

    fn sensitive(&self) -> &[SensitivePath] {
        &self.settings.deploy.sensitive_paths
    }

    /// Whether a kind exists only after the CRDs of the release are applied.
    fn is_new_kind(&self, id: &ObjectId) -> bool {
        let is_same =
            |kind: &Resource| kind.group == id.group && kind.version == id.version && kind.kind == id.kind;
        self.draft.state.new_kinds().iter().any(is_same)
    }

    async fn step(&self, step: &Step<'_>) -> PlannedObject {
        let action = match step.action {
            Action::Create => PlannedAction::Create,
            Action::Adopt => PlannedAction::Adopt,
            _ => PlannedAction::Update,
        };
        let planned = PlannedObject::new(step.id.clone(), action);
        let in_new_namespace = self.namespace_missing && step.id.namespace == self.draft.version.namespace;
        if in_new_namespace || self.is_new_kind(&step.id) {
            return planned.with_texts(step.live, step.desired, self.sensitive());
        }
        self.attempt(step, planned, &self.options(step.action)).await
    }

    async fn attempt(
        &self,
        step: &Step<'_>,
        mut planned: PlannedObject,
        options: &ApplyOptions,
    ) -> PlannedObject {
        match self.session.cluster.execute(step, options).await {
            Ok(Applied::Written(written)) => match written.object() {
                Ok(mut after) => {
                    remove_allocated(&mut after, [step.live, step.desired]);
                    planned.yielded = quoted(written.yielded, step.live);
                    planned.with_texts(step.live, Some(&after), self.sensitive())
                }
                Err(error) => {
                    planned.with_texts(step.live, step.desired, self.sensitive()).failed(&error, step, &[])
                }
            },
            Ok(_) => planned.with_texts(step.live, step.live, self.sensitive()),
            Err(error) => {
                let recreate = &self.settings.deploy.recreate;
                let planned = planned.with_texts(step.live, step.desired, self.sensitive());
                let planned = planned.failed(&error, step, recreate);
                match (planned.action, step.desired) {
                    (PlannedAction::Recreate, Some(desired)) => {
                        self.recreated(step, desired, planned, options).await
                    }
                    _ => planned,
                }
            }
        }
    }

    /// Shows an object that is to be recreated with the fields that the server would add; without them, all defaults of
    /// the old one would look like removed fields. It is tried under another name, as long as its own is taken.
    async fn recreated(
        &self,
        step: &Step<'_>,
        desired: &Object,
        planned: PlannedObject,
        options: &ApplyOptions,
    ) -> PlannedObject {
        let mut other = desired.clone();
        let name: String = desired.name().chars().take(MAX_TRIAL_NAME).collect();
        other.metadata_mut().insert("name".into(), format!("{name}-new").as_str().into());
        let trial = Step {
            id: other.id(),
            action: Action::Create,
            desired: Some(&other),
            previous: None,
            live: None,
        };
        // If that fails, the object is shown as the chart has it.
        let Ok(Applied::Written(written)) = self.session.cluster.execute(&trial, options).await else {
            return planned;
        };
        let Ok(mut after) = written.object() else { return planned };
        after.metadata_mut().insert("name".into(), desired.name().into());
        after.metadata_mut().remove("uid");
        remove_allocated(&mut after, [step.live, step.desired]);
        planned.with_texts(step.live, Some(&after), self.sensitive())
    }

    async fn crd(&self, step: &CrdStep) -> PlannedObject {
        let id = step.object.id();
        let mut crd = match step.action {
            CrdAction::Leave => PlannedObject::new(id, PlannedAction::Unchanged),
            CrdAction::Create => {
                PlannedObject::new(id, PlannedAction::Create).with_texts(None, Some(&step.object), &[])
            }
            CrdAction::Update(conflicts) => {
                let options = ApplyOptions { conflicts, dry_run: true, ..ApplyOptions::default() };
                let planned = PlannedObject::new(id, PlannedAction::Update);
                self.attempt(&step.update(), planned, &options).await
            }
            CrdAction::ApplyAsHelm => self.crd_as_helm(step).await,
        };
        crd.is_crd = true;
        if !step.problems.is_empty() {
            crd.problem = Some(step.problems.join("; "));
        }
        crd
    }

    /// Helm creates missing CRDs. Existing ones are changed by server-side apply, and left alone otherwise.
    async fn crd_as_helm(&self, step: &CrdStep) -> PlannedObject {
        let id = step.object.id();
        let live = match self.session.cluster.get(&id).await {
            Ok(live) => live,
            Err(error) => {
                return PlannedObject::new(id, PlannedAction::Create).failed(&error, &step.update(), &[]);
            }
        };
        match (&live, self.draft.method) {
            (None, _) => {
                PlannedObject::new(id, PlannedAction::Create).with_texts(None, Some(&step.object), &[])
            }
            (Some(_), Method::ClientSide) => PlannedObject::new(id, PlannedAction::Unchanged),
            (Some(_), Method::ServerSide) => {
                let conflicts = ConflictPolicy::Fail;
                let options = ApplyOptions { conflicts, dry_run: true, ..ApplyOptions::default() };
                let update = Step { live: live.as_ref(), ..step.update() };
                let planned = PlannedObject::new(id, PlannedAction::Update);
                self.attempt(&update, planned, &options).await
            }
        }
    }
}

impl PlannedObject {
    pub(super) fn new(id: ObjectId, action: PlannedAction) -> Self {
        PlannedObject {
            id,
            is_crd: false,
            action,
            stage: None,
            before: None,
            after: None,
            changes: Vec::new(),
            insignificant_changes: Vec::new(),
            conflicts: Vec::new(),
            yielded: Vec::new(),
            immutable: Vec::new(),
            recreation: None,
            kept_because: None,
            problem: None,
            is_hidden: false,
            live: None,
            saved_digest: None,
        }
    }

    /// Adds the object before and after, and what changes between them. An update without changes becomes `Unchanged`.
    pub(super) fn with_texts(
        mut self,
        before: Option<&Object>,
        after: Option<&Object>,
        sensitive: &[SensitivePath],
    ) -> Self {
        self.live = before.cloned();
        let paths = sensitive::paths(sensitive, [before, after]);
        // Only an object that the server returned has all fields.
        if let (Some(before), Some(after)) = (before, after.filter(|after| !after.uid().is_empty())) {
            self.insignificant_changes = insignificant_changes(before, after, &paths);
        }
        let (mut before, mut after) = (before.map(quiet), after.map(quiet));
        if let (Some(before), Some(after)) = (&mut before, &mut after) {
            equate_nulls(before.body_mut(), after.body_mut());
        }
        let is_same = before.is_some() && before == after;
        self.is_hidden = sensitive::hide(before.as_mut(), after.as_mut(), &paths);
        let yaml = |object: Option<Object>| {
            object.map(|object| pintle_yaml::write(object.body()).unwrap_or_default())
        };
        let (before, after) = redacted_pair(&self.id.kind, yaml(before), yaml(after));
        if let (Some(before), Some(after)) = (&before, &after) {
            self.changes = changes(before, after);
            if self.action == PlannedAction::Update && (is_same || before == after) {
                self.action = PlannedAction::Unchanged;
            }
        }
        let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.before = text(before);
        self.after = text(after);
        self
    }

    /// Adds why the server refused. That is no problem if the object may be recreated.
    fn failed(mut self, error: &pintle_cluster::Error, step: &Step<'_>, recreate: &[String]) -> Self {
        self.conflicts = quoted(error.field_conflicts(), step.live);
        self.immutable = error.immutable_fields(step.live, step.desired);
        if !self.immutable.is_empty() {
            self.action = PlannedAction::Recreate;
            self.recreation = match (step.live, step.desired) {
                (Some(live), Some(desired)) => recreation(live, desired, recreate),
                _ => None,
            };
        }
        if self.recreation.is_none() {
            self.problem = Some(error.to_string());
        }
        self
    }
}

/// Conflicts with the paths in the form in which plans show changes.
fn quoted(mut conflicts: Vec<FieldConflict>, live: Option<&Object>) -> Vec<FieldConflict> {
    for conflict in &mut conflicts {
        if let Some(live) = live {
            conflict.field = quoted_path(live, &conflict.field, Elements::ByKey);
        }
    }
    conflicts
}

/// The fields that differ between two objects in YAML.
pub(super) fn changes(before: &[u8], after: &[u8]) -> Vec<PlannedChange> {
    let read = |text: &[u8]| pintle_yaml::read_map(text).unwrap_or_default();
    changes_of_maps(&read(before), &read(after))
}

pub(in crate::ops) fn changes_of_maps(before: &Map<Node>, after: &Map<Node>) -> Vec<PlannedChange> {
    let found = differences(before, after).into_iter();
    found
        .map(|difference| PlannedChange {
            path: difference.path,
            before: difference.before.cloned(),
            after: difference.after.cloned(),
        })
        .collect()
}

/// The changes of what [`quiet`] removes, except kubectl's copy of the object.
fn insignificant_changes(before: &Object, after: &Object, sensitive: &[SensitivePath]) -> Vec<PlannedChange> {
    let (mut before, mut after) = (bookkeeping(before), bookkeeping(after));
    equate_nulls(before.body_mut(), after.body_mut());
    sensitive::hide(Some(&mut before), Some(&mut after), sensitive);
    changes_of_maps(before.body(), after.body())
}

/// Only what [`quiet`] removes from an object.
fn bookkeeping(object: &Object) -> Object {
    const DOWN_TO_ANNOTATIONS: usize = 3;
    let mut removed = Object::new(removed(object.body(), quiet(object).body(), DOWN_TO_ANNOTATIONS));
    let metadata = removed.metadata_mut();
    if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
    }
    // The timestamp of our own dry run always differs.
    if let Some(Node::List(managers)) = metadata.get_mut("managedFields") {
        for manager in managers {
            if let Node::Map(manager) = manager {
                manager.remove("time");
            }
        }
    }
    removed
}

/// The entries of `all` that are missing in `rest`, compared down to this many levels.
fn removed(all: &Map<Node>, rest: &Map<Node>, levels: usize) -> Map<Node> {
    let left = all.entries().iter().filter_map(|(key, value)| match (value, rest.get(key)) {
        (value, None) => Some((key.clone(), value.clone())),
        (Node::Map(all), Some(Node::Map(rest))) if levels > 1 => {
            let left = removed(all, rest, levels - 1);
            (!left.is_empty()).then(|| (key.clone(), Node::Map(left)))
        }
        _ => None,
    });
    left.collect()
}

/// kubectl's copy of an object, with the values of Secrets.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object without what changes by itself and without kubectl's copy of it, which has the values of Secrets.
fn quiet(object: &Object) -> Object {
    let mut object = tidied(object);
    let metadata = object.metadata_mut();
    metadata.remove("selfLink");
    if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

//! Executes a plan: creates, updates and deletes objects kind by kind, in Helm's install order, with all objects of a
//! kind in parallel.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_cluster::{FieldValidation, PropagationPolicy, WriteParams};
use pintle_objects::{Object, ObjectId};
use pintle_plan::recreation::{Recreation, recreation};
use pintle_plan::{self as plan, Action, ConflictPolicy, MergeBase, Plan, RESOURCE_POLICY, Step, batches};
use pintle_release::ObjectOwner;
use pintle_tree::{LogLevel, LogLine, Node};

use super::three_way::ThreeWayState;
use super::{Deletion, Executor, wait};
use crate::options::{Method, WaitStrategy};
use crate::progress::{AppliedObject, ApplyMethod, ObjectChange, Progress};
use crate::report::decision;
use crate::{Error, Reporter, Result, Session, crds};

impl Executor<'_> {
    /// Brings the cluster to the desired state.
    pub(super) async fn apply(
        &mut self,
        state: &ThreeWayState,
        plan: &Plan<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        warn_about_unmanaged(plan, reporter);
        // Helm tries every object when nothing exists yet and reports all errors together. With existing objects it
        // stops at the first one that cannot be created.
        let all_new = state.is_first() && plan.steps.iter().all(|step| step.action == Action::Create);
        if !all_new && self.deletion == Deletion::Obsolete {
            self.check_options()?;
        }
        warn_about_order(state, reporter);
        if self.deletion == Deletion::Obsolete {
            let report = &mut |progress| reporter.report(progress);
            self.debug_method(state.is_first(), all_new, plan.steps.len(), report);
        }
        let mut errors = Vec::new();
        let mut begin = 0;
        for (end, awaited) in stage_ends(state, plan) {
            for batch in batches(&plan.steps[begin..end]) {
                errors.extend(self.apply_kind(batch, state, all_new, reporter).await?);
            }
            begin = end;
            if !errors.is_empty() {
                break;
            }
            if !awaited.is_empty() {
                self.wait_for_stage(&awaited, reporter).await?;
            }
        }
        self.report_yielded(reporter);
        if all_new {
            return outcome(errors.into_iter().map(without_create_prefix).collect(), "\n");
        }
        outcome(errors, " && ")?;
        self.delete_removed(plan, state.stages(), reporter).await
    }

    /// Applies the objects of one kind. Returns the errors with which Helm goes on to the next kind.
    async fn apply_kind(
        &self,
        batch: &[Step<'_>],
        state: &ThreeWayState,
        all_new: bool,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Error>> {
        self.lease_guard.check().await?;
        let failures = self.apply_batch(batch, all_new, reporter).await;
        if failures.is_empty() {
            // CRDs come early in Helm's order, so that objects of their kinds are in later batches.
            self.await_new_kinds(batch, state).await?;
        }
        let refused = failures.iter().position(|error| matches!(error, Error::Create(_)));
        match (all_new, refused) {
            (false, Some(index)) => Err(failures.into_iter().nth(index).unwrap_or(Error::Cancelled)),
            _ => Ok(failures),
        }
    }

    /// Rejects combinations of options that exclude each other, with Helm's messages.
    fn check_options(&self) -> Result<()> {
        let by_server = self.method == Method::ServerSide;
        let takes = self.options.conflicts == ConflictPolicy::Take;
        let text = match (takes, self.options.force_replace) {
            (true, _) if !by_server => {
                "invalid client update option(s): forceConflicts enabled when serverSideApply disabled"
            }
            (true, true) => "invalid operation: cannot use force conflicts and force replace together",
            (_, true) if by_server => {
                "invalid operation: cannot use server-side apply and force replace together"
            }
            _ => return Ok(()),
        };
        Err(Error::Input(text.to_owned()))
    }

    /// Applies the objects of one kind and returns the errors. Created objects are recorded in `self.created`.
    async fn apply_batch(
        &self,
        batch: &[Step<'_>],
        all_new: bool,
        reporter: &mut dyn Reporter,
    ) -> Vec<Error> {
        let outcomes = run_concurrently(batch, |step| self.apply_and_record(step).boxed()).await;
        let mut errors = Vec::new();
        for (step, outcome) in batch.iter().zip(outcomes) {
            match outcome {
                Ok(change) => reporter.report(self.applied(&step.id, change, all_new)),
                Err(error) => {
                    reporter.report(Progress::Failed { id: step.id.clone(), reason: error.to_string() });
                    errors.push(error);
                }
            }
        }
        errors
    }

    /// Applies a step and records what it created.
    async fn apply_and_record(&self, step: &Step<'_>) -> Result<ObjectChange> {
        let note = |list: &Mutex<Vec<ObjectId>>| lock(list).push(step.id.clone());
        if step.action == Action::Create {
            note(&self.in_flight);
        }
        let outcome = self.apply_step(step).await;
        // Not reached if the operation is cancelled meanwhile: then it is unknown whether the object was created, and
        // `clean_up` looks it up.
        lock(&self.in_flight).retain(|id| *id != step.id);
        let written = outcome?;
        if written == ObjectChange::Created {
            note(&self.created);
        }
        Ok(written)
    }

    /// Applies a step.
    async fn apply_step(&self, step: &Step<'_>) -> Result<ObjectChange> {
        let mut owned = None;
        if let (Some(desired), Some(owner)) = (step.desired, self.owner().await?) {
            add_owner(owned.insert(desired.clone()), &self.version.namespace, owner);
        }
        let step = &Step { desired: owned.as_ref().or(step.desired), ..step.clone() };
        let mut apply_options = self.apply_options(step.action);
        // An adopted object may have been written by client-side apply, whoever did it.
        apply_options.upgrade_field_manager =
            self.method == Method::ServerSide && (self.migrate || step.action == Action::Adopt);
        match self.session.cluster.execute(step, &apply_options).await {
            Ok(Applied::Written(mut written)) => {
                let yielded = std::mem::take(&mut written.yielded).into_iter();
                let yielded = yielded.map(|conflict| (step.id.clone(), conflict));
                self.yielded.lock().unwrap_or_else(PoisonError::into_inner).extend(yielded);
                let created = written.created;
                if self.options.wait == WaitStrategy::Watcher {
                    self.written.lock().unwrap_or_else(PoisonError::into_inner).push(written);
                }
                Ok(if created { ObjectChange::Created } else { ObjectChange::Changed })
            }
            Ok(Applied::Unchanged | Applied::Deleted | Applied::NotFound) => Ok(ObjectChange::Unchanged),
            Err(error) if step.action == Action::Create => Err(Error::Create(error)),
            Err(error) => self.recreate(step, error).await.map(|()| ObjectChange::Changed),
        }
    }

    /// Deletes an object and creates it again, if its update was rejected because of an immutable field and the user
    /// or the chart allows it. Returns the error of the update otherwise.
    async fn recreate(&self, step: &Step<'_>, error: pintle_cluster::Error) -> Result<()> {
        let cluster = &self.session.cluster;
        let Some(desired) = step.desired else { return Err(error.into()) };
        if error.immutable_fields(None, None).is_empty() {
            return Err(error.into());
        }
        // The live object of the plan may have only its metadata.
        let Some(live) = cluster.get(&step.id).await? else { return Err(error.into()) };
        let propagation = match recreation(&live, desired, &self.options.recreate) {
            None => return Err(error.into()),
            Some(Recreation::DeleteDependents) => PropagationPolicy::Background,
            Some(Recreation::OrphanDependents) => PropagationPolicy::Orphan,
        };
        cluster.delete_object(&step.id, propagation).await?;
        wait::until_gone(self, std::slice::from_ref(&step.id)).await?;
        let create = Step { action: Action::Create, live: None, ..step.clone() };
        let created = cluster.execute(&create, &self.apply_options(Action::Create)).await;
        created.map(drop).map_err(Error::Create)
    }

    /// After CRDs of the release were applied: waits until the kinds that it also has objects of are served.
    async fn await_new_kinds(&self, batch: &[Step<'_>], state: &ThreeWayState) -> Result<()> {
        let is_crd = batch.first().is_some_and(|step| step.id.kind == "CustomResourceDefinition");
        if !is_crd || state.new_kinds().is_empty() {
            return Ok(());
        }
        let made: Vec<ObjectId> = batch.iter().map(|step| step.id.clone()).collect();
        crds::wait_until_established(self.session, &made).await?;
        crds::wait_until_served(self.session, state.new_kinds()).await;
        Ok(())
    }

    /// Reports the fields that were left to other managers.
    fn report_yielded(&self, reporter: &mut dyn Reporter) {
        let mut yielded = self.yielded.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, conflict) in yielded.drain(..) {
            let attributes = vec![
                ("kind", id.kind),
                ("name", id.name),
                ("field", conflict.field.clone()),
                ("manager", conflict.manager_name().to_owned()),
            ];
            let message = "a field was left to its manager".into();
            reporter.log_extra(LogLine { level: LogLevel::Info, message, attributes });
        }
    }

    fn apply_options(&self, action: Action) -> ApplyOptions {
        let custom_three_way = action == Action::Adopt;
        ApplyOptions {
            method: match self.method {
                _ if self.options.force_replace => plan::Method::Replace,
                Method::ServerSide => plan::Method::ServerSide,
                Method::ClientSide => plan::Method::ClientSide { custom_three_way },
            },
            conflicts: match action {
                // As in Helm, a new object is not forced.
                Action::Create if self.options.conflicts == ConflictPolicy::Take => ConflictPolicy::Fail,
                _ => self.options.conflicts,
            },
            validation: if self.strict_fields { FieldValidation::Strict } else { FieldValidation::Ignore },
            ..ApplyOptions::default()
        }
    }

    /// Reports how objects are created.
    pub(super) fn debug_creation(&self, count: usize, report: Report<'_>) {
        report(decision("creating resource(s)", &[("resources", &count.to_string())]));
        self.debug_creation_method(report);
    }

    fn debug_creation_method(&self, report: Report<'_>) {
        let mut debug = |message, attributes: &[(&'static str, &str)]| report(decision(message, attributes));
        match self.method {
            Method::ServerSide => debug(
                "using server-side apply for resource creation",
                &[self.forced(), ("dryRun", "false"), self.validation()],
            ),
            Method::ClientSide => debug("using client-side apply for resource creation", &[]),
        }
    }

    /// What is reported about an object that was applied.
    pub(super) fn applied(&self, id: &ObjectId, change: ObjectChange, among_new: bool) -> Progress {
        let method = match self.method {
            // Even then, new objects are created as the method says.
            _ if self.options.force_replace && change != ObjectChange::Created => ApplyMethod::Replace,
            Method::ServerSide => ApplyMethod::ServerSide,
            Method::ClientSide => ApplyMethod::ClientSide,
        };
        Progress::Applied(AppliedObject { id: id.clone(), change, method, among_new })
    }

    /// Reports how the objects of a plan are applied, as Helm does before the first of them.
    fn debug_method(&self, is_first: bool, all_new: bool, count: usize, report: Report<'_>) {
        match all_new {
            true if count == 0 => return,
            true => return self.debug_creation(count, report),
            false => self.debug_creation_method(report),
        }
        let (is_first, migrate) = (is_first.to_string(), self.migrate.to_string());
        let mut debug = |message, attributes: &[(&'static str, &str)]| report(decision(message, attributes));
        match self.method {
            _ if self.options.force_replace => {
                debug("using resource replace update strategy", &[self.validation()]);
            }
            Method::ServerSide => debug(
                "using server-side apply for resource update",
                &[
                    self.forced(),
                    ("dryRun", "false"),
                    self.validation(),
                    ("upgradeClientSideFieldManager", &migrate),
                ],
            ),
            Method::ClientSide => debug(
                "using client-side apply for resource update",
                &[("threeWayMergeForUnstructured", &is_first)],
            ),
        }
        debug("checking resources for changes", &[("resources", &count.to_string())]);
    }

    fn forced(&self) -> (&'static str, &'static str) {
        ("forceConflicts", if self.options.conflicts == ConflictPolicy::Take { "true" } else { "false" })
    }

    fn validation(&self) -> (&'static str, &'static str) {
        ("fieldValidationDirective", if self.strict_fields { "Strict" } else { "Ignore" })
    }

    /// Creates an object that is not part of a plan, such as a hook.
    pub(super) async fn create(&self, object: &Object) -> pintle_cluster::Result<()> {
        let step = Step {
            id: object.id(),
            action: Action::Create,
            desired: Some(object),
            previous: None,
            live: None,
        };
        self.session.cluster.execute(&step, &self.apply_options(Action::Create)).await.map(drop)
    }

    /// Sets the release as owner, if the store keeps releases as objects.
    pub(super) async fn set_owner(&self, object: &mut Object) -> Result<()> {
        if let Some(owner) = self.owner().await? {
            add_owner(object, &self.version.namespace, owner);
        }
        Ok(())
    }
}

/// Where decisions are reported to.
type Report<'a> = &'a mut dyn FnMut(Progress);

/// Sets the release as owner if the object is in the same namespace (owner references cannot cross namespaces). Objects
/// with a resource policy of `keep` get no owner, because garbage collection would delete them with the release.
pub(super) fn add_owner(object: &mut Object, namespace: &str, owner: &ObjectOwner) {
    if object.namespace() != namespace {
        return;
    }
    for (key, value) in &owner.labels {
        object.set_label(key, value);
    }
    if object.annotation(RESOURCE_POLICY).is_none() {
        let owners = vec![Node::Map(owner.reference.clone())];
        object.metadata_mut().insert("ownerReferences".into(), Node::List(owners));
    }
}

/// Locks a list. Poisoning is ignored: a push or retain cannot leave the list half changed.
pub(super) fn lock(list: &Mutex<Vec<ObjectId>>) -> MutexGuard<'_, Vec<ObjectId>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The index after the last step of each stage, and the objects that must be ready before the next one. Without an order
/// there is one stage.
fn stage_ends(state: &ThreeWayState, plan: &Plan<'_>) -> Vec<(usize, Vec<ObjectId>)> {
    let Some(stages) = state.stages().filter(|_| !plan.steps.is_empty()) else {
        return vec![(plan.steps.len(), Vec::new())];
    };
    let mut begin = 0;
    let mut ends = Vec::new();
    for stage in stages.stages.chunk_by(|one, next| one == next) {
        let end = begin + stage.len();
        let awaited = (begin..end).filter(|index| stages.is_awaited[*index]);
        ends.push((end, awaited.map(|index| plan.steps[index].id.clone()).collect()));
        begin = end;
    }
    ends
}

/// Warns about annotations for an order that have no effect.
fn warn_about_order(state: &ThreeWayState, reporter: &mut dyn Reporter) {
    for warning in state.stages().into_iter().flat_map(|stages| &stages.warnings) {
        reporter.log_extra(LogLine::warn(warning.clone(), Vec::new()));
    }
}

/// Warns about existing objects that are not part of the earlier version.
fn warn_about_unmanaged(plan: &Plan<'_>, reporter: &mut dyn Reporter) {
    for step in &plan.steps {
        if step.action == (Action::Update { base: MergeBase::Live }) {
            let id = &step.id;
            let attributes = vec![
                ("namespace", id.namespace.clone()),
                ("name", id.name.clone()),
                ("kind", id.kind.clone()),
            ];
            let text =
                "resource exists on cluster but not in original release, using cluster state as baseline";
            reporter.log(LogLine::warn(text, attributes));
        }
    }
}

/// Strips Helm's prefix for creation errors, which Helm does not add when everything is new.
fn without_create_prefix(error: Error) -> Error {
    match error {
        Error::Create(source) => Error::Cluster(source),
        other => other,
    }
}

pub(super) fn outcome(mut errors: Vec<Error>, separator: &'static str) -> Result<()> {
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(Error::Apply { errors, separator }),
    }
}

/// Creates an object that belongs to no version, such as a namespace. An existing one is not an error; returns whether it was
/// left alone.
pub(crate) async fn create_or_apply(session: &Session, object: &Object, method: Method) -> Result<bool> {
    let cluster = &session.cluster;
    match method {
        Method::ServerSide => cluster.apply_object(object, false, &WriteParams::strict()).await.map(drop)?,
        Method::ClientSide => match cluster.create_object(object, &WriteParams::default()).await {
            Ok(_) => {}
            Err(error) if error.is_already_exists() => return Ok(true),
            Err(error) => return Err(error.into()),
        },
    }
    Ok(false)
}

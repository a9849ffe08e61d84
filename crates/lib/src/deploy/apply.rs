//! Executes a plan: creates, updates and deletes objects kind by kind, in Helm's install order, with all objects of a
//! kind in parallel.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_cluster::{FieldValidation, PropagationPolicy, WriteParams};
use pintle_objects::{Object, ObjectId};
use pintle_plan::{self as plan, Action, MergeBase, Plan, RESOURCE_POLICY, Step, batches};
use pintle_tree::{LogLine, Map, Node};

use super::Executor;
use super::three_way::ThreeWayState;
use crate::options::Method;
use crate::{Error, Reporter, Result, Session};

impl Executor<'_> {
    /// Brings the cluster to the desired state.
    pub(super) async fn apply(
        &mut self,
        state: &mut ThreeWayState,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        for object in state.desired_mut() {
            self.set_owner(object).await?;
        }
        let plan = state.plan()?;
        warn_about_unmanaged(&plan, reporter);
        // Helm tries every object when nothing exists yet and reports all errors together. With existing objects it
        // stops at the first one that cannot be created.
        let all_new = state.is_first() && plan.steps.iter().all(|step| step.action == Action::Create);
        if !all_new {
            self.check_options()?;
        }
        let mut errors = Vec::new();
        for batch in batches(&plan.steps) {
            self.lease_guard.check().await?;
            let failures = self.apply_batch(batch).await;
            let refused = failures.iter().position(|error| matches!(error, Error::Create(_)));
            match (all_new, refused) {
                (false, Some(index)) => {
                    return Err(failures.into_iter().nth(index).unwrap_or(Error::Cancelled));
                }
                _ => errors.extend(failures),
            }
        }
        if all_new {
            return outcome(errors.into_iter().map(without_create_prefix).collect(), "\n");
        }
        outcome(errors, " && ")?;
        self.delete_removed(&plan).await
    }

    /// Rejects combinations of options that exclude each other, with Helm's messages.
    fn check_options(&self) -> Result<()> {
        let by_server = self.method == Method::ServerSide;
        let text = match (self.options.force_conflicts, self.options.force_replace) {
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
    async fn apply_batch(&self, batch: &[Step<'_>]) -> Vec<Error> {
        let outcomes = run_concurrently(batch, |step| self.apply_noted(step).boxed()).await;
        outcomes.into_iter().filter_map(Result::err).collect()
    }

    /// Applies a step and records what it created.
    async fn apply_noted(&self, step: &Step<'_>) -> Result<()> {
        let note = |list: &Mutex<Vec<ObjectId>>| lock(list).push(step.id.clone());
        if step.action == Action::Create {
            note(&self.in_flight);
        }
        let outcome = self.apply_step(step).await;
        lock(&self.in_flight).retain(|id| *id != step.id);
        if outcome? {
            note(&self.created);
        }
        Ok(())
    }

    /// Applies a step and returns whether it created an object.
    async fn apply_step(&self, step: &Step<'_>) -> Result<bool> {
        let mut apply_options = self.apply_options(step.action);
        apply_options.upgrade_field_manager =
            self.method == Method::ServerSide && (self.migrate || step.action == Action::Adopt);
        match self.session.cluster.execute(step, &apply_options).await {
            Ok(Applied::Written(written)) => Ok(written.created),
            Ok(Applied::Unchanged | Applied::Deleted | Applied::NotFound) => Ok(false),
            Err(error) if step.action == Action::Create => Err(Error::Create(error)),
            Err(error) => Err(error.into()),
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
            force_conflicts: self.options.force_conflicts && action != Action::Create,
            validation: if self.strict_fields { FieldValidation::Strict } else { FieldValidation::Ignore },
            ..ApplyOptions::default()
        }
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

    /// Deletes the objects of the earlier version that the new one no longer has.
    async fn delete_removed(&self, plan: &Plan<'_>) -> Result<()> {
        let removed: Vec<&ObjectId> =
            plan.removals.iter().filter(|step| step.action == Action::Delete).map(|step| &step.id).collect();
        let results = run_concurrently(&removed, |id| {
            async move {
                let deleted = self.session.cluster.delete_object(id, PropagationPolicy::Background).await;
                let what = || format!("namespace={}, name={}, kind={}", id.namespace, id.name, id.kind);
                deleted.map_err(|source| Error::Delete { what: what(), cause: Box::new(source) })
            }
            .boxed()
        });
        let results = results.await;
        outcome(results.into_iter().filter_map(Result::err).collect(), " && ")
    }

    /// Sets the release as owner, if the store keeps releases as objects.
    pub(super) async fn set_owner(&self, object: &mut Object) -> Result<()> {
        if let Some(owner) = self.owner().await? {
            add_owner(object, &self.version.namespace, owner);
        }
        Ok(())
    }
}

/// Sets the release as owner if the object is in the same namespace (owner references cannot cross namespaces). Objects
/// with a resource policy of `keep` get no owner, because garbage collection would delete them with the release.
pub(super) fn add_owner(object: &mut Object, namespace: &str, owner: &Map<Node>) {
    if object.namespace() == namespace && object.annotation(RESOURCE_POLICY).is_none() {
        let owners = vec![Node::Map(owner.clone())];
        object.metadata_mut().insert("ownerReferences".into(), Node::List(owners));
    }
}

/// Locks a list. Poisoning is ignored: a push or retain cannot leave the list half changed.
pub(super) fn lock(list: &Mutex<Vec<ObjectId>>) -> MutexGuard<'_, Vec<ObjectId>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
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

fn outcome(mut errors: Vec<Error>, separator: &'static str) -> Result<()> {
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(Error::Apply { errors, separator }),
    }
}

/// Creates an object that belongs to no version, such as a namespace. An existing one is not an error.
pub(crate) async fn create_or_apply(session: &Session, object: &Object, method: Method) -> Result<()> {
    let cluster = &session.cluster;
    match method {
        Method::ServerSide => cluster.apply_object(object, false, &WriteParams::strict()).await.map(drop)?,
        Method::ClientSide => match cluster.create_object(object, &WriteParams::default()).await {
            Ok(_) => {}
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error.into()),
        },
    }
    Ok(())
}

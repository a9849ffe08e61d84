//! `uninstall`: delete the objects and records of a release.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::{Detail, PropagationPolicy};
use pintle_events::Event as LifecycleEvent;
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_plan::Removal;
use pintle_release::{ReleaseVersion, Status, Summary};

use super::name;
use super::rollback::debug_superseded;
use crate::deploy::{self, Deletion, Executor, HookEvents, KeptObjects, Outcome, Ownership, ThreeWayState};
use crate::options::{DeployOptions, Method};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session};

/// The hook events of an uninstall. Helm has no prefix for their errors.
const EVENTS: HookEvents =
    HookEvents { before: (HookEvent::PreDelete, ""), after: (HookEvent::PostDelete, "") };

/// The lifecycle events of an uninstall.
const HANDLED: [LifecycleEvent; 2] = [LifecycleEvent::PreDelete, LifecycleEvent::PostDelete];

/// What to uninstall, and how.
#[derive(Clone, Debug, Default)]
pub struct UninstallRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Keeps the records, so that the release can be rolled back.
    pub keep_history: bool,
    /// Treats a missing release as success.
    pub ignore_not_found: bool,
    /// Deletion propagation for dependents (`--cascade`).
    pub cascade: PropagationPolicy,
    /// The description in the record; empty for the default.
    pub description: String,
    /// How hooks are run and deletions waited for.
    pub deploy: DeployOptions,
    /// Changes nothing.
    pub dry_run: bool,
    /// Refuses the uninstall, before anything is changed, unless the versions of the release satisfy it.
    pub precondition: Option<HistoryPrecondition>,
}

/// A condition on the versions of a release, oldest first, such as who made them. Returns why they do not satisfy it.
///
/// What is uninstalled afterwards is what was checked: if the newest version changes in between, the uninstall fails.
#[derive(Clone)]
pub struct HistoryPrecondition(Arc<CheckHistory>);

type CheckHistory = dyn Fn(&[Summary]) -> Result<(), String> + Send + Sync;

impl HistoryPrecondition {
    /// A condition by a function.
    pub fn new(check: impl Fn(&[Summary]) -> Result<(), String> + Send + Sync + 'static) -> Self {
        HistoryPrecondition(Arc::new(check))
    }
}

impl fmt::Debug for HistoryPrecondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HistoryPrecondition")
    }
}

/// The result of an uninstall.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// The version that was uninstalled.
    pub version: ReleaseVersion,
    /// The objects that are still there: kept by their resource policy, not owned by the release, or not readable.
    pub kept: KeptObjects,
}

/// Uninstalls a release. Returns `None` when it does not exist and `ignore_not_found` is set.
///
/// # Errors
/// The first stage that fails. The record then has the status `uninstalling`, and the uninstall can be repeated.
pub async fn uninstall(
    session: &Session,
    request: &UninstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<Option<Uninstalled>> {
    session.cluster.check_reachable().await?;
    if request.dry_run {
        let found = Records::find_for_update(session, &request.namespace, &request.name, true).await;
        let (records, history) = found?;
        return dry_run(session, &records, &history, request, reporter).await;
    }
    if !name::is_valid(&request.name) {
        return Err(Error::InvalidName {
            prefix: "uninstall: Release name is invalid",
            name: request.name.clone(),
        });
    }
    let unreadable =
        |source| Error::UninstallNotLoaded { name: request.name.clone(), cause: Box::new(source) };
    let found = Records::find_for_update(session, &request.namespace, &request.name, false).await;
    let (records, mut history) = found.map_err(|error| match error {
        Error::InOtherStore { .. } | Error::DuplicateRelease { .. } | Error::MoveInterrupted { .. } => error,
        other => unreadable(other),
    })?;
    if let Some(precondition) = request.precondition.as_ref().filter(|_| !history.is_empty()) {
        let name = request.name.clone();
        (precondition.0)(&history).map_err(|reason| Error::PreconditionFailed { name, reason })?;
    }
    let Some(last) = history.last_mut() else {
        let name = request.name.clone();
        return match request.ignore_not_found {
            _ if records.is_unreadable().await => Err(Error::NothingToUninstall { name }),
            true => Ok(None),
            false => Err(Error::UninstallNotFound { name }),
        };
    };
    // A client that is still deploying the release would recreate what is deleted here.
    // Without a lease it is a release of Helm's, which uninstalls pending versions, too.
    if last.lease.is_some() {
        records.ensure_unlocked(last).await?;
    }
    let version = records.load(last.number).await?;
    if version.info.status == Status::Uninstalled {
        return purge_uninstalled(session, &records, request, &history, version).await.map(Some);
    }
    reporter.debug("uninstall: deleting release", &[("name", &request.name)]);
    if !request.deploy.hooks {
        reporter.debug("delete hooks disabled", &[("release", &request.name)]);
    }
    let session = &session.with_stored_scripts(&version, request.deploy.timeout, &HANDLED).await?;
    let outcome = run(session, request, &records, &history, version, reporter).await;
    session.finish(outcome, reporter).map(Some)
}

async fn dry_run(
    session: &Session,
    records: &Records<'_>,
    history: &[Summary],
    request: &UninstallRequest,
    reporter: &mut dyn Reporter,
) -> Result<Option<Uninstalled>> {
    let Some(last) = history.last() else {
        return if request.ignore_not_found { Ok(None) } else { Err(records.missing().await) };
    };
    let version = records.load(last.number).await?;
    // As in Helm, a manifest that cannot be read is an error of the uninstall, not of its dry run.
    let kept = match pintle_plan::removal(&version.manifest) {
        Ok(removal) => kept_by_dry_run(session, &version, removal, reporter).await,
        Err(_) => KeptObjects::default(),
    };
    Ok(Some(Uninstalled { version, kept }))
}

/// Returns what an uninstall would not delete.
async fn kept_by_dry_run(
    session: &Session,
    version: &ReleaseVersion,
    removal: Removal,
    reporter: &mut dyn Reporter,
) -> KeptObjects {
    let Removal { delete, keep } = removal;
    let mut ownership = Ownership::default();
    if let Ok(objects) = deploy::in_scope(&session.cluster, delete, &version.namespace).await {
        let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
        ownership = Ownership::read(&session.cluster, &ids, version).await;
        ownership.log_dry_run(&version.name, reporter);
    }
    KeptObjects { by_policy: keep, ..ownership.kept }
}

/// Deletes the records of a release whose objects are already deleted.
async fn purge_uninstalled(
    session: &Session,
    records: &Records<'_>,
    request: &UninstallRequest,
    history: &[Summary],
    version: ReleaseVersion,
) -> Result<Uninstalled> {
    if request.keep_history {
        return Err(Error::AlreadyDeleted { name: request.name.clone() });
    }
    let objects_stay = has_objects(session, records, &version).await?;
    purge(records, history, objects_stay).await?;
    records.remove_markers().await?;
    Ok(Uninstalled { version, kept: KeptObjects::default() })
}

/// Returns whether objects of an uninstalled version are still there that the records own: those that did not belong to the
/// release when it was uninstalled. They would be deleted with the records.
async fn has_objects(session: &Session, records: &Records<'_>, version: &ReleaseVersion) -> Result<bool> {
    if records.store().owner(&version.namespace, &version.name).await?.is_none() {
        return Ok(false);
    }
    let Ok(removal) = pintle_plan::removal(&version.manifest) else { return Ok(true) };
    let Ok(objects) = deploy::in_scope(&session.cluster, removal.delete, &version.namespace).await else {
        return Ok(true);
    };
    let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
    let read = session.cluster.snapshot_readable(&ids, Detail::MetadataOnly).await;
    Ok(!read.live.is_empty() || !read.unreadable.is_empty())
}

/// Deploys an empty set of objects, and records that or deletes the records.
async fn run(
    session: &Session,
    request: &UninstallRequest,
    records: &Records<'_>,
    history: &[Summary],
    mut version: ReleaseVersion,
    reporter: &mut dyn Reporter,
) -> Result<Uninstalled> {
    let Some(observed) = history.last() else {
        return Err(Error::UninstallNotFound { name: request.name.clone() });
    };
    let unfinished = records.unfinished(history, version.number).await?;
    let before = version.clone();
    version.info.status = Status::Uninstalling;
    version.info.deleted = Some(session.clock.now());
    version.info.description = "Deletion in progress (or silently failed)".to_owned();
    let (mut state, removal) = removal_state(session, &version, &unfinished, request.deploy.ordered).await?;
    let mut executor = Executor::new(session, records, version, &request.deploy, Method::ServerSide);
    executor.deletion = Deletion::Uninstall(request.cascade);
    executor.emit(LifecycleEvent::PreDelete).await?;
    // Kinds that the cluster does not serve are an error only after the hooks, which may install them.
    let (begun, _) = futures::join!(executor.begin_uninstall(observed), state.scope(session));
    begun?;
    let plan = state.plan()?;
    executor.terminate_hooks_of_failed(&unfinished, &before).await;
    match executor.deploy(&state, &plan, EVENTS, reporter).await {
        Ok(problems) => {
            debug_records(request, history, &before, reporter);
            finish(request, records, history, executor, &before, problems, &removal).await
        }
        Err(error) => {
            // The caller already gets an error; one about the lease would hide it.
            let _ = executor.release_lease().await;
            Err(error)
        }
    }
}

/// Reports what happens to the records.
fn debug_records(
    request: &UninstallRequest,
    history: &[Summary],
    before: &ReleaseVersion,
    reporter: &mut dyn Reporter,
) {
    if request.keep_history {
        debug_superseded(history, before.number, reporter);
    } else {
        reporter.debug("purge requested", &[("release", &request.name)]);
    }
}

/// Reads what an uninstall of a version deletes, together with what failed versions left behind.
///
/// # Errors
/// When the manifest of the version or the cluster cannot be read.
pub(super) async fn removal_state(
    session: &Session,
    version: &ReleaseVersion,
    unfinished: &[ReleaseVersion],
    ordered: bool,
) -> Result<(ThreeWayState, Removal)> {
    let failed = |source: pintle_plan::RemovalError| Error::DeleteFailed {
        name: version.name.clone(),
        source: Box::new(source.into()),
    };
    let removal = pintle_plan::removal(&version.manifest).map_err(failed)?;
    let mut state = ThreeWayState::for_removal(version, &removal, ordered)?;
    // Objects of this version with a resource policy of `keep` are not in `removal.delete`, and no earlier version
    // may delete them either.
    state.add_orphans(session, unfinished).await?;
    Ok((state, removal))
}

/// Records the end of an uninstall: deletes the records, or marks the version as uninstalled.
///
/// # Errors
/// When the record cannot be written, or anything failed after the objects were deleted.
async fn finish(
    request: &UninstallRequest,
    records: &Records<'_>,
    history: &[Summary],
    mut executor: Executor<'_>,
    before: &ReleaseVersion,
    problems: Vec<Error>,
    removal: &Removal,
) -> Result<Uninstalled> {
    let text = if request.description.is_empty() { "Uninstallation complete" } else { &request.description };
    let text = described(text, &problems);
    let mut problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if request.keep_history {
        executor.finish(Outcome::Uninstalled(text)).await?;
        records.supersede_all_but(executor.version.number, history, before).await?;
    } else {
        executor.check_lease().await?;
        executor.version.info.status = Status::Uninstalled;
        executor.version.info.description = text;
        let kept = &executor.kept;
        let objects_stay = !kept.not_owned.is_empty() || !kept.not_verified.is_empty();
        let purged = match purge(records, history, objects_stay).await {
            Ok(()) => records.remove_markers().await,
            failed => failed,
        };
        if let Err(error) = purged {
            problems.push(error.to_string());
        }
    }
    if problems.is_empty() {
        let kept = KeptObjects { by_policy: removal.keep.clone(), ..executor.kept };
        return Ok(Uninstalled { version: executor.version, kept });
    }
    Err(Error::UninstalledWithErrors { problems })
}

/// Returns the description for the record, with the errors of handlers, which Helm does not have.
fn described(text: &str, problems: &[Error]) -> String {
    match problems.iter().find(|problem| matches!(problem, Error::Event(_))) {
        Some(problem) => format!("{text}, but {problem}"),
        None => text.to_owned(),
    }
}

/// Deletes the records, newest last: as long as one exists, an interrupted uninstall can be recognized and repeated.
/// With `objects_stay`, objects that the records own are not deleted with them.
async fn purge(records: &Records<'_>, history: &[Summary], objects_stay: bool) -> Result<()> {
    let Some((last, earlier)) = history.split_last() else { return Ok(()) };
    let delete = |version: &Summary| records.delete(version.number);
    let deleted = run_concurrently(earlier, |version| delete(version).boxed()).await;
    let deleted = deleted.into_iter().collect::<Result<()>>();
    let deleted = match deleted {
        Ok(()) if objects_stay => records.delete_and_orphan(last.number).await,
        Ok(()) => delete(last).await,
        failed => failed,
    };
    deleted.map_err(|source| Error::PurgeFailed { cause: Box::new(source) })
}

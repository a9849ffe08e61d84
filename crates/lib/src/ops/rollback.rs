//! `rollback`: deploy a stored version again, without rendering.

use pintle_events::Event as LifecycleEvent;
use pintle_objects::{HookEvent, Validation};
use pintle_release::{HookRun, Info, ReleaseVersion, Status, Summary, VersionRef};
use pintle_tree::LogLine;

use super::name;
use super::plan::{Draft, Operation};
use crate::deploy::{
    self, AdoptionPolicy, Executor, ForeseenHandlers, HookEvents, Outcome, PlanOptions, ThreeWayState,
};
use crate::lifecycle::record_metadata;
use crate::options::{DeployOptions, DryRun, Method, MethodChoice};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session};

/// How many characters (code points) the description of a rollback may have, as in Helm.
pub const MAX_DESCRIPTION_LENGTH: usize = 256;

/// The lifecycle events of a rollback.
const HANDLED: [LifecycleEvent; 5] = [
    LifecycleEvent::PreRollback,
    LifecycleEvent::PostRollback,
    LifecycleEvent::Wait,
    LifecycleEvent::Watch,
    LifecycleEvent::Ready,
];

/// What to roll back to, and how.
#[derive(Clone, Debug)]
pub struct RollbackRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The version to roll back to.
    pub to: VersionRef,
    /// Who merges changes into live objects.
    pub method: MethodChoice,
    /// Deletes the objects that a failed rollback created.
    pub cleanup_on_fail: bool,
    /// How many versions to keep; 0 for all.
    pub max_history: u64,
    /// The description in the record, of at most [`MAX_DESCRIPTION_LENGTH`] characters; empty for `Rollback to N`.
    pub description: String,
    /// How the release is applied.
    pub deploy: DeployOptions,
    /// Whether the rollback only shows what it would do.
    pub dry_run: DryRun,
}

impl Default for RollbackRequest {
    fn default() -> Self {
        RollbackRequest {
            name: String::new(),
            namespace: String::new(),
            to: VersionRef::Before(1),
            method: MethodChoice::Auto,
            cleanup_on_fail: false,
            max_history: 0,
            description: String::new(),
            deploy: DeployOptions::default(),
            dry_run: DryRun::None,
        }
    }
}

/// Checks the length of the description of a rollback.
///
/// # Errors
/// A description of more than [`MAX_DESCRIPTION_LENGTH`] characters.
pub fn check_rollback_description(description: &str) -> Result<()> {
    match description.chars().count() {
        length if length > MAX_DESCRIPTION_LENGTH => Err(Error::DescriptionTooLong { length }),
        _ => Ok(()),
    }
}

/// Rolls a release back to an earlier version, which becomes the newest.
///
/// # Errors
/// The first stage that fails. If anything was applied, the version is recorded as failed.
pub async fn rollback(
    session: &Session,
    request: &RollbackRequest,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    check_rollback_description(&request.description)?;
    session.cluster.check_reachable().await?;
    if !name::is_valid(&request.name) {
        return Err(Error::InvalidName {
            prefix: "prepareRollback: Release name is invalid",
            name: request.name.clone(),
        });
    }
    let dry_run = request.dry_run.is_dry_run();
    let name = [("name", request.name.as_str())];
    reporter.debug("preparing rollback", &name);
    let found = Records::find_for_update(session, &request.namespace, &request.name, dry_run).await;
    let (records, mut history) = found?;
    if history.is_empty() {
        return Err(records.missing().await);
    }
    let number = target_number(&records, &history, &request.to)?;
    if !dry_run && let Some(last) = history.last_mut() {
        ensure_unlocked(&records, last).await?;
    }
    let (current, source) = load_both(&records, history.last().map_or(0, |last| last.number), number).await?;
    let (from, to) = (current.number.to_string(), number.to_string());
    reporter.debug("rolling back", &[name[0], ("currentVersion", &from), ("targetVersion", &to)]);
    let method = request.method.resolve(&source.apply_method);
    let version = next_version(session, &current, source, method, &request.description);
    session.record_objects.check_version(&version, reporter)?;
    if dry_run {
        reporter.debug("performing rollback", &name);
        reporter.debug("dry run", &name);
        return Ok(version);
    }
    let session = &session.with_stored_scripts(&version, request.deploy.timeout, &HANDLED).await?;
    let outcome = run(session, request, &records, &history, current, version, method, reporter).await;
    session.finish(outcome, reporter)
}

/// Compares an earlier version with the cluster, for `plan`.
pub(super) async fn draft(
    session: &Session,
    request: &RollbackRequest,
    reporter: &mut dyn Reporter,
) -> Result<Draft> {
    check_rollback_description(&request.description)?;
    session.cluster.check_reachable().await?;
    let (records, history) =
        Records::find_for_update(session, &request.namespace, &request.name, true).await?;
    if history.is_empty() {
        return Err(records.missing().await);
    }
    let number = target_number(&records, &history, &request.to)?;
    let last = history.last().map_or(0, |last| last.number);
    let (current, source) = load_both(&records, last, number).await?;
    let method = request.method.resolve(&source.apply_method);
    let version = next_version(session, &current, source, method, &request.description);
    session.record_objects.check_version(&version, reporter)?;
    let options = PlanOptions {
        method,
        adoption: AdoptionPolicy::Unchecked,
        validation: Validation::Ignore,
        ordered: request.deploy.ordered,
    };
    let mut state = ThreeWayState::load(session, &version, Some(&current), options).await?;
    state.add_orphans(session, &records.unfinished(&history, current.number).await?).await?;
    let migrate = method == Method::ServerSide;
    let from = history.last().cloned();
    let (crds, handlers) = (Vec::new(), ForeseenHandlers::default());
    Ok(Draft { operation: Operation::Rollback, migrate, method, from, crds, version, state, handlers })
}

/// Loads the newest version and the one to roll back to.
async fn load_both(
    records: &Records<'_>,
    last: u64,
    wanted: u64,
) -> Result<(ReleaseVersion, ReleaseVersion)> {
    if last == wanted {
        let current = records.load(last).await?;
        return Ok((current.clone(), current));
    }
    futures::try_join!(records.load(last), records.load(wanted))
}

/// Helm allows a rollback while a version is pending. So do we, unless the holder of its lease is alive.
async fn ensure_unlocked(records: &Records<'_>, last: &mut Summary) -> Result<()> {
    match &last.lease {
        Some(_) => records.ensure_unlocked(last).await,
        None => Ok(()),
    }
}

fn target_number(records: &Records<'_>, history: &[Summary], to: &VersionRef) -> Result<u64> {
    let last = history.last().map_or(0, |last| last.number);
    let number = match to {
        VersionRef::Before(steps) => last.saturating_sub(u64::from(*steps)),
        other => records.number(history, other)?,
    };
    if history.iter().any(|version| version.number == number) {
        return Ok(number);
    }
    Err(Error::NoSuchVersion { number, known: history.iter().map(|version| version.number).collect() })
}

fn next_version(
    session: &Session,
    current: &ReleaseVersion,
    source: ReleaseVersion,
    method: Method,
    description: &str,
) -> ReleaseVersion {
    let number = current.number + 1;
    let noted = record_metadata::recorded_permissions(&source);
    let listens_to_list_events = record_metadata::listens_to_list_events(source.number, &source.labels);
    let mut version = ReleaseVersion {
        namespace: current.namespace.clone(),
        number,
        id: None,
        info: Info {
            first_deployed: current.info.first_deployed,
            last_deployed: Some(session.clock.now()),
            deleted: None,
            description: match description {
                "" => format!("Rollback to {}", source.number),
                given => given.to_owned(),
            },
            status: Status::PendingRollback,
            notes: source.info.notes.clone(),
            rollback_revision: Some(source.number),
        },
        apply_method: method.as_str().to_owned(),
        ..source
    };
    if let Some(preserved) = &mut version.preserved {
        preserved.no_namespace = false;
    }
    record_metadata::record_permissions(&mut version.labels, number, &noted);
    record_metadata::record_list_events(&mut version.labels, number, listens_to_list_events);
    // The results of earlier hook runs belong to the earlier version.
    for hook in &mut version.hooks {
        hook.last_run = HookRun::default();
    }
    version
}

#[allow(clippy::too_many_arguments, reason = "the facts that a rollback has gathered by now")]
async fn run(
    session: &Session,
    request: &RollbackRequest,
    records: &Records<'_>,
    history: &[Summary],
    mut current: ReleaseVersion,
    version: ReleaseVersion,
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<ReleaseVersion> {
    let mut executor = Executor::new(session, records, version, &request.deploy, method);
    // As in Helm, unknown fields are an error for server-side apply and for replacement, but not for client-side
    // patches.
    executor.strict_fields = method == Method::ServerSide || request.deploy.force_replace;
    // Whatever the newest version was applied with, as in Helm: one that failed may have left objects of client-side apply.
    executor.migrate = method == Method::ServerSide;
    executor.emit(LifecycleEvent::PreRollback).await?;
    let events = HookEvents { before: (HookEvent::PreRollback, ""), after: (HookEvent::PostRollback, "") };
    deploy::check_documents(&current.manifest, "current release manifest")?;
    deploy::check_documents(&executor.version.manifest, "new release manifest")?;
    executor.check_hooks(&events)?;
    // Creating the next version fails if another client was faster, so from here on the history cannot have changed
    // since it was read.
    let wanted = executor.version.clone();
    let load = async {
        let unfinished = records.unfinished(history, current.number).await?;
        let options = PlanOptions {
            method,
            adoption: AdoptionPolicy::Unchecked,
            validation: Validation::Ignore,
            ordered: request.deploy.ordered,
        };
        let mut state = ThreeWayState::load(session, &wanted, Some(&current), options).await?;
        state.add_orphans(session, &unfinished).await?;
        Ok::<_, Error>((state, unfinished))
    };
    let name = [("name", request.name.as_str())];
    reporter.debug("creating rolled back release", &name);
    let (begun, loaded) = futures::join!(executor.begin(history, request.max_history), load);
    begun?;
    reporter.debug("performing rollback", &name);
    if !request.deploy.hooks {
        reporter.debug("rollback hooks disabled", &name);
    }
    let outcome = async {
        let (state, unfinished) = loaded?;
        let plan = state.plan()?;
        executor.terminate_hooks_of_failed(&unfinished, &current).await;
        executor.deploy(&state, &plan, events, reporter).await
    };
    match outcome.await {
        Ok(_) => {
            let text = executor.version.info.description.clone();
            debug_superseded(history, executor.version.number, reporter);
            records.supersede_all_but(executor.version.number, history, &current).await?;
            reporter.debug("updating status for rolled back release", &name);
            executor.finish(Outcome::Deployed(text)).await?;
            Ok(executor.version)
        }
        Err(error) => Err(failed(request, &mut executor, &mut current, error, reporter).await),
    }
}

/// Reports which versions are no longer the deployed one.
pub(super) fn debug_superseded(history: &[Summary], newest: u64, reporter: &mut dyn Reporter) {
    let deployed = history.iter().filter(|old| old.status == Status::Deployed && old.number != newest);
    for old in deployed {
        reporter.debug("superseding previous deployment", &[("version", &old.number.to_string())]);
    }
}

/// Records the failure, and deletes created objects if `cleanup_on_fail` is set. `current` is the previously deployed
/// version.
async fn failed(
    request: &RollbackRequest,
    executor: &mut Executor<'_>,
    current: &mut ReleaseVersion,
    error: Error,
    reporter: &mut dyn Reporter,
) -> Error {
    let waited = executor.reached_waiting();
    let text = match waited {
        true => format!("Release {:?} failed: {error}", request.name),
        false => format!("Rollback {:?} failed: {error}", request.name),
    };
    if !waited {
        reporter.log_failure(LogLine::warn(text.clone(), Vec::new()));
    }
    if executor.has_applied() && !waited {
        // The caller already gets an error; one about the record would hide it.
        let _ = executor.supersede(current).await;
    }
    let is_ours = executor.record_failure(text).await;
    if is_ours
        && request.cleanup_on_fail
        && !waited
        && let Err(second) =
            executor.clean_up("cleanup on fail set, cleaning up resources", "count", reporter).await
    {
        return Error::CleanUpFailed {
            operation: "rollback",
            first: Box::new(error),
            second: Box::new(second),
        };
    }
    if waited { Error::ReleaseFailed { name: request.name.clone(), cause: Box::new(error) } } else { error }
}

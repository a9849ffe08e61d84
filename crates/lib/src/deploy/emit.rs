//! Emits lifecycle events while a release is deployed. Handlers run on blocking threads.

use pintle_events::{Context, Event, ReadinessInfo};
use pintle_objects::{HookEvent, Object, ObjectId, Order};
use pintle_release::{ReleaseVersion, StoredHook};
use pintle_tree::LogLine;

use super::Executor;
use crate::lifecycle::context;
use crate::lifecycle::objects::{Documents, Files};
use crate::ops::DeferredHandlers;
use crate::options::WaitStrategy;
use crate::progress::Progress;
use crate::{Error, Reporter, Result, Session, hook_problems, live, manifest};

/// Emits an event that is not about a release.
///
/// # Errors
/// The first error of a handler.
pub(crate) async fn emit_without_release(session: &Session, event: Event) -> Result<()> {
    if session.events.listens(event) {
        let context = Context::default().with_capabilities(live::capability_info(session).await?);
        session.events.emit_async(event, context).await?;
    }
    Ok(())
}

/// Emits a read-only event about a version.
///
/// # Errors
/// The first error of a handler.
pub(crate) async fn emit(
    session: &Session,
    event: Event,
    version: &ReleaseVersion,
    context: &Context,
) -> Result<()> {
    if session.events.listens(event) {
        let documents = Documents::from_version(version);
        let context = version_context(session, version, context.clone(), &documents).await?;
        session.events.emit_async(event, context).await?;
    }
    Ok(())
}

/// Emits an event about a version whose handlers may change its objects. Returns whether they did.
///
/// # Errors
/// The first error of a handler, or why the changed objects are invalid.
pub(crate) async fn emit_mut(
    session: &Session,
    event: Event,
    version: &mut ReleaseVersion,
    context: &Context,
    reporter: &mut dyn Reporter,
) -> Result<bool> {
    if !session.events.listens(event) {
        return Ok(false);
    }
    reporter.report(Progress::Event(event));
    match emit_and_take_changes(session, event, version, context.clone()).await? {
        None => Ok(false),
        Some(files) => {
            (version.manifest, version.hooks) = sort_files(session, &files, reporter)?;
            Ok(true)
        }
    }
}

/// What handlers that may change objects do in an operation that changes nothing, such as a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeseenHandlers {
    /// If they changed objects: what was rendered before. Only the manifest and the hooks count.
    pub(crate) rendered: Option<Box<ReleaseVersion>>,
    /// If they were not called: why.
    pub(crate) deferred: Option<DeferredHandlers>,
}

/// Calls the handlers of an event for an operation that changes nothing, unless they may have effects.
///
/// # Errors
/// The first error of a handler, or why the changed objects are invalid.
pub(crate) async fn foresee(
    session: &Session,
    event: Event,
    version: &mut ReleaseVersion,
    context: &Context,
    reporter: &mut dyn Reporter,
) -> Result<ForeseenHandlers> {
    if !session.events.listens(event) {
        return Ok(ForeseenHandlers::default());
    }
    if let Some(reason) = session.events.effects(event) {
        let deferred = Some(DeferredHandlers { event: event.to_string(), reason });
        return Ok(ForeseenHandlers { deferred, rendered: None });
    }
    let before = (version.manifest.clone(), version.hooks.clone());
    let changed = emit_mut(session, event, version, context, reporter).await?;
    let (manifest, hooks) = before;
    let rendered = changed.then(|| Box::new(ReleaseVersion { manifest, hooks, ..ReleaseVersion::default() }));
    Ok(ForeseenHandlers { rendered, deferred: None })
}

/// Emits the event before a planned version is deployed. Handlers that were called for the plan see what was rendered, and
/// can still fail, but the plan is deployed as it is. Those that the plan has deferred may change objects. Returns whether
/// they did.
///
/// # Errors
/// As [`emit_mut`].
pub(crate) async fn emit_planned(
    session: &Session,
    event: Event,
    version: &mut ReleaseVersion,
    foreseen: &ForeseenHandlers,
    context: &Context,
    reporter: &mut dyn Reporter,
) -> Result<bool> {
    if foreseen.deferred.is_some() {
        return emit_mut(session, event, version, context, reporter).await;
    }
    if !session.events.listens(event) {
        return Ok(false);
    }
    let mut again = version.clone();
    if let Some(rendered) = &foreseen.rendered {
        again.manifest.clone_from(&rendered.manifest);
        again.hooks.clone_from(&rendered.hooks);
    }
    emit_mut(session, event, &mut again, context, reporter).await?;
    if !has_same_objects(&again, version) {
        let text = format!(
            "handlers of `{event}` would now make other objects than they did for the plan; those of the plan are applied"
        );
        reporter.log(LogLine::warn(text, Vec::new()));
    }
    Ok(false)
}

fn has_same_objects(a: &ReleaseVersion, b: &ReleaseVersion) -> bool {
    let hooks = |version: &ReleaseVersion| -> Vec<String> {
        version.hooks.iter().map(|hook| hook.manifest.clone()).collect()
    };
    a.manifest == b.manifest && hooks(a) == hooks(b)
}

/// Emits an event and returns the changed objects; `None` when handlers did not change any.
async fn emit_and_take_changes(
    session: &Session,
    event: Event,
    version: &ReleaseVersion,
    context: Context,
) -> Result<Option<Files>> {
    let documents = Documents::from_version(version);
    let context = version_context(session, version, context, &documents).await?;
    let mut context = session.events.emit_async(event, context).await?;
    documents.with_changes(context.take_objects(), event, &version.chart.metadata.name)
}

/// Completes the context of a version. What was just rendered has the capabilities that it was rendered with; for a stored
/// version they are those of the cluster.
async fn version_context(
    session: &Session,
    version: &ReleaseVersion,
    context: Context,
    documents: &Documents,
) -> Result<Context> {
    let context = match context.capabilities() {
        Some(_) => context,
        // Boxed, here and below: what rarely happens must not enlarge the future of every operation.
        None => context.with_capabilities(Box::pin(live::capability_info(session)).await?),
    };
    Ok(context.with_release(context::release(version)).with_objects(documents.objects()))
}

/// Sorts changed objects into the manifest and hooks of a release record.
fn sort_files(
    session: &Session,
    files: &Files,
    reporter: &mut dyn Reporter,
) -> Result<(String, Vec<StoredHook>)> {
    let sorted = pintle_objects::sort(files, Order::Install)
        .map_err(|source| Error::Objects { cause: Box::new(source), rendered: Vec::new() })?;
    session.record_objects.check(&sorted, reporter)?;
    for problem in hook_problems::find(&sorted, None) {
        reporter.log_extra(problem.warning());
    }
    manifest::split_hooks(&sorted, false, reporter)
}

/// Splits hooks into tests and others.
fn partition_tests(hooks: Vec<StoredHook>) -> (Vec<StoredHook>, Vec<StoredHook>) {
    hooks.into_iter().partition(|hook| hook.events.contains(&HookEvent::Test))
}

/// Returns whether everything but the tests equals the version.
fn only_tests_differ(version: &ReleaseVersion, manifest: &str, hooks: &[StoredHook]) -> bool {
    let objects = |manifest: &str, hooks: &[StoredHook]| {
        let (_, others) = partition_tests(hooks.to_vec());
        let texts = std::iter::once(manifest).chain(others.iter().map(|hook| hook.manifest.as_str()));
        let read = |text: &str| Object::read_manifest(text.as_bytes(), "").unwrap_or_default();
        let mut objects: Vec<(ObjectId, Object)> =
            texts.flat_map(read).map(|object| (object.id(), object)).collect();
        objects.sort_by(|(a, _), (b, _)| a.cmp(b));
        objects
    };
    objects(&version.manifest, &version.hooks) == objects(manifest, hooks)
}

impl Executor<'_> {
    /// Emits an event about the version that is being deployed.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(crate) async fn emit(&self, event: Event) -> Result<()> {
        if !self.session.events.listens(event) {
            return Ok(());
        }
        let context = match &self.context {
            Some(context) => context.clone(),
            // The chart is not needed to uninstall, and may not even be readable any more.
            None if matches!(event, Event::PreDelete | Event::PostDelete) => Context::default(),
            None => context::for_version(&self.version),
        };
        emit(self.session, event, &self.version, &context).await
    }

    /// Emits the lifecycle event with the name of a hook event.
    pub(super) async fn emit_hook_event(&self, event: HookEvent) -> Result<()> {
        match Event::for_handlers(event.as_str()) {
            Ok(event) => self.emit(event).await,
            // There is no lifecycle event `test`; handlers have `pre-test` and `post-test` instead.
            Err(_) => Ok(()),
        }
    }

    /// Emits an event around waiting, if the operation waits.
    pub(super) async fn emit_waiting(&self, event: Event) -> Result<()> {
        if self.options.wait == WaitStrategy::HookOnly { Ok(()) } else { self.emit(event).await }
    }

    /// Emits `watch`: the readiness of an object that is waited for has changed.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(super) async fn emit_watch(&self, facts: ReadinessInfo) -> Result<()> {
        let context = self.context.clone().unwrap_or_else(|| context::for_version(&self.version));
        emit(self.session, Event::Watch, &self.version, &context.with_readiness(facts)).await
    }

    /// Emits `pre-test` with all objects of the stored version. Handlers may change the tests for this run; if they
    /// did, returns the hooks as stored, to be passed to [`Executor::merge_test_results`].
    ///
    /// # Errors
    /// The first error of a handler, or why the changed tests are invalid.
    pub(crate) async fn emit_pre_test(
        &mut self,
        reporter: &mut dyn Reporter,
    ) -> Result<Option<Vec<StoredHook>>> {
        let event = Event::PreTest;
        if !self.session.events.listens(event) {
            return Ok(None);
        }
        match emit_and_take_changes(self.session, event, &self.version, context::for_version(&self.version))
            .await?
        {
            None => Ok(None),
            Some(files) => {
                let (manifest, hooks) = sort_files(self.session, &files, reporter)?;
                if !only_tests_differ(&self.version, &manifest, &hooks) {
                    let text = format!(
                        "a handler of `{event}` changed objects that are not tests; these changes are ignored"
                    );
                    reporter.log(LogLine::warn(text, Vec::new()));
                }
                let (tests, _) = partition_tests(hooks);
                Ok(Some(std::mem::replace(&mut self.version.hooks, tests)))
            }
        }
    }

    /// Emits `post-test`, then `failed-test` if a test failed, whatever the handlers of `post-test` did.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(crate) async fn emit_tested(&self, failed: bool) -> Result<()> {
        let tested = self.emit(Event::PostTest).await;
        if failed {
            let outcome = self.emit(Event::FailedTest).await;
            return tested.and(outcome);
        }
        tested
    }

    /// Returns the stored hooks with the results of this run. Changes that handlers made to the tests are not
    /// recorded.
    pub(crate) fn merge_test_results(&mut self, stored: Option<Vec<StoredHook>>) -> Vec<StoredHook> {
        let tested = std::mem::take(&mut self.version.hooks);
        let Some(mut stored) = stored else { return tested };
        for hook in &mut stored {
            let same = |other: &&StoredHook| {
                (&other.path, &other.kind, &other.name) == (&hook.path, &hook.kind, &hook.name)
            };
            if let Some(run) = tested.iter().find(same) {
                hook.last_run = run.last_run.clone();
            }
        }
        stored
    }
}

//! Telling lifecycle events while a release is delivered. Handlers run on threads of their own, where they may wait.

use pintle_events::{Context, Event, ReadinessInfo};
use pintle_objects::{HookEvent, Object, ObjectId, Order};
use pintle_release::{ReleaseVersion, StoredHook};
use pintle_tree::LogLine;

use super::Executor;
use crate::lifecycle::context;
use crate::lifecycle::objects::{Documents, Files};
use crate::options::WaitStrategy;
use crate::{Error, Reporter, Result, Session, live};

/// Tells an event that is about no release.
///
/// # Errors
/// The first error of a handler.
pub(crate) async fn emit_without_release(session: &Session, event: Event) -> Result<()> {
    if session.events.listens(event) {
        session.events.emit_async(event, Context::default()).await?;
    }
    Ok(())
}

/// Tells an event about a version, at which nothing may change any more.
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
        let context = version_context(version, context.clone(), &Documents::from_version(version));
        session.events.emit_async(event, context).await?;
    }
    Ok(())
}

/// Tells an event about a version, and lets handlers change its objects. Tells whether they did.
///
/// # Errors
/// The first error of a handler, or what is wrong with the objects that it gave back.
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
    match emit_and_take_changes(session, event, version, context.clone()).await? {
        None => Ok(false),
        Some(files) => {
            (version.manifest, version.hooks) = sort_files(session, &files, reporter)?;
            Ok(true)
        }
    }
}

/// What handlers made of the objects of a version; none when they left them alone.
async fn emit_and_take_changes(
    session: &Session,
    event: Event,
    version: &ReleaseVersion,
    context: Context,
) -> Result<Option<Files>> {
    let documents = Documents::from_version(version);
    let context = version_context(version, context, &documents);
    let mut context = session.events.emit_async(event, context).await?;
    documents.with_changes(context.take_objects(), event, &version.chart.metadata.name)
}

fn version_context(version: &ReleaseVersion, context: Context, documents: &Documents) -> Context {
    context.with_release(context::release(version)).with_objects(documents.objects())
}

/// The manifest and the hooks of a record.
fn sort_files(
    session: &Session,
    files: &Files,
    reporter: &mut dyn Reporter,
) -> Result<(String, Vec<StoredHook>)> {
    let sorted = pintle_objects::sort(files, Order::Install)
        .map_err(|source| Error::Objects { source: Box::new(source), rendered: Vec::new() })?;
    session.record_objects.check(&sorted, reporter)?;
    live::split_hooks(&sorted, false, reporter)
}

/// Hooks that are tests, and those that are not.
fn partition_tests(hooks: Vec<StoredHook>) -> (Vec<StoredHook>, Vec<StoredHook>) {
    hooks.into_iter().partition(|hook| hook.events.contains(&HookEvent::Test))
}

/// Whether everything but the tests is what the version has.
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
    /// Tells an event about the version that is being delivered.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(crate) async fn emit(&self, event: Event) -> Result<()> {
        if !self.session.events.listens(event) {
            return Ok(());
        }
        let context = match &self.context {
            Some(context) => context.clone(),
            // A release that goes away is told without its chart.
            None if matches!(event, Event::PreDelete | Event::PostDelete) => Context::default(),
            None => context::for_version(&self.version),
        };
        emit(self.session, event, &self.version, &context).await
    }

    /// Tells the lifecycle event that has the same name as one of hooks.
    pub(super) async fn emit_hook_event(&self, event: HookEvent) -> Result<()> {
        match Event::for_handlers(event.as_str()) {
            Ok(event) => self.emit(event).await,
            // Hooks know tests as a moment, handlers know what is before and after.
            Err(_) => Ok(()),
        }
    }

    /// Tells an event around waiting, if waiting was asked for.
    pub(super) async fn emit_waiting(&self, event: Event) -> Result<()> {
        if self.options.wait == WaitStrategy::HookOnly { Ok(()) } else { self.emit(event).await }
    }

    /// Tells that the readiness of an object that is waited for has changed.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(super) async fn emit_watch(&self, facts: ReadinessInfo) -> Result<()> {
        let context = self.context.clone().unwrap_or_else(|| context::for_version(&self.version));
        emit(self.session, Event::Watch, &self.version, &context.with_readiness(facts)).await
    }

    /// Tells that tests are about to run, with all objects of the stored version, and lets handlers change the tests for
    /// this run. Gives the hooks as they are stored if they did; [`Executor::merge_test_results`] wants them back.
    ///
    /// # Errors
    /// The first error of a handler, or what is wrong with the tests that it gave back.
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
                        "a handler of `{event}` changed objects that are no tests; they stay as they are"
                    );
                    reporter.log(LogLine::warn(text, Vec::new()));
                }
                let (tests, _) = partition_tests(hooks);
                Ok(Some(std::mem::replace(&mut self.version.hooks, tests)))
            }
        }
    }

    /// Tells what tests came to.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(crate) async fn emit_tested(&self, failed: bool) -> Result<()> {
        if failed {
            self.emit(Event::FailedTest).await?;
        }
        self.emit(Event::PostTest).await
    }

    /// The hooks with what they came to, as they are to be recorded: what handlers made of them for this run is not.
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

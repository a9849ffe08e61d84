//! Runs the hooks of an event in order, each to completion, reports their logs, and cleans up after them.

use futures::stream::{FuturesUnordered, StreamExt as _};
use pintle_cluster::PropagationPolicy;
use pintle_cluster::logs::{self, LogSource};
use pintle_hooks::{DeletePolicy, EnvRule, Hook, LogPolicy};
use pintle_objects::{HookEvent, Object};
use pintle_release::{HookPhase, StoredHook};
use pintle_tree::LogLine;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Executor, wait};
use crate::manifest::hook_source;
use crate::options::HookLogs;
use crate::progress::{Message, MessageKind, ObjectChange, Progress};
use crate::{Error, Reporter, Result, Silent};

/// The hooks that have run and are not cleaned up yet.
#[derive(Debug, Default)]
pub(crate) struct HookResults {
    /// In the order in which they ran.
    succeeded: Vec<Hook>,
    failed: Vec<Hook>,
}

/// The hooks of a version that were parsed so far. A hook is parsed when it is first needed: one that never runs may be
/// invalid without harm.
#[derive(Debug, Default)]
pub(super) struct ParsedHooks(Vec<(StoredHook, Hook)>);

impl ParsedHooks {
    /// Returns the parsed hook.
    ///
    /// # Errors
    /// When the document is not a map.
    pub(super) fn get(&mut self, stored: &StoredHook) -> Result<&Hook> {
        let is_same = |(known, _): &(StoredHook, Hook)| {
            is_same_hook(known, stored) && known.manifest == stored.manifest && known.events == stored.events
        };
        let index = match self.0.iter().position(is_same) {
            Some(index) => index,
            None => {
                self.0.push((stored.clone(), pintle_hooks::read_stored(&hook_source(stored))?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[index].1)
    }
}

fn is_same_hook(one: &StoredHook, other: &StoredHook) -> bool {
    one.path == other.path && one.name == other.name && one.kind == other.kind
}

/// A failed hook, with the hooks that still have to be cleaned up.
pub(crate) struct HookFailure {
    pub(crate) error: Error,
    pub(crate) results: HookResults,
}

impl From<Error> for HookFailure {
    fn from(error: Error) -> Self {
        HookFailure { error, results: HookResults::default() }
    }
}

impl Executor<'_> {
    /// Runs the hooks of an event and cleans up after them.
    pub(super) async fn hooks(
        &mut self,
        (event, doing): (HookEvent, &str),
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        if !self.options.hooks {
            return Ok(());
        }
        if self.version.hooks.iter().any(|hook| hook.events.contains(&event)) {
            reporter.report(Progress::Stage(crate::Stage::Hooks(event)));
        }
        let outcome = match self.run_hooks(event, reporter).await {
            Ok(results) => self.clean_up_hooks(results, reporter).await,
            Err(HookFailure { error, results }) => {
                self.clean_up_hooks(results, reporter).await.and(Err(error))
            }
        };
        outcome.map_err(|source| failed(doing, source))
    }

    /// Runs the hooks of an event without cleaning up.
    pub(crate) async fn run_hooks(
        &mut self,
        event: HookEvent,
        reporter: &mut dyn Reporter,
    ) -> Result<HookResults, HookFailure> {
        let hooks = self.read_hooks(event, reporter)?;
        let mut results = HookResults::default();
        let together = self.options.hook_parallelism.max(1);
        for batch in pintle_hooks::batches(&hooks, event) {
            for group in batch.chunks(together) {
                let group: Vec<Hook> = group.iter().map(|hook| (*hook).clone()).collect();
                if let Err(error) = self.run_group(event, group, &mut results, reporter).await {
                    return Err(HookFailure { error, results });
                }
            }
        }
        Ok(results)
    }

    /// Parses the hooks of an event.
    fn read_hooks(&mut self, event: HookEvent, reporter: &mut dyn Reporter) -> Result<Vec<Hook>> {
        let due = self.version.hooks.iter().filter(|hook| hook.events.contains(&event));
        let mut hooks = Vec::new();
        for stored in due {
            // Rendered hooks were checked after rendering, but the record may come from elsewhere.
            self.session.record_objects.check_text(stored.manifest.as_bytes(), &stored.path, &mut Silent)?;
            let hook = self.hooks.get(stored)?;
            // Warnings about unknown words were already reported when the hook was rendered; they come first.
            let known = hook.unknown_policy_values.len();
            hook.warnings.iter().skip(known).for_each(|warning| reporter.log_extra(warning.clone()));
            hooks.push(hook.clone());
        }
        Ok(hooks)
    }

    /// Runs hooks in parallel.
    async fn run_group(
        &mut self,
        event: HookEvent,
        group: Vec<Hook>,
        results: &mut HookResults,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        for hook in &group {
            self.mark(hook, HookPhase::Running);
            self.default_delete_policy(hook);
        }
        self.record_progress().await?;
        let (sender, mut updates) = unbounded_channel();
        let mut outcomes = Vec::new();
        {
            let executor = &*self;
            let mut running: FuturesUnordered<_> = group
                .iter()
                .enumerate()
                .map(|(index, hook)| {
                    let sender = sender.clone();
                    async move { (index, executor.run_one(hook, event, sender).await) }
                })
                .collect();
            while !running.is_empty() {
                tokio::select! {
                    Some(progress) = updates.recv() => reporter.report(progress),
                    Some(outcome) = running.next() => outcomes.push(outcome),
                }
            }
        }
        drop(sender);
        drain(&mut updates, reporter);
        self.collect_results(group, outcomes, results)
    }

    /// Records the phase of each hook. Returns the first error in the order of the hooks, not in that of time, so
    /// that the message is deterministic.
    fn collect_results(
        &mut self,
        group: Vec<Hook>,
        mut outcomes: Vec<(usize, Result<()>)>,
        results: &mut HookResults,
    ) -> Result<()> {
        outcomes.sort_by_key(|(index, _)| *index);
        let mut first = None;
        for (hook, (_, outcome)) in group.into_iter().zip(outcomes) {
            match outcome {
                Ok(()) => {
                    self.mark(&hook, HookPhase::Succeeded);
                    results.succeeded.push(hook);
                }
                Err(error) => {
                    self.mark(&hook, HookPhase::Failed);
                    results.failed.push(hook);
                    first.get_or_insert(error);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Sets the phase and times of a hook in the record.
    fn mark(&mut self, hook: &Hook, phase: HookPhase) {
        let now = self.session.clock.now();
        for stored in self.version.hooks.iter_mut().filter(|stored| is_record_of(stored, hook)) {
            match phase {
                HookPhase::Running => {
                    (stored.last_run.started, stored.last_run.completed) = (Some(now), None)
                }
                _ => stored.last_run.completed = Some(now),
            }
            stored.last_run.phase = phase.clone();
        }
    }

    /// Records the default delete policy of a hook without one. Helm does this when the hook runs, and the record
    /// shows it.
    fn default_delete_policy(&mut self, hook: &Hook) {
        for stored in self.version.hooks.iter_mut().filter(|stored| is_record_of(stored, hook)) {
            if stored.delete_policies.is_empty() {
                stored.delete_policies.push(DeletePolicy::BeforeHookCreation.as_str().to_owned());
            }
        }
    }

    /// Runs a hook from creation to completion.
    async fn run_one(&self, hook: &Hook, event: HookEvent, updates: UnboundedSender<Progress>) -> Result<()> {
        if hook.is_deleted(DeletePolicy::BeforeHookCreation) {
            self.delete_hook(hook).await?;
        }
        let rule = if self.options.hook_env { EnvRule::Always } else { EnvRule::WhenAsked };
        let mut objects = pintle_hooks::objects_for(hook, event, rule)?;
        for object in &mut objects {
            self.session.cluster.scope(object, &self.version.namespace).await.map_err(|source| {
                Error::HookBuild {
                    event: event.as_str(),
                    path: hook.path.clone(),
                    cause: Box::new(source.into()),
                }
            })?;
            self.set_hook_owner(hook, object).await?;
        }
        let mut report = |progress| {
            // The receiver is dropped only when the operation was cancelled.
            let _ = updates.send(progress);
        };
        self.debug_creation(objects.len(), &mut report);
        for object in &objects {
            self.create(object).await.map_err(|source| {
                let _ = updates.send(Progress::Failed { id: object.id(), reason: source.to_string() });
                Error::HookCreation {
                    event: event.as_str(),
                    path: hook.path.clone(),
                    cause: Box::new(source.into()),
                }
            })?;
            let _ = updates.send(self.applied(&object.id(), ObjectChange::Created, true));
        }
        let shows = hook.shows_log(LogPolicy::Failed) || hook.shows_log(LogPolicy::Succeeded);
        let stream = match self.options.logs {
            HookLogs::All => true,
            HookLogs::Stream => shows,
            HookLogs::AtEnd | HookLogs::Off => false,
        };
        let timeout = hook.timeout.or(self.options.hook_timeout).unwrap_or(self.options.timeout);
        let outcome = wait::hook(self, &objects, timeout, stream, &updates).await;
        let outcome = match outcome {
            // The end of the log is part of the error, and who wants no logs wants none there either.
            Err(Error::Wait(waited)) if self.options.logs == HookLogs::Off => {
                Err(Error::Wait(Box::new(waited.without_logs())))
            }
            outcome => outcome,
        };
        let policy = if outcome.is_ok() { None } else { Some(LogPolicy::Failed) };
        if let Some(policy) = policy
            && !stream
        {
            self.send_logs(hook, policy, &updates).await;
        }
        outcome
    }

    /// Sends the logs of a hook's pods, if its policy asks for it. Missing logs never fail the operation.
    async fn send_logs(&self, hook: &Hook, policy: LogPolicy, updates: &UnboundedSender<Progress>) {
        if self.options.logs == HookLogs::Off || !hook.shows_log(policy) {
            return;
        }
        let mut id = hook.object.id();
        if id.namespace.is_empty() {
            id.namespace.clone_from(&self.version.namespace);
        }
        let mut sink = |source: &LogSource, bytes: &[u8]| {
            // The receiver is dropped only when the operation was cancelled.
            let _ = updates.send(Progress::HookLog { source: source.clone(), bytes: bytes.to_vec() });
        };
        let cluster = &self.session.cluster;
        if !self.options.init_logs {
            if let Err(error) = logs::hook_logs_as_helm(cluster, &id, &mut sink).await {
                let text = format!("error outputting logs for hook failure: {error}");
                log(updates, LogLine::info(text));
            }
        } else if let Err(error) = logs::hook_logs(cluster, &id, &mut sink).await {
            let attributes = vec![("hook", hook.name.clone()), ("error", error.to_string())];
            log(updates, LogLine::warn("cannot read the log of a hook", attributes));
        }
    }

    /// Reports logs and deletes objects, as the policies of the hooks demand.
    pub(crate) async fn clean_up_hooks(
        &mut self,
        results: HookResults,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        for hook in results.failed.iter().filter(|hook| hook.is_deleted(DeletePolicy::Failed)) {
            if let Err(error) = self.delete_hook(hook).await {
                let attributes = vec![("hook", hook.name.clone()), ("error", error.to_string())];
                reporter.log_extra(LogLine::warn("cannot delete a failed hook", attributes));
            }
        }
        let all_went_well = results.failed.is_empty();
        for hook in results.succeeded.iter().rev() {
            if all_went_well && self.options.logs == HookLogs::AtEnd {
                let (sender, mut updates) = unbounded_channel();
                self.send_logs(hook, LogPolicy::Succeeded, &sender).await;
                drop(sender);
                drain(&mut updates, reporter);
            }
            if hook.is_deleted(DeletePolicy::Succeeded) {
                self.delete_hook(hook).await?;
            }
        }
        Ok(())
    }

    /// Deletes the objects of a hook and waits until they are gone, so that the next run can create them again.
    async fn delete_hook(&self, hook: &Hook) -> Result<()> {
        let mut objects = pintle_hooks::objects_to_delete(hook)?;
        let mut gone = Vec::new();
        for object in &mut objects {
            self.session.cluster.scope(object, &self.version.namespace).await.map_err(|source| {
                Error::HookBuild {
                    event: "deleting",
                    path: hook.path.clone(),
                    cause: Box::new(source.into()),
                }
            })?;
            let id = object.id();
            if self.session.cluster.delete_object(&id, PropagationPolicy::Background).await? {
                gone.push(id);
            }
        }
        if gone.is_empty() { Ok(()) } else { wait::until_gone(self, &gone).await }
    }

    /// Sets the release as owner of a hook's object, so that deleting the release deletes it too, unless the hook is
    /// to outlive the release.
    async fn set_hook_owner(&self, hook: &Hook, object: &mut Object) -> Result<()> {
        if hook.unmanaged { Ok(()) } else { self.set_owner(object).await }
    }
}

/// Adds Helm's prefix for a failed hook event.
pub(super) fn failed(doing: &str, source: Error) -> Error {
    match doing {
        "" => source,
        doing => Error::HooksFailed { doing: doing.to_owned(), cause: Box::new(source) },
    }
}

fn is_record_of(stored: &StoredHook, hook: &Hook) -> bool {
    stored.path == hook.path && stored.name == hook.name && stored.kind == hook.kind
}

/// Sends a message on its way to the reporter.
fn log(updates: &UnboundedSender<Progress>, line: LogLine) {
    // The receiver is dropped only when the operation was cancelled.
    let _ = updates.send(Progress::Message(Message { line, kind: MessageKind::Helm }));
}

/// Reports what is left in the channel.
fn drain(updates: &mut UnboundedReceiver<Progress>, reporter: &mut dyn Reporter) {
    while let Ok(progress) = updates.try_recv() {
        reporter.report(progress);
    }
}

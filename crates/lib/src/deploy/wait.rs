//! Waits for applied objects, for hooks, and for deletions.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use pintle_cluster::logs::{HookLogs, LogSource};
use pintle_cluster::wait::{self, FailFastLimits, WaitFor, WaitOptions, Waiter};
use pintle_events::{Event as LifecycleEvent, ReadinessInfo};
use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Executor;
use super::three_way::ThreeWayState;
use crate::options::{DeployOptions, WaitStrategy};
use crate::progress::{ObjectProgress, Progress, Stage};
use crate::{Reporter, Result};

impl Executor<'_> {
    /// Waits until the objects are ready, if the options ask for it.
    pub(super) async fn wait_until_ready(
        &self,
        state: &ThreeWayState,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        if self.options.wait == WaitStrategy::HookOnly {
            return Ok(());
        }
        let wait_for = if self.options.wait_for_jobs { WaitFor::ReadyWithJobs } else { WaitFor::Ready };
        let is_paused =
            |object: &&Object| object.kind() == "Deployment" && is_true(object, &["spec", "paused"]);
        let objects = state.desired().iter().filter(|object| !is_paused(object));
        let ids: Vec<ObjectId> = objects.map(Object::id).collect();
        let mut options = wait_options(self.options, wait_for);
        options.readiness_annotations = state.stages().is_some();
        self.wait_for(&ids, options, reporter).await
    }

    /// Waits until the objects are ready that the next stage depends on, whether or not the operation waits at its end.
    /// A Job is ready when it has completed, because nothing else of a Job can be depended on. Readiness annotations of an
    /// object take precedence.
    pub(super) async fn wait_for_stage(&self, ids: &[ObjectId], reporter: &mut dyn Reporter) -> Result<()> {
        let mut options = wait_options(self.options, WaitFor::ReadyWithJobs);
        if options.strategy == wait::Strategy::HookOnly {
            options.strategy = wait::Strategy::Watcher;
        }
        options.readiness_annotations = true;
        options.timeout = self.options.readiness_timeout.unwrap_or(options.timeout);
        self.wait_for(ids, options, reporter).await
    }

    async fn wait_for(
        &self,
        ids: &[ObjectId],
        options: WaitOptions,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        reporter.report(Progress::Stage(Stage::Waiting));
        let (sender, watched) = unbounded_channel();
        let watched = self.session.events.listens(LifecycleEvent::Watch).then_some(watched);
        let is_watched = watched.is_some();
        let rules = self.options.readiness_rules.as_ref();
        let waiter = Waiter::new(&self.session.cluster, options).with_rules(rules);
        // Taken, so that a later wait of the same operation does not start from responses that are out of date.
        let written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        let written = written.iter().filter_map(|written| written.object().ok()).collect();
        let wait = async move {
            let mut observer = |progress: &wait::Progress<'_>| {
                reporter.report(object_progress(progress));
                if is_watched {
                    // The receiver is gone only after a handler failed, which ends the operation anyway.
                    let _ = sender.send(readiness(progress));
                }
            };
            let waited = waiter.wait_from(ids, written, &mut observer).await;
            // Closing the channel lets the handler loop end after the last update.
            drop(sender);
            Ok(waited.map_err(Box::new)?)
        };
        match watched {
            None => wait.await,
            // Handlers run concurrently with the wait; the first error ends both.
            Some(watched) => futures::try_join!(wait, self.emit_readiness_changes(watched)).map(|_| ()),
        }
    }

    /// Emits `watch` for each change of readiness, in order and without repeats.
    async fn emit_readiness_changes(&self, mut watched: UnboundedReceiver<ReadinessInfo>) -> Result<()> {
        let mut last: BTreeMap<String, ReadinessInfo> = BTreeMap::new();
        while let Some(facts) = watched.recv().await {
            let key = format!("{}/{} {}/{}", facts.api_version, facts.kind, facts.namespace, facts.name);
            if last.get(&key) != Some(&facts) {
                self.emit_watch(facts.clone()).await?;
                last.insert(key, facts);
            }
        }
        Ok(())
    }
}

fn object_progress(progress: &wait::Progress<'_>) -> Progress {
    Progress::Readiness(ObjectProgress {
        id: progress.id.clone(),
        state: progress.readiness.status.as_str(),
        message: progress.readiness.detail.clone(),
        pods: progress.pods.to_vec(),
        ready: progress.is_done,
    })
}

fn readiness(progress: &wait::Progress<'_>) -> ReadinessInfo {
    ReadinessInfo {
        api_version: progress.id.api_version(),
        kind: progress.id.kind.clone(),
        namespace: progress.id.namespace.clone(),
        name: progress.id.name.clone(),
        state: progress.readiness.status.as_str().to_owned(),
        message: progress.readiness.detail.clone(),
        ready: progress.is_done,
    }
}

fn is_true(object: &Object, path: &[&str]) -> bool {
    object.at(path).and_then(pintle_tree::Node::as_bool).unwrap_or(false)
}

fn wait_options(options: &DeployOptions, wait_for: WaitFor) -> WaitOptions {
    WaitOptions {
        wait_for,
        strategy: match options.wait {
            WaitStrategy::Watcher => wait::Strategy::Watcher,
            WaitStrategy::Legacy => wait::Strategy::Legacy,
            WaitStrategy::HookOnly => wait::Strategy::HookOnly,
        },
        timeout: options.timeout,
        fail_fast: options.fail_fast.then(FailFastLimits::default),
        readiness_annotations: false,
    }
}

/// Waits until the objects of a hook have completed. With `stream`, sends their logs meanwhile.
pub(super) async fn hook(
    executor: &Executor<'_>,
    objects: &[Object],
    timeout: Duration,
    stream: bool,
    updates: &UnboundedSender<Progress>,
) -> Result<()> {
    let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
    let cluster = &executor.session.cluster;
    let waiting = WaitOptions { timeout, ..wait_options(executor.options, WaitFor::HookCompleted) };
    let waiter = Waiter::new(cluster, waiting);
    // The receiver is dropped only when the operation was cancelled.
    let mut observer = |progress: &wait::Progress<'_>| {
        let _ = updates.send(object_progress(progress));
    };
    let waited = waiter.wait(&ids, &mut observer);
    let outcome = match ids.first() {
        Some(id) if stream => {
            let mut sink = |source: &LogSource, bytes: &[u8]| {
                let _ = updates.send(Progress::HookLog { source: source.clone(), bytes: bytes.to_vec() });
            };
            HookLogs::new(cluster, id).during(waited, &mut sink).await
        }
        _ => waited.await,
    };
    Ok(outcome.map_err(Box::new)?)
}

/// Waits until objects are deleted.
pub(super) async fn until_gone(executor: &Executor<'_>, ids: &[ObjectId]) -> Result<()> {
    let mut waiting = wait_options(executor.options, WaitFor::Deleted);
    // Deletions are always waited for: an object of the same name can be created only when the old one is gone.
    if waiting.strategy == wait::Strategy::HookOnly {
        waiting.strategy = wait::Strategy::Watcher;
    }
    Ok(Waiter::new(&executor.session.cluster, waiting).wait(ids, &mut |_| {}).await.map_err(Box::new)?)
}

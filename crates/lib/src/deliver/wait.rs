//! Waiting for what was applied, for hooks, and for what is to be gone.

use pintle_cluster::logs::{HookLogs, LogSource};
use pintle_cluster::wait::{self, Goal, Patience, Waiter, Waiting};
use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc::UnboundedSender;

use super::Work;
use super::hooks::Note;
use super::scene::Scene;
use crate::options::{Delivery, Strategy};
use crate::report::ObjectProgress;
use crate::{Reporter, Result};

impl Work<'_> {
    /// Waits until the objects are ready, if that was asked for.
    pub(super) async fn wait_until_ready(&self, scene: &Scene, reporter: &mut dyn Reporter) -> Result<()> {
        if self.options.wait == Strategy::HookOnly {
            return Ok(());
        }
        let is_paused =
            |object: &&Object| object.kind() == "Deployment" && is_true(object, &["spec", "paused"]);
        let objects = scene.desired().iter().filter(|object| !is_paused(object));
        let ids: Vec<ObjectId> = objects.map(Object::id).collect();
        let goal = if self.options.wait_for_jobs { Goal::ReadyWithJobs } else { Goal::Ready };
        let mut observer = |progress: &wait::Progress<'_>| {
            reporter.object(&ObjectProgress {
                id: progress.id,
                state: progress.readiness.state.as_str(),
                message: &progress.readiness.sentence,
                ready: progress.is_done,
            });
        };
        let waiter = Waiter::new(&self.session.cluster, waiting(self.options, goal));
        Ok(waiter.wait(&ids, &mut observer).await.map_err(Box::new)?)
    }
}

fn is_true(object: &Object, path: &[&str]) -> bool {
    object.at(path).and_then(pintle_tree::Node::as_bool).unwrap_or(false)
}

fn waiting(options: &Delivery, goal: Goal) -> Waiting {
    Waiting {
        goal,
        strategy: match options.wait {
            Strategy::Watcher => wait::Strategy::Watcher,
            Strategy::Legacy => wait::Strategy::Legacy,
            Strategy::HookOnly => wait::Strategy::HookOnly,
        },
        timeout: options.timeout,
        early_failure: options.fail_fast.then(Patience::default),
    }
}

/// Waits until the objects of a hook have run to their end; with `stream`, their logs are told while they run.
pub(super) async fn hook(
    work: &Work<'_>,
    objects: &[Object],
    stream: bool,
    notes: &UnboundedSender<Note>,
) -> Result<()> {
    let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
    let cluster = &work.session.cluster;
    let waiter = Waiter::new(cluster, waiting(work.options, Goal::HookDone));
    // Nobody listens only when the operation has been given up.
    let mut observer = |progress: &wait::Progress<'_>| {
        let _ = notes.send(Note::Object {
            id: progress.id.clone(),
            state: progress.readiness.state.as_str(),
            message: progress.readiness.sentence.clone(),
            ready: progress.is_done,
        });
    };
    let waited = waiter.wait(&ids, &mut observer);
    let outcome = match ids.first() {
        Some(id) if stream => {
            let mut sink = |source: &LogSource, bytes: &[u8]| {
                let _ = notes.send(Note::Log(source.clone(), bytes.to_vec()));
            };
            HookLogs::new(cluster, id).during(waited, &mut sink).await
        }
        _ => waited.await,
    };
    Ok(outcome.map_err(Box::new)?)
}

/// Waits until objects are gone.
pub(super) async fn until_gone(work: &Work<'_>, ids: &[ObjectId]) -> Result<()> {
    let mut waiting = waiting(work.options, Goal::Deleted);
    // Whatever is waited for otherwise: the next object of the same name can only be made when the last is gone.
    if waiting.strategy == wait::Strategy::HookOnly {
        waiting.strategy = wait::Strategy::Watcher;
    }
    Ok(Waiter::new(&work.session.cluster, waiting).wait(ids, &mut |_| {}).await.map_err(Box::new)?)
}

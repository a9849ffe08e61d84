//! The subresource `log` of pods: the simulated output of a container.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use pintle_tree::{Node, Str};

use super::meta::{at, list_at, text_at};
use super::reply::Reply;
use super::{Api, Call};
use crate::controllers::container_log::ContainerLog;
use crate::status::Status;
use crate::store::Store;

/// Limits of the pause between two polls of a followed log.
/// A change of the store ends a wait early; the minimum prevents a busy loop on a line that is due.
const MAX_PAUSE: Duration = Duration::from_secs(3600);
const MIN_PAUSE: Duration = Duration::from_millis(5);

impl Api {
    pub(super) fn log(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let pod = self.live_object(call)?;
        let container = container(&pod, call.query.get("container"))?;
        let status = status_of(&pod, &container);
        let previous = call.query.is_set("previous");
        let part = if previous { "lastState" } else { "state" };
        let state = status.as_ref().and_then(|status| at(status, &[part]).cloned()).unwrap_or_default();
        let has_run = state.get("running").or_else(|| state.get("terminated")).is_some();
        if previous && !has_run {
            let message =
                format!("previous terminated container {container:?} in pod {:?} not found", call.name());
            return Err(Status::bad_request(message));
        }
        // A container in restart backoff shows the log of its last run.
        let has_run =
            has_run || status.as_ref().is_some_and(|it| at(it, &["lastState", "terminated"]).is_some());
        if !has_run {
            let reason = match text_at(&state, &["waiting", "reason"]) {
                "" => "ContainerCreating",
                reason => reason,
            };
            let message =
                format!("container {container:?} in pod {:?} is waiting to start: {reason}", call.name());
            return Err(Status::bad_request(message));
        }
        let log = ContainerLog::new(self.store(), &pod, &container, &state);
        let printed = log.lines_at(self.now());
        let text = select_lines(&pod, &log.lines[..printed], call)?;
        let goes_on = call.query.is_set("follow") && state.get("running").is_some();
        if !goes_on {
            return Ok(Reply::text(200, text, "text/plain"));
        }
        // What was printed so far is sent at once, with the options applied; followed lines come unfiltered.
        let first = stream::once(async move { Bytes::from(text) });
        let stream = LogStream { api: self.clone(), key: call.key(), container, log, printed };
        let rest = stream::unfold(stream, |mut stream| async move { Some((stream.next().await?, stream)) });
        Ok(Reply::stream(Box::pin(first.chain(rest))).with_content_type("text/plain"))
    }
}

/// A log that is followed.
struct LogStream {
    api: Api,
    key: Str,
    container: String,
    log: ContainerLog,
    printed: usize,
}

impl LogStream {
    /// Waits for the next lines; `None` when the container has exited.
    async fn next(&mut self) -> Option<Bytes> {
        let mut changes = self.api.store().subscribe();
        loop {
            // Before the state is read, so that a change in between is not missed.
            changes.mark_unchanged();
            let runs = runs(self.api.store(), &self.key, &self.container);
            let now = self.api.now();
            // A container that has exited has printed everything.
            let count = if runs { self.log.lines_at(now) } else { self.log.lines.len() };
            if count > self.printed {
                let text = self.log.lines[self.printed..count].concat();
                self.printed = count;
                return Some(text.into());
            }
            if !runs {
                return None;
            }
            let due = self.log.due_at(self.printed).filter(|_| self.printed < self.log.lines.len());
            let pause = due.map_or(MAX_PAUSE, |due| due.saturating_sub(now)).max(MIN_PAUSE);
            tokio::select! {
                changed = changes.changed() => changed.ok()?,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

fn runs(store: &Store, key: &Str, container: &str) -> bool {
    let pod = store.get(key).map(|object| Arc::clone(&object));
    pod.and_then(|pod| status_of(&pod.node(), container))
        .is_some_and(|status| at(&status, &["state", "running"]).is_some())
}

/// Resolves the query's `container`, which may be omitted if the pod has only one.
fn container(pod: &Node, requested: &str) -> Result<String, Status> {
    let names = |field: &str| -> Vec<String> {
        list_at(pod, &["spec", field]).iter().map(|it| text_at(it, &["name"]).to_owned()).collect()
    };
    let (main, first) = (names("containers"), names("initContainers"));
    let name = text_at(pod, &["metadata", "name"]);
    if !requested.is_empty() {
        let exists = main.iter().chain(&first).any(|name| name == requested);
        return if exists {
            Ok(requested.to_owned())
        } else {
            Err(Status::bad_request(format!("container {requested} is not valid for pod {name}")))
        };
    }
    match &main[..] {
        [only] => Ok(only.clone()),
        _ => {
            let mut message = format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                main.join(" ")
            );
            if !first.is_empty() {
                message.push_str(&format!(" or one of the init containers: [{}]", first.join(" ")));
            }
            Err(Status::bad_request(message))
        }
    }
}

fn status_of(pod: &Node, container: &str) -> Option<Node> {
    ["containerStatuses", "initContainerStatuses"]
        .iter()
        .flat_map(|field| list_at(pod, &["status", field]))
        .find(|status| text_at(status, &["name"]) == container)
        .cloned()
}

/// The lines that `tailLines`, `limitBytes` and the other options select.
fn select_lines(pod: &Node, lines: &[String], call: &Call<'_>) -> Result<String, Status> {
    let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    if let Some(last) = call.query.number("tailLines")? {
        let last = usize::try_from(last).unwrap_or(0);
        lines.drain(..lines.len().saturating_sub(last));
    }
    let since = text_at(pod, &["status", "startTime"]);
    let stamp = |line: &str| format!("{since} {line}");
    let mut text: String = if call.query.is_set("timestamps") {
        lines.iter().map(|line| stamp(line)).collect()
    } else {
        lines.concat()
    };
    if let Some(limit) = call.query.number("limitBytes")? {
        let mut end = usize::try_from(limit).unwrap_or(0).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    Ok(text)
}

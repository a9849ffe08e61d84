//! Collects what an operation reports, for the status of a request and the log of the controller.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pintle::cluster::logs::LogSource;
use pintle::{MessageKind, ObjectProgress, Progress, Reporter, Stage};
use pintle_tree::LogLine;

use crate::conditions::truncated;
use crate::fair_queue::Permit;
use crate::memory::Reservation;

/// How many lines of hook logs are kept.
const MAX_LINES: usize = 20;
/// The longest line of a hook log that is kept.
const MAX_LINE: usize = 256;

/// What an operation reported.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// Warnings and information.
    pub(crate) log: Vec<LogLine>,
    /// The objects that are not ready, with the reason.
    waiting: BTreeMap<String, String>,
    hook_logs: VecDeque<String>,
    /// The unfinished line of each container.
    partial: BTreeMap<String, Vec<u8>>,
    /// What is given back when the size of the release is known.
    memory: Option<Arc<Reservation>>,
    /// The worker, which others have while this operation waits.
    worker: Option<Arc<Permit>>,
    /// The size of what was rendered.
    rendered: usize,
}

impl Collected {
    /// For an operation that has reserved memory and has a worker.
    pub(crate) fn new(memory: Option<Arc<Reservation>>, worker: Option<Arc<Permit>>) -> Collected {
        Collected { memory, worker, ..Collected::default() }
    }

    /// Objects and hooks may take long to become ready, and nothing is done meanwhile.
    fn enter(&mut self, stage: Stage) {
        let waits = matches!(stage, Stage::Waiting | Stage::Hooks(_));
        if let Some(worker) = &self.worker {
            if waits { worker.rest() } else { worker.resume() }
        }
        if let Some(memory) = self.memory.as_ref().filter(|_| stage == Stage::Waiting) {
            memory.shrink_to_waiting(self.rendered);
        }
    }

    /// An object that is not ready, with the reason.
    pub(crate) fn blocking_object(&self) -> Option<String> {
        let (object, why) = self.waiting.first_key_value()?;
        Some(if why.is_empty() { object.clone() } else { format!("{object}: {why}") })
    }

    /// The last lines of the logs of hooks.
    pub(crate) fn hook_logs(mut self) -> Vec<String> {
        for (source, rest) in std::mem::take(&mut self.partial) {
            self.push(&source, &rest);
        }
        self.hook_logs.into()
    }

    fn push(&mut self, source: &str, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let line = format!("{source}: {}", truncated(&String::from_utf8_lossy(line), MAX_LINE));
        self.hook_logs.push_back(line);
        if self.hook_logs.len() > MAX_LINES {
            self.hook_logs.pop_front();
        }
    }
}

impl Reporter for Collected {
    fn report(&mut self, progress: Progress) {
        match progress {
            // The error is reported with the condition.
            Progress::Message(message) if message.kind != MessageKind::Failure => self.log.push(message.line),
            Progress::Stage(stage) => self.enter(stage),
            Progress::Rendered { bytes } => {
                self.rendered = bytes;
                if let Some(memory) = &self.memory {
                    memory.shrink_to_rendered(bytes);
                }
            }
            Progress::Readiness(object) => self.object_progress(&object),
            Progress::HookLog { source, bytes } => self.hook_log(&source, &bytes),
            _ => {}
        }
    }
}

impl Collected {
    fn object_progress(&mut self, progress: &ObjectProgress) {
        let id = &progress.id;
        let name = format!("{} {}/{}", id.kind, id.namespace, id.name);
        match progress.ready {
            true => self.waiting.remove(&name),
            false => self.waiting.insert(name, truncated(&progress.message, MAX_LINE)),
        };
    }

    fn hook_log(&mut self, source: &LogSource, bytes: &[u8]) {
        let name = format!("{}/{}", source.pod, source.container);
        let mut text = self.partial.remove(&name).unwrap_or_default();
        text.extend_from_slice(bytes);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            self.push(&name, &line[..end]);
        }
        text.truncate(MAX_LINE);
        if !text.is_empty() {
            self.partial.insert(name, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_hook_logs_are_kept() {
        let mut collected = Collected::default();
        let source = LogSource::new("ns", "job", "main");
        for number in 0..30 {
            collected.hook_log(&source, format!("line {number}\nhal").as_bytes());
            collected.hook_log(&source, b"f\n");
        }
        collected.hook_log(&source, b"no newline");
        let lines = collected.hook_logs();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[MAX_LINES - 1], "job/main: no newline");
        assert_eq!(lines[MAX_LINES - 2], "job/main: half");
        assert_eq!(lines[MAX_LINES - 3], "job/main: line 29");
    }
}

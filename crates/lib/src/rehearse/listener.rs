//! Records what operations and scripts report, for the report of a rehearsal.

use std::sync::{Arc, Mutex, PoisonError};

use pintle_cluster::logs::LogSource;
#[cfg(feature = "lua")]
use pintle_events::{ChartPath, Event};
#[cfg(feature = "lua")]
use pintle_lua::Level;
use pintle_tree::{LogLevel, LogLine};

use super::Severity;
use crate::{MessageKind, Progress, Reporter};

/// Records the log lines and hook logs of an operation.
#[derive(Default)]
pub(super) struct RecordingReporter {
    pub(super) logs: Vec<(LogSource, Vec<u8>)>,
    lines: Vec<LogLine>,
}

impl RecordingReporter {
    /// Returns the warnings of the operation.
    pub(super) fn warnings(&self) -> impl Iterator<Item = (Severity, String)> {
        self.lines.iter().filter(|line| line.level == LogLevel::Warn).map(|line| {
            let mut text = line.message.to_string();
            for (name, value) in &line.attributes {
                text.push_str(&format!(" {name}={value}"));
            }
            (Severity::Warning, text)
        })
    }
}

impl Reporter for RecordingReporter {
    fn report(&mut self, progress: Progress) {
        match progress {
            Progress::Message(message) if message.kind != MessageKind::Failure => {
                self.lines.push(message.line)
            }
            Progress::HookLog { source, bytes } => {
                match self.logs.last_mut().filter(|(last, _)| *last == source) {
                    Some((_, text)) => text.extend_from_slice(&bytes),
                    None => self.logs.push((source, bytes)),
                }
            }
            _ => {}
        }
    }
}

/// The log of scripts. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ScriptLog(Arc<Mutex<Vec<(Severity, String)>>>);

impl ScriptLog {
    /// Returns a listener that writes to this log, and still forwards changes to the previous listener.
    #[cfg(feature = "lua")]
    pub(super) fn with(&self, before: Option<Arc<dyn pintle_lua::Listener>>) -> ScriptListener {
        ScriptListener { script_log: self.clone(), before }
    }

    /// Removes and returns all entries.
    pub(super) fn take(&self) -> Vec<(Severity, String)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Forwards script logs to a [`ScriptLog`].
#[cfg(feature = "lua")]
pub(super) struct ScriptListener {
    script_log: ScriptLog,
    before: Option<Arc<dyn pintle_lua::Listener>>,
}

#[cfg(feature = "lua")]
impl pintle_lua::Listener for ScriptListener {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        let severity = match level {
            Level::Debug => return,
            Level::Info => Severity::Note,
            Level::Warn => Severity::Warning,
            Level::Error => Severity::Error,
        };
        let mut script_log = self.script_log.0.lock().unwrap_or_else(PoisonError::into_inner);
        script_log.push((severity, format!("{chart}: {text}")));
    }

    fn wants_changes(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.wants_changes())
    }

    fn changed(&self, chart: &ChartPath, event: Event, target: &str, paths: &[String]) {
        if let Some(before) = &self.before {
            before.changed(chart, event, target, paths);
        }
    }
}

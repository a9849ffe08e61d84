//! Buffers the log lines of scripts until the operation can report them: handlers run on other threads, and the
//! reporter is not `Sync`.

use std::sync::{Mutex, PoisonError};

use pintle_events::ChartPath;
use pintle_lua::{Level, Listener};
use pintle_tree::{LogLevel, LogLine};

use crate::Reporter;

/// Log lines that were not reported yet.
#[derive(Default)]
pub(super) struct ScriptLog(Mutex<Vec<LogLine>>);

impl ScriptLog {
    /// Reports and clears the buffered lines.
    pub(super) fn report(&self, reporter: &mut dyn Reporter) {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        lines.into_iter().for_each(|line| reporter.log(line));
    }
}

impl Listener for ScriptLog {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        let attributes = vec![("chart", chart.names().join("/"))];
        let line = LogLine { level, message: text.to_owned().into(), attributes };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

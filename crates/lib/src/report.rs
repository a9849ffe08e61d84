//! How operations tell what happens while they run.

use pintle_tree::LogLine;

use crate::Result;

/// Receives what an operation has to say on its way. The program decides what is shown, and how.
pub trait Reporter {
    /// A remark or warning, in the shape of Helm's log lines.
    fn log(&mut self, line: LogLine);

    /// A step that has been done, in words for a person.
    fn progress(&mut self, text: &str) {
        let _ = text;
    }
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn log(&mut self, _line: LogLine) {}
}

/// Runs a stage that collects log lines and hands them on, whether it succeeds or not.
pub(crate) fn with_log<T>(
    reporter: &mut dyn Reporter,
    stage: impl FnOnce(&mut Vec<LogLine>) -> Result<T>,
) -> Result<T> {
    let mut log = Vec::new();
    let outcome = stage(&mut log);
    for line in log {
        reporter.log(line);
    }
    outcome
}

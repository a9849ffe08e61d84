//! How operations tell what happens while they run.

use pintle_cluster::logs::LogSource;
use pintle_objects::ObjectId;
use pintle_tree::LogLine;

use crate::Result;

/// What an object that is waited for has come to.
#[derive(Clone, Copy, Debug)]
pub struct ObjectProgress<'a> {
    /// The object.
    pub id: &'a ObjectId,
    /// One word for its state.
    pub state: &'a str,
    /// A sentence that says why it is not ready yet, or what happened.
    pub message: &'a str,
    /// Whether it is what it should be.
    pub ready: bool,
}

/// Receives what an operation has to say on its way. The program decides what is shown, and how.
pub trait Reporter: Send {
    /// A remark or warning, in the shape of Helm's log lines.
    fn log(&mut self, line: LogLine);

    /// A remark that Helm would not make. A program that speaks with Helm's voice keeps it to itself.
    fn log_extra(&mut self, line: LogLine) {
        self.log(line);
    }

    /// A line in which Helm tells of the failure that the operation is about to end with. Whoever tells errors needs it
    /// no second time.
    fn log_failure(&mut self, line: LogLine) {
        self.log(line);
    }

    /// A step that has been done, in words for a person.
    fn progress(&mut self, text: &str) {
        let _ = text;
    }

    /// An object that is waited for has changed its state.
    fn object_progress(&mut self, progress: &ObjectProgress<'_>) {
        let _ = progress;
    }

    /// A piece of the log of a hook's container.
    fn hook_log(&mut self, source: &LogSource, bytes: &[u8]) {
        let _ = (source, bytes);
    }
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn log(&mut self, _line: LogLine) {}
}

/// Keeps what it is told, for handing it on later.
#[derive(Debug, Default)]
pub(crate) struct BufferedReporter(pub(crate) Vec<LogLine>);

impl Reporter for BufferedReporter {
    fn log(&mut self, line: LogLine) {
        self.0.push(line);
    }
}

/// Runs a stage that collects log lines and hands them on, whether it succeeds or not.
pub(crate) fn forward_log<T>(
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

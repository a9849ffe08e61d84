//! How operations report what happens while they run.

#[cfg(feature = "cluster")]
use pintle_cluster::{logs::LogSource, wait::PodProgress};
#[cfg(feature = "cluster")]
use pintle_objects::ObjectId;
use pintle_tree::LogLine;

use crate::Result;

/// The readiness of an object that is waited for.
#[cfg(feature = "cluster")]
#[derive(Clone, Copy, Debug)]
pub struct ObjectProgress<'a> {
    /// The object.
    pub id: &'a ObjectId,
    /// The state in one word, such as `InProgress` or `Current`.
    pub state: &'a str,
    /// Why the object is not ready yet, or what happened to it; a sentence for users.
    pub message: &'a str,
    /// Its pods that are not ready.
    pub pods: &'a [PodProgress],
    /// Whether the wait for this object is over.
    pub ready: bool,
}

/// Receives the messages of an operation. The library never prints: the program decides what is shown, and how.
pub trait Reporter: Send {
    /// An informational message or warning, with the text and attributes of Helm's log lines.
    fn log(&mut self, line: LogLine);

    /// A message that Helm does not have. A program that must produce Helm's exact output drops it.
    fn log_extra(&mut self, line: LogLine) {
        self.log(line);
    }

    /// A warning about an object that the result of the operation lists too. A program that prints the result can drop it.
    fn log_listed(&mut self, line: LogLine) {
        self.log(line);
    }

    /// The line that Helm logs right before it returns the error. A program that prints the returned error can drop
    /// it.
    fn log_failure(&mut self, line: LogLine) {
        self.log(line);
    }

    /// A decision of the operation, with the text and attributes of Helm's debug log: which values are kept, how objects
    /// are applied, what is created, changed, deleted and left alone. Helm's lines about its internals (storage keys,
    /// caches, requests) have no equivalent.
    fn debug(&mut self, message: &'static str, attributes: &[(&'static str, &str)]) {
        let _ = (message, attributes);
    }

    /// A step that is done, as a sentence for users.
    fn progress(&mut self, text: &str) {
        let _ = text;
    }

    /// An object that is waited for, or one of its pods, has changed its state.
    #[cfg(feature = "cluster")]
    fn object_progress(&mut self, progress: &ObjectProgress<'_>) {
        let _ = progress;
    }

    /// A chunk of the log of a hook's container. Chunks are not aligned to lines.
    #[cfg(feature = "cluster")]
    fn hook_log(&mut self, source: &LogSource, bytes: &[u8]) {
        let _ = (source, bytes);
    }
}

/// Discards everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn log(&mut self, _line: LogLine) {}
}

/// Buffers log lines, for stages that run on a thread without access to the operation's reporter.
#[cfg(any(test, feature = "cluster", feature = "unittest"))]
#[derive(Debug, Default)]
pub(crate) struct BufferedReporter(pub(crate) Vec<LogLine>);

#[cfg(any(test, feature = "cluster", feature = "unittest"))]
impl Reporter for BufferedReporter {
    fn log(&mut self, line: LogLine) {
        self.0.push(line);
    }
}

/// Runs a stage that takes long without waiting on a blocking thread: those of the async runtime have the requests of all
/// other operations to serve. What the stage reports is forwarded when it ends.
///
/// # Errors
/// The error of the stage; `failure` says what failed if it panicked.
#[cfg(feature = "cluster")]
pub(crate) async fn run_blocking<T: Send + 'static>(
    failure: &str,
    reporter: &mut dyn Reporter,
    stage: impl FnOnce(&mut dyn Reporter) -> Result<T> + Send + 'static,
) -> Result<T> {
    let stage = move || {
        let mut log = BufferedReporter::default();
        (stage(&mut log), log)
    };
    let ended = tokio::task::spawn_blocking(stage).await;
    let (outcome, log) = ended.map_err(|error| crate::Error::Input(format!("{failure}: {error}")))?;
    log.0.into_iter().for_each(|line| reporter.log(line));
    outcome
}

/// Runs a stage that collects log lines and forwards them, whether the stage succeeds or fails.
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

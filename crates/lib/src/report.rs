//! Who receives what operations report while they run.

use pintle_tree::LogLine;

use crate::Result;
use crate::progress::{Message, MessageKind, Progress};

/// Receives what an operation reports. The library never prints: the program decides what is shown, and how. Closures are
/// reporters, too.
///
/// ```
/// use pintle::ops::{CreateRequest, create};
/// use pintle::{Progress, Session};
///
/// let mut warnings = Vec::new();
/// let mut reporter = |progress| match progress {
///     Progress::Message(message) => warnings.push(message.line.to_string()),
///     _ => {}
/// };
/// let folder = tempfile::tempdir()?;
/// create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut reporter)?;
/// assert!(warnings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Reporter: Send {
    /// Called in the order of what happens, while the operation goes on: what takes long belongs into another task.
    fn report(&mut self, progress: Progress);
}

impl<F: FnMut(Progress) + Send> Reporter for F {
    fn report(&mut self, progress: Progress) {
        self(progress);
    }
}

impl<'r> dyn Reporter + 'r {
    /// Reports a message that Helm has, too.
    pub fn log(&mut self, line: LogLine) {
        self.message(line, MessageKind::Helm);
    }

    /// Reports a message that Helm does not have.
    pub fn log_extra(&mut self, line: LogLine) {
        self.message(line, MessageKind::Additional);
    }

    /// Reports a step that is done, as a sentence for users.
    pub fn progress(&mut self, text: &str) {
        self.report(Progress::Step(text.to_owned()));
    }

    /// Reports a warning about an object that the result of the operation lists, too.
    #[cfg(feature = "cluster")]
    pub(crate) fn log_listed(&mut self, line: LogLine) {
        self.message(line, MessageKind::Listed);
    }

    /// Reports the line that Helm logs right before it returns the error.
    #[cfg(feature = "cluster")]
    pub(crate) fn log_failure(&mut self, line: LogLine) {
        self.message(line, MessageKind::Failure);
    }

    /// Reports a decision of the operation.
    #[cfg(feature = "cluster")]
    pub(crate) fn debug(&mut self, message: &'static str, attributes: &[(&'static str, &str)]) {
        self.report(decision(message, attributes));
    }

    fn message(&mut self, line: LogLine, kind: MessageKind) {
        self.report(Progress::Message(Message { line, kind }));
    }
}

/// A decision of an operation; see [`Progress::Decision`].
#[cfg(feature = "cluster")]
pub(crate) fn decision(message: &'static str, attributes: &[(&'static str, &str)]) -> Progress {
    let attributes = attributes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Progress::Decision(LogLine { level: pintle_tree::LogLevel::Debug, message: message.into(), attributes })
}

/// Discards everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn report(&mut self, _progress: Progress) {}
}

/// Buffers log lines, for stages that run on a thread without access to the operation's reporter.
#[cfg(any(test, feature = "cluster", feature = "unittest"))]
#[derive(Debug, Default)]
pub(crate) struct BufferedReporter(pub(crate) Vec<LogLine>);

#[cfg(any(test, feature = "cluster", feature = "unittest"))]
impl Reporter for BufferedReporter {
    fn report(&mut self, progress: Progress) {
        if let Progress::Message(message) = progress {
            self.0.push(message.line);
        }
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
        let mut reported = Vec::new();
        (stage(&mut |progress| reported.push(progress)), reported)
    };
    let ended = tokio::task::spawn_blocking(stage).await;
    let (outcome, reported) = ended.map_err(|error| crate::Error::Input(format!("{failure}: {error}")))?;
    reported.into_iter().for_each(|progress| reporter.report(progress));
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

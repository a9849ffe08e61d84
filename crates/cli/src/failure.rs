//! Errors of commands, with the text of Helm and our own: the name that the program was called by decides which is
//! printed.

mod hint;
mod operation;
mod remote;

pub(crate) use hint::{hint, image_hint, repository_hint, signature_hint};
pub(crate) use operation::reason;
pub(crate) use remote::DEPENDENCIES;

use pintle_tree::quote::quote;

use crate::flag::Name;

/// The kind of a failure, from which the exit code follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The operation failed.
    RunTime,
    /// The command line or a configuration file is wrong.
    BadInput,
    /// The chart does not parse.
    BadChart,
    /// An image reference does not parse, or too few images could be relocated.
    BadImage,
    /// The chart has a structure that `--strict` rejects.
    Unsupported,
    /// The reader of our output has closed the pipe; no error.
    BrokenPipe,
    /// The error has been printed already.
    AlreadyReported,
    /// The user cancelled the operation.
    Cancelled,
    /// A plugin failed; its exit code becomes ours.
    Exit(u8),
    /// There are differences, and the exit code says so.
    Changes,
    /// There are findings that the user wants to fail on, and the exit code says so.
    Findings,
    /// The state that a saved plan is based on has changed.
    StalePlan,
}

/// A failed command. Boxed, because every `Result` of a command has it and a large error type slows down the success
/// path.
#[derive(Debug)]
pub(crate) struct Failure(Box<FailureDetails>);

/// The parts of a failure.
#[derive(Debug)]
pub(crate) struct FailureDetails {
    pub(crate) class: FailureKind,
    /// Whether it is about the value of a flag.
    pub(crate) is_about_a_flag: bool,
    /// Helm's text.
    pub(crate) text: String,
    /// Our own text, if it differs.
    pub(crate) own: Option<String>,
    /// The causes, nearest first.
    pub(crate) causes: Vec<String>,
    /// An excerpt of the user's file with a mark under the position.
    pub(crate) excerpt: Option<String>,
    /// Advice, printed as `hint:`.
    pub(crate) hint: Option<String>,
    /// A line that Helm prints below the error.
    pub(crate) pointer: Option<String>,
    /// The error of the library, from which [`crate::advice`] works out what to do about it.
    pub(crate) error: Option<Box<pintle::Error>>,
}

impl Failure {
    /// A failure of the given kind, with Helm's text.
    pub(crate) fn new(class: FailureKind, text: impl Into<String>) -> Failure {
        Failure(Box::new(FailureDetails {
            class,
            is_about_a_flag: false,
            text: text.into(),
            own: None,
            causes: Vec::new(),
            excerpt: None,
            hint: None,
            pointer: None,
            error: None,
        }))
    }

    /// A usage error.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure::new(FailureKind::BadInput, text)
    }

    /// A value that a flag does not take, in the words of Helm's parser.
    pub(crate) fn bad_argument<T>(value: &str, flag: Name<T>, reason: &str) -> Failure {
        let (value, flag) = (quote(value.as_bytes()), flag.as_str());
        let mut failure = Failure::usage(format!("invalid argument {value} for \"--{flag}\" flag: {reason}"));
        failure.is_about_a_flag = true;
        failure
    }

    /// A failure at run time.
    pub(crate) fn run_time(text: impl Into<String>) -> Failure {
        Failure::new(FailureKind::RunTime, text)
    }

    /// Sets our own text.
    pub(crate) fn with_pintle_text(mut self, text: impl Into<String>) -> Failure {
        self.own = Some(text.into());
        self
    }

    /// Prefixes Helm's text with the action; our own text has no prefix.
    pub(crate) fn during(mut self, action: &str) -> Failure {
        let text = format!("{action}: {}", self.text);
        let own = std::mem::replace(&mut self.text, text);
        self.own.get_or_insert(own);
        self
    }

    /// Sets the hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the line that Helm prints below the error.
    pub(crate) fn pointer(mut self, line: impl Into<String>) -> Failure {
        self.pointer = Some(line.into());
        self
    }
}

impl std::ops::Deref for Failure {
    type Target = FailureDetails;

    fn deref(&self) -> &FailureDetails {
        &self.0
    }
}

impl std::ops::DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut FailureDetails {
        &mut self.0
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(FailureKind::BrokenPipe, ""),
            _ => Failure::run_time(error.to_string()),
        }
    }
}

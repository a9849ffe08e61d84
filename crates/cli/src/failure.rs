//! Errors of commands, with the text of Helm and our own: the name that the program was called by decides which is
//! printed.

mod operation;

pub(crate) use operation::reason;

/// What kind of failure it is; the exit code follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The operation failed.
    RunTime,
    /// The command line or a file of settings is wrong.
    BadInput,
    /// The chart does not parse.
    BadChart,
    /// An image is no reference, or too few could be moved.
    BadImage,
    /// The chart has a structure that `--strict` refuses.
    Unsupported,
    /// It is part of Helm, and not built yet. Helm has no text for it, so ours is printed under both names, with
    /// the hint.
    NotBuilt,
    /// Nobody reads our output any more; that is no error.
    BrokenPipe,
    /// It failed, and the error was printed already.
    AlreadyReported,
    /// The user stopped it.
    Cancelled,
}

/// A failed command. Boxed, because every `Result` of a command carries it.
#[derive(Debug)]
pub(crate) struct Failure(Box<FailureDetails>);

/// The parts of a failure.
#[derive(Debug)]
pub(crate) struct FailureDetails {
    /// What kind it is.
    pub(crate) class: FailureKind,
    /// What Helm would say.
    pub(crate) text: String,
    /// What we say ourselves, if it differs.
    pub(crate) own: Option<String>,
    /// What led to it, nearest first.
    pub(crate) causes: Vec<String>,
    /// A piece of the user's text with a mark under the place.
    pub(crate) excerpt: Option<String>,
    /// What may help.
    pub(crate) hint: Option<String>,
    /// A line that Helm adds below the error.
    pub(crate) pointer: Option<String>,
}

impl Failure {
    /// A failure of a class, with Helm's text.
    pub(crate) fn new(class: FailureKind, text: impl Into<String>) -> Failure {
        Failure(Box::new(FailureDetails {
            class,
            text: text.into(),
            own: None,
            causes: Vec::new(),
            excerpt: None,
            hint: None,
            pointer: None,
        }))
    }

    /// A usage error.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure::new(FailureKind::BadInput, text)
    }

    /// Something that Helm can do and this program cannot yet.
    pub(crate) fn not_built(text: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(FailureKind::NotBuilt, text).hint(hint)
    }

    /// Something that failed while being done.
    pub(crate) fn run_time(text: impl Into<String>) -> Failure {
        Failure::new(FailureKind::RunTime, text)
    }

    /// Sets the text under our own name.
    pub(crate) fn with_pintle_text(mut self, text: impl Into<String>) -> Failure {
        self.own = Some(text.into());
        self
    }

    /// Prefixes Helm's text with the action; our own text has no prefix.
    pub(crate) fn during(mut self, action: &str) -> Failure {
        if self.class != FailureKind::NotBuilt {
            let text = format!("{action}: {}", self.text);
            let own = std::mem::replace(&mut self.text, text);
            self.own.get_or_insert(own);
        }
        self
    }

    /// Sets advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the line that Helm adds below the error.
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

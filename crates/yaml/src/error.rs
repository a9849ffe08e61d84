//! Why text is no YAML, or a tree cannot be YAML, in the words users know from Helm.

/// An error of reading or writing YAML. Its text is exactly what Helm's Go libraries say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    text: String,
    line: Option<usize>,
}

impl Error {
    /// An error that points to no line.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Error { text: text.into(), line: None }
    }

    /// The line that the text names, counted as the text counts it.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Puts the name of the failed step before the text.
    pub(crate) fn within(self, step: &str) -> Self {
        Error { text: format!("{step}: {}", self.text), line: self.line }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let text = match problem.line {
            Some(line) => format!("yaml: line {line}: {}", problem.text),
            None => format!("yaml: {}", problem.text),
        };
        Error { text, line: problem.line }
    }
}

/// What the scanner or the parser stumbled over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    text: &'static str,
    line: Option<usize>,
}

impl Problem {
    /// A problem of the bytes themselves, which has no place.
    pub(crate) fn of_bytes(text: &'static str) -> Self {
        Problem { text, line: None }
    }

    /// A problem the scanner sees at `line`, counted from zero. The first line is never named.
    pub(crate) fn of_scanner(text: &'static str, line: usize) -> Self {
        Problem { text, line: (line > 0).then_some(line + 1) }
    }

    /// A problem the parser sees with a token of `line`, counted from zero. The number is named as it is, so that it
    /// points to the line before; that is how Helm's users know it.
    pub(crate) fn of_parser(text: &'static str, line: usize) -> Self {
        Problem { text, line: (line > 0).then_some(line) }
    }
}

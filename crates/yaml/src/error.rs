//! YAML errors, with the texts that users know from Helm.

/// An error of reading or writing YAML. Its text is exactly that of Helm's Go libraries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    text: String,
    line: Option<usize>,
    /// The text of go-yaml 3, if it names another line.
    version_3: Option<Box<str>>,
}

impl Error {
    /// An error without a line.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Error { text: text.into(), line: None, version_3: None }
    }

    /// The line that the text names, as the text counts it.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Prefixes the name of the failed step.
    pub(crate) fn within(self, step: &str) -> Self {
        Error { text: format!("{step}: {}", self.text), line: self.line, version_3: None }
    }

    /// The error as go-yaml 3 words it.
    pub(crate) fn into_version_3(self) -> Self {
        match self.version_3 {
            Some(text) => Error { text: text.into(), line: self.line, version_3: None },
            None => self,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let text = match problem.line {
            Some(line) => format!("yaml: line {line}: {}", problem.text),
            None => format!("yaml: {}", problem.text),
        };
        let version_3 = problem.context.map(|line| format!("yaml: line {line}: {}", problem.text).into());
        Error { text, line: problem.line, version_3 }
    }
}

/// An error of the scanner or the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    text: &'static str,
    line: Option<usize>,
    /// The line where the faulty construct begins, which go-yaml 3 names.
    context: Option<usize>,
}

impl Problem {
    /// An encoding error, which has no location.
    pub(crate) fn of_bytes(text: &'static str) -> Self {
        Problem { text, line: None, context: None }
    }

    /// A scanner error at `line`, counted from zero. go-yaml never names the first line.
    pub(crate) fn of_scanner(text: &'static str, line: usize) -> Self {
        Problem { text, line: (line > 0).then_some(line + 1), context: None }
    }

    /// A parser error at a token of `line`, counted from zero. go-yaml prints the number as is, so it points to the
    /// line before; Helm's users know it that way.
    pub(crate) fn of_parser(text: &'static str, line: usize) -> Self {
        Problem { text, line: (line > 0).then_some(line), context: None }
    }

    /// Adds the line, counted from zero, where the construct being scanned began.
    pub(crate) fn since(self, line: usize) -> Self {
        Problem { context: (line > 0).then_some(line + 1), ..self }
    }

    /// Adds the line, counted from zero, where the node being parsed began. It is printed as is, too.
    pub(crate) fn inside(self, line: usize) -> Self {
        Problem { context: (line > 0).then_some(line), ..self }
    }
}

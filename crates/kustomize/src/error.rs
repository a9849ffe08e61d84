//! Errors with the place that they are about.

use std::fmt;

/// Why a kustomization could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    file: Option<String>,
    line: Option<usize>,
    refused: Option<&'static str>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Error { message: message.into(), file: None, line: None, refused: None }
    }

    /// An error about a feature that is refused on purpose.
    pub(crate) fn refused(feature: &'static str, message: impl Into<String>) -> Self {
        Error { refused: Some(feature), ..Error::new(message) }
    }

    /// Adds the place, unless there is one already.
    pub(crate) fn at(mut self, file: &str, line: Option<usize>) -> Self {
        if self.file.is_none() {
            self.file = Some(file.to_owned());
            self.line = line;
        }
        self
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file that it is about.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line in that file, counted from one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The field or feature, if the kustomization uses one that this crate refuses: `vars`, `generators`,
    /// `transformers`, `validators`, `remote base`, `helmCharts`.
    pub fn refused_feature(&self) -> Option<&'static str> {
        self.refused
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(out, "{file}:{line}: {}", self.message),
            (Some(file), None) => write!(out, "{file}: {}", self.message),
            (None, _) => out.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

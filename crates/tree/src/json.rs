//! JSON with the meaning, the spelling and the error texts of Go's `encoding/json`, as it is since Go 1.27.

mod read;
mod scan;
mod type_error;
mod write;

pub use read::{Assemble, read, read_exact, read_map, read_partly, read_prefix, read_prefix_with};
pub use type_error::{path_of, push_index, push_key, type_error};
pub use write::{Layout, Writer, write, write_pretty, write_raw};

/// The maximum nesting that is read, as in Go (`maxNestingDepth` in encoding/json).
pub const MAX_DEPTH: usize = 10_000;

/// Why a text is not JSON, or a tree cannot be written as JSON. Prints as Go's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    offset: usize,
    kind: ErrorKind,
    /// What Kubernetes says, where that differs.
    kubernetes: Option<Box<str>>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Invalid syntax, or an unexpected end.
    Syntax,
    /// Nothing but white space ([`read_prefix`] only; Go's `io.EOF`).
    Empty,
    /// Valid JSON, but not of the requested type.
    Type,
    /// The tree holds something that JSON cannot represent.
    Unsupported,
}

impl Error {
    /// Returns an error, for other crates that read or write JSON.
    pub fn new(kind: ErrorKind, message: impl Into<String>, offset: usize) -> Self {
        Error { message: message.into(), offset, kind, kubernetes: None }
    }

    /// The same error with another text for Kubernetes.
    fn with_kubernetes(mut self, text: impl Into<Box<str>>) -> Self {
        self.kubernetes = Some(text.into());
        self
    }

    /// The text of Kubernetes' API server. Its decoder is a copy of Go's from before Go 1.27.
    pub fn kubernetes_text(&self) -> &str {
        self.kubernetes.as_deref().unwrap_or(&self.message)
    }

    /// The number of bytes read when the error was noticed.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

//! JSON with the meaning, the spelling and the error texts of Go's `encoding/json`.

mod read;
mod scan;
mod write;

pub use read::{Assemble, read, read_exact, read_map, read_partly, read_prefix, read_prefix_with};
pub use write::{Layout, Writer, write, write_pretty, write_raw};

/// The deepest nesting that is read, as in Go.
pub const MAX_DEPTH: usize = 10_000;

/// Why a text is no JSON, or a tree cannot be written as JSON. Prints as Go's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    offset: usize,
    kind: ErrorKind,
}

/// The kinds of [`Error`] that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text breaks the grammar, or ends too early.
    Syntax,
    /// There is nothing but blanks ([`read_prefix`] only; Go's `io.EOF`).
    Empty,
    /// The text is JSON, but not of the type that was asked for.
    Type,
    /// The tree holds something that JSON cannot express.
    Unsupported,
}

impl Error {
    /// Returns an error of any room that speaks JSON.
    pub fn new(kind: ErrorKind, message: impl Into<String>, offset: usize) -> Self {
        Error { message: message.into(), offset, kind }
    }

    /// How many bytes had been read when the error was noticed.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

//! Pattern errors; the texts reach users and therefore equal Go's.

use std::fmt;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a pattern was rejected, with the offending piece of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The part of the pattern that is wrong.
    pub expression: Vec<u8>,
}

impl Error {
    /// The cost of the failed compilation, in the steps of [`Regex::compile_cost`](crate::Regex::compile_cost). A pattern
    /// that is too large is detected when most of it is compiled, all other errors while parsing.
    #[must_use]
    pub fn compile_cost(&self) -> u64 {
        if self.kind == ErrorKind::Large { 4_000_000 } else { 0 }
    }
}

/// The kinds of errors that Go distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A range of a class, or the name of one, is invalid.
    InvalidCharRange,
    /// An escape that does not exist.
    InvalidEscape,
    /// A malformed group name.
    InvalidNamedCapture,
    /// A group that starts with an unknown `(?`.
    InvalidPerlOp,
    /// A repetition of a repetition.
    InvalidRepeatOp,
    /// A repetition with too large numbers.
    InvalidRepeatSize,
    /// The pattern is not UTF-8.
    InvalidUtf8,
    /// A class that is not closed.
    MissingBracket,
    /// A group that is not closed.
    MissingParen,
    /// A repetition of nothing.
    MissingRepeatArgument,
    /// A backslash at the end.
    TrailingBackslash,
    /// A closing parenthesis without an opening one.
    UnexpectedParen,
    /// Too many groups inside each other.
    NestingDepth,
    /// The compiled pattern would take too much memory.
    Large,
}

impl ErrorKind {
    /// Returns Go's text for the kind.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::InvalidCharRange => "invalid character class range",
            Self::InvalidEscape => "invalid escape sequence",
            Self::InvalidNamedCapture => "invalid named capture",
            Self::InvalidPerlOp => "invalid or unsupported Perl syntax",
            Self::InvalidRepeatOp => "invalid nested repetition operator",
            Self::InvalidRepeatSize => "invalid repeat count",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParen => "missing closing )",
            Self::MissingRepeatArgument => "missing argument to repetition operator",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::UnexpectedParen => "unexpected )",
            Self::NestingDepth => "expression nests too deeply",
            Self::Large => "expression too large",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, expression: &[u8]) -> Self {
        Self { kind, expression: expression.to_vec() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expression = String::from_utf8_lossy(&self.expression);
        write!(formatter, "error parsing regexp: {}: `{expression}`", self.kind.text())
    }
}

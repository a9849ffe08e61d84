//! Template errors, with Go's one-line text and its parts.

use std::borrow::Cow;
use std::fmt;

use pintle_tree::{Str, quote};

use crate::ast::{Position, Tree};
use crate::function::CallError;
use crate::node_text::NodeRef;

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A source that does not parse.
    Parse,
    /// A template that failed during execution.
    Exec,
    /// A template that does not exist.
    NoTemplate,
    /// A template that exceeded one of [`crate::Limits`].
    Limit,
}

/// How much of a line an excerpt shows before the column, in bytes. Rendered JSON in one line would flood the terminal.
const EXCERPT_BEFORE: usize = 120;
/// How much of a line an excerpt shows after the column, in bytes; see [`EXCERPT_BEFORE`].
const EXCERPT_AFTER: usize = 200;

/// A template error. Prints as Go's one-line text.
pub struct Error(Box<Parts>);

struct Parts {
    kind: ErrorKind,
    template: Str,
    source_name: Str,
    line: usize,
    column: usize,
    source_line: Str,
    /// The whole source; empty if there is no location.
    source: Str,
    context: String,
    message: String,
    /// Whether the message continues with the text of the cause.
    quotes_cause: bool,
    cause: Option<Error>,
}

impl Error {
    /// An error at a position of a source.
    pub(crate) fn parse(source_name: &Str, source: &Str, position: Position, message: String) -> Self {
        let spot = Location::new(source, position);
        Error(Box::new(Parts {
            kind: ErrorKind::Parse,
            template: source_name.clone(),
            source_name: source_name.clone(),
            line: spot.line,
            column: spot.column,
            source_line: spot.text,
            source: source.clone(),
            context: String::new(),
            message,
            quotes_cause: false,
            cause: None,
        }))
    }

    /// An error at a node of a running template.
    pub(crate) fn exec(tree: &Tree, node: Option<NodeRef<'_>>, message: String) -> Self {
        let location = node.map(|node| Location::new(&tree.source.text, node.position(&tree.source)));
        let (line, column, source_line) =
            location.map_or((0, 0, Str::EMPTY), |location| (location.line, location.column, location.text));
        Error(Box::new(Parts {
            kind: ErrorKind::Exec,
            template: tree.name.clone(),
            source_name: tree.source.name.clone(),
            line,
            column,
            source_line,
            source: tree.source.text.clone(),
            context: node.map_or_else(String::new, |node| node.text(&tree.source)),
            message,
            quotes_cause: false,
            cause: None,
        }))
    }

    /// A template that the set does not contain.
    pub(crate) fn no_template(name: &Str, root: &Str) -> Self {
        let message = format!(
            "no template {} associated with template {}",
            quote::quote(name.as_bytes()),
            quote::quote(root.as_bytes())
        );
        Error(Box::new(Parts {
            kind: ErrorKind::NoTemplate,
            template: name.clone(),
            source_name: name.clone(),
            line: 0,
            column: 0,
            source_line: Str::EMPTY,
            source: Str::EMPTY,
            context: String::new(),
            message,
            quotes_cause: false,
            cause: None,
        }))
    }

    /// Adds why a function failed: with its own text, or with the text of a template error.
    pub(crate) fn because(mut self, failure: CallError) -> Self {
        self.0.quotes_cause = failure.message.is_empty() && failure.cause.is_some();
        self.0.message.push_str(&failure.message);
        self.0.cause = failure.cause.map(|cause| *cause);
        self
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The template that was executed, or the missing one.
    pub fn template(&self) -> &Str {
        &self.0.template
    }

    /// The name of the source that the location is in.
    pub fn source_name(&self) -> &Str {
        &self.0.source_name
    }

    /// The line, from 1; 0 if there is no location.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in bytes, from 0.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The text of the source that the location is in; empty if there is none.
    pub fn source_text(&self) -> &Str {
        &self.0.source
    }

    /// The node at which the template failed, in Go's notation.
    pub fn context(&self) -> &str {
        &self.0.context
    }

    /// The message without the location.
    pub fn message(&self) -> Cow<'_, str> {
        match self.0.cause.as_ref().filter(|_| self.0.quotes_cause) {
            Some(cause) => Cow::Owned(format!("{}{cause}", self.0.message)),
            None => Cow::Borrowed(&self.0.message),
        }
    }

    /// The inner template error, if a function that runs templates failed.
    pub fn cause(&self) -> Option<&Error> {
        self.0.cause.as_ref()
    }

    /// The source line with a caret below the column.
    pub fn excerpt(&self) -> Option<String> {
        if self.0.line == 0 {
            return None;
        }
        let number = self.0.line.to_string();
        let line = self.0.source_line.as_bytes();
        let column = self.0.column.min(line.len());
        // Of a very long line only the part around the column is shown.
        let (start, end) = (column.saturating_sub(EXCERPT_BEFORE), line.len().min(column + EXCERPT_AFTER));
        let text = String::from_utf8_lossy(&line[start..end]);
        let before = &line[start..column];
        // Tabs stay tabs, so that the caret lines up whatever their width.
        let indent: String = String::from_utf8_lossy(before)
            .chars()
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        let margin = " ".repeat(number.len());
        Some(format!("{number} | {text}\n{margin} | {indent}^"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut next = Some(self);
        // A chain of includes is as deep as the limits allow, so this is a loop, not a recursion.
        while let Some(error) = next {
            error.0.push_own(formatter)?;
            next = error.0.cause.as_ref().filter(|_| error.0.quotes_cause);
        }
        Ok(())
    }
}

impl Parts {
    /// Writes the text up to that of the cause.
    fn push_own(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, template, source_name, line, column, context, message, .. } = self;
        match kind {
            ErrorKind::NoTemplate => write!(formatter, "template: {message}"),
            ErrorKind::Parse => write!(formatter, "template: {source_name}:{line}: {message}"),
            ErrorKind::Exec | ErrorKind::Limit if *line == 0 => {
                write!(formatter, "template: {template}: {message}")
            }
            ErrorKind::Exec | ErrorKind::Limit => {
                let executing = quote::quote(template.as_bytes());
                write!(
                    formatter,
                    "template: {source_name}:{line}:{column}: executing {executing} at <{context}>: {message}"
                )
            }
        }
    }
}

impl Drop for Error {
    fn drop(&mut self) {
        // Unlinks the chain iteratively, for the same reason.
        let mut next = self.0.cause.take();
        while let Some(mut error) = next {
            next = error.0.cause.take();
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}

/// A location in a source.
struct Location {
    line: usize,
    column: usize,
    text: Str,
}

impl Location {
    /// Counts lines from the start of the source. That is linear, but happens once per error; tokens carry
    /// offsets only.
    fn new(source: &Str, position: Position) -> Self {
        let source = source.as_bytes();
        let position = (position as usize).min(source.len());
        let before = &source[..position];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let length = source[start..].iter().position(|byte| *byte == b'\n').unwrap_or(source.len() - start);
        Location { line, column: position - start, text: Str::new(&source[start..start + length]) }
    }
}

//! Render errors: Helm's text, and the location.

use std::fmt;

use pintle_chart::library::LibraryError;
use pintle_gotmpl::ErrorKind;
use pintle_tree::Str;

use crate::builtins::{MESSAGE_END, MESSAGE_START};

/// Why a chart did not render. Prints as Helm's error does.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A template is invalid or failed.
    Template {
        /// Whether it does not parse.
        is_syntax: bool,
        /// Helm's text.
        text: String,
        /// Helm 3's text, which has Go's one line where Helm 4 has a block of lines for each template.
        helm_3_text: String,
        /// The message without the location.
        message: String,
        /// The locations, from the rendered template to the failing one.
        frames: Vec<Frame>,
    },
    /// The library charts that the tree requests cannot be resolved.
    Libraries(LibraryError),
}

/// One location in the chain of templates that led to an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The path of the template.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0.
    pub column: usize,
    /// The line of the template with a caret below the column.
    pub excerpt: Option<String>,
    /// The named template that was executed.
    pub template: Str,
    /// The node at which it failed, in Go's notation; empty if the template does not parse.
    pub context: String,
    /// The source of the file.
    pub source: Str,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Template { text, .. } => formatter.write_str(text),
            Error::Libraries(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A template that does not parse. Helm keeps the location and the last part of the message.
    pub(crate) fn parse(path: &str, error: pintle_gotmpl::Error) -> Self {
        let whole = error.to_string();
        let tokens: Vec<&str> = whole.split(": ").collect();
        let text = match tokens[..] {
            // The first token is `template`.
            [_, location, .., last] => format!("parse error at ({location}): {last}"),
            [_, last] => format!("parse error at ({last}): {last}"),
            _ => format!("parse error in ({path}): {whole}"),
        };
        let helm_3_text = text.clone();
        let (message, frames) = (error.message().into_owned(), frames(&error));
        Error::Template { is_syntax: true, text, helm_3_text, message, frames }
    }

    /// A template that failed during execution.
    pub(crate) fn exec(error: pintle_gotmpl::Error) -> Self {
        let innermost = chain(&error).last().map(|error| error.message().into_owned()).unwrap_or_default();
        let message = own_message(&innermost).map_or(innermost.clone(), ToOwned::to_owned);
        let (text, helm_3_text) = (helm_message(&error), helm_3_message(&error));
        Error::Template { is_syntax: false, text, helm_3_text, message, frames: frames(&error) }
    }

    /// Whether the templates needed more than [`crate::Target::limits`] allow.
    pub fn exceeds_limits(&self) -> bool {
        matches!(self, Error::Template { text, .. } if text.contains(pintle_gotmpl::LIMIT_REACHED))
    }

    /// The text that Helm 3 has for this error.
    pub fn helm_3_text(&self) -> String {
        match self {
            Error::Template { helm_3_text, .. } => helm_3_text.clone(),
            Error::Libraries(error) => error.to_string(),
        }
    }
}

/// The errors from the outermost to the innermost.
fn chain(error: &pintle_gotmpl::Error) -> impl Iterator<Item = &pintle_gotmpl::Error> {
    std::iter::successors(Some(error), |error| error.cause())
}

/// The locations that have a line, outermost first.
fn frames(error: &pintle_gotmpl::Error) -> Vec<Frame> {
    chain(error)
        .filter(|error| error.line() > 0)
        .map(|error| Frame {
            file: error.source_name().to_string(),
            line: error.line(),
            column: error.column(),
            excerpt: error.excerpt(),
            template: error.template().clone(),
            context: error.context().to_owned(),
            source: error.source_text().clone(),
        })
        .collect()
}

/// The text of `required` or `fail`, if one of them produced this message.
fn own_message(text: &str) -> Option<&str> {
    let start = text.find(MESSAGE_START)? + MESSAGE_START.len();
    // The last marker, as Helm's pattern is greedy.
    let end = text.rfind(MESSAGE_END)?;
    text.get(start..end)
}

/// Helm 3's text: the message of `required` and `fail` with the outermost location, or Go's text
/// (`cleanupExecError`).
fn helm_3_message(error: &pintle_gotmpl::Error) -> String {
    let whole = error.to_string();
    let mut tokens = whole.splitn(3, ": ");
    match (tokens.next(), tokens.next(), tokens.next().and_then(own_message)) {
        (Some(_), Some(location), Some(message)) => format!("execution error at ({location}): {message}"),
        _ => whole,
    }
}

/// Helm's text: the message of `required` and `fail` with the outermost location; a block of lines for each link if
/// all links are template errors; Go's one line otherwise (Helm's `reformatExecErrorMsg`).
fn helm_message(error: &pintle_gotmpl::Error) -> String {
    let whole = error.to_string();
    let mut tokens = whole.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return whole;
    };
    if let Some(message) = own_message(rest) {
        return format!("execution error at ({location}): {message}");
    }
    let mut blocks: Vec<String> = Vec::new();
    for link in chain(error) {
        // A function that failed with its own message breaks the chain, and so does `tpl`, which adds text.
        if has_own_message(link) {
            return whole;
        }
        let Some(block) = block(&link.to_string()) else { return whole };
        // Go's `ExecError` prints as the error that it wraps, so Helm skips repeated blocks.
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    }
    blocks.concat().trim().to_owned()
}

/// Whether the next link in Go's chain is not a template error.
fn has_own_message(error: &pintle_gotmpl::Error) -> bool {
    let is_call = error.kind() == ErrorKind::Exec && error.message().starts_with("error calling ");
    let passes_through = error.cause().is_some_and(|cause| error.message().ends_with(&cause.to_string()))
        && !error.message().contains("error during tpl function execution for ")
        && !error.message().contains("cannot parse template ");
    is_call && !passes_through
}

/// The lines for one link: location, what was executed, and message.
fn block(text: &str) -> Option<String> {
    let rest = text.strip_prefix("template: ")?;
    // The error of `include` for an unknown name has no location.
    if rest.starts_with("no template ") {
        return Some(format!("{text}\n"));
    }
    if let Some((location, after)) = rest.split_once(": executing ") {
        let after = after.strip_prefix('"')?;
        let (function, after) = after.split_once('"')?;
        let (context, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        let message = own_part(message);
        let executing = format!("executing \"{function}\" at <{context}>:");
        return Some(lines(location, Some(&executing), message));
    }
    // From the end, because the location contains colons itself.
    let (location, message) = rest.rsplit_once(": ")?;
    Some(lines(location, None, own_part(message)))
}

/// The message up to the text of the next link.
fn own_part(message: &str) -> &str {
    message.find(" template:").map_or(message, |at| &message[..at])
}

fn lines(location: &str, executing: Option<&str>, message: &str) -> String {
    let mut text = String::new();
    if !location.is_empty() {
        text.push_str(&format!("{location}\n  "));
    }
    if let Some(executing) = executing {
        text.push_str(&format!("{executing}\n    "));
    }
    if !message.is_empty() {
        text.push_str(&format!("{message}\n"));
    }
    text
}

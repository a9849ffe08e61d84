//! Errors of scripts, with chart, file, line, excerpt and call stack.

use std::collections::BTreeMap;
use std::fmt;

use mlua::Lua;
use pintle_events::{ChartPath, HandlerError};
use pintle_tree::Str;

use crate::limits::{Limits, Meter};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the scripts of a chart cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A script failed while it was loaded.
    #[error("the scripts of {chart} cannot be loaded")]
    Load {
        /// The chart.
        chart: ChartPath,
        /// What went wrong.
        #[source]
        source: Box<Failure>,
    },
    /// `ext/permissions.yaml` is invalid.
    #[error("{chart}: ext/permissions.yaml: {reason}")]
    Permissions {
        /// The chart.
        chart: ChartPath,
        /// Why it is invalid.
        reason: String,
    },
    /// A permission name is unknown.
    #[error("there is no permission `{name}`; the permissions are network, filesystem (also io) and os")]
    UnknownPermission {
        /// The name.
        name: String,
    },
    /// Handlers could not be registered.
    #[error(transparent)]
    Events(#[from] pintle_events::Error),
}

/// A script failure with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file inside the chart, if known.
    pub file: Option<String>,
    /// The line, counted from one.
    pub line: Option<usize>,
    /// The error message.
    pub message: String,
    /// The surrounding lines, with a marker.
    pub excerpt: Option<String>,
    /// The call stack, innermost first.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(formatter, "{file}:{line}: {}", self.message)?,
            _ => formatter.write_str(&self.message)?,
        }
        match &self.excerpt {
            Some(excerpt) => write!(formatter, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for HandlerError {
    fn from(failure: Failure) -> Self {
        let trace = failure.trace.join("\n");
        HandlerError::from_error(failure).with_trace(trace)
    }
}

/// The sources of all scripts of a state, by the chunk names that errors use.
pub(crate) type Sources = BTreeMap<String, Str>;

/// The chunk name of the prelude, which is left out of locations.
pub(crate) const PRELUDE: &str = "pintle";

/// The message for the memory limit of one chart.
pub(crate) const MEMORY: &str = "the script used more memory than it may";

/// The engine's message for the memory limit, as scripts see it.
pub(crate) const OUT_OF_MEMORY: &str = "not enough memory";

/// The message for the memory limit of all charts together.
const ALL_MEMORY: &str = "the scripts of all charts together used more memory than they may";

/// The separator between an error message and its stack trace.
const TRACE: &str = "\nstack traceback:\n";

impl Failure {
    /// A failure without a location.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        Failure {
            file: None,
            line: None,
            message: sanitized(message.as_ref()),
            excerpt: None,
            trace: Vec::new(),
        }
    }

    /// Converts an error of a run: if a limit was exceeded, that limit is the cause, whatever the script reported.
    pub(crate) fn from_run(error: &mlua::Error, meter: &Meter, sources: &Sources) -> Self {
        let mut failure = match meter.exceeded() {
            Some(trip) => Failure::from_message(&trip.message, &trip.trace, sources),
            None => Failure::from_lua_error(error, sources),
        };
        if failure.message == MEMORY {
            let limits = meter.limits();
            failure.message = match meter.is_memory_shared() {
                true => Failure::shared_memory_exhausted(limits).message,
                false => format!("{MEMORY} ({} MiB)", limits.memory >> 20),
            };
        }
        failure
    }

    /// The failure for exhausted shared memory.
    pub(crate) fn shared_memory_exhausted(limits: &Limits) -> Self {
        Failure::new(format!("{ALL_MEMORY} ({} MiB)", limits.all_memory >> 20))
    }

    /// Converts an engine error.
    pub(crate) fn from_lua_error(error: &mlua::Error, sources: &Sources) -> Self {
        match error {
            mlua::Error::CallbackError { traceback, cause } => {
                let mut failure = Failure::from_lua_error(cause, sources);
                // The innermost callback has the most precise trace.
                if failure.trace.is_empty() {
                    failure.trace = calls(traceback, sources);
                    failure.locate(sources);
                }
                failure
            }
            mlua::Error::RuntimeError(text) => {
                let (message, trace) = text.split_once(TRACE).unwrap_or((text, ""));
                Failure::from_message(message, trace, sources)
            }
            mlua::Error::SyntaxError { message, .. } => Failure::from_message(message, "", sources),
            mlua::Error::MemoryError(_) => Failure::new(MEMORY),
            other => Failure::new(other.to_string()),
        }
    }

    fn from_message(message: &str, trace: &str, sources: &Sources) -> Self {
        let (file, line, message) = match split_location(message) {
            Some((file, line, rest)) if sources.contains_key(file) => {
                (Some(file.to_owned()), Some(line), rest)
            }
            // A line of the prelude means nothing to a chart author.
            Some((PRELUDE, _, rest)) => (None, None, rest),
            _ => (None, None, message),
        };
        let message = match message.trim_end() {
            // The engine's text, when a script caught the error and raised it again.
            OUT_OF_MEMORY => MEMORY.to_owned(),
            message if adds_strings(message) => format!("{}; {JOIN_STRINGS}", sanitized(message)),
            message => sanitized(message),
        };
        let mut failure = Failure { file, line, message, excerpt: None, trace: calls(trace, sources) };
        failure.locate(sources);
        failure
    }

    /// Adds the location, from the call stack if the message has none, and the excerpt.
    fn locate(&mut self, sources: &Sources) {
        if self.file.is_none()
            && let Some((file, line)) = self.trace.iter().find_map(|call| parse_location(call))
        {
            (self.file, self.line) = (Some(file.to_owned()), Some(line));
        }
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            self.excerpt = sources.get(file).and_then(|source| excerpt(source, line));
        }
    }
}

/// The advice for scripts that add strings, as in languages where `+` joins them.
pub(crate) const JOIN_STRINGS: &str = "strings are joined with `..`, not with `+`";

/// Whether an error of the engine is about `+` with a string.
fn adds_strings(message: &str) -> bool {
    let operands = message.strip_prefix("attempt to perform arithmetic (add) on ");
    operands.is_some_and(|operands| operands.split(" and ").any(|operand| operand == "string"))
}

/// Splits `file:line: message`.
fn split_location(text: &str) -> Option<(&str, usize, &str)> {
    let (file, rest) = text.split_once(':')?;
    let (line, message) = rest.split_once(':')?;
    Some((file, line.parse().ok()?, message.trim_start()))
}

/// Parses the location at the start of a stack entry: `file:line` or `file:line function name`.
fn parse_location(call: &str) -> Option<(&str, usize)> {
    let (file, rest) = call.split_once(':')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((file, rest[..digits].parse().ok()?))
}

/// The stack entries that are in the charts' own files.
fn calls(trace: &str, sources: &Sources) -> Vec<String> {
    let own = |line: &&str| parse_location(line).is_some_and(|(file, _)| sources.contains_key(file));
    trace.lines().map(str::trim).filter(own).take(MAX_CALLS).map(str::to_owned).collect()
}

/// The maximum number of stack entries shown.
const MAX_CALLS: usize = 40;

/// The maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// A script's text for display: without control characters, which a terminal would interpret, and shortened.
pub(crate) fn sanitized(text: &str) -> String {
    let end =
        (0..=MAX_MESSAGE.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let plain = |c: char| if c.is_control() && c != '\t' && c != '\n' { '\u{fffd}' } else { c };
    let mut shown: String = text[..end].chars().map(plain).collect();
    if end < text.len() {
        shown.push_str(" …");
    }
    shown
}

/// The maximum length of an excerpt line, in characters.
const MAX_LINE: usize = 160;

/// A line with its neighbours and a marker.
fn excerpt(source: &Str, line: usize) -> Option<String> {
    let text = source.to_str_lossy();
    let first = line.saturating_sub(1);
    let mut out = Vec::new();
    for (number, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content)) {
        if (first..=line + 1).contains(&number) {
            let mark = if number == line { '>' } else { ' ' };
            let content: String = sanitized(content).chars().take(MAX_LINE).collect();
            out.push(format!("{mark} {number:>4} | {content}").trim_end().to_owned());
        }
    }
    if out.is_empty() { None } else { Some(out.join("\n")) }
}

/// The location in a chart's script from which the running host function was called.
pub(crate) fn caller_location(lua: &Lua) -> Option<String> {
    caller(lua).map(|(file, line)| format!("{file}:{line}"))
}

/// The file and line of the innermost chart function on the stack.
pub(crate) fn caller(lua: &Lua) -> Option<(String, usize)> {
    // Prelude frames are few; in deep recursion the innermost frames belong to the script.
    for level in 0..64 {
        let found = lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let name = source.short_src.as_deref().unwrap_or_default().to_owned();
            (source.what != "C" && name != PRELUDE).then(|| Some((name, debug.current_line()?)))
        })?;
        if let Some(location) = found {
            return location;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        let text = "one\ntwo\nthree\nfour\nfive\n";
        Sources::from([("ext/lua/chart.lua".to_owned(), Str::from(text))])
    }

    #[test]
    fn a_failure_shows_its_place_and_the_lines_around_it() {
        let text = "ext/lua/chart.lua:3: boom\nstack traceback:\n[C] in ?\next/lua/chart.lua:3 function f\npintle:9\n\
                    ext/lua/chart.lua:5";
        let failure = Failure::from_lua_error(&mlua::Error::RuntimeError(text.into()), &sources());
        assert_eq!(
            failure.to_string(),
            "ext/lua/chart.lua:3: boom\n     2 | two\n>    3 | three\n     4 | four"
        );
        assert_eq!(failure.trace, ["ext/lua/chart.lua:3 function f", "ext/lua/chart.lua:5"]);
    }

    #[test]
    fn a_failure_inside_the_prelude_is_put_where_it_was_called() {
        let text = "pintle:40: wrong number of arguments\nstack traceback:\npintle:40\next/lua/chart.lua:2";
        let failure = Failure::from_lua_error(&mlua::Error::RuntimeError(text.into()), &sources());
        assert_eq!((failure.line, failure.message.as_str()), (Some(2), "wrong number of arguments"));
    }

    #[test]
    fn messages_are_cut_and_carry_no_commands_for_terminals() {
        let text = format!("\u{1b}[2J{}", "é".repeat(10_000));
        let failure = Failure::from_lua_error(&mlua::Error::RuntimeError(text), &sources());
        assert!(failure.message.starts_with("\u{fffd}[2Jéé") && failure.message.ends_with("é …"));
        assert!(failure.message.len() < MAX_MESSAGE + 10);
    }

    #[test]
    fn adding_strings_is_answered_with_the_operator_that_joins_them() {
        for operands in ["string", "string and nil", "number and string"] {
            let text = format!("attempt to perform arithmetic (add) on {operands}");
            let failure = Failure::from_lua_error(&mlua::Error::RuntimeError(text.clone()), &sources());
            assert_eq!(failure.message, format!("{text}; strings are joined with `..`, not with `+`"));
        }
        for text in
            ["attempt to perform arithmetic (add) on nil", "attempt to perform arithmetic (sub) on string"]
        {
            let failure = Failure::from_lua_error(&mlua::Error::RuntimeError(text.into()), &sources());
            assert_eq!(failure.message, text);
        }
    }

    #[test]
    fn a_message_with_colons_is_no_place() {
        let failure = Failure::from_lua_error(&mlua::Error::RuntimeError("a:1: b".into()), &sources());
        assert_eq!(failure.to_string(), "a:1: b");
    }
}

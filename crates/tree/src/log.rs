//! Log lines in the text format of Go's `log/slog`, because people and tools read them on standard error.

use std::borrow::Cow;
use std::fmt;

use crate::quote::{is_print, quote};

/// How important a log line is, with the names of Go's `slog`, which Helm logs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// For information.
    Info,
    /// A problem that does not stop the operation.
    Warn,
    /// A problem that stops the operation.
    Error,
}

impl LogLevel {
    /// The name in log lines.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Warn => "WARN",
            LogLevel::Error => "ERROR",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A log line: a level, a message and attributes. Displays as `level=INFO msg="…" key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How important it is.
    pub level: LogLevel,
    /// The message.
    pub message: Cow<'static, str>,
    /// Attributes.
    pub attributes: Vec<(&'static str, String)>,
}

impl LogLine {
    /// Returns a line of level INFO without attributes.
    pub fn info(message: impl Into<Cow<'static, str>>) -> Self {
        LogLine { level: LogLevel::Info, message: message.into(), attributes: Vec::new() }
    }

    /// Returns a line of level WARN.
    pub fn warn(message: impl Into<Cow<'static, str>>, attributes: Vec<(&'static str, String)>) -> Self {
        LogLine { level: LogLevel::Warn, message: message.into(), attributes }
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "level={} msg={}", self.level, quoted_if_needed(&self.message))?;
        for (name, value) in &self.attributes {
            write!(formatter, " {name}={}", quoted_if_needed(value))?;
        }
        Ok(())
    }
}

/// slog quotes values that are empty or have spaces, `=`, quotes or unprintable characters; a backslash alone is no
/// reason.
fn quoted_if_needed(text: &str) -> Cow<'_, str> {
    let plain = |character: char| match character {
        ' ' | '=' | '"' | '\0'..='\u{1f}' => false,
        '\u{7f}' => true,
        '\u{fffd}' => false,
        _ => !character.is_whitespace() && is_print(character),
    };
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { quote(text.as_bytes()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_only_where_slog_quotes_them() {
        for (value, text) in [
            ("a;b", "a;b"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a\\b", "a\\b"),
            ("a\"b", "\"a\\\"b\""),
            ("a=b", "\"a=b\""),
            ("é", "é"),
            ("a\u{a0}b", "\"a\\u00a0b\""),
        ] {
            assert_eq!(quoted_if_needed(value), text);
        }
    }
}

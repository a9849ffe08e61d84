//! The plain values of TOML: strings with their escapes, numbers, dates.

use pintle_gotmpl::Value;
use pintle_tree::number::{self, IntError};
use pintle_tree::{Str, quote};

use super::super::moment;
use super::super::scan::{ParseError, Token};
use super::{Outcome, Reader};

impl Reader<'_> {
    /// The value of a token that is complete in itself.
    pub(super) fn scalar(&self, token: Token<'_>) -> Outcome<Value> {
        let error = |message: String| ParseError { line: self.scanner.line(), message };
        match token {
            Token::Text(text) => Ok(Value::str(text)),
            Token::LongText(text) => Ok(Value::str(without_first_newline(text))),
            Token::Escaped(text) => unescaped(text).map(Value::str).map_err(error),
            Token::Long(text) => unescaped(&without_escaped_newlines(without_first_newline(text)))
                .map(Value::str)
                .map_err(error),
            Token::Bool(value) => Ok(Value::Bool(value)),
            Token::Integer(text) => integer(text).map_err(error),
            Token::Float(text) => float(text).map_err(error),
            Token::Moment(text) => moment(text).map_err(error),
            Token::Array | Token::Table => Ok(Value::Nil),
        }
    }
}

fn without_first_newline(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\n").or_else(|| text.strip_prefix(b"\r\n")).unwrap_or(text)
}

/// Removes each backslash at the end of a line, with all the blanks and newlines after it.
fn without_escaped_newlines(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' {
            out.push(byte);
            rest = after;
            continue;
        }
        // An escaped backslash, which must not hide or start an escape of the line end.
        if after.first() == Some(&b'\\') {
            out.extend_from_slice(b"\\\\");
            rest = &after[1..];
            continue;
        }
        let blanks = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        if after[..blanks].contains(&b'\n') {
            rest = &after[blanks..];
        } else {
            out.push(byte);
            rest = after;
        }
    }
    out
}

/// Resolves escapes that the scanner has checked.
fn unescaped(text: &[u8]) -> Result<Str, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else { break };
        rest = after;
        let digits = match escape {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            b' ' | b'\t' => return Err(format!("invalid escape: '\\{}'", char::from(escape))),
            _ => {
                out.push(simple_escape(escape));
                continue;
            }
        };
        let (code, after) = rest.split_at(digits.min(rest.len()));
        rest = after;
        let code = String::from_utf8_lossy(code);
        let Some(character) = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32) else {
            return Err(format!("Escaped character '\\u{code}' is not valid UTF-8."));
        };
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(Str::from(out))
}

fn simple_escape(escape: u8) -> u8 {
    match escape {
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'f' => 0x0c,
        b'r' => b'\r',
        b'e' => 0x1b,
        other => other,
    }
}

/// Whether each underscore is between digits, and the last character is a digit.
fn underscores_are_fine(text: &str) -> bool {
    if matches!(text, "nan" | "+nan" | "-nan" | "inf" | "-inf" | "+inf") {
        return true;
    }
    let mut after_digit = false;
    for byte in text.bytes() {
        if byte == b'_' && !after_digit {
            return false;
        }
        after_digit = byte.is_ascii_hexdigit();
    }
    after_digit
}

fn has_leading_zero(text: &str) -> bool {
    match text.as_bytes() {
        [b'0', b'b' | b'o' | b'x', ..] => false,
        [b'0', _, ..] | [b'-' | b'+', b'0', _, ..] => true,
        _ => false,
    }
}

fn integer(text: &str) -> Result<Value, String> {
    let refuse = |reason: &str| Err(format!("Invalid integer {}: {reason}", quote::quote(text.as_bytes())));
    if !underscores_are_fine(text) {
        return refuse("underscores must be surrounded by digits");
    }
    if has_leading_zero(text) {
        return refuse("cannot have leading zeroes");
    }
    // Base 0 accepts underscores and the prefixes `0x`, `0o` and `0b`, as TOML does.
    match number::parse_int(text, 0) {
        Ok(value) => Ok(Value::int64(value)),
        Err(IntError::Range) => Err(format!("{text} is out of range for int64")),
        Err(IntError::Syntax) => Err(format!("Expected integer value, but got '{text}'.")),
    }
}

fn float(text: &str) -> Result<Value, String> {
    let refuse = |reason: &str| Err(format!("Invalid float {}: {reason}", quote::quote(text.as_bytes())));
    let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty());
    if !parts.clone().all(underscores_are_fine) {
        return refuse("underscores must be surrounded by digits");
    }
    if parts.next().is_some_and(has_leading_zero) {
        return refuse("cannot have leading zeroes");
    }
    if text.split('.').skip(1).any(|after| !after.starts_with(|first: char| first.is_ascii_digit())) {
        return refuse("'.' must be followed by one or more digits");
    }
    let plain = text.replace('_', "");
    match number::parse_float(&plain) {
        None => Err(format!("Invalid float value: {}", quote::quote(text.as_bytes()))),
        Some(value) if value.is_infinite() && !plain.ends_with("inf") => {
            Err(format!("{text} is out of range for float64"))
        }
        Some(value) if value.is_nan() => {
            Ok(Value::Float(f64::NAN.copysign(if plain.starts_with('-') { -1.0 } else { 1.0 })))
        }
        Some(value) => Ok(Value::Float(value)),
    }
}

fn moment(text: &str) -> Result<Value, String> {
    let text = text.replace('z', "Z").replace(['t', ' '], "T");
    match moment::read(&text) {
        Some(time) => Ok(crate::dates::time(time)),
        None => Err(format!("invalid datetime: {}", quote::quote(text.as_bytes()))),
    }
}

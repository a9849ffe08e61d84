//! Scans the characters, strings and numbers of JSON, with Go's errors.

use super::{Error, ErrorKind};
use crate::{Str, quote};

/// A position in a JSON text.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    /// Whether the text may continue after the value, as in a stream. Go's error at an early end differs then.
    pub(super) stream: bool,
}

impl<'t> Scanner<'t> {
    /// Skips blanks and returns the next byte, not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// The error about the current character, or about the end of the text.
    pub(super) fn unexpected(&self, context: &str) -> Error {
        match self.text.get(self.at) {
            Some(&byte) => self.invalid(byte, context, context),
            None => self.ended(),
        }
    }

    /// The error about the current character inside a token. `older` is the context in older texts.
    fn unexpected_in_token(&self, context: &str, older: &str) -> Error {
        match self.text.get(self.at) {
            Some(&byte) => self.invalid(byte, context, older),
            None => self.ended_in_token(older),
        }
    }

    /// The error about nesting that is too deep.
    pub(super) fn too_deep(&self, bracket: char) -> Error {
        let message = "exceeded max depth";
        let older = format!("invalid character '{bracket}' {message}");
        Error::new(ErrorKind::Syntax, message, self.at + 1).with_kubernetes(older)
    }

    fn invalid(&self, byte: u8, context: &str, older: &str) -> Error {
        let (character, length) = quoted_character(&self.text[self.at..]);
        let message = format!("invalid character {character} {context}");
        let error = Error::new(ErrorKind::Syntax, message, self.at + length);
        if byte.is_ascii() && context == older {
            return error;
        }
        error.with_kubernetes(older_text(byte, older))
    }

    fn ended(&self) -> Error {
        let message = if self.stream { "unexpected EOF" } else { "unexpected end of JSON input" };
        Error::new(ErrorKind::Syntax, message, self.text.len())
    }

    /// The end of the text inside a token. Older Go feeds a space there, unless it waits for more of a stream, so a token that
    /// cannot contain one is reported by that space.
    fn ended_in_token(&self, older: &str) -> Error {
        if self.stream { self.ended() } else { self.ended().with_kubernetes(older_text(b' ', older)) }
    }

    /// Consumes the rest of `true`, `false` or `null`, from its first letter.
    pub(super) fn word(&mut self, word: &'static str) -> Result<(), Error> {
        for expected in word.bytes() {
            if self.text.get(self.at) != Some(&expected) {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.unexpected_in_token(&context, &context));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Consumes a number and returns its text.
    pub(super) fn number(&mut self) -> Result<&'t str, Error> {
        let start = self.at;
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected_in_token(NUMERIC, NUMERIC)),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(std::str::from_utf8(&self.text[start..self.at]).expect("numbers are ASCII"))
    }

    fn digits(&mut self) {
        while matches!(self.text.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, older: &str) -> Result<(), Error> {
        if !matches!(self.text.get(self.at), Some(b'0'..=b'9')) {
            return Err(self.unexpected_in_token(NUMERIC, older));
        }
        self.digits();
        Ok(())
    }

    /// Consumes a string, starting at its opening quote.
    pub(super) fn string(&mut self) -> Result<Str, Error> {
        self.at += 1;
        let start = self.at;
        let mut plain = true;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..0x20) => return Err(self.unexpected_in_token("in string", "in string literal")),
                Some(_) => self.at += 1,
                None => return Err(self.ended()),
            }
        }
        let body = &self.text[start..self.at];
        self.at += 1;
        // Escapes are rare; without them the bytes are taken over as they are.
        if plain && std::str::from_utf8(body).is_ok() {
            Ok(Str::new(body))
        } else {
            Ok(unescape(body).into())
        }
    }

    /// Checks one escape after its backslash.
    fn escape(&mut self) -> Result<(), Error> {
        match self.text.get(self.at) {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                let start = self.at - 1;
                self.at += 1;
                for _ in 0..4 {
                    if !self.text.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                        return Err(self.bad_escape(start, 6, "in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.bad_escape(self.at - 1, 2, "in string escape code")),
        }
        Ok(())
    }

    /// The error about the escape of `length` bytes from `start` on.
    fn bad_escape(&self, start: usize, length: usize, older: &str) -> Error {
        let Some(&byte) = self.text.get(self.at) else { return self.ended_in_token(older) };
        let end = self.text.len().min(start + length);
        let escape = &self.text[start..end];
        let is_plain = |character: char| {
            character != '`'
                && character != char::REPLACEMENT_CHARACTER
                && !character.is_whitespace()
                && quote::is_print(character)
        };
        let shown = match std::str::from_utf8(escape) {
            Ok(text) if text.chars().all(is_plain) => format!("`{text}`"),
            _ => quote::quote(escape),
        };
        Error::new(ErrorKind::Syntax, format!("invalid escape sequence {shown} in string"), end)
            .with_kubernetes(older_text(byte, older))
    }
}

/// The context of errors inside of numbers.
const NUMERIC: &str = "in numeric literal";

/// Go's `strconv.QuoteRune` of the first character, and its length in bytes.
fn quoted_character(text: &[u8]) -> (String, usize) {
    let start = &text[..text.len().min(4)];
    let first = start.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    let Some(character) = first else {
        return (format!("'\\x{:02x}'", text.first().copied().unwrap_or_default()), 1);
    };
    let mut quoted = String::from("'");
    quote::push_escaped(character, '\'', false, &mut quoted);
    quoted.push('\'');
    (quoted, character.len_utf8())
}

/// The text of Go before 1.27, which takes each byte for a character.
fn older_text(byte: u8, context: &str) -> String {
    let (quoted, _) = quoted_character(char::from(byte).encode_utf8(&mut [0; 4]).as_bytes());
    format!("invalid character {quoted} {context}")
}

/// Resolves the escapes of a checked string. Each invalid UTF-8 byte becomes U+FFFD, as in Go.
fn unescape(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        push_valid(&mut out, &rest[..at]);
        let letter = rest[at + 1];
        rest = &rest[at + 2..];
        match letter {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let (character, used) = code_point(rest);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used..];
            }
            other => out.push(other),
        }
    }
    push_valid(&mut out, rest);
    out
}

fn push_valid(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// The character of the hexadecimal digits at the start of `rest`, combined with a second escape if both are
/// surrogates, and its length in bytes.
fn code_point(rest: &[u8]) -> (char, usize) {
    let first = hexadecimal(rest);
    if (0xd800..0xdc00).contains(&first) && rest.get(4..6) == Some(b"\\u") {
        let second = hexadecimal(&rest[6..]);
        if (0xdc00..0xe000).contains(&second) {
            let joined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 10);
        }
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4)
}

fn hexadecimal(digits: &[u8]) -> u32 {
    digits.iter().take(4).fold(0, |value, &digit| value << 4 | char::from(digit).to_digit(16).unwrap_or(0))
}

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

    /// The error about the current byte, or about the end of the text where white space would have been accepted.
    pub(super) fn unexpected(&self, context: &str) -> Error {
        match self.text.get(self.at) {
            Some(&byte) => self.invalid(byte, context, self.at + 1),
            None => self.ended(),
        }
    }

    /// The error about the current byte inside a token. Go feeds a space at the end of the text, so a token that
    /// cannot contain one is reported by that space.
    fn unexpected_in_token(&self, context: &str) -> Error {
        match self.text.get(self.at) {
            Some(&byte) => self.invalid(byte, context, self.at + 1),
            // A decoder of a stream waits for more input instead of feeding the space.
            None if self.stream => self.ended(),
            None => self.invalid(b' ', context, self.text.len()),
        }
    }

    fn invalid(&self, byte: u8, context: &str, offset: usize) -> Error {
        let mut message = String::from("invalid character '");
        match byte {
            // Go's `quoteChar`: single quotes around, so that one is escaped and a double quote is not.
            b'\'' => message.push_str("\\'"),
            b'"' => message.push('"'),
            _ => quote::push_escaped(char::from(byte), '"', false, &mut message),
        }
        message.push_str("' ");
        message.push_str(context);
        Error::new(ErrorKind::Syntax, message, offset)
    }

    fn ended(&self) -> Error {
        let message = if self.stream { "unexpected EOF" } else { "unexpected end of JSON input" };
        Error::new(ErrorKind::Syntax, message, self.text.len())
    }

    /// Consumes the rest of `true`, `false` or `null`, from its first letter.
    pub(super) fn word(&mut self, word: &'static str) -> Result<(), Error> {
        for expected in word.bytes() {
            if self.text.get(self.at) != Some(&expected) {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.unexpected_in_token(&context));
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
            _ => return Err(self.unexpected_in_token("in numeric literal")),
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

    fn some_digits(&mut self, context: &str) -> Result<(), Error> {
        if !matches!(self.text.get(self.at), Some(b'0'..=b'9')) {
            return Err(self.unexpected_in_token(context));
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
                Some(0..0x20) => return Err(self.unexpected_in_token("in string literal")),
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
                self.at += 1;
                for _ in 0..4 {
                    if !self.text.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                        return Err(self.unexpected_in_token("in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.unexpected_in_token("in string escape code")),
        }
        Ok(())
    }
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

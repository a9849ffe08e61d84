//! Decodes the characters of a text in chunks.
//!
//! go-yaml decodes 512 bytes at a time, so it finds a forbidden character only when it gets near it, and an earlier
//! syntax error is reported first. This input uses the same chunks, or errors would differ.

use crate::error::Problem;

/// How many bytes are fetched at once: `input_raw_buffer_size` in go-yaml.
const CHUNK_SIZE: usize = 512;

/// Decoded text with a position.
#[derive(Debug)]
pub(crate) struct Input<'t> {
    raw: &'t [u8],
    /// How far `raw` is decoded.
    raw_position: usize,
    /// How far `raw` is fetched.
    raw_end: usize,
    ended: bool,
    encoding: Option<Encoding>,
    /// The length of the byte order mark.
    skipped: usize,
    decoded: Vec<u8>,
    position: usize,
    /// Where the text began when it was last fetched.
    window: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl<'t> Input<'t> {
    pub(crate) fn new(raw: &'t [u8]) -> Self {
        // go-yaml reads an empty text as one line break.
        let raw = if raw.is_empty() { b"\n" } else { raw };
        Input {
            raw,
            raw_position: 0,
            raw_end: 0,
            ended: false,
            encoding: None,
            skipped: 0,
            decoded: Vec::with_capacity(raw.len() + 4),
            position: 0,
            window: 0,
        }
    }

    /// The byte `offset` bytes ahead; zero at the end of the text.
    #[inline]
    pub(crate) fn byte(&self, offset: usize) -> u8 {
        self.decoded.get(self.position + offset).copied().unwrap_or(0)
    }

    /// The bytes of the current character.
    #[inline]
    pub(crate) fn character(&self) -> &[u8] {
        let end = (self.position + width(self.byte(0))).min(self.decoded.len());
        &self.decoded[self.position..end]
    }

    /// The position in the text as it was given, if that is UTF-8.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        (self.position + self.skipped).min(self.raw.len())
    }

    /// Whether the text is UTF-16, so that its bytes are not those that were read.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.encoding, Some(Encoding::Utf16Little | Encoding::Utf16Big))
    }

    /// The number of line breaks since the last character that is neither a break nor a blank.
    pub(crate) fn newlines(&self) -> usize {
        let before = &self.decoded[..self.position.min(self.decoded.len())];
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        before.iter().rev().take_while(blank).filter(|&&byte| byte == b'\n').count()
    }

    /// Steps over `bytes` bytes.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.position += bytes;
    }

    /// Whether the text as last fetched starts with a byte order mark. go-yaml checks there instead of at its
    /// position.
    pub(crate) fn window_begins_with_mark(&self) -> bool {
        self.decoded[self.window..].starts_with(b"\xef\xbb\xbf")
    }

    /// Makes sure that `count` characters are decoded, as far as the text has them.
    #[inline]
    pub(crate) fn ensure(&mut self, count: usize) -> Result<(), Problem> {
        // No character has more than four bytes.
        if self.decoded.len() >= self.position + 4 * count { Ok(()) } else { self.ensure_slowly(count) }
    }

    fn ensure_slowly(&mut self, count: usize) -> Result<(), Problem> {
        let rest = self.decoded.get(self.position..).unwrap_or_default();
        let mut unread = rest.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        if unread >= count {
            return Ok(());
        }
        if self.encoding.is_none() {
            self.determine_encoding();
        }
        self.window = self.position.min(self.decoded.len());
        let mut first = true;
        while unread < count {
            if !first || self.raw_position == self.raw_end {
                self.fetch();
            }
            first = false;
            unread += self.decode()?;
            if self.ended {
                // The NUL marks the end for the scanner, as in libyaml; the text itself cannot contain one.
                self.decoded.push(0);
                break;
            }
        }
        Ok(())
    }

    fn determine_encoding(&mut self) {
        while !self.ended && self.raw_end < 3 {
            self.fetch();
        }
        let (encoding, skipped) = match &self.raw[..self.raw_end] {
            [0xff, 0xfe, ..] => (Encoding::Utf16Little, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16Big, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        self.encoding = Some(encoding);
        self.raw_position = skipped;
        self.skipped = skipped;
    }

    fn fetch(&mut self) {
        if self.raw_end == self.raw.len() {
            self.ended = true;
        } else {
            let kept = self.raw_end - self.raw_position;
            self.raw_end = self.raw.len().min(self.raw_end + CHUNK_SIZE - kept);
        }
    }

    /// Decodes what is fetched and returns the number of characters.
    fn decode(&mut self) -> Result<usize, Problem> {
        let mut count = 0;
        while self.raw_position < self.raw_end {
            let piece = &self.raw[self.raw_position..self.raw_end];
            // ASCII in bulk; everything else goes character by character through the checks.
            let plain =
                piece.iter().take_while(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')).count();
            if plain > 0 && self.encoding == Some(Encoding::Utf8) {
                self.decoded.extend_from_slice(&piece[..plain]);
                self.raw_position += plain;
                count += plain;
                continue;
            }
            let decoded = match self.encoding {
                Some(Encoding::Utf16Little) => decode_utf16(piece, u16::from_le_bytes, self.ended)?,
                Some(Encoding::Utf16Big) => decode_utf16(piece, u16::from_be_bytes, self.ended)?,
                _ => decode_utf8(piece, self.ended)?,
            };
            let Some((value, length)) = decoded else { break };
            let character = char::from_u32(value).filter(|&character| is_allowed(character));
            let character = character.ok_or(Problem::of_bytes("control characters are not allowed"))?;
            self.decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            self.raw_position += length;
            count += 1;
        }
        Ok(count)
    }
}

/// Whether YAML text may have the character.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// The length of a character by its first byte.
#[inline]
pub(crate) fn width(byte: u8) -> usize {
    match byte {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => 0,
    }
}

/// The first character and its length; `None` when the piece ends inside it and more may come.
fn decode_utf8(piece: &[u8], last: bool) -> Result<Option<(u32, usize)>, Problem> {
    let first = piece[0];
    let length = width(first);
    if length == 0 {
        return Err(Problem::of_bytes("invalid leading UTF-8 octet"));
    }
    if length > piece.len() {
        return if last { Err(Problem::of_bytes("incomplete UTF-8 octet sequence")) } else { Ok(None) };
    }
    let mut value = match length {
        1 => u32::from(first),
        2 => u32::from(first & 0x1f),
        3 => u32::from(first & 0x0f),
        _ => u32::from(first & 0x07),
    };
    for &byte in &piece[1..length] {
        if byte & 0xc0 != 0x80 {
            return Err(Problem::of_bytes("invalid trailing UTF-8 octet"));
        }
        value = (value << 6) + u32::from(byte & 0x3f);
    }
    let least = [0, 0x80, 0x800, 0x10000][length - 1];
    if value < least {
        return Err(Problem::of_bytes("invalid length of a UTF-8 sequence"));
    }
    if char::from_u32(value).is_none() {
        return Err(Problem::of_bytes("invalid Unicode character"));
    }
    Ok(Some((value, length)))
}

/// As [`decode_utf8`], of UTF-16 text.
fn decode_utf16(piece: &[u8], unit: fn([u8; 2]) -> u16, last: bool) -> Result<Option<(u32, usize)>, Problem> {
    let &[a, b, ..] = piece else {
        return if last { Err(Problem::of_bytes("incomplete UTF-16 character")) } else { Ok(None) };
    };
    let high = u32::from(unit([a, b]));
    match high & 0xfc00 {
        0xdc00 => Err(Problem::of_bytes("unexpected low surrogate area")),
        0xd800 => {
            let &[_, _, c, d, ..] = piece else {
                let problem = Problem::of_bytes("incomplete UTF-16 surrogate pair");
                return if last { Err(problem) } else { Ok(None) };
            };
            let low = u32::from(unit([c, d]));
            if low & 0xfc00 != 0xdc00 {
                return Err(Problem::of_bytes("expected low surrogate area"));
            }
            Ok(Some((0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff), 4)))
        }
        _ => Ok(Some((high, 2))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_far_ahead_are_not_judged_yet() {
        let mut text = vec![b'a'; 600];
        text[599] = 0x07;
        let mut input = Input::new(&text);
        assert_eq!(input.ensure(1), Ok(()));
        input.advance(511);
        assert_eq!(input.ensure(4), Err(Problem::of_bytes("control characters are not allowed")));
    }

    #[test]
    fn utf16_is_read_after_its_mark() {
        let mut input = Input::new(b"\xff\xfea\x00\x3d\xd8\x00\xde");
        assert_eq!(input.ensure(2), Ok(()));
        assert_eq!(input.byte(0), b'a');
        input.advance(1);
        assert_eq!(input.character(), "😀".as_bytes());
    }
}

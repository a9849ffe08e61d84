//! A position in the pattern, and the reading of characters from it.

use crate::error::{Error, ErrorKind, Result};

/// The pattern with the position that the parser has reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// All of the pattern.
    pub(crate) pattern: &'a [u8],
    /// The part of the pattern before the first byte that is not UTF-8.
    text: &'a str,
    /// Where the last `:]` is, so that searches for it that would fail are skipped.
    last_posix_end: usize,
    /// Where the next character starts; always between characters.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of a pattern.
    pub(crate) fn new(pattern: &'a [u8]) -> Self {
        let text = match std::str::from_utf8(pattern) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&pattern[..error.valid_up_to()]).unwrap_or_default(),
        };
        let last_posix_end = pattern.windows(2).rposition(|window| window == b":]").unwrap_or(0);
        Self { pattern, text, last_posix_end, at: 0 }
    }

    /// Returns whether there is a `:]` further on.
    pub(crate) fn has_posix_end(&self) -> bool {
        self.last_posix_end > self.at
    }

    /// Returns what is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.pattern[self.at..]
    }

    /// Returns what is between a start and the current position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.pattern[start..self.at]
    }

    /// Returns a cursor at another position of the same pattern.
    pub(crate) fn moved_to(&self, at: usize) -> Self {
        Self { at, ..*self }
    }

    /// Returns the next byte without taking it.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    /// Returns the byte after the next without taking it.
    pub(crate) fn peek_second(&self) -> Option<u8> {
        self.pattern.get(self.at + 1).copied()
    }

    /// Takes a prefix if it is there.
    pub(crate) fn take(&mut self, prefix: &[u8]) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Takes the next character; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<char>> {
        self.next_before(self.pattern.len())
    }

    /// Takes the next character of the part that ends at `end`.
    pub(crate) fn next_before(&mut self, end: usize) -> Result<Option<char>> {
        if self.at >= end {
            return Ok(None);
        }
        match self.text[self.at..].chars().next() {
            Some(character) => {
                self.at += character.len_utf8();
                Ok(Some(character))
            }
            None => Err(Error::new(ErrorKind::InvalidUtf8, &self.pattern[self.at..end])),
        }
    }

    /// Fails if the part between the current position and `end` is not UTF-8.
    pub(crate) fn check_utf8(&self, end: usize) -> Result<()> {
        if self.text.len() < end {
            let start = self.text.len().max(self.at);
            return Err(Error::new(ErrorKind::InvalidUtf8, &self.pattern[start..end]));
        }
        Ok(())
    }

    /// Returns the distance from the current position to the first of a byte sequence.
    pub(crate) fn find(&self, needle: &[u8]) -> Option<usize> {
        self.rest().windows(needle.len()).position(|window| window == needle)
    }
}

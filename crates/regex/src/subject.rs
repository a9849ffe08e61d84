//! The text that is searched. Go treats an invalid UTF-8 byte as U+FFFD; the automaton gets a copy in which that is
//! literally so, and offsets are translated back.

use std::borrow::Cow;
use std::ops::Range;

const REPLACEMENT: &str = "\u{fffd}";

/// A haystack as valid UTF-8: borrowed if it is valid, otherwise copied with replacements.
pub(crate) struct Subject<'a> {
    text: Cow<'a, str>,
    /// Where the copy has a replacement for a single byte, ascending.
    replaced: Vec<usize>,
}

impl<'a> Subject<'a> {
    /// Wraps a haystack, or copies it with replacements.
    pub(crate) fn new(haystack: &'a [u8]) -> Self {
        match std::str::from_utf8(haystack) {
            Ok(text) => Self { text: Cow::Borrowed(text), replaced: Vec::new() },
            Err(_) => Self::mended(haystack),
        }
    }

    fn mended(haystack: &[u8]) -> Self {
        let mut text = String::with_capacity(haystack.len() + 16);
        let mut replaced = Vec::new();
        for chunk in haystack.utf8_chunks() {
            text.push_str(chunk.valid());
            for _ in chunk.invalid() {
                replaced.push(text.len());
                text.push_str(REPLACEMENT);
            }
        }
        Self { text: Cow::Owned(text), replaced }
    }

    /// Returns the text to search.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Translates an offset in the text to one in the haystack.
    pub(crate) fn haystack_offset(&self, offset: usize) -> usize {
        let before = self.replaced.partition_point(|replaced| *replaced < offset);
        offset - before * (REPLACEMENT.len() - 1)
    }

    /// Translates a range of the text to one of the haystack.
    pub(crate) fn range(&self, range: Range<usize>) -> Range<usize> {
        if self.replaced.is_empty() {
            return range;
        }
        self.haystack_offset(range.start)..self.haystack_offset(range.end)
    }

    /// Returns the offset after the character at an offset of the text; `None` at the end.
    pub(crate) fn after_character(&self, offset: usize) -> Option<usize> {
        let character = self.text.get(offset..)?.chars().next()?;
        Some(offset + character.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn places_in_mended_text_lead_back_to_the_bytes() {
        let subject = Subject::new(b"a\xffb\xe4\xb8c");
        assert_eq!(subject.text(), "a\u{fffd}b\u{fffd}\u{fffd}c");
        assert_eq!(subject.range(1..4), 1..2);
        assert_eq!(subject.range(5..12), 3..6);
    }
}

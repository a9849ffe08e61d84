//! Reads a `--set` text character by character.

/// A position in a text. Each invalid UTF-8 byte is read as U+FFFD.
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

/// Characters up to a stop character.
pub(super) struct Segment {
    /// The characters before the stop, escapes resolved.
    pub(super) text: String,
    /// The stop character, or `None` at the end of the text.
    pub(super) stop: Option<char>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    /// Consumes and returns the next character.
    pub(super) fn next(&mut self) -> Option<char> {
        let (character, length) = self.decode()?;
        self.at += length;
        Some(character)
    }

    /// Consumes the next character if it is `wanted`.
    pub(super) fn skip(&mut self, wanted: char) -> bool {
        match self.decode() {
            Some((character, length)) if character == wanted => {
                self.at += length;
                true
            }
            _ => false,
        }
    }

    /// The next character, not consumed, and its length in bytes.
    pub(super) fn decode(&self) -> Option<(char, usize)> {
        let rest = &self.text[self.at..];
        let first = *rest.first()?;
        if first.is_ascii() {
            return Some((char::from(first), 1));
        }
        let longest = &rest[..rest.len().min(4)];
        let valid = match std::str::from_utf8(longest) {
            Ok(valid) => valid,
            Err(error) => std::str::from_utf8(&longest[..error.valid_up_to()]).unwrap_or_default(),
        };
        Some(valid.chars().next().map_or((char::REPLACEMENT_CHARACTER, 1), |found| (found, found.len_utf8())))
    }

    /// The bytes not consumed yet.
    pub(super) fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// Consumes `count` bytes.
    pub(super) fn advance(&mut self, count: usize) {
        self.at = (self.at + count).min(self.text.len());
    }

    /// Consumes characters up to and including one of `stops`. With `escapes`, a backslash makes the next character
    /// an ordinary one; a backslash at the end of the text is dropped.
    pub(super) fn until(&mut self, stops: &[char], escapes: bool) -> Segment {
        let mut text = String::new();
        while let Some(character) = self.next() {
            if stops.contains(&character) {
                return Segment { text, stop: Some(character) };
            }
            if character == '\\' && escapes {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => break,
                }
            } else {
                text.push(character);
            }
        }
        Segment { text, stop: None }
    }
}

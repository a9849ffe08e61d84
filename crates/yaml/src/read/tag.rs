//! Scanning directives, anchors and tags.

use super::scan::Scanner;
use super::token::{Span, Word};
use crate::error::Problem;

impl Scanner<'_> {
    /// `%YAML 1.1` or `%TAG ! prefix`, with its line break.
    pub(super) fn directive(&mut self) -> Result<Word, Problem> {
        self.skip();
        let name = self.name()?;
        if name.is_empty() {
            return Err(self.problem("could not find expected directive name"));
        }
        if !self.is_blank_or_end(0) {
            return Err(self.problem("found unexpected non-alphabetical character"));
        }
        let word = match name.of(&self.pool) {
            b"YAML" => self.version_directive()?,
            b"TAG" => self.tag_directive()?,
            _ => return Err(self.problem("found unknown directive name")),
        };
        self.skip_blanks()?;
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return Err(self.problem("did not find expected comment or line break"));
        }
        if self.is_break(0) {
            self.input.ensure(2)?;
            self.skip_break();
        }
        Ok(word)
    }

    fn version_directive(&mut self) -> Result<Word, Problem> {
        self.skip_blanks()?;
        let major = self.version_number()?;
        if self.input.byte(0) != b'.' {
            return Err(self.problem("did not find expected digit or '.' character"));
        }
        self.skip();
        let minor = self.version_number()?;
        Ok(Word::VersionDirective { major, minor })
    }

    fn version_number(&mut self) -> Result<u8, Problem> {
        self.input.ensure(1)?;
        let mut value = 0;
        let mut length = 0;
        while self.input.byte(0).is_ascii_digit() {
            length += 1;
            // Two digits, as libyaml's port has it (`max_number_length`).
            if length > 2 {
                return Err(self.problem("found extremely long version number"));
            }
            value = value * 10 + (self.input.byte(0) - b'0');
            self.skip();
            self.input.ensure(1)?;
        }
        if length == 0 {
            return Err(self.problem("did not find expected version number"));
        }
        Ok(value)
    }

    fn tag_directive(&mut self) -> Result<Word, Problem> {
        self.skip_blanks()?;
        let handle = self.tag_handle()?;
        let text = handle.of(&self.pool);
        if text != b"!" && !(text.len() > 1 && text.ends_with(b"!")) {
            return Err(self.problem("did not find expected '!'"));
        }
        self.input.ensure(1)?;
        if !self.is_blank(0) {
            return Err(self.problem("did not find expected whitespace"));
        }
        self.skip_blanks()?;
        let prefix = self.tag_uri(None)?;
        self.input.ensure(1)?;
        if !self.is_blank_or_end(0) {
            return Err(self.problem("did not find expected whitespace or line break"));
        }
        Ok(Word::TagDirective { handle, prefix })
    }

    /// `&name` or `*name`.
    pub(super) fn anchor(&mut self) -> Result<Word, Problem> {
        let alias = self.input.byte(0) == b'*';
        self.skip();
        let name = self.name()?;
        let ended = self.is_blank_or_end(0)
            || matches!(self.input.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return Err(self.problem("did not find expected alphabetic or numeric character"));
        }
        Ok(if alias { Word::Alias(name) } else { Word::Anchor(name) })
    }

    /// `!<uri>`, `!suffix` or `!handle!suffix`.
    pub(super) fn tag(&mut self) -> Result<Word, Problem> {
        self.input.ensure(2)?;
        let (handle, suffix) = if self.input.byte(1) == b'<' {
            self.skip();
            self.skip();
            let suffix = self.tag_uri(None)?;
            if self.input.byte(0) != b'>' {
                return Err(self.problem("did not find the expected '>'"));
            }
            self.skip();
            (Span::default(), suffix)
        } else {
            self.short_tag()?
        };
        self.input.ensure(1)?;
        if !self.is_blank_or_end(0) {
            return Err(self.problem("did not find expected whitespace or line break"));
        }
        Ok(Word::Tag { handle, suffix })
    }

    fn short_tag(&mut self) -> Result<(Span, Span), Problem> {
        let handle = self.tag_handle()?;
        let text = handle.of(&self.pool);
        if text.len() > 1 && text.ends_with(b"!") {
            return Ok((handle, self.tag_uri(None)?));
        }
        // What looked like a handle is the beginning of the suffix.
        let suffix = self.tag_uri(Some(handle))?;
        let mark = Span { start: handle.start, end: handle.start + 1 };
        // A lone `!` is a tag of its own.
        Ok(if suffix.is_empty() { (Span::default(), handle) } else { (mark, suffix) })
    }

    fn tag_handle(&mut self) -> Result<Span, Problem> {
        self.input.ensure(1)?;
        if self.input.byte(0) != b'!' {
            return Err(self.problem("did not find expected '!'"));
        }
        let from = self.pool.len();
        self.keep();
        self.name()?;
        if self.input.byte(0) == b'!' {
            self.keep();
        }
        Ok(self.kept_since(from))
    }

    /// A URI, after what `head` already has of it past its exclamation mark.
    fn tag_uri(&mut self, head: Option<Span>) -> Result<Span, Problem> {
        let from = self.pool.len();
        if let Some(head) = head {
            self.pool.extend_from_within(head.start + 1..head.end);
        }
        let mut present = head.is_some();
        self.input.ensure(1)?;
        while self.is_name() || b";/?:@&=+$,.!~*'()[]%".contains(&self.input.byte(0)) {
            if self.input.byte(0) == b'%' {
                self.uri_escape()?;
            } else {
                self.keep();
            }
            self.input.ensure(1)?;
            present = true;
        }
        if !present {
            return Err(self.problem("did not find expected tag URI"));
        }
        Ok(self.kept_since(from))
    }

    /// One character, escaped byte by byte as `%xx`.
    fn uri_escape(&mut self) -> Result<(), Problem> {
        let mut left = None;
        while left != Some(0) {
            self.input.ensure(3)?;
            let digit = |offset| char::from(self.input.byte(offset)).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.input.byte(0), digit(1), digit(2)) else {
                return Err(self.problem("did not find URI escaped octet"));
            };
            let byte = (high << 4 | low) as u8;
            left = Some(match left {
                None => match super::input::width(byte) {
                    0 => return Err(self.problem("found an incorrect leading UTF-8 octet")),
                    length => length - 1,
                },
                Some(_) if byte & 0xc0 != 0x80 => {
                    return Err(self.problem("found an incorrect trailing UTF-8 octet"));
                }
                Some(left) => left - 1,
            });
            self.pool.push(byte);
            for _ in 0..3 {
                self.skip();
            }
        }
        Ok(())
    }

    /// Keeps letters, digits, `_` and `-`.
    fn name(&mut self) -> Result<Span, Problem> {
        let from = self.pool.len();
        self.input.ensure(1)?;
        while self.is_name() {
            self.keep();
            self.input.ensure(1)?;
        }
        Ok(self.kept_since(from))
    }

    fn skip_blanks(&mut self) -> Result<(), Problem> {
        self.input.ensure(1)?;
        while self.is_blank(0) {
            self.skip();
            self.input.ensure(1)?;
        }
        Ok(())
    }
}

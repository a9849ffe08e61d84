//! The scanner's cursor: inspects characters and moves over them.

use super::input::width;
use super::scan::Scanner;
use super::token::Span;

impl Scanner<'_> {
    /// Whether the line starts with `---` or `...`, followed by white space or the end.
    pub(super) fn at_document_marker(&self) -> bool {
        let bytes = [self.input.byte(0), self.input.byte(1), self.input.byte(2)];
        self.mark.column == 0 && (bytes == *b"---" || bytes == *b"...") && self.is_blank_or_end(3)
    }

    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.input.byte(offset), b' ' | b'\t')
    }

    pub(super) fn is_break(&self, offset: usize) -> bool {
        match self.input.byte(offset) {
            b'\n' | b'\r' => true,
            0xc2 => self.input.byte(offset + 1) == 0x85,
            0xe2 => self.input.byte(offset + 1) == 0x80 && matches!(self.input.byte(offset + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_break_or_end(&self, offset: usize) -> bool {
        self.input.byte(offset) == 0 || self.is_break(offset)
    }

    pub(super) fn is_blank_or_end(&self, offset: usize) -> bool {
        matches!(self.input.byte(offset), b' ' | b'\t' | 0) || self.is_break(offset)
    }

    /// Whether the byte may be part of a name: letters, digits, `_` and `-`.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.input.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    pub(super) fn skip(&mut self) {
        self.mark.index += 1;
        self.mark.column += 1;
        self.input.advance(width(self.input.byte(0)));
    }

    pub(super) fn skip_break(&mut self) {
        self.last_break = self.input.offset();
        if self.input.byte(0) == b'\r' && self.input.byte(1) == b'\n' {
            self.mark.index += 1;
            self.input.advance(1);
        }
        self.input.advance(width(self.input.byte(0)));
        self.mark.index += 1;
        self.mark.column = 0;
        self.mark.line += 1;
    }

    /// Moves the current character into the pool.
    pub(super) fn keep(&mut self) {
        self.pool.extend_from_slice(self.input.character());
        self.skip();
    }

    /// The line break here as text: the two Unicode separators are kept, all others become a line feed.
    pub(super) fn take_break(&mut self) -> &'static [u8] {
        let text: &[u8] = match (self.input.byte(0), self.input.byte(2)) {
            (0xe2, 0xa8) => b"\xe2\x80\xa8",
            (0xe2, _) => b"\xe2\x80\xa9",
            _ => b"\n",
        };
        self.skip_break();
        text
    }

    /// The span of what has been kept since the pool had the length `from`.
    pub(super) fn kept_since(&self, from: usize) -> Span {
        Span { start: from, end: self.pool.len() }
    }
}

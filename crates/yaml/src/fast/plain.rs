//! Plain scalars, on one line or folded over several.

use super::{Builder, Reader, Stop, find};

impl<B: Builder> Reader<'_, '_, B> {
    /// Whether a plain scalar begins here, where `first` is.
    #[inline]
    pub(super) fn begins_plain(&self, first: u8) -> bool {
        match first {
            b'-' => !self.is_blank(self.at + 1),
            b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>'
            | b'\'' | b'"' | b'%' | b'@' | b'`' | b' ' | b'\n' | b'\t' => false,
            _ => true,
        }
    }

    /// Goes to the end of plain text on this line. Returns where the text ends, without blanks, and what ended it.
    #[inline]
    pub(super) fn scan_plain(&mut self) -> Option<(usize, Stop)> {
        let start = self.at;
        let mut at = start;
        let stop = loop {
            at = find::any(self.text, at, [b'\n', b':', b'#', b'\t']);
            match self.byte(at) {
                b'\n' => break Stop::Line,
                b'\t' => return None,
                b':' => match self.byte(at + 1) {
                    b' ' | b'\n' => break Stop::Colon,
                    b'\t' => return None,
                    _ => {}
                },
                _ if at > start && self.text[at - 1] == b' ' => break Stop::Comment,
                _ => {}
            }
            at += 1;
        };
        self.at = at;
        let mut end = at;
        while end > start && self.text[end - 1] == b' ' {
            end -= 1;
        }
        Some((end, stop))
    }

    /// Takes a plain scalar whose first line is scanned, with all lines that continue it.
    pub(super) fn plain(&mut self, indent: isize, start: usize, end: usize, stop: Stop) -> Option<()> {
        let text = self.text;
        if self.next_line_continues(indent, stop)? {
            self.scratch.clear();
            self.scratch.extend_from_slice(&text[start..end]);
            let end = self.continuation(indent)?;
            self.builder.scalar_at(start, end, false);
            // Taken out for the call, because `emit_plain` borrows the whole reader.
            let folded = std::mem::take(&mut self.scratch);
            self.emit_plain(&folded)?;
            self.scratch = folded;
            return Some(());
        }
        self.builder.scalar_at(start, end, true);
        self.emit_plain(&text[start..end])
    }

    /// Takes the lines that continue a scalar, and returns where the last of them ends.
    fn continuation(&mut self, indent: isize) -> Option<usize> {
        loop {
            // A single line break folds into a space; of several, the first is dropped.
            if self.blank_lines == 0 {
                self.scratch.push(b' ');
            } else {
                self.scratch.resize(self.scratch.len() + self.blank_lines, b'\n');
            }
            let start = self.at;
            let (end, stop) = self.scan_plain()?;
            if end == start {
                return None;
            }
            if B::KEEPS_SCALARS {
                self.scratch.extend_from_slice(&self.text[start..end]);
            }
            if !self.next_line_continues(indent, stop)? {
                return Some(end);
            }
        }
    }

    /// Goes to the next line and returns whether it belongs to the scalar that ended with `stop`.
    #[inline]
    fn next_line_continues(&mut self, indent: isize, stop: Stop) -> Option<bool> {
        match stop {
            Stop::Line => self.load_line(self.at + 1)?,
            Stop::Comment => self.load_line(find::any(self.text, self.at, [b'\n']) + 1)?,
            Stop::Colon => return None,
        }
        if self.ended || self.column as isize <= indent {
            return Some(false);
        }
        // A comment ends a scalar, and then nothing deeper may follow.
        (stop == Stop::Line && !self.comments).then_some(true)
    }
}

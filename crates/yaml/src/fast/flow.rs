//! Simple flow collections. Lines may break between their parts.

use super::{Builder, Quoted, Reader, find};
use find::spaces;

impl<B: Builder> Reader<'_, '_, B> {
    /// Reads a flow collection, from its opening bracket to after its closing one.
    pub(super) fn flow(&mut self) -> Option<()> {
        self.descend()?;
        let list = self.byte(self.at) == b'[';
        let close = if list { b']' } else { b'}' };
        self.builder.begin_at(self.at, true);
        if list {
            self.builder.begin_list();
        } else {
            self.builder.begin_map();
        }
        self.at += 1;
        self.skip_gap_between()?;
        while self.byte(self.at) != close {
            if !list {
                self.flow_key()?;
            }
            self.flow_value()?;
            self.skip_gap_between()?;
            match self.byte(self.at) {
                b',' => {
                    self.at += 1;
                    self.skip_gap_between()?;
                }
                byte if byte == close => break,
                _ => return None,
            }
        }
        self.at += 1;
        self.builder.end_at(self.at);
        self.depth -= 1;
        if list {
            self.builder.end_list();
        } else {
            self.builder.end_map();
        }
        Some(())
    }

    /// Skips blanks, line breaks and comments.
    fn skip_gap_between(&mut self) -> Option<()> {
        loop {
            let blanks = spaces(self.text, self.at);
            let from = self.at;
            self.at += blanks;
            match *self.text.get(self.at)? {
                b'\n' => {
                    self.at += 1;
                    // What begins a line may end the document.
                    if matches!(self.byte(self.at), b'-' | b'.' | b'%') {
                        return None;
                    }
                }
                b'#' if blanks > 0 || self.text[from - 1] == b'\n' => {
                    self.at = find::any(self.text, self.at, [b'\n']);
                }
                _ => return Some(()),
            }
        }
    }

    fn flow_key(&mut self) -> Option<()> {
        let start = self.at;
        match self.byte(start) {
            quote @ (b'"' | b'\'') => {
                let quoted = self.quoted(quote)?;
                if self.byte(self.at) != b':' {
                    return None;
                }
                self.quoted_key(start, quoted)?;
            }
            _ => {
                let end = self.scan_flow_plain()?;
                if self.byte(self.at) != b':' {
                    return None;
                }
                self.plain_key(start, end)?;
            }
        }
        self.skip_gap_between()
    }

    fn flow_value(&mut self) -> Option<()> {
        match self.byte(self.at) {
            b'[' | b'{' => self.flow(),
            quote @ (b'"' | b'\'') => {
                let start = self.at;
                let quoted = self.quoted(quote)?;
                if matches!(quoted, Quoted::Scratch { lines: true }) {
                    return None;
                }
                self.emit_quoted(start, quoted);
                Some(())
            }
            _ => {
                let start = self.at;
                let end = self.scan_flow_plain()?;
                // A pair without braces in a list (`[a: b]`) is a map of its own.
                if self.byte(self.at) == b':' {
                    return None;
                }
                let text = self.text;
                self.builder.scalar_at(start, end, true);
                self.emit_plain(&text[start..end])
            }
        }
    }

    /// Goes to the end of plain text inside brackets: a comma, a closing bracket, a colon or the end of the line. In the
    /// last case the callers take nothing but a comma or a bracket on the lines that follow.
    fn scan_flow_plain(&mut self) -> Option<usize> {
        let start = self.at;
        let first = self.byte(start);
        let begins = match first {
            // Before anything else the dash may be an indicator, or an error; the full reader decides.
            b'-' => self.byte(start + 1).is_ascii_alphanumeric(),
            _ => self.begins_plain(first),
        };
        if !begins {
            return None;
        }
        let mut at = start;
        loop {
            match self.byte(at) {
                b',' | b']' | b'}' | b'\n' => break,
                b':' if self.byte(at + 1) == b' ' => break,
                // Colons elsewhere are mostly text; the other cases are left to the full reader.
                b':' if !(self.byte(at + 1).is_ascii_alphanumeric() || self.byte(at + 1) == b'/') => {
                    return None;
                }
                b'\t' | b'#' | b'[' | b'{' | b'?' => return None,
                _ => at += 1,
            }
        }
        self.at = at;
        let mut end = at;
        while self.text[end - 1] == b' ' {
            end -= 1;
        }
        Some(end)
    }
}

//! Quoted scalars.

use super::{Builder, Quoted, Reader, find};
use crate::read::escaped;

impl<B: Builder> Reader<'_, '_, B> {
    /// Reads a quoted scalar, from its opening quote to after its closing one.
    pub(super) fn quoted(&mut self, quote: u8) -> Option<Quoted> {
        let start = self.at + 1;
        let end = if quote == b'"' {
            find::any(self.text, start, [b'"', b'\\', b'\n'])
        } else {
            find::any(self.text, start, [b'\'', b'\n'])
        };
        let closed = self.byte(end) == quote && (quote == b'"' || self.byte(end + 1) != b'\'');
        if closed {
            self.at = end + 1;
            return Some(Quoted::Slice { start, end });
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.text[start..end]);
        self.at = end;
        self.quoted_rest(quote)
    }

    /// Reads on from the first part that is not literally in the text.
    fn quoted_rest(&mut self, quote: u8) -> Option<Quoted> {
        let mut lines = false;
        loop {
            let byte = *self.text.get(self.at)?;
            match byte {
                b'\'' if quote == b'\'' && self.byte(self.at + 1) == b'\'' => {
                    self.scratch.push(b'\'');
                    self.at += 2;
                }
                _ if byte == quote => {
                    self.at += 1;
                    return Some(Quoted::Scratch { lines });
                }
                b'\\' if quote == b'"' => match self.text.get(self.at + 1)? {
                    b'\n' => {
                        lines = true;
                        self.at += 2;
                        let breaks = self.skip_gap()?;
                        self.scratch.resize(self.scratch.len() + breaks, b'\n');
                    }
                    _ => self.escape()?,
                },
                b'\n' => {
                    lines = true;
                    // Trailing white space is dropped unless it was escaped, which cannot be seen here.
                    if matches!(self.scratch.last(), Some(b' ' | b'\t')) {
                        self.drop_blanks()?;
                    }
                    self.at += 1;
                    match self.skip_gap()? {
                        0 => self.scratch.push(b' '),
                        breaks => self.scratch.resize(self.scratch.len() + breaks, b'\n'),
                    }
                }
                _ => {
                    let end = find::any(self.text, self.at + 1, [quote, b'\\', b'\n']);
                    self.scratch.extend_from_slice(&self.text[self.at..end]);
                    self.at = end;
                }
            }
        }
    }

    /// Drops the blanks before this line break from the scratch space.
    fn drop_blanks(&mut self) -> Option<()> {
        let blanks =
            self.text[..self.at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        // After a backslash the first space is text.
        if self.text[..self.at - blanks].ends_with(b"\\") {
            return None;
        }
        self.scratch.truncate(self.scratch.len().checked_sub(blanks)?);
        Some(())
    }

    /// Skips blanks and line breaks after a first line break, and counts the breaks.
    fn skip_gap(&mut self) -> Option<usize> {
        let mut breaks = 0;
        let mut line_start = self.at;
        loop {
            match self.text.get(self.at)? {
                b' ' | b'\t' => {}
                b'\n' => {
                    breaks += 1;
                    line_start = self.at + 1;
                }
                // A document marker is not allowed inside quotes.
                b'-' | b'.' if line_start == self.at => return None,
                _ => return Some(breaks),
            }
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let digits = match self.byte(self.at + 1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            byte => {
                self.scratch.extend_from_slice(escaped(byte)?.as_bytes());
                self.at += 2;
                return Some(());
            }
        };
        let from = self.at + 2;
        let mut value = 0;
        for &byte in self.text.get(from..from + digits)? {
            value = value << 4 | char::from(byte).to_digit(16)?;
        }
        let character = char::from_u32(value)?;
        self.scratch.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.at = from + digits;
        Some(())
    }
}

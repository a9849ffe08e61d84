//! Writes scalars in each style, folding long lines.

use super::emitter::{Emitter, Flavor, WIDTH};
use super::style::{begins_with_mark, break_length, is_printable};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Emitter<'_> {
    /// Writes `text` in `style`; lines after the first are indented by `indent`.
    pub(super) fn scalar(&mut self, text: &[u8], style: Style, indent: usize, may_fold: bool) {
        match style {
            Style::Plain => {
                if self.may_fold(text, may_fold) {
                    self.folding_plain(text, indent);
                } else {
                    self.plain_text(text);
                }
            }
            Style::Single => {
                let fold = self.may_fold(text, may_fold);
                self.single(text, indent, fold);
            }
            Style::Double => {
                let fold = self.may_fold(text, may_fold);
                self.double(text, indent, fold);
            }
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Whether the line can get so long that it folds.
    fn may_fold(&self, text: &[u8], allowed: bool) -> bool {
        // An escape is at most ten times as long as its character.
        allowed
            && self.flavor == Flavor::Compact
            && self.out.len() - self.line_start + 10 * text.len() > WIDTH
    }

    /// The column in characters.
    fn column(&self) -> usize {
        self.out[self.line_start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
    }

    /// Whether the line is beyond the width. For most lines the number of bytes decides.
    fn is_long(&self) -> bool {
        self.out.len() - self.line_start > WIDTH && self.column() > WIDTH
    }

    fn folding_plain(&mut self, text: &[u8], indent: usize) {
        if !self.whitespace {
            self.out.push(b' ');
        }
        self.whitespace = false;
        self.indention = false;
        let mut after_blank = false;
        let mut from = 0;
        for at in memchr::memchr_iter(b' ', text) {
            self.out.extend_from_slice(&text[from..at]);
            after_blank &= from == at;
            // A fold replaces exactly one blank; in a run of blanks it would change the text when read back.
            if !after_blank && self.is_long() && text.get(at + 1) != Some(&b' ') {
                self.fold(indent);
            } else {
                self.out.push(b' ');
            }
            after_blank = true;
            from = at + 1;
        }
        self.out.extend_from_slice(&text[from..]);
        self.whitespace = false;
        self.indention = false;
    }

    fn fold(&mut self, indent: usize) {
        self.indention = false;
        self.write_indent(indent);
    }

    fn single(&mut self, text: &[u8], indent: usize, may_fold: bool) {
        self.indicator(b"'", false);
        let (mut after_blank, mut after_break) = (false, false);
        let mut at = 0;
        while at < text.len() {
            let length = break_length(text, at);
            if length > 0 {
                // Only the two Unicode separators get here; they are kept, and count as line ends.
                self.out.extend_from_slice(&text[at..at + length]);
                self.line_start = self.out.len();
                after_break = true;
                at += length;
                continue;
            }
            if after_break && text[at] != b' ' {
                self.indention = true;
                self.write_indent(indent);
            }
            match text[at] {
                b' ' => {
                    let inside = at > 0 && at + 1 < text.len() && text[at + 1] != b' ';
                    if may_fold && !after_blank && inside && self.is_long() {
                        self.fold(indent);
                    } else {
                        self.out.push(b' ');
                    }
                    after_blank = true;
                }
                byte => {
                    if byte == b'\'' {
                        self.out.push(b'\'');
                    }
                    self.out.push(byte);
                    (after_blank, after_break) = (false, false);
                }
            }
            at += 1;
        }
        self.close_quote(b'\'');
    }

    fn double(&mut self, text: &[u8], indent: usize, may_fold: bool) {
        self.indicator(b"\"", false);
        // As in go-yaml, text that starts with a byte order mark is escaped completely.
        let escape_all = begins_with_mark(text);
        let mut after_blank = false;
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            let escape = escape_all
                || matches!(byte, b'"' | b'\\')
                || (byte & 0xc0 != 0x80 && (!is_printable(text, at) || break_length(text, at) > 0));
            if escape {
                at += self.escape(&text[at..]);
                after_blank = false;
                continue;
            }
            if byte == b' ' {
                if may_fold && !after_blank && at > 0 && at + 1 < text.len() && self.is_long() {
                    self.fold(indent);
                    // Blanks at the start of a continued line are dropped on reading, unless the first is
                    // escaped.
                    if text[at + 1] == b' ' {
                        self.out.push(b'\\');
                    }
                } else {
                    self.out.push(b' ');
                }
                after_blank = true;
            } else {
                self.out.push(byte);
                after_blank = false;
            }
            at += 1;
        }
        self.close_quote(b'"');
    }

    fn close_quote(&mut self, quote: u8) {
        self.out.push(quote);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes the first character of `text` as an escape and returns its length.
    fn escape(&mut self, text: &[u8]) -> usize {
        let (character, length) = first_character(text);
        let short = match character {
            '\0' => '0',
            '\u{07}' => 'a',
            '\u{08}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{0b}' => 'v',
            '\u{0c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let value = u32::from(character);
                let escape = match value {
                    0..=0xff => format!("\\x{value:02X}"),
                    0x100..=0xffff => format!("\\u{value:04X}"),
                    _ => format!("\\U{value:08X}"),
                };
                self.out.extend_from_slice(escape.as_bytes());
                return length;
            }
        };
        self.out.extend_from_slice(&[b'\\', short as u8]);
        length
    }

    fn literal(&mut self, text: &[u8], indent: usize) {
        self.indicator(b"|", false);
        if text.first() == Some(&b' ') || break_length(text, 0) > 0 {
            // The indicator is go-yaml's step (`best_indent`), even where the block is indented further.
            self.out.push(if self.flavor == Flavor::Wide { b'4' } else { b'2' });
        }
        if let Some(hint) = chomping(text) {
            self.out.push(hint);
        }
        self.line_break();
        self.indention = true;
        self.whitespace = true;
        let mut at = 0;
        let mut line_begins = true;
        while at < text.len() {
            let end = memchr::memchr2(b'\n', 0xe2, &text[at..]).map_or(text.len(), |length| at + length);
            if end > at {
                if line_begins {
                    self.write_indent(indent);
                }
                self.out.extend_from_slice(&text[at..end]);
                self.indention = false;
                line_begins = false;
            }
            if end == text.len() {
                break;
            }
            let length = break_length(text, end);
            if length == 0 {
                if line_begins {
                    self.write_indent(indent);
                }
                self.out.push(0xe2);
                self.indention = false;
                line_begins = false;
                at = end + 1;
                continue;
            }
            self.out.extend_from_slice(&text[end..end + length]);
            self.line_start = self.out.len();
            self.indention = true;
            line_begins = true;
            at = end + length;
        }
    }
}

/// The chomping indicator of a block.
fn chomping(text: &[u8]) -> Option<u8> {
    let before = match text {
        [before @ .., b'\n'] => before,
        [before @ .., 0xe2, 0x80, 0xa8 | 0xa9] => before,
        _ => return Some(b'-'),
    };
    match before {
        [] | [.., b'\n'] | [.., 0xe2, 0x80, 0xa8 | 0xa9] => Some(b'+'),
        _ => None,
    }
}

/// The first character of valid UTF-8 and its length; the replacement character for anything else.
fn first_character(text: &[u8]) -> (char, usize) {
    let chunk = text[..text.len().min(4)].utf8_chunks().next();
    match chunk.and_then(|chunk| chunk.valid().chars().next()) {
        Some(character) => (character, character.len_utf8()),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

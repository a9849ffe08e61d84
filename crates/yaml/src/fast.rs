//! The fast reader: ordinary Kubernetes YAML in one pass over its lines.
//!
//! It knows block maps and lists, scalars of every style, comments and brackets on one line. Whatever else it meets
//! (anchors, tags, tabs, odd indentation, any mistake) makes it give up, and the full reader starts over. So it
//! reports no errors, and what it does read must come out exactly as the full reader reads it.

mod block;
mod find;
mod flow;
mod plain;
mod quoted;

use crate::builder::Builder;
use crate::read::key_text;
use crate::resolve::{Meaning, may_have_meaning, meaning_for};
use find::{is_ordinary, spaces};

/// The maximum recursion of the fast reader; deeper texts are left to the full reader, which does not recurse.
const DEPTH: usize = 100;

/// The longest key that it reads; well below YAML's limit for simple keys, which is 1024 characters up to the colon,
/// where this counts bytes.
const KEY_LENGTH: usize = 1000;

/// Passes the first document of `text` to `builder`. `None` means that it gave up, which says nothing about the text.
pub(crate) fn read<B: Builder>(text: &[u8], builder: &mut B) -> Option<()> {
    if !is_ordinary(text) {
        return None;
    }
    let mut reader = Reader {
        text,
        builder,
        at: 0,
        column: 0,
        ended: false,
        marker: false,
        blank_lines: 0,
        comments: false,
        depth: 0,
        scratch: Vec::new(),
    };
    reader.document()
}

/// The reader. Between nodes it is at the first character of a line with content, or at the end.
struct Reader<'t, 'b, B> {
    text: &'t [u8],
    builder: &'b mut B,
    at: usize,
    /// The column of the content of the current line.
    column: usize,
    /// Whether the document has no more lines.
    ended: bool,
    /// Whether it ended at a `---` line.
    marker: bool,
    /// How many blank lines were skipped before this one.
    blank_lines: usize,
    /// Whether comment lines were skipped before this one.
    comments: bool,
    depth: usize,
    /// Buffer for strings that do not occur literally in the document.
    scratch: Vec<u8>,
}

/// How a run of plain text ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Line,
    Comment,
    Colon,
}

/// A quoted string.
#[derive(Clone, Copy)]
enum Quoted {
    /// It occurs literally in the document.
    Slice { start: usize, end: usize },
    /// It is in the scratch buffer; `lines` is whether it spans several lines.
    Scratch { lines: bool },
}

impl<'t, B: Builder> Reader<'t, '_, B> {
    fn document(&mut self) -> Option<()> {
        self.load_line(0)?;
        let mut begin = self.at;
        if self.marker {
            self.at += 3;
            begin = self.at;
            self.end_line()?;
        }
        if self.ended {
            self.builder.scalar_at(begin, begin, true);
            self.builder.nil();
            return Some(());
        }
        self.node(-1, self.column)?;
        // More content after the root node is an error of some kind, which only the full reader can name.
        self.ended.then_some(())
    }

    /// The byte at `at`; the end of the text counts as a line break.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(b'\n')
    }

    /// Whether a blank or the end of the line is at `at`.
    #[inline]
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), b' ' | b'\n' | b'\t')
    }

    /// Whether a list item begins here.
    #[inline]
    fn is_dash(&self) -> bool {
        self.byte(self.at) == b'-' && self.is_blank(self.at + 1)
    }

    /// Moves to the first line with content from the line that starts at `start`.
    fn load_line(&mut self, mut start: usize) -> Option<()> {
        self.blank_lines = 0;
        self.comments = false;
        self.marker = false;
        loop {
            if start >= self.text.len() {
                self.at = self.text.len();
                self.ended = true;
                return Some(());
            }
            let column = spaces(self.text, start);
            let at = start + column;
            match self.byte(at) {
                b'\n' => {
                    self.blank_lines += 1;
                    start = at + 1;
                }
                b'#' => {
                    self.comments = true;
                    start = find::any(self.text, at, [b'\n']) + 1;
                }
                b'\t' => return None,
                first => {
                    self.at = at;
                    self.column = column;
                    return if column == 0 { self.check_marker(first) } else { Some(()) };
                }
            }
        }
    }

    /// Checks for a document marker at the start of a line.
    fn check_marker(&mut self, first: u8) -> Option<()> {
        let tripled = self.byte(self.at + 1) == first && self.byte(self.at + 2) == first;
        match first {
            // Directives, and `...` below, change how the rest of the stream is read.
            b'%' => None,
            b'.' if tripled && self.is_blank(self.at + 3) => None,
            b'-' if tripled && self.is_blank(self.at + 3) => {
                self.ended = true;
                self.marker = true;
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Skips white space and a comment up to the next line with content.
    fn end_line(&mut self) -> Option<()> {
        self.ended = false;
        let from = self.at;
        self.at += spaces(self.text, self.at);
        match self.byte(self.at) {
            b'\n' => {}
            b'#' if self.at > from => self.at = find::any(self.text, self.at, [b'\n']),
            _ => return None,
        }
        self.load_line(self.at + 1)
    }

    /// Ends the line after a value of a collection at `indent`; what follows must not be deeper.
    fn end_value(&mut self, indent: isize) -> Option<()> {
        self.end_line()?;
        self.check_dedent(indent)
    }

    fn check_dedent(&self, indent: isize) -> Option<()> {
        (self.ended || self.column as isize <= indent).then_some(())
    }

    fn descend(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < DEPTH).then_some(())
    }

    /// Reads a node that begins here, at `column`, inside a collection at `indent`.
    fn node(&mut self, indent: isize, column: usize) -> Option<()> {
        match self.byte(self.at) {
            b'-' if self.is_blank(self.at + 1) => self.list(column, false),
            quote @ (b'"' | b'\'') => {
                let start = self.at;
                let quoted = self.quoted(quote)?;
                if self.byte(self.at) == b':' && self.is_blank(self.at + 1) {
                    self.begin_map(start)?;
                    self.quoted_key(start, quoted)?;
                    return self.map(column);
                }
                self.emit_quoted(start, quoted);
                self.end_value(indent)
            }
            b'[' | b'{' => {
                self.flow()?;
                self.end_value(indent)
            }
            b'|' | b'>' => self.block_scalar(indent),
            first if self.begins_plain(first) => {
                let start = self.at;
                let (end, stop) = self.scan_plain()?;
                if stop == Stop::Colon {
                    self.begin_map(start)?;
                    self.plain_key(start, end)?;
                    return self.map(column);
                }
                self.plain(indent, start, end, stop)
            }
            _ => None,
        }
    }

    fn begin_map(&mut self, start: usize) -> Option<()> {
        self.builder.begin_at(start, false);
        self.builder.begin_map();
        self.descend()
    }

    /// Reads a map from the value of its first key on.
    fn map(&mut self, column: usize) -> Option<()> {
        loop {
            self.value(column)?;
            if self.ended || self.column < column {
                break;
            }
            if self.column > column {
                return None;
            }
            let start = self.at;
            match self.byte(start) {
                quote @ (b'"' | b'\'') => {
                    let quoted = self.quoted(quote)?;
                    if self.byte(self.at) != b':' || !self.is_blank(self.at + 1) {
                        return None;
                    }
                    self.quoted_key(start, quoted)?;
                }
                first if self.begins_plain(first) => match self.scan_plain()? {
                    (end, Stop::Colon) => self.plain_key(start, end)?,
                    _ => return None,
                },
                _ => return None,
            }
        }
        self.depth -= 1;
        self.builder.end_map();
        Some(())
    }

    fn list(&mut self, column: usize, indentless: bool) -> Option<()> {
        self.builder.begin_at(self.at, false);
        self.builder.begin_list();
        self.descend()?;
        let indent = column as isize;
        loop {
            let dash = self.at;
            self.builder.lead_at(dash);
            let blanks = spaces(self.text, dash + 1);
            self.at += 1 + blanks;
            if matches!(self.byte(self.at), b'\n' | b'#') {
                self.end_line_back(blanks)?;
                if !self.ended && self.column > column {
                    self.node(indent, self.column)?;
                } else {
                    self.builder.scalar_at(dash + 1, dash + 1, true);
                    self.builder.nil();
                }
            } else {
                self.node(indent, column + 1 + blanks)?;
            }
            if self.ended || self.column < column {
                break;
            }
            if self.column > column {
                return None;
            }
            if !self.is_dash() {
                if indentless {
                    break;
                }
                return None;
            }
        }
        self.depth -= 1;
        self.builder.end_list();
        Some(())
    }

    /// Ends the line from before the skipped white space, because a comment must follow white space.
    fn end_line_back(&mut self, blanks: usize) -> Option<()> {
        self.at -= blanks;
        self.end_line()
    }

    /// Reads the value of a key of the map at `column`, from after the colon.
    fn value(&mut self, column: usize) -> Option<()> {
        let behind = self.at;
        let blanks = spaces(self.text, self.at);
        self.at += blanks;
        let indent = column as isize;
        match self.byte(self.at) {
            b'\n' | b'#' => {
                self.end_line_back(blanks)?;
                if !self.ended && self.column > column {
                    self.node(indent, self.column)
                // YAML lets the dashes of a list be as far left as the key that they belong to; such a list
                // ends at the next key.
                } else if !self.ended && self.column == column && self.is_dash() {
                    self.list(column, true)
                } else {
                    self.builder.scalar_at(behind, behind, true);
                    self.builder.nil();
                    Some(())
                }
            }
            quote @ (b'"' | b'\'') => {
                let start = self.at;
                let quoted = self.quoted(quote)?;
                self.emit_quoted(start, quoted);
                self.end_value(indent)
            }
            b'[' | b'{' => {
                self.flow()?;
                self.end_value(indent)
            }
            b'|' | b'>' => self.block_scalar(indent),
            first if self.begins_plain(first) => {
                let start = self.at;
                let (end, stop) = self.scan_plain()?;
                self.plain(indent, start, end, stop)
            }
            _ => None,
        }
    }

    /// Consumes a plain key and its colon.
    fn plain_key(&mut self, start: usize, end: usize) -> Option<()> {
        self.builder.lead_at(self.at);
        self.at += 1;
        if end - start > KEY_LENGTH {
            return None;
        }
        self.builder.scalar_at(start, end, true);
        self.key_from(&self.text[start..end])
    }

    fn key_from(&mut self, key: &'t [u8]) -> Option<()> {
        if may_have_meaning(key[0]) {
            match meaning_for::<B>(key) {
                Meaning::Text => self.builder.key(key),
                // Two spellings of a float can be the same key.
                Meaning::Float(_) => return None,
                other => self.builder.key(key_text(other)?.as_bytes()),
            }
        // A merge key needs the whole map that it refers to.
        } else if key == b"<<" {
            return None;
        } else {
            self.builder.key(key);
        }
        Some(())
    }

    /// Consumes a quoted key and its colon.
    fn quoted_key(&mut self, start: usize, quoted: Quoted) -> Option<()> {
        if self.at - start > KEY_LENGTH {
            return None;
        }
        self.builder.lead_at(self.at);
        self.builder.scalar_at(start, self.at, matches!(quoted, Quoted::Slice { .. }));
        match quoted {
            Quoted::Slice { start, end } => self.builder.key(&self.text[start..end]),
            Quoted::Scratch { lines: true } => return None,
            Quoted::Scratch { lines: false } => self.builder.key(&self.scratch),
        }
        self.at += 1;
        Some(())
    }

    fn emit_quoted(&mut self, start: usize, quoted: Quoted) {
        self.builder.scalar_at(start, self.at, matches!(quoted, Quoted::Slice { .. }));
        match quoted {
            Quoted::Slice { start, end } => self.builder.str(&self.text[start..end]),
            Quoted::Scratch { .. } => self.builder.str(&self.scratch),
        }
    }

    /// Passes the value of a plain scalar to the builder.
    #[inline]
    fn emit_plain(&mut self, text: &[u8]) -> Option<()> {
        let first = text[0];
        // Only these can start a number that JSON does not have.
        if !B::KEEPS_SCALARS && !matches!(first, b'.' | b'+' | b'-') {
            self.builder.str(b"");
            return Some(());
        }
        if !may_have_meaning(first) {
            self.builder.str(text);
            return Some(());
        }
        self.builder.plain(text);
        match meaning_for::<B>(text) {
            Meaning::Nil => self.builder.nil(),
            Meaning::Bool(value) => self.builder.bool(value),
            Meaning::Int(value) => self.builder.int(value),
            Meaning::Uint(value) => self.builder.uint(value),
            // JSON has no infinities and no NaN; the full reader makes the error.
            Meaning::Float(value) if !value.is_finite() => return None,
            Meaning::Float(value) => self.builder.float(value),
            Meaning::Text => self.builder.str(text),
        }
        Some(())
    }
}

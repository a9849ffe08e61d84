//! Emits YAML in block style, with go-yaml's layout.

use super::scalar::Style;
use super::style::Analysis;
use crate::resolve::is_plainly_text;

/// The go-yaml version that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavor {
    /// Version 2: lists are not indented under their key, long lines fold.
    Compact,
    /// Version 3 as `toYamlPretty` uses it: lists are indented, lines do not fold.
    Pretty,
    /// Version 3 without options: as `Pretty`, with four blanks for each level.
    Wide,
}

/// The column beyond which lines are folded: `best_width` of go-yaml 2.
pub(super) const WIDTH: usize = 80;

/// The longest key that needs no question mark, in bytes: go-yaml's `check_simple_key`.
const SIMPLE_KEY: usize = 128;

/// Lays out a tree from its events.
#[derive(Debug)]
pub(super) struct Emitter<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) flavor: Flavor,
    /// The start of the current line in `out`.
    pub(super) line_start: usize,
    /// Whether the line has only white space, dashes and similar indicators so far.
    pub(super) indention: bool,
    /// Whether the last thing written separates what follows.
    pub(super) whitespace: bool,
    levels: Vec<Level>,
}

/// An open collection.
#[derive(Clone, Copy, Debug)]
struct Level {
    list: bool,
    /// Whether it was empty and is already written.
    closed: bool,
    indent: usize,
}

impl<'o> Emitter<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, flavor: Flavor) -> Self {
        let line_start = out.len();
        Emitter { out, flavor, line_start, indention: true, whitespace: true, levels: Vec::new() }
    }

    /// How many collections are open.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Writes a word that is certainly plain.
    pub(super) fn word(&mut self, word: &str) {
        self.begin_node();
        self.plain_text(word.as_bytes());
    }

    /// Writes a string whose analysis is given.
    pub(super) fn string(&mut self, text: &[u8], analysis: Analysis) {
        self.begin_node();
        let indent = self.content_indent();
        let style = choose(text, analysis, false);
        self.scalar(text, style, indent, true);
    }

    /// Writes text with a tag before it.
    pub(super) fn tagged(&mut self, tag: &str, text: &[u8]) {
        self.begin_node();
        let indent = self.content_indent();
        self.tagged_scalar(tag, text, indent);
    }

    fn tagged_scalar(&mut self, tag: &str, text: &[u8], indent: usize) {
        self.plain_text(tag.as_bytes());
        let style = if text.contains(&b'\n') { Style::Literal } else { Style::Plain };
        self.scalar(text, style, indent, false);
    }

    /// The indentation of what is inside the innermost collection. Version 3 rounds up to a multiple of the step, but only
    /// skips the dash of a list.
    pub(super) fn content_indent(&self) -> usize {
        match (self.flavor, self.levels.last()) {
            (Flavor::Wide, None) => 4,
            (Flavor::Wide, Some(level)) if !level.list => (level.indent + 4) / 4 * 4,
            (_, None) => 2,
            (_, Some(level)) => level.indent + 2,
        }
    }

    pub(super) fn begin_list(&mut self, length: usize) {
        self.begin_node();
        if length == 0 {
            return self.empty("[]", true);
        }
        let indent = match self.levels.last() {
            None => 0,
            // The dash counts as indentation under a key.
            Some(level) if !level.list && self.flavor == Flavor::Compact && !self.indention => level.indent,
            Some(_) => self.content_indent(),
        };
        self.levels.push(Level { list: true, closed: false, indent });
    }

    pub(super) fn begin_map(&mut self, length: usize) {
        self.begin_node();
        if length == 0 {
            return self.empty("{}", false);
        }
        let indent = if self.levels.is_empty() { 0 } else { self.content_indent() };
        self.levels.push(Level { list: false, closed: false, indent });
    }

    /// Ends the innermost list or map.
    pub(super) fn end(&mut self) {
        self.levels.pop();
    }

    /// Writes a key and what separates it from its value.
    pub(super) fn key(&mut self, key: &[u8], analysis: Analysis) {
        let indent = self.open_indent();
        self.write_indent(indent);
        if !analysis.multiline && key.len() <= SIMPLE_KEY {
            let style = choose(key, analysis, true);
            self.scalar(key, style, indent + 2, false);
            self.colon();
        } else {
            self.indicator(b"?", true);
            let style = choose(key, analysis, false);
            self.scalar(key, style, indent + 2, true);
            self.write_indent(indent);
            self.indicator(b":", true);
        }
    }

    /// Writes a key that is certainly plain.
    pub(super) fn key_word(&mut self, word: &str) {
        let indent = self.open_indent();
        self.write_indent(indent);
        self.plain_text(word.as_bytes());
        self.colon();
    }

    /// Writes a key with a tag before it.
    pub(super) fn tagged_key(&mut self, tag: &str, key: &[u8]) {
        let indent = self.open_indent();
        self.write_indent(indent);
        if !key.contains(&b'\n') && tag.len() + key.len() <= SIMPLE_KEY {
            self.tagged_scalar(tag, key, indent + 2);
            self.colon();
        } else {
            self.indicator(b"?", true);
            self.tagged_scalar(tag, key, indent + 2);
            self.write_indent(indent);
            self.indicator(b":", true);
        }
    }

    /// Ends the last line.
    pub(super) fn finish(&mut self) {
        self.write_indent(0);
    }

    /// Begins the line of a key.
    pub(super) fn begin_key(&mut self) {
        let indent = self.open_indent();
        self.write_indent(indent);
    }

    /// Writes a line of a comment above a key or an item.
    pub(super) fn comment_line(&mut self, comment: &[u8]) {
        self.begin_key();
        self.out.extend_from_slice(comment);
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn colon(&mut self) {
        self.out.push(b':');
        self.whitespace = false;
        self.indention = false;
    }

    fn open_indent(&self) -> usize {
        self.levels.last().map_or(0, |level| level.indent)
    }

    /// Writes the dash of a list's item.
    #[inline]
    pub(super) fn begin_node(&mut self) {
        if let Some(&Level { list: true, closed: false, indent }) = self.levels.last() {
            self.write_indent(indent);
            self.indicator(b"-", true);
        }
    }

    fn empty(&mut self, brackets: &str, list: bool) {
        self.plain_text(brackets.as_bytes());
        self.levels.push(Level { list, closed: true, indent: 0 });
    }

    /// Writes text that needs a space before it unless there is one.
    #[inline]
    pub(super) fn plain_text(&mut self, text: &[u8]) {
        if !self.whitespace {
            self.out.push(b' ');
        }
        self.out.extend_from_slice(text);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes an indicator, with a space before it if needed.
    pub(super) fn indicator(&mut self, indicator: &[u8], is_indention: bool) {
        if !self.whitespace {
            self.out.push(b' ');
        }
        self.out.extend_from_slice(indicator);
        self.whitespace = false;
        self.indention &= is_indention;
    }

    pub(super) fn line_break(&mut self) {
        self.out.push(b'\n');
        self.line_start = self.out.len();
    }

    /// Moves to column `indent`, on a new line if this one has text.
    pub(super) fn write_indent(&mut self, indent: usize) {
        let column = self.out.len() - self.line_start;
        if !self.indention || column > indent || (column == indent && !self.whitespace) {
            self.line_break();
        }
        let length = self.line_start + indent;
        if self.out.len() < length {
            self.out.resize(length, b' ');
        }
        self.whitespace = true;
        self.indention = true;
    }
}

/// The style that go-yaml chooses for a string.
fn choose(text: &[u8], analysis: Analysis, simple_key: bool) -> Style {
    // go-yaml's encoder chooses a literal block if the text contains `\n`; its emitter counts Unicode breaks
    // as lines too.
    let line_feed = analysis.multiline && memchr::memchr(b'\n', text).is_some();
    if simple_key && analysis.multiline {
        Style::Double
    } else if line_feed {
        if analysis.block && !simple_key { Style::Literal } else { Style::Double }
    } else if !is_plainly_text(text) {
        Style::Double
    } else if analysis.plain {
        Style::Plain
    } else if analysis.single {
        Style::Single
    } else {
        Style::Double
    }
}

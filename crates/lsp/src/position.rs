//! Positions of the protocol and byte offsets.

use std::ops::Range;

use serde_json::{Value, json};

/// What columns count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, the default of the protocol.
    Utf16,
}

/// The starts of the lines of a text.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    /// Returns the index of a text. Lines end with `\n`, `\r\n` or `\r`.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        LineIndex { starts }
    }

    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The line of an offset, from 0.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The bytes of a line, without its end.
    pub fn line_range(&self, text: &str, line: usize) -> Range<usize> {
        let Some(&start) = self.starts.get(line) else { return text.len()..text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\r', '\n']);
        start..start + content.len()
    }

    /// The position of an offset: line and column.
    pub fn position(&self, text: &str, offset: usize, encoding: Encoding) -> (usize, usize) {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line(offset);
        let before = &text[self.starts[line]..offset];
        let column = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        (line, column)
    }

    /// The offset of a position. Positions behind the end of a line or of the text are moved to it.
    pub fn offset(&self, text: &str, line: usize, column: usize, encoding: Encoding) -> usize {
        let range = self.line_range(text, line);
        let content = &text[range.clone()];
        let mut left = column;
        for (at, character) in content.char_indices() {
            let width = match encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
            };
            if left < width {
                return range.start + at;
            }
            left -= width;
        }
        range.end
    }

    /// A range of the protocol.
    pub fn range(&self, text: &str, range: Range<usize>, encoding: Encoding) -> Value {
        let (line, column) = self.position(text, range.start, encoding);
        let (end_line, end_column) = self.position(text, range.end, encoding);
        json!({
            "start": {"line": line, "character": column},
            "end": {"line": end_line, "character": end_column},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_bytes_or_units_of_utf_16() {
        let text = "aé𝄞b\r\nc\rd\n";
        let index = LineIndex::new(text);
        assert_eq!(index.lines(), 4);
        let b = text.find('b').expect("b");
        assert_eq!(index.position(text, b, Encoding::Utf16), (0, 4));
        assert_eq!(index.position(text, b, Encoding::Utf8), (0, 7));
        assert_eq!(index.offset(text, 0, 4, Encoding::Utf16), b);
        assert_eq!(index.offset(text, 0, 7, Encoding::Utf8), b);
        // In the middle of a character, behind the end of a line, and behind the text.
        assert_eq!(index.offset(text, 0, 3, Encoding::Utf16), text.find('𝄞').expect("clef"));
        assert_eq!(index.offset(text, 0, 99, Encoding::Utf16), b + 1);
        assert_eq!(index.offset(text, 99, 0, Encoding::Utf8), text.len());
        assert_eq!(index.position(text, text.find('d').expect("d"), Encoding::Utf8), (2, 0));
    }
}

//! A stream of documents, cut at its `---` lines.

use std::ops::Range;

use memchr::memmem;

/// A document of a stream, with the `---` line that begins it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it stands. Documents follow each other without gaps.
    pub range: Range<usize>,
    /// The line on which it begins, counted from one.
    pub line: usize,
}

/// The documents of a text. A line that is `---`, or begins with it and a blank, begins a document: nothing that a
/// document may hold looks like that. A text of nothing has none.
pub fn documents(text: &[u8]) -> Documents<'_> {
    Documents { text, at: 0, line: 1 }
}

/// The iterator that [`documents`] returns.
#[derive(Clone, Debug)]
pub struct Documents<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

impl Iterator for Documents<'_> {
    type Item = Written;

    fn next(&mut self) -> Option<Written> {
        if self.at >= self.text.len() {
            return None;
        }
        let (start, line) = (self.at, self.line);
        let mut from = start;
        let end = loop {
            let Some(found) = memmem::find(&self.text[from..], b"\n---") else { break self.text.len() };
            let marker = from + found + 1;
            if matches!(self.text.get(marker + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r')) {
                break marker;
            }
            from = marker;
        };
        self.at = end;
        self.line += memchr::memchr_iter(b'\n', &self.text[start..end]).count();
        Some(Written { range: start..end, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_cover_the_text_and_begin_with_their_markers() {
        let text = b"# a\n---\nb: |\n  ---\n--- # c\nc: 1\n---d: 2\n---";
        let found: Vec<(Vec<u8>, usize)> =
            documents(text).map(|document| (text[document.range].to_vec(), document.line)).collect();
        let expected: [(&[u8], usize); 4] =
            [(b"# a\n", 1), (b"---\nb: |\n  ---\n", 2), (b"--- # c\nc: 1\n---d: 2\n", 5), (b"---", 8)];
        assert_eq!(found, expected.map(|(text, line)| (text.to_vec(), line)));
        assert_eq!(documents(b"").count(), 0);
    }
}

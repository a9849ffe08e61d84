//! A stream of documents, cut at its `---` lines.

use std::ops::Range;

use memchr::memmem;

/// A document of a stream, with the `---` line that begins it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its bytes in the text. Documents follow each other without gaps.
    pub range: Range<usize>,
    /// The line on which it begins, counted from one.
    pub line: usize,
}

/// The documents of a text. A line that is `---`, or begins with it and a blank, begins a document, unless only
/// directives precede it; a line of `...` ends one. No content of a document can look like these lines. An empty text
/// has no documents.
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
        let mut end = loop {
            let Some(marker) = marker(self.text, from, b"\n---") else { break self.text.len() };
            if !is_head(&self.text[start..marker]) {
                break marker;
            }
            from = marker;
        };
        if let Some(dots) = marker(&self.text[..end], start, b"\n...") {
            end = memchr::memchr(b'\n', &self.text[dots..end]).map_or(end, |length| dots + length + 1);
        }
        self.at = end;
        self.line += memchr::memchr_iter(b'\n', &self.text[start..end]).count();
        Some(Written { range: start..end, line })
    }
}

/// The offset of a line that begins with a marker and a blank. `pattern` is the marker after a line feed.
fn marker(text: &[u8], mut from: usize, pattern: &[u8]) -> Option<usize> {
    loop {
        let marker = from + memmem::find(&text[from..], pattern)? + 1;
        if matches!(text.get(marker + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r')) {
            return Some(marker);
        }
        from = marker;
    }
}

/// Whether a piece has directives and nothing else, so that the document has yet to begin.
fn is_head(piece: &[u8]) -> bool {
    let mut lines = piece.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    piece.contains(&b'%')
        && lines.all(|line| matches!(line.first(), None | Some(b'%' | b'#')))
        && piece.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"%"))
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
        let lengths = |text: &[u8]| documents(text).map(|document| document.range.len()).collect::<Vec<_>>();
        assert_eq!(lengths(b"%YAML 1.1\n# c\n---\na: 1\n...\nb: 2\n---\n"), [27, 5, 4]);
    }
}

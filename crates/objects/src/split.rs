//! Splits rendered text into documents.

/// Splits `text` into documents at every line that starts with `---`.
///
/// As in Helm, only blanks after the three dashes belong to the separator: `---a: 1` leaves `a: 1`, and a line
/// `-----BEGIN` is cut as well. Leading white space of a document is dropped, trailing white space stays, and
/// documents of nothing but white space do not count.
pub fn split(text: &[u8]) -> Documents<'_> {
    Documents { rest: Some(trim_start(text)), at_start: true }
}

/// The documents of one text, in order. See [`split`].
#[derive(Clone, Debug)]
pub struct Documents<'a> {
    rest: Option<&'a [u8]>,
    /// Whether `rest` is the start of the text, where a separator needs no preceding line break.
    at_start: bool,
}

impl<'a> Iterator for Documents<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let piece = trim_start(self.next_document()?);
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    }
}

impl<'a> Documents<'a> {
    /// Everything up to the next separator, blank or not.
    fn next_document(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let at_start = std::mem::replace(&mut self.at_start, false);
        let dashes = if at_start && rest.starts_with(b"---") {
            0
        } else {
            match memchr::memmem::find(rest, b"\n---") {
                Some(line_break) => line_break + 1,
                None => {
                    self.rest = None;
                    return Some(rest);
                }
            }
        };
        let after = &rest[dashes + 3..];
        // The line break stays: it is white space at the start of the next document.
        let blanks = after.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        self.rest = Some(&after[blanks..]);
        Some(&rest[..dashes])
    }
}

/// Drops leading white space as Go's `strings.TrimSpace`, which follows Unicode.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        match rest.first() {
            Some(b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ') => rest = &rest[1..],
            Some(0x80..) => match first_character(rest) {
                Some(character) if character.is_whitespace() => rest = &rest[character.len_utf8()..],
                _ => return rest,
            },
            _ => return rest,
        }
    }
}

/// Drops trailing white space as Go's `strings.TrimSpace`.
pub fn trim_end(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        match rest.last() {
            Some(b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ') => rest = &rest[..rest.len() - 1],
            Some(0x80..) => {
                // A character has at most four bytes; a cut one at the front does not matter.
                let tail = &rest[rest.len().saturating_sub(4)..];
                let last = tail.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
                match last.and_then(|chunk| chunk.valid().chars().next_back()) {
                    Some(character) if character.is_whitespace() => {
                        rest = &rest[..rest.len() - character.len_utf8()];
                    }
                    _ => return rest,
                }
            }
            _ => return rest,
        }
    }
}

/// The first character, if the text starts with valid UTF-8.
fn first_character(text: &[u8]) -> Option<char> {
    let head = &text[..text.len().min(4)];
    head.utf8_chunks().next()?.valid().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> Vec<String> {
        split(text.as_bytes()).map(|document| String::from_utf8_lossy(document).into_owned()).collect()
    }

    #[test]
    fn separators_may_be_glued_to_text() {
        assert_eq!(documents("---a: 1\n--- \t b: 2"), ["a: 1\n", "b: 2"]);
        assert_eq!(documents("-----BEGIN\n"), ["--BEGIN\n"]);
        assert_eq!(documents("a: x---\n"), ["a: x---\n"]);
    }

    #[test]
    fn empty_documents_do_not_count() {
        assert_eq!(documents("\u{a0}\n---\n \n---\n\u{2003}x: 1\n\n---\n"), ["x: 1\n\n"]);
        assert!(documents("---").is_empty());
        assert!(documents("").is_empty());
    }

    #[test]
    fn white_space_at_the_end_is_unicode_s() {
        assert_eq!(trim_end("a\u{e9}\u{a0}\u{2003}\u{b}\n".as_bytes()), "a\u{e9}".as_bytes());
        assert_eq!(trim_end(b"a\xa0"), b"a\xa0");
        assert!(trim_end("\u{a0}\n".as_bytes()).is_empty());
    }

    #[test]
    fn a_separator_directly_after_a_separator_needs_its_own_line() {
        assert_eq!(documents("---\n---\na"), ["a"]);
        assert_eq!(documents("------\n"), ["---\n"]);
    }
}

//! Where texts of several documents are split: at every `---` that begins a line, with all white space around it
//! (helm-unittest's pattern `(?:^|\s*\n)---\s*`).

/// Whether Go's `\s` matches the byte.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Returns the parts of a text between its separators; the first is what comes before the first separator.
pub fn parts(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find("---").map(|offset| at + offset) {
        let begins_text = found == 0;
        let begins_line = found > start && bytes[found - 1] == b'\n';
        if !begins_text && !begins_line {
            at = found + 1;
            continue;
        }
        let blanks = bytes[start..found].iter().rev().take_while(|byte| is_space(**byte)).count();
        parts.push(&text[start..found - blanks]);
        start = found + 3;
        start += bytes[start..].iter().take_while(|byte| is_space(**byte)).count();
        at = start;
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn separators_begin_a_line_and_take_the_blanks_around_them() {
        for (text, expected) in [
            ("a: 1", &["a: 1"][..]),
            ("---\na: 1\n---\nb: 2\n", &["", "a: 1", "b: 2\n"]),
            ("a: 1 \n\n--- # text\n  b: 2", &["a: 1", "# text\n  b: 2"]),
            ("a: x---y\n ---\nb", &["a: x---y\n ---\nb"]),
            ("a\n---\n---\nb", &["a", "---\nb"]),
            ("a\n-----x", &["a", "--x"]),
        ] {
            assert_eq!(parts(text), expected, "{text:?}");
        }
    }
}

//! Scanners for versions and constraint tokens.
//!
//! The Go library uses regular expressions. Each of them is deterministic: the byte that follows a part decides what
//! the next part is. So one forward scan gives the same answer.

/// The parts of a version text, borrowed from it. Missing parts are empty.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// First number, without the `v`.
    pub(crate) major: &'a str,
    /// Second number.
    pub(crate) minor: &'a str,
    /// Third number.
    pub(crate) patch: &'a str,
    /// What follows `-`.
    pub(crate) pre: &'a str,
    /// What follows `+`.
    pub(crate) metadata: &'a str,
}

/// Splits a whole text that is a loose version.
pub(crate) fn split_version(text: &str) -> Option<Parts<'_>> {
    let (parts, length) = scan(text, |byte| byte.is_ascii_digit())?;
    (length == text.len()).then_some(parts)
}

/// Splits the longest version-with-wildcards at the beginning of a text; gives its length too.
///
/// The number class of the Go library includes `|` by accident, and so does this one.
pub(crate) fn scan_pattern(text: &str) -> Option<(Parts<'_>, usize)> {
    scan(text, |byte| matches!(byte, b'0'..=b'9' | b'x' | b'X' | b'*' | b'|'))
}

/// The whitespace that `\s` means.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

/// Length of the whitespace at the beginning of a text.
pub(crate) fn space_length(text: &str) -> usize {
    run_length(text, 0, is_space)
}

/// Returns whether a byte may be part of a prerelease or metadata identifier.
pub(crate) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn scan(text: &str, is_number: impl Fn(u8) -> bool + Copy) -> Option<(Parts<'_>, usize)> {
    let mut at = usize::from(text.starts_with('v'));
    let mut parts = Parts::default();
    let length = run_length(text, at, is_number);
    if length == 0 {
        return None;
    }
    parts.major = &text[at..at + length];
    at += length;
    for number in [&mut parts.minor, &mut parts.patch] {
        if text.as_bytes().get(at) != Some(&b'.') {
            break;
        }
        let length = run_length(text, at + 1, is_number);
        if length == 0 {
            break;
        }
        *number = &text[at + 1..at + 1 + length];
        at += 1 + length;
    }
    for (mark, identifiers) in [(b'-', &mut parts.pre), (b'+', &mut parts.metadata)] {
        if text.as_bytes().get(at) == Some(&mark) {
            let length = identifiers_length(text, at + 1);
            if length > 0 {
                *identifiers = &text[at + 1..at + 1 + length];
                at += 1 + length;
            }
        }
    }
    Some((parts, at))
}

/// Length of `id(.id)*` at a position; zero when there is none.
fn identifiers_length(text: &str, start: usize) -> usize {
    let mut end = start + run_length(text, start, is_identifier_byte);
    if end == start {
        return 0;
    }
    while text.as_bytes().get(end) == Some(&b'.') {
        let length = run_length(text, end + 1, is_identifier_byte);
        if length == 0 {
            break;
        }
        end += 1 + length;
    }
    end - start
}

fn run_length(text: &str, start: usize, accept: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    rest.iter().take_while(|byte| accept(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_version_has_five_parts() {
        let parts = split_version("v1.2.3-rc.1+b.2").expect("a version");
        let expected = Parts { major: "1", minor: "2", patch: "3", pre: "rc.1", metadata: "b.2" };
        assert_eq!(parts, expected);
    }

    #[test]
    fn a_fourth_number_is_no_version() {
        assert_eq!(split_version("1.2.3.4"), None);
        assert_eq!(scan_pattern("1.2.3.4").map(|(_, length)| length), Some(5));
    }

    #[test]
    fn an_empty_suffix_is_not_taken() {
        assert_eq!(scan_pattern("1-").map(|(_, length)| length), Some(1));
        assert_eq!(split_version("1.2.3-a..b"), None);
    }
}

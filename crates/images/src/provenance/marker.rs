//! Markers that are valid in image names and survive lower-casing, quoting and trimming.

use crate::rendering::Files;

/// The number of base-36 digits of a marker.
const DIGITS: usize = 3;

/// The maximum number of distinct markers.
pub(super) const MAX_MARKS: usize = 36 * 36 * 36;

/// The delimiter of markers; chosen so that it does not occur in the chart's own output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker(&'static str);

impl Marker {
    /// The first delimiter that occurs in none of the rendered files.
    pub(super) fn not_in(files: &Files) -> Self {
        // Pairs of letters that are rare in words, as a marker must not contain anything but lower-case letters and
        // digits.
        const KINDS: [&str; 4] = ["zq", "qx", "xj", "jq"];
        let absent = |kind: &&&str| {
            let has = |text: &[u8]| find_all(text, kind).next().is_some();
            !files.iter().any(|(_, text)| has(text))
        };
        Marker(KINDS.iter().find(absent).copied().unwrap_or(KINDS[0]))
    }

    /// The marker with a number.
    pub(super) fn mark(self, number: usize) -> String {
        let digit = |value: usize| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[value % 36]);
        let digits = [digit(number / 1296), digit(number / 36), digit(number)];
        let digits: String = digits.into_iter().collect();
        format!("{}{digits}{}", self.0, self.0)
    }

    /// Removes the markers from a text. Returns the plain text, and the offset and number of each marker.
    pub(super) fn strip(self, text: &str) -> (String, Vec<(usize, usize)>) {
        let mut plain = String::with_capacity(text.len());
        let mut marks = Vec::new();
        let mut rest = text;
        while let Some((at, number)) = self.first(rest) {
            plain.push_str(&rest[..at]);
            marks.push((plain.len(), number));
            rest = &rest[at + self.length()..];
        }
        plain.push_str(rest);
        (plain, marks)
    }

    fn first(self, text: &str) -> Option<(usize, usize)> {
        find_all(text.as_bytes(), self.0).next()
    }

    fn length(self) -> usize {
        self.0.len() * 2 + DIGITS
    }
}

/// The markers in a text: offset and number.
fn find_all<'t>(text: &'t [u8], kind: &'t str) -> impl Iterator<Item = (usize, usize)> + 't {
    memchr::memmem::find_iter(text, kind).filter_map(move |at| {
        let digits = text.get(at + kind.len()..at + kind.len() + DIGITS)?;
        let closed = text[at + kind.len() + DIGITS..].starts_with(kind.as_bytes());
        let number =
            std::str::from_utf8(digits).ok().and_then(|digits| usize::from_str_radix(digits, 36).ok())?;
        closed.then_some((at, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_back_with_their_places() {
        let marker = Marker::not_in(&vec![("x".into(), b"zq000zq".to_vec())]);
        assert_eq!(marker, Marker("qx"));
        let text = format!("a{}b/{}{}", marker.mark(0), marker.mark(1_297), marker.mark(MAX_MARKS - 1));
        let (plain, marks) = marker.strip(&text);
        assert_eq!(plain, "ab/");
        assert_eq!(marks, [(1, 0), (3, 1_297), (3, MAX_MARKS - 1)]);
        assert_eq!(marker.strip("qx12qx"), ("qx12qx".into(), vec![]));
    }
}

//! What the server has to say besides its answers: deprecated versions, unknown fields.

use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;

/// How many warnings are kept; more than that nobody reads.
const KEPT: usize = 100;

/// The warnings of all answers, each once.
#[derive(Default)]
pub(crate) struct Warnings {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    seen: Vec<String>,
    /// How many of them were handed out.
    told: usize,
}

impl Warnings {
    /// Keeps the warnings of an answer.
    pub(crate) fn note(&self, headers: &HeaderMap) {
        for value in headers.get_all(WARNING) {
            let Some(text) = value.to_str().ok().and_then(text_of) else { continue };
            let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
            if texts.seen.len() < KEPT && !texts.seen.contains(&text) {
                texts.seen.push(text);
            }
        }
    }

    /// Hands out the warnings that came since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let new = texts.seen[texts.told..].to_vec();
        texts.told = texts.seen.len();
        new
    }

    /// Lets every warning be new again.
    pub(crate) fn forget(&self) {
        *self.texts.lock().unwrap_or_else(PoisonError::into_inner) = Texts::default();
    }
}

/// The text of a header such as `299 - "text"`; other codes are not for people.
fn text_of(header: &str) -> Option<String> {
    let quoted = header.strip_prefix("299 ")?.split_once(' ')?.1.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(text),
            '\\' => text.push(letters.next()?),
            // Nothing that a terminal would obey.
            other if other.is_control() => {}
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_told_once() {
        let warnings = Warnings::default();
        let mut headers = HeaderMap::new();
        headers.append(WARNING, r#"299 - "v1 \"Endpoints\" is deprecated""#.parse().expect("a header"));
        headers.append(WARNING, "199 - \"other\"".parse().expect("a header"));
        headers.append(WARNING, "299 - \"open".parse().expect("a header"));
        warnings.note(&headers);
        warnings.note(&headers);
        assert_eq!(warnings.take(), [r#"v1 "Endpoints" is deprecated"#]);
        warnings.note(&headers);
        assert!(warnings.take().is_empty());
    }
}

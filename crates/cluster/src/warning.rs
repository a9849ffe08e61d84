//! What the server has to say besides its answers: deprecated versions, unknown fields.

use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;

/// How many warnings are kept; more than that nobody reads.
const MAX_WARNINGS: usize = 100;

/// The warnings of all answers, each once.
#[derive(Default)]
pub(crate) struct Warnings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<String>,
    /// How many of them were handed out.
    reported: usize,
}

impl Warnings {
    /// Keeps the warnings of an answer.
    pub(crate) fn record(&self, headers: &HeaderMap) {
        for value in headers.get_all(WARNING) {
            let Some(text) = value.to_str().ok().and_then(text_of) else { continue };
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.seen.len() < MAX_WARNINGS && !state.seen.contains(&text) {
                state.seen.push(text);
            }
        }
    }

    /// Hands out the warnings that came since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = state.seen[state.reported..].to_vec();
        state.reported = state.seen.len();
        new
    }

    /// Lets every warning be new again.
    pub(crate) fn forget(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
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
        warnings.record(&headers);
        warnings.record(&headers);
        assert_eq!(warnings.take(), [r#"v1 "Endpoints" is deprecated"#]);
        warnings.record(&headers);
        assert!(warnings.take().is_empty());
    }
}

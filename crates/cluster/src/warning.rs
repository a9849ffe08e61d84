//! Warning headers of the server: deprecated API versions, unknown fields.

use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;

/// How many distinct warnings are kept, so that a misbehaving server cannot grow memory.
const MAX_WARNINGS: usize = 100;

/// The distinct warnings of all responses.
#[derive(Default)]
pub(crate) struct Warnings {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Vec<String>,
    /// How many of them were returned by `take`.
    reported: usize,
}

impl Warnings {
    /// Records the warnings of a response.
    pub(crate) fn record(&self, headers: &HeaderMap) {
        for value in headers.get_all(WARNING) {
            let Some(text) = value.to_str().ok().and_then(text_of) else { continue };
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.seen.len() < MAX_WARNINGS && !state.seen.contains(&text) {
                state.seen.push(text);
            }
        }
    }

    /// Returns the warnings since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = state.seen[state.reported..].to_vec();
        state.reported = state.seen.len();
        new
    }

    /// Lets every warning be reported again.
    pub(crate) fn forget(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }
}

/// The text of a header such as `299 - "text"`. Other codes are not meant for users.
fn text_of(header: &str) -> Option<String> {
    let quoted = header.strip_prefix("299 ")?.split_once(' ')?.1.trim_start().strip_prefix('"')?;
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(text),
            '\\' => text.push(letters.next()?),
            // Control characters could change the terminal.
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
    fn each_warning_is_reported_once() {
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

//! The command line that does the same as a request of the page.

use crate::app::App;

/// A command with the flags for its context.
pub(crate) fn command(app: &App, context: &str, words: &[&str]) -> String {
    let flags = app.settings.clusters.flags(context);
    let all = std::iter::once(app.settings.program.as_str());
    let all = all.chain(words.iter().copied()).chain(flags.iter().map(String::as_str));
    all.map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as shells read it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted("oci://r/web:1.0"), "oci://r/web:1.0");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(id)'"), "'$(id)'\\'''");
        assert_eq!(quoted(""), "''");
    }
}

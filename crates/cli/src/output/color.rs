//! The colors of release output, as Helm has them.

use pintle::release::Status;

/// Colors words if enabled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    /// Whether colors are enabled.
    pub(crate) on: bool,
}

/// A word of a report that is colored.
pub(crate) struct Rule {
    /// What is before the word: the beginning of the line for an empty text.
    before: &'static str,
    word: &'static str,
    color: &'static str,
}

impl Rule {
    pub(crate) const fn new(before: &'static str, word: &'static str, color: &'static str) -> Rule {
        Rule { before, word, color }
    }

    fn find(&self, line: &str) -> Option<(usize, usize)> {
        let start = match self.before {
            "" => line.starts_with(self.word).then_some(0)?,
            before => {
                let whole = |at: &usize| line[at + before.len()..].starts_with(self.word);
                line.match_indices(before).map(|(at, _)| at).find(whole)? + before.len()
            }
        };
        Some((start, start + self.word.len()))
    }
}

/// What is wrong.
pub(crate) const RED: &str = "1;31";
/// What needs attention.
pub(crate) const YELLOW: &str = "1;33";
/// What is good.
pub(crate) const GREEN: &str = "32";
/// What is for information.
pub(crate) const BLUE: &str = "36";

/// The color of a status, by severity; `None` for those that need no attention.
pub(crate) fn color(status: Status) -> Option<u8> {
    match status {
        Status::Deployed => Some(32),
        Status::Failed | Status::Unknown => Some(31),
        Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback | Status::Uninstalling => {
            Some(33)
        }
        Status::Uninstalled | Status::Superseded => None,
    }
}

impl Paint {
    /// A heading of a table.
    pub(crate) fn heading(self, text: &str) -> String {
        if self.on { format!("\u{1b}[1m{text}\u{1b}[22m") } else { text.to_owned() }
    }

    /// A namespace.
    pub(crate) fn namespace(self, text: &str) -> String {
        self.colored(36, text)
    }

    /// The status of a release, colored by severity. Unknown ones are not colored.
    pub(crate) fn status(self, status: Status, word: &str) -> String {
        if word != status.as_str() {
            return word.to_owned();
        }
        match color(status) {
            Some(color) => self.colored(color, word),
            None => word.to_owned(),
        }
    }

    /// A report in which words are colored: in each line the first one that a rule finds.
    pub(crate) fn report(self, text: String, rules: &[Rule]) -> String {
        if !self.on {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 64);
        for line in text.split_inclusive('\n') {
            let found = rules.iter().filter_map(|rule| Some((rule.find(line)?, rule)));
            // The first rule of those that find the same place.
            match found.min_by_key(|((start, _), _)| *start) {
                None => out.push_str(line),
                Some(((start, end), rule)) => {
                    out.push_str(&line[..start]);
                    out.push_str(&format!("\u{1b}[{}m{}\u{1b}[0m", rule.color, &line[start..end]));
                    out.push_str(&line[end..]);
                }
            }
        }
        out
    }

    fn colored(self, code: u8, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[Rule] = &[Rule::new(": ", "error", RED), Rule::new("", "the chart works", GREEN)];

    #[test]
    fn words_are_colored_where_they_are_meant() {
        let text = "a.yaml:3: error: an error: again\nno errors here\nthe chart works\n".to_owned();
        let painted = Paint { on: true }.report(text.clone(), RULES);
        assert_eq!(
            painted,
            "a.yaml:3: \u{1b}[1;31merror\u{1b}[0m: an error: again\nno errors here\n\u{1b}[32mthe chart works\u{1b}[0m\n"
        );
        assert_eq!(Paint { on: false }.report(text.clone(), RULES), text);
    }
}

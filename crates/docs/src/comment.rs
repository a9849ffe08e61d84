//! The grammar of comments.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_regex::Regex;

/// What a comment says about a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) text: String,
    pub(crate) default: String,
    pub(crate) section: String,
    pub(crate) value_type: String,
    pub(crate) notation_type: String,
}

/// The start of a comment that documents the key below it.
pub(crate) const PREFIX: &str = "# --";

/// The longest line that Go's scanner reads; it stops before a longer one.
const MAX_LINE: usize = 64 * 1024;

struct Grammar {
    description: Regex,
    raw: Regex,
    continuation: Regex,
    default: Regex,
    value_type: Regex,
    notation_type: Regex,
    section: Regex,
}

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::compile(pattern).expect("a pattern of ours");
    Grammar {
        description: compile(r"^\s*#\s*(.*)\s+--\s*(.*)$"),
        raw: compile(r"^\s*#\s+@raw"),
        continuation: compile(r"^\s*#(\s?)(.*)$"),
        default: compile(r"^\s*# @default -- (.*)$"),
        value_type: compile(r"^\((.*?)\)\s*(.*)$"),
        notation_type: compile(r"^\s*#\s+@notationType\s+--\s+(.*)$"),
        section: compile(r"^\s*# @section -- (.*)$"),
    }
});

/// The text of a group of the leftmost match.
fn group(regex: &Regex, line: &str, number: usize) -> Option<String> {
    let captures = regex.captures(line.as_bytes())?;
    let range = captures.get(number)?.clone()?;
    line.get(range).map(str::to_owned)
}

/// Parses the lines of a comment. The key is empty if the comment documents the key below it.
pub(crate) fn parse<S: AsRef<str>>(lines: &[S]) -> (String, Description) {
    // Of several groups that start with the prefix, the last counts.
    let last = lines.iter().rposition(|line| line.as_ref().starts_with(PREFIX)).unwrap_or(0);
    let lines = &lines[last..];
    let mut key = String::new();
    let mut description = Description::default();
    let mut start = 0;
    for (number, line) in lines.iter().enumerate() {
        if let Some(text) = group(&GRAMMAR.description, line.as_ref(), 2) {
            key = group(&GRAMMAR.description, line.as_ref(), 1).unwrap_or_default();
            description.text = text;
            start = number;
            break;
        }
    }
    if let Some(value_type) = group(&GRAMMAR.value_type, &description.text, 1).filter(|text| !text.is_empty())
    {
        description.text = group(&GRAMMAR.value_type, &description.text, 2).unwrap_or_default();
        description.value_type = value_type;
    }
    let mut raw = false;
    for line in lines.iter().skip(start + 1) {
        description.continue_with(line.as_ref(), &mut raw);
    }
    (key, description)
}

impl Description {
    fn continue_with(&mut self, line: &str, raw: &mut bool) {
        if !*raw && GRAMMAR.raw.is_match(line.as_bytes()) {
            *raw = true;
        } else if let Some(default) = group(&GRAMMAR.default, line, 1) {
            self.default = default;
        } else if let Some(notation_type) = group(&GRAMMAR.notation_type, line, 1) {
            self.notation_type = notation_type;
        } else if let Some(section) = group(&GRAMMAR.section, line, 1) {
            self.section = section;
        } else if let Some(more) = group(&GRAMMAR.continuation, line, 2) {
            self.text.push(if *raw { '\n' } else { ' ' });
            self.text.push_str(&more);
        }
    }
}

/// The comments that name their key, `# path.to.key -- text`, anywhere in a values file. As in helm-docs, one that ends the
/// file is not seen.
pub(crate) fn named_descriptions(values: &str) -> BTreeMap<String, Description> {
    let mut descriptions = BTreeMap::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in values.lines() {
        if line.len() >= MAX_LINE {
            break;
        }
        if comment.is_empty() {
            // A quick look first: most lines are no comments.
            if line.contains("--") && group(&GRAMMAR.description, line, 1).is_some_and(|key| !key.is_empty())
            {
                comment.push(line);
            }
        } else if GRAMMAR.continuation.is_match(line.as_bytes()) {
            comment.push(line);
        } else {
            let (key, description) = parse(&comment);
            if !key.is_empty() {
                descriptions.insert(key, description);
            }
            comment.clear();
        }
    }
    descriptions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> (String, String) {
        let (key, description) = parse(lines);
        (key, description.text)
    }

    #[test]
    fn lines_are_joined_and_the_last_group_counts() {
        assert_eq!(text(&["# -- One", "# two"]), (String::new(), "One two".to_owned()));
        assert_eq!(text(&["# -- Old", "# -- New"]), (String::new(), "New".to_owned()));
        assert_eq!(text(&["# a.b -- Of a key"]), ("a.b".to_owned(), "Of a key".to_owned()));
        assert_eq!(text(&["# -- One", "# @raw", "# - two"]), (String::new(), "One\n- two".to_owned()));
    }

    #[test]
    fn annotations_are_taken_out() {
        let lines =
            ["# -- (int, string) Port", "# @default -- 80", "# @section -- Net", "# @notationType -- tpl"];
        let (_, description) = parse(&lines);
        let expected = Description {
            text: "Port".to_owned(),
            default: "80".to_owned(),
            section: "Net".to_owned(),
            value_type: "int, string".to_owned(),
            notation_type: "tpl".to_owned(),
        };
        assert_eq!(description, expected);
    }

    #[test]
    fn comments_that_name_their_key_are_found_anywhere() {
        let found = named_descriptions("# a.b -- One\n# more\n\nx: 1\n# c -- Last\n");
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a.b"]);
        assert_eq!(found["a.b"].text, "One more");
    }
}

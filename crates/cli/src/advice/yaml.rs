//! What is wrong with a text that is not YAML. The parser's message says what it expected; here the line is found that its
//! author would change, which is often another one than the parser names.

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnosis {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column in bytes, from 0.
    pub(super) column: usize,
    pub(super) problem: String,
    pub(super) hint: String,
}

/// Finds what is wrong with a text; `reason` is the parser's message.
pub(super) fn diagnose(text: &str, reason: &str) -> Diagnosis {
    let lines: Vec<&str> = text.lines().collect();
    let named = line_named(reason).unwrap_or(1).clamp(1, lines.len().max(1));
    let facts = Text { lines, named };
    let found = facts.tab(reason).or_else(|| facts.duplicate(reason)).or_else(|| facts.special_start(reason));
    let found = found.or_else(|| match () {
        () if reason.contains("mapping values are not allowed") => {
            facts.second_colon().or_else(|| facts.no_colon())
        }
        () if reason.contains("did not find expected key") || reason.contains("block collection") => {
            facts.indentation(named.saturating_sub(1)).or_else(|| facts.after_quote())
        }
        () if reason.contains("unexpected end of stream") || reason.contains("document indicator") => {
            facts.open_quote()
        }
        () if ["',' or ']'", "',' or '}'", "node content"].iter().any(|end| reason.contains(end)) => {
            facts.open_bracket()
        }
        () if reason.contains("could not find expected ':'") => facts.no_colon(),
        () => None,
    });
    found.unwrap_or_else(|| {
        let problem = reason.rsplit("yaml: ").next().unwrap_or(reason);
        let problem = problem
            .split_once(": ")
            .filter(|(head, _)| head.starts_with("line "))
            .map_or(problem, |(_, rest)| rest);
        Diagnosis {
            line: named,
            column: facts.line(named).map_or(0, indent),
            problem: problem.to_owned(),
            hint: "the mistake is on this line, or in the lines above it".to_owned(),
        }
    })
}

/// The line that a message of the parser names.
fn line_named(reason: &str) -> Option<usize> {
    let (_, rest) = reason.rsplit_once("line ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The column of the value after `key:`, and the value.
fn value_of(line: &str) -> Option<(usize, &str)> {
    let start = match line.find(": ") {
        Some(colon) => colon + 2,
        None => {
            let body = line.trim_start().strip_prefix("- ")?;
            line.len() - body.len()
        }
    };
    let value = line.get(start..)?;
    let column = start + value.len() - value.trim_start().len();
    Some((column, value.trim()))
}

struct Text<'t> {
    lines: Vec<&'t str>,
    /// The line that the parser names.
    named: usize,
}

impl Text<'_> {
    fn line(&self, number: usize) -> Option<&str> {
        self.lines.get(number.checked_sub(1)?).copied()
    }

    /// The numbers of lines near the one that the parser names, which is one too few or too many at times.
    fn near(&self) -> impl Iterator<Item = (usize, &str)> {
        [self.named, self.named + 1, self.named.saturating_sub(1)]
            .into_iter()
            .filter_map(|number| Some((number, self.line(number)?)))
    }

    /// A tab among the blanks at the beginning of a line.
    fn tab(&self, reason: &str) -> Option<Diagnosis> {
        let is_tabbed = |line: &str| line[..line.len() - line.trim_start().len()].contains('\t');
        let (line, text) = match reason.contains("tab character") || reason.contains("cannot start any token")
        {
            true => self
                .lines
                .iter()
                .enumerate()
                .find(|(_, line)| is_tabbed(line))
                .map(|(at, line)| (at + 1, *line))?,
            false => self.near().find(|(_, line)| is_tabbed(line))?,
        };
        Some(Diagnosis {
            line,
            column: text.find('\t').unwrap_or_default(),
            problem: "the line is indented with a tab".to_owned(),
            hint: "YAML is indented with blanks only: replace the tab with two blanks".to_owned(),
        })
    }

    /// A key that occurs twice in a map.
    fn duplicate(&self, reason: &str) -> Option<Diagnosis> {
        let key =
            reason.split("key \"").nth(1)?.split('"').next().filter(|_| reason.contains("already set"))?;
        let is_key = |line: &&str| line.trim_start().trim_start_matches("- ").starts_with(&format!("{key}:"));
        let text = self.line(self.named).filter(|line| is_key(line))?;
        let first = self.lines[..self.named - 1]
            .iter()
            .rposition(|line| is_key(line) && indent(line) == indent(text))?;
        Some(Diagnosis {
            line: self.named,
            column: indent(text),
            problem: format!(
                "the key `{key}` occurs twice: on line {} and on line {}",
                first + 1,
                self.named
            ),
            hint: "remove one of them, or put both contents below one".to_owned(),
        })
    }

    /// A value that begins with a letter of YAML's grammar.
    fn special_start(&self, reason: &str) -> Option<Diagnosis> {
        let template = |line: &&str| value_of(line).is_some_and(|(_, value)| value.starts_with("{{"));
        if reason.contains("invalid map key") || reason.contains("flow mapping") {
            let (at, text) = self.lines.iter().enumerate().find(|(_, line)| template(line))?;
            return Some(quoted(at + 1, text, "a value that begins with `{{` is a map for YAML"));
        }
        let is_special = reason.contains("cannot start any token")
            || reason.contains("alphabetic or numeric character")
            || reason.contains("unknown anchor")
            || reason.contains("did not find URI escaped")
            || reason.contains("did not find expected key");
        let (line, text) = self.near().filter(|_| is_special).find(|(_, line)| {
            value_of(line).is_some_and(|(_, value)| value.starts_with(['@', '`', '%', '*', '&', '!']))
        })?;
        let (_, value) = value_of(text)?;
        let letter = value.chars().next()?;
        Some(quoted(line, text, &format!("a value cannot begin with `{letter}`")))
    }

    /// `a: b: c`, or a line that is deeper than the value above it.
    fn second_colon(&self) -> Option<Diagnosis> {
        let twice = |line: &str| {
            value_of(line).is_some_and(|(_, value)| value.contains(": ") && !value.starts_with(['{', '[']))
        };
        if let Some((line, text)) = self.near().take(1).find(|(_, line)| twice(line)) {
            return Some(quoted(line, text, "a value with a colon and a blank in it is a map for YAML"));
        }
        let (line, text) = self.near().find(|(number, line)| {
            let above = self.line(number.saturating_sub(1)).unwrap_or_default();
            indent(line) > indent(above)
                && value_of(above).is_some_and(|(_, value)| !value.is_empty())
                && line.contains(':')
        })?;
        let above = indent(self.line(line - 1)?);
        Some(Diagnosis {
            line,
            column: indent(text),
            problem: format!(
                "the line is indented by {}, deeper than the key above it, which has a value already",
                blanks(indent(text))
            ),
            hint: format!("indent it by {above}, like the line above, if it belongs to the same map"),
        })
    }

    /// The first line whose indentation is that of no line above it.
    fn indentation(&self, from: usize) -> Option<Diagnosis> {
        let mut open: Vec<usize> = Vec::new();
        let mut in_text = None;
        for (index, line) in self.lines.iter().enumerate() {
            let body = line.trim_start();
            if body.is_empty() || body.starts_with('#') {
                continue;
            }
            if body == "---" {
                open.clear();
                continue;
            }
            let depth = indent(line);
            if in_text.is_some_and(|key| depth > key) {
                continue;
            }
            in_text = body.trim_end().ends_with(['|', '>', '-', '+']).then_some(depth).filter(|_| {
                let end = body.trim_end().rsplit(' ').next().unwrap_or_default();
                end.starts_with(['|', '>'])
            });
            let columns =
                std::iter::once(depth).chain(body.strip_prefix("- ").map(|rest| depth + 2 + indent(rest)));
            while open.last().is_some_and(|last| *last > depth) {
                open.pop();
            }
            let has_value =
                index > 0 && value_of(self.lines[index - 1]).is_some_and(|(_, value)| !value.is_empty());
            let is_new = open.last() != Some(&depth);
            let is_first = open.is_empty() && index == 0;
            let deeper_below_value = has_value
                && depth > indent(self.lines[index - 1])
                && !self.lines[index - 1].trim_start().starts_with("- ");
            let less = index > 0 && depth < indent(self.lines[index - 1]);
            if is_new && !is_first && index + 1 >= from.max(2) && (less || deeper_below_value) {
                let usual: Vec<String> = open.iter().rev().take(2).map(ToString::to_string).collect();
                let wanted = match usual.as_slice() {
                    [] => "0".to_owned(),
                    usual => usual.join(" or "),
                };
                return Some(Diagnosis {
                    line: index + 1,
                    column: depth,
                    problem: format!(
                        "the line is indented by {}, which fits no line above it",
                        blanks(depth)
                    ),
                    hint: format!("indent it by {wanted}, like the keys of the map that it belongs to"),
                });
            }
            for column in columns {
                if open.last() != Some(&column) {
                    open.push(column);
                }
            }
        }
        None
    }

    /// Text after the closing quote of a value.
    fn after_quote(&self) -> Option<Diagnosis> {
        let (line, text) = self.near().find(|(_, line)| {
            value_of(line).is_some_and(|(_, value)| {
                let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''));
                quote.is_some_and(|quote| {
                    value[1..].find(quote).is_some_and(|end| !value[end + 2..].trim().is_empty())
                })
            })
        })?;
        let (column, _) = value_of(text)?;
        Some(Diagnosis {
            line,
            column,
            problem: "there is text after the closing quote of the value".to_owned(),
            hint: "put quotes around all of the value, or around none of it".to_owned(),
        })
    }

    /// The last value whose quote is not closed on its line.
    fn open_quote(&self) -> Option<Diagnosis> {
        let is_open = |line: &&str| {
            value_of(line).is_some_and(|(_, value)| {
                let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''));
                quote.is_some_and(|quote| value.matches(quote).count() % 2 == 1)
            })
        };
        let (at, text) = self.lines.iter().enumerate().find(|(_, line)| is_open(line))?;
        let (column, value) = value_of(text)?;
        let quote = value.chars().next()?;
        Some(Diagnosis {
            line: at + 1,
            column,
            problem: "the quote that begins here is not closed".to_owned(),
            hint: format!("close the quote with `{quote}` at the end of the value"),
        })
    }

    /// The first list or map in brackets that is not closed.
    fn open_bracket(&self) -> Option<Diagnosis> {
        let count = |line: &str, letter: char| line.matches(letter).count();
        let is_open = |line: &str| count(line, '[') > count(line, ']') || count(line, '{') > count(line, '}');
        let (at, text) = self.lines.iter().enumerate().find(|(_, line)| is_open(line))?;
        Some(Diagnosis {
            line: at + 1,
            column: text.find(['[', '{']).unwrap_or_default(),
            problem: "the bracket that opens here is not closed".to_owned(),
            hint: "close it with `]` or `}`, and separate its items by commas".to_owned(),
        })
    }

    /// A line in a map that is no `key: value`.
    fn no_colon(&self) -> Option<Diagnosis> {
        let is_key = |line: &str| line.contains(": ") || line.trim_end().ends_with(':');
        let (line, text) = [self.named.saturating_sub(1), self.named, self.named.saturating_sub(2)]
            .into_iter()
            .filter_map(|number| Some((number, self.line(number)?)))
            .find(|(_, line)| {
                !line.trim().is_empty() && !line.trim_start().starts_with(['#', '-']) && !is_key(line)
            })?;
        let body = text.trim();
        let hint = match body.split_once(':') {
            Some((key, value)) => format!("write a blank after the colon: `{key}: {value}`"),
            None => "write `key: value`; a text over several lines begins with `key: |` and is indented"
                .to_owned(),
        };
        Some(Diagnosis {
            line,
            column: indent(text),
            problem: "the line is no `key: value`".to_owned(),
            hint,
        })
    }
}

/// A value that must be in quotes.
fn quoted(line: usize, text: &str, problem: &str) -> Diagnosis {
    let (column, value) = value_of(text).unwrap_or((indent(text), text.trim()));
    let quoted = match value.contains('"') {
        true => format!("'{value}'"),
        false => format!("\"{value}\""),
    };
    Diagnosis { line, column, problem: problem.to_owned(), hint: format!("write it in quotes: `{quoted}`") }
}

fn blanks(count: usize) -> String {
    match count {
        0 => "nothing".to_owned(),
        1 => "1 blank".to_owned(),
        count => format!("{count} blanks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (usize, String) {
        let error = pintle_yaml::read(text.as_bytes()).expect_err("not YAML").to_string();
        let found = diagnose(text, &error);
        (found.line, found.problem)
    }

    #[test]
    fn the_line_is_the_one_to_change() {
        for (text, line, problem) in [
            ("a:\n\tb: c\n", 2, "tab"),
            ("a:\n  b: c\n\td: e\n", 3, "tab"),
            ("a:\n  b: c\n   d: e\n", 3, "deeper"),
            ("a:\n  b: c\n d: e\n", 3, "fits no line"),
            ("a:\n    b: c\n  d: e\nf: g\n", 3, "fits no line"),
            ("a: b: c\n", 1, "colon"),
            ("x: y\na: \"b\nc: d\n", 2, "quote that begins"),
            ("a: [b, c\nd: e\n", 1, "bracket"),
            ("a: b\ntext\nc: d\n", 2, "no `key: value`"),
            ("a:\n  b:c\n  d: e\n", 2, "no `key: value`"),
            ("a: @b\n", 1, "begin with `@`"),
            ("a: *.b\n", 1, "begin with `*`"),
            ("a:\n  b: \"c\" d\n  e: f\n", 2, "after the closing quote"),
        ] {
            let (at, message) = found(text);
            assert_eq!(at, line, "{text:?}: {message}");
            assert!(message.contains(problem), "{text:?}: {message}");
        }
    }

    #[test]
    fn any_text_gets_an_answer() {
        for text in ["", "\n", "\t", ":", "{{", "a\n\n\n\n\u{85}"] {
            for reason in ["", "line 99999999999999999999: x", "yaml: line 7: did not find expected key"] {
                let found = diagnose(text, reason);
                assert!(found.line >= 1, "{text:?}");
            }
        }
    }
}

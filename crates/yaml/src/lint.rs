//! Checks the style of YAML by the rules of yamllint, with its configuration, positions and texts.
//!
//! The rules are braces, brackets, colons, commas, comments, document-start, document-end, empty-lines, empty-values,
//! hyphens, indentation, key-duplicates, line-length, new-line-at-end-of-file, new-lines, trailing-spaces and truthy. Others
//! in a configuration are accepted and do nothing.
//!
//! ```
//! use pintle_yaml::lint::{Config, check};
//!
//! let config = Config::read(b"rules: {trailing-spaces: enable, colons: {level: warning}}")?;
//! let problems: Vec<String> = check(b"a:  1 \n", &config).iter().map(ToString::to_string).collect();
//! assert_eq!(problems, [
//!     "1:4       warning  too many spaces after colon  (colons)",
//!     "1:6       error    trailing spaces  (trailing-spaces)",
//! ]);
//! # Ok::<(), String>(())
//! ```

mod config;
mod layout;
mod lines;
mod tokens;

use std::fmt;

pub use config::Config;
use config::Rule;
use tokens::Tokens;

/// How serious a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is reported, but does not fail.
    Warning,
    /// It fails.
    Error,
}

impl Level {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// A problem in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How serious it is.
    pub level: Level,
    /// What is wrong.
    pub message: String,
    /// The name of the rule; empty for a text that is not YAML.
    pub rule: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = format!("{}:{}", self.line, self.column);
        write!(formatter, "{position:<9} {:<8} {}", self.level.as_str(), self.message)?;
        if self.rule.is_empty() { Ok(()) } else { write!(formatter, "  ({})", self.rule) }
    }
}

/// Checks a text. The problems are sorted by position.
pub fn check(text: &[u8], config: &Config) -> Vec<Problem> {
    let mut checker = Checker { text, config, problems: Vec::new() };
    checker.check_lines();
    match Tokens::read(text) {
        Ok(tokens) => {
            checker.check_comments(&tokens);
            checker.check_layout(&tokens);
            checker.check_indentation(&tokens);
        }
        Err((line, message)) => checker.problems.push(Problem {
            line,
            column: 1,
            level: Level::Error,
            message: format!("syntax error: {message}"),
            rule: "",
        }),
    }
    checker.problems.sort_by_key(|problem| (problem.line, problem.column, problem.rule));
    checker.problems
}

struct Checker<'a> {
    text: &'a [u8],
    config: &'a Config,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn rule(&self, name: &'static str) -> Option<Rule<'a>> {
        self.config.rule(name)
    }

    fn report(&mut self, rule: &Rule<'_>, line: usize, column: usize, message: impl Into<String>) {
        let problem = Problem {
            line,
            column: column.max(1),
            level: rule.level,
            message: message.into(),
            rule: rule.name,
        };
        self.problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a text under some rules.
    fn problems(rules: &str, text: &str) -> Vec<String> {
        let config = Config::read(format!("rules: {{{rules}}}").as_bytes()).expect("a configuration");
        let shown = |problem: &Problem| format!("{}:{} {}", problem.line, problem.column, problem.message);
        check(text.as_bytes(), &config).iter().map(shown).collect()
    }

    #[test]
    fn spaces_around_signs() {
        assert_eq!(
            problems("braces: enable, brackets: enable", "a: { b: 1 }\nc: [ 1 ]\nd: { }\ne: {}\n"),
            [
                "1:5 too many spaces inside braces",
                "1:10 too many spaces inside braces",
                "2:5 too many spaces inside brackets",
                "2:7 too many spaces inside brackets",
                "3:5 too many spaces inside empty braces",
            ]
        );
        assert_eq!(
            problems("commas: enable", "a: [1 , 2,3,  4]\n"),
            [
                "1:6 too many spaces before comma",
                "1:11 too few spaces after comma",
                "1:14 too many spaces after comma"
            ]
        );
        assert_eq!(
            problems("colons: enable, hyphens: enable", "a : 1\nb:  2\nc:\n-  d\n"),
            [
                "1:2 too many spaces before colon",
                "2:4 too many spaces after colon",
                "4:3 too many spaces after hyphen"
            ]
        );
    }

    #[test]
    fn comments_have_spaces() {
        assert_eq!(
            problems("comments: enable", "#a\n# b\n##\na: '#c' # d\nb: |\n  #e\n#!f\n"),
            [
                "1:2 missing starting space in comment",
                "4:9 too few spaces before comment: expected 2",
                "7:2 missing starting space in comment",
            ]
        );
    }

    #[test]
    fn lines_have_ends_and_lengths() {
        assert_eq!(
            problems("trailing-spaces: enable, new-line-at-end-of-file: enable", "a: 1 \nb: 2"),
            ["1:5 trailing spaces", "2:5 no new line character at the end of file"]
        );
        assert_eq!(
            problems("empty-lines: {max: 1, max-start: 0, max-end: 0}", "\na: 1\n\n\nb: 2\n\n"),
            [
                "1:1 too many blank lines (1 > 0)",
                "4:1 too many blank lines (2 > 1)",
                "6:1 too many blank lines (1 > 0)"
            ]
        );
        assert_eq!(
            problems("line-length: {max: 10}", "a: bcd efgh ijk\n# http://example.org/very/long\n"),
            ["1:11 line too long (15 > 10 characters)"]
        );
        assert_eq!(problems("new-lines: enable", "a: 1\r\n"), ["1:5 wrong new line character: expected \\n"]);
    }

    #[test]
    fn keys_and_values() {
        assert_eq!(
            problems("key-duplicates: enable", "a: 1\nb: {c: 1, c: 2}\na: 3\n<<: {}\n<<: {}\n"),
            ["2:11 duplication of key \"c\" in mapping", "3:1 duplication of key \"a\" in mapping"]
        );
        assert_eq!(
            problems("truthy: enable", "a: yes\non: 'yes'\nb: true\nc: !!str no\n"),
            [
                "1:4 truthy value should be one of [false, true]",
                "2:1 truthy value should be one of [false, true]",
            ]
        );
        assert_eq!(
            problems("empty-values: enable", "a:\nb: {c: , d: }\ne:\n  -\n  - 1\n  -\nf:\n"),
            [
                "1:3 empty value in block mapping",
                "2:7 empty value in flow mapping",
                "2:12 empty value in flow mapping",
                "4:4 empty value in block sequence",
                "6:4 empty value in block sequence",
                "7:3 empty value in block mapping",
            ]
        );
        assert_eq!(problems("empty-values: {forbid-in-block-mappings: false}", "a:\n"), [""; 0]);
        assert_eq!(problems("document-start: enable", "a: 1\n"), ["1:1 missing document start \"---\""]);
        assert_eq!(
            problems("document-start: {present: false}", "---\na: 1\n"),
            ["1:1 found forbidden document start \"---\""]
        );
    }

    #[test]
    fn indentation_is_consistent() {
        assert_eq!(
            problems(
                "indentation: {spaces: consistent, indent-sequences: whatever}",
                "a:\n  b:\n     c: 1\nd:\n- 1\n"
            ),
            ["3:6 wrong indentation: expected 4 but found 5"]
        );
        assert_eq!(
            problems("indentation: {spaces: 2, indent-sequences: true}", "a:\n- 1\nb:\n  - c:\n      d: 1\n"),
            ["2:1 wrong indentation: expected 2 but found 0"]
        );
    }

    #[test]
    fn text_that_is_no_yaml_is_a_problem() {
        assert_eq!(problems("", "a: [1\n").len(), 1);
        assert!(Config::read(b"rules: {colons: [1]}").is_err());
    }
}

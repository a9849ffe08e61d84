//! The pages for users as tests: their commands in order, and the output that they show.
//!
//! Fences of the kind `sh` have commands. Fences of the kind `console` have commands after `$ `, each followed by its output;
//! `…` stands for anything inside a line, and on a line of its own for any lines. A comment before a fence says what is special
//! about its commands:
//!
//! - `<!-- not run: REASON -->`: they are not run.
//! - `<!-- exit code N -->`: they exit with N.

use std::process::Output;

/// The exit code of a shell for a command that was killed.
const KILLED: i32 = 137;

/// Stands for anything.
const ANYTHING: char = '…';

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the page.
    pub line: usize,
    /// What is typed.
    pub command: String,
    /// The output, where the page shows it.
    pub shown: Option<Vec<String>>,
    /// The exit code that a comment names.
    pub code: i32,
    /// Why it is not run.
    pub skipped: Option<String>,
}

/// The commands of a page, in their order.
///
/// # Panics
/// For commands outside of fences, and output without a command.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut fence, mut code, mut skipped) = (None, 0, None);
    let mut continued = false;
    for (number, line) in page.lines().enumerate() {
        let step = |command: &str, shown| Step {
            line: number + 1,
            command: command.to_owned(),
            shown,
            code,
            skipped: skipped.clone(),
        };
        match (fence, line) {
            (Some(_), "```") => (fence, code, skipped) = (None, 0, None),
            (Some("sh"), line) if continued => {
                let last = steps.last_mut().expect("a command is continued");
                last.command = format!("{}\n{line}", last.command);
                continued = line.ends_with('\\');
            }
            (Some("sh"), line) if !line.is_empty() => {
                steps.push(step(line, None));
                continued = line.ends_with('\\');
            }
            (Some("console"), line) => match line.strip_prefix("$ ") {
                Some(command) => steps.push(step(command, Some(Vec::new()))),
                None => {
                    let last = steps.last_mut().and_then(|step| step.shown.as_mut());
                    last.expect("a command comes before its output").push(line.to_owned());
                }
            },
            (Some(_), line) => {
                assert!(!line.starts_with("$ "), "line {}: not in a console fence", number + 1)
            }
            (None, line) => {
                assert!(!is_indented_command(line), "line {}: a command without a fence: {line}", number + 1);
                if let Some(kind) = line.strip_prefix("```") {
                    fence = Some(kind);
                } else if let Some(reason) = comment(line, "not run: ") {
                    skipped = Some(reason.to_owned());
                } else if let Some(number) = comment(line, "exit code ") {
                    code = number.parse().expect("an exit code is a number");
                }
            }
        }
    }
    steps
}

/// What a comment says after a prefix.
fn comment<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(prefix)
}

/// Whether a line outside of fences is a command in an indented block, which nothing would run.
fn is_indented_command(line: &str) -> bool {
    let words = ["pintle ", "helm ", "irr ", "kubectl ", "$ "];
    line.strip_prefix("    ").is_some_and(|text| words.iter().any(|word| text.trim_start().starts_with(word)))
}

impl Step {
    /// The exit code that a reader of the page expects.
    fn code(&self) -> i32 {
        let prints = |word: &str| self.shown.iter().flatten().any(|line| line.starts_with(word));
        match self.code {
            0 if prints("Killed") => KILLED,
            0 if prints("error: ") || self.command.starts_with("diff ") => 1,
            code => code,
        }
    }

    /// Compares what the command did with the page.
    ///
    /// # Panics
    /// When it differs.
    pub fn check(&self, page: &str, output: &Output) {
        let printed = output_lines(output);
        let place = format!("{page}:{}: $ {}\noutput:\n{}", self.line, self.command, printed.join("\n"));
        // Without a shell in between, there is no code after a kill.
        assert_eq!(output.status.code().unwrap_or(KILLED), self.code(), "{place}");
        let Some(shown) = &self.shown else { return };
        let shown: Vec<&str> = shown.iter().map(String::as_str).filter(|line| *line != "Killed").collect();
        let printed: Vec<&str> = printed.iter().map(String::as_str).collect();
        assert!(
            lines_match(&trimmed(&shown), &trimmed(&printed)),
            "{place}\nbut the page shows:\n{}",
            shown.join("\n")
        );
    }
}

/// The output and the messages, without progress lines and what bash says about a killed command.
fn output_lines(output: &Output) -> Vec<String> {
    let is_left_out = |line: &&str| {
        let mut parts = line.splitn(3, ": ");
        let (object, state) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_progress = object.matches('/').count() == 2
            && ["InProgress", "Current", "Failed", "NotFound"].contains(&state);
        is_progress || line.contains(" Killed ")
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let messages = stderr.lines().filter(|line| !is_left_out(line));
    stdout.lines().chain(messages).map(|line| line.trim_end().to_owned()).collect()
}

/// The lines without empty ones at both ends.
fn trimmed<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let is_text = |line: &&str| !line.is_empty();
    let begin = lines.iter().position(is_text).unwrap_or(lines.len());
    let end = lines.iter().rposition(is_text).map_or(begin, |last| last + 1);
    lines[begin..end].to_vec()
}

fn lines_match(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.chars().eq([ANYTHING]) => {
            (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]))
        }
        Some((first, rest)) => match printed.split_first() {
            Some((line, more)) => line_matches(first, line) && lines_match(rest, more),
            None => false,
        },
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    let mut parts = shown.trim_end().split(ANYTHING);
    let Some(rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_parsed_and_compared_with_wildcards() {
        let page = "text\n```console\n$ a b\none\n$ c\n```\n<!-- exit code 2 -->\n```sh\nd \\\n  e\n```\n\
                    <!-- not run: no -->\n```sh\nf\n```\n```text\nno\n```\n```sh\ng\n```\n";
        let step = |line, command: &str, shown: Option<&[&str]>| Step {
            line,
            command: command.to_owned(),
            shown: shown.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
            code: 0,
            skipped: None,
        };
        let expected = [
            step(3, "a b", Some(&["one"])),
            step(5, "c", Some(&[])),
            Step { code: 2, ..step(9, "d \\\n  e", None) },
            Step { skipped: Some("no".to_owned()), ..step(14, "f", None) },
            step(20, "g", None),
        ];
        assert_eq!(steps(page), expected);
        assert_eq!(step(1, "x", Some(&["error: no"])).code(), 1);
        assert!(is_indented_command("    pintle list") && !is_indented_command("    text"));
        assert!(lines_match(&["a…c", "…", "end"], &["abbc", "x", "y", "end"]));
        assert!(lines_match(&["…", "end"], &["end"]));
        assert!(!lines_match(&["a"], &["a", "b"]) && !lines_match(&["a", "b"], &["a"]));
        assert!(!line_matches("a…c", "abd") && !line_matches("a", "ab") && line_matches("1…x…", "1 2 x"));
    }
}

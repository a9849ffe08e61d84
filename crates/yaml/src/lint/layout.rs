//! Rules about tokens: the space between them, keys, indentation.

use super::Checker;
use super::config::Rule;
use super::tokens::{Placed, Tokens};
use crate::read::Word;

/// Words that YAML 1.1 reads as booleans.
const TRUTHY: [&str; 18] = [
    "YES", "Yes", "yes", "NO", "No", "no", "TRUE", "True", "true", "FALSE", "False", "false", "ON", "On",
    "on", "OFF", "Off", "off",
];

/// The allowed number of spaces, and the messages for too few and too many.
struct Limits<'t> {
    min: i64,
    max: i64,
    few: &'t str,
    many: &'t str,
}

impl Checker<'_> {
    pub(super) fn check_layout(&mut self, tokens: &Tokens) {
        // Tokens without text are positions only.
        let visible: Vec<Placed> =
            tokens.tokens.iter().copied().filter(|token| token.end > token.start).collect();
        for (at, token) in visible.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &visible[at]);
            let after = visible.get(at + 1);
            match token.word {
                Word::FlowMappingStart | Word::FlowMappingEnd => self.check_brackets(
                    "braces",
                    (token, before, after),
                    (Word::FlowMappingStart, Word::FlowMappingEnd),
                ),
                Word::FlowSequenceStart | Word::FlowSequenceEnd => self.check_brackets(
                    "brackets",
                    (token, before, after),
                    (Word::FlowSequenceStart, Word::FlowSequenceEnd),
                ),
                Word::FlowEntry => self.check_comma(tokens, token, before, after),
                Word::Value => self.check_colon(token, before, after),
                Word::BlockEntry => {
                    if let Some(rule) = self.rule("hyphens") {
                        let max = rule.number("max-spaces-after", 1);
                        self.space_after(&rule, token, after, &many(max, "too many spaces after hyphen"));
                    }
                }
                _ => {}
            }
        }
        self.check_documents(tokens);
        self.check_keys(tokens);
        self.check_truthy(tokens);
        self.check_empty_values(tokens);
    }

    fn check_brackets(
        &mut self,
        name: &'static str,
        (token, before, after): (&Placed, Option<&Placed>, Option<&Placed>),
        (open, close): (Word, Word),
    ) {
        let Some(rule) = self.rule(name) else { return };
        let is_empty = token.word == open && after.is_some_and(|after| after.word == close);
        let forbidden =
            rule.switch("forbid", false) || (rule.word("forbid") == Some("non-empty") && !is_empty);
        if forbidden && token.word == open {
            let kind = if name == "braces" { "mapping" } else { "sequence" };
            self.report(&rule, token.line, token.column + 2, format!("forbidden flow {kind}"));
            return;
        }
        let (mut min, mut max) = (rule.number("min-spaces-inside", 0), rule.number("max-spaces-inside", 0));
        if is_empty {
            let limit = |option: &str, other: i64| match rule.number(option, -1) {
                -1 => other,
                limit => limit,
            };
            (min, max) = (limit("min-spaces-inside-empty", min), limit("max-spaces-inside-empty", max));
        }
        let empty = if is_empty { "empty " } else { "" };
        let (few, many) =
            (format!("too few spaces inside {empty}{name}"), format!("too many spaces inside {empty}{name}"));
        let limits = Limits { min, max, few: &few, many: &many };
        if token.word == open {
            self.space_after(&rule, token, after, &limits);
        } else if before.is_none_or(|before| before.word != open) {
            self.space_before(&rule, token, before, &limits);
        }
    }

    fn check_comma(
        &mut self,
        tokens: &Tokens,
        token: &Placed,
        before: Option<&Placed>,
        after: Option<&Placed>,
    ) {
        let Some(rule) = self.rule("commas") else { return };
        let max = rule.number("max-spaces-before", 0);
        let ends_above = before.is_some_and(|before| tokens.position(self.text, before.end).0 < token.line);
        if ends_above && max != -1 {
            self.report(&rule, token.line, token.column.max(1), "too many spaces before comma");
        } else {
            self.space_before(&rule, token, before, &many(max, "too many spaces before comma"));
        }
        let limits = Limits {
            min: rule.number("min-spaces-after", 1),
            max: rule.number("max-spaces-after", 1),
            few: "too few spaces after comma",
            many: "too many spaces after comma",
        };
        self.space_after(&rule, token, after, &limits);
    }

    fn check_colon(&mut self, token: &Placed, before: Option<&Placed>, after: Option<&Placed>) {
        let Some(rule) = self.rule("colons") else { return };
        // A blank is needed after an alias.
        if !before.is_some_and(|before| matches!(before.word, Word::Alias(_))) {
            let max = rule.number("max-spaces-before", 0);
            self.space_before(&rule, token, before, &many(max, "too many spaces before colon"));
        }
        let max = rule.number("max-spaces-after", 1);
        self.space_after(&rule, token, after, &many(max, "too many spaces after colon"));
    }

    fn space_after(&mut self, rule: &Rule<'_>, token: &Placed, after: Option<&Placed>, limits: &Limits<'_>) {
        let Some(after) = after.filter(|after| after.line == token.line) else { return };
        let spaces = (after.start - token.end) as i64;
        if limits.max != -1 && spaces > limits.max {
            // yamllint reports the last of too many spaces, but the token itself if there are too few.
            self.report(rule, token.line, after.column, limits.many);
        } else if limits.min != -1 && spaces < limits.min {
            self.report(rule, token.line, after.column + 1, limits.few);
        }
    }

    fn space_before(
        &mut self,
        rule: &Rule<'_>,
        token: &Placed,
        before: Option<&Placed>,
        limits: &Limits<'_>,
    ) {
        let Some(before) = before else { return };
        let Some(between) = self.text.get(before.end..token.start) else { return };
        if between.contains(&b'\n') {
            return;
        }
        let spaces = between.len() as i64;
        if limits.max != -1 && spaces > limits.max {
            self.report(rule, token.line, token.column, limits.many);
        } else if limits.min != -1 && spaces < limits.min {
            self.report(rule, token.line, token.column + 1, limits.few);
        }
    }

    fn check_documents(&mut self, tokens: &Tokens) {
        if let Some(rule) = self.rule("document-start") {
            let present = rule.switch("present", true);
            for pair in tokens.tokens.windows(2) {
                let begins = matches!(pair[0].word, Word::StreamStart | Word::DocumentEnd);
                let marked = matches!(
                    pair[1].word,
                    Word::DocumentStart | Word::VersionDirective { .. } | Word::TagDirective { .. }
                );
                if present && begins && !marked {
                    self.report(&rule, pair[1].line, 1, "missing document start \"---\"");
                } else if !present && pair[1].word == Word::DocumentStart {
                    self.report(&rule, pair[1].line, 1, "found forbidden document start \"---\"");
                }
            }
        }
        if let Some(rule) = self.rule("document-end") {
            let ends: Vec<usize> = tokens
                .tokens
                .iter()
                .filter(|token| token.word == Word::DocumentEnd)
                .map(|token| token.line)
                .collect();
            if !rule.switch("present", true) {
                for line in ends {
                    self.report(&rule, line, 1, "found forbidden document end \"...\"");
                }
            } else if ends.is_empty() {
                let line = tokens.position(self.text, self.text.len().saturating_sub(1)).0;
                self.report(&rule, line, 1, "missing document end \"...\"");
            }
        }
    }

    fn check_keys(&mut self, tokens: &Tokens) {
        let Some(rule) = self.rule("key-duplicates") else { return };
        let forbid_merge = rule.switch("forbid-duplicated-merge-keys", false);
        let mut open: Vec<Option<Vec<&[u8]>>> = Vec::new();
        for pair in tokens.tokens.windows(2) {
            match pair[0].word {
                Word::BlockMappingStart | Word::FlowMappingStart => open.push(Some(Vec::new())),
                Word::BlockSequenceStart | Word::FlowSequenceStart => open.push(None),
                Word::BlockEnd | Word::FlowMappingEnd | Word::FlowSequenceEnd => {
                    open.pop();
                }
                Word::Key => {
                    let Some((text, _)) = tokens.scalar(&pair[1]) else { continue };
                    let Some(Some(keys)) = open.last_mut() else { continue };
                    if !keys.contains(&text) {
                        keys.push(text);
                    } else if text != b"<<" || forbid_merge {
                        let text = String::from_utf8_lossy(text);
                        let message = format!("duplication of key \"{text}\" in mapping");
                        self.report(&rule, pair[1].line, pair[1].column + 1, message);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_truthy(&mut self, tokens: &Tokens) {
        let Some(rule) = self.rule("truthy") else { return };
        let mut allowed =
            rule.list("allowed-values").unwrap_or_else(|| vec!["true".to_owned(), "false".to_owned()]);
        allowed.sort();
        let check_keys = rule.switch("check-keys", true);
        for pair in tokens.tokens.windows(2) {
            let Some((text, true)) = tokens.scalar(&pair[1]) else { continue };
            let is_key = pair[0].word == Word::Key;
            let word = String::from_utf8_lossy(text);
            let bad = TRUTHY.contains(&word.as_ref()) && !allowed.iter().any(|allowed| *allowed == word);
            if bad && !matches!(pair[0].word, Word::Tag { .. }) && (check_keys || !is_key) {
                let message = format!("truthy value should be one of [{}]", allowed.join(", "));
                self.report(&rule, pair[1].line, pair[1].column + 1, message);
            }
        }
    }

    fn check_empty_values(&mut self, tokens: &Tokens) {
        let Some(rule) = self.rule("empty-values") else { return };
        for pair in tokens.tokens.windows(2) {
            let kind = match (pair[0].word, pair[1].word) {
                (Word::Value, Word::Key | Word::BlockEnd) => "block-mapping",
                (Word::Value, Word::FlowEntry | Word::FlowMappingEnd) => "flow-mapping",
                (Word::BlockEntry, Word::Key | Word::BlockEnd | Word::BlockEntry) => "block-sequence",
                _ => continue,
            };
            if rule.switch(&format!("forbid-in-{kind}s"), true) {
                let message = format!("empty value in {}", kind.replace('-', " "));
                self.report(&rule, pair[0].line, pair[0].column + 2, message);
            }
        }
    }

    /// Each block is indented by the same number of blanks from the one around it.
    pub(super) fn check_indentation(&mut self, tokens: &Tokens) {
        let Some(rule) = self.rule("indentation") else { return };
        let mut step = match rule.number("spaces", -1) {
            -1 => None,
            number => Some(number as usize),
        };
        let sequences = rule.word("indent-sequences").map(str::to_owned);
        let indent_sequences = rule.switch("indent-sequences", true);
        // The columns of open blocks.
        let mut open: Vec<usize> = Vec::new();
        let mut last_line = 0;
        for (at, token) in tokens.tokens.iter().enumerate() {
            let first = tokens.tokens.get(at + 1).filter(|_| token.line > last_line);
            match token.word {
                Word::BlockMappingStart | Word::BlockSequenceStart => {
                    if let (Some(&parent), Some(_)) = (open.last(), first) {
                        let is_list = token.word == Word::BlockSequenceStart;
                        let found = token.column.saturating_sub(parent);
                        let free = is_list && (sequences.as_deref() == Some("whatever") || !indent_sequences);
                        let expected = *step.get_or_insert(if found == 0 { 2 } else { found });
                        if found != expected && !(free && found == 0) {
                            let (expected, found) = (parent + expected, token.column);
                            let message = format!("wrong indentation: expected {expected} but found {found}");
                            self.report(&rule, token.line, token.column + 1, message);
                        }
                    }
                    open.push(token.column);
                }
                Word::FlowMappingStart | Word::FlowSequenceStart => {
                    open.push(open.last().copied().unwrap_or(0))
                }
                Word::BlockEnd | Word::FlowMappingEnd | Word::FlowSequenceEnd => {
                    open.pop();
                }
                // A list that is not indented under its key has no token of its own.
                Word::BlockEntry if first.is_some() => {
                    let is_free = sequences.as_deref() == Some("whatever") || !indent_sequences;
                    let after_key = at > 0 && tokens.tokens[at - 1].word == Word::Value;
                    if after_key && !is_free && sequences.is_none() {
                        let expected = token.column + *step.get_or_insert(2);
                        let message =
                            format!("wrong indentation: expected {expected} but found {}", token.column);
                        self.report(&rule, token.line, token.column + 1, message);
                    }
                }
                _ => {}
            }
            if token.end > token.start {
                last_line = token.line;
            }
        }
    }
}

fn many(max: i64, text: &str) -> Limits<'_> {
    Limits { min: -1, max, few: "", many: text }
}

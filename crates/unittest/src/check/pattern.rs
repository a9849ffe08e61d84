//! `matchRegex` and `matchRegexRaw`.

use pintle_regex::Regex;
use pintle_tree::Node;

use super::equal::decode;
use super::{Context, Verdict, each_document, each_value, raw_text};
use crate::fail::{self, Info, uniform, yaml};
use crate::mapstructure::Fields;
use crate::path::Path;

/// A regular expression, or why it is invalid.
#[derive(Debug)]
struct Pattern {
    text: String,
    regex: Result<Regex, String>,
}

impl Pattern {
    fn new(text: String) -> Self {
        let regex = Regex::compile(&text).map_err(|error| error.to_string());
        Pattern { text, regex }
    }

    fn missing(&self) -> Option<Verdict> {
        let info = || fail::error(None, None, "expected field 'pattern' to be filled");
        self.text.is_empty().then(|| (false, info()))
    }
}

#[derive(Debug)]
pub(crate) struct MatchRegex {
    path: Path,
    pattern: Pattern,
    decode_base64: bool,
}

impl MatchRegex {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        MatchRegex {
            path: Path::new(&fields.str("path")),
            pattern: Pattern::new(fields.str("pattern")),
            decode_base64: fields.bool("decodeBase64"),
        }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        if let Some(verdict) = self.pattern.missing() {
            return verdict;
        }
        let negative = context.negative;
        each_document(
            context,
            |context, index, document| {
                if let Err(error) = self.path.find(document) {
                    return (false, fail::error(Some(index), None, &error));
                }
                let regex = match &self.pattern.regex {
                    Ok(regex) => regex,
                    Err(error) => return (false, fail::error(None, None, error)),
                };
                each_value(context, index, document, &self.path, false, |_, at, value| {
                    let (passed, info) = self.check(regex, negative, index, at, value);
                    (Some(passed), info)
                })
            },
            || self.info("no manifest found", None, None, negative),
        )
    }

    fn check(&self, regex: &Regex, negative: bool, index: usize, at: usize, value: &Node) -> Verdict {
        let Node::Str(text) = value else {
            let text = format!("expect '{}' to be a string, got:\n{}", self.path.text(), yaml(value));
            return (false, fail::error(Some(index), Some(at), &text));
        };
        let mut text = text.to_string();
        if self.decode_base64 {
            match decode(text.as_bytes()) {
                Some(decoded) => text = String::from_utf8_lossy(&decoded).into_owned(),
                None => {
                    let text = format!("unable to decode base64 expected content {text}");
                    return (false, fail::error(Some(index), Some(at), &text));
                }
            }
        }
        if regex.is_match(text.as_bytes()) == negative {
            (false, self.info(&text, Some(index), Some(at), negative))
        } else {
            (true, Info::new())
        }
    }

    fn info(&self, actual: &str, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let format = fail::format(negative, true, true, false, " to match");
        fail::lines(&format, index, at, &[self.path.text(), &self.pattern.text, actual])
    }
}

#[derive(Debug)]
pub(crate) struct MatchRegexRaw {
    pattern: Pattern,
}

impl MatchRegexRaw {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        MatchRegexRaw { pattern: Pattern::new(fields.str("pattern")) }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        if let Some(verdict) = self.pattern.missing() {
            return verdict;
        }
        let negative = context.negative;
        let regex = match &self.pattern.regex {
            Ok(regex) => Some(regex),
            Err(error) if !context.selected.is_empty() => return (false, fail::error(None, None, error)),
            Err(_) => None,
        };
        each_document(
            context,
            |_, _, document| {
                let actual = uniform(&raw_text(document));
                if regex.is_some_and(|regex| regex.is_match(actual.as_bytes()) == negative) {
                    (false, self.info(&actual, negative))
                } else {
                    (true, Info::new())
                }
            },
            || self.info("no manifest found", negative),
        )
    }

    fn info(&self, actual: &str, negative: bool) -> Info {
        let format = fail::format(negative, false, true, false, " to match");
        fail::lines(&format, None, None, &[&self.pattern.text, actual])
    }
}

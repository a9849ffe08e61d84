//! `failedTemplate`: the chart must not render, for this reason.

use pintle_regex::{Regex, quote_meta};
use pintle_tree::Node;

use super::{Context, Verdict};
use crate::fail::{self, Info};
use crate::mapstructure::Fields;

#[derive(Debug)]
pub(crate) struct FailedTemplate {
    message: String,
    pattern: String,
}

impl FailedTemplate {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        FailedTemplate { message: fields.str("errorMessage"), pattern: fields.str("errorPattern") }
    }

    pub(super) fn validate(&self, context: &Context<'_, '_>) -> Verdict {
        if !self.message.is_empty() && !self.pattern.is_empty() {
            let text = "single attribute 'errorMessage' or 'errorPattern' supported at the same time";
            return (false, fail::error(None, None, text));
        }
        match context.render_error {
            Some(error) if !self.pattern.is_empty() => self.matches(Some(error), None, context.negative),
            Some(error) if !self.message.is_empty() => self.equals(Some(error), None, context.negative),
            Some(_) => (true, Info::new()),
            None => self.documents(context),
        }
    }

    fn documents(&self, context: &Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        if context.selected.is_empty() && !negative {
            return (false, self.info("No failed document", None, negative));
        }
        let (mut passed, mut info) = (true, Info::new());
        for (index, document) in context.selected.iter().enumerate() {
            let actual = document.get("raw").and_then(Node::as_str);
            let (document_passed, mut lines) = if !self.pattern.is_empty() {
                self.matches(actual, Some(index), negative)
            } else if !self.message.is_empty() {
                self.equals(actual, Some(index), negative)
            } else {
                (true, Info::new())
            };
            info.append(&mut lines);
            passed &= document_passed;
            if !passed && context.fail_fast {
                break;
            }
        }
        (passed, info)
    }

    /// Tries the pattern, and if it does not match, its text.
    fn matches(&self, actual: Option<&str>, index: Option<usize>, negative: bool) -> Verdict {
        let literal = || Regex::compile(quote_meta(self.pattern.as_bytes()));
        let regex = match Regex::compile(&self.pattern).or_else(|_| literal()) {
            Ok(regex) => regex,
            Err(error) => return (false, fail::error(None, None, &error.to_string())),
        };
        let Some(actual) = actual else { return (true, Info::new()) };
        let fails = |regex: &Regex| regex.is_match(actual.as_bytes()) == negative;
        if !fails(&regex) {
            return (true, Info::new());
        }
        let special =
            self.pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$']);
        if special && literal().is_ok_and(|regex| !fails(&regex)) {
            return (true, Info::new());
        }
        (false, self.info(actual, index, negative))
    }

    fn equals(&self, actual: Option<&str>, index: Option<usize>, negative: bool) -> Verdict {
        if (actual == Some(&self.message)) == negative {
            return (false, self.info(actual.unwrap_or("%!s(<nil>)"), index, negative));
        }
        (true, Info::new())
    }

    fn info(&self, actual: &str, index: Option<usize>, negative: bool) -> Info {
        let text = if self.pattern.is_empty() { " to equal" } else { " to match" };
        let message = if self.message.is_empty() { &self.pattern } else { &self.message };
        let format = fail::format(negative, false, !negative, false, text);
        fail::lines(&format, index, None, &[message, actual])
    }
}

//! `greaterOrEqual` and `lessOrEqual`.

use std::cmp::Ordering;

use pintle_tree::Node;
use pintle_tree::number::format_value;

use super::{Context, Verdict, each_document, each_value};
use crate::fail::{self, Info};
use crate::mapstructure::{Fields, kind};
use crate::path::Path;

#[derive(Debug)]
pub(crate) struct Compare {
    path: Path,
    value: Node,
    /// Whether this is `greaterOrEqual`.
    greater: bool,
}

impl Compare {
    pub(super) fn read(fields: &mut Fields<'_>, greater: bool) -> Self {
        Compare { path: Path::new(&fields.str("path")), value: fields.any("value"), greater }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_document(
            context,
            |context, index, document| {
                each_value(context, index, document, &self.path, true, |context, at, value| {
                    self.check(context, index, at, value)
                })
            },
            || self.info("no manifests found", None, None, negative),
        )
    }

    fn check(
        &self,
        context: &Context<'_, '_>,
        index: usize,
        at: usize,
        actual: &Node,
    ) -> (Option<bool>, Info) {
        let (actual_kind, kind) = (type_name(actual), type_name(&self.value));
        if actual_kind != kind {
            let text = format!("actual '{actual_kind}' and expected '{kind}' types do not match");
            return (None, fail::error(Some(index), Some(at), &text));
        }
        let order = match (actual, &self.value) {
            (Node::Str(actual), Node::Str(expected)) => actual.cmp(expected),
            (Node::Int(actual), Node::Int(expected)) => actual.cmp(expected),
            (Node::Float(actual), Node::Float(expected)) => {
                actual.partial_cmp(expected).unwrap_or(Ordering::Less)
            }
            _ => {
                let text = format!("unsupported type '{kind}'");
                return (Some(false), self.info(&text, Some(index), Some(at), context.negative));
            }
        };
        let holds = if self.greater { order.is_ge() } else { order.is_le() };
        // By a slip of operator precedence helm-unittest accepts every value for `notGreaterOrEqual`.
        let slip = context.quirks && self.greater && context.negative;
        if holds != context.negative || slip {
            return (Some(true), Info::new());
        }
        let text = format!(
            "the actual '{}' is not {} or equal to the expected '{}'",
            shown(actual),
            self.word(),
            shown(&self.value)
        );
        (Some(false), self.info(&text, Some(index), Some(at), context.negative))
    }

    fn word(&self) -> &'static str {
        if self.greater { "greater" } else { "less" }
    }

    fn info(&self, text: &str, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let format = fail::format(
            negative,
            true,
            false,
            false,
            &format!(" to be {} then or equal to, got", self.word()),
        );
        fail::lines(&format, index, at, &[self.path.text(), text])
    }
}

/// Go's name of the type; of nil it is what `%s` prints.
fn type_name(node: &Node) -> &'static str {
    if node.is_nil() { "%!s(<nil>)" } else { kind(node) }
}

fn shown(node: &Node) -> String {
    match node {
        Node::Float(value) => format_value(*value),
        Node::Int(value) => value.to_string(),
        other => other.as_text().map(ToString::to_string).unwrap_or_default(),
    }
}

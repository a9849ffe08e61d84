//! `equal` and `equalRaw`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::{Map, Node, Str};

use super::{Context, Verdict, each_document, each_value_of_documents, raw_text};
use crate::diff::unified;
use crate::fail::{self, Info, uniform, yaml};
use crate::mapstructure::Fields;
use crate::path::Path;

#[derive(Debug)]
pub(crate) struct Equal {
    path: Path,
    value: Node,
    decode_base64: bool,
}

impl Equal {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        Equal {
            path: Path::new(&fields.str("path")),
            value: fields.any("value"),
            decode_base64: fields.bool("decodeBase64"),
        }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_value_of_documents(
            context,
            &self.path,
            |value, index, at| self.check(negative, index, at, value),
            || self.info(&Node::from("no manifest found"), None, None, negative),
        )
    }

    fn check(&self, negative: bool, index: usize, at: usize, value: &Node) -> Verdict {
        let value = match value {
            Node::Str(text) if self.decode_base64 => match decode(text) {
                Some(bytes) => match std::str::from_utf8(&bytes) {
                    Ok(text) => Node::from(uniform(text)),
                    Err(_) => Node::Str(Str::new(&bytes)),
                },
                None => {
                    let text = format!("unable to decode base64 expected content {text}");
                    return (false, fail::error(Some(index), Some(at), &text));
                }
            },
            other => normalized(other),
        };
        if (self.value == value) == negative {
            return (false, self.info(&value, Some(index), Some(at), negative));
        }
        (true, Info::new())
    }

    fn info(&self, actual: &Node, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let expected = yaml(&self.value);
        let format = fail::format(negative, true, !negative, !negative, " to equal");
        let actual = yaml(actual);
        let diff = if negative { String::new() } else { unified(&expected, &actual) };
        fail::lines(&format, index, at, &[self.path.text(), &expected, &actual, &diff])
    }
}

/// The decoded text, if it is valid Base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    STANDARD.decode(text).ok()
}

/// The value with all strings made uniform.
fn normalized(value: &Node) -> Node {
    match value {
        Node::Str(text) => match text.as_str() {
            Some(text) if text.contains('\n') => Node::from(uniform(text)),
            _ => value.clone(),
        },
        Node::List(items) => Node::List(items.iter().map(normalized).collect()),
        Node::Map(map) => {
            Node::Map(map.iter().map(|(key, value)| (key.clone(), normalized(value))).collect::<Map<Node>>())
        }
        other => other.clone(),
    }
}

#[derive(Debug)]
pub(crate) struct EqualRaw {
    value: String,
}

impl EqualRaw {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        EqualRaw { value: fields.str("value") }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_document(
            context,
            |_, _, document| {
                let actual = uniform(&raw_text(document));
                if (self.value == actual) == negative {
                    (false, self.info(&actual, negative))
                } else {
                    (true, Info::new())
                }
            },
            || self.info("no manifest found", negative),
        )
    }

    fn info(&self, actual: &str, negative: bool) -> Info {
        let (expected, actual) = (yaml(&Node::from(self.value.as_str())), yaml(&Node::from(actual)));
        let diff = if negative { String::new() } else { unified(&expected, &actual) };
        let format = fail::format(negative, false, !negative, !negative, " to equal");
        fail::lines(&format, None, None, &[&expected, &actual, &diff])
    }
}

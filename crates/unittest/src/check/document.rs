//! Checks on whole documents: `isKind`, `isAPIVersion`, `hasDocuments` and `containsDocument`.

use pintle_tree::Node;

use super::{Context, Verdict, each_document};
use crate::fail::{self, Info, yaml};
use crate::mapstructure::Fields;

#[derive(Debug)]
pub(crate) struct Is {
    of: String,
}

impl Is {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        Is { of: fields.str("of") }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>, key: &str, text: &str) -> Verdict {
        let negative = context.negative;
        each_document(
            context,
            |_, index, document| {
                let actual = document.get(key).unwrap_or(&Node::Nil);
                if (actual.as_str() == Some(&self.of)) == negative {
                    (false, self.info(actual, Some(index), negative, text))
                } else {
                    (true, Info::new())
                }
            },
            || self.info(&Node::from("no manifest found"), None, negative, text),
        )
    }

    fn info(&self, actual: &Node, index: Option<usize>, negative: bool, text: &str) -> Info {
        let format = fail::format(negative, false, !negative, false, text);
        fail::lines(&format, index, None, &[&self.of, &yaml(actual)])
    }
}

#[derive(Debug)]
pub(crate) struct HasDocuments {
    count: i64,
    filter_aware: bool,
}

impl HasDocuments {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        HasDocuments { count: fields.int("count").unwrap_or(0), filter_aware: fields.bool("filterAware") }
    }

    pub(super) fn validate(&self, context: &Context<'_, '_>) -> Verdict {
        let documents = if self.filter_aware { context.selected } else { context.documents };
        if (documents.len() as i64 == self.count) != context.negative {
            return (true, Info::new());
        }
        let format =
            fail::format(context.negative, false, !context.negative, false, " documents count to be");
        let (expected, actual) = (self.count.to_string(), documents.len().to_string());
        (false, fail::lines(&format, None, None, &[&expected, &actual]))
    }
}

#[derive(Debug)]
pub(crate) struct ContainsDocument {
    kind: String,
    api_version: String,
    name: String,
    namespace: String,
    any: bool,
}

impl ContainsDocument {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        ContainsDocument {
            kind: fields.str("kind"),
            api_version: fields.str("apiVersion"),
            name: fields.str("name"),
            namespace: fields.str("namespace"),
            any: fields.bool("any"),
        }
    }

    pub(super) fn validate(&self, context: &Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        if context.selected.is_empty() {
            return if negative { (true, Info::new()) } else { (false, self.info(0, negative)) };
        }
        let (mut passed, mut info) = (false, Info::new());
        for (index, document) in context.selected.iter().enumerate() {
            let matches = self.matches(document) != negative;
            if !matches {
                info.append(&mut self.info(index, negative));
                if context.fail_fast {
                    return (false, info);
                }
            } else if self.any != negative {
                // One document is enough.
                return (true, Info::new());
            }
            passed = matches && (index == 0 || passed);
        }
        (passed, info)
    }

    fn matches(&self, document: &Node) -> bool {
        // A document without a kind or an API version is not excluded by these.
        let is = |key: &str, expected: &str| {
            document.get(key).and_then(Node::as_str).is_none_or(|actual| actual == expected)
        };
        let metadata = |key: &str, expected: &str| {
            let actual = document.get("metadata").and_then(|metadata| metadata.get(key));
            expected.is_empty() || actual.and_then(Node::as_str) == Some(expected)
        };
        is("kind", &self.kind)
            && is("apiVersion", &self.api_version)
            && metadata("name", &self.name)
            && metadata("namespace", &self.namespace)
    }

    fn info(&self, index: usize, negative: bool) -> Info {
        let mut text = format!("Kind = {}, apiVersion = {}", self.kind, self.api_version);
        for (label, value) in [("Name", &self.name), ("Namespace", &self.namespace)] {
            if !value.is_empty() {
                text.push_str(&format!(", {label} = {value}"));
            }
        }
        let format = fail::format(negative, false, false, false, " to contain document");
        fail::lines(&format, Some(index), None, &[&text])
    }
}

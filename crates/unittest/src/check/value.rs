//! Checks on the value at a path: `exists`, `isNullOrEmpty` and `isType`.

use pintle_tree::Node;

use super::{Context, Verdict, each_document, each_value_of_documents};
use crate::fail::{self, Info, yaml};
use crate::mapstructure::{Fields, kind};
use crate::path::Path;

#[derive(Debug)]
pub(crate) struct Exists {
    path: Path,
}

impl Exists {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        Exists { path: Path::new(&fields.str("path")) }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_document(
            context,
            |_, index, document| match self.path.find(document) {
                Err(error) => (false, fail::error(Some(index), None, &error)),
                Ok(found) if found.is_empty() != negative => (false, self.info(Some(index), negative)),
                Ok(_) => (true, Info::new()),
            },
            || self.info(None, negative),
        )
    }

    fn info(&self, index: Option<usize>, negative: bool) -> Info {
        let not = if negative { "NOT " } else { "" };
        fail::lines(&format!("Path:%s expected to {not}exists"), index, None, &[self.path.text()])
    }
}

#[derive(Debug)]
pub(crate) struct IsNullOrEmpty {
    path: Path,
}

impl IsNullOrEmpty {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        IsNullOrEmpty { path: Path::new(&fields.str("path")) }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_value_of_documents(
            context,
            &self.path,
            |value, index, at| match is_empty(value) == negative {
                true => (false, self.info(value, Some(index), Some(at), negative)),
                false => (true, Info::new()),
            },
            || self.info(&Node::from("no manifest found"), None, None, negative),
        )
    }

    fn info(&self, actual: &Node, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let format = fail::format(negative, true, false, false, " to be null or empty, got");
        fail::lines(&format, index, at, &[self.path.text(), &yaml(actual)])
    }
}

fn is_empty(value: &Node) -> bool {
    match value {
        Node::Nil | Node::Bool(false) | Node::Int(0) => true,
        Node::Float(value) => *value == 0.0,
        Node::Str(text) => text.is_empty(),
        Node::List(items) => items.is_empty(),
        Node::Map(map) => map.is_empty(),
        Node::Bool(true) | Node::Int(_) => false,
    }
}

#[derive(Debug)]
pub(crate) struct IsType {
    path: Path,
    kind: String,
}

impl IsType {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        IsType { path: Path::new(&fields.str("path")), kind: fields.str("type") }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_value_of_documents(
            context,
            &self.path,
            |value, index, at| match (kind(value) == self.kind) == negative {
                true => (false, self.info(kind(value), Some(index), Some(at), negative)),
                false => (true, Info::new()),
            },
            || self.info("no manifest found", None, None, negative),
        )
    }

    fn info(&self, actual: &str, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let format = fail::format(negative, true, true, false, " to be of type");
        fail::lines(&format, index, at, &[self.path.text(), &self.kind, actual])
    }
}

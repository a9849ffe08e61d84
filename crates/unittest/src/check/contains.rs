//! `contains` and `isSubset`.

use pintle_tree::{Map, Node};

use super::{Context, Verdict, each_value_of_documents};
use crate::fail::{self, Info, yaml};
use crate::mapstructure::Fields;
use crate::path::Path;

/// Whether a map has all these keys with equal values; a key that is missing equals null.
fn is_subset(map: &Map<Node>, subset: &Map<Node>) -> bool {
    subset.iter().all(|(key, value)| map.get(key).unwrap_or(&Node::Nil) == value)
}

#[derive(Debug)]
pub(crate) struct Contains {
    path: Path,
    content: Node,
    count: Option<i64>,
    any: bool,
}

impl Contains {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        Contains {
            path: Path::new(&fields.str("path")),
            content: fields.any("content"),
            count: fields.int("count"),
            any: fields.bool("any"),
        }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let negative = context.negative;
        each_value_of_documents(
            context,
            &self.path,
            |value, index, at| self.check(negative, index, at, value),
            || self.info(&Node::from("no manifest found"), Some(0), None, negative),
        )
    }

    fn check(&self, negative: bool, index: usize, at: usize, value: &Node) -> Verdict {
        let Node::List(items) = value else {
            let text = format!("expect '{}' to be an array, got:\n{}", self.path.text(), yaml(value));
            return (false, fail::error(Some(index), Some(at), &text));
        };
        let found = items.iter().filter(|item| self.matches(item)).count();
        let Some(count) = self.count else {
            let passed = (found > 0) != negative;
            let info = if passed { Info::new() } else { self.info(value, Some(index), Some(at), negative) };
            return (passed, info);
        };
        if (found > 0 && count == found as i64) != negative {
            return (true, Info::new());
        }
        if found == 0 {
            return (false, self.info(value, Some(index), Some(at), negative));
        }
        let text = format!(
            "expect count {count} in '{}' to be in array, got {found}:\n{}",
            self.path.text(),
            yaml(value)
        );
        (false, fail::error(Some(index), Some(at), &text))
    }

    fn matches(&self, item: &Node) -> bool {
        match (item, &self.content) {
            (Node::Map(item), Node::Map(content)) if self.any => is_subset(item, content),
            (item, content) => item == content,
        }
    }

    fn info(&self, actual: &Node, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let expected = yaml(&Node::List(vec![self.content.clone()]));
        let format = fail::format(negative, true, true, false, " to contain");
        fail::lines(&format, index, at, &[self.path.text(), &expected, &yaml(actual)])
    }
}

#[derive(Debug)]
pub(crate) struct IsSubset {
    path: Path,
    content: Node,
}

impl IsSubset {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        IsSubset { path: Path::new(&fields.str("path")), content: fields.any("content") }
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
        match (value, &self.content) {
            (Node::Map(map), Node::Map(subset)) if is_subset(map, subset) != negative => (true, Info::new()),
            (Node::Map(_), Node::Map(_)) => (false, self.info(value, Some(index), Some(at), negative)),
            _ => {
                let text = format!("expect '{}' to be an object, got:\n{}", self.path.text(), yaml(value));
                (false, fail::error(Some(index), Some(at), &text))
            }
        }
    }

    fn info(&self, actual: &Node, index: Option<usize>, at: Option<usize>, negative: bool) -> Info {
        let format = fail::format(negative, true, true, false, " to contain");
        fail::lines(&format, index, at, &[self.path.text(), &yaml(&self.content), &yaml(actual)])
    }
}

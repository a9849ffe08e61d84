//! Paths into documents: the JSONPath dialect of helm-unittest/yaml-jsonpath 0.4, in which the leading `$` is optional.

mod filter;
mod parse;
mod subscript;

use std::borrow::Cow;

use filter::Filter;
use pintle_tree::{Map, Node, Str, natural_order};
use subscript::Subscript;

/// A path, or why it is invalid. Suites with invalid paths run; only the assertions on them fail.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    text: String,
    steps: Result<Vec<Step>, String>,
}

/// One step from a list of nodes to the next list.
#[derive(Clone, Debug)]
enum Step {
    /// The value under a key.
    Child(Str),
    /// All values of a map or a list.
    Children,
    /// The values under several keys.
    Names(Vec<Str>),
    /// Items of a list.
    Subscript(Subscript),
    /// A key itself.
    Key(Str),
    /// Several keys themselves.
    Keys(Vec<Str>),
    /// All keys of a map.
    AllKeys,
    /// A node and everything below it.
    Descend,
    /// The items of a list, or another node, that a filter accepts.
    Filter(Filter),
    /// The nodes themselves that a filter accepts, after [`Step::Descend`].
    FilterEach(Filter),
}

/// A node that was found. Only keys are owned.
pub(crate) type Found<'a> = Cow<'a, Node>;

impl Path {
    pub(crate) fn new(text: &str) -> Self {
        Path { text: text.to_owned(), steps: parse::parse(text) }
    }

    /// The path as written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns all nodes that the path leads to. The empty path leads to the document itself.
    ///
    /// # Errors
    /// When the path is malformed.
    pub(crate) fn find<'a>(&self, document: &'a Node) -> Result<Vec<Found<'a>>, String> {
        if self.text.is_empty() {
            return Ok(vec![Cow::Borrowed(document)]);
        }
        let steps = self.steps.as_ref().map_err(String::clone)?;
        Ok(follow(steps, Cow::Borrowed(document), document))
    }
}

/// Follows steps from one node.
fn follow<'a>(steps: &[Step], from: Found<'a>, root: &'a Node) -> Vec<Found<'a>> {
    let mut nodes = vec![from];
    for step in steps {
        let mut next = Vec::new();
        for node in nodes {
            step.apply(node, root, &mut next);
        }
        nodes = next;
    }
    nodes
}

impl Step {
    fn apply<'a>(&self, node: Found<'a>, root: &'a Node, into: &mut Vec<Found<'a>>) {
        // Owned nodes are keys, which are scalars.
        let borrowed = match &node {
            Cow::Borrowed(node) => Some(*node),
            Cow::Owned(_) => None,
        };
        let map = borrowed.and_then(Node::as_map);
        match self {
            Step::Child(name) => into.extend(map.and_then(|map| map.get(name)).map(Cow::Borrowed)),
            Step::Children => children(borrowed, into),
            Step::Names(names) => {
                into.extend(names.iter().filter_map(|name| map?.get(name)).map(Cow::Borrowed));
            }
            Step::Subscript(subscript) => match borrowed {
                Some(Node::Map(_)) if subscript.is_all() => children(borrowed, into),
                Some(Node::List(items)) => {
                    into.extend(
                        subscript.indices(items.len()).into_iter().map(|at| Cow::Borrowed(&items[at])),
                    );
                }
                _ => {}
            },
            Step::Key(name) => into.extend(map.and_then(|map| key(map, name))),
            Step::Keys(names) => into.extend(names.iter().filter_map(|name| key(map?, name))),
            Step::AllKeys => {
                if let Some(map) = map {
                    into.extend(in_order(map).into_iter().map(|(key, _)| Cow::Owned(Node::Str(key.clone()))));
                }
            }
            Step::Descend => descend(node, into),
            Step::Filter(filter) => match borrowed {
                Some(Node::List(items)) => into.extend(
                    items.iter().map(Cow::Borrowed).filter(|item: &Found<'a>| filter.accepts(item, root)),
                ),
                _ => into.extend(filter.accepts(&node, root).then_some(node)),
            },
            Step::FilterEach(filter) => into.extend(filter.accepts(&node, root).then_some(node)),
        }
    }
}

fn key<'a>(map: &Map<Node>, name: &Str) -> Option<Found<'a>> {
    map.contains_key(name).then(|| Cow::Owned(Node::Str(name.clone())))
}

/// The entries of a map in the order in which go-yaml writes them.
fn in_order(map: &Map<Node>) -> Vec<(&Str, &Node)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| natural_order(a.0.as_bytes(), b.0.as_bytes()));
    entries
}

fn children<'a>(node: Option<&'a Node>, into: &mut Vec<Found<'a>>) {
    match node {
        Some(Node::Map(map)) => {
            into.extend(in_order(map).into_iter().map(|(_, node)| Cow::Borrowed(node)));
        }
        Some(Node::List(items)) => into.extend(items.iter().map(Cow::Borrowed)),
        _ => {}
    }
}

/// Everything below a node, keys included, and then the node.
fn descend<'a>(node: Found<'a>, into: &mut Vec<Found<'a>>) {
    let below = match &node {
        Cow::Borrowed(node) => Some(*node),
        Cow::Owned(_) => None,
    };
    pintle_tree::with_stack(|| match below {
        Some(Node::Map(map)) => {
            for (key, node) in in_order(map) {
                into.push(Cow::Owned(Node::Str(key.clone())));
                descend(Cow::Borrowed(node), into);
            }
        }
        Some(Node::List(items)) => items.iter().for_each(|item| descend(Cow::Borrowed(item), into)),
        _ => {}
    });
    into.push(node);
}

#[cfg(test)]
mod tests;

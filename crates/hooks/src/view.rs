//! Read access to objects, whether trees or text, so that the logic of hooks exists once.

use std::borrow::Cow;

use pintle_objects::Object;
use pintle_tree::{Map, Node};
use pintle_yaml::outline::{Kind, NodeRef};

/// A node of an object.
pub(crate) trait View<'v>: Copy {
    /// The value of a key.
    fn get(self, key: &str) -> Option<Self>;
    /// The items of a list; `None` for anything else.
    fn items(self) -> Option<Vec<Self>>;
    /// The keys of a map; `None` for anything else.
    fn keys(self) -> Option<Vec<Cow<'v, str>>>;
    /// The text of a string; `None` for anything else.
    fn str(self) -> Option<Cow<'v, str>>;
    /// The value of a scalar; `None` for lists and maps.
    fn scalar(self) -> Option<Node>;

    /// The node at a path of keys.
    fn at(self, keys: &[&str]) -> Option<Self> {
        keys.iter().try_fold(self, |view, key| view.get(key))
    }

    /// The string at a path of keys; empty when there is none.
    fn text(self, keys: &[&str]) -> Cow<'v, str> {
        self.at(keys).and_then(View::str).unwrap_or_default()
    }

    /// Whether it is a map.
    fn is_map(self) -> bool {
        self.keys().is_some()
    }
}

/// A node of a tree.
#[derive(Clone, Copy)]
pub(crate) enum Tree<'v> {
    Map(&'v Map<Node>),
    Other(&'v Node),
}

impl<'v> Tree<'v> {
    pub(crate) fn of(object: &'v Object) -> Self {
        Tree::Map(object.body())
    }

    fn node(node: &'v Node) -> Self {
        match node {
            Node::Map(map) => Tree::Map(map),
            other => Tree::Other(other),
        }
    }
}

impl<'v> View<'v> for Tree<'v> {
    fn get(self, key: &str) -> Option<Self> {
        match self {
            Tree::Map(map) => map.get(key).map(Tree::node),
            Tree::Other(_) => None,
        }
    }

    fn items(self) -> Option<Vec<Self>> {
        match self {
            Tree::Other(Node::List(items)) => Some(items.iter().map(Tree::node).collect()),
            _ => None,
        }
    }

    fn keys(self) -> Option<Vec<Cow<'v, str>>> {
        match self {
            Tree::Map(map) => Some(map.keys().map(|key| String::from_utf8_lossy(key.as_bytes())).collect()),
            Tree::Other(_) => None,
        }
    }

    fn str(self) -> Option<Cow<'v, str>> {
        match self {
            Tree::Other(node) => node.as_str().map(Cow::Borrowed),
            Tree::Map(_) => None,
        }
    }

    fn scalar(self) -> Option<Node> {
        match self {
            Tree::Map(_) | Tree::Other(Node::List(_) | Node::Map(_)) => None,
            Tree::Other(node) => Some(node.clone()),
        }
    }
}

impl<'v> View<'v> for NodeRef<'v> {
    fn get(self, key: &str) -> Option<Self> {
        NodeRef::get(self, key)
    }

    fn items(self) -> Option<Vec<Self>> {
        // The target, because the node can be an alias.
        (self.target().kind() == Kind::Sequence).then(|| NodeRef::items(self).collect())
    }

    fn keys(self) -> Option<Vec<Cow<'v, str>>> {
        if self.target().kind() != Kind::Mapping {
            return None;
        }
        let mut keys = Vec::new();
        add_keys(self, &mut keys);
        Some(keys)
    }

    fn is_map(self) -> bool {
        self.target().kind() == Kind::Mapping
    }

    fn str(self) -> Option<Cow<'v, str>> {
        self.as_str()
    }

    fn scalar(self) -> Option<Node> {
        self.value()
    }
}

/// Collects the keys of a map, including those of YAML merge keys, each once.
fn add_keys<'v>(mapping: NodeRef<'v>, keys: &mut Vec<Cow<'v, str>>) {
    for entry in mapping.entries() {
        if entry.is_merge() {
            let merged = match entry.value.kind() {
                Kind::Sequence => entry.value.items().collect(),
                _ => vec![entry.value],
            };
            merged.into_iter().for_each(|node| add_keys(node, keys));
            continue;
        }
        let Some(key) = entry.key.key() else { continue };
        let key = match key {
            Cow::Borrowed(key) => String::from_utf8_lossy(key),
            Cow::Owned(key) => Cow::Owned(String::from_utf8_lossy(&key).into_owned()),
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
}

//! Short ways to look at and change objects, whose trees are not known to have any shape.

use pintle_tree::{Map, Node, Str};

/// What a path of fields leads to.
pub(crate) fn at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key)).filter(|node| !node.is_nil())
}

/// The text at a path; empty if there is none.
pub(crate) fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    at(node, path).and_then(Node::as_str).unwrap_or_default()
}

/// The whole number at a path.
pub(crate) fn int(node: &Node, path: &[&str]) -> Option<i64> {
    match at(node, path)? {
        Node::Int(value) => Some(*value),
        Node::Float(value) if value.fract() == 0.0 => Some(*value as i64),
        _ => None,
    }
}

/// Whether there is a true boolean at a path.
pub(crate) fn is_true(node: &Node, path: &[&str]) -> bool {
    at(node, path).and_then(Node::as_bool).unwrap_or(false)
}

/// The list at a path; empty if there is none.
pub(crate) fn list<'n>(node: &'n Node, path: &[&str]) -> &'n [Node] {
    at(node, path).and_then(Node::as_list).unwrap_or_default()
}

/// The map at a path, if there is one.
pub(crate) fn map<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Map<Node>> {
    at(node, path).and_then(Node::as_map)
}

/// The map at `key` for changing it, if there is one.
pub(crate) fn inner<'m>(map: &'m mut Map<Node>, key: &str) -> Option<&'m mut Map<Node>> {
    map.get_mut(key).and_then(Node::as_map_mut)
}

/// The map at `key` for changing it, made if there is nothing.
pub(crate) fn made<'m>(map: &'m mut Map<Node>, key: &str) -> Option<&'m mut Map<Node>> {
    put(map, key, Node::empty_map());
    inner(map, key)
}

/// Calls `each` with every map in the list at `key`.
pub(crate) fn each(map: &mut Map<Node>, key: &str, mut each: impl FnMut(&mut Map<Node>)) {
    if let Some(Node::List(list)) = map.get_mut(key) {
        list.iter_mut().filter_map(Node::as_map_mut).for_each(&mut each);
    }
}

/// Sets `key` where there is nothing.
pub(crate) fn put(map: &mut Map<Node>, key: &str, value: impl Into<Node>) {
    if map.get(key).is_none_or(Node::is_nil) {
        map.insert(Str::from(key), value.into());
    }
}

/// The text at `key` of a map; empty if there is none.
pub(crate) fn word<'m>(map: &'m Map<Node>, key: &str) -> &'m str {
    map.get(key).and_then(Node::as_str).unwrap_or_default()
}

/// A map of these entries.
pub(crate) fn map_of(entries: &[(&str, Node)]) -> Node {
    Node::Map(entries.iter().map(|(key, value)| (Str::from(*key), value.clone())).collect())
}

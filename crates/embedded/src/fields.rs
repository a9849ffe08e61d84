//! Access to fields of unstructured objects, for decoding, defaulting and validation. A path that does not exist, or
//! holds another type, is treated as absent.
//! Null counts as absent: to the server's Go types they are the same.

use pintle_tree::{Map, Node, Str};

pub(crate) fn at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key)).filter(|node| !node.is_nil())
}

/// The string at a path, or the empty string.
pub(crate) fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    at(node, path).and_then(Node::as_str).unwrap_or_default()
}

/// The integer at a path.
pub(crate) fn int(node: &Node, path: &[&str]) -> Option<i64> {
    match at(node, path)? {
        Node::Int(value) => Some(*value),
        Node::Float(value) if value.fract() == 0.0 => Some(*value as i64),
        _ => None,
    }
}

/// Whether the value at a path is `true`.
pub(crate) fn is_true(node: &Node, path: &[&str]) -> bool {
    at(node, path).and_then(Node::as_bool).unwrap_or(false)
}

/// The list at a path, or an empty list.
pub(crate) fn list<'n>(node: &'n Node, path: &[&str]) -> &'n [Node] {
    at(node, path).and_then(Node::as_list).unwrap_or_default()
}

pub(crate) fn map<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Map<Node>> {
    at(node, path).and_then(Node::as_map)
}

/// The map at `key`, for changing it.
pub(crate) fn map_mut<'m>(map: &'m mut Map<Node>, key: &str) -> Option<&'m mut Map<Node>> {
    map.get_mut(key).and_then(Node::as_map_mut)
}

/// The map at `key`, for changing it; inserted if absent.
pub(crate) fn map_or_insert<'m>(map: &'m mut Map<Node>, key: &str) -> Option<&'m mut Map<Node>> {
    set_default(map, key, Node::empty_map());
    map_mut(map, key)
}

/// Calls `each` with every map in the list at `key`.
pub(crate) fn for_each_map(map: &mut Map<Node>, key: &str, mut each: impl FnMut(&mut Map<Node>)) {
    if let Some(Node::List(list)) = map.get_mut(key) {
        list.iter_mut().filter_map(Node::as_map_mut).for_each(&mut each);
    }
}

/// Sets `key` if it is absent: the way that defaults are applied.
pub(crate) fn set_default(map: &mut Map<Node>, key: &str, value: impl Into<Node>) {
    if map.get(key).is_none_or(Node::is_nil) {
        map.insert(Str::from(key), value.into());
    }
}

/// The string at `key`, or the empty string.
pub(crate) fn str_of<'m>(map: &'m Map<Node>, key: &str) -> &'m str {
    map.get(key).and_then(Node::as_str).unwrap_or_default()
}

pub(crate) fn map_of(entries: &[(&str, Node)]) -> Node {
    Node::Map(entries.iter().map(|(key, value)| (Str::from(*key), value.clone())).collect())
}

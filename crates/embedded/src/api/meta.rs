//! Access to fields of unstructured objects, and to common metadata.
//!
//! Unlike [`crate::fields`], these functions tell null and absent apart: stored objects have nulls where Go's
//! encoding writes them.

use pintle_tree::{Map, Node, Str};

pub(crate) fn at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, step| node.get(step))
}

/// The string at a path, or the empty string.
pub(crate) fn text_at<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    at(node, path).and_then(Node::as_str).unwrap_or_default()
}

/// The integer at a path.
pub(crate) fn number_at(node: &Node, path: &[&str]) -> Option<i64> {
    match at(node, path)? {
        Node::Int(value) => Some(*value),
        Node::Float(value) => Some(*value as i64),
        _ => None,
    }
}

/// The list at a path, or an empty list.
pub(crate) fn list_at<'n>(node: &'n Node, path: &[&str]) -> &'n [Node] {
    at(node, path).and_then(Node::as_list).unwrap_or_default()
}

/// A string field of `metadata`, or the empty string.
pub(crate) fn meta<'n>(node: &'n Node, field: &str) -> &'n str {
    text_at(node, &["metadata", field])
}

/// The map at a path; inserted where absent.
pub(crate) fn map_at<'n>(node: &'n mut Node, path: &[&str]) -> &'n mut Map<Node> {
    if node.as_map().is_none() {
        *node = Node::empty_map();
    }
    let map = node.as_map_mut().expect("it is a map now");
    match path {
        [] => map,
        [first, rest @ ..] => map_at(map.entry_or_insert_with(&Str::from(*first), Node::empty_map), rest),
    }
}

pub(crate) fn set(node: &mut Node, path: &[&str], value: impl Into<Node>) {
    let Some((last, above)) = path.split_last() else { return };
    map_at(node, above).insert(Str::from(*last), value.into());
}

pub(crate) fn unset(node: &mut Node, path: &[&str]) -> Option<Node> {
    let (last, above) = path.split_last()?;
    let map = above.iter().try_fold(node, |node, step| node.as_map_mut()?.get_mut(step))?;
    map.as_map_mut()?.remove(last)
}

/// Copies a field from another object, or removes it if that one does not have it.
pub(crate) fn copy_field(node: &mut Node, from: &Node, path: &[&str]) {
    match at(from, path) {
        Some(value) => set(node, path, value.clone()),
        None => drop(unset(node, path)),
    }
}

pub(crate) fn finalizers(node: &Node) -> &[Node] {
    list_at(node, &["metadata", "finalizers"])
}

pub(crate) fn has_finalizer(node: &Node, name: &str) -> bool {
    finalizers(node).iter().any(|finalizer| finalizer.as_str() == Some(name))
}

/// Whether the object has a deletion timestamp.
pub(crate) fn is_deleted(node: &Node) -> bool {
    !meta(node, "deletionTimestamp").is_empty()
}

/// Sets the finalizers; an empty list removes the field, as `omitempty` in Go.
pub(crate) fn set_finalizers(node: &mut Node, finalizers: Vec<Node>) {
    if finalizers.is_empty() {
        unset(node, &["metadata", "finalizers"]);
    } else {
        set(node, &["metadata", "finalizers"], finalizers);
    }
}

pub(crate) fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (Str::from(key), value)).collect())
}

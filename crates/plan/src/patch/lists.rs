//! Diffs of lists whose elements are merged: maps by merge key, scalars by value.

use std::cmp::Ordering;

use pintle_tree::{Map, Node};

use super::go_format::{format_list, format_map, format_value, go_type};
use super::strategic::{DIRECTIVE, DiffMode, diff_maps};
use super::{PatchError, Schema};

/// The part of a patch for one list.
#[derive(Default)]
pub(super) struct ListPatch {
    /// Elements to add, change or delete.
    pub(super) elements: Vec<Node>,
    /// Scalars to delete (`$deleteFromPrimitiveList`).
    pub(super) deleted: Vec<Node>,
    /// The order of all known elements (`$setElementOrder`).
    pub(super) order: Vec<Node>,
}

/// The changes or the deletions from one list to another.
pub(super) fn diff_lists(
    original: &[Node],
    modified: &[Node],
    schema: Schema<'_>,
    merge_key: &str,
    mode: DiffMode,
    retain: bool,
) -> Result<ListPatch, PatchError> {
    // As apimachinery, without an order: no element of the server can be in between.
    if original.is_empty() {
        let elements = if mode == DiffMode::Changes { modified.to_vec() } else { Vec::new() };
        return Ok(ListPatch { elements, ..ListPatch::default() });
    }
    if holds_maps(&[original, modified])? {
        diff_maps_by_key(original, modified, schema, merge_key, mode, retain)
    } else {
        Ok(diff_scalars(original, modified, mode))
    }
}

/// Whether the elements of all these lists are maps rather than scalars. Mixed lists are an error.
pub(super) fn holds_maps(lists: &[&[Node]]) -> Result<bool, PatchError> {
    let mut first: Option<&Node> = None;
    for node in lists.iter().copied().flatten() {
        match first {
            None if node.as_list().is_some() => return Err(PatchError::ListOfLists),
            None => first = Some(node),
            Some(first) if std::mem::discriminant(first) == std::mem::discriminant(node) => {}
            Some(_) => {
                let all: Vec<String> = lists.iter().map(|list| format_list(list)).collect();
                return Err(PatchError::MixedElements(format!("[{}]", all.join(" "))));
            }
        }
    }
    Ok(first.ok_or(PatchError::NoElements)?.as_map().is_some())
}

/// An element, which must be a map.
pub(super) fn element(node: &Node) -> Result<&Map<Node>, PatchError> {
    node.as_map()
        .ok_or_else(|| PatchError::WrongType { expected: "map[string]interface {}", actual: go_type(node) })
}

/// The merge key value of an element.
pub(super) fn key_of<'n>(element: &'n Map<Node>, merge_key: &str) -> Result<&'n Node, PatchError> {
    element
        .get(merge_key)
        .ok_or_else(|| PatchError::NoMergeKey { element: format_map(element), key: merge_key.to_owned() })
}

/// An element with its merge key, and the key's Go formatting to sort by.
struct Keyed<'n> {
    element: &'n Map<Node>,
    key: &'n Node,
    formatted: String,
}

fn keyed<'n>(list: &'n [Node], merge_key: &str) -> Result<Vec<Keyed<'n>>, PatchError> {
    let mut keyed = Vec::with_capacity(list.len());
    for node in list {
        let element = element(node)?;
        let key = key_of(element, merge_key)?;
        keyed.push(Keyed { element, key, formatted: format_value(key) });
    }
    // apimachinery's sort reverses elements with equal keys, such as one port with two protocols. Which of them are
    // paired depends on it.
    keyed.reverse();
    keyed.sort_by(|a, b| a.formatted.cmp(&b.formatted));
    Ok(keyed)
}

fn diff_maps_by_key(
    original: &[Node],
    modified: &[Node],
    schema: Schema<'_>,
    merge_key: &str,
    mode: DiffMode,
    retain: bool,
) -> Result<ListPatch, PatchError> {
    let (mut elements, mut deletions) = (Vec::new(), Vec::new());
    let (before, after) = (keyed(original, merge_key)?, keyed(modified, merge_key)?);
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(old), Some(new)) => old.formatted.cmp(&new.formatted),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        match (old, new) {
            (Some(old), Some(new)) => {
                let mut patch = diff_maps(old.element, new.element, schema, mode, retain)?;
                if !patch.is_empty() {
                    patch.insert(merge_key.into(), new.key.clone());
                    elements.push(Node::Map(patch));
                }
            }
            (None, Some(new)) if mode == DiffMode::Changes => elements.push(Node::Map(new.element.clone())),
            (Some(old), None) if mode == DiffMode::Deletions => deletions.push(deletion(merge_key, old.key)),
            _ => {}
        }
    }
    let mut elements = by_order(elements, modified, Some(merge_key))?;
    elements.append(&mut deletions);
    let reordered = || mode == DiffMode::Changes && !is_same_order(original, modified, merge_key);
    let order =
        if !elements.is_empty() || reordered() { keys_only(modified, merge_key)? } else { Vec::new() };
    Ok(ListPatch { elements, deleted: Vec::new(), order })
}

/// The patch element that deletes an element.
fn deletion(merge_key: &str, key: &Node) -> Node {
    let entries = vec![(merge_key.into(), key.clone()), (DIRECTIVE.into(), "delete".into())];
    Node::Map(Map::from_entries(entries))
}

/// The elements reduced to their merge keys.
fn keys_only(list: &[Node], merge_key: &str) -> Result<Vec<Node>, PatchError> {
    let only = |node| {
        let key = key_of(element(node)?, merge_key)?.clone();
        Ok(Node::Map(Map::from_entries(vec![(merge_key.into(), key)])))
    };
    list.iter().map(only).collect()
}

fn is_same_order(original: &[Node], modified: &[Node], merge_key: &str) -> bool {
    let key = |node| Node::get(node, merge_key);
    original.iter().map(key).eq(modified.iter().map(key))
}

fn diff_scalars(original: &[Node], modified: &[Node], mode: DiffMode) -> ListPatch {
    let before = formatted(original);
    let after = formatted(modified);
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(old), Some(new)) => old.0.cmp(&new.0),
        };
        let old = if order.is_le() { left.next() } else { None };
        let new = if order.is_ge() { right.next() } else { None };
        match (old, new) {
            (None, Some((_, new))) if mode == DiffMode::Changes => added.push((*new).clone()),
            (Some((_, old)), None) if mode == DiffMode::Deletions && !deleted.contains(*old) => {
                deleted.push((*old).clone());
            }
            _ => {}
        }
    }
    // apimachinery compares with the list after sorting it in place, so an unsorted list gets its order set every
    // time. Harmless, and part of what Helm sends.
    let moved = || !before.iter().map(|(_, node)| *node).eq(modified);
    let orders = match mode {
        DiffMode::Changes => moved(),
        DiffMode::Deletions => !deleted.is_empty(),
    };
    let position = |node: &Node| modified.iter().position(|other| other == node);
    added.sort_by_key(position);
    ListPatch { elements: added, deleted, order: if orders { modified.to_vec() } else { Vec::new() } }
}

/// Scalars by their Go formatting.
fn formatted(list: &[Node]) -> Vec<(String, &Node)> {
    let mut formatted: Vec<_> = list.iter().map(|node| (format_value(node), node)).collect();
    formatted.sort_by(|a, b| a.0.cmp(&b.0));
    formatted
}

/// Sorts elements as in `order`; deletions go to the end.
pub(super) fn by_order(
    list: Vec<Node>,
    order: &[Node],
    merge_key: Option<&str>,
) -> Result<Vec<Node>, PatchError> {
    if let Some(merge_key) = merge_key {
        for node in list.iter().chain(order) {
            key_of(element(node)?, merge_key)?;
        }
    }
    let (mut deletions, mut rest): (Vec<Node>, Vec<Node>) = list.into_iter().partition(is_deletion);
    // The positions are looked up once per element: comparing would search the list again and again.
    rest.sort_by_cached_key(|node| position(order, node, merge_key).unwrap_or(0));
    rest.append(&mut deletions);
    Ok(rest)
}

/// Whether a patch element deletes an element.
pub(super) fn is_deletion(node: &Node) -> bool {
    node.get(DIRECTIVE).and_then(Node::as_str) == Some("delete")
}

/// The index of an element in a list.
pub(super) fn position(list: &[Node], node: &Node, merge_key: Option<&str>) -> Option<usize> {
    match merge_key {
        Some(key) => list.iter().position(|other| other.get(key) == node.get(key)),
        None => list.iter().position(|other| other == node),
    }
}

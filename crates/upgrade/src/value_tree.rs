//! Values by path: setting, removing, and listing what a user has set.

use pintle_tree::{Map, Node, Segment, ValuePath, with_stack};

/// The maximum depth of values that are compared.
pub(crate) const MAX_DEPTH: usize = 64;

/// Sets the value at a path of keys; what is in the way and is no map is replaced.
pub(crate) fn set_at(map: &mut Map<Node>, path: &[Segment], value: Node) {
    let Some((Segment::Key(first), rest)) = path.split_first() else { return };
    if rest.is_empty() {
        map.insert(first.clone(), value);
        return;
    }
    let slot = map.entry_or_insert_with(first, Node::empty_map);
    if slot.as_map().is_none() {
        *slot = Node::empty_map();
    }
    if let Some(below) = slot.as_map_mut() {
        with_stack(|| set_at(below, rest, value));
    }
}

/// Removes the value at a path, and the maps around it that become empty.
pub(crate) fn remove_at(map: &mut Map<Node>, path: &[Segment]) -> Option<Node> {
    let (Segment::Key(first), rest) = path.split_first()? else { return None };
    if rest.is_empty() {
        return map.remove(first);
    }
    let below = map.get_mut(first)?.as_map_mut()?;
    let removed = with_stack(|| remove_at(below, rest))?;
    if below.is_empty() {
        map.remove(first);
    }
    Some(removed)
}

/// Visits all values below maps, outermost first. The visitor decides whether to go on below a map.
pub(crate) fn visit<'n>(
    map: &'n Map<Node>,
    at: &ValuePath,
    visitor: &mut dyn FnMut(&ValuePath, &'n Node) -> bool,
) {
    for (key, node) in map.iter() {
        let path = at.key(key.clone());
        let enter = visitor(&path, node);
        if let Node::Map(below) = node
            && enter
            && path.segments().len() < MAX_DEPTH
        {
            with_stack(|| visit(below, &path, visitor));
        }
    }
}

/// The leaves below a node: all that is no map, and empty maps.
pub(crate) fn leaves(map: &Map<Node>, at: &ValuePath) -> Vec<(ValuePath, Node)> {
    let mut found = Vec::new();
    visit(map, at, &mut |path, node| match node {
        Node::Map(below) if !below.is_empty() => true,
        _ => {
            found.push((path.clone(), node.clone()));
            false
        }
    });
    found
}

/// A path made of the segments of two.
pub(crate) fn joined(path: &ValuePath, below: &[Segment]) -> ValuePath {
    below.iter().fold(path.clone(), |path, segment| path.with(segment.clone()))
}

/// Whether a value has no content: nil, an empty string, list or map.
pub(crate) fn is_empty(node: &Node) -> bool {
    match node {
        Node::Nil => true,
        Node::Str(text) => text.as_bytes().is_empty(),
        Node::List(items) => items.is_empty(),
        Node::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// A word for the type of a value.
pub(crate) fn type_name(node: &Node) -> &'static str {
    match node {
        Node::Nil => "null",
        Node::Bool(_) => "boolean",
        Node::Int(_) | Node::Float(_) => "number",
        Node::Str(_) => "string",
        Node::List(_) => "list",
        Node::Map(_) => "map",
    }
}

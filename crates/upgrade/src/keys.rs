//! The values of the user that have to be looked at, and the units in which they move.

use pintle_render::uses::Segment as Part;
use pintle_tree::{Map, Node, ValuePath};

use crate::side::{Side, segments};
use crate::value_tree::visit;

/// A value of the user that the new chart does not read.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
    /// The outermost path that is not read; if the old chart read a map around it as a whole, that map.
    pub(crate) path: ValuePath,
    /// What is not read, if the new chart reads other parts of the map.
    pub(crate) parts: Vec<ValuePath>,
    /// The values of the user at or below it that the old chart reads as one.
    pub(crate) units: Vec<Unit>,
}

/// A value that the old chart reads as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) path: ValuePath,
    pub(crate) value: Node,
    /// Whether the old chart read it.
    pub(crate) was_read: bool,
}

/// The values of the user that the new chart does not read, outermost first.
pub(crate) fn unread(user: &Map<Node>, old: &Side<'_>, new: &Side<'_>) -> Vec<Unread> {
    let mut found: Vec<Unread> = Vec::new();
    visit(user, &ValuePath::root(), &mut |path, node| {
        if new.reads(path) {
            return true;
        }
        let whole = outermost_whole(path, old).filter(|whole| whole != path);
        let Some((whole, value)) = whole.and_then(|whole| Some((whole.clone(), whole.find(user)?.clone())))
        else {
            found.push(Unread { path: path.clone(), parts: Vec::new(), units: units(path, node, old) });
            return false;
        };
        match found.iter_mut().find(|unread| unread.path == whole) {
            Some(known) => known.parts.push(path.clone()),
            None => {
                let unit = Unit { path: whole.clone(), value, was_read: true };
                found.push(Unread { path: whole, parts: vec![path.clone()], units: vec![unit] });
            }
        }
        false
    });
    found
}

/// The outermost map around a value that a chart reads as a whole: what is in it has no meaning of its own.
fn outermost_whole(path: &ValuePath, side: &Side<'_>) -> Option<ValuePath> {
    (1..=path.segments().len())
        .map(|depth| ValuePath::from(path.segments()[..depth].to_vec()))
        .find(|above| is_read_whole(above, side))
}

/// The fields of items of lists that the old chart reads and the new one does not, as in `hosts[*].name`.
pub(crate) fn unread_item_fields(
    user: &Map<Node>,
    old: &Side<'_>,
    new: &Side<'_>,
) -> Vec<(ValuePath, String)> {
    let mut found = Vec::new();
    visit(user, &ValuePath::root(), &mut |path, node| {
        if !new.reads(path) {
            return false;
        }
        if let Node::List(items) = node {
            for key in items.iter().filter_map(Node::as_map).flat_map(Map::keys) {
                let mut parts = segments(path);
                parts.extend([Part::Any, Part::Key(key.clone())]);
                let entry = (path.clone(), key.to_string());
                if old.uses.reads(&parts) && !new.uses.reads(&parts) && !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        true
    });
    found
}

/// The values at or below a path in the pieces that a chart reads.
pub(crate) fn units(path: &ValuePath, node: &Node, old: &Side<'_>) -> Vec<Unit> {
    let mut found = Vec::new();
    add_units(path, node, old, &mut found);
    found
}

fn add_units(path: &ValuePath, node: &Node, old: &Side<'_>, found: &mut Vec<Unit>) {
    if let Node::Map(map) = node
        && !map.is_empty()
        && path.segments().len() < crate::value_tree::MAX_DEPTH
        && !is_read_whole(path, old)
    {
        for (key, below) in map.iter() {
            add_units(&path.key(key.clone()), below, old, found);
        }
        return;
    }
    found.push(Unit { path: path.clone(), value: node.clone(), was_read: old.reads(path) });
}

/// Whether a chart reads a value with everything below it, so that it has no parts of its own.
pub(crate) fn is_read_whole(path: &ValuePath, side: &Side<'_>) -> bool {
    let parts = segments(path);
    let covers = |read: &[Part]| {
        read.len() <= parts.len()
            && read.iter().zip(&parts).all(|(left, right)| left == right || *left == Part::Any)
    };
    let mut reads = side.uses.uses.iter();
    reads.any(|read| read.usage == pintle_render::uses::Usage::Used && covers(&read.path))
}

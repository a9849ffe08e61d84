//! JSON merge patches, for kinds without merge keys.

use pintle_objects::Object;
use pintle_tree::{Map, Node, with_stack};

use super::PatchError;
use super::go_format::format_map;

/// Returns the patch from `original` to `modified`. It is empty when they are equal.
pub fn two_way_json(original: &Object, modified: &Object) -> Map<Node> {
    diff(original.body(), modified.body())
}

/// Returns the patch that brings `current`, the live object, to `modified`, the desired one, and removes fields that
/// only `original`, the previous desired object, has. The patch is empty when there is nothing to do.
///
/// # Errors
/// When the patch would change the API version, kind or name.
pub fn three_way_json(
    original: &Object,
    modified: &Object,
    current: &Object,
) -> Result<Map<Node>, PatchError> {
    // Nulls of this difference are fields that only the live object has, which others have set; only fields of the
    // previous manifest are removed.
    let changes = values_only(diff(current.body(), modified.body()));
    let deletions = nulls_only(diff(original.body(), modified.body()));
    let patch = merge_over(deletions, changes);
    // As `RequireKeyUnchanged` of apimachinery: such a patch would change another object, or none.
    let renames = patch.get("metadata").and_then(|metadata| metadata.get("name")).is_some();
    if renames || patch.contains_key("apiVersion") || patch.contains_key("kind") {
        return Err(PatchError::Precondition(format_map(&patch)));
    }
    Ok(patch)
}

fn diff(old: &Map<Node>, new: &Map<Node>) -> Map<Node> {
    let mut patch = Map::new();
    for (key, new) in new.iter() {
        match (old.get(key), new) {
            (Some(Node::Map(old)), Node::Map(new)) => {
                let inner = with_stack(|| diff(old, new));
                if !inner.is_empty() {
                    patch.insert(key.clone(), Node::Map(inner));
                }
            }
            (old, new) => {
                if old != Some(new) {
                    patch.insert(key.clone(), new.clone());
                }
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(key)) {
        patch.insert(key.clone(), Node::Nil);
    }
    patch
}

/// The patch without its nulls, and without maps that become empty by that.
fn values_only(patch: Map<Node>) -> Map<Node> {
    let keep = |node| match node {
        Node::Nil => None,
        // An empty map in the input is a value.
        Node::Map(map) if !map.is_empty() => {
            let inner = with_stack(|| values_only(map));
            (!inner.is_empty()).then_some(Node::Map(inner))
        }
        other => Some(other),
    };
    patch.into_iter().filter_map(|(key, node)| Some((key, keep(node)?))).collect()
}

/// The nulls of the patch, with the maps that contain them.
fn nulls_only(patch: Map<Node>) -> Map<Node> {
    let keep = |node| match node {
        Node::Nil => Some(Node::Nil),
        Node::Map(map) => {
            let inner = with_stack(|| nulls_only(map));
            (!inner.is_empty()).then_some(Node::Map(inner))
        }
        _ => None,
    };
    patch.into_iter().filter_map(|(key, node)| Some((key, keep(node)?))).collect()
}

/// Merges `overlay` into `base`. `overlay` holds no nulls except inside lists.
fn merge_over(mut base: Map<Node>, overlay: Map<Node>) -> Map<Node> {
    for (key, new) in overlay {
        let merged = match (base.remove(&key), new) {
            (Some(Node::Map(old)), Node::Map(new)) => Node::Map(with_stack(|| merge_over(old, new))),
            (_, new) => without_nulls(new),
        };
        base.insert(key, merged);
    }
    base
}

/// Removes nulls from maps, as applying a patch does with what it adds; those in lists stay.
fn without_nulls(node: Node) -> Node {
    match node {
        Node::Map(map) => with_stack(|| {
            let kept = map.into_iter().filter(|(_, node)| !node.is_nil());
            Node::Map(kept.map(|(key, node)| (key, without_nulls(node))).collect())
        }),
        Node::List(list) => with_stack(|| Node::List(list.into_iter().map(without_nulls).collect())),
        other => other,
    }
}

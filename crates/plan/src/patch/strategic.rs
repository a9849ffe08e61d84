//! The three-way strategic merge patch, as apimachinery's `CreateThreeWayMergePatch`: the changes from the live to
//! the desired object, without fields that others set, plus the deletion of what is no longer desired.

use pintle_objects::Object;
use pintle_tree::{Map, Node, Str, with_stack};

use super::lists::diff_lists;
use super::merge::merge_maps;
use super::merge_keys::Strategy;
use super::{MergeKeys, PatchError, Schema};

/// The directive that deletes or replaces a map.
pub(super) const DIRECTIVE: &str = "$patch";
/// The directive that lists the fields of a map to keep.
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
/// The key prefix of scalars to delete from a list.
pub(super) const DELETE_FROM: &str = "$deleteFromPrimitiveList";
/// The key prefix of the order of a list.
pub(super) const ELEMENT_ORDER: &str = "$setElementOrder";

/// Which part of a diff is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffMode {
    /// Additions and changes.
    Changes,
    /// Deletions.
    Deletions,
}

/// Returns the patch that brings `current`, the live object, to `modified`, the desired one, and removes what only
/// `original`, the previous desired object, has. The patch is empty when there is nothing to do.
///
/// # Errors
/// When the merge keys do not contain the kind, or one of the objects does not match its schema.
pub fn three_way_strategic(
    original: &Object,
    modified: &Object,
    current: &Object,
    keys: &MergeKeys,
) -> Result<Map<Node>, PatchError> {
    let id = modified.id();
    let schema = keys
        .kind(&id.group, &id.version, &id.kind)
        .ok_or_else(|| PatchError::UnknownKind { api_version: id.api_version(), kind: id.kind.clone() })?;
    // Changes are found against the live object and deletions against the previous release. What neither manifest
    // has, such as defaults and fields of controllers, appears in neither and stays.
    let changes = diff_maps(current.body(), modified.body(), schema, DiffMode::Changes, false)?;
    let deletions = diff_maps(original.body(), modified.body(), schema, DiffMode::Deletions, false)?;
    merge_maps(deletions, changes, schema)
}

/// The changes or the deletions from one map to another. `retain` adds `$retainKeys`.
pub(super) fn diff_maps(
    original: &Map<Node>,
    modified: &Map<Node>,
    schema: Schema<'_>,
    mode: DiffMode,
    retain: bool,
) -> Result<Map<Node>, PatchError> {
    let mut patch = Map::new();
    for (key, new) in modified.iter() {
        match (original.get(key), new) {
            (Some(old), new) if key == DIRECTIVE => diff_directive(old, new, &mut patch)?,
            (Some(Node::Map(old)), Node::Map(new)) => {
                with_stack(|| diff_map_field(key, old, new, &mut patch, schema, mode))?;
            }
            (Some(Node::List(old)), Node::List(new)) => {
                with_stack(|| diff_list_field(key, old, new, &mut patch, schema, mode))?;
            }
            (old, new) => {
                // A null in the manifest is a value here: the server then deletes the field.
                if mode == DiffMode::Changes && old != Some(new) {
                    patch.insert(key.clone(), new.clone());
                }
            }
        }
    }
    if mode == DiffMode::Deletions {
        for key in original.keys().filter(|key| !modified.contains_key(key)) {
            patch.insert(key.clone(), Node::Nil);
        }
    }
    if retain {
        list_retained_keys(original, modified, &mut patch);
    }
    Ok(patch)
}

/// A manifest that contains a patch directive itself; apimachinery accepts it.
fn diff_directive(old: &Node, new: &Node, patch: &mut Map<Node>) -> Result<(), PatchError> {
    match (old, new) {
        (Node::Str(old), Node::Str(text)) => {
            if old != text {
                patch.insert(DIRECTIVE.into(), new.clone());
            }
            Ok(())
        }
        _ => Err(PatchError::BadDirective),
    }
}

fn diff_map_field(
    key: &Str,
    old: &Map<Node>,
    new: &Map<Node>,
    patch: &mut Map<Node>,
    schema: Schema<'_>,
    mode: DiffMode,
) -> Result<(), PatchError> {
    let (inner, rule) = match schema.field(key) {
        Ok(found) => found,
        // Unchanged values need no merge keys.
        Err(_) if old == new => return Ok(()),
        Err(error) => return Err(error),
    };
    let Strategy { retain_keys, replace, .. } = rule.strategy()?;
    if replace {
        if mode == DiffMode::Changes {
            patch.insert(key.clone(), Node::Map(new.clone()));
        }
        return Ok(());
    }
    let difference = diff_maps(old, new, inner, mode, retain_keys)?;
    if !difference.is_empty() {
        patch.insert(key.clone(), Node::Map(difference));
    }
    Ok(())
}

fn diff_list_field(
    key: &Str,
    old: &[Node],
    new: &[Node],
    patch: &mut Map<Node>,
    schema: Schema<'_>,
    mode: DiffMode,
) -> Result<(), PatchError> {
    let (element, rule) = match schema.elements(key) {
        Ok(found) => found,
        Err(_) if old == new => return Ok(()),
        Err(error) => return Err(error),
    };
    let strategy = rule.strategy()?;
    if !strategy.merge {
        if mode == DiffMode::Changes && old != new {
            patch.insert(key.clone(), Node::List(new.to_vec()));
        }
        return Ok(());
    }
    let difference = diff_lists(old, new, element, &rule.merge_key, mode, strategy.retain_keys)?;
    let mut insert = |key: Str, list: Vec<Node>| {
        if !list.is_empty() {
            patch.insert(key, Node::List(list));
        }
    };
    insert(key.clone(), difference.elements);
    insert(parallel_key(DELETE_FROM, key), difference.deleted);
    insert(parallel_key(ELEMENT_ORDER, key), difference.order);
    Ok(())
}

/// The key of the directive that accompanies the list at `key`.
fn parallel_key(prefix: &str, key: &Str) -> Str {
    let mut name = Vec::with_capacity(prefix.len() + 1 + key.len());
    name.extend_from_slice(prefix.as_bytes());
    name.push(b'/');
    name.extend_from_slice(key);
    Str::from(name)
}

/// Adds `$retainKeys` if the patch changes anything or the original has a field to clear.
fn list_retained_keys(original: &Map<Node>, modified: &Map<Node>, patch: &mut Map<Node>) {
    let kept: Vec<Node> =
        modified.iter().filter(|(_, value)| !value.is_nil()).map(|(key, _)| Node::Str(key.clone())).collect();
    let clears = || original.iter().any(|(key, value)| !value.is_nil() && !modified.contains_key(key));
    if !kept.is_empty() && (!patch.is_empty() || clears()) {
        patch.insert(RETAIN_KEYS.into(), Node::List(kept));
    }
}

//! Changes of an object, which can be applied to trees and to text.

use pintle_tree::{Map, Node};
use pintle_yaml::outline::{Edits, NodeRef, PathSegment};

/// The path of a node in its document.
pub(crate) type Path = Vec<PathSegment>;

/// One change of a document. All paths are those of the original document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Sets a key of a map.
    Set(Path, Node),
    /// Appends an item to a list.
    Push(Path, Node),
    /// Removes an entry of a map or an item of a list.
    Remove(Path),
}

/// Appends keys to a path.
pub(crate) fn join<const N: usize>(path: &[PathSegment], keys: [&'static str; N]) -> Path {
    let mut joined = Path::with_capacity(path.len() + N);
    joined.extend_from_slice(path);
    joined.extend(keys.map(PathSegment::from));
    joined
}

impl Change {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Change::Set(path, _) | Change::Push(path, _) | Change::Remove(path) => path,
        }
    }
}

/// Drops changes inside of removed nodes.
pub(crate) fn drop_nested(changes: &mut Vec<Change>) {
    let removed: Vec<Path> = changes
        .iter()
        .filter(|change| matches!(change, Change::Remove(_)))
        .map(|change| change.path().clone())
        .collect();
    if !removed.is_empty() {
        changes.retain(|change| {
            !removed.iter().any(|path| change.path().starts_with(path) && change.path().len() > path.len())
        });
    }
}

/// Applies changes to a tree.
pub(crate) fn apply_to_tree(body: &mut Map<Node>, changes: &[Change]) {
    let mut removed: Vec<&Path> = Vec::new();
    for change in changes {
        match change {
            // Removals come last, because all paths are those of the original.
            Change::Remove(path) => removed.push(path),
            Change::Set(path, value) => {
                if let Some((PathSegment::Key(key), parent_path)) = path.split_last()
                    && let Some(map) = map_at(body, parent_path)
                {
                    map.insert(key.as_ref().into(), value.clone());
                }
            }
            Change::Push(path, value) => {
                if let Some(Node::List(items)) = node_at(body, path) {
                    items.push(value.clone());
                }
            }
        }
    }
    // Later items are removed first, so that the indices of the others stay valid.
    removed.sort();
    for path in removed.into_iter().rev() {
        match path.split_last() {
            Some((PathSegment::Key(key), parent_path)) => {
                if let Some(map) = map_at(body, parent_path) {
                    map.remove(key.as_ref());
                }
            }
            Some((PathSegment::Index(index), parent_path)) => {
                if let Some(Node::List(items)) = node_at(body, parent_path)
                    && *index < items.len()
                {
                    items.remove(*index);
                }
            }
            None => {}
        }
    }
}

fn map_at<'n>(body: &'n mut Map<Node>, path: &[PathSegment]) -> Option<&'n mut Map<Node>> {
    if path.is_empty() { Some(body) } else { node_at(body, path)?.as_map_mut() }
}

/// The node at a path; `None` for an empty one.
pub(crate) fn node_at<'n>(body: &'n mut Map<Node>, path: &[PathSegment]) -> Option<&'n mut Node> {
    let (PathSegment::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(body.get_mut(first.as_ref())?, |node, step| match (node, step) {
        (Node::Map(map), PathSegment::Key(key)) => map.get_mut(key.as_ref()),
        (Node::List(items), PathSegment::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

/// Applies changes to text.
pub(crate) fn apply_to_text<'o>(root: NodeRef<'o>, edits: &mut Edits<'o>, changes: &[Change]) {
    for change in changes {
        let (parent_path, last) = match change {
            Change::Push(path, value) => {
                if let Some(list) = locate(root, path) {
                    edits.push(list, value);
                }
                continue;
            }
            Change::Set(path, _) | Change::Remove(path) => match path.split_last() {
                Some((last, parent_path)) => (parent_path, last),
                None => continue,
            },
        };
        let Some(parent) = locate(root, parent_path) else { continue };
        match (change, last) {
            (Change::Set(_, value), PathSegment::Key(key)) => edits.set(parent, key, value),
            (_, PathSegment::Key(key)) => edits.remove(parent, key),
            (_, PathSegment::Index(index)) => {
                if let Some(item) = parent.items().nth(*index) {
                    edits.remove_item(parent, item);
                }
            }
        }
    }
}

/// The node at a path.
pub(crate) fn locate<'o>(root: NodeRef<'o>, path: &[PathSegment]) -> Option<NodeRef<'o>> {
    path.iter().try_fold(root, |node, step| match step {
        PathSegment::Key(key) => node.get(key),
        PathSegment::Index(index) => node.items().nth(*index),
    })
}

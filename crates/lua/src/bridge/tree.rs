//! Changes to trees: collected while the context is borrowed, applied afterwards.

use pintle_tree::{Map, Node, Str};

use super::frame::push_key;

/// The change of a value.
#[derive(Debug)]
pub(super) enum Change {
    /// No change.
    Unchanged,
    /// Another value.
    New(Node),
    /// The same map with changed entries.
    Map { set: Vec<(Str, Change)>, removed: Vec<Str> },
    /// The same list, of the same length, with changed items.
    List(Vec<Change>),
}

impl Change {
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self, Change::Unchanged)
    }

    /// Makes the change.
    pub(super) fn apply(self, node: &mut Node) {
        match self {
            Change::Unchanged => {}
            Change::New(new) => *node = new,
            Change::Map { set, removed } => {
                if let Node::Map(map) = node {
                    apply_to_map(map, set, removed);
                }
            }
            Change::List(changes) => {
                if let Node::List(list) = node {
                    list.iter_mut().zip(changes).for_each(|(item, change)| change.apply(item));
                }
            }
        }
    }

    /// Collects the paths that changed.
    pub(super) fn add_paths(&self, path: &str, paths: &mut Vec<String>) {
        match self {
            Change::Unchanged => {}
            Change::New(_) => paths.push(path.to_owned()),
            Change::Map { set, removed } => {
                let below = |key: &Str| {
                    let mut path = path.to_owned();
                    push_key(&mut path, &key.to_str_lossy());
                    path
                };
                set.iter().for_each(|(key, change)| change.add_paths(&below(key), paths));
                paths.extend(removed.iter().map(below));
            }
            Change::List(changes) => {
                for (index, change) in changes.iter().enumerate() {
                    change.add_paths(&format!("{path}[{}]", index + 1), paths);
                }
            }
        }
    }
}

/// Applies changes to the entries of a map.
pub(super) fn apply_to_map(map: &mut Map<Node>, set: Vec<(Str, Change)>, removed: Vec<Str>) {
    for key in removed {
        map.remove(&key);
    }
    for (key, change) in set {
        match change {
            Change::New(node) => {
                map.insert(key, node);
            }
            change => {
                if let Some(node) = map.get_mut(&key) {
                    change.apply(node);
                }
            }
        }
    }
}

//! One stored object: its text as it is sent, and the little of it that lists and collectors look at.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pintle_tree::{Map, Node, Str, json};

/// The key of an object: `plural.group/namespace/name`, without a group for the core and without a namespace for what
/// has none.
pub fn key(kind: &str, namespace: &str, name: &str) -> Str {
    Str::from(format!("{kind}/{namespace}/{name}"))
}

/// What all keys of a kind begin with, or those in one namespace.
pub fn prefix(kind: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kind}/{namespace}/"),
        None => format!("{kind}/"),
    }
}

/// What is looked at without reading the object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectMeta {
    /// `metadata.uid`.
    pub uid: Str,
    /// The uids of its owners.
    pub owners: Vec<Str>,
    /// `metadata.labels`.
    pub labels: Vec<(Str, Str)>,
    /// Whether it is on its way out: there is a `metadata.deletionTimestamp`.
    pub deleting: bool,
}

impl ObjectMeta {
    /// The head of `object`.
    pub fn from_object(object: &Node) -> ObjectMeta {
        let metadata = object.get("metadata");
        let owners =
            metadata.and_then(|it| it.get("ownerReferences")).and_then(Node::as_list).unwrap_or_default();
        let labels = metadata.and_then(|it| it.get("labels")).and_then(Node::as_map);
        let labels = labels.into_iter().flat_map(Map::iter);
        let deletion = metadata.and_then(|it| it.get("deletionTimestamp")).and_then(Node::as_text);
        ObjectMeta {
            uid: metadata.and_then(|it| it.get("uid")).and_then(Node::as_text).cloned().unwrap_or_default(),
            owners: owners.iter().filter_map(|owner| owner.get("uid")?.as_text().cloned()).collect(),
            labels: labels.filter_map(|(key, value)| Some((key.clone(), value.as_text()?.clone()))).collect(),
            deleting: deletion.is_some_and(|time| !time.is_empty()),
        }
    }

    /// The label called `name`.
    pub fn label(&self, name: &str) -> Option<&Str> {
        self.labels.iter().find(|(key, _)| *key == *name).map(|(_, value)| value)
    }
}

/// The longest text whose tree is kept for a while.
const MAX_CACHED_TEXT: usize = 16 << 10;

/// The tree of an object that was written a short while ago, and will be looked at some times more.
#[derive(Debug)]
enum CachedTree {
    /// It is not kept.
    Cold,
    /// It is kept when it is read.
    Warm,
    Read(Node),
}

/// A stored object. Its text is kept rather than its tree, because that is a quarter of the size and is what most
/// requests want.
#[derive(Debug)]
pub struct Object {
    /// Where it is.
    pub key: Str,
    /// The revision that wrote it.
    pub revision: u64,
    /// The object as JSON, with its revision.
    pub text: Bytes,
    /// What is looked at without reading it.
    pub meta: ObjectMeta,
    tree: Mutex<CachedTree>,
}

impl Object {
    /// The object that `node` is from `revision` on.
    pub(super) fn new(key: Str, revision: u64, mut node: Node) -> Object {
        set_revision(&mut node, revision);
        let meta = ObjectMeta::from_object(&node);
        // Only NaN and the infinities have no JSON, and nothing that reads JSON makes them.
        let text = json::write_raw(&node).unwrap_or_default();
        let tree = if text.len() <= MAX_CACHED_TEXT { CachedTree::Warm } else { CachedTree::Cold };
        Object { key, revision, text: text.into(), meta, tree: Mutex::new(tree) }
    }

    /// The object as it was read from a file.
    pub(super) fn restore(key: Str, text: Bytes) -> Option<Object> {
        let node = json::read_exact(&text).ok()?;
        let revision = node.get("metadata")?.get("resourceVersion")?.as_str()?.parse().ok()?;
        Some(Object {
            key,
            revision,
            meta: ObjectMeta::from_object(&node),
            text,
            tree: Mutex::new(CachedTree::Cold),
        })
    }

    /// The object as a tree.
    pub fn node(&self) -> Node {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        if let CachedTree::Read(node) = &*tree {
            return node.clone();
        }
        let node = json::read_exact(&self.text).unwrap_or_default();
        if matches!(*tree, CachedTree::Warm) {
            *tree = CachedTree::Read(node.clone());
        }
        node
    }

    /// Keeps the text alone from now on.
    pub(super) fn drop_tree(&self) {
        *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = CachedTree::Cold;
    }
}

fn set_revision(node: &mut Node, revision: u64) {
    let Node::Map(map) = node else { return };
    let metadata = map.entry_or_insert_with(&Str::from("metadata"), Node::empty_map);
    if let Node::Map(metadata) = metadata {
        metadata.insert("resourceVersion".into(), Node::from(revision.to_string()));
    }
}

//! One stored object: its JSON, and the metadata that lists and controllers need without parsing it.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pintle_tree::{Map, Node, Str, json};

/// The key of an object: `plural.group/namespace/name`. The core group has no `.group`; cluster-scoped objects have
/// an empty namespace.
pub fn key(kind: &str, namespace: &str, name: &str) -> Str {
    Str::from(format!("{kind}/{namespace}/{name}"))
}

/// The prefix of the keys of a kind, or of a kind in one namespace.
pub fn prefix(kind: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kind}/{namespace}/"),
        None => format!("{kind}/"),
    }
}

/// The metadata that is available without parsing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectMeta {
    /// `metadata.uid`.
    pub uid: Str,
    /// The uids of its owner references.
    pub owners: Vec<Str>,
    /// `metadata.labels`.
    pub labels: Vec<(Str, Str)>,
    /// Whether it has a `metadata.deletionTimestamp`.
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

/// The limit of the JSON of objects whose parsed tree is cached.
/// Together with the limit of cached trees this bounds the cache, as a tree takes about four times its text.
const MAX_CACHED_TEXT: usize = 16 << 10;

/// The cache of a parsed tree. An object that was just written will be read again soon, by watches and controllers.
#[derive(Debug)]
enum CachedTree {
    /// Not cached.
    Cold,
    /// Will be cached when it is parsed.
    Warm,
    Read(Node),
}

/// A stored object. It is kept as JSON and not as a tree: that takes a quarter of the memory, and most requests want
/// JSON.
#[derive(Debug)]
pub struct Object {
    /// The key in the store.
    pub key: Str,
    /// The revision of the write.
    pub revision: u64,
    /// The JSON, including the resourceVersion.
    pub text: Bytes,
    /// The metadata that is available without parsing.
    pub meta: ObjectMeta,
    tree: Mutex<CachedTree>,
}

impl Object {
    pub(super) fn new(key: Str, revision: u64, mut node: Node) -> Object {
        set_revision(&mut node, revision);
        let meta = ObjectMeta::from_object(&node);
        // Only NaN and infinities have no JSON, and no decoder produces them.
        let text = json::write_raw(&node).unwrap_or_default();
        let tree = if text.len() <= MAX_CACHED_TEXT { CachedTree::Warm } else { CachedTree::Cold };
        Object { key, revision, text: text.into(), meta, tree: Mutex::new(tree) }
    }

    /// An object read from a file; `None` if it cannot be parsed.
    pub(super) fn restore(key: Str, text: Bytes) -> Option<Object> {
        let node = json::read_exact(&text).ok()?;
        let revision = node.get("metadata")?.get("resourceVersion")?.as_str()?.parse().ok()?;
        Some(Object {
            key,
            revision,
            meta: ObjectMeta::from_object(&node),
            text,
            // Only written objects are in the queue that evicts trees. The controllers read all objects of a
            // file when they start, and what is cached here would never be dropped.
            tree: Mutex::new(CachedTree::Cold),
        })
    }

    /// Parses the object, or clones the cached tree.
    pub fn node(&self) -> Node {
        // The lock is held while parsing, so that concurrent readers of a new object parse it once.
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

    /// Drops the cached tree.
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

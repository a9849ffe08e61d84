//! From client-side to server-side apply: the fields that our updates own are handed to our applies.
//!
//! Kubernetes keeps for every object who owns which field. A field that was set by an update of ours stays owned by
//! that update, and an apply of ours that leaves it out would not take it away. So before the first apply the entries
//! are rewritten.

use pintle_objects::Object;
use pintle_tree::{Map, Node, json, with_stack};

/// The name under which we write, which is Helm's, so that either tool goes on with the releases of the other.
pub const FIELD_MANAGER: &str = "helm";

/// Why the entries of an object could not be rewritten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A part of a path is none that Kubernetes writes.
    #[error("failed to convert fields to set: parsing key as path element: {0}")]
    BadElement(String),
}

/// Returns the JSON patch that hands the fields of our updates over to our applies, or nothing when we have made no
/// updates. The patch only fits the state of the object that was read; after a change by others it is a conflict.
///
/// # Errors
/// When the object's fields are none that Kubernetes writes.
pub fn upgrade(live: &Object) -> Result<Option<Node>, Error> {
    let Some(entries) = live.at(&["metadata", "managedFields"]).and_then(Node::as_list) else {
        return Ok(None);
    };
    let Some(target) = target(entries) else { return Ok(None) };
    let version = entries[target].get("apiVersion");
    let mut fields = field_set(&entries[target])?;
    // Only fields of the same version can be compared; those of updates in other versions are given up.
    let same = |(index, entry): &(usize, &Node)| {
        *index != target && is_ours(entry, "Update") && entry.get("apiVersion") == version
    };
    if let Some((_, update)) = entries.iter().enumerate().find(same) {
        fields = union(fields, field_set(update)?);
    }
    let mut upgraded = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        if index == target {
            upgraded.push(as_apply(entry, std::mem::take(&mut fields)));
        } else if !is_ours(entry, "Update") {
            upgraded.push(entry.clone());
        }
    }
    if upgraded == entries {
        return Ok(None);
    }
    let replace = |path: &str, value: Node| {
        let entries =
            vec![("op".into(), "replace".into()), ("path".into(), path.into()), ("value".into(), value)];
        Node::Map(Map::from_entries(entries))
    };
    Ok(Some(Node::List(vec![
        replace("/metadata/managedFields", Node::List(upgraded)),
        replace("/metadata/resourceVersion", live.resource_version().into()),
    ])))
}

/// The entry that gets the fields: our apply, else our newest update, which stands first.
fn target(entries: &[Node]) -> Option<usize> {
    let first = |operation| entries.iter().position(|entry| is_ours(entry, operation));
    first("Apply").or_else(|| first("Update"))
}

/// Whether an entry is of our own doing on the object itself, not on a part such as its status.
fn is_ours(entry: &Node, operation: &str) -> bool {
    let text = |key| entry.get(key).and_then(Node::as_str).unwrap_or_default();
    text("manager") == FIELD_MANAGER && text("operation") == operation && text("subresource").is_empty()
}

fn as_apply(entry: &Node, fields: Map<Node>) -> Node {
    let mut entry = entry.as_map().cloned().unwrap_or_default();
    entry.insert("operation".into(), "Apply".into());
    entry.insert("fieldsV1".into(), Node::Map(fields));
    Node::Map(entry)
}

fn field_set(entry: &Node) -> Result<Map<Node>, Error> {
    match entry.get("fieldsV1") {
        Some(Node::Map(fields)) => {
            let mut fields = strip_unknown(fields)?;
            fields.remove(".");
            Ok(fields)
        }
        _ => Ok(Map::new()),
    }
}

/// The fields without parts of paths that only later versions of Kubernetes know, as Kubernetes does it.
///
/// A map that is empty stands for the field itself; with `.` in it, for the field and those below.
fn strip_unknown(fields: &Map<Node>) -> Result<Map<Node>, Error> {
    let mut known = Map::with_capacity(fields.len());
    for (key, inner) in fields.iter() {
        if key == "." {
            known.insert(key.clone(), Node::empty_map());
        } else if is_known_path_element(key)? {
            let inner = match inner {
                Node::Map(inner) => with_stack(|| strip_unknown(inner))?,
                _ => Map::new(),
            };
            let alone = inner.len() == 1 && inner.contains_key(".");
            known.insert(key.clone(), Node::Map(if alone { Map::new() } else { inner }));
        }
    }
    Ok(known)
}

/// Whether a part of a path is a field, a value, an index or the keys of an element.
fn is_known_path_element(key: &[u8]) -> Result<bool, Error> {
    let bad = |why: &str| Error::BadElement(format!("{why} {}", String::from_utf8_lossy(key)));
    match key {
        [] | [_] => Err(Error::BadElement("key must be 2 characters long:".into())),
        [b'f', b':', ..] => Ok(true),
        [b'v' | b'k', b':', text @ ..] => match json::read_exact(text) {
            Ok(Node::Map(_)) => Ok(true),
            Ok(_) if key[0] == b'v' => Ok(true),
            _ => Err(bad("bad value:")),
        },
        [b'i', b':', text @ ..] => {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
            number.map(|_| true).ok_or_else(|| bad("bad index:"))
        }
        [_, b':', ..] => Ok(false),
        _ => Err(bad("missing colon:")),
    }
}

/// All fields that either has.
fn union(mut left: Map<Node>, right: Map<Node>) -> Map<Node> {
    for (key, theirs) in right {
        let Some(ours) = left.remove(&key) else {
            left.insert(key, theirs);
            continue;
        };
        let (Node::Map(mut ours), Node::Map(mut theirs)) = (ours, theirs) else { continue };
        if ours.is_empty() != theirs.is_empty() {
            // One owns the field, the other what is below it.
            let below = if ours.is_empty() { &mut theirs } else { &mut ours };
            below.insert(".".into(), Node::empty_map());
        }
        left.insert(key, Node::Map(with_stack(|| union(ours, theirs))));
    }
    left
}

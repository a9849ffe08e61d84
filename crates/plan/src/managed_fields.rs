//! Upgrades `managedFields` from client-side to server-side apply, as client-go's `csaupgrade`.
//!
//! The API server records the owner of every field. A field that our client-side update set stays owned by that
//! update, so a server-side apply that leaves it out would not remove it. Therefore the entries are rewritten before
//! the first apply.

use pintle_objects::Object;
use pintle_tree::{Map, Node, json, with_stack};

/// Helm's field manager, shared so that either tool can continue with the releases of the other.
pub const FIELD_MANAGER: &str = "helm";

/// Whether a field manager is an earlier one of Helm's or ours. Helm 3 used the name of its executable file, and Helm's
/// SDK the name of the program that it was built into.
pub fn is_our_manager(name: &str) -> bool {
    let is_versioned = |rest: &str| {
        let rest = rest.trim_start_matches('-').trim_start_matches('v');
        rest.is_empty() || rest.starts_with(|letter: char| letter.is_ascii_digit()) || rest == ".exe"
    };
    name == "pintle"
        || name == "pintle-controller"
        || name.starts_with("terraform-provider-helm")
        || name.strip_prefix(FIELD_MANAGER).is_some_and(is_versioned)
}

/// Why `managedFields` could not be rewritten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path element that the API server does not write.
    #[error("failed to convert fields to set: parsing key as path element: {0}")]
    BadElement(String),
}

/// Whose fields are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Managers {
    /// Those of [`FIELD_MANAGER`], as Helm does.
    Current,
    /// Those of all earlier managers of ours; see [`is_our_manager`].
    Earlier,
}

impl Managers {
    fn contains(self, name: &str) -> bool {
        match self {
            Managers::Current => name == FIELD_MANAGER,
            Managers::Earlier => is_our_manager(name),
        }
    }
}

/// Returns the JSON patch that moves the fields of our updates to our applies, or `None` when there are none. It
/// contains the resource version that was read, so a concurrent change makes it a conflict.
///
/// # Errors
/// When `managedFields` is malformed.
pub fn upgrade(live: &Object, managers: Managers) -> Result<Option<Node>, Error> {
    let Some(entries) = live.at(&["metadata", "managedFields"]).and_then(Node::as_list) else {
        return Ok(None);
    };
    let Some(target) = target(entries, managers) else { return Ok(None) };
    let is_ours = |entry: &Node| is_update_of(entry, managers);
    let version = entries[target].get("apiVersion");
    let mut fields = field_set(&entries[target])?;
    // Field sets can only be combined within one API version; updates in other versions are dropped.
    let same = |(index, entry): &(usize, &Node)| {
        *index != target && is_ours(entry) && entry.get("apiVersion") == version
    };
    // As client-go, only the first of them: there is one entry for each manager and version.
    let count = if managers == Managers::Current { 1 } else { usize::MAX };
    for (_, update) in entries.iter().enumerate().filter(same).take(count) {
        fields = union(fields, field_set(update)?);
    }
    let mut upgraded = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        if index == target {
            upgraded.push(as_apply(entry, std::mem::take(&mut fields)));
        } else if !is_ours(entry) {
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
        // The server compares a resourceVersion in a patched object like one in an update.
        replace("/metadata/resourceVersion", live.resource_version().into()),
    ])))
}

/// The entry that gets the fields: our apply, or else the first of our updates.
fn target(entries: &[Node], managers: Managers) -> Option<usize> {
    let is_apply = |entry: &Node| is_entry(entry, "Apply", |name| name == FIELD_MANAGER);
    let applied = entries.iter().position(is_apply);
    applied.or_else(|| entries.iter().position(|entry| is_update_of(entry, managers)))
}

fn is_update_of(entry: &Node, managers: Managers) -> bool {
    is_entry(entry, "Update", |name| managers.contains(name))
}

/// Whether an entry has the operation, is not for a subresource, and has a manager that `is_meant` accepts.
fn is_entry(entry: &Node, operation: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let text = |key| entry.get(key).and_then(Node::as_str).unwrap_or_default();
    is_meant(text("manager")) && text("operation") == operation && text("subresource").is_empty()
}

fn as_apply(entry: &Node, fields: Map<Node>) -> Node {
    let mut entry = entry.as_map().cloned().unwrap_or_default();
    entry.insert("manager".into(), FIELD_MANAGER.into());
    entry.insert("operation".into(), "Apply".into());
    entry.insert("fieldsV1".into(), Node::Map(fields));
    Node::Map(entry)
}

fn field_set(entry: &Node) -> Result<Map<Node>, Error> {
    match entry.get("fieldsV1") {
        Some(Node::Map(fields)) => {
            let mut fields = strip_unknown(fields)?;
            // At the root it would own the whole object, which apimachinery drops.
            fields.remove(".");
            Ok(fields)
        }
        _ => Ok(Map::new()),
    }
}

/// The fields without path elements of later Kubernetes versions, which apimachinery drops too.
///
/// An empty map stands for the field itself; with `.` in it, for the field and those below.
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

/// Whether a path element is a field, a value, an index or an element's keys.
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

/// The union of two field sets.
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

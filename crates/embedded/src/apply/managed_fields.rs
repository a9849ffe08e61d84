//! `metadata.managedFields`: reading the entries into one field set per manager, and writing them back in the order
//! of the real server.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};

use super::field_set::{FieldSet, FieldSetError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// The identity of a field manager. Appliers are the same in every API version, updaters are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerKey {
    pub(super) name: Str,
    pub(super) operation: Operation,
    /// Empty for appliers.
    pub(super) version: Str,
    pub(super) subresource: Str,
}

impl ManagerKey {
    pub(super) fn new(name: &str, operation: Operation, version: &Str, subresource: &str) -> ManagerKey {
        let name = Str::from(if name.is_empty() { "unknown" } else { name });
        let version = if operation == Operation::Apply { Str::default() } else { version.clone() };
        ManagerKey { name, operation, version, subresource: Str::from(subresource) }
    }

    /// The manager as named in conflicts.
    pub(super) fn describe(&self) -> String {
        let mut text = pintle_tree::quote::quote(&self.name);
        if !self.subresource.is_empty() {
            text += &format!(" with subresource {}", pintle_tree::quote::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            text += &format!(" using {}", self.version);
        }
        text
    }
}

/// The fields of one manager, in the API version of its last write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VersionedSet {
    pub(super) version: Str,
    pub(super) set: FieldSet,
    pub(super) time: Option<Str>,
}

/// The managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ManagedFields(pub(super) BTreeMap<ManagerKey, VersionedSet>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EntryError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    Version,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoType(usize),
    #[error("invalid fieldsType {0} in managed fields entry {1}")]
    Type(String, usize),
    #[error("error decoding set: {0}")]
    Set(#[from] FieldSetError),
}

impl ManagedFields {
    pub(super) fn read(object: &Node) -> Result<ManagedFields, EntryError> {
        let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
        let entries = entries.and_then(Node::as_list).unwrap_or_default();
        let mut managers = ManagedFields::default();
        for (index, entry) in entries.iter().enumerate() {
            let text = |key: &str| entry.get(key).and_then(Node::as_text).cloned().unwrap_or_default();
            let operation = match text("operation").as_str() {
                Some("Apply") => Operation::Apply,
                Some("Update") => Operation::Update,
                _ => return Err(EntryError::Operation),
            };
            let version = text("apiVersion");
            if version.is_empty() {
                return Err(EntryError::Version);
            }
            match text("fieldsType").as_str() {
                Some("FieldsV1") => {}
                Some("") => return Err(EntryError::NoType(index)),
                other => return Err(EntryError::Type(format!("{:?}", other.unwrap_or_default()), index)),
            }
            let manager = ManagerKey {
                name: text("manager"),
                operation,
                version: if operation == Operation::Apply { Str::default() } else { version.clone() },
                subresource: text("subresource"),
            };
            let set = FieldSet::read(entry.get("fieldsV1").unwrap_or(&Node::Nil))?;
            let time = entry.get("time").and_then(Node::as_text).cloned();
            managers.0.insert(manager, VersionedSet { version, set, time });
        }
        Ok(managers)
    }

    /// Writes the entries; without any the field is removed.
    pub(super) fn write(&self, object: &mut Node) {
        let Some(Node::Map(metadata)) =
            object.as_map_mut().map(|map| map.entry_or_insert_with(&"metadata".into(), Node::empty_map))
        else {
            return;
        };
        if self.0.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut entries: Vec<(&ManagerKey, &VersionedSet)> = self.0.iter().collect();
        // Appliers first, then by time. Timestamps are UTC, so comparing text is enough.
        entries.sort_by(|(a, x), (b, y)| {
            let order = a.operation.cmp(&b.operation).then_with(|| x.time.cmp(&y.time));
            let order = order.then_with(|| a.name.cmp(&b.name));
            order.then_with(|| x.version.cmp(&y.version)).then_with(|| a.subresource.cmp(&b.subresource))
        });
        let entries = entries.into_iter().map(|(manager, owned)| entry(manager, owned)).collect();
        metadata.insert("managedFields".into(), Node::List(entries));
    }

    /// Merges the oldest updaters into `ancient-changes` once there are more than ten, as the real server does.
    pub(super) fn cap(&mut self) {
        // `DefaultMaxUpdateManagers` of the real server.
        const MAX_UPDATE_ENTRIES: usize = 10;
        let updates = |manager: &&ManagerKey| manager.operation == Operation::Update;
        let mut updaters: Vec<ManagerKey> = self.0.keys().filter(updates).cloned().collect();
        let mut count = updaters.len();
        updaters.sort_by_cached_key(|manager| (self.0[manager].time.clone(), manager.clone()));
        let mut firsts: BTreeMap<Str, ManagerKey> = BTreeMap::new();
        for manager in updaters {
            if count <= MAX_UPDATE_ENTRIES {
                break;
            }
            let version = self.0[&manager].version.clone();
            let Some(first) = firsts.get(&version) else {
                // The oldest of a version is merged only when there is a second one: it would otherwise just be
                // renamed.
                firsts.insert(version, manager);
                continue;
            };
            let bucket = ManagerKey::new("ancient-changes", Operation::Update, &version, "");
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), owned);
            }
            if let (Some(mut newer), Some(older)) = (self.0.remove(&manager), self.0.get(&bucket)) {
                newer.set = newer.set.union(&older.set);
                self.0.insert(bucket, newer);
            }
            count -= 1;
        }
    }
}

fn entry(manager: &ManagerKey, owned: &VersionedSet) -> Node {
    let mut map = Map::new();
    map.insert("manager".into(), manager.name.clone().into());
    map.insert(
        "operation".into(),
        if manager.operation == Operation::Apply { "Apply" } else { "Update" }.into(),
    );
    map.insert("apiVersion".into(), owned.version.clone().into());
    if let Some(time) = &owned.time {
        map.insert("time".into(), time.clone().into());
    }
    map.insert("fieldsType".into(), "FieldsV1".into());
    map.insert("fieldsV1".into(), owned.set.write());
    if !manager.subresource.is_empty() {
        map.insert("subresource".into(), manager.subresource.clone().into());
    }
    Node::Map(map)
}

//! Which values templates read.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use crate::value::{MapRef, Value};

/// The paths of values that were read.
#[derive(Clone, Debug, Default)]
pub struct ReadValues {
    fields: BTreeSet<Vec<Str>>,
    whole: BTreeSet<Vec<Str>>,
}

/// Records which values a render reads.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    /// The paths of the maps of the current render, by address. The maps are kept, so that no address is used again.
    watched: BTreeMap<usize, (Vec<Str>, MapRef)>,
    pub(super) read: ReadValues,
}

impl ReadValues {
    /// Whether a value was read: itself, or as part of something that was written or passed on as a whole.
    pub fn contains(&self, path: &[Str]) -> bool {
        self.fields.contains(path) || (0..=path.len()).any(|length| self.whole.contains(&path[..length]))
    }

    /// All paths that were read, also those of maps on the way to a value.
    pub fn paths(&self) -> impl Iterator<Item = &[Str]> {
        self.fields.iter().map(Vec::as_slice)
    }

    /// Adds what another thread has read.
    pub fn merge(&mut self, other: &ReadValues) {
        self.fields.extend(other.fields.iter().cloned());
        self.whole.extend(other.whole.iter().cloned());
    }
}

impl Watcher {
    pub(super) fn watch(&mut self, values: &MapRef) {
        self.watched.clear();
        self.watch_at(values, Vec::new());
    }

    fn watch_at(&mut self, map: &MapRef, path: Vec<Str>) {
        // A map can contain itself once templates have changed it; before, the depth is that of YAML.
        if self.watched.contains_key(&map.address()) {
            return;
        }
        for (key, value) in map.borrow().iter() {
            if let Value::Map(inner) = value {
                let mut path = path.clone();
                path.push(key.clone());
                self.watch_at(inner, path);
            }
        }
        self.watched.insert(map.address(), (path, map.clone()));
    }

    fn path_of(&self, map: &MapRef) -> Option<Vec<Str>> {
        self.watched.get(&map.address()).map(|(path, _)| path.clone())
    }

    pub(super) fn field(&mut self, map: &MapRef, name: &[u8]) {
        if let Some(mut path) = self.path_of(map) {
            path.push(Str::new(name));
            self.read.fields.insert(path);
        }
    }

    pub(super) fn whole(&mut self, map: &MapRef) {
        if let Some(path) = self.path_of(map) {
            self.read.whole.insert(path);
        }
    }

    /// Records what a call reads: the keys that it looks up, nothing if it only passes maps on, otherwise whole maps.
    pub(super) fn call(&mut self, name: &str, arguments: &[Value]) {
        match followed(name, arguments) {
            Some(paths) => {
                paths.iter().flatten().for_each(|(map, key)| self.field(map, key.as_bytes()));
            }
            None if PASSES_ON.contains(&name) => {}
            None => arguments.iter().filter_map(as_map).for_each(|map| self.whole(map)),
        }
    }
}

/// The maps on a path, each with its key.
type FollowedPath = Vec<(MapRef, Str)>;

/// The paths that a function follows by keys; `None` if it uses its arguments in another way.
pub(super) fn followed(name: &str, arguments: &[Value]) -> Option<Vec<FollowedPath>> {
    Some(match (name, arguments) {
        ("index", [container, keys @ ..]) => vec![follow(container, keys)],
        ("get" | "hasKey", [map @ Value::Map(_), key, ..]) => vec![follow(map, std::slice::from_ref(key))],
        ("pluck", [key, maps @ ..]) => {
            maps.iter().map(|map| follow(map, std::slice::from_ref(key))).collect()
        }
        ("dig", [keys @ .., _, map @ Value::Map(_)]) => vec![follow(map, keys)],
        ("pick", [map @ Value::Map(_), keys @ ..]) => {
            keys.iter().map(|key| follow(map, std::slice::from_ref(key))).collect()
        }
        _ => return None,
    })
}

fn follow(container: &Value, keys: &[Value]) -> FollowedPath {
    let mut container = container.clone();
    let mut path = Vec::new();
    for key in keys {
        let next = match (&container, key) {
            (Value::Map(map), Value::Str(key)) => {
                path.push((map.clone(), key.clone()));
                map.get(key)
            }
            (Value::List(list), Value::Int(_, index)) => {
                usize::try_from(*index).ok().and_then(|index| list.items().get(index).cloned())
            }
            _ => None,
        };
        let Some(next) = next else { break };
        container = next;
    }
    path
}

/// Functions that pass the map on in their result, or only test it.
const PASSES_ON: [&str; 22] = [
    "and", "or", "not", "default", "coalesce", "ternary", "empty", "required", "include", "tpl", "dict",
    "list", "tuple", "set", "kindIs", "kindOf", "typeOf", "typeIs", "len", "append", "eq", "ne",
];

fn as_map(value: &Value) -> Option<&MapRef> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

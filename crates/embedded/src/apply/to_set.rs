//! The field set of an object (`ToFieldSet`), and the removal of a field set from an object (`RemoveItems`).

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, with_stack};

use super::field_set::{FieldSet, MAX_DEPTH, PathElement};
use super::typed::{AtomKind, Keys, TypeRef};

/// The fields of an object: what its applier owns.
pub(super) fn to_field_set(type_ref: TypeRef<'_>, object: &Node) -> FieldSet {
    let mut set = FieldSet::default();
    collect(type_ref, object, &mut Vec::new(), &mut set);
    set
}

fn collect(type_ref: TypeRef<'_>, value: &Node, path: &mut Vec<PathElement>, set: &mut FieldSet) {
    match type_ref.atom_kind(Some(value)) {
        _ if path.len() > MAX_DEPTH => set.insert(path),
        AtomKind::Scalar => set.insert(path),
        AtomKind::Map if type_ref.is_atomic_map() => set.insert(path),
        AtomKind::List if matches!(type_ref.keys(), Keys::Atomic) => set.insert(path),
        AtomKind::Map => {
            for (name, value) in value.as_map().into_iter().flat_map(Map::iter) {
                path.push(PathElement::Field(name.clone()));
                with_stack(|| collect(type_ref.field(name).unwrap_or(TypeRef::Deduced), value, path, set));
                // Declared structs are owned through their fields only. Keys of free maps (labels, `data`) are owned
                // themselves, and so are empty values, as nothing below could say who set them.
                let is_empty = value.is_nil() || value.as_map().is_some_and(Map::is_empty);
                if is_empty || !type_ref.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        AtomKind::List => collect_elements(type_ref, value.as_list().unwrap_or_default(), path, set),
    }
}

fn collect_elements(type_ref: TypeRef<'_>, list: &[Node], path: &mut Vec<PathElement>, set: &mut FieldSet) {
    let mut seen: BTreeMap<PathElement, Vec<&Node>> = BTreeMap::new();
    for item in list {
        if let Ok(element) = type_ref.element(item) {
            seen.entry(element).or_default().push(item);
        }
    }
    for (element, items) in seen {
        path.push(element);
        // Duplicates are owned as one element, without their fields.
        if let [item] = items[..] {
            with_stack(|| collect(type_ref.items(), item, path, set));
        }
        set.insert(path);
        path.pop();
    }
}

/// The value without the fields of `set`. Maps and lists that become empty become null.
pub(super) fn without(type_ref: TypeRef<'_>, value: &Node, set: &FieldSet) -> Node {
    let rest = match type_ref.atom_kind(Some(value)) {
        AtomKind::Scalar => return value.clone(),
        AtomKind::Map => match value {
            Node::Map(map) if !map.is_empty() && !type_ref.is_atomic_map() => map_without(type_ref, map, set),
            _ => None,
        },
        AtomKind::List => match value {
            Node::List(list) if !list.is_empty() && !matches!(type_ref.keys(), Keys::Atomic) => {
                list_without(type_ref, list, set)
            }
            _ => None,
        },
    };
    rest.unwrap_or_default()
}

fn map_without(type_ref: TypeRef<'_>, map: &Map<Node>, set: &FieldSet) -> Option<Node> {
    let mut rest = Map::with_capacity(map.len());
    for (name, value) in map.iter() {
        let element = PathElement::Field(name.clone());
        if set.has(&element) {
            continue;
        }
        let value = match set.below(&element).filter(|below| !below.is_empty()) {
            Some(below) => {
                let child = type_ref.field(name).unwrap_or(TypeRef::Deduced);
                with_stack(|| without(child, value, below))
            }
            None => value.clone(),
        };
        rest.insert(name.clone(), value);
    }
    (!rest.is_empty()).then_some(Node::Map(rest))
}

fn list_without(type_ref: TypeRef<'_>, list: &[Node], set: &FieldSet) -> Option<Node> {
    let mut rest = Vec::with_capacity(list.len());
    for item in list {
        let Ok(element) = type_ref.element(item) else {
            rest.push(item.clone());
            continue;
        };
        if set.has(&element) {
            continue;
        }
        rest.push(match set.below(&element).filter(|below| !below.is_empty()) {
            Some(below) => with_stack(|| without(type_ref.items(), item, below)),
            None => item.clone(),
        });
    }
    (!rest.is_empty()).then_some(Node::List(rest))
}

//! The fields that an object has, which are what one who applies it comes to own; and an object without some fields.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, with_stack};

use super::set::{Element, FieldSet, MAX_DEPTH};
use super::typed::{Form, Keys, Place};

/// The fields of an object.
pub(super) fn fields_of(place: Place<'_>, object: &Node) -> FieldSet {
    let mut set = FieldSet::default();
    collect(place, object, &mut Vec::new(), &mut set);
    set
}

fn collect(place: Place<'_>, value: &Node, path: &mut Vec<Element>, set: &mut FieldSet) {
    match place.form(Some(value)) {
        _ if path.len() > MAX_DEPTH => set.insert(path),
        Form::Scalar => set.insert(path),
        Form::Map if place.is_atomic_map() => set.insert(path),
        Form::List if matches!(place.keys(), Keys::Atomic) => set.insert(path),
        Form::Map => {
            for (name, value) in value.as_map().into_iter().flat_map(Map::iter) {
                path.push(Element::Field(name.clone()));
                with_stack(|| collect(place.field(name).unwrap_or(Place::Deduced), value, path, set));
                let is_empty = value.is_nil() || value.as_map().is_some_and(Map::is_empty);
                if is_empty || !place.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Form::List => collect_elements(place, value.as_list().unwrap_or_default(), path, set),
    }
}

fn collect_elements(place: Place<'_>, list: &[Node], path: &mut Vec<Element>, set: &mut FieldSet) {
    let mut seen: BTreeMap<Element, Vec<&Node>> = BTreeMap::new();
    for item in list {
        if let Ok(element) = place.element(item) {
            seen.entry(element).or_default().push(item);
        }
    }
    for (element, items) in seen {
        path.push(element);
        // What is there twice is owned as a whole.
        if let [item] = items[..] {
            with_stack(|| collect(place.items(), item, path, set));
        }
        set.insert(path);
        path.pop();
    }
}

/// The value without the fields of `set`; maps and lists that become empty become null.
pub(super) fn without(place: Place<'_>, value: &Node, set: &FieldSet) -> Node {
    let rest = match place.form(Some(value)) {
        Form::Scalar => return value.clone(),
        Form::Map => match value {
            Node::Map(map) if !map.is_empty() && !place.is_atomic_map() => map_without(place, map, set),
            _ => None,
        },
        Form::List => match value {
            Node::List(list) if !list.is_empty() && !matches!(place.keys(), Keys::Atomic) => {
                list_without(place, list, set)
            }
            _ => None,
        },
    };
    rest.unwrap_or_default()
}

fn map_without(place: Place<'_>, map: &Map<Node>, set: &FieldSet) -> Option<Node> {
    let mut rest = Map::with_capacity(map.len());
    for (name, value) in map.iter() {
        let element = Element::Field(name.clone());
        if set.has(&element) {
            continue;
        }
        let value = match set.below(&element).filter(|below| !below.is_empty()) {
            Some(below) => {
                let child = place.field(name).unwrap_or(Place::Deduced);
                with_stack(|| without(child, value, below))
            }
            None => value.clone(),
        };
        rest.insert(name.clone(), value);
    }
    (!rest.is_empty()).then_some(Node::Map(rest))
}

fn list_without(place: Place<'_>, list: &[Node], set: &FieldSet) -> Option<Node> {
    let mut rest = Vec::with_capacity(list.len());
    for item in list {
        let Ok(element) = place.element(item) else {
            rest.push(item.clone());
            continue;
        };
        if set.has(&element) {
            continue;
        }
        rest.push(match set.below(&element).filter(|below| !below.is_empty()) {
            Some(below) => with_stack(|| without(place.items(), item, below)),
            None => item.clone(),
        });
    }
    (!rest.is_empty()).then_some(Node::List(rest))
}

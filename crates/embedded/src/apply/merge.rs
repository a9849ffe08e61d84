//! Merging an applied configuration into the live object.
//!
//! Follows `merge.go` of structured-merge-diff step by step, including its order of list elements: variables and init
//! containers depend on it.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Map, Node, with_stack};

use super::field_set::PathElement;
use super::typed::{AtomKind, Keys, TypeRef, preferred_atom, zip};

pub(super) fn merge(type_ref: TypeRef<'_>, live: &Node, applied: &Node) -> Node {
    both(type_ref, Some(live), Some(applied)).unwrap_or_default()
}

fn both(type_ref: TypeRef<'_>, live: Option<&Node>, applied: Option<&Node>) -> Option<Node> {
    let value = applied.or(live);
    // A null applied over a value is merged with the type of that value.
    match preferred_atom(type_ref.allowed_atoms(value.filter(|value| !value.is_nil()).or(live))) {
        AtomKind::Scalar => value.cloned(),
        AtomKind::Map => {
            let (under, over) = (live.and_then(Node::as_map), applied.and_then(Node::as_map));
            let is_empty = |map: Option<&Map<Node>>| map.is_none_or(Map::is_empty);
            // Nothing to merge, so that the difference between null, empty and absent is preserved.
            if type_ref.is_atomic_map() || (is_empty(under) && is_empty(over)) {
                return value.cloned();
            }
            let mut merged = Map::new();
            for (name, live, applied) in zip(under, over) {
                let child = type_ref.field(name).unwrap_or(TypeRef::Deduced);
                if let Some(value) = with_stack(|| both(child, live, applied)) {
                    merged.insert(name.clone(), value);
                }
            }
            // As structured-merge-diff: a map of which nothing is left is absent, not empty.
            (!merged.is_empty()).then_some(Node::Map(merged))
        }
        AtomKind::List => {
            let (under, over) = (live.and_then(Node::as_list), applied.and_then(Node::as_list));
            let is_empty = |list: Option<&[Node]>| list.is_none_or(<[Node]>::is_empty);
            if matches!(type_ref.keys(), Keys::Atomic) || (is_empty(under) && is_empty(over)) {
                return value.cloned();
            }
            let merged = lists(type_ref, under.unwrap_or_default(), over.unwrap_or_default());
            (!merged.is_empty()).then_some(Node::List(merged))
        }
    }
}

/// The elements of an associative list by their keys.
struct Named<'n> {
    order: Vec<PathElement>,
    /// `None` for duplicate keys.
    values: BTreeMap<PathElement, Option<&'n Node>>,
}

impl<'n> Named<'n> {
    fn new(type_ref: TypeRef<'_>, list: &'n [Node]) -> Named<'n> {
        let mut named = Named { order: Vec::with_capacity(list.len()), values: BTreeMap::new() };
        for item in list {
            // Elements without a valid key are skipped; validation reports those of the applied list.
            let Ok(element) = type_ref.element(item) else { continue };
            let value = if named.values.contains_key(&element) { None } else { Some(item) };
            named.values.insert(element.clone(), value);
            named.order.push(element);
        }
        named
    }

    fn has(&self, element: &PathElement) -> bool {
        self.values.contains_key(element)
    }

    fn value(&self, element: &PathElement) -> Option<&'n Node> {
        self.values.get(element).copied().flatten()
    }
}

/// Elements of both lists are in the order of the applied one; elements of one list only keep their place between them.
fn lists(type_ref: TypeRef<'_>, live: &[Node], applied: &[Node]) -> Vec<Node> {
    let (under, over) = (Named::new(type_ref, live), Named::new(type_ref, applied));
    let mut shared = over.order.iter().filter(|element| under.has(element)).peekable();
    let mut merged = Vec::with_capacity(live.len().max(applied.len()));
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let (mut at, mut next) = (0, 0);
    let item = |element: &PathElement, live: Option<&Node>, merged: &mut Vec<Node>| {
        let value = with_stack(|| both(type_ref.items(), live, over.value(element)));
        merged.extend(value);
    };
    // Walks both lists in parallel, as structured-merge-diff does.
    while at < under.order.len() || next < over.order.len() {
        if let Some(element) = under.order.get(at) {
            if over.order.get(next) == Some(element) {
                item(element, under.value(element), &mut merged);
                done.insert(element);
                at += 1;
                next += 1;
                shared.next();
                continue;
            }
            // A shared element is emitted at its position in the applied list.
            let waits = shared.peek().is_some_and(|wanted| *wanted != element);
            if next < over.order.len() && over.has(element) && waits {
                at += 1;
                continue;
            }
            // An element of the live list only.
            if !over.has(element) {
                item(element, live.get(at), &mut merged);
                at += 1;
                continue;
            }
            if done.contains(element) {
                at += 1;
            }
        }
        if let Some(element) = over.order.get(next) {
            item(element, under.value(element), &mut merged);
            done.insert(element);
            next += 1;
            if shared.peek() == Some(&element) {
                shared.next();
            }
        }
    }
    merged
}

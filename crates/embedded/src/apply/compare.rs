//! Comparison of two objects, field by field.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, with_stack};

use super::field_set::{FieldSet, MAX_DEPTH, PathElement};
use super::typed::{AtomKind, Keys, TypeRef, preferred_atom, values_equal, zip};

/// The fields in which two objects differ (`typed.Comparison` of structured-merge-diff).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the old object has.
    pub removed: FieldSet,
    /// Fields that both have, with other values.
    pub modified: FieldSet,
    /// Fields that only the new object has.
    pub added: FieldSet,
}

impl Comparison {
    pub(super) fn new(type_ref: TypeRef<'_>, old: &Node, new: &Node) -> Comparison {
        let mut walk = Walk { path: Vec::new(), found: Comparison::default() };
        walk.both(type_ref, Some(old), Some(new));
        walk.found
    }

    /// The comparison without ignored fields.
    #[must_use]
    pub(super) fn without(&self, ignored: &FieldSet) -> Comparison {
        Comparison {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

struct Walk {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Walk {
    fn both(&mut self, type_ref: TypeRef<'_>, old: Option<&Node>, new: Option<&Node>) {
        let (before, after) = (type_ref.allowed_atoms(old), type_ref.allowed_atoms(new));
        let is_leaf = if new.is_none() {
            self.as_atom(preferred_atom(before), type_ref, old, new)
        // A value that changes its type (a map that becomes a scalar) is compared as both: all below the old one is
        // removed, all below the new one added.
        } else if old.is_none() || before == after {
            self.as_atom(preferred_atom(after), type_ref, old, new)
        } else {
            self.as_atom(preferred_atom(before), type_ref, old, new);
            self.as_atom(preferred_atom(after), type_ref, old, new)
        };
        if !is_leaf {
            if old.is_none() {
                self.found.added.insert(&self.path);
            } else if new.is_none() {
                self.found.removed.insert(&self.path);
            }
        }
    }

    /// Compares two values as the given kind. Returns whether they were compared as one leaf.
    fn as_atom(
        &mut self,
        atom_kind: AtomKind,
        type_ref: TypeRef<'_>,
        old: Option<&Node>,
        new: Option<&Node>,
    ) -> bool {
        match atom_kind {
            // The field sets that result are bounded in depth, and so must the walk be.
            _ if self.path.len() > MAX_DEPTH => self.leaf(old, new),
            AtomKind::Scalar => self.leaf(old, new),
            AtomKind::Map => {
                let (before, after) = (old.and_then(Node::as_map), new.and_then(Node::as_map));
                let is_empty = |map: Option<&Map<Node>>| map.is_none_or(Map::is_empty);
                if type_ref.is_atomic_map() || (is_empty(before) && is_empty(after)) {
                    return self.leaf(old, new);
                }
                for (name, old, new) in zip(before, after) {
                    self.path.push(PathElement::Field(name.clone()));
                    let child = type_ref.field(name).unwrap_or(TypeRef::Deduced);
                    with_stack(|| self.both(child, old, new));
                    self.path.pop();
                }
                false
            }
            AtomKind::List => {
                let (before, after) = (old.and_then(Node::as_list), new.and_then(Node::as_list));
                let is_empty = |list: Option<&[Node]>| list.is_none_or(<[Node]>::is_empty);
                if matches!(type_ref.keys(), Keys::Atomic) || (is_empty(before) && is_empty(after)) {
                    return self.leaf(old, new);
                }
                self.lists(type_ref, before.unwrap_or_default(), after.unwrap_or_default());
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Node>, new: Option<&Node>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !values_equal(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn lists(&mut self, type_ref: TypeRef<'_>, old: &[Node], new: &[Node]) {
        // Stored lists can have duplicate keys, such as the same variable twice: only apply rejects them.
        let mut elements: BTreeMap<PathElement, (Vec<&Node>, Vec<&Node>)> = BTreeMap::new();
        // Elements without a valid key are skipped; validation reports them.
        for item in old {
            if let Ok(element) = type_ref.element(item) {
                elements.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = type_ref.element(item) {
                elements.entry(element).or_default().1.push(item);
            }
        }
        for (element, (olds, news)) in elements {
            self.path.push(element);
            self.elements(type_ref.items(), &olds, &news);
            self.path.pop();
        }
    }

    /// Compares the elements with one key. Duplicates are compared as one value.
    fn elements(&mut self, type_ref: TypeRef<'_>, old: &[&Node], new: &[&Node]) {
        match (old, new) {
            ([] | [_], [] | [_]) => {
                with_stack(|| self.both(type_ref, old.first().copied(), new.first().copied()))
            }
            ([_, _, ..], [_, _, ..]) => {
                let equal =
                    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| values_equal(old, new));
                if !equal {
                    self.found.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                if let Some(new) = new.first() {
                    with_stack(|| self.both(type_ref, None, Some(new)));
                }
                self.found.removed.insert(&self.path);
            }
            (_, _) => {
                if let Some(old) = old.first() {
                    with_stack(|| self.both(type_ref, Some(old), None));
                }
                self.found.added.insert(&self.path);
            }
        }
    }
}

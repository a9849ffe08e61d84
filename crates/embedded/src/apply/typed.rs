//! Types as structured-merge-diff sees them: granular and atomic maps, and atomic, set and associative lists.

use pintle_tree::{Map, Node, Str};

use super::field_set::{FieldSet, PathElement, Scalar};
use crate::schema::{Additional, ListType, Schema, Type};

/// Raw objects are atomic: their type is unknown to the schema.
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// The type of a value.
#[derive(Clone, Copy)]
pub(super) enum TypeRef<'t> {
    /// The type by its schema; the flag is whether an ancestor preserves unknown fields.
    Known(Schema<'t>, bool),
    /// A type deduced from the value: maps are granular, lists atomic.
    Deduced,
    /// An atomic type.
    Whole,
}

/// The three kinds of types (`schema.Atom`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtomKind {
    Map,
    Scalar,
    List,
}

/// The scalars that a type accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarType {
    Number,
    Text,
    Bool,
    Any,
}

/// How list elements are identified.
pub(super) enum Keys<'t> {
    /// The list is atomic.
    Atomic,
    /// By value.
    Set,
    /// By key fields.
    Fields(&'t [Str]),
}

impl<'t> TypeRef<'t> {
    pub(super) fn root(schema: Schema<'t>) -> TypeRef<'t> {
        TypeRef::new(schema, false)
    }

    fn new(schema: Schema<'t>, keeps: bool) -> TypeRef<'t> {
        if schema.definition().is_some_and(|name| name == RAW) {
            return TypeRef::Whole;
        }
        // Unknown fields are preserved in the whole tree below, not just in the object that says so.
        TypeRef::Known(schema, keeps || schema.shape().preserve_unknown)
    }

    /// Which kinds are allowed: map, scalar, list.
    fn atoms(&self) -> [bool; 3] {
        let TypeRef::Known(schema, _) = self else { return [true; 3] };
        match schema.kind() {
            Type::Object => [true, false, false],
            Type::List => [false, false, true],
            Type::Any => [true; 3],
            Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::String
            | Type::IntOrString
            | Type::Quantity => [false, true, false],
        }
    }

    /// The kinds that a value can have: its own if the type allows it, else all that the type allows.
    pub(super) fn allowed_atoms(&self, value: Option<&Node>) -> [bool; 3] {
        let allowed = self.atoms();
        let own = match value {
            None | Some(Node::Nil) => None,
            Some(Node::Map(_)) => Some(0),
            Some(Node::List(_)) => Some(2),
            Some(_) => Some(1),
        };
        match own {
            // A value of a type that is not allowed is treated by the schema; validation reports it.
            Some(own) if allowed[own] => std::array::from_fn(|index| index == own),
            _ => allowed,
        }
    }

    /// The kind that a value is treated as.
    pub(super) fn atom_kind(&self, value: Option<&Node>) -> AtomKind {
        preferred_atom(self.allowed_atoms(value))
    }

    pub(super) fn scalar(&self) -> ScalarType {
        let TypeRef::Known(schema, _) = self else { return ScalarType::Any };
        // Formats such as `int-or-string` accept any scalar.
        let plain = schema.shape().format.as_ref().is_none_or(|format| format == "byte");
        match schema.kind() {
            Type::Boolean => ScalarType::Bool,
            Type::Integer | Type::Number => ScalarType::Number,
            Type::String if plain => ScalarType::Text,
            _ => ScalarType::Any,
        }
    }

    pub(super) fn is_atomic_map(&self) -> bool {
        match self {
            TypeRef::Known(schema, _) => schema.is_atomic_map(),
            TypeRef::Deduced => false,
            TypeRef::Whole => true,
        }
    }

    /// Whether the schema declares this field.
    pub(super) fn names(&self, name: &Str) -> bool {
        matches!(self, TypeRef::Known(schema, _) if schema.shape().fields.contains_key(name))
    }

    /// The type of a field; `None` if it is not allowed.
    pub(super) fn field(&self, name: &Str) -> Option<TypeRef<'t>> {
        let TypeRef::Known(schema, keeps) = self else { return Some(*self) };
        if let Some(field) = schema.field(name) {
            return Some(TypeRef::new(field, *keeps));
        }
        match &schema.shape().additional {
            Additional::Shape(_) => schema.additional().map(|other| TypeRef::new(other, *keeps)),
            Additional::Any => Some(TypeRef::Deduced),
            // An object without declared fields is free-form in the schemas of built-in kinds.
            Additional::None if *keeps || schema.shape().fields.is_empty() => Some(TypeRef::Deduced),
            Additional::None => None,
        }
    }

    pub(super) fn items(&self) -> TypeRef<'t> {
        match self {
            TypeRef::Known(schema, keeps) => {
                schema.items().map_or(TypeRef::Whole, |items| TypeRef::new(items, *keeps))
            }
            _ => TypeRef::Whole,
        }
    }

    pub(super) fn keys(&self) -> Keys<'t> {
        let TypeRef::Known(schema, _) = self else { return Keys::Atomic };
        match schema.list() {
            ListType::Set => Keys::Set,
            ListType::Map(keys) => Keys::Fields(keys),
            ListType::Atomic => Keys::Atomic,
        }
    }

    /// The path element of a list element.
    pub(super) fn element(&self, item: &Node) -> Result<PathElement, String> {
        match self.keys() {
            Keys::Atomic => Err("invalid indexing of non-associative list".into()),
            Keys::Set => set_element(item),
            Keys::Fields(keys) => keyed_element(item, keys, self.items()),
        }
    }

    /// The set and all named fields on the paths to its members.
    pub(super) fn with_named_ancestors(&self, set: &FieldSet) -> FieldSet {
        let mut all = FieldSet::default();
        for member in set.members() {
            all.add_member(member.clone());
        }
        for (element, below) in set.children() {
            let child = match element {
                PathElement::Field(name) => {
                    if self.names(name) {
                        all.add_member(element.clone());
                    }
                    self.field(name)
                }
                PathElement::Key(_) => Some(self.items()),
                _ => None,
            };
            let below = match child {
                Some(child) => pintle_tree::with_stack(|| child.with_named_ancestors(below)),
                None => below.clone(),
            };
            all.add_child(element.clone(), below);
        }
        all
    }
}

/// The kind to treat a value as, of those that are possible.
pub(super) fn preferred_atom(open: [bool; 3]) -> AtomKind {
    // The order in which structured-merge-diff tries the kinds.
    match open {
        [true, ..] => AtomKind::Map,
        [_, true, _] => AtomKind::Scalar,
        _ => AtomKind::List,
    }
}

fn set_element(item: &Node) -> Result<PathElement, String> {
    match item {
        Node::Map(_) => Err("associative list without keys has an element that's a map type".into()),
        Node::List(_) => Err("not supported: associative list with lists as elements".into()),
        Node::Nil => Err("associative list without keys has an element that's an explicit null".into()),
        _ => Ok(PathElement::Value(Scalar::from_node(item))),
    }
}

/// Missing key fields get the default of the schema, as `protocol` of a port; without a default they are left out.
fn keyed_element(item: &Node, keys: &[Str], items: TypeRef<'_>) -> Result<PathElement, String> {
    let map = match item {
        Node::Map(map) => map,
        Node::Nil => return Err("associative list with keys may not have a null element".into()),
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut found: Vec<(Str, Scalar)> = Vec::with_capacity(keys.len());
    for key in keys {
        // A port without `protocol` is the same element as one with `TCP`.
        let default = || match items.field(key) {
            Some(TypeRef::Known(schema, _)) => schema.default(),
            _ => None,
        };
        if let Some(value) = map.get(key).or_else(default) {
            found.push((key.clone(), Scalar::from_node(value)));
        }
    }
    if found.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| pintle_tree::quote::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            names.join(" ")
        ));
    }
    found.sort();
    Ok(PathElement::Key(found))
}

/// Equality that does not depend on how numbers are written.
pub(super) fn values_equal(left: &Node, right: &Node) -> bool {
    match (left, right) {
        // JSON has one type of numbers; 1 and 1.0 are the same value.
        (Node::Int(left), Node::Float(right)) | (Node::Float(right), Node::Int(left)) => {
            *left as f64 == *right
        }
        (Node::List(left), Node::List(right)) => {
            let all = || left.iter().zip(right).all(|(left, right)| values_equal(left, right));
            left.len() == right.len() && pintle_tree::with_stack(all)
        }
        (Node::Map(left), Node::Map(right)) => pintle_tree::with_stack(|| maps_equal(left, right)),
        _ => left == right,
    }
}

fn maps_equal(left: &Map<Node>, right: &Map<Node>) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right.iter())
            .all(|((name, left), (other, right))| name == other && values_equal(left, right))
}

/// The fields of both maps in order, with both values.
pub(super) fn zip<'n>(
    left: Option<&'n Map<Node>>,
    right: Option<&'n Map<Node>>,
) -> Vec<(&'n Str, Option<&'n Node>, Option<&'n Node>)> {
    let (left, right) = (left.map_or(&[][..], Map::entries), right.map_or(&[][..], Map::entries));
    let mut both = Vec::with_capacity(left.len().max(right.len()));
    let (mut at, mut other) = (0, 0);
    while at < left.len() || other < right.len() {
        let order = match (left.get(at), right.get(other)) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (take_left, take_right) = (order.is_le(), order.is_ge());
        let name = if take_left { &left[at].0 } else { &right[other].0 };
        both.push((name, take_left.then(|| &left[at].1), take_right.then(|| &right[other].1)));
        at += usize::from(take_left);
        other += usize::from(take_right);
    }
    both
}

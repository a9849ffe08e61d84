//! Template values: Go's kinds and types, shared maps, and host objects.

use std::borrow::Cow;
use std::rc::Rc;

use pintle_tree::{Map, Node, Str, with_stack};

pub use crate::collection::{List, ListType, MapRef, MapType};
use crate::object::Object;

/// A value inside one render. Clones share: a map modified through one clone is modified for all, as in Go.
///
/// It is deliberately single-threaded; [`Node`] is the type that crosses threads.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Go's nil.
    #[default]
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer of some width; unsigned 64-bit values are stored as their bits.
    Int(IntKind, i64),
    /// A float64.
    Float(f64),
    /// A complex128, which only template literals can produce.
    Complex(Box<(f64, f64)>),
    /// A string.
    Str(Str),
    /// A `[]byte`.
    Bytes(Str),
    /// A slice. Templates cannot modify one in place, so it is shared.
    List(List),
    /// A mutable map with string keys.
    Map(MapRef),
    /// A struct, pointer or named type with its own fields and methods.
    Object(Rc<dyn Object>),
}

/// Go's integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntKind {
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

impl IntKind {
    /// The name of the type in Go.
    pub const fn name(self) -> &'static str {
        match self {
            IntKind::Int => "int",
            IntKind::Int8 => "int8",
            IntKind::Int16 => "int16",
            IntKind::Int32 => "int32",
            IntKind::Int64 => "int64",
            IntKind::Uint => "uint",
            IntKind::Uint8 => "uint8",
            IntKind::Uint16 => "uint16",
            IntKind::Uint32 => "uint32",
            IntKind::Uint64 => "uint64",
        }
    }

    /// Whether the type is unsigned.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, IntKind::Uint | IntKind::Uint8 | IntKind::Uint16 | IntKind::Uint32 | IntKind::Uint64)
    }
}

/// Go's `reflect.Kind`, as far as template values have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Invalid,
    Bool,
    Int(IntKind),
    Float64,
    Complex128,
    String,
    Slice,
    Map,
    Struct,
    Pointer,
    Func,
}

impl Kind {
    /// The name of the kind in Go, as `kindOf` gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::Bool => "bool",
            Kind::Int(kind) => kind.name(),
            Kind::Float64 => "float64",
            Kind::Complex128 => "complex128",
            Kind::String => "string",
            Kind::Slice => "slice",
            Kind::Map => "map",
            Kind::Struct => "struct",
            Kind::Pointer => "ptr",
            Kind::Func => "func",
        }
    }
}

impl Value {
    /// Returns an `int`.
    pub const fn int(value: i64) -> Self {
        Value::Int(IntKind::Int, value)
    }

    /// Returns an `int64`.
    pub const fn int64(value: i64) -> Self {
        Value::Int(IntKind::Int64, value)
    }

    /// Returns a string.
    pub fn str(text: impl Into<Str>) -> Self {
        Value::Str(text.into())
    }

    /// Returns a `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Self {
        Value::List(List::new(items))
    }

    /// Returns a `[]string`.
    pub fn strings(items: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        Value::List(List::of(ListType::Str, items.into_iter().map(Value::str).collect()))
    }

    /// Returns Go's nil `[]byte`: of length zero, but `null` in JSON and equal to nil.
    pub const fn nil_bytes() -> Self {
        Value::List(List::nil(ListType::Bytes))
    }

    /// Returns a new `map[string]interface {}`.
    pub fn map(entries: Map<Value>) -> Self {
        Value::Map(MapRef::new(entries))
    }

    /// Returns a value for a host object.
    pub fn object(object: impl Object + 'static) -> Self {
        Value::Object(Rc::new(object))
    }

    /// Whether the value is nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Go's kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Nil => Kind::Invalid,
            Value::Bool(_) => Kind::Bool,
            Value::Int(kind, _) => Kind::Int(*kind),
            Value::Float(_) => Kind::Float64,
            Value::Complex(_) => Kind::Complex128,
            Value::Str(_) => Kind::String,
            Value::Bytes(_) | Value::List(_) => Kind::Slice,
            Value::Map(_) => Kind::Map,
            Value::Object(object) => object.kind(),
        }
    }

    /// Go's name for the type of the value, as `%T` prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(kind, _) => kind.name(),
            Value::Float(_) => "float64",
            Value::Complex(_) => "complex128",
            Value::Str(_) => "string",
            Value::Bytes(_) => "[]uint8",
            Value::List(list) => list.of.name(),
            Value::Map(map) => map.of.name(),
            Value::Object(object) => object.type_name(),
        })
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&Str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&MapRef> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The slice, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The host object as `T`, if it is one.
    pub fn downcast<T: 'static>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Go's `IsTrue`, as `if` and `and` use it: false for nil, zero, and anything of length zero.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(_, value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Complex(parts) => parts.0 != 0.0 || parts.1 != 0.0,
            Value::Str(text) | Value::Bytes(text) => !text.is_empty(),
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) => !map.is_empty(),
            Value::Object(object) => object.is_true(),
        }
    }

    /// Converts a tree that was read from a file or a flag.
    pub fn from_node(node: &Node) -> Value {
        match node {
            Node::Nil => Value::Nil,
            Node::Bool(value) => Value::Bool(*value),
            // Values from files are float64 by then (Helm reads YAML through JSON); integers come from
            // `--set`, which parses int64.
            Node::Int(value) => Value::int64(*value),
            Node::Float(value) => Value::Float(*value),
            Node::Str(text) => Value::Str(text.clone()),
            Node::List(items) => with_stack(|| Value::list(items.iter().map(Value::from_node).collect())),
            Node::Map(map) => with_stack(|| Value::map(Value::entries_from(map))),
        }
    }

    /// Converts the entries of a tree map.
    pub fn entries_from(map: &Map<Node>) -> Map<Value> {
        map.iter().map(|(key, node)| (key.clone(), Value::from_node(node))).collect()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Str(text.into())
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Self {
        Value::Str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_through_every_alias() {
        let map = MapRef::new(Map::new());
        let alias = Value::Map(map.clone());
        map.insert("k".into(), Value::int(1));
        assert!(alias.is_true());
        assert!(alias.as_map().is_some_and(|alias| alias.same(&map)));
    }

    #[test]
    fn values_are_small() {
        assert!(size_of::<Value>() <= 32);
    }
}

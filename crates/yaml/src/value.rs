//! A tree that distinguishes the three kinds of numbers of go-yaml, which [`Node`] does not.
//!
//! [`Node`]: pintle_tree::Node

use pintle_tree::{Map, Sink, Str, Walk};

use crate::builder::Assemble;

/// A tree as go-yaml holds it between reading and writing. Maps are in byte order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str(Str),
    List(Vec<Value>),
    Map(Map<Value>),
}

impl Value {
    /// The first number, in the order of JSON text, that JSON cannot represent.
    pub(crate) fn first_unsupported(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value).filter(|value| !value.is_finite()),
            Value::List(items) => items.iter().find_map(Value::first_unsupported),
            Value::Map(map) => map.values().find_map(Value::first_unsupported),
            _ => None,
        }
    }
}

impl Assemble for Value {
    fn text(bytes: &[u8]) -> Str {
        Str::new(bytes)
    }

    fn nil() -> Self {
        Value::Nil
    }

    fn bool(value: bool) -> Self {
        Value::Bool(value)
    }

    fn int(value: i64) -> Self {
        Value::Int(value)
    }

    fn uint(value: u64) -> Self {
        Value::Uint(value)
    }

    fn float(value: f64) -> Self {
        Value::Float(value)
    }

    fn str(text: Str) -> Self {
        Value::Str(text)
    }

    fn list(items: Vec<Self>) -> Self {
        Value::List(items)
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Value::Map(Map::from_entries(entries))
    }
}

impl Walk for Value {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Value::Nil => sink.nil(),
            Value::Bool(value) => sink.bool(*value),
            Value::Int(value) => sink.int(*value),
            Value::Uint(value) => sink.uint(*value),
            Value::Float(value) => sink.float(*value),
            Value::Str(text) => sink.str(text.as_bytes()),
            Value::List(items) => {
                sink.begin_list(items.len())?;
                for item in items {
                    item.walk(sink)?;
                }
                sink.end_list()
            }
            Value::Map(map) => map.walk(sink),
        }
    }
}

//! Values of any type, which go-yaml v3 decodes and writes again.

use pintle_tree::{Sink, Walk};

use super::Decoded;
use super::scalar::Scalar;

/// A value as go-yaml v3 decodes it where it may be anything.
#[derive(Clone, Debug)]
pub(crate) enum Any {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A time, as it is written again.
    Time(String),
    Text(String),
    List(Vec<Any>),
    Map(Vec<(String, Any)>),
}

impl Any {
    /// The value as Go source, which some errors show.
    pub(super) fn go_syntax(&self) -> String {
        let quoted = |text: &str| pintle_tree::quote::quote(text.as_bytes());
        match self {
            Any::Nil => "interface {}(nil)".to_owned(),
            Any::Bool(value) => value.to_string(),
            Any::Int(value) => value.to_string(),
            Any::Uint(value) => format!("{value:#x}"),
            Any::Float(value) => pintle_tree::number::format_value(*value),
            Any::Time(text) | Any::Text(text) => quoted(text),
            Any::List(items) => {
                let items: Vec<String> = items.iter().map(Any::go_syntax).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Any::Map(entries) => {
                let entry = |(key, value): &(String, Any)| format!("{}:{}", quoted(key), value.go_syntax());
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("map[string]interface {{}}{{{}}}", entries.join(", "))
            }
        }
    }
}

impl From<Scalar> for Any {
    fn from(scalar: Scalar) -> Any {
        match scalar {
            Scalar::Nil => Any::Nil,
            Scalar::Bool(value) => Any::Bool(value),
            Scalar::Int(value) => Any::Int(value),
            Scalar::Uint(value) => Any::Uint(value),
            Scalar::Float(value) => Any::Float(value),
            Scalar::Time(text) => Any::Time(text),
            Scalar::Text(text) | Scalar::Binary(text) => Any::Text(text),
        }
    }
}

impl From<&Decoded> for Any {
    fn from(decoded: &Decoded) -> Any {
        match decoded {
            Decoded::Any(any) => any.clone(),
            Decoded::Zero => Any::Nil,
            Decoded::Text(text) => Any::Text(text.clone()),
            Decoded::Bool(value) => Any::Bool(*value),
            Decoded::Number(value) => Any::Uint(*value),
            Decoded::List(items) => Any::List(items.iter().map(Any::from).collect()),
            Decoded::Map(entries) => {
                Any::Map(entries.iter().map(|(key, value)| (key.clone(), Any::from(value))).collect())
            }
        }
    }
}

impl Walk for Any {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Any::Nil => sink.nil(),
            Any::Bool(value) => sink.bool(*value),
            Any::Int(value) => sink.int(*value),
            Any::Uint(value) => sink.uint(*value),
            Any::Float(value) => sink.float(*value),
            Any::Time(text) => sink.time(text.as_bytes()),
            Any::Text(text) => sink.str(text.as_bytes()),
            Any::List(items) => {
                sink.begin_list(items.len())?;
                for item in items {
                    item.walk(sink)?;
                }
                sink.end_list()
            }
            Any::Map(entries) => {
                sink.begin_map(entries.len())?;
                for (key, value) in entries {
                    sink.key(key.as_bytes())?;
                    value.walk(sink)?;
                }
                sink.end_map()
            }
        }
    }
}

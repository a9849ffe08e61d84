//! Values of any type, which go-yaml v3 decodes and writes again.

use pintle_tree::{Sink, Walk};

use super::Decoded;
use super::scalar::Scalar;

/// A value as go-yaml v3 decodes it where it may be anything.
#[derive(Clone, Debug)]
pub(crate) enum Any {
    Scalar(Scalar),
    List(Vec<Any>),
    Map(Vec<(String, Any)>),
}

impl Any {
    /// The value as Go source, which some errors show.
    pub(super) fn go_syntax(&self) -> String {
        let quoted = |text: &str| pintle_tree::quote::quote(text.as_bytes());
        match self {
            Any::Scalar(Scalar::Nil) => "interface {}(nil)".to_owned(),
            Any::Scalar(Scalar::Bool(value)) => value.to_string(),
            Any::Scalar(Scalar::Int(value)) => value.to_string(),
            Any::Scalar(Scalar::Uint(value)) => format!("{value:#x}"),
            Any::Scalar(Scalar::Float(value)) => pintle_tree::number::format_value(*value),
            Any::Scalar(Scalar::Time(text) | Scalar::Text(text) | Scalar::Binary(text)) => quoted(text),
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

impl From<&Decoded> for Any {
    fn from(decoded: &Decoded) -> Any {
        match decoded {
            Decoded::Any(any) => any.clone(),
            Decoded::Zero => Any::Scalar(Scalar::Nil),
            Decoded::Text(text) => Any::Scalar(Scalar::Text(text.clone())),
            Decoded::Bool(value) => Any::Scalar(Scalar::Bool(*value)),
            Decoded::Number(value) => Any::Scalar(Scalar::Uint(*value)),
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
            Any::Scalar(scalar) => scalar.walk(sink),
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

impl Walk for Scalar {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Scalar::Nil => sink.nil(),
            Scalar::Bool(value) => sink.bool(*value),
            Scalar::Int(value) => sink.int(*value),
            Scalar::Uint(value) => sink.uint(*value),
            Scalar::Float(value) => sink.float(*value),
            Scalar::Time(text) => sink.time(text.as_bytes()),
            Scalar::Text(text) | Scalar::Binary(text) => sink.str(text.as_bytes()),
        }
    }
}

//! Decodes trees to structs as Go's `encoding/json`, with its error messages.
//!
//! There are two kinds of errors. A type mismatch is recorded and decoding continues; the first one is returned at
//! the end. An error of a type with its own `UnmarshalJSON`, such as a time, ends decoding at once and takes
//! precedence.

use base64::Engine as _;
use pintle_tree::{Node, Str, number};
use pintle_yaml::decode::matches_field;

use super::pack::{GO_BASE64, decode_base64_like_go};
use crate::Timestamp;

/// An error that ends decoding at once.
pub(super) type DecodeError = String;

/// The path of a value: the innermost Go struct and the field names that lead to it.
#[derive(Clone, Copy)]
pub(super) struct FieldPath<'a> {
    structure: &'a str,
    parent: Option<&'a FieldPath<'a>>,
    name: &'a str,
}

impl<'a> FieldPath<'a> {
    /// The document itself.
    pub(super) const ROOT: FieldPath<'static> = FieldPath { structure: "", parent: None, name: "" };

    /// The path of a field.
    pub(super) fn field(&'a self, structure: &'a str, name: &'a str) -> FieldPath<'a> {
        FieldPath { structure, parent: Some(self), name }
    }

    fn dotted(&self) -> String {
        match self.parent.map(FieldPath::dotted) {
            Some(path) if !path.is_empty() => format!("{path}.{}", self.name),
            _ => self.name.to_owned(),
        }
    }

    fn describe(&self, expected: &str) -> String {
        if self.parent.is_none() {
            format!("Go value of type {expected}")
        } else {
            format!("Go struct field {}.{} of type {expected}", self.structure, self.dotted())
        }
    }
}

/// The state of decoding: the first type error.
#[derive(Default)]
pub(super) struct Decoder {
    type_error: Option<String>,
}

impl Decoder {
    /// Ends decoding.
    pub(super) fn finish(self) -> Result<(), DecodeError> {
        self.type_error.map_or(Ok(()), Err)
    }

    /// Decodes a type with its own `UnmarshalJSON`, whose type errors end decoding at once.
    pub(super) fn nested<T>(
        read: impl FnOnce(&mut Decoder) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut inner = Decoder::default();
        let value = read(&mut inner)?;
        inner.finish().map(|()| value)
    }

    fn record_error(&mut self, message: impl FnOnce() -> String) {
        if self.type_error.is_none() {
            self.type_error = Some(message());
        }
    }

    /// Records a type error.
    pub(super) fn type_error(&mut self, value: &Node, path: &FieldPath<'_>, expected: &str) {
        self.type_error_for(value.json_type(), path, expected);
    }

    fn type_error_for(&mut self, found: &str, path: &FieldPath<'_>, expected: &str) {
        self.record_error(|| format!("json: cannot unmarshal {found} into {}", path.describe(expected)));
    }

    /// Calls `set` for every field of a struct that is in `names`, matched as Go does. Null leaves the struct
    /// unchanged.
    pub(super) fn fields(
        &mut self,
        value: &Node,
        path: &FieldPath<'_>,
        go_type: &str,
        names: &[&'static str],
        mut set: impl FnMut(&mut Self, &'static str, &Node) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let fields = match value {
            Node::Nil => return Ok(()),
            Node::Map(fields) => fields,
            other => {
                self.type_error(other, path, go_type);
                return Ok(());
            }
        };
        for (key, value) in fields.iter() {
            // Go prefers the exact name, and then ignores case.
            let exact = names.iter().find(|name| *key == ***name);
            if let Some(name) = exact.or_else(|| names.iter().find(|name| matches_field(key, name))) {
                set(self, name, value)?;
            }
        }
        Ok(())
    }

    /// A string of a named or unnamed type.
    pub(super) fn text(&mut self, value: &Node, path: &FieldPath<'_>, go_type: &str, target: &mut String) {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = text.to_str_lossy().into_owned(),
            other => self.type_error(other, path, go_type),
        }
    }

    /// A boolean.
    pub(super) fn bool(&mut self, value: &Node, path: &FieldPath<'_>, target: &mut bool) {
        match value {
            Node::Nil => {}
            Node::Bool(truth) => *target = *truth,
            other => self.type_error(other, path, "bool"),
        }
    }

    /// A whole number.
    pub(super) fn int(&mut self, value: &Node, path: &FieldPath<'_>, target: &mut i64) {
        match value {
            Node::Nil => {}
            Node::Int(number) => *target = *number,
            // Beyond 2^53 a float may not be the number that was written.
            Node::Float(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
                *target = *number as i64;
            }
            Node::Float(number) => {
                let text = number::format_json(*number).unwrap_or_default();
                self.type_error_for(&format!("number {text}"), path, "int");
            }
            other => self.type_error(other, path, "int"),
        }
    }

    /// A time. Null and the zero time leave the target unchanged.
    pub(super) fn timestamp(value: &Node, target: &mut Option<Timestamp>) -> Result<(), DecodeError> {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = Timestamp::parse(&text.to_str_lossy())?.non_zero(),
            _ => return Err("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
        }
        Ok(())
    }

    /// Bytes, encoded as base64.
    pub(super) fn bytes(&mut self, value: &Node, path: &FieldPath<'_>, target: &mut Option<Str>) {
        match value {
            Node::Nil => *target = None,
            Node::Str(text) => match GO_BASE64.decode(text.as_bytes()) {
                Ok(bytes) => *target = Some(bytes.into()),
                Err(_) => match decode_base64_like_go(text.as_bytes()) {
                    Ok(bytes) => *target = Some(bytes.into()),
                    Err(error) => self.record_error(|| error),
                },
            },
            other => self.type_error(other, path, "[]uint8"),
        }
    }

    /// A list; null is `None`. The items are decoded by `read`.
    pub(super) fn list<T>(
        &mut self,
        value: &Node,
        path: &FieldPath<'_>,
        go_type: &str,
        mut read: impl FnMut(&mut Self, usize, &Node) -> Result<Option<T>, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let items = match value {
            Node::Nil => return Ok(None),
            Node::List(items) => items,
            other => {
                self.type_error(other, path, go_type);
                return Ok(None);
            }
        };
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            list.extend(read(self, index, item)?);
        }
        Ok(Some(list))
    }

    /// A list of strings of a named or unnamed type.
    pub(super) fn texts(&mut self, value: &Node, path: &FieldPath<'_>, go_type: &str) -> Vec<String> {
        let list = self.list(value, path, &format!("[]{go_type}"), |decoder, _, item| {
            let mut text = String::new();
            decoder.text(item, path, go_type, &mut text);
            Ok(Some(text))
        });
        list.ok().flatten().unwrap_or_default()
    }
}

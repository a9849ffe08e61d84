//! Decodes trees to structs as Go's `encoding/json`, with its error messages. Decoding continues after an error; the first
//! one is returned at the end.

use base64::Engine as _;
use pintle_tree::json::{push_index, push_key, type_error};
use pintle_tree::{Node, Str, number};
use pintle_yaml::decode::matches_field;

use super::pack::{GO_BASE64, decode_base64_like_go};
use crate::Timestamp;

/// The path of a value.
#[derive(Clone, Copy)]
pub(super) enum FieldPath<'a> {
    /// The document, of the Go type of this name. A type with its own `UnmarshalJSON` begins a new one.
    Root(&'a str),
    /// A field or an entry of a map.
    Field(&'a FieldPath<'a>, &'a str),
    /// An item of a list.
    Item(&'a FieldPath<'a>, usize),
}

impl<'a> FieldPath<'a> {
    /// The path of a field.
    pub(super) fn field(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath::Field(self, name)
    }

    /// The path of an item.
    pub(super) fn item(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath::Item(self, index)
    }

    /// The type of the document and the path in it.
    fn spelled(&self) -> (&'a str, String) {
        match self {
            FieldPath::Root(name) => (name, String::new()),
            FieldPath::Field(parent, name) => {
                let (root, mut path) = parent.spelled();
                push_key(&mut path, name.as_bytes());
                (root, path)
            }
            FieldPath::Item(parent, index) => {
                let (root, mut path) = parent.spelled();
                push_index(&mut path, *index);
                (root, path)
            }
        }
    }
}

/// The state of decoding: the first error.
#[derive(Default)]
pub(super) struct Decoder {
    error: Option<String>,
}

impl Decoder {
    /// Ends decoding.
    pub(super) fn finish(self) -> Result<(), String> {
        self.error.map_or(Ok(()), Err)
    }

    fn record_error(&mut self, message: impl FnOnce() -> String) {
        if self.error.is_none() {
            self.error = Some(message());
        }
    }

    /// Records a type error.
    pub(super) fn type_error(&mut self, value: &Node, path: &FieldPath<'_>, expected: &str) {
        self.type_error_for(value.json_type(), path, expected);
    }

    fn type_error_for(&mut self, found: &str, path: &FieldPath<'_>, expected: &str) {
        self.record_error(|| {
            let (root, path) = path.spelled();
            type_error(found, root, &path, expected)
        });
    }

    /// Calls `set` for every field of a struct that is in `names`, matched as Go does. Null leaves the struct
    /// unchanged.
    pub(super) fn fields(
        &mut self,
        value: &Node,
        path: &FieldPath<'_>,
        go_type: &str,
        names: &[&'static str],
        mut set: impl FnMut(&mut Self, &'static str, &Node),
    ) {
        let fields = match value {
            Node::Nil => return,
            Node::Map(fields) => fields,
            other => return self.type_error(other, path, go_type),
        };
        for (key, value) in fields.iter() {
            // Go prefers the exact name, and then ignores case.
            let exact = names.iter().find(|name| *key == ***name);
            if let Some(name) = exact.or_else(|| names.iter().find(|name| matches_field(key, name))) {
                set(self, name, value);
            }
        }
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
    pub(super) fn timestamp(&mut self, value: &Node, path: &FieldPath<'_>, target: &mut Option<Timestamp>) {
        match value {
            Node::Nil => {}
            Node::Str(text) => match Timestamp::parse(&text.to_str_lossy()) {
                Ok(time) => *target = time.non_zero(),
                Err(error) => self.record_error(|| error),
            },
            other => self.type_error(other, path, "time.Time"),
        }
    }

    /// Bytes, encoded as base64.
    pub(super) fn bytes(&mut self, value: &Node, path: &FieldPath<'_>, target: &mut Option<Str>) {
        match value {
            Node::Nil => *target = None,
            Node::Str(text) => match GO_BASE64.decode(text.as_bytes()) {
                Ok(bytes) => *target = Some(bytes.into()),
                Err(_) => match decode_base64_like_go(text.as_bytes()) {
                    Ok(bytes) => *target = Some(bytes.into()),
                    Err(error) => self.record_error(|| {
                        let (root, path) = path.spelled();
                        format!("{}: {error}", type_error("string", root, &path, "[]uint8"))
                    }),
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
        mut read: impl FnMut(&mut Self, usize, &Node) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = match value {
            Node::Nil => return None,
            Node::List(items) => items,
            other => {
                self.type_error(other, path, go_type);
                return None;
            }
        };
        Some(items.iter().enumerate().filter_map(|(index, item)| read(self, index, item)).collect())
    }

    /// A list of strings of a named or unnamed type.
    pub(super) fn texts(&mut self, value: &Node, path: &FieldPath<'_>, go_type: &str) -> Vec<String> {
        let list = self.list(value, path, &format!("[]{go_type}"), |decoder, index, item| {
            let mut text = String::new();
            decoder.text(item, &path.item(index), go_type, &mut text);
            Some(text)
        });
        list.unwrap_or_default()
    }
}

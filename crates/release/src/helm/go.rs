//! Trees into structs as Go's `encoding/json` does it, with its complaints.
//!
//! Two kinds of trouble: a clash of types is noted and reading goes on, the first one being the verdict; what a type
//! with its own decoder refuses (a time, say) ends the reading at once and wins over all clashes.

use base64::Engine as _;
use pintle_tree::{Node, Str, number};
use pintle_yaml::decode::means_field;

use super::pack::{LENIENT, base64_fault};
use crate::Moment;

/// Trouble that ends the reading at once.
pub(super) type Fatal = String;

/// Where a value goes: the innermost Go struct and the names of the fields down to it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    structure: &'a str,
    parent: Option<&'a Place<'a>>,
    name: &'a str,
}

impl<'a> Place<'a> {
    /// The document itself.
    pub(super) const ROOT: Place<'static> = Place { structure: "", parent: None, name: "" };

    /// A field of the struct that is here.
    pub(super) fn field(&'a self, structure: &'a str, name: &'a str) -> Place<'a> {
        Place { structure, parent: Some(self), name }
    }

    fn path(&self) -> String {
        match self.parent.map(Place::path) {
            Some(path) if !path.is_empty() => format!("{path}.{}", self.name),
            _ => self.name.to_owned(),
        }
    }

    fn describe(&self, wanted: &str) -> String {
        if self.parent.is_none() {
            format!("Go value of type {wanted}")
        } else {
            format!("Go struct field {}.{} of type {wanted}", self.structure, self.path())
        }
    }
}

/// One reading; it remembers the first clash.
#[derive(Default)]
pub(super) struct Reading {
    clash: Option<String>,
}

impl Reading {
    /// Ends the reading.
    pub(super) fn finish(self) -> Result<(), Fatal> {
        self.clash.map_or(Ok(()), Err)
    }

    /// Ends the reading of a type that has its own decoder, whose clashes end the whole reading.
    pub(super) fn within<T>(read: impl FnOnce(&mut Reading) -> Result<T, Fatal>) -> Result<T, Fatal> {
        let mut inner = Reading::default();
        let value = read(&mut inner)?;
        inner.finish().map(|()| value)
    }

    fn note(&mut self, message: impl FnOnce() -> String) {
        if self.clash.is_none() {
            self.clash = Some(message());
        }
    }

    /// Notes that `value` is not what belongs at `place`.
    pub(super) fn clash(&mut self, value: &Node, place: &Place<'_>, wanted: &str) {
        self.clash_of(value.json_type(), place, wanted);
    }

    fn clash_of(&mut self, found: &str, place: &Place<'_>, wanted: &str) {
        self.note(|| format!("json: cannot unmarshal {found} into {}", place.describe(wanted)));
    }

    /// Calls `set` for every field of a struct that has one of `names`. Nil leaves all as it is.
    pub(super) fn fields(
        &mut self,
        value: &Node,
        place: &Place<'_>,
        go_type: &str,
        names: &[&'static str],
        mut set: impl FnMut(&mut Self, &'static str, &Node) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let fields = match value {
            Node::Nil => return Ok(()),
            Node::Map(fields) => fields,
            other => {
                self.clash(other, place, go_type);
                return Ok(());
            }
        };
        for (key, value) in fields.iter() {
            let exact = names.iter().find(|name| *key == ***name);
            if let Some(name) = exact.or_else(|| names.iter().find(|name| means_field(key, name))) {
                set(self, name, value)?;
            }
        }
        Ok(())
    }

    /// A string of a named or unnamed type.
    pub(super) fn text(&mut self, value: &Node, place: &Place<'_>, go_type: &str, target: &mut String) {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = text.to_str_lossy().into_owned(),
            other => self.clash(other, place, go_type),
        }
    }

    /// A boolean.
    pub(super) fn bool(&mut self, value: &Node, place: &Place<'_>, target: &mut bool) {
        match value {
            Node::Nil => {}
            Node::Bool(truth) => *target = *truth,
            other => self.clash(other, place, "bool"),
        }
    }

    /// A whole number.
    pub(super) fn int(&mut self, value: &Node, place: &Place<'_>, target: &mut i64) {
        match value {
            Node::Nil => {}
            Node::Int(number) => *target = *number,
            // Beyond 2^53 floats are whole, but not what was written.
            Node::Float(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
                *target = *number as i64;
            }
            Node::Float(number) => {
                let text = number::format_json(*number).unwrap_or_default();
                self.clash_of(&format!("number {text}"), place, "int");
            }
            other => self.clash(other, place, "int"),
        }
    }

    /// A time. Nil leaves it as it is, and so does the zero time.
    pub(super) fn moment(value: &Node, target: &mut Option<Moment>) -> Result<(), Fatal> {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = Moment::parse(&text.to_str_lossy())?.unless_zero(),
            _ => return Err("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
        }
        Ok(())
    }

    /// Bytes, written as base64.
    pub(super) fn bytes(&mut self, value: &Node, place: &Place<'_>, target: &mut Option<Str>) {
        match value {
            Node::Nil => *target = None,
            Node::Str(text) => match LENIENT.decode(text.as_bytes()) {
                Ok(bytes) => *target = Some(bytes.into()),
                Err(_) => match base64_fault(text.as_bytes()) {
                    Ok(bytes) => *target = Some(bytes.into()),
                    Err(fault) => self.note(|| fault),
                },
            },
            other => self.clash(other, place, "[]uint8"),
        }
    }

    /// A list; nil is no list. The items are read by `read`.
    pub(super) fn list<T>(
        &mut self,
        value: &Node,
        place: &Place<'_>,
        go_type: &str,
        mut read: impl FnMut(&mut Self, usize, &Node) -> Result<Option<T>, Fatal>,
    ) -> Result<Option<Vec<T>>, Fatal> {
        let items = match value {
            Node::Nil => return Ok(None),
            Node::List(items) => items,
            other => {
                self.clash(other, place, go_type);
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
    pub(super) fn texts(&mut self, value: &Node, place: &Place<'_>, go_type: &str) -> Vec<String> {
        let list = self.list(value, place, &format!("[]{go_type}"), |reading, _, item| {
            let mut text = String::new();
            reading.text(item, place, go_type, &mut text);
            Ok(Some(text))
        });
        list.ok().flatten().unwrap_or_default()
    }
}

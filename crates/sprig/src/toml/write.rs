//! Writes TOML: first the plain entries of a table, then its tables, indented by two spaces per level.

use std::borrow::Cow;

use pintle_gotmpl::{Encoded, Fuel, Value};
use pintle_tree::{Str, number};

use super::key::{push_key, push_part, push_quoted};
use super::moment;
use crate::dates;
use crate::encoded_size::{NO_COMPLEX, check};
use crate::text::{MAX_BYTES, items_of, with_stack};

/// Writes a value as a document.
///
/// A single value that is no table is written alone.
pub(super) fn document(fuel: &mut Fuel, value: &Value) -> Result<Vec<u8>, String> {
    check(fuel, value).map_err(|error| match (error.message.as_str(), value) {
        (NO_COMPLEX, Value::Complex(_)) => "unsupported type for key '': complex128".to_owned(),
        (NO_COMPLEX, _) => "unsupported type: complex128".to_owned(),
        _ => error.message,
    })?;
    let mut writer = Writer { out: Vec::new(), key: Vec::new() };
    writer.entry(value)?;
    Ok(writer.out)
}

/// What TOML makes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nil,
    Plain,
    Table,
    Tables,
}

fn shape(value: &Value) -> Result<Shape, String> {
    Ok(match value {
        Value::Nil => Shape::Nil,
        Value::List(list) if list.is_nil() => Shape::Nil,
        Value::Map(map) if map.is_nil() => Shape::Nil,
        Value::Map(_) => Shape::Table,
        Value::Complex(_) => return Err("unsupported type: complex128".to_owned()),
        Value::Object(object) => match object.encode() {
            Encoded::Value(inner) => shape(&inner)?,
            Encoded::Fields(_) => Shape::Table,
            Encoded::Error(message) => return Err(message),
        },
        _ => match items_of(value) {
            Some(items) => list_shape(&items)?,
            None => Shape::Plain,
        },
    })
}

/// A list of nothing but tables is written as such. Nil in a list is an error.
fn list_shape(items: &[Value]) -> Result<Shape, String> {
    let mut all_tables = !items.is_empty();
    for item in items {
        match with_stack(|| shape(item))? {
            Shape::Nil => return Err("toml: cannot encode array with nil element".to_owned()),
            Shape::Table => {}
            _ => all_tables = false,
        }
    }
    Ok(if all_tables { Shape::Tables } else { Shape::Plain })
}

/// The entries of a table.
fn entries(value: &Value) -> Vec<(Str, Value)> {
    match value {
        Value::Map(map) => map.snapshot(),
        Value::Object(object) => match object.encode() {
            Encoded::Value(inner) => entries(&inner),
            Encoded::Fields(fields) => {
                fields.into_iter().map(|(name, value)| (Str::from(name), value)).collect()
            }
            Encoded::Error(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

struct Writer {
    out: Vec<u8>,
    /// The key of the current table.
    key: Vec<Str>,
}

impl Writer {
    /// Ends a line, unless nothing has been written.
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self) {
        // The entries of the document and the headers of its tables are not indented.
        let levels = self.key.len().saturating_sub(1);
        self.out.resize(self.out.len() + 2 * levels, b' ');
    }

    /// Writes the value of the current key.
    fn entry(&mut self, value: &Value) -> Result<(), String> {
        match shape(value)? {
            Shape::Nil if value.as_list().is_none() => Ok(()),
            Shape::Table => {
                if self.key.len() == 1 {
                    self.newline();
                }
                if !self.key.is_empty() {
                    self.header(b"[", b"]")?;
                }
                self.table(value)
            }
            Shape::Tables if self.key.is_empty() => {
                Err("toml: top-level values must be Go maps or structs".to_owned())
            }
            Shape::Tables => {
                for item in items_of(value).unwrap_or_default().iter() {
                    self.newline();
                    self.header(b"[[", b"]]")?;
                    self.table(item)?;
                }
                Ok(())
            }
            Shape::Plain | Shape::Nil => self.plain_entry(value),
        }
    }

    /// Writes the header of a table. Deep tables have long ones, so the size is checked here.
    fn header(&mut self, open: &[u8], close: &[u8]) -> Result<(), String> {
        self.indent();
        self.out.extend_from_slice(open);
        push_key(&self.key, &mut self.out);
        self.out.extend_from_slice(close);
        self.newline();
        if self.out.len() > MAX_BYTES { Err("toml: the document is too large".to_owned()) } else { Ok(()) }
    }

    fn plain_entry(&mut self, value: &Value) -> Result<(), String> {
        let Some(last) = self.key.last().cloned() else {
            return self.element(value);
        };
        self.indent();
        push_part(last.as_bytes(), &mut self.out);
        self.out.extend_from_slice(b" = ");
        self.element(value)?;
        self.newline();
        Ok(())
    }

    /// Writes the entries of a table under the current key.
    fn table(&mut self, value: &Value) -> Result<(), String> {
        let (plain, tables) = parted(value)?;
        // A plain entry after a table header would belong to that table.
        for (key, value) in plain.into_iter().chain(tables) {
            if !is_nil(&value) {
                self.key.push(key);
                with_stack(|| self.entry(&value))?;
                self.key.pop();
            }
        }
        Ok(())
    }

    /// Writes a value inside a list or at the right of a key.
    fn element(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::Bool(value) => self.out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Value::Int(kind, value) if kind.is_unsigned() => {
                self.out.extend_from_slice((*value as u64).to_string().as_bytes());
            }
            Value::Int(_, value) => self.out.extend_from_slice(value.to_string().as_bytes()),
            Value::Float(value) => self.out.extend_from_slice(float(*value).as_bytes()),
            Value::Str(text) => push_quoted(text.as_bytes(), &mut self.out),
            Value::Map(_) => with_stack(|| self.inline_table(value))?,
            // The library writes durations as text, which it also reads.
            Value::Object(object) if object.type_name() == "time.Duration" => {
                push_quoted(object.print().as_bytes(), &mut self.out);
            }
            Value::Object(object) => match (dates::time_of(value), object.encode()) {
                (Some(time), Encoded::Value(Value::Str(text))) => {
                    let local = moment::written_locally(time);
                    self.out.extend_from_slice(local.as_deref().map_or(text.as_bytes(), str::as_bytes));
                }
                (_, Encoded::Value(inner)) => self.element(&inner)?,
                (_, _) => self.inline_table(value)?,
            },
            _ => {
                let items = items_of(value).unwrap_or_default();
                self.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    with_stack(|| self.element(item))?;
                }
                self.out.push(b']');
            }
        }
        Ok(())
    }

    /// Writes an inline table. As in BurntSushi's library, a nil entry at the end leaves the comma before it.
    fn inline_table(&mut self, value: &Value) -> Result<(), String> {
        let (plain, tables) = parted(value)?;
        self.out.push(b'{');
        let count = plain.len() + tables.len();
        for (index, (key, value)) in plain.iter().chain(&tables).enumerate() {
            if is_nil(value) {
                continue;
            }
            push_part(key.as_bytes(), &mut self.out);
            self.out.extend_from_slice(b" = ");
            self.element(value)?;
            if index + 1 < count {
                self.out.extend_from_slice(b", ");
            }
        }
        self.out.push(b'}');
        Ok(())
    }
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => value.is_nil(),
    }
}

type Entries = Vec<(Str, Value)>;

/// The plain entries of a table, and those that are tables.
fn parted(value: &Value) -> Result<(Entries, Entries), String> {
    let (mut plain, mut tables) = (Vec::new(), Vec::new());
    for (key, value) in entries(value) {
        match shape(&value)? {
            Shape::Table | Shape::Tables => tables.push((key, value)),
            Shape::Plain | Shape::Nil => plain.push((key, value)),
        }
    }
    Ok((plain, tables))
}

fn float(value: f64) -> Cow<'static, str> {
    if value.is_nan() {
        // Go's `math.Signbit` works for NaN too.
        return Cow::Borrowed(if value.is_sign_negative() { "-nan" } else { "nan" });
    }
    if value.is_infinite() {
        return Cow::Borrowed(if value < 0.0 { "-inf" } else { "inf" });
    }
    let mut text = number::format_value(value);
    // Otherwise it would be read back as an integer.
    if !text.contains(['.', 'e']) {
        text.push_str(".0");
    }
    Cow::Owned(text)
}

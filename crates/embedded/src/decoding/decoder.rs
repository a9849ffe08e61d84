//! Decoding of built-in kinds as Go's encoding/json does it: values of a wrong type are errors, unknown fields are
//! dropped and reported, and empty values are written or omitted as the tags of the Go types say.

use std::collections::BTreeSet;

use base64::Engine as _;
use pintle_time::{Duration, GoTime, RFC3339, Zone};
use pintle_tree::{Map, Node, Str, with_stack};

use super::go_types::{EmptyEncoding, Field, FieldType, GoType, GoTypes, is_known};
use super::raw_json::{RawJson, UniqueList, push_field};
use crate::quantity::{NOT_A_QUANTITY, Quantity};
use crate::schema::Schema;

/// What an object is decoded from; error messages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// JSON that a client sent.
    Text,
    /// The result of a strategic merge patch, which the server converts without going through text.
    Tree,
}

/// A decoded object.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object.
    pub object: Node,
    /// Strict decoding errors, such as `unknown field "spec.foo"`, in the order of the text.
    pub strict: Vec<String>,
}

/// Decodes an object of a built-in kind. `schema` has the fields of this version of Kubernetes.
///
/// # Errors
///
/// The server's message about the first value of a wrong type.
pub(super) fn decode_built_in(
    number: usize,
    schema: Schema<'_>,
    raw: &RawJson,
    source: Source,
) -> Result<Decoded, String> {
    let types = GoTypes::all();
    let mut reader = Reader {
        types,
        source,
        strict: UniqueList::default(),
        error: None,
        go_path: Vec::new(),
        path: String::new(),
        owner: String::new(),
    };
    // Decoding goes on after an error, as encoding/json does, but the strict errors are then not used.
    let root = reader.structure(number, raw, Some(schema));
    match reader.error {
        Some(error) => Err(error),
        None => Ok(Decoded { object: root, strict: reader.strict.list }),
    }
}

struct Reader {
    types: &'static GoTypes,
    source: Source,
    strict: UniqueList,
    error: Option<String>,
    /// The path of the current field in Go's errors.
    go_path: Vec<Str>,
    /// The path of the current field, with indices, in strict decoding errors.
    path: String,
    /// The Go struct whose field is being decoded.
    owner: String,
}

impl Reader {
    /// Keeps the first error only, as encoding/json does.
    fn fail(&mut self, message: impl FnOnce(&Reader) -> String) {
        if self.error.is_none() {
            self.error = Some(message(self));
        }
    }

    /// Records a value of the wrong type; `what` is what was found.
    fn mismatch(&mut self, what: &str, wanted: &str) {
        self.fail(|reader| {
            let go_path: Vec<String> = reader.go_path.iter().map(ToString::to_string).collect();
            if go_path.is_empty() {
                return format!("json: cannot unmarshal {what} into Go value of type {wanted}");
            }
            format!(
                "json: cannot unmarshal {what} into Go struct field {}.{} of type {wanted}",
                reader.owner,
                go_path.join(".")
            )
        });
    }

    fn structure(&mut self, number: usize, raw: &RawJson, schema: Option<Schema<'_>>) -> Node {
        let RawJson::Map(entries) = raw else {
            // Decoding continues with an empty value; only the first error is reported.
            let name = self.types.get(number).short_name();
            self.container("struct", raw, &name);
            return self.types.empty(number, schema);
        };
        let types = self.types;
        let known = types.get(number);
        let mut found: Vec<Option<Node>> = vec![None; known.fields.len()];
        let mut seen: BTreeSet<&Str> = BTreeSet::new();
        let (length, short) = (self.path.len(), known.short_name());
        for (name, value) in entries {
            push_field(&mut self.path, name);
            let is_new = seen.insert(name);
            let child = schema.and_then(|schema| schema.child(name));
            match known.field(name).filter(|_| is_known(schema, name)) {
                None => self.strict.push(format!("unknown field \"{}\"", self.path)),
                Some((index, field)) => {
                    if !is_new {
                        self.strict.push(format!("duplicate field \"{}\"", self.path));
                    }
                    let owner = std::mem::replace(&mut self.owner, short.clone());
                    // Go's errors name the embedded structs on the path, although JSON does not have them.
                    self.go_path.extend(field.inside.iter().cloned());
                    self.go_path.push(name.clone());
                    found[index] = with_stack(|| self.field(field, value, child));
                    self.go_path.truncate(self.go_path.len() - 1 - field.inside.len());
                    self.owner = owner;
                }
            }
            self.path.truncate(length);
        }
        let fields = known.fields.iter().zip(found);
        let written = fields
            // Fields are written in the order of the Go struct.
            .filter_map(|(field, value)| {
                Some((field.name.clone(), value.or_else(|| types.absent(field, schema))?))
            });
        Node::Map(written.collect::<Map<Node>>())
    }

    /// The value of a field, or `None` if it counts as absent.
    fn field(&mut self, field: &Field, raw: &RawJson, schema: Option<Schema<'_>>) -> Option<Node> {
        // encoding/json leaves a field untouched by null.
        if matches!(raw, RawJson::Nil) {
            return None;
        }
        let value = self.value(&field.of, raw, schema);
        let is_empty = match (&value, &field.of.kind) {
            (Node::Nil, _) => true,
            (_, GoType::Any) => false,
            // A pointer to a zero value is not empty: `omitempty` only drops nil pointers.
            _ if field.of.pointer => false,
            (Node::List(list), _) => list.is_empty(),
            (Node::Map(map), GoType::Map(_)) => map.is_empty(),
            (Node::Str(text), GoType::Text | GoType::Bytes) => text.is_empty(),
            (Node::Bool(value), _) => !value,
            (Node::Int(value), GoType::Int(_)) => *value == 0,
            (Node::Float(value), _) => *value == 0.0,
            (value, GoType::Struct(number)) if field.absent == EmptyEncoding::OmittedIfZero => {
                *value == self.types.empty(*number, schema)
            }
            _ => false,
        };
        let is_left_out =
            is_empty && matches!(field.absent, EmptyEncoding::Omitted | EmptyEncoding::OmittedIfZero);
        (!is_left_out).then_some(value)
    }

    fn value(&mut self, of: &FieldType, raw: &RawJson, schema: Option<Schema<'_>>) -> Node {
        let types = self.types;
        match (&of.kind, raw) {
            (GoType::Any, raw) => raw.node(),
            // A null inside a list or a map becomes the zero value of the element.
            (kind, RawJson::Nil) => types.zero(kind, schema),
            (GoType::Struct(number), RawJson::Map(_)) => self.structure(*number, raw, schema),
            (GoType::Slice(items), RawJson::List(list)) => self.list(items, list, schema),
            (GoType::Map(values), RawJson::Map(entries)) => {
                // `SetDefaults_ResourceList` rounds up to milli-units.
                let is_resources = of.name(types) == "v1.ResourceList";
                self.map(values, entries, schema, is_resources)
            }
            (GoType::Struct(_), raw) => self.wrong_container("struct", raw, of),
            (GoType::Slice(_), raw) => self.wrong_container("slice", raw, of),
            (GoType::Map(_), raw) => self.wrong_container("map", raw, of),
            (_, raw) => self.scalar(of, raw),
        }
    }

    fn wrong_container(&mut self, kind: &str, raw: &RawJson, of: &FieldType) -> Node {
        let name = of.name(self.types);
        self.container(kind, raw, &name);
        Node::Nil
    }

    fn container(&mut self, kind: &str, raw: &RawJson, name: &str) {
        if self.source == Source::Text {
            return self.mismatch(raw.json_type(), name);
        }
        let found = match raw {
            RawJson::List(_) => "slice",
            RawJson::Map(_) => "map",
            other => tree_type(other),
        };
        // Only this message has a colon in the server.
        let colon = if kind == "struct" { ":" } else { "" };
        self.fail(|_| format!("cannot restore {kind} from{colon} {found}"));
    }

    fn list(&mut self, items: &FieldType, list: &[RawJson], schema: Option<Schema<'_>>) -> Node {
        let schema = schema.and_then(|schema| schema.items());
        let length = self.path.len();
        let mut read = Vec::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            self.path.push_str(&format!("[{at}]"));
            read.push(with_stack(|| self.value(items, item, schema)));
            self.path.truncate(length);
        }
        Node::List(read)
    }

    fn map(
        &mut self,
        values: &FieldType,
        entries: &[(Str, RawJson)],
        schema: Option<Schema<'_>>,
        is_resources: bool,
    ) -> Node {
        let schema = schema.and_then(|schema| schema.additional());
        let length = self.path.len();
        let mut read: Map<Node> = Map::with_capacity(entries.len());
        for (name, raw) in entries {
            push_field(&mut self.path, name);
            let mut value = with_stack(|| self.value(values, raw, schema));
            // A null in a map of byte slices is an empty slice.
            if value.is_nil() && values.kind == GoType::Bytes {
                value = "".into();
            }
            if is_resources && let Some(amount) = value.as_str().and_then(Quantity::parse) {
                value = amount.rounded_up(-3).canonical().into();
            }
            if read.insert(name.clone(), value).is_some() {
                self.strict.push(format!("duplicate field \"{}\"", self.path));
            }
            self.path.truncate(length);
        }
        Node::Map(read)
    }

    fn scalar(&mut self, of: &FieldType, raw: &RawJson) -> Node {
        let read = match &of.kind {
            GoType::Bool => match raw {
                RawJson::Bool(value) => Some(Node::Bool(*value)),
                _ => None,
            },
            GoType::Text => match raw {
                RawJson::Str(text) => Some(Node::Str(text.clone())),
                _ => None,
            },
            GoType::Int(bits) => whole(raw, *bits, self.source),
            GoType::Float => match raw {
                RawJson::Number(_) => Some(raw.node()),
                _ => None,
            },
            GoType::Quantity => return self.quantity(raw),
            GoType::IntOrString => return self.int_or_string(raw),
            GoType::Bytes => return self.bytes(raw, of),
            GoType::Time(digits) => return self.time(raw, *digits),
            _ => return self.duration(raw),
        };
        read.unwrap_or_else(|| {
            self.wrong_scalar(of, raw);
            Node::Nil
        })
    }

    fn wrong_scalar(&mut self, of: &FieldType, raw: &RawJson) {
        let name = of.name(self.types);
        if self.source == Source::Text {
            let is_number = matches!(of.kind, GoType::Int(_) | GoType::Float);
            return match raw {
                RawJson::Number(digits) if is_number => self.mismatch(&format!("number {digits}"), &name),
                other => self.mismatch(other.json_type(), &name),
            };
        }
        let found = tree_type(raw);
        self.fail(|_| match (raw, &of.kind) {
            (RawJson::Number(_), GoType::Text | GoType::Int(_)) => {
                format!("cannot convert {found} to {name}")
            }
            (_, GoType::Text) => "unrecognized type: string".into(),
            (_, GoType::Bool) => "unrecognized type: bool".into(),
            _ => format!("unrecognized type: {name}"),
        });
    }

    fn quantity(&mut self, raw: &RawJson) -> Node {
        let text = match raw {
            // Numbers are taken as they are written: `0.1` must not become the nearest float.
            RawJson::Str(text) | RawJson::Number(text) => text.to_string(),
            _ => String::new(),
        };
        match Quantity::parse(text.trim()) {
            Some(quantity) => quantity.canonical().into(),
            None => {
                self.fail(|_| NOT_A_QUANTITY.into());
                Node::Nil
            }
        }
    }

    fn int_or_string(&mut self, raw: &RawJson) -> Node {
        // `IntOrString` is decoded by its own unmarshaller, which does not truncate.
        match (raw, whole(raw, 32, Source::Text)) {
            (RawJson::Str(text), _) => Node::Str(text.clone()),
            (_, Some(number)) => number,
            (other, None) => {
                let what = match other {
                    RawJson::Number(digits) => format!("number {digits}"),
                    other => other.json_type().to_owned(),
                };
                match self.source {
                    Source::Text => self.mismatch(&what, "int32"),
                    Source::Tree => {
                        self.fail(|_| format!("json: cannot unmarshal {what} into Go value of type int32"))
                    }
                }
                Node::Nil
            }
        }
    }

    fn bytes(&mut self, raw: &RawJson, of: &FieldType) -> Node {
        let RawJson::Str(text) = raw else {
            self.wrong_scalar(of, raw);
            return Node::Nil;
        };
        // encoding/json ignores line breaks inside base64.
        let plain: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
        match base64::engine::general_purpose::STANDARD.decode(&plain) {
            Ok(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes).into(),
            Err(error) => {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _)
                    | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                    // Go reports the start of the last incomplete group.
                    _ => plain.len() / 4 * 4,
                };
                self.fail(|_| format!("illegal base64 data at input byte {at}"));
                Node::Nil
            }
        }
    }

    fn time(&mut self, raw: &RawJson, digits: u8) -> Node {
        let RawJson::Str(text) = raw else {
            self.mismatch(raw.json_type(), "string");
            return Node::Nil;
        };
        let layout = if digits == 0 { RFC3339 } else { "2006-01-02T15:04:05.000000Z07:00" };
        match GoTime::parse(layout, text, &Zone::utc()) {
            // The zero time is encoded as null.
            Ok(time) if time.is_zero() => Node::Nil,
            Ok(time) => time.utc().format(layout).to_string().into(),
            Err(error) => {
                self.fail(|_| error);
                Node::Nil
            }
        }
    }

    fn duration(&mut self, raw: &RawJson) -> Node {
        let RawJson::Str(text) = raw else {
            self.mismatch(raw.json_type(), "string");
            return Node::Nil;
        };
        match Duration::parse(text) {
            Ok(duration) => duration.to_string().into(),
            Err(error) => {
                self.fail(|_| error);
                Node::Nil
            }
        }
    }
}

/// An integer, if it fits in `bits`.
fn whole(raw: &RawJson, bits: u8, source: Source) -> Option<Node> {
    let RawJson::Number(digits) = raw else { return None };
    let number: i64 = digits.as_str()?.parse().ok()?;
    // The conversion of unstructured objects truncates silently.
    let fits = source == Source::Tree || i64::from(number as i32) == number || bits == 64;
    // Only a tree can still be out of range here, see above.
    let number = if bits == 32 { i64::from(number as i32) } else { number };
    fits.then_some(Node::Int(number))
}

/// The Go type of a value in an unstructured object.
fn tree_type(raw: &RawJson) -> &'static str {
    match raw {
        RawJson::Nil => "nil",
        RawJson::Bool(_) => "bool",
        RawJson::Number(digits) if digits.contains(&b'.') || digits.contains(&b'e') => "float64",
        RawJson::Number(_) => "int64",
        RawJson::Str(_) => "string",
        RawJson::List(_) => "slice",
        RawJson::Map(_) => "map",
    }
}

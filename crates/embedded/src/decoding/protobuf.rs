//! Decoding of protobuf bodies, which Go clients send for built-in kinds. Uses the field numbers of the Go types.
//!
//! There is no encoder: responses are JSON, which every client accepts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_time::{GoTime, Zone};
use pintle_tree::{Map, Node, Str, json};

use super::go_types::{Field, GoType, GoTypes};

/// The prefix of Kubernetes' protobuf bodies.
const MAGIC: &[u8] = b"k8s\0";
/// The limit of nesting. Built-in types nest far less.
const MAX_DEPTH: usize = 64;

/// Why a body cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// The prefix is missing.
    #[error("provided data does not appear to be a protobuf message, expected prefix {MAGIC:?}")]
    NoMagic,
    /// The message is truncated or invalid.
    #[error("the protobuf message is damaged")]
    Damaged,
    /// The kind is not built in.
    #[error("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"")]
    Unknown {
        /// The version.
        version: String,
        /// The kind.
        kind: String,
    },
}

use ProtobufError::Damaged;

enum Value<'b> {
    Number(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(&'b [u8]),
}

struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn next(&mut self) -> Result<Option<(u32, Value<'b>)>, ProtobufError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Fixed64(self.take(8)?.try_into().map_err(|_| Damaged)?),
            2 => {
                let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(self.take(4)?.try_into().map_err(|_| Damaged)?),
            _ => return Err(Damaged),
        };
        let number = u32::try_from(tag >> 3).map_err(|_| Damaged)?;
        Ok(Some((number, value)))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], ProtobufError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a varint.
    fn number(&mut self) -> Result<u64, ProtobufError> {
        let mut number = 0_u64;
        // At most ten bytes, so that a hostile message cannot go on for ever.
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(Damaged)?;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }
}

/// Decodes the body of a request.
///
/// # Errors
///
/// If the body is invalid, or of a kind that is not built in.
pub fn decode_protobuf(body: &[u8]) -> Result<Node, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut fields = Fields(envelope);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Bytes(bytes)) => {
                let mut meta = Fields(bytes);
                while let Some((number, value)) = meta.next()? {
                    match (number, value) {
                        (1, Value::Bytes(text)) => version = String::from_utf8_lossy(text).into_owned(),
                        (2, Value::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Value::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let mut object = if kind == "DeleteOptions" {
        delete_options(raw)?
    } else {
        let Some(number) = GoTypes::all().kind(&version, &kind) else {
            return Err(ProtobufError::Unknown { version, kind });
        };
        structure(number, raw, 0)?
    };
    object.insert("apiVersion".into(), version.into());
    object.insert("kind".into(), kind.into());
    Ok(Node::Map(object))
}

/// DeleteOptions are not an object kind, so they are not in the table of types.
fn delete_options(raw: &[u8]) -> Result<Map<Node>, ProtobufError> {
    let mut options = Map::new();
    let mut dry_run = Vec::new();
    let mut fields = Fields(raw);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Number(seconds)) => drop(options.insert("gracePeriodSeconds".into(), whole(seconds))),
            (2, Value::Bytes(bytes)) => {
                let mut conditions = Map::new();
                let mut inner = Fields(bytes);
                while let Some((number, value)) = inner.next()? {
                    if let (Some(name), Value::Bytes(bytes)) = (
                        [None, Some("uid"), Some("resourceVersion")].get(number as usize).copied().flatten(),
                        value,
                    ) {
                        conditions.insert(name.into(), text(bytes));
                    }
                }
                options.insert("preconditions".into(), conditions.into());
            }
            (3, Value::Number(flag)) => drop(options.insert("orphanDependents".into(), (flag != 0).into())),
            (4, Value::Bytes(bytes)) => drop(options.insert("propagationPolicy".into(), text(bytes))),
            (5, Value::Bytes(bytes)) => dry_run.push(text(bytes)),
            _ => {}
        }
    }
    if !dry_run.is_empty() {
        options.insert("dryRun".into(), dry_run.into());
    }
    Ok(options)
}

fn structure(number: usize, raw: &[u8], depth: usize) -> Result<Map<Node>, ProtobufError> {
    let mut map = Map::new();
    fill(number, &[], raw, &mut map, depth)?;
    Ok(map)
}

/// Decodes a message into `map`. `path` are the field numbers of the embedded structs down to this one.
fn fill(
    number: usize,
    path: &[u32],
    raw: &[u8],
    map: &mut Map<Node>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(Damaged);
    }
    let fields = &GoTypes::all().get(number).fields;
    let mut rest = Fields(raw);
    while let Some((tag, value)) = rest.next()? {
        let mut here = path.to_vec();
        here.push(tag);
        // Go inlines embedded structs in JSON, while protobuf nests them in a message of their own.
        if let Some(field) = fields.iter().find(|field| field.numbers == here) {
            put(field, value, map, depth)?;
        } else if let (true, Value::Bytes(bytes)) =
            (fields.iter().any(|field| field.numbers.starts_with(&here)), value)
        {
            fill(number, &here, bytes, map, depth + 1)?;
        }
    }
    Ok(())
}

fn put(field: &Field, value: Value<'_>, map: &mut Map<Node>, depth: usize) -> Result<(), ProtobufError> {
    match &field.of.kind {
        GoType::Slice(items) => {
            let list = map.entry_or_insert_with(&field.name, || Node::List(Vec::new()));
            if let Node::List(list) = list {
                // One element each: Kubernetes' messages are proto2, which does not pack repeated numbers.
                list.push(one(&items.kind, value, depth)?);
            }
        }
        GoType::Map(values) => {
            let Value::Bytes(entry) = value else { return Err(Damaged) };
            let (mut key, mut value_node) = (Str::default(), None);
            let mut fields = Fields(entry);
            while let Some((number, value)) = fields.next()? {
                match (number, value) {
                    (1, Value::Bytes(bytes)) => key = Str::from(bytes),
                    (2, value) => value_node = Some(one(&values.kind, value, depth)?),
                    _ => {}
                }
            }
            // An empty value is not encoded in protobuf.
            let value_node = value_node.unwrap_or_else(|| GoTypes::all().zero(&values.kind, None));
            let entries = map.entry_or_insert_with(&field.name, Node::empty_map);
            if let Node::Map(entries) = entries {
                entries.insert(key, value_node);
            }
        }
        kind => {
            let node = one(kind, value, depth)?;
            if !node.is_nil() {
                map.insert(field.name.clone(), node);
            }
        }
    }
    Ok(())
}

fn whole(number: u64) -> Node {
    // Negative integers are encoded in two's complement.
    Node::Int(number.cast_signed())
}

fn text(bytes: &[u8]) -> Node {
    Node::Str(Str::from(bytes))
}

fn one(kind: &GoType, value: Value<'_>, depth: usize) -> Result<Node, ProtobufError> {
    Ok(match (kind, value) {
        (GoType::Bool, Value::Number(number)) => Node::Bool(number != 0),
        (GoType::Int(_), Value::Number(number)) => whole(number),
        (GoType::Float, Value::Fixed64(bytes)) => Node::Float(f64::from_le_bytes(bytes)),
        (GoType::Float, Value::Fixed32(bytes)) => Node::Float(f64::from(f32::from_le_bytes(bytes))),
        (GoType::Text, Value::Bytes(bytes)) => text(bytes),
        (GoType::Bytes, Value::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (GoType::Quantity, Value::Bytes(bytes)) => first(bytes)?.map(text).unwrap_or_default(),
        (GoType::IntOrString, Value::Bytes(bytes)) => int_or_string(bytes)?,
        (GoType::Time(digits), Value::Bytes(bytes)) => time(bytes, *digits)?,
        (GoType::Duration, Value::Bytes(bytes)) => {
            pintle_time::Duration(numbers(bytes)?.0).to_string().into()
        }
        (GoType::Any, Value::Bytes(bytes)) => match first(bytes)? {
            Some(raw) => json::read_exact(raw).map_err(|_| Damaged)?,
            None => Node::Nil,
        },
        (GoType::Struct(number), Value::Bytes(bytes)) => Node::Map(structure(*number, bytes, depth + 1)?),
        _ => return Err(Damaged),
    })
}

fn first(message: &[u8]) -> Result<Option<&[u8]>, ProtobufError> {
    let mut found = None;
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.next()? {
        // The last occurrence of a field counts, as protobuf demands.
        if let (1, Value::Bytes(bytes)) = (number, value) {
            found = Some(bytes);
        }
    }
    Ok(found)
}

/// The first two integer fields: seconds and nanoseconds of a time.
fn numbers(message: &[u8]) -> Result<(i64, i64), ProtobufError> {
    let (mut one, mut two) = (0, 0);
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Number(number)) => one = number.cast_signed(),
            (2, Value::Number(number)) => two = number.cast_signed(),
            _ => {}
        }
    }
    Ok((one, two))
}

fn int_or_string(message: &[u8]) -> Result<Node, ProtobufError> {
    let (is_text, number) = numbers(message)?;
    if is_text == 0 {
        return Ok(Node::Int(number));
    }
    let mut found = Node::from("");
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.next()? {
        if let (3, Value::Bytes(bytes)) = (number, value) {
            found = text(bytes);
        }
    }
    Ok(found)
}

/// A zero time is an empty message.
fn time(message: &[u8], digits: u8) -> Result<Node, ProtobufError> {
    if message.is_empty() {
        return Ok(Node::Nil);
    }
    let (seconds, nanoseconds) = numbers(message)?;
    let layout = if digits == 0 { "2006-01-02T15:04:05Z" } else { "2006-01-02T15:04:05.000000Z" };
    Ok(GoTime::from_unix(seconds, nanoseconds, Zone::utc()).format(layout).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[number << 3 | 2, length][..], bytes].concat()
    }

    fn body(kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC, &field(1, &meta)[..], &field(2, raw)[..]].concat()
    }

    #[test]
    fn a_secret_is_decoded_with_its_bytes_and_labels() {
        let labels = [field(1, b"a"), field(2, b"b")].concat();
        let meta = [field(1, b"s"), field(11, &labels)].concat();
        let data = [field(1, b"k"), field(2, b"\xff\0")].concat();
        let raw = [field(1, &meta), field(2, &data), field(3, b"Opaque")].concat();
        let object = decode_protobuf(&body("Secret", &raw)).unwrap();
        let text = String::from_utf8(json::write(&object).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"apiVersion":"v1","data":{"k":"/wA="},"kind":"Secret","metadata":{"labels":{"a":"b"},"name":"s"},"type":"Opaque"}"#
        );
    }

    #[test]
    fn truncated_messages_are_rejected_wherever_they_end() {
        let meta = [field(1, b"s"), field(11, &field(1, b"a"))].concat();
        let whole = body("Pod", &[field(1, &meta), field(2, &field(2, &field(1, b"c")))].concat());
        assert!(decode_protobuf(&whole).is_ok());
        for end in 0..whole.len() {
            let _ = decode_protobuf(&whole[..end]);
            let mut changed = whole.clone();
            changed[end] ^= 0x85;
            let _ = decode_protobuf(&changed);
        }
        assert_eq!(decode_protobuf(b"{}"), Err(ProtobufError::NoMagic));
        assert!(matches!(decode_protobuf(&body("Nothing", b"")), Err(ProtobufError::Unknown { .. })));
    }
}

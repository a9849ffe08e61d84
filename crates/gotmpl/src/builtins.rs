//! The built-in functions of text/template: indexing, length, logic, comparison and escaping.

use pintle_tree::Str;

use crate::compare;
use crate::escape;
use crate::function::CallError;
use crate::object::Encoded;
use crate::operand::Operand;
use crate::print;
use crate::value::{IntKind, Kind, List, MapType, Value};

/// A function of text/template itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Call,
    Eq,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Slice,
    Urlquery,
}

/// All of them by name.
const TABLE: [(&str, Builtin); 19] = [
    ("and", Builtin::And),
    ("call", Builtin::Call),
    ("eq", Builtin::Eq),
    ("ge", Builtin::Ge),
    ("gt", Builtin::Gt),
    ("html", Builtin::Html),
    ("index", Builtin::Index),
    ("js", Builtin::Js),
    ("le", Builtin::Le),
    ("len", Builtin::Len),
    ("lt", Builtin::Lt),
    ("ne", Builtin::Ne),
    ("not", Builtin::Not),
    ("or", Builtin::Or),
    ("print", Builtin::Print),
    ("printf", Builtin::Printf),
    ("println", Builtin::Println),
    ("slice", Builtin::Slice),
    ("urlquery", Builtin::Urlquery),
];

/// The names of the functions of text/template itself.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}

impl Builtin {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        TABLE.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, builtin)| *builtin)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(name, _)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        TABLE.iter().find(|(_, builtin)| *builtin == self).map_or("", |(name, _)| name)
    }

    /// The minimum number of arguments, and whether it is variadic.
    pub(crate) fn arity(self) -> (usize, bool) {
        match self {
            Builtin::And | Builtin::Or | Builtin::Call | Builtin::Eq => (1, true),
            Builtin::Index | Builtin::Slice | Builtin::Printf => (1, true),
            Builtin::Html | Builtin::Js | Builtin::Print | Builtin::Println | Builtin::Urlquery => (0, true),
            Builtin::Len | Builtin::Not => (1, false),
            Builtin::Ne | Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge => (2, false),
        }
    }

    /// Whether the static type of the result is `interface {}`.
    pub(crate) fn gives_interface(self) -> bool {
        matches!(self, Builtin::Index)
    }

    /// Calls it. `and`, `or`, `len` and `call` are handled by the executor, which knows more than values.
    pub(crate) fn call(self, arguments: &[Value]) -> Result<Value, CallError> {
        let text = |text: Vec<u8>| Ok(Value::Str(Str::from(text)));
        let (first, rest) = arguments.split_first().unwrap_or((&Value::Nil, &[]));
        let second = rest.first().unwrap_or(&Value::Nil);
        match self {
            Builtin::Not => Ok(Value::Bool(!first.is_true())),
            Builtin::Eq => compare::eq(first, rest).map(Value::Bool),
            Builtin::Ne => compare::eq(first, rest).map(|equal| Value::Bool(!equal)),
            Builtin::Lt => compare::lt(first, second).map(Value::Bool),
            Builtin::Le => compare::le(first, second).map(Value::Bool),
            // Go defines `gt` as `not le` and `ge` as `not lt`, so with NaN both are true. Do not swap the
            // operands instead.
            Builtin::Gt => compare::le(first, second).map(|less| Value::Bool(!less)),
            Builtin::Ge => compare::lt(first, second).map(|less| Value::Bool(!less)),
            Builtin::Index => index(first, rest),
            Builtin::Slice => slice(first, rest),
            Builtin::Print => text(print::sprint(arguments)),
            Builtin::Println => text(print::sprintln(arguments)),
            Builtin::Printf => {
                let format = first.as_text().map_or(&b""[..], Str::as_bytes);
                text(print::sprintf(format, rest))
            }
            Builtin::Html => text(escape::html(&escape::text_of(arguments))),
            Builtin::Js => text(escape::js(&escape::text_of(arguments))),
            Builtin::Urlquery => text(escape::url_query(&escape::text_of(arguments))),
            Builtin::And | Builtin::Or | Builtin::Len | Builtin::Call => {
                Err(CallError::new("internal error: not a plain function"))
            }
        }
    }
}

/// Go's type name behind a pointer.
pub(crate) fn pointed(type_name: &str) -> &str {
    type_name.strip_prefix('*').unwrap_or(type_name)
}

/// `len`.
pub(crate) fn length(item: &Operand) -> Result<Value, CallError> {
    let length = match &item.value {
        // `len .missing` and `len nil` are different errors in Go: the first has a nil interface, the second
        // has no `reflect.Value` at all, on which the call of `Type` panics.
        Value::Nil if item.interface => return Err("len of nil pointer".into()),
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::Str(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.len(),
        Value::Object(object) if matches!(object.kind(), Kind::Map | Kind::Slice) => object.entries().len(),
        Value::Object(object) if object.kind() == Kind::String => match object.encode() {
            Encoded::Value(Value::Str(text)) => text.len(),
            _ => return Err(CallError::new(format!("len of type {}", object.type_name()))),
        },
        other => return Err(CallError::new(format!("len of type {}", pointed(&other.type_name())))),
    };
    Ok(Value::int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// `call`. Templates have no function values, so it always fails, with Go's text.
pub(crate) fn call(name: &str, function: &Value) -> CallError {
    match function {
        Value::Nil => "call of nil".into(),
        other => CallError::new(format!("non-function {name} of type {}", other.type_name())),
    }
}

/// An index into something of a length; an index equal to the length passes, as in Go.
fn position(index: &Value, length: usize) -> Result<usize, CallError> {
    let number = match index {
        Value::Int(_, number) => *number,
        Value::Nil => return Err("cannot index slice/array with nil".into()),
        Value::Object(object) if matches!(object.kind(), Kind::Int(_)) => match compare::integer(index) {
            Some(number) => number,
            None => {
                return Err(CallError::new(format!(
                    "cannot index slice/array with type {}",
                    object.type_name()
                )));
            }
        },
        other => {
            return Err(CallError::new(format!("cannot index slice/array with type {}", other.type_name())));
        }
    };
    usize::try_from(number)
        .ok()
        .filter(|position| *position <= length)
        .ok_or_else(|| CallError::new(format!("index out of range: {number}")))
}

// The second check is needed because `position` accepts an index equal to the length; `reflect` then panics
// in Go, and text/template reports the text of the panic.
fn element<T>(items: &[T], index: &Value, text: &str) -> Result<usize, CallError> {
    let at = position(index, items.len())?;
    if at < items.len() { Ok(at) } else { Err(text.into()) }
}

const BEYOND_SLICE: &str = "reflect: slice index out of range";

/// `index`.
fn index(item: &Value, indexes: &[Value]) -> Result<Value, CallError> {
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    let mut item = item.clone();
    for index in indexes {
        item = match &item {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::Str(text) => {
                let bytes = text.as_bytes();
                let at = element(bytes, index, "reflect: string index out of range")?;
                Value::Int(IntKind::Uint8, i64::from(bytes[at]))
            }
            Value::Bytes(text) => {
                let bytes = text.as_bytes();
                let at = element(bytes, index, BEYOND_SLICE)?;
                Value::Int(IntKind::Uint8, i64::from(bytes[at]))
            }
            Value::List(list) => list.items()[element(list.items(), index, BEYOND_SLICE)?].clone(),
            Value::Map(map) => {
                let found = map.get(key(index)?);
                found.unwrap_or_else(
                    // A missing key yields the zero value of the element type: "" for `map[string]string`,
                    // nil for `interface {}`.
                    || if map.of == MapType::Str { Value::Str(Str::EMPTY) } else { Value::Nil },
                )
            }
            Value::Object(object) if object.kind() == Kind::Map => {
                object.index(key(index)?).unwrap_or(Value::Nil)
            }
            Value::Object(object) if object.kind() == Kind::Slice => {
                let entries = object.entries();
                entries[element(&entries, index, BEYOND_SLICE)?].1.clone()
            }
            other => {
                let type_name = other.type_name();
                return Err(CallError::new(format!("can't index item of type {}", pointed(&type_name))));
            }
        };
    }
    Ok(item)
}

fn key(index: &Value) -> Result<&Str, CallError> {
    match index {
        Value::Str(text) => Ok(text),
        Value::Nil => Err("value is nil; should be of type string".into()),
        other => Err(CallError::new(format!("value has type {}; should be string", other.type_name()))),
    }
}

/// `slice`, which Helm replaces by sprig's.
fn slice(item: &Value, indexes: &[Value]) -> Result<Value, CallError> {
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(CallError::new(format!("too many slice indexes: {}", indexes.len())));
    }
    let length = match item {
        Value::Str(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::Str(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.items().len(),
        other => {
            return Err(CallError::new(format!("can't slice item of type {}", pointed(&other.type_name()))));
        }
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, length)?;
    }
    let [start, end, capacity] = bounds;
    if start > end {
        return Err(CallError::new(format!("invalid slice index: {start} > {end}")));
    }
    if indexes.len() == 3 && end > capacity {
        return Err(CallError::new(format!("invalid slice index: {end} > {capacity}")));
    }
    Ok(match item {
        Value::Str(text) => Value::Str(Str::new(&text.as_bytes()[start..end])),
        Value::Bytes(text) => Value::Bytes(Str::new(&text.as_bytes()[start..end])),
        // Slicing a nil slice gives a nil slice in Go, which is still `null` in JSON.
        Value::List(list) if list.is_nil() => item.clone(),
        Value::List(list) => Value::List(List::of(list.of, list.items()[start..end].to_vec())),
        _ => Value::Nil,
    })
}

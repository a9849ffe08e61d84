//! `eq`, `lt` and related functions: Go's comparison by basic kind.

use std::borrow::Cow;
use std::rc::Rc;

use pintle_tree::Str;

use crate::function::CallError;
use crate::object::Encoded;
use crate::print;
use crate::value::{Kind, Value};

/// A value by its basic kind.
enum Basic<'v> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Complex((f64, f64)),
    Text(Cow<'v, Str>),
    /// Not of a basic kind.
    Other,
}

fn basic(value: &Value) -> Basic<'_> {
    match value {
        Value::Bool(value) => Basic::Bool(*value),
        Value::Int(kind, value) if kind.is_unsigned() => Basic::Uint(*value as u64),
        Value::Int(_, value) => Basic::Int(*value),
        Value::Float(value) => Basic::Float(*value),
        Value::Complex(parts) => Basic::Complex(**parts),
        Value::Str(text) => Basic::Text(Cow::Borrowed(text)),
        Value::Object(object) => match (object.kind(), object.encode()) {
            // Named types of a basic kind, such as durations, compare by their underlying type.
            (Kind::Int(_), Encoded::Value(Value::Int(kind, value))) if kind.is_unsigned() => {
                Basic::Uint(value as u64)
            }
            (Kind::Int(_), Encoded::Value(Value::Int(_, value))) => Basic::Int(value),
            (Kind::String, Encoded::Value(Value::Str(text))) => Basic::Text(Cow::Owned(text)),
            (Kind::Bool, Encoded::Value(Value::Bool(value))) => Basic::Bool(value),
            (Kind::Float64, Encoded::Value(Value::Float(value))) => Basic::Float(value),
            _ => Basic::Other,
        },
        _ => Basic::Other,
    }
}

/// The number of a value of an integer kind.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match basic(value) {
        Basic::Int(number) => Some(number),
        Basic::Uint(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

fn incompatible(a: &Value, b: &Value) -> CallError {
    CallError::new(format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()))
}

/// Whether `first` equals any of `others`.
pub(crate) fn eq(first: &Value, others: &[Value]) -> Result<bool, CallError> {
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(a: &Value, b: &Value) -> Result<bool, CallError> {
    Ok(match (basic(a), basic(b)) {
        (Basic::Bool(a), Basic::Bool(b)) => a == b,
        (Basic::Int(a), Basic::Int(b)) => a == b,
        (Basic::Uint(a), Basic::Uint(b)) => a == b,
        // Mixed signs are the only two kinds that Go compares with each other; `eq 1 1.0` is an error.
        (Basic::Int(a), Basic::Uint(b)) | (Basic::Uint(b), Basic::Int(a)) => u64::try_from(a) == Ok(b),
        (Basic::Float(a), Basic::Float(b)) => a == b,
        (Basic::Complex(a), Basic::Complex(b)) => a == b,
        (Basic::Text(a), Basic::Text(b)) => a == b,
        (Basic::Other, Basic::Other) => return equal_others(a, b),
        _ if a.is_nil() || b.is_nil() => false,
        _ => return Err(incompatible(a, b)),
    })
}

/// Compares values neither of which has a basic kind.
fn equal_others(a: &Value, b: &Value) -> Result<bool, CallError> {
    let same_kind = a.kind() == b.kind() || bytes_and_list(a, b);
    if !same_kind && !a.is_nil() && !b.is_nil() {
        // The verbs and operands do not match in Go's source either (`%s: %v, %s: %v` with value, type, type,
        // value), and the text shows it.
        let format = b"non-comparable types %s: %v, %s: %v";
        let names = [Value::str(a.type_name()), Value::str(b.type_name())];
        let [a_name, b_name] = names;
        let text = print::sprintf(format, &[a.clone(), a_name, b_name, b.clone()]);
        return Err(CallError::new(String::from_utf8_lossy(&text)));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    match (a, b) {
        // Go compares pointers by address and structs field by field. Objects have no comparable fields here,
        // but the same type with the same text has the same fields.
        (Value::Object(a), Value::Object(b)) if matches!(b.kind(), Kind::Struct | Kind::Pointer) => {
            let same_object = Rc::ptr_eq(a, b);
            let same_fields =
                b.kind() == Kind::Struct && a.type_name() == b.type_name() && a.print() == b.print();
            Ok(same_object || same_fields)
        }
        _ => {
            let text = print::sprintf(b"non-comparable type %s: %v", &[b.clone(), Value::str(b.type_name())]);
            Err(CallError::new(String::from_utf8_lossy(&text)))
        }
    }
}

fn bytes_and_list(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Bytes(_) | Value::List(_), Value::Bytes(_) | Value::List(_)))
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    }
}

/// Whether `a` is less than `b`.
pub(crate) fn lt(a: &Value, b: &Value) -> Result<bool, CallError> {
    const BAD_TYPE: &str = "invalid type for comparison";
    Ok(match (basic(a), basic(b)) {
        (Basic::Other, _) | (_, Basic::Other) => return Err(BAD_TYPE.into()),
        (Basic::Int(a), Basic::Int(b)) => a < b,
        (Basic::Uint(a), Basic::Uint(b)) => a < b,
        (Basic::Int(a), Basic::Uint(b)) => u64::try_from(a).map_or(true, |a| a < b),
        (Basic::Uint(a), Basic::Int(b)) => u64::try_from(b).is_ok_and(|b| a < b),
        (Basic::Float(a), Basic::Float(b)) => a < b,
        (Basic::Text(a), Basic::Text(b)) => a < b,
        // Kinds that have equality but no order.
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(_), Basic::Complex(_)) => {
            return Err(BAD_TYPE.into());
        }
        _ => return Err(incompatible(a, b)),
    })
}

/// Whether `a` is less than `b` or equal to it.
pub(crate) fn le(a: &Value, b: &Value) -> Result<bool, CallError> {
    // Not `!lt(b, a)`: Go computes `le` this way, and NaN must compare as false.
    Ok(lt(a, b)? || equal(a, b)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::IntKind;

    fn text(result: Result<bool, CallError>) -> String {
        result.map_or_else(|error| error.message, |value| value.to_string())
    }

    #[test]
    fn kinds_compare_as_in_go() {
        let (one, uint) = (Value::int(1), Value::Int(IntKind::Uint64, -1));
        assert_eq!(text(eq(&one, &[Value::int64(1)])), "true");
        assert_eq!(
            text(eq(&one, &[Value::Float(1.0)])),
            "incompatible types for comparison: int and float64"
        );
        assert_eq!(text(lt(&one, &uint)), "true");
        assert_eq!(text(eq(&Value::Nil, &[Value::Nil])), "true");
        assert_eq!(text(eq(&Value::Nil, std::slice::from_ref(&one))), "false");
        assert_eq!(text(lt(&Value::Nil, &one)), "invalid type for comparison");
        let list = Value::list(vec![one]);
        assert_eq!(
            text(eq(&list, std::slice::from_ref(&list))),
            "non-comparable type [%!s(int=1)]: []interface {}"
        );
    }
}

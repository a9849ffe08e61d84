//! Prints values as Go's fmt does with `%v`; optimised, because every `{{ value }}` uses it.

use pintle_tree::{Str, number};

use crate::object::Object;
use crate::printf;
use crate::value::{IntKind, Kind, List, MapRef, Value};

/// The maximum nesting that is printed. Go has none and overflows its stack on a map that contains itself.
pub(crate) const MAX_DEPTH: usize = 10_000;

/// The maximum output of one value, so that a map that contains itself twice terminates.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Replaces the part of a value beyond these limits.
pub(crate) const TRUNCATED: &[u8] = b"...";

/// Appends `%v` of a value; nil is `<nil>`.
#[inline]
pub fn push_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Str(text) => out.extend_from_slice(text.as_bytes()),
        Value::Int(kind, number) => push_int(*kind, *number, out),
        _ => push_other(value, out),
    }
}

fn push_other(value: &Value, out: &mut Vec<u8>) {
    let mut plain = Plain { limit: out.len().saturating_add(MAX_BYTES), depth: 0 };
    plain.push(value, out);
}

/// The text of `%v`.
pub fn to_str(value: &Value) -> Str {
    match value {
        Value::Str(text) => text.clone(),
        _ => {
            let mut out = Vec::new();
            push_value(value, &mut out);
            Str::from(out)
        }
    }
}

/// Go's `fmt.Sprint`: a space between operands when neither is a string.
pub fn sprint(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut after_text = true;
    for value in values {
        if out.len() >= MAX_BYTES {
            out.extend_from_slice(TRUNCATED);
            break;
        }
        let text = value.kind() == Kind::String;
        // `Sprint` looks at the reflected kind, so a named string type counts as a string.
        if !text && !after_text {
            out.push(b' ');
        }
        push_value(value, &mut out);
        after_text = text;
    }
    out
}

/// Go's `fmt.Sprintln`: a space between all operands and a newline at the end.
pub fn sprintln(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if out.len() >= MAX_BYTES {
            out.extend_from_slice(TRUNCATED);
            break;
        }
        if index > 0 {
            out.push(b' ');
        }
        push_value(value, &mut out);
    }
    out.push(b'\n');
    out
}

/// Go's `fmt.Sprintf`.
pub fn sprintf(format: &[u8], values: &[Value]) -> Vec<u8> {
    printf::format(format, values)
}

/// Appends an integer in decimal.
pub(crate) fn push_int(kind: IntKind, number: i64, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = if kind.is_unsigned() { buffer.format(number as u64) } else { buffer.format(number) };
    out.extend_from_slice(text.as_bytes());
}

/// Appends a float64 in Go's shortest form.
pub(crate) fn push_float(value: f64, out: &mut Vec<u8>) {
    // Small whole numbers, which most numbers in charts are, need no digit generation.
    // From 1e6 on Go's `%v` uses an exponent (`1e+06`); below, the digits are those of the integer. Negative
    // zero is `-0`.
    if value.fract() == 0.0 && value.abs() < 1e6 && (value != 0.0 || value.is_sign_positive()) {
        push_int(IntKind::Int, value as i64, out);
    } else {
        out.extend_from_slice(number::format_value(value).as_bytes());
    }
}

/// Appends a complex128 as Go has it: `(1+2i)`.
fn push_complex(parts: (f64, f64), out: &mut Vec<u8>) {
    out.push(b'(');
    push_float(parts.0, out);
    let imaginary = number::format_value(parts.1);
    if !imaginary.starts_with(['+', '-']) {
        out.push(b'+');
    }
    out.extend_from_slice(imaginary.as_bytes());
    out.extend_from_slice(b"i)");
}

/// A printer without flags, bounded in depth and size.
struct Plain {
    limit: usize,
    depth: usize,
}

impl Plain {
    fn push(&mut self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Nil => out.extend_from_slice(b"<nil>"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(kind, number) => push_int(*kind, *number, out),
            Value::Float(number) => push_float(*number, out),
            Value::Complex(parts) => push_complex(**parts, out),
            Value::Str(text) => out.extend_from_slice(text.as_bytes()),
            Value::Bytes(bytes) => push_bytes(bytes.as_bytes(), out),
            Value::Object(object) => self.push_object(object.as_ref(), out),
            Value::List(_) | Value::Map(_) if self.depth >= MAX_DEPTH || out.len() >= self.limit => {
                out.extend_from_slice(TRUNCATED);
            }
            Value::List(list) => self.nested(|plain| plain.push_list(list, out)),
            Value::Map(map) => self.nested(|plain| plain.push_map(map, out)),
        }
    }

    fn nested(&mut self, print: impl FnOnce(&mut Self)) {
        self.depth += 1;
        with_stack(|| print(self));
        self.depth -= 1;
    }

    fn push_list(&mut self, list: &List, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, item) in list.items().iter().enumerate() {
            if out.len() >= self.limit {
                out.extend_from_slice(TRUNCATED);
                break;
            }
            if index > 0 {
                out.push(b' ');
            }
            self.push(item, out);
        }
        out.push(b']');
    }

    fn push_map(&mut self, map: &MapRef, out: &mut Vec<u8>) {
        out.extend_from_slice(b"map[");
        for (index, (key, item)) in map.borrow().iter().enumerate() {
            if out.len() >= self.limit {
                out.extend_from_slice(TRUNCATED);
                break;
            }
            if index > 0 {
                out.push(b' ');
            }
            out.extend_from_slice(key.as_bytes());
            out.push(b':');
            self.push(item, out);
        }
        out.push(b']');
    }

    fn push_object(&mut self, object: &dyn Object, out: &mut Vec<u8>) {
        out.extend_from_slice(object.print().as_bytes());
    }
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        push_int(IntKind::Uint8, i64::from(*byte), out);
    }
    out.push(b']');
}

/// Runs a step of a recursion with enough stack for it, whatever thread this is.
#[inline]
pub(crate) fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    // Less than 64 KiB left: a new segment of 1 MiB. A single level of a recursion must get by with the
    // former; the latter makes growing rare. So deep values work on any thread, whatever its stack.
    stacker::maybe_grow(64 << 10, 1 << 20, step)
}

#[cfg(test)]
mod tests {
    use pintle_tree::Map;

    use super::*;

    fn text(value: &Value) -> String {
        to_str(value).to_string()
    }

    #[test]
    fn containers_print_as_in_go() {
        let map = Map::from_entries(vec![
            ("b".into(), Value::str("x")),
            ("a".into(), Value::Float(1e6)),
            ("c".into(), Value::list(vec![Value::Nil, Value::Bool(true), Value::Bytes("hi".into())])),
        ]);
        assert_eq!(text(&Value::map(map)), "map[a:1e+06 b:x c:[<nil> true [104 105]]]");
        assert_eq!(text(&Value::Int(IntKind::Uint64, -1)), "18446744073709551615");
        assert_eq!(text(&Value::Complex(Box::new((1.0, -2.5)))), "(1-2.5i)");
    }

    #[test]
    fn print_separates_by_kind_and_println_always() {
        let values = [Value::int(1), Value::int(2), Value::str("x"), Value::int(3), Value::Nil, Value::Nil];
        assert_eq!(sprint(&values), b"1 2x3 <nil> <nil>");
        assert_eq!(sprintln(&values[1..4]), b"2 x 3\n");
    }

    #[test]
    fn a_map_that_holds_itself_ends() {
        let map = MapRef::new(Map::new());
        map.insert("a".into(), Value::Map(map.clone()));
        map.insert("b".into(), Value::Map(map.clone()));
        let printed = to_str(&Value::Map(map.clone()));
        assert!(printed.len() < MAX_BYTES * 2);
        map.borrow_mut().retain(|_, _| false);
    }
}

//! What each verb of printf does with each kind of value.

use super::float::format_float;
use super::pad::{Integer, Spec};
use crate::object::{Encoded, Object};
use crate::print::{MAX_BYTES, MAX_DEPTH, TRUNCATED, push_value, with_stack};
use crate::value::{Kind, List, ListType, MapRef, Value};

/// The method that `%#v` calls where a type has it.
const GO_STRING: &str = "GoString";

/// One printf call in progress.
pub(super) struct Printer {
    pub(super) out: Vec<u8>,
    pub(super) spec: Spec,
    depth: usize,
    /// Inside a bad-verb text, where `String` methods are not called.
    erroring: bool,
}

impl Printer {
    pub(super) fn new(out: Vec<u8>) -> Self {
        Printer { out, spec: Spec::default(), depth: 0, erroring: false }
    }

    /// Prints one operand.
    pub(super) fn operand(&mut self, value: &Value, verb: char) {
        match (verb, value) {
            ('T' | 'v', Value::Nil) => self.spec.pad(b"<nil>", &mut self.out),
            (_, Value::Nil) => self.bad_verb(value, verb),
            ('T', _) => self.spec.push_text(value.type_name().as_bytes(), &mut self.out),
            ('p', _) => self.pointer(value),
            // At the top level Go spells the type `[]byte`; inside of other values reflection spells it
            // `[]uint8`.
            ('v' | 'd', Value::List(List { of: ListType::Bytes, .. })) if self.spec.go_syntax => {
                self.out.extend_from_slice(b"[]byte(nil)");
            }
            ('w', Value::List(List { of: ListType::Bytes, .. })) => self.value(value, verb),
            // `%w` wraps errors and is only valid in `Errorf`; Go prints simple kinds as `%v` all the same.
            ('w', Value::List(_) | Value::Map(_) | Value::Object(_)) => self.bad_verb(value, verb),
            ('v' | 'd', Value::Bytes(bytes)) if self.spec.go_syntax => {
                self.bytes_in_go_syntax("[]byte", bytes.as_bytes());
            }
            _ => self.value(value, verb),
        }
    }

    fn value(&mut self, value: &Value, verb: char) {
        match value {
            Value::Nil if self.spec.go_syntax => self.out.extend_from_slice(b"interface {}(nil)"),
            Value::Nil => self.out.extend_from_slice(b"<nil>"),
            Value::Bool(flag) => match verb {
                't' | 'v' => self.spec.pad(if *flag { b"true" } else { b"false" }, &mut self.out),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(kind, number) => self.integer(value, *number as u64, !kind.is_unsigned(), verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::Complex(parts) => self.complex(value, **parts, verb),
            Value::Str(text) => self.text(value, text.as_bytes(), verb),
            Value::Bytes(bytes) => self.bytes(bytes.as_bytes(), verb),
            Value::Object(object) => self.object(value, object.as_ref(), verb),
            Value::List(_) | Value::Map(_) if self.depth >= MAX_DEPTH || self.out.len() >= MAX_BYTES => {
                self.out.extend_from_slice(TRUNCATED);
            }
            Value::List(List { of: ListType::Bytes, .. }) if !(self.spec.go_syntax && verb == 'v') => {
                self.bytes(&[], verb);
            }
            Value::List(list) => self.nested(|printer| printer.list(list, verb)),
            Value::Map(map) => self.nested(|printer| printer.map(map, verb)),
        }
    }

    fn nested(&mut self, print: impl FnOnce(&mut Self)) {
        self.depth += 1;
        with_stack(|| print(self));
        self.depth -= 1;
    }

    /// `%!d(string=x)`: a verb that the value does not know.
    fn bad_verb(&mut self, value: &Value, verb: char) {
        let outer = std::mem::replace(&mut self.erroring, true);
        self.out.extend_from_slice(b"%!");
        self.push_char(verb);
        self.out.push(b'(');
        if value.is_nil() {
            self.out.extend_from_slice(b"<nil>");
        } else {
            self.out.extend_from_slice(value.type_name().as_bytes());
            self.out.push(b'=');
            self.value(value, 'v');
        }
        self.out.push(b')');
        self.erroring = outer;
    }

    pub(super) fn push_char(&mut self, character: char) {
        self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn text(&mut self, value: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.spec.go_syntax => self.spec.push_quoted(text, &mut self.out),
            'v' | 's' => self.spec.push_text(text, &mut self.out),
            'x' | 'X' => self.spec.push_hexadecimal(text, verb == 'X', &mut self.out),
            'q' => self.spec.push_quoted(text, &mut self.out),
            _ => self.bad_verb(value, verb),
        }
    }

    fn integer(&mut self, value: &Value, bits: u64, signed: bool, verb: char) {
        let base = match verb {
            'v' if self.spec.go_syntax && !signed => return self.address(bits, true),
            'v' | 'd' => 10,
            'b' => 2,
            'o' | 'O' => 8,
            'x' | 'X' => 16,
            'c' => return self.spec.push_character(bits, &mut self.out),
            'q' => return self.spec.push_quoted_character(bits, &mut self.out),
            'U' => return self.spec.push_code_point(bits, &mut self.out),
            _ => return self.bad_verb(value, verb),
        };
        let integer = Integer { bits, signed, base, upper: verb == 'X', octal_prefix: verb == 'O' };
        self.spec.push_integer(integer, &mut self.out);
    }

    /// An unsigned number in hexadecimal, with `0x` or without it.
    fn address(&mut self, bits: u64, prefix: bool) {
        let spec = Spec { sharp: prefix, ..self.spec };
        let integer = Integer { bits, signed: false, base: 16, upper: false, octal_prefix: false };
        spec.push_integer(integer, &mut self.out);
    }

    fn float(&mut self, value: &Value, number: f64, verb: char) {
        let (form, default) = match verb {
            'v' => (b'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb as u8, None),
            'f' | 'e' | 'E' => (verb as u8, Some(6)),
            'F' => (b'f', Some(6)),
            _ => return self.bad_verb(value, verb),
        };
        let precision = self.spec.precision.or(default);
        let text = format_float(number, form, precision);
        self.spec.push_float(&text, form, precision, &mut self.out);
    }

    fn complex(&mut self, value: &Value, parts: (f64, f64), verb: char) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(value, verb);
        }
        let plus = self.spec.plus;
        self.out.push(b'(');
        self.float(value, parts.0, verb);
        // The sign of the imaginary part is always shown, because it joins the two parts.
        self.spec.plus = true;
        self.float(value, parts.1, verb);
        self.out.extend_from_slice(b"i)");
        self.spec.plus = plus;
    }

    fn bytes(&mut self, bytes: &[u8], verb: char) {
        match verb {
            's' => self.spec.push_text(bytes, &mut self.out),
            'x' | 'X' => self.spec.push_hexadecimal(bytes, verb == 'X', &mut self.out),
            'q' => self.spec.push_quoted(bytes, &mut self.out),
            'v' if self.spec.go_syntax => self.bytes_in_go_syntax("[]uint8", bytes),
            _ => {
                self.out.push(b'[');
                for (index, byte) in bytes.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b' ');
                    }
                    self.value(&Value::Int(crate::value::IntKind::Uint8, i64::from(*byte)), verb);
                }
                self.out.push(b']');
            }
        }
    }

    fn bytes_in_go_syntax(&mut self, type_name: &str, bytes: &[u8]) {
        self.out.extend_from_slice(type_name.as_bytes());
        self.out.push(b'{');
        for (index, byte) in bytes.iter().enumerate() {
            if index > 0 {
                self.out.extend_from_slice(b", ");
            }
            self.address(u64::from(*byte), true);
        }
        self.out.push(b'}');
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.extend_from_slice(if self.spec.go_syntax { b", " } else { b" " });
        }
    }

    fn list(&mut self, list: &List, verb: char) {
        if self.spec.go_syntax {
            self.out.extend_from_slice(list.of.name().as_bytes());
            if list.is_nil() {
                self.out.extend_from_slice(b"(nil)");
                return;
            }
        }
        self.out.push(if self.spec.go_syntax { b'{' } else { b'[' });
        for (index, item) in list.items().iter().enumerate() {
            if self.out.len() >= MAX_BYTES {
                self.out.extend_from_slice(TRUNCATED);
                break;
            }
            self.separate(index);
            self.value(item, verb);
        }
        self.out.push(if self.spec.go_syntax { b'}' } else { b']' });
    }

    /// A map of a type of its own, such as `.Files`.
    fn entries_in_go_syntax(&mut self, object: &dyn Object) {
        self.out.extend_from_slice(object.type_name().as_bytes());
        self.out.push(b'{');
        for (index, (key, item)) in object.entries().iter().enumerate() {
            if self.out.len() >= MAX_BYTES {
                self.out.extend_from_slice(TRUNCATED);
                break;
            }
            self.separate(index);
            self.value(key, 'v');
            self.out.push(b':');
            self.value(item, 'v');
        }
        self.out.push(b'}');
    }

    fn map(&mut self, map: &MapRef, verb: char) {
        if self.spec.go_syntax {
            self.out.extend_from_slice(map.of.name().as_bytes());
            if map.is_nil() {
                self.out.extend_from_slice(b"(nil)");
                return;
            }
            self.out.push(b'{');
        } else {
            self.out.extend_from_slice(b"map[");
        }
        for (index, (key, item)) in map.borrow().iter().enumerate() {
            if self.out.len() >= MAX_BYTES {
                self.out.extend_from_slice(TRUNCATED);
                break;
            }
            self.separate(index);
            self.value(&Value::Str(key.clone()), verb);
            self.out.push(b':');
            self.value(item, verb);
        }
        self.out.push(if self.spec.go_syntax { b'}' } else { b']' });
    }

    /// The entries of an object that is a map.
    fn entries(&mut self, object: &dyn Object, verb: char) {
        self.out.extend_from_slice(b"map[");
        for (index, (key, item)) in object.entries().iter().enumerate() {
            self.separate(index);
            self.value(key, verb);
            self.out.push(b':');
            self.value(item, verb);
        }
        self.out.push(b']');
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char) {
        let stringer = object.is_stringer() && !self.erroring;
        let is_basic = matches!(object.kind(), Kind::Int(_) | Kind::Float64 | Kind::String | Kind::Bool);
        let as_text = stringer || verb == 'v' && !is_basic;
        if as_text && !self.spec.go_syntax && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            return self.text(value, object.print().as_bytes(), verb);
        }
        if self.spec.go_syntax && verb == 'v' {
            if object.kind() == Kind::Map {
                return self.nested(|printer| printer.entries_in_go_syntax(object));
            }
            if object.methods().iter().any(|method| method.name == GO_STRING)
                && let Ok(Value::Str(text)) = object.call(GO_STRING, &[])
            {
                return self.out.extend_from_slice(text.as_bytes());
            }
        }
        // Go prints only the address of a pointer inside something else, and most verbs refuse even that.
        if object.kind() == Kind::Pointer && self.depth > 0 && verb != 'v' {
            return self.bad_verb(value, verb);
        }
        let plain = match object.kind() {
            _ if is_basic => match object.encode() {
                Encoded::Value(plain) if plain.kind() == object.kind() => Some(plain),
                _ => None,
            },
            Kind::Slice => Some(Value::list(object.entries().into_iter().map(|(_, item)| item).collect())),
            Kind::Map if !self.spec.go_syntax => return self.nested(|printer| printer.entries(object, verb)),
            _ => None,
        };
        match plain {
            // With the object, whose type is named where the verb does not suit.
            Some(Value::Int(kind, number)) => self.integer(value, number as u64, !kind.is_unsigned(), verb),
            Some(Value::Float(number)) => self.float(value, number, verb),
            Some(Value::Str(text)) => self.text(value, text.as_bytes(), verb),
            Some(plain) => self.value(&plain, verb),
            None if verb == 'v' => push_value(value, &mut self.out),
            None => self.bad_verb(value, verb),
        }
    }

    fn pointer(&mut self, value: &Value) {
        let address = match value {
            Value::Map(map) => map.address(),
            Value::List(list) => list.items().as_ptr().addr(),
            Value::Bytes(bytes) => bytes.as_bytes().as_ptr().addr(),
            _ => return self.bad_verb(value, 'p'),
        };
        self.address(address as u64, !self.spec.sharp);
    }
}

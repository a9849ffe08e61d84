//! Map keys as Go knows them: typed while a map is read, strings afterwards.

use std::cmp::Ordering;

use pintle_tree::number::format_value;
use pintle_tree::quote::quote;

use crate::resolve::Meaning;

/// A key with its type.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Vec<u8>),
}

impl Key {
    pub(crate) fn new(meaning: Meaning, text: &[u8]) -> Self {
        match meaning {
            Meaning::Nil => Key::Nil,
            Meaning::Bool(value) => Key::Bool(value),
            Meaning::Int(value) => Key::Int(value),
            Meaning::Uint(value) => Key::Uint(value),
            Meaning::Float(value) => Key::Float(value),
            Meaning::Text => Key::Text(text.to_vec()),
        }
    }

    /// The rank of the key's type, in the order that the types have in Helm's binary (go-yaml's errors depend on it).
    fn rank(&self) -> u8 {
        match self {
            Key::Nil => 0,
            Key::Text(_) => 1,
            Key::Uint(_) => 2,
            Key::Int(_) => 3,
            Key::Float(_) => 4,
            Key::Bool(_) => 5,
        }
    }

    /// The key in Go's `%#v` form, as a value inside an interface.
    pub(crate) fn spelled(&self) -> String {
        match self {
            Key::Nil => "interface {}(nil)".to_owned(),
            Key::Bool(value) => value.to_string(),
            Key::Int(value) => value.to_string(),
            Key::Uint(value) => format!("{value:#x}"),
            Key::Float(value) => format_value(*value),
            Key::Text(text) => quote(text),
        }
    }
}

/// The text of a key that is no text by itself. `None` for what cannot be a key in JSON.
pub(crate) fn key_text(meaning: Meaning) -> Option<String> {
    Some(match meaning {
        Meaning::Bool(value) => value.to_string(),
        Meaning::Int(value) => value.to_string(),
        Meaning::Float(value) => float_key(value),
        Meaning::Nil | Meaning::Uint(_) | Meaning::Text => return None,
    })
}

/// Floats as keys are spelled with the precision of 32 bits.
fn float_key(value: f64) -> String {
    // sigs.k8s.io/yaml formats float keys with a bit size of 32 (`FormatFloat(key, 'g', -1, 32)`), so 1.1 and
    // 1.10000001 are the same key.
    let narrow = value as f32;
    if narrow.is_nan() {
        return ".nan".to_owned();
    }
    if narrow.is_infinite() {
        return if narrow > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    // The shortest digits of the 32-bit number are also the shortest of the 64-bit number that they spell.
    let digits = ryu::Buffer::new().format_finite(narrow).parse();
    format_value(digits.expect("a printed float can be read"))
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Key::Int(a), Key::Int(b)) => a.cmp(b),
            (Key::Uint(a), Key::Uint(b)) => a.cmp(b),
            // Zero has two signs but is one key.
            (Key::Float(a), Key::Float(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_keys_have_the_digits_of_32_bits() {
        for (value, text) in [
            (1.1, "1.1"),
            (123456789.5, "1.2345679e+08"),
            (456789.123456789, "456789.12"),
            (1e300, ".inf"),
            (0.1 + 0.2, "0.3"),
            (1e6, "1e+06"),
        ] {
            assert_eq!(float_key(value), text);
        }
    }
}

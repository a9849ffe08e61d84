//! Decodes trees into structs with the rules of Go's JSON, which is how Helm reads Chart.yaml and the heads of
//! objects.
//!
//! Field names match case-insensitively; numbers and booleans become strings where strings are expected
//! (sigs.k8s.io/yaml does that before the JSON); nil leaves scalars alone and empties lists and maps; a type mismatch
//! does not stop decoding, and the first one is the error.

use std::collections::BTreeMap;

use pintle_tree::json::{path_of, type_error};
use pintle_tree::number::format_value;
use pintle_tree::quote::quote;
use pintle_tree::{Node, Str};

use crate::{Assemble, Assembler, Error, read_strict, read_with};

/// Parses YAML for decoding; in strict mode duplicate keys are errors.
///
/// # Errors
/// When the text is not valid YAML.
pub fn read_tree(text: &[u8], strict: bool) -> Result<Node, Error> {
    if strict {
        read_strict(text)?;
    }
    read_with(text, &mut Assembler::<Exact>::default()).map(|tree| tree.0)
}

/// A tree that distinguishes integers from floats, because `version: 1000000` and `version: 1e6` become different
/// strings.
#[derive(Debug)]
pub struct Exact(pub Node);

impl Assemble for Exact {
    fn nil() -> Self {
        Exact(Node::Nil)
    }

    fn bool(value: bool) -> Self {
        Exact(Node::Bool(value))
    }

    fn int(value: i64) -> Self {
        Exact(Node::Int(value))
    }

    fn uint(value: u64) -> Self {
        // Only string fields get such numbers, and there all digits count.
        Exact(Node::from(value.to_string()))
    }

    fn float(value: f64) -> Self {
        Exact(Node::Float(value))
    }

    fn str(text: Str) -> Self {
        Exact(Node::Str(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Exact(Node::List(items.into_iter().map(|item| item.0).collect()))
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Exact(Node::Map(entries.into_iter().map(|(key, value)| (key, value.0)).collect()))
    }
}

/// The first error of a decoding.
#[derive(Debug)]
pub enum Problem {
    /// A value of the wrong type.
    Type {
        /// The JSON type of the value.
        found: &'static str,
        /// The path of the value, as [`path_of`] writes it.
        path: String,
        /// The Go type that was expected.
        wanted: String,
    },
    /// Anything else, in Go's words.
    Other(String),
}

impl Problem {
    /// Go's text. `root` is the name of the document's Go type, and `before` the path of what was decoded.
    pub fn text(&self, root: &str, before: &str) -> String {
        match self {
            Problem::Type { found, path, wanted } => {
                let separator = if before.is_empty() || path.is_empty() { "" } else { "." };
                type_error(found, root, &[before, path].join(separator), wanted)
            }
            Problem::Other(text) => text.clone(),
        }
    }
}

/// An error before its path is known.
enum Noted {
    Type { value: *const Node, found: &'static str, wanted: String },
    Other(String),
}

/// Decodes one document.
pub struct Decoder {
    /// Whether unknown fields are errors.
    strict: bool,
    error: Option<Noted>,
}

impl Decoder {
    /// Returns a decoder; in strict mode unknown fields are errors.
    pub fn new(strict: bool) -> Self {
        Decoder { strict, error: None }
    }

    /// Ends the decoding of `root`.
    ///
    /// # Errors
    /// The first error, as `sigs.k8s.io/yaml` words it.
    pub fn finish(self, root: &Node) -> Result<(), String> {
        match self.problem(root) {
            None => Ok(()),
            Some(problem) => {
                Err(format!("error unmarshaling JSON: while decoding JSON: {}", problem.text("", "")))
            }
        }
    }

    /// The first error of the decoding of `root`.
    pub fn problem(self, root: &Node) -> Option<Problem> {
        Some(match self.error? {
            Noted::Type { value, found, wanted } => {
                Problem::Type { found, path: path_of(root, value), wanted }
            }
            Noted::Other(text) => Problem::Other(text),
        })
    }

    /// Records an error unless there is one already.
    pub fn note(&mut self, error: impl FnOnce() -> String) {
        if self.error.is_none() {
            self.error = Some(Noted::Other(error()));
        }
    }

    /// Records that a value of the document is not of the Go type `wanted`, unless there is an error already.
    pub fn clash(&mut self, value: &Node, wanted: &str) {
        if self.error.is_none() {
            let (found, wanted) = (value.json_type(), wanted.to_owned());
            self.error = Some(Noted::Type { value, found, wanted });
        }
    }

    /// Calls `set` for every field of the document. Nil leaves everything unchanged.
    pub fn document(
        &mut self,
        value: &Node,
        go_type: &str,
        names: &[&'static str],
        set: impl FnMut(&mut Self, &'static str, &Node),
    ) {
        match value {
            Node::Nil => {}
            Node::Map(_) => self.fields(value, names, set),
            other => self.clash(other, go_type),
        }
    }

    /// Calls `set` for every field of a map that has one of `names`, in byte order of the keys.
    pub fn fields(
        &mut self,
        value: &Node,
        names: &[&'static str],
        mut set: impl FnMut(&mut Self, &'static str, &Node),
    ) {
        let Some(fields) = value.as_map() else { return };
        for (key, value) in fields.iter() {
            match field_named(key, names) {
                Some(name) => set(self, name, value),
                None if self.strict => self.note(|| format!("json: unknown field {}", quote(key.as_bytes()))),
                None => {}
            }
        }
    }

    /// Decodes a struct inside a struct.
    pub fn structure(
        &mut self,
        value: &Node,
        go_type: &str,
        names: &[&'static str],
        set: impl FnMut(&mut Self, &'static str, &Node),
    ) {
        match value {
            Node::Nil => {}
            Node::Map(_) => self.fields(value, names, set),
            other => self.clash(other, go_type),
        }
    }

    /// Decodes a string.
    pub fn string(&mut self, value: &Node, target: &mut String) {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = text.to_str_lossy().into_owned(),
            Node::Bool(truth) => *target = truth.to_string(),
            Node::Int(number) => *target = number.to_string(),
            Node::Float(number) => *target = number_text(*number),
            Node::List(_) | Node::Map(_) => self.clash(value, "string"),
        }
    }

    /// Decodes a boolean.
    pub fn bool(&mut self, value: &Node, target: &mut bool) {
        match value {
            Node::Nil => {}
            Node::Bool(truth) => *target = *truth,
            other => self.clash(other, "bool"),
        }
    }

    /// Decodes a list of strings.
    pub fn strings(&mut self, value: &Node, target: &mut Vec<String>) {
        self.list(value, "[]string", target, |decoder, item, text| decoder.string(item, text));
    }

    /// Decodes a time of RFC 3339 by `parse`. Nil leaves the target unchanged.
    pub fn time<T>(&mut self, value: &Node, target: &mut T, parse: impl FnOnce(&str) -> Result<T, String>) {
        match value {
            Node::Nil => {}
            Node::Str(text) => match parse(&text.to_str_lossy()) {
                Ok(time) => *target = time,
                Err(reason) => self.note(|| reason),
            },
            other => self.clash(other, "time.Time"),
        }
    }

    /// Decodes a list of anything; numbers become floats, as in Go's JSON.
    pub fn nodes(&mut self, value: &Node, target: &mut Vec<Node>) {
        self.list(value, "[]interface {}", target, |_, item, node| *node = with_floats(item));
    }

    /// Decodes a map of strings.
    pub fn string_map(&mut self, value: &Node, target: &mut BTreeMap<String, String>) {
        match value {
            // `null` sets a Go slice or map to nil, but leaves a string or bool field as it is.
            Node::Nil => target.clear(),
            Node::Map(entries) => {
                for (key, value) in entries.iter() {
                    let mut text = String::new();
                    // A value that fails to decode still leaves its key in the map, with an empty string.
                    self.string(value, &mut text);
                    target.insert(key.to_str_lossy().into_owned(), text);
                }
            }
            other => self.clash(other, "map[string]string"),
        }
    }

    /// Decodes a list of pointers to structs: nil items stay `None`, others are decoded into what an earlier decoding
    /// left at the same index.
    pub fn structs<T: Default>(
        &mut self,
        value: &Node,
        go_type: &str,
        target: &mut Vec<Option<T>>,
        mut set: impl FnMut(&mut Self, &Node, &mut T),
    ) {
        self.list(value, &format!("[]*{go_type}"), target, |decoder, item, slot| match item {
            Node::Nil => *slot = None,
            Node::Map(_) => set(decoder, item, slot.get_or_insert_default()),
            other => decoder.clash(other, go_type),
        });
    }

    fn list<T: Default>(
        &mut self,
        value: &Node,
        go_type: &str,
        target: &mut Vec<T>,
        mut set: impl FnMut(&mut Self, &Node, &mut T),
    ) {
        match value {
            Node::Nil => target.clear(),
            Node::List(items) => {
                // Go's decoder reuses the elements that are there, so fields that a second document leaves
                // out keep their values.
                target.resize_with(items.len(), T::default);
                for (item, slot) in items.iter().zip(target) {
                    set(self, item, slot);
                }
            }
            other => self.clash(other, go_type),
        }
    }
}

/// A float as a string: the digits of a 32-bit float, which is what sigs.k8s.io/yaml writes.
pub fn number_text(number: f64) -> String {
    let short = number as f32;
    short.to_string().parse().map_or_else(|_| format_value(number), format_value)
}

fn with_floats(node: &Node) -> Node {
    match node {
        Node::Int(number) => Node::Float(*number as f64),
        Node::List(items) => Node::List(items.iter().map(with_floats).collect()),
        Node::Map(map) => {
            Node::Map(map.iter().map(|(key, value)| (key.clone(), with_floats(value))).collect())
        }
        other => other.clone(),
    }
}

/// The field of a key: the exact name, else the same name ignoring case.
fn field_named(key: &Str, names: &[&'static str]) -> Option<&'static str> {
    let exact = names.iter().find(|name| key == **name);
    exact.or_else(|| names.iter().find(|name| matches_field(key, name))).copied()
}

/// Whether a key matches a field. Go's JSON ignores case, and folds two non-ASCII letters onto ASCII ones: the Kelvin
/// sign and the long s.
pub fn matches_field(key: &[u8], field: &str) -> bool {
    let folded = |character: char| match character {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        _ => character.to_ascii_lowercase(),
    };
    key == field.as_bytes()
        // Folded letters are up to three bytes long.
        || (field.len()..=field.len() * 3).contains(&key.len())
            && std::str::from_utf8(key).is_ok_and(|key| key.chars().map(folded).eq(field.chars().map(folded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_text_that_go_makes_of_them() {
        for (number, text) in
            [(1.1, "1.1"), (1e20, "1e+20"), (1e6, "1e+06"), (0.1 + 0.2, "0.3"), (1234567.5, "1.2345675e+06")]
        {
            assert_eq!(number_text(number), text);
        }
    }

    #[test]
    fn keys_match_in_any_case_but_exact_ones_first() {
        assert_eq!(field_named(&"APPVERSION".into(), &["appVersion"]), Some("appVersion"));
        assert_eq!(field_named(&"\u{212a}eywords".into(), &["keywords"]), Some("keywords"));
        assert_eq!(field_named(&"app-version".into(), &["appVersion"]), None);
    }
}

//! The head of a document: the few fields that sorting and hooks need, decoded with Go's rules.
//!
//! Helm decodes heads into a Go struct through JSON, with visible consequences: field names match ignoring case,
//! numbers and booleans become strings where strings are expected, and anything else of the wrong type is an error
//! that names Go types.

use std::fmt;

use pintle_tree::{Map, Node, Str, json};
use pintle_yaml::decode::{matches_field, number_text};

use crate::prune::Pruner;

/// The head of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The API version, or empty.
    pub api_version: Str,
    /// The kind, or empty.
    pub kind: Str,
    /// The metadata, if present.
    pub metadata: Option<HeadMetadata>,
}

/// The decoded part of an object's metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadMetadata {
    /// The name, or empty.
    pub name: Str,
    /// The annotations.
    pub annotations: Map<Str>,
}

/// Why a head could not be decoded.
#[derive(Debug)]
pub(crate) enum HeadError {
    /// The document is not YAML.
    Yaml(pintle_yaml::Error),
    /// A field has the wrong type; holds Go's text.
    Shape(String),
}

impl HeadError {
    /// The line within the document, if the YAML reader reports one.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            HeadError::Yaml(error) => error.line(),
            HeadError::Shape(_) => None,
        }
    }
}

impl fmt::Display for HeadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadError::Yaml(error) => error.fmt(formatter),
            HeadError::Shape(clash) => {
                write!(formatter, "error unmarshaling JSON: while decoding JSON: {clash}")
            }
        }
    }
}

/// Decodes the head of one document. The whole document must be valid YAML.
pub(crate) fn read(text: &[u8]) -> Result<Head, HeadError> {
    let root = pintle_yaml::read_with(text, &mut Pruner::default()).map_err(HeadError::Yaml)?;
    let mut reading = HeadDecoder::default();
    let head = reading.head(&root);
    match reading.clash {
        None => Ok(head),
        Some((value, wanted)) => {
            let (found, path) = (value.json_type(), json::path_of(&root, value));
            Err(HeadError::Shape(json::type_error(found, "", &path, wanted)))
        }
    }
}

/// The Go type of the metadata field, as its errors spell it.
const METADATA_TYPE: &str =
    r#"struct { Name string "json:\"name\""; Annotations map[string]string "json:\"annotations\"" }"#;

/// Decodes one document. Like Go, it continues after a type error and reports the first.
#[derive(Default)]
struct HeadDecoder<'n> {
    /// The value of the wrong type, and the Go type that it should have.
    clash: Option<(&'n Node, &'static str)>,
}

impl<'n> HeadDecoder<'n> {
    fn head(&mut self, root: &'n Node) -> Head {
        let mut head = Head::default();
        match root {
            Node::Nil => {}
            Node::Map(fields) => {
                // In the order of the keys: Go converts the document to JSON with sorted keys, and of `Kind`
                // and `kind` the later wins.
                for (name, value) in fields.iter() {
                    if matches_field(name.as_bytes(), "apiVersion") {
                        self.text(value, &mut head.api_version);
                    } else if matches_field(name.as_bytes(), "kind") {
                        self.text(value, &mut head.kind);
                    } else if matches_field(name.as_bytes(), "metadata") {
                        self.metadata(value, &mut head.metadata);
                    }
                }
            }
            other => self.clash(other, "util.SimpleHead"),
        }
        head
    }

    fn metadata(&mut self, value: &'n Node, target: &mut Option<HeadMetadata>) {
        match value {
            // Go sets a pointer to nil for null, but leaves a string unchanged.
            Node::Nil => *target = None,
            Node::Map(fields) => {
                let metadata = target.get_or_insert_default();
                for (name, value) in fields.iter() {
                    if matches_field(name.as_bytes(), "name") {
                        self.text(value, &mut metadata.name);
                    } else if matches_field(name.as_bytes(), "annotations") {
                        self.annotations(value, &mut metadata.annotations);
                    }
                }
            }
            other => self.clash(other, METADATA_TYPE),
        }
    }

    fn annotations(&mut self, value: &'n Node, target: &mut Map<Str>) {
        match value {
            Node::Nil => *target = Map::new(),
            Node::Map(entries) => {
                for (name, value) in entries.iter() {
                    let mut text = Str::EMPTY;
                    self.text(value, &mut text);
                    // Also for null: Go adds the key with an empty string.
                    target.insert(name.clone(), text);
                }
            }
            other => self.clash(other, "map[string]string"),
        }
    }

    /// Sets `target` from a scalar; nil leaves it unchanged.
    fn text(&mut self, value: &'n Node, target: &mut Str) {
        match value {
            Node::Nil => {}
            Node::Str(text) => *target = text.clone(),
            Node::Bool(true) => *target = "true".into(),
            Node::Bool(false) => *target = "false".into(),
            Node::Int(number) => *target = number.to_string().into(),
            Node::Float(number) => *target = number_text(*number).into(),
            Node::List(_) | Node::Map(_) => self.clash(value, "string"),
        }
    }

    fn clash(&mut self, value: &'n Node, wanted: &'static str) {
        self.clash.get_or_insert((value, wanted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_error(text: &str) -> String {
        read(text.as_bytes()).expect_err("the head is wrong").to_string()
    }

    #[test]
    fn field_names_match_in_any_case_and_scalars_become_text() {
        let head =
            read(b"APIVERSION: 1\nKind: true\nmetaData: {NAME: 1.50, annotations: {a: null, b: no}}\n")
                .expect("a good head");
        assert_eq!(head.api_version, "1");
        assert_eq!(head.kind, "true");
        let metadata = head.metadata.expect("has metadata");
        assert_eq!(metadata.name, "1.5");
        assert_eq!(metadata.annotations.get("a"), Some(&Str::EMPTY));
        assert_eq!(metadata.annotations.get("b"), Some(&"false".into()));
    }

    #[test]
    fn the_exact_name_comes_after_others_in_byte_order_and_wins() {
        assert_eq!(read(b"kind: a\nKIND: b\n").expect("a good head").kind, "a");
    }

    #[test]
    fn wrong_types_are_described_in_go_words() {
        assert!(shape_error("metadata: 5").ends_with(&format!(
            "json: cannot unmarshal number into Go struct field .metadata of type {METADATA_TYPE}"
        )));
        assert!(shape_error("metadata: {annotations: {x: [], a/b: {}}}").ends_with(
            "json: cannot unmarshal object into Go struct field .metadata.annotations.a~1b of type string"
        ));
        assert!(
            shape_error("Kind: [x]")
                .ends_with("json: cannot unmarshal array into Go struct field .Kind of type string")
        );
        assert!(
            shape_error("true")
                .ends_with("json: cannot unmarshal bool into Go value of type util.SimpleHead")
        );
    }

    #[test]
    fn an_empty_document_has_an_empty_head() {
        assert_eq!(read(b"# nothing\n").expect("a good head"), Head::default());
    }
}

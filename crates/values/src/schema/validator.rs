//! Validation of many values against one schema document, as kubeconform validates Kubernetes objects: schemas without
//! `$schema` use draft 4, and durations may be written as in Go.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};

use super::budget::Budget;
use super::document::Doc;
use super::eager::{Compiled, Compiler};
use super::format::KUBERNETES_DURATION;
use super::lazy::Lazy;
use super::message::{Failure, FailureKind};
use super::rules::SchemaId;
use super::validate;
use crate::ReadSource;

/// The draft of schemas that name none.
const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";

/// The location of the document in messages.
const URL: &str = "file:///schema.json";

/// A parsed JSON schema.
#[derive(Debug)]
pub struct SchemaDocument(Doc);

impl SchemaDocument {
    /// Parses a schema.
    ///
    /// # Errors
    /// When the text is not JSON, or not a map.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let mut doc = Doc::read(text)?;
        prepare(&mut doc);
        let Doc::Map(map) = &mut doc else { return Err("a schema must be a map".to_owned()) };
        if !map.contains_key("$schema") {
            map.insert("$schema".into(), Doc::Text(DRAFT_4.into()));
        }
        Ok(SchemaDocument(doc))
    }

    /// A schema from a tree.
    pub fn from_node(schema: &Map<Node>) -> Self {
        let mut doc = Doc::from_map(schema);
        prepare(&mut doc);
        if let Doc::Map(map) = &mut doc
            && !map.contains_key("$schema")
        {
            map.insert("$schema".into(), Doc::Text(DRAFT_4.into()));
        }
        SchemaDocument(doc)
    }
}

/// Replaces the format `duration` by the one that also accepts Go's durations.
fn prepare(doc: &mut Doc) {
    match doc {
        Doc::List(list) => list.iter_mut().for_each(prepare),
        Doc::Map(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Doc::Text(text) if *key == "format" && *text == "duration" => {
                        *text = KUBERNETES_DURATION.into();
                    }
                    other => prepare(other),
                }
            }
        }
        _ => {}
    }
}

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer of the value.
    pub pointer: String,
    /// The message.
    pub message: String,
}

/// Validates values. Only the parts of the document that values reach are compiled, once. It is neither `Send` nor `Sync`.
pub struct Validator<'d> {
    schemas: Schemas<'d>,
    entries: RefCell<BTreeMap<String, Option<SchemaId>>>,
}

enum Schemas<'d> {
    Lazy(Lazy<'d>),
    Compiled(Compiled),
}

impl<'d> Validator<'d> {
    /// Prepares a document. `read` returns other documents that it refers to.
    ///
    /// # Errors
    /// When the document is not a valid schema.
    pub fn new(document: &'d SchemaDocument, read: &mut ReadSource<'_>) -> Result<Self, String> {
        let budget = Budget::new();
        let schemas = match Lazy::new(&document.0, URL, &budget) {
            Some(lazy) => Schemas::Lazy(lazy),
            None => {
                let mut log = Vec::new();
                let compiler = Compiler::new(read, &mut log, &budget).with(URL, document.0.clone());
                Schemas::Compiled(compiler.compile(URL)?)
            }
        };
        Ok(Validator { schemas, entries: RefCell::default() })
    }

    /// Validates a value against the whole document.
    pub fn check(&self, value: &Node) -> Vec<Violation> {
        self.check_at(0, value)
    }

    /// Validates a value against the part of the document that a JSON pointer leads to; `None` if there is none.
    pub fn check_with(&self, pointer: &str, value: &Node) -> Option<Vec<Violation>> {
        // A document that needs the full compiler has no entry points but its root.
        let Schemas::Lazy(lazy) = &self.schemas else { return None };
        let known = self.entries.borrow().get(pointer).copied();
        let entry = known.unwrap_or_else(|| {
            let entry = lazy.entry(pointer);
            self.entries.borrow_mut().insert(pointer.to_owned(), entry);
            entry
        });
        entry.map(|entry| self.check_at(entry, value))
    }

    fn check_at(&self, entry: SchemaId, value: &Node) -> Vec<Violation> {
        // Each value has the same budget as all values of a chart.
        let budget = Budget::new();
        let failure = match &self.schemas {
            Schemas::Lazy(lazy) => validate::failure(lazy, entry, value, &budget),
            Schemas::Compiled(compiled) => validate::failure(compiled, entry, value, &budget),
        };
        let mut violations = Vec::new();
        for failure in failure.into_iter().flat_map(Failure::into_group) {
            collect(failure, &mut violations);
        }
        violations
    }
}

/// Flattens a failure: groups and references are replaced by their causes, but alternatives that all failed are one
/// violation.
fn collect(failure: Failure, into: &mut Vec<Violation>) {
    let passes_on = failure.kind != FailureKind::Plain || failure.message == "'allOf' failed";
    if passes_on && !failure.causes.is_empty() {
        failure.causes.into_iter().for_each(|cause| collect(cause, into));
        return;
    }
    let mut message = failure.message;
    let reasons: Vec<String> = reasons(&failure.causes);
    if !reasons.is_empty() {
        message.push_str(&format!(" ({})", reasons.join("; ")));
    }
    into.push(Violation { pointer: failure.at, message });
}

fn reasons(causes: &[Failure]) -> Vec<String> {
    let own = |cause: &Failure| match cause.causes.as_slice() {
        [] => vec![cause.message.clone()],
        causes => reasons(causes),
    };
    causes.iter().flat_map(own).collect()
}

impl Doc {
    fn from_node(node: &Node) -> Doc {
        match node {
            Node::Nil => Doc::Nil,
            Node::Bool(value) => Doc::Bool(*value),
            Node::Int(value) => Doc::Number(Str::from(value.to_string())),
            Node::Float(value) => {
                Doc::Number(Str::from(pintle_tree::number::format_json(*value).unwrap_or_default()))
            }
            Node::Str(text) => Doc::Text(text.clone()),
            Node::List(list) => Doc::List(list.iter().map(Doc::from_node).collect()),
            Node::Map(map) => Doc::from_map(map),
        }
    }

    pub(super) fn from_map(map: &Map<Node>) -> Doc {
        Doc::Map(map.iter().map(|(key, node)| (key.clone(), Doc::from_node(node))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(schema: &str, pointer: &str, value: &str) -> Vec<(String, String)> {
        let document = SchemaDocument::read(schema.as_bytes()).unwrap();
        let mut read = |path: &str| Err(format!("no {path}"));
        let validator = Validator::new(&document, &mut read).unwrap();
        let value = pintle_tree::json::read(value.as_bytes()).unwrap();
        let found = if pointer.is_empty() {
            validator.check(&value)
        } else {
            validator.check_with(pointer, &value).unwrap()
        };
        found.into_iter().map(|violation| (violation.pointer, violation.message)).collect()
    }

    #[test]
    fn parts_of_a_document_are_schemas_of_their_own() {
        let schema = r##"{"definitions":{"a":{"type":"object","properties":{"b":{"$ref":"#/definitions/b"}}},
            "b":{"type":"string"}}}"##;
        let found = violations(schema, "/definitions/a", r#"{"b":1}"#);
        assert_eq!(found, [("/b".to_owned(), "got number, want string".to_owned())]);
        assert_eq!(violations(schema, "/definitions/b", r#""x""#), []);
    }

    #[test]
    fn durations_are_those_of_go_and_of_json_schema() {
        let schema = r#"{"format":"duration"}"#;
        for good in [r#""1h30m""#, r#""PT1H""#, r#""3 days""#, "5"] {
            assert_eq!(violations(schema, "", good), [], "{good}");
        }
        assert_eq!(violations(schema, "", r#""soon""#).len(), 1);
    }
}

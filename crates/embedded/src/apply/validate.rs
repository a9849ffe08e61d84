//! Validation of an applied configuration against the schema.

use std::collections::BTreeSet;

use pintle_tree::{Node, with_stack};

use super::field_set::{PathElement, path_string};
use super::typed::{AtomKind, Keys, ScalarType, TypeRef};
use crate::go_format::{go_syntax, go_type, go_value};

/// Returns the server's message, or `None` if `object` is valid.
pub(super) fn validate(type_ref: TypeRef<'_>, object: &Node) -> Option<String> {
    let mut errors = ErrorList { path: Vec::new(), found: Vec::new() };
    errors.value(type_ref, object);
    match &errors.found[..] {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("errors:\n  {}", several.join("\n  "))),
    }
}

struct ErrorList {
    path: Vec<PathElement>,
    found: Vec<String>,
}

impl ErrorList {
    fn add(&mut self, message: String) {
        let path = path_string(&self.path);
        self.found.push(if path.is_empty() { message } else { format!("{path}: {message}") });
    }

    fn value(&mut self, type_ref: TypeRef<'_>, value: &Node) {
        match (type_ref.atom_kind(Some(value)), value) {
            (_, Node::Nil) => {}
            (AtomKind::Scalar, value) => self.scalar(type_ref.scalar(), value),
            (AtomKind::Map, Node::Map(map)) => {
                for (name, value) in map.iter() {
                    self.path.push(PathElement::Field(name.clone()));
                    let child = type_ref.field(name);
                    match child {
                        Some(child) => with_stack(|| self.value(child, value)),
                        None => self.add("field not declared in schema".into()),
                    }
                    self.path.pop();
                    // The real server stops at the first unknown field, too.
                    if child.is_none() {
                        return;
                    }
                }
            }
            (AtomKind::List, Node::List(list)) => self.list(type_ref, list),
            (AtomKind::Map, other) => self.add(format!("expected map, got {}", describe(other))),
            (AtomKind::List, other) => self.add(format!("expected list, got {}", describe(other))),
        }
    }

    fn scalar(&mut self, wanted: ScalarType, value: &Node) {
        let message = match (wanted, value) {
            (ScalarType::Number, Node::Int(_) | Node::Float(_))
            | (ScalarType::Text, Node::Str(_))
            | (ScalarType::Bool, Node::Bool(_))
            | (ScalarType::Any, Node::Int(_) | Node::Float(_) | Node::Str(_) | Node::Bool(_)) => return,
            (ScalarType::Number, other) => format!("expected numeric (int or float), got {}", go_type(other)),
            (ScalarType::Text, other) => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other))
            }
            (ScalarType::Bool, other) => format!("expected boolean, got {}", describe(other)),
            (ScalarType::Any, other) => format!("expected any scalar, got {}", describe(other)),
        };
        self.add(message);
    }

    fn list(&mut self, type_ref: TypeRef<'_>, list: &[Node]) {
        let mut seen = BTreeSet::new();
        for (at, item) in list.iter().enumerate() {
            let element = if matches!(type_ref.keys(), Keys::Atomic) {
                PathElement::Index(at as i64)
            } else {
                match type_ref.element(item) {
                    Ok(element) => element,
                    Err(message) => return self.add(format!("element {at}: {message}")),
                }
            };
            if !seen.insert(element.clone()) {
                self.add(format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            with_stack(|| self.value(type_ref.items(), item));
            self.path.pop();
        }
    }
}

/// A value as in the server's errors.
fn describe(value: &Node) -> String {
    format!("&{{{}}}", go_value(value))
}

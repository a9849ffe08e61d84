//! The objects of rendered texts.

use std::borrow::Cow;

use pintle_tree::{Map, Node};

use crate::finding::ObjectName;
use crate::run::RenderedText;
use crate::schema::Gvk;

/// A document of a rendered text.
pub(crate) struct Document<'f, 't> {
    pub(crate) file: &'f RenderedText,
    pub(crate) text: Cow<'t, [u8]>,
    /// The line of the file on which it begins, from 1.
    pub(crate) line: usize,
}

/// An object of a document: the document itself, or an item of a list.
#[derive(Clone)]
pub(crate) struct Object {
    /// The JSON pointer in the document; empty for the document itself.
    pub(crate) pointer: String,
    pub(crate) node: Node,
    pub(crate) name: ObjectName,
}

/// A problem with a document as a whole.
pub(crate) struct DocumentProblem {
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    /// The line in the document, from 1.
    pub(crate) line: usize,
}

/// Everything in a document.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<DocumentProblem>,
}

impl<'f> Document<'f, '_> {
    /// A copy that does not need the text of the whole file.
    pub(crate) fn keep(&self) -> Document<'f, 'static> {
        Document { file: self.file, text: Cow::Owned(self.text.to_vec()), line: self.line }
    }

    /// Reads the objects: none of an empty document, several of a list.
    pub(crate) fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        let node = match pintle_yaml::read_strict(&self.text) {
            Ok(node) => node,
            Err(strict) => match pintle_yaml::read(&self.text) {
                Ok(node) => {
                    let line = strict.line().unwrap_or(1);
                    contents.problem("duplicate-key", strict.to_string(), line);
                    node
                }
                Err(error) => {
                    contents.problem("invalid-yaml", error.to_string(), error.line().unwrap_or(1));
                    return contents;
                }
            },
        };
        match node {
            Node::Nil => {}
            Node::Map(map) if map.is_empty() => {}
            Node::Map(map) => contents.object(String::new(), map),
            other => {
                let message = format!("a document must be an object, not {}", other.json_type());
                contents.problem("invalid-yaml", message, 1);
            }
        }
        contents
    }
}

impl Contents {
    fn problem(&mut self, rule: &'static str, message: String, line: usize) {
        self.problems.push(DocumentProblem { rule, message, line });
    }

    fn object(&mut self, pointer: String, mut map: Map<Node>) {
        let text =
            |map: &Map<Node>, key: &str| map.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let kind = text(&map, "kind");
        if kind.eq_ignore_ascii_case("list")
            && let Some(Node::List(items)) = map.get_mut("items")
        {
            for (index, item) in std::mem::take(items).into_iter().enumerate() {
                if let Node::Map(item) = item {
                    self.object(format!("{pointer}/items/{index}"), item);
                }
            }
            return;
        }
        let api_version = text(&map, "apiVersion");
        for (field, value) in [("kind", &kind), ("apiVersion", &api_version)] {
            if value.is_empty() {
                self.problem("invalid-yaml", format!("the object has no {field}"), 1);
                return;
            }
        }
        let metadata = map.get("metadata").and_then(Node::as_map);
        let of = |key: &str| metadata.map(|metadata| text(metadata, key)).unwrap_or_default();
        let name = match of("generateName") {
            prefix if prefix.is_empty() => of("name"),
            prefix => prefix,
        };
        let name = ObjectName { api_version, kind, namespace: of("namespace"), name };
        self.objects.push(Object { pointer, node: Node::Map(map), name });
    }
}

impl Object {
    pub(crate) fn gvk(&self) -> Gvk {
        Gvk::new(&self.name.api_version, &self.name.kind)
    }

    pub(crate) fn get(&self, path: &[&str]) -> Option<&Node> {
        get(&self.node, path)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.get(&["metadata", "annotations"])?.get(key)?.as_str()
    }
}

/// Follows keys.
pub(crate) fn get<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

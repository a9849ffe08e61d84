//! The objects of rendered texts.

use std::borrow::Cow;

use pintle_tree::{Map, Node};

use crate::finding::{ObjectName, VerdictStatus};
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
    /// Whether its metadata cannot be decoded at all, which kubeconform reports before it looks at the schema.
    is_undecodable: bool,
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
        let is_undecodable = !has_decodable_metadata(&map);
        if kind.eq_ignore_ascii_case("list") && !is_undecodable {
            // A list without items has none.
            let items = map.get_mut("items").map(std::mem::take).unwrap_or_default();
            self.items(&pointer, items);
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
        let of = |key: &str| metadata.and_then(|metadata| metadata.get(key)).map(shown).unwrap_or_default();
        let name = match of("generateName") {
            prefix if prefix.is_empty() => of("name"),
            prefix => prefix,
        };
        let name = ObjectName { api_version, kind, namespace: of("namespace"), name };
        self.objects.push(Object { pointer, node: Node::Map(map), name, is_undecodable });
    }

    fn items(&mut self, pointer: &str, items: Node) {
        let Node::List(items) = items else { return };
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Node::Nil => {}
                Node::Map(item) => self.object(format!("{pointer}/items/{index}"), item),
                other => {
                    let what = other.json_type();
                    self.problem("invalid-yaml", format!("items[{index}] must be an object, not {what}"), 1);
                }
            }
        }
    }
}

/// Whether the metadata are a map, and the names in them are scalars.
fn has_decodable_metadata(object: &Map<Node>) -> bool {
    let is_scalar = |value: Option<&Node>| !matches!(value, Some(Node::List(_) | Node::Map(_)));
    match object.get("metadata") {
        None | Some(Node::Nil) => true,
        Some(Node::Map(metadata)) => {
            ["name", "namespace", "generateName"].iter().all(|key| is_scalar(metadata.get(key)))
        }
        Some(_) => false,
    }
}

/// A scalar as text, so that findings can name an object whose name is a number.
fn shown(value: &Node) -> String {
    match value {
        Node::Str(text) => text.to_str_lossy().into_owned(),
        Node::Nil | Node::List(_) | Node::Map(_) => String::new(),
        Node::Bool(switch) => switch.to_string(),
        Node::Int(number) => number.to_string(),
        Node::Float(number) => pintle_tree::number::format_value(*number),
    }
}

impl Object {
    /// The verdict about the object, given what its schema says.
    pub(crate) fn verdict(&self, by_schema: VerdictStatus) -> VerdictStatus {
        if self.is_undecodable { VerdictStatus::Error } else { by_schema }
    }

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

/// The node at a path of keys.
pub(crate) fn get<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

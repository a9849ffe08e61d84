//! The objects of rendered texts.

use pintle_tree::{Map, Node};
use pintle_yaml::outline::documents;

use crate::finding::ObjectName;
use crate::run::RenderedText;
use crate::schema::Gvk;

/// A document of a rendered text.
pub(crate) struct Document<'t> {
    pub(crate) file: &'t RenderedText,
    pub(crate) text: &'t [u8],
    /// The line of the file on which it begins, from 1.
    pub(crate) line: usize,
}

/// An object of a document: the document itself, or an item of a list.
pub(crate) struct Object {
    /// The index of its document.
    pub(crate) document: usize,
    /// The JSON pointer in the document; empty for the document itself.
    pub(crate) pointer: String,
    pub(crate) node: Node,
    pub(crate) name: ObjectName,
}

/// A problem with a document as a whole.
pub(crate) struct DocumentProblem {
    pub(crate) document: usize,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    /// The line in the document, from 1.
    pub(crate) line: usize,
}

/// Everything in some rendered texts.
#[derive(Default)]
pub(crate) struct Documents<'t> {
    pub(crate) documents: Vec<Document<'t>>,
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<DocumentProblem>,
    /// Documents without anything in them.
    pub(crate) empty: usize,
}

impl<'t> Documents<'t> {
    pub(crate) fn read(files: &'t [RenderedText]) -> Self {
        let mut all = Documents::default();
        for file in files {
            for written in documents(&file.text) {
                let text = &file.text[written.range.clone()];
                all.add(Document { file, text, line: written.line });
            }
        }
        all
    }

    fn add(&mut self, document: Document<'t>) {
        let index = self.documents.len();
        let problem = |rule, message, line| DocumentProblem { document: index, rule, message, line };
        let node = match pintle_yaml::read_strict(document.text) {
            Ok(node) => Some(node),
            Err(strict) => match pintle_yaml::read(document.text) {
                Ok(node) => {
                    let line = strict.line().unwrap_or(1);
                    self.problems.push(problem("duplicate-key", strict.to_string(), line));
                    Some(node)
                }
                Err(error) => {
                    let line = error.line().unwrap_or(1);
                    self.problems.push(problem("invalid-yaml", error.to_string(), line));
                    None
                }
            },
        };
        self.documents.push(document);
        match node {
            None => {}
            Some(Node::Nil) => self.empty += 1,
            Some(Node::Map(map)) if map.is_empty() => self.empty += 1,
            Some(Node::Map(map)) => self.object(index, String::new(), map),
            Some(other) => {
                let message = format!("a document must be an object, not {}", other.json_type());
                self.problems.push(problem("invalid-yaml", message, 1));
            }
        }
    }

    fn object(&mut self, document: usize, pointer: String, map: Map<Node>) {
        let text =
            |map: &Map<Node>, key: &str| map.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let kind = text(&map, "kind");
        if kind.eq_ignore_ascii_case("list")
            && let Some(Node::List(items)) = map.get("items")
        {
            for (index, item) in items.iter().enumerate() {
                if let Node::Map(item) = item {
                    self.object(document, format!("{pointer}/items/{index}"), item.clone());
                }
            }
            return;
        }
        let api_version = text(&map, "apiVersion");
        for (field, value) in [("kind", &kind), ("apiVersion", &api_version)] {
            if value.is_empty() {
                let message = format!("the object has no {field}");
                self.problems.push(DocumentProblem { document, rule: "invalid-yaml", message, line: 1 });
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
        self.objects.push(Object { document, pointer, node: Node::Map(map), name });
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

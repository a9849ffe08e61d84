//! The objects of rendered texts.

use std::thread;

use pintle_tree::{Map, Node};
use pintle_yaml::outline::documents;

use crate::finding::ObjectName;
use crate::run::RenderedText;
use crate::schema::Gvk;

/// From how many bytes on texts are read on several threads.
const PARALLEL: usize = 1 << 20;

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
    /// Reads all files, large ones on several threads.
    pub(crate) fn read(files: &'t [RenderedText]) -> Self {
        let size: usize = files.iter().map(|file| file.text.len()).sum();
        let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
        if size < PARALLEL || threads < 2 {
            return Documents::read_part(files);
        }
        let parts = parts(files, size.div_ceil(threads));
        let mut all = Documents::default();
        thread::scope(|scope| {
            let readers: Vec<_> =
                parts.into_iter().map(|part| scope.spawn(move || Documents::read_part(part))).collect();
            for reader in readers {
                match reader.join() {
                    Ok(documents) => all.append(documents),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        all
    }

    fn append(&mut self, mut other: Documents<'t>) {
        let offset = self.documents.len();
        other.objects.iter_mut().for_each(|object| object.document += offset);
        other.problems.iter_mut().for_each(|problem| problem.document += offset);
        self.documents.append(&mut other.documents);
        self.objects.append(&mut other.objects);
        self.problems.append(&mut other.problems);
        self.empty += other.empty;
    }

    fn read_part(files: &'t [RenderedText]) -> Self {
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

/// Divides files into parts of about this many bytes.
fn parts(files: &[RenderedText], size: usize) -> Vec<&[RenderedText]> {
    let (mut parts, mut rest) = (Vec::new(), files);
    while !rest.is_empty() {
        let mut length = 0;
        let full = rest.iter().position(|file| {
            length += file.text.len();
            length >= size
        });
        let (part, after) = rest.split_at(full.map_or(rest.len(), |last| last + 1));
        parts.push(part);
        rest = after;
    }
    parts
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_the_same_whether_one_thread_reads_them_or_several() {
        let file = |index: usize| RenderedText {
            path: format!("{index}.yaml"),
            text: format!("a: [\n---\napiVersion: v1\nkind: K{index}\ntext: {}\n", "x".repeat(400_000))
                .into(),
            origins: Vec::new(),
        };
        let files: Vec<RenderedText> = (0..5).map(file).collect();
        assert_eq!(parts(&files, 500_000).iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 2, 1]);
        let (one, several) = (Documents::read_part(&files), Documents::read(&files));
        let shown = |documents: &Documents<'_>| {
            let object =
                |object: &Object| (documents.documents[object.document].file.path.clone(), object.gvk());
            let objects: Vec<_> = documents.objects.iter().map(object).collect();
            (objects, documents.problems.iter().map(|problem| problem.document).collect::<Vec<_>>())
        };
        assert_eq!(shown(&one), shown(&several));
        assert_eq!(shown(&one).0.len(), 5);
    }
}

//! The documents of YAML files, with their lines.

use std::sync::Arc;

use pintle_tree::{Map, Node};

use crate::object::{Source, SourceObject};
use crate::{Place, Snapshot};

/// How many documents a file may have.
const MAX_DOCUMENTS: usize = 20_000;

/// Whether a name is that of a file with objects.
pub(crate) fn is_yaml(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|extension| path.ends_with(extension))
}

/// The objects of a file; lists are taken apart.
///
/// # Errors
/// When it cannot be read, or is no YAML.
pub(crate) fn objects(files: &Snapshot, path: &str) -> Result<Vec<SourceObject>, String> {
    let text = files.read(path)?.ok_or_else(|| format!("{path} does not exist"))?;
    read_objects(path, &text)
}

/// The objects of a text; lists are taken apart.
///
/// # Errors
/// When it is no YAML.
pub fn read_objects(path: &str, text: &[u8]) -> Result<Vec<SourceObject>, String> {
    let mut found = Vec::new();
    for (line, document) in split(text) {
        let node = pintle_yaml::read_exact(document).map_err(|error| format!("{path}:{line}: {error}"))?;
        let source = Source {
            place: Place { file: path.to_owned(), line },
            text: document.into(),
            prefix: Vec::new(),
        };
        match node {
            Node::Map(map) => push(map, source, &mut found),
            Node::Nil => {}
            // Values files and lists of other things are no objects.
            _ => {}
        }
    }
    Ok(found)
}

fn push(map: Map<Node>, source: Source, found: &mut Vec<SourceObject>) {
    let kind = map.get("kind").and_then(Node::as_str).unwrap_or_default();
    if kind.ends_with("List")
        && !kind.is_empty()
        && let Some(Node::List(items)) = map.get("items")
    {
        for item in items.iter().filter_map(Node::as_map) {
            // Fields of items are not at the paths of the document, so only its place is known.
            let source =
                Source { place: source.place.clone(), text: Arc::from(b"".as_slice()), prefix: Vec::new() };
            found.push(SourceObject { body: item.clone(), sources: vec![source], ..SourceObject::default() });
        }
        return;
    }
    if map.get("apiVersion").is_some() && !kind.is_empty() {
        found.push(SourceObject { body: map, sources: vec![source], ..SourceObject::default() });
    }
}

/// The documents of a text with their first lines.
pub(crate) fn split(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut documents = Vec::new();
    let (mut start, mut first) = (0, 1);
    let (mut at, mut line) = (0, 1);
    for content in text.split_inclusive(|byte| *byte == b'\n') {
        let is_separator =
            content.starts_with(b"---") && content[3..].first().is_none_or(u8::is_ascii_whitespace);
        if is_separator && documents.len() < MAX_DOCUMENTS {
            documents.push((first, &text[start..at]));
            (start, first) = (at + content.len(), line + 1);
        }
        at += content.len();
        line += 1;
    }
    documents.push((first, &text[start..]));
    documents.retain(|(_, document)| !is_blank(document));
    documents
}

/// Whether a document has nothing but comments.
fn is_blank(document: &[u8]) -> bool {
    document.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line.starts_with(b"#")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;

    #[test]
    fn documents_keep_their_lines() {
        let text = b"# a comment\n---\na: 1\n---\n# nothing\n--- # here\nb: 2\n";
        let found: Vec<(usize, &[u8])> = split(text);
        assert_eq!(found, [(3, b"a: 1\n".as_slice()), (7, b"b: 2\n")]);
    }

    #[test]
    fn lists_are_taken_apart_and_other_texts_are_no_objects() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\nx: 1\n";
        let files = Snapshot::new([("a.yaml".to_owned(), Entry::File(text.as_bytes().into()))]);
        let found = objects(&files, "a.yaml").unwrap();
        assert_eq!(found.iter().map(SourceObject::name).collect::<Vec<_>>(), ["a"]);
    }
}

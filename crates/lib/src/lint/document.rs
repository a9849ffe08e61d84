//! Rendered files as lint reads them: documents between `---` lines, each with the few fields that rules look at.
//!
//! This is not how rendering splits files. Lint goes through Kubernetes' own reader, where only a line of `---` and
//! blanks ends a document, and where a text that begins with `{` is JSON.

use pintle_tree::{Node, json};
use pintle_yaml::decode::{Decoder, Place, read_tree};

/// The fields of an object that rules look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// The API version, or empty.
    pub(super) api_version: String,
    /// The kind, or empty.
    pub(super) kind: String,
    /// The name, or empty.
    pub(super) name: String,
}

/// What comes out of a file: a document, nothing (an empty document), or why it cannot be read.
pub(super) type Outcome = Result<Option<Document>, String>;

/// Reads the documents of a text one after the other; after an error the reader should be dropped.
pub(super) fn documents(text: &[u8]) -> Box<dyn Iterator<Item = Outcome> + '_> {
    if text.trim_ascii_start().first() == Some(&b'{') {
        return Box::new(json_documents(text));
    }
    Box::new(split(text).map(|document| {
        let node = read_tree(document, false).map_err(|error| format!("unable to parse YAML: {error}"))?;
        decode(&node).map_err(|error| format!("unable to parse YAML: {error}"))
    }))
}

/// Cuts a text at lines that hold nothing but `---`. Empty pieces between two such lines are left out.
fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        loop {
            let text = rest?;
            let mut at = 0;
            let cut = text.split_inclusive(|&byte| byte == b'\n').find_map(|line| {
                let start = at;
                at += line.len();
                let is_end = line.strip_prefix(b"---").is_some_and(|tail| tail.trim_ascii().is_empty());
                is_end.then_some((start, at))
            });
            let document = match cut {
                Some((start, end)) => {
                    rest = Some(&text[end..]);
                    &text[..start]
                }
                None => {
                    rest = None;
                    text
                }
            };
            if !document.is_empty() {
                return Some(document);
            }
        }
    })
}

/// A text that begins as JSON: one value, and what follows it as YAML would be a mistake that Kubernetes reports as
/// an unexpected end.
fn json_documents(text: &[u8]) -> impl Iterator<Item = Outcome> {
    let outcome = match json::read(text) {
        Ok(node) => decode(&node),
        // Kubernetes falls back to YAML when the JSON is bad and does not look cut off.
        Err(_) => match read_tree(text, false) {
            Ok(node) => decode(&node),
            Err(_) => Err("unexpected EOF".to_owned()),
        },
    };
    std::iter::once(outcome.map_err(|error| format!("unable to parse YAML: {error}")))
}

fn decode(node: &Node) -> Result<Option<Document>, String> {
    if node.is_nil() {
        return Ok(None);
    }
    let mut decoder = Decoder::new(false);
    let mut document = Document::default();
    decoder.document(
        node,
        "rules.k8sYamlStruct",
        &["apiVersion", "Kind", "Metadata"],
        |decoder, field, value| {
            let place = |path| Place { structure: "k8sYamlStruct", path };
            match field {
                "apiVersion" => decoder.string(value, place("apiVersion"), &mut document.api_version),
                "Kind" => decoder.string(value, place("Kind"), &mut document.kind),
                _ => decoder.structure(
                    value,
                    place("Metadata"),
                    "rules.k8sYamlMetadata",
                    &["Namespace", "Name"],
                    |decoder, field, value| {
                        let place = Place {
                            structure: "k8sYamlStruct",
                            path: if field == "Name" { "Metadata.Name" } else { "Metadata.Namespace" },
                        };
                        let mut namespace = String::new();
                        let target = if field == "Name" { &mut document.name } else { &mut namespace };
                        decoder.string(value, place, target);
                    },
                ),
            }
        },
    );
    decoder.finish()?;
    Ok(Some(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_marker_lines_end_a_document() {
        let pieces: Vec<&[u8]> = split(b"---\na: 1\n--- # no\nb: 2\n---  \n---\nc: 3\n").collect();
        assert_eq!(pieces, [&b"a: 1\n--- # no\nb: 2\n"[..], b"c: 3\n"]);
    }
}

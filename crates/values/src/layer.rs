//! User-supplied values, in order of precedence (Helm's `pkg/cli/values`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pintle_tree::{Map, Node, json, merge, set};

use crate::{Error, Result};

/// One source of the user's values. A request has a list of them, and later ones take precedence. Helm's commands take all
/// files first, then `--set-json`, `--set`, `--set-string`, `--set-file` and `--set-literal`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValuesLayer {
    /// A values file (`--values`).
    File(PathBuf),
    /// The content of a values file that was read elsewhere: from a URL, from standard input, or out of an archive.
    Bytes {
        /// What messages and reports call it.
        name: String,
        /// The text.
        content: Vec<u8>,
    },
    /// Values that are no text, such as those of a release. Integers count as floats, because those of files do.
    Tree(Map<Node>),
    /// A JSON object, or `key=json` (`--set-json`).
    SetJson(String),
    /// `key=value` (`--set`).
    Set(String),
    /// `key=text` (`--set-string`).
    SetString(String),
    /// `key=file` (`--set-file`).
    SetFile {
        /// The assignments.
        text: String,
        /// The contents of those that are no files, such as URLs, by the names in `text`.
        contents: BTreeMap<String, Vec<u8>>,
    },
    /// `key=anything` (`--set-literal`).
    SetLiteral(String),
}

/// Returns the text of a schema by its URL, or the reason why not.
pub type ReadSource<'r> = dyn FnMut(&str) -> std::result::Result<Vec<u8>, String> + 'r;

/// Returns the content of a file, or the reason why not. This crate reads no files.
pub type ReadFile<'r> = dyn FnMut(&Path) -> std::result::Result<Vec<u8>, String> + 'r;

/// Merges layers; later ones take precedence.
///
/// # Errors
/// When a file cannot be read, or a text does not parse.
pub fn layer(layers: &[ValuesLayer], read: &mut ReadFile<'_>) -> Result<Map<Node>> {
    let mut values = Map::new();
    for layer in layers {
        layer.merge_into(&mut values, read)?;
    }
    Ok(values)
}

impl ValuesLayer {
    /// `key=file` for files only (`--set-file`).
    pub fn set_file(text: impl Into<String>) -> Self {
        ValuesLayer::SetFile { text: text.into(), contents: BTreeMap::new() }
    }

    /// Merges this layer over `values`.
    pub(crate) fn merge_into(&self, values: &mut Map<Node>, read: &mut ReadFile<'_>) -> Result<()> {
        let bad = |flag| move |error: set::Error| Error::BadFlag { flag, reason: error.to_string() };
        let mut merge = |over: Map<Node>| *values = merge::merge(std::mem::take(values), over);
        match self {
            ValuesLayer::File(path) => {
                let content = read(path).map_err(Error::Unreadable)?;
                merge(parse(&path.to_string_lossy(), &content)?);
            }
            ValuesLayer::Bytes { name, content } => merge(parse(name, content)?),
            ValuesLayer::Tree(tree) => {
                merge(tree.iter().map(|(key, node)| (key.clone(), as_read(node))).collect())
            }
            ValuesLayer::SetJson(text) => match text.trim() {
                // A JSON object is merged like a file.
                object if object.starts_with('{') => {
                    let object = json::read_map(object.as_bytes());
                    merge(object.map_err(|_| Error::BadJsonObject(text.clone()))?);
                }
                _ => set::assign_json(text, values).map_err(|_| Error::BadJson(text.clone()))?,
            },
            ValuesLayer::Set(text) => set::assign(text, values).map_err(bad("set"))?,
            ValuesLayer::SetString(text) => set::assign_strings(text, values).map_err(bad("set-string"))?,
            ValuesLayer::SetFile { text, contents } => {
                let mut read = |name: &str| match contents.get(name) {
                    Some(content) => Ok(content.clone()),
                    None => read(Path::new(name)),
                };
                set::assign_files(text, values, &mut read).map_err(bad("set-file"))?;
            }
            ValuesLayer::SetLiteral(text) => set::assign_literal(text, values).map_err(bad("set-literal"))?,
        }
        Ok(())
    }
}

/// Reads the text of a values file.
pub(crate) fn parse(name: &str, text: &[u8]) -> Result<Map<Node>> {
    pintle_yaml::read_values(text)
        .map_err(|error| Error::BadFile { name: name.to_owned(), reason: error.to_string() })
}

/// A node as it would be if it had been read from a file.
fn as_read(node: &Node) -> Node {
    match node {
        Node::Int(value) => Node::Float(*value as f64),
        Node::List(items) => Node::List(items.iter().map(as_read).collect()),
        Node::Map(map) => Node::Map(map.iter().map(|(key, node)| (key.clone(), as_read(node))).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(layers: &[ValuesLayer]) -> String {
        let mut read = |path: &Path| Err(format!("open {}: no such file or directory", path.display()));
        match layer(layers, &mut read) {
            Ok(values) => {
                String::from_utf8(json::write_raw(&values).expect("values are JSON")).expect("it is text")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn later_layers_take_precedence_whatever_their_kind() {
        let bytes = ValuesLayer::Bytes { name: "a.yaml".to_owned(), content: b"a: 1\nb: 1\nc: 1\n".to_vec() };
        let set = ValuesLayer::Set("b=2,c=2".to_owned());
        let tree = ValuesLayer::Tree([("c".into(), Node::from("3"))].into_iter().collect());
        assert_eq!(values(&[bytes.clone(), set.clone(), tree.clone()]), r#"{"a":1,"b":2,"c":"3"}"#);
        assert_eq!(values(&[tree, set, bytes]), r#"{"a":1,"b":1,"c":1}"#);
    }

    #[test]
    fn numbers_of_a_tree_are_those_of_a_file() {
        let tree = [("a".into(), Node::List(vec![Node::Int(1)]))].into_iter().collect();
        let of_tree = layer(&[ValuesLayer::Tree(tree)], &mut |_: &Path| Ok(Vec::new()));
        let file = ValuesLayer::Bytes { name: "a.yaml".to_owned(), content: b"a: [1]\n".to_vec() };
        assert_eq!(of_tree, layer(&[file], &mut |_: &Path| Ok(Vec::new())));
    }

    #[test]
    fn contents_that_are_given_are_not_read_as_files() {
        let contents = [("http://host/b".to_owned(), b"text".to_vec())].into();
        let given = ValuesLayer::SetFile { text: "a=http://host/b".to_owned(), contents };
        assert_eq!(values(&[given]), r#"{"a":"text"}"#);
        let wanted = "failed parsing --set-file data: open no.txt: no such file or directory";
        assert!(values(&[ValuesLayer::set_file("a=no.txt")]).contains("no.txt"), "{wanted}");
        assert_eq!(values(&[ValuesLayer::File("no.yaml".into())]), "open no.yaml: no such file or directory");
    }
}

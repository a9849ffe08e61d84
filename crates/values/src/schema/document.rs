//! A parsed schema: JSON whose numbers keep their spelling, because messages repeat it.

use pintle_tree::json::{self, Assemble};
use pintle_tree::{Map, Node, Str};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doc {
    Nil,
    Bool(bool),
    Number(Str),
    Text(Str),
    List(Vec<Doc>),
    Map(Map<Doc>),
}

impl Doc {
    /// Parses exactly one JSON value.
    pub(super) fn read(text: &[u8]) -> Result<Doc, String> {
        let (doc, length) = json::read_prefix_with(text, &mut Docs).map_err(|error| error.to_string())?;
        if text[length..].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            Ok(doc)
        } else {
            Err("invalid character after top-level value".to_owned())
        }
    }

    pub(super) fn as_map(&self) -> Option<&Map<Doc>> {
        match self {
            Doc::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Doc]> {
        match self {
            Doc::List(list) => Some(list),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&Str> {
        match self {
            Doc::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match self {
            Doc::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The strings of a list; other items are skipped.
    pub(super) fn as_texts(&self) -> Option<Vec<Str>> {
        Some(self.as_list()?.iter().filter_map(Doc::as_text).cloned().collect())
    }

    /// The document as a tree, for validation against a metaschema.
    pub(super) fn to_node(&self) -> Node {
        match self {
            Doc::Nil => Node::Nil,
            Doc::Bool(value) => Node::Bool(*value),
            // Metaschemas only check a number's type and sign, so a float is precise enough.
            Doc::Number(text) => Node::Float(text.as_str().and_then(|text| text.parse().ok()).unwrap_or(0.0)),
            Doc::Text(text) => Node::Str(text.clone()),
            Doc::List(list) => Node::List(list.iter().map(Doc::to_node).collect()),
            Doc::Map(map) => Node::Map(map.iter().map(|(key, doc)| (key.clone(), doc.to_node())).collect()),
        }
    }

    /// Resolves a JSON pointer.
    pub(super) fn at(&self, pointer: &str) -> Result<&Doc, PointerError> {
        let mut doc = self;
        for token in pointer.split('/').skip(1) {
            let token = unescape(token).ok_or(PointerError::Invalid)?;
            doc = match doc {
                Doc::Map(map) => map.get(token.as_bytes()),
                Doc::List(list) => token.parse().ok().and_then(|index: usize| list.get(index)),
                _ => None,
            }
            .ok_or(PointerError::NotFound)?;
        }
        Ok(doc)
    }
}

/// Why a JSON pointer does not resolve.
pub(super) enum PointerError {
    Invalid,
    NotFound,
}

/// Escapes a token of a JSON pointer.
pub(super) fn escape(token: &str) -> String {
    if token.contains(['~', '/']) { token.replace('~', "~0").replace('/', "~1") } else { token.to_owned() }
}

fn unescape(token: &str) -> Option<String> {
    let mut pieces = token.split('~');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.as_bytes().first()? {
            // RFC 6901: `~0` and `~1` are the only escapes.
            b'0' => text.push('~'),
            b'1' => text.push('/'),
            _ => return None,
        }
        text.push_str(&piece[1..]);
    }
    Some(text)
}

struct Docs;

impl Assemble for Docs {
    type Value = Doc;

    fn nil(&mut self) -> Doc {
        Doc::Nil
    }

    fn bool(&mut self, value: bool) -> Doc {
        Doc::Bool(value)
    }

    fn number(&mut self, text: &str, _end: usize) -> Doc {
        Doc::Number(text.into())
    }

    fn str(&mut self, text: Str) -> Doc {
        Doc::Text(text)
    }

    fn list(&mut self, items: Vec<Doc>) -> Doc {
        Doc::List(items)
    }

    fn map(&mut self, entries: Vec<(Str, Doc)>) -> Doc {
        Doc::Map(Map::from_entries(entries))
    }
}

//! Composes events to a document: a flat list of items in document order, with aliases pointing back into it.
//! Flat, because documents may nest ten thousand levels deep, and an alias is then an index.

use std::collections::BTreeMap;

use super::parse::{EventKind, Parser};
use super::token::Span;
use crate::error::Error;

/// The maximum number of nodes of a document: they take a few bytes of text each, but about fifty here and more in
/// the tree.
const MAX_ITEMS: usize = 4_000_000;

/// A node of a document and the line it begins on, counted from zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) line: usize,
    pub(crate) shape: Shape,
}

/// The kind of an item. The children of a collection follow it directly; `end` is the index after the last of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Scalar { text: Span, tag: Option<Span>, implicit: bool },
    Alias { name: Span, target: usize },
    Sequence { end: usize },
    Mapping { end: usize },
}

/// The first document of a text.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) items: Vec<Item>,
    pub(crate) pool: Vec<u8>,
}

impl Document {
    /// Reads the first document; one without items if there is none.
    pub(crate) fn read(text: &[u8]) -> Result<Self, Error> {
        let mut parser = Parser::new(text);
        let mut items: Vec<Item> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut anchors: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        loop {
            let event = parser.next()?;
            let index = items.len();
            let (anchor, shape) = match event.kind {
                EventKind::StreamStart | EventKind::DocumentStart => continue,
                EventKind::StreamEnd | EventKind::DocumentEnd => break,
                EventKind::SequenceEnd | EventKind::MappingEnd => {
                    let start = open.pop().expect("only what is open is closed");
                    match &mut items[start].shape {
                        Shape::Sequence { end } | Shape::Mapping { end } => *end = index,
                        Shape::Scalar { .. } | Shape::Alias { .. } => {}
                    }
                    continue;
                }
                EventKind::Alias(name) => {
                    let target = anchors.get(name.of(parser.pool())).copied().ok_or_else(|| {
                        let name = String::from_utf8_lossy(name.of(parser.pool()));
                        Error::new(format!("yaml: unknown anchor '{name}' referenced"))
                    })?;
                    (None, Shape::Alias { name, target })
                }
                EventKind::Scalar { anchor, tag, text, implicit } => {
                    (anchor, Shape::Scalar { text, tag, implicit })
                }
                EventKind::SequenceStart(anchor) => (anchor, Shape::Sequence { end: 0 }),
                EventKind::MappingStart(anchor) => (anchor, Shape::Mapping { end: 0 }),
            };
            if let Some(anchor) = anchor {
                // Before the children: a node may refer to itself, which decoding reports. A later anchor of
                // the same name replaces it.
                anchors.insert(anchor.of(parser.pool()).to_vec(), index);
            }
            if matches!(shape, Shape::Sequence { .. } | Shape::Mapping { .. }) {
                open.push(index);
            }
            if items.len() >= MAX_ITEMS {
                return Err(Error::new("yaml: document is too large"));
            }
            items.push(Item { line: event.line, shape });
        }
        Ok(Document { items, pool: parser.into_pool() })
    }

    /// The index after the item at `index` and all its children.
    pub(crate) fn after(&self, index: usize) -> usize {
        match self.items[index].shape {
            Shape::Sequence { end } | Shape::Mapping { end } => end,
            Shape::Scalar { .. } | Shape::Alias { .. } => index + 1,
        }
    }

    /// Whether the item is a `<<` key.
    pub(crate) fn is_merge(&self, index: usize) -> bool {
        let Shape::Scalar { text, tag, implicit } = self.items[index].shape else { return false };
        let merge = tag.is_some_and(|tag| tag.of(&self.pool) == b"tag:yaml.org,2002:merge");
        text.of(&self.pool) == b"<<" && (implicit || merge)
    }
}

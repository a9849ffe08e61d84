//! YAML with its comments, as go-yaml 3's `yaml.Node` has them. Programs that generate documents and schemas from values
//! files are built on it, and its rules say which comment belongs to which key.
//!
//! ```
//! use pintle_yaml::commented::{Document, Kind};
//!
//! let text = b"# of the file\n\n# of the key\nkey: 1 # beside it\n";
//! let document = Document::read(text)?.expect("a document");
//! let root = document.node(document.root());
//! let (key, value) = (document.node(root.children[0]), document.node(root.children[1]));
//! assert_eq!((key.value.as_str(), key.head_comment.as_str()), ("key", "# of the key"));
//! assert_eq!((value.tag.as_str(), value.line_comment.as_str()), ("!!int", "# beside it"));
//! assert_eq!(root.kind, Kind::Mapping);
//! # Ok::<(), pintle_yaml::Error>(())
//! ```

use std::collections::BTreeMap;

use pintle_tree::Node as Data;

use crate::error::Error;
use crate::read::{Comments, EventKind, Parser};
use crate::resolve::{Meaning, meaning};
use crate::timestamp::is_timestamp;

/// The maximum number of nodes. Each takes several allocations here.
const MAX_NODES: usize = 1_000_000;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scalar.
    Scalar,
    /// A list.
    Sequence,
    /// A map, whose children are keys and values in turn.
    Mapping,
    /// An alias, by the number of the node with the anchor.
    Alias(usize),
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A plain scalar, or a block collection.
    Plain,
    /// A scalar in single quotes.
    SingleQuoted,
    /// A scalar in double quotes.
    DoubleQuoted,
    /// A scalar after `|`.
    Literal,
    /// A scalar after `>`.
    Folded,
    /// A collection in brackets.
    Flow,
}

/// A node with its comments.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The tag, explicit or resolved, in its short form: `!!str`, `!!int` ….
    pub tag: String,
    /// The text of a scalar.
    pub value: String,
    /// How it is written.
    pub style: Style,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The comment above it.
    pub head_comment: String,
    /// The comment beside it.
    pub line_comment: String,
    /// The numbers of its children.
    pub children: Vec<usize>,
}

/// The first document of a text.
#[derive(Clone, Debug)]
pub struct Document {
    nodes: Vec<Node>,
}

impl Document {
    /// Reads the first document; `None` if there is none.
    ///
    /// # Errors
    /// When the text is not YAML, or is UTF-16.
    pub fn read(text: &[u8]) -> Result<Option<Self>, Error> {
        let mut composer = Composer { text, nodes: Vec::new(), open: Vec::new(), anchors: BTreeMap::new() };
        let mut parser = Parser::with_comments(text);
        loop {
            let event = parser.next()?;
            if parser.is_wide() {
                return Err(Error::new("yaml: text is UTF-16"));
            }
            let comments = parser.take_comments();
            match event.kind {
                EventKind::StreamStart | EventKind::DocumentStart => {}
                EventKind::StreamEnd | EventKind::DocumentEnd => break,
                EventKind::SequenceEnd | EventKind::MappingEnd => composer.close(&comments),
                kind => {
                    let node = composer.node(kind, event.bytes.start, parser.pool())?;
                    let (line, column) = composer.position(event.line, event.outer);
                    composer.add(
                        Node { line, column, ..with_comments(node, comments) },
                        kind,
                        parser.pool(),
                    )?;
                }
            }
        }
        Ok((!composer.nodes.is_empty()).then_some(Document { nodes: composer.nodes }))
    }

    /// The number of the root.
    pub fn root(&self) -> usize {
        0
    }

    /// A node by its number.
    pub fn node(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    /// A node by its number.
    pub fn node_mut(&mut self, number: usize) -> &mut Node {
        &mut self.nodes[number]
    }
}

/// The value of a scalar of the tag `!!int` or `!!float`; `None` if it is not a number, or an integer that is too large.
pub fn number(text: &str) -> Option<Data> {
    match meaning(text.as_bytes()) {
        Meaning::Int(value) => Some(Data::Int(value)),
        Meaning::Float(value) => Some(Data::Float(value)),
        _ => None,
    }
}

struct Composer<'t> {
    text: &'t [u8],
    nodes: Vec<Node>,
    open: Vec<usize>,
    anchors: BTreeMap<Vec<u8>, usize>,
}

impl Composer<'_> {
    fn node(&self, kind: EventKind, start: usize, pool: &[u8]) -> Result<Node, Error> {
        let bracket = matches!(self.text.get(start), Some(b'[' | b'{'));
        let collection_style = if bracket { Style::Flow } else { Style::Plain };
        Ok(match kind {
            EventKind::Alias(name) => {
                let target = self.anchors.get(name.of(pool)).copied().ok_or_else(|| {
                    let name = String::from_utf8_lossy(name.of(pool));
                    Error::new(format!("yaml: unknown anchor '{name}' referenced"))
                })?;
                node(Kind::Alias(target), "", "", Style::Plain)
            }
            EventKind::Scalar { tag, text, .. } => {
                let style = match self.text.get(start) {
                    // An empty node has no bytes of its own: what is at its position belongs to the next
                    // token.
                    _ if text.is_empty() && !self.begins_quoted(start) => Style::Plain,
                    Some(b'\'') => Style::SingleQuoted,
                    Some(b'"') => Style::DoubleQuoted,
                    Some(b'|') => Style::Literal,
                    Some(b'>') => Style::Folded,
                    _ => Style::Plain,
                };
                let value = String::from_utf8_lossy(text.of(pool));
                let tag = tag.map(|tag| tag.of(pool)).filter(|tag| !tag.is_empty() && *tag != b"!");
                let tag = match tag {
                    Some(tag) => short_tag(tag),
                    None if style != Style::Plain => "!!str".to_owned(),
                    None => resolved_tag(value.as_bytes()).to_owned(),
                };
                node(Kind::Scalar, &tag, &value, style)
            }
            EventKind::SequenceStart(_) => node(Kind::Sequence, "!!seq", "", collection_style),
            _ => node(Kind::Mapping, "!!map", "", collection_style),
        })
    }

    fn begins_quoted(&self, start: usize) -> bool {
        matches!(self.text.get(start), Some(b'\'' | b'"' | b'|' | b'>'))
    }

    fn add(&mut self, node: Node, kind: EventKind, pool: &[u8]) -> Result<(), Error> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Error::new("yaml: document is too large"));
        }
        let number = self.nodes.len();
        if let Some(&parent) = self.open.last() {
            self.nodes[parent].children.push(number);
        }
        let anchor = match kind {
            EventKind::Scalar { anchor, .. }
            | EventKind::SequenceStart(anchor)
            | EventKind::MappingStart(anchor) => anchor,
            _ => None,
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor.of(pool).to_vec(), number);
        }
        if matches!(node.kind, Kind::Sequence | Kind::Mapping) {
            self.open.push(number);
        }
        self.nodes.push(node);
        Ok(())
    }

    fn close(&mut self, comments: &Comments) {
        if let Some(number) = self.open.pop() {
            // A comment behind the closing bracket of a flow collection belongs to the collection, not to its
            // last item.
            self.nodes[number].line_comment = text_of(&comments.line);
        }
    }

    fn position(&self, line: usize, offset: usize) -> (usize, usize) {
        let before = &self.text[..offset.min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        // go-yaml counts columns in characters, so continuation bytes of UTF-8 do not count.
        let characters = before[line_start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        (line + 1, characters + 1)
    }
}

fn node(kind: Kind, tag: &str, value: &str, style: Style) -> Node {
    Node {
        kind,
        tag: tag.to_owned(),
        value: value.to_owned(),
        style,
        line: 0,
        column: 0,
        head_comment: String::new(),
        line_comment: String::new(),
        children: Vec::new(),
    }
}

fn with_comments(node: Node, comments: Comments) -> Node {
    Node { head_comment: text_of(&comments.head), line_comment: text_of(&comments.line), ..node }
}

fn text_of(comment: &[u8]) -> String {
    String::from_utf8_lossy(comment).into_owned()
}

fn short_tag(tag: &[u8]) -> String {
    let tag = String::from_utf8_lossy(tag);
    match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => tag.into_owned(),
    }
}

/// The tag that go-yaml 3 gives to text without quotes.
fn resolved_tag(text: &[u8]) -> &'static str {
    if text == b"<<" {
        return "!!merge";
    }
    if text.first().is_some_and(u8::is_ascii_digit) && is_timestamp(text) {
        return "!!timestamp";
    }
    match meaning(text) {
        Meaning::Nil => "!!null",
        Meaning::Bool(_) if matches!(text, b"true" | b"True" | b"TRUE" | b"false" | b"False" | b"FALSE") => {
            "!!bool"
        }
        Meaning::Int(_) | Meaning::Uint(_) => "!!int",
        Meaning::Float(_) => "!!float",
        Meaning::Bool(_) | Meaning::Text => "!!str",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every scalar with its head and line comment.
    fn shown(text: &str) -> Vec<String> {
        let document = Document::read(text.as_bytes()).expect("YAML").expect("a document");
        let scalars = document.nodes.iter().filter(|node| node.kind == Kind::Scalar);
        scalars
            .map(|node| {
                format!("{} [{}] [{}]", node.value, node.head_comment.replace('\n', "\\n"), node.line_comment)
            })
            .collect()
    }

    #[test]
    fn comments_above_and_beside_keys() {
        assert_eq!(
            shown("# a\n# b\nx: 1 # c\ny:\n  # d\n  z: 2\n"),
            ["x [# a\\n# b] []", "1 [] [# c]", "y [] []", "z [# d] []", "2 [] []"]
        );
    }

    #[test]
    fn a_comment_before_an_empty_line_is_a_foot_if_it_follows_content_directly() {
        assert_eq!(shown("a: 1\n# foot\n\nb: 2\n"), ["a [] []", "1 [] []", "b [] []", "2 [] []"]);
        assert_eq!(shown("a: 1\n\n# head\n\nb: 2\n"), ["a [] []", "1 [] []", "b [# head\\n] []", "2 [] []"]);
    }

    #[test]
    fn a_comment_with_less_indentation_belongs_to_the_next_key() {
        assert_eq!(
            shown("a:\n  b: 1\n# c\nd: 2\n"),
            ["a [] []", "b [] []", "1 [] []", "d [# c] []", "2 [] []"]
        );
        assert_eq!(
            shown("a:\n  - 1\n  # x\n  - 2\n# c\nd: 2\n"),
            ["a [] []", "1 [] []", "2 [# x] []", "d [# c] []", "2 [] []"]
        );
    }

    #[test]
    fn a_comment_before_a_dash_belongs_to_the_item() {
        let document = Document::read(b"a:\n# item\n- b: 1\n").expect("YAML").expect("a document");
        let item = document.nodes.iter().find(|node| node.kind == Kind::Mapping && node.line == 3);
        assert_eq!(item.map(|item| item.head_comment.as_str()), Some("# item"));
    }

    #[test]
    fn tags_are_those_of_version_3() {
        for (text, tag) in [
            ("yes", "!!str"),
            ("true", "!!bool"),
            ("'1'", "!!str"),
            ("1", "!!int"),
            ("1.5", "!!float"),
            ("2020-01-01", "!!timestamp"),
            ("~", "!!null"),
            ("!!str 1", "!!str"),
            ("!own 1", "!own"),
        ] {
            let document = Document::read(text.as_bytes()).expect("YAML").expect("a document");
            assert_eq!(document.node(0).tag, tag, "{text}");
        }
    }

    #[test]
    fn positions_are_those_of_anchors_and_tags() {
        let document = Document::read("é: &x 1\nb: *x\n".as_bytes()).expect("YAML").expect("a document");
        let positions: Vec<_> = document.nodes.iter().map(|node| (node.line, node.column)).collect();
        assert_eq!(positions, [(1, 1), (1, 1), (1, 4), (2, 1), (2, 4)]);
        assert_eq!(document.node(4).kind, Kind::Alias(2));
    }
}

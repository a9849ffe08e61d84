//! Paths into values and objects.

use std::fmt;

use crate::{Map, Node, Str};

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// An entry of a map.
    Key(Str),
    /// An item of a list.
    Index(usize),
}

/// A path from the root of a tree to a node. Prints as `a.b[0].c`, with dots in keys escaped as in `--set`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValuePath(Vec<Segment>);

impl ValuePath {
    /// The empty path.
    pub const fn root() -> Self {
        ValuePath(Vec::new())
    }

    /// Appends the key of a map entry.
    #[must_use]
    pub fn key(&self, key: impl Into<Str>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    /// Appends the index of a list item.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// Appends a segment.
    #[must_use]
    pub fn with(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        ValuePath(segments)
    }

    /// The segments, from the root.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The path of the containing node; `None` for the root.
    pub fn parent(&self) -> Option<ValuePath> {
        self.0.split_last().map(|(_, segments)| ValuePath(segments.to_vec()))
    }

    /// The last key of the path, skipping list indexes.
    pub fn last_key(&self) -> Option<&Str> {
        self.0.iter().rev().find_map(|segment| match segment {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        })
    }

    /// Whether the path passes through a list.
    pub fn enters_list(&self) -> bool {
        self.0.iter().any(|segment| matches!(segment, Segment::Index(_)))
    }

    /// Whether this is `other`, or below it.
    pub fn is_within(&self, other: &ValuePath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The string at this path, if there is one.
    pub fn text<'n>(&self, root: &'n Map<Node>) -> Option<&'n str> {
        self.find(root).and_then(Node::as_str)
    }

    /// The node at this path.
    pub fn find<'n>(&self, root: &'n Map<Node>) -> Option<&'n Node> {
        let (first, rest) = self.0.split_first()?;
        let Segment::Key(key) = first else { return None };
        rest.iter().try_fold(root.get(key)?, |node, segment| segment.descend(node))
    }
}

/// Reads a path as it is printed: `a.b[0].c`, with dots, brackets and backslashes in keys escaped by a backslash.
impl std::str::FromStr for ValuePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut segments = Vec::new();
        let mut key = String::new();
        let mut in_key = false;
        let mut after_index = false;
        let empty = || format!("{text} has an empty segment");
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '.' | '[' => {
                    if in_key {
                        segments.push(Segment::Key(std::mem::take(&mut key).into()));
                    } else if !after_index {
                        return Err(empty());
                    }
                    (in_key, after_index) = (false, character == '[');
                    if after_index {
                        let index: String = characters.by_ref().take_while(|next| *next != ']').collect();
                        let index = index.parse().map_err(|_| format!("[{index}] is not an index"))?;
                        segments.push(Segment::Index(index));
                    }
                }
                '\\' => {
                    key.push(characters.next().ok_or("the path ends in a backslash")?);
                    in_key = true;
                }
                other => {
                    key.push(other);
                    in_key = true;
                }
            }
        }
        match in_key {
            true => segments.push(Segment::Key(key.into())),
            false if !after_index && !text.is_empty() => return Err(empty()),
            false => {}
        }
        Ok(ValuePath(segments))
    }
}

impl From<Vec<Segment>> for ValuePath {
    fn from(segments: Vec<Segment>) -> Self {
        ValuePath(segments)
    }
}

impl Segment {
    /// The entry or item of a node.
    pub fn descend<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        match self {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.as_list()?.get(*index),
        }
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) => {
                    let dot = if number == 0 { "" } else { "." };
                    write!(formatter, "{dot}")?;
                    for character in key.to_str_lossy().chars() {
                        if matches!(character, '.' | '[' | '\\') {
                            formatter.write_str("\\")?;
                        }
                        write!(formatter, "{character}")?;
                    }
                }
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_set_wants_them_and_are_read_back() {
        let path = ValuePath::root().key("a.b").key("c").index(2).key("d[e\\");
        assert_eq!(path.to_string(), "a\\.b.c[2].d\\[e\\\\");
        assert!(path.enters_list());
        assert_eq!(path.to_string().parse(), Ok(path));
        assert_eq!("".parse(), Ok(ValuePath::root()));
    }

    #[test]
    fn malformed_paths_are_errors() {
        for text in [".a", "a..b", "a.", "a[x]", "[0]", "a\\"] {
            assert!(text.parse::<ValuePath>().is_err(), "{text}");
        }
    }
}

//! Paths into values and objects, and minimal overlays that set strings at paths.

use std::fmt;

use pintle_tree::{Map, Node, Str, with_stack};

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

/// The maximum depth that is searched for images. No real object or values file is as deep, and each segment of each
/// path takes memory.
pub(crate) const MAX_DEPTH: usize = 256;

impl From<Vec<Segment>> for ValuePath {
    fn from(segments: Vec<Segment>) -> Self {
        ValuePath(segments)
    }
}

impl Segment {
    fn descend<'n>(&self, node: &'n Node) -> Option<&'n Node> {
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
                    write!(formatter, "{dot}{}", key.to_str_lossy().replace('.', "\\."))?;
                }
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Returns the minimal values that, merged over `values`, set each path to its text. Helm replaces lists as a whole,
/// so a list on a path is copied from `values`. A path is skipped if `values` lacks the map that it ends in.
pub fn overlay<'p>(
    values: &Map<Node>,
    assignments: impl IntoIterator<Item = (&'p ValuePath, &'p str)>,
) -> Map<Node> {
    let mut over = Map::new();
    for (path, text) in assignments {
        let is_top = path.0.len() == 1;
        if is_top || path.find(values).is_some() || path.parent().is_some_and(|map| is_map(map.find(values)))
        {
            set_in_map(&mut over, values, &path.0, text);
        }
    }
    over
}

fn is_map(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::Map(_)))
}

fn set_in_map(over: &mut Map<Node>, values: &Map<Node>, segments: &[Segment], text: &str) {
    let Some((Segment::Key(key), rest)) = segments.split_first() else { return };
    let below = values.get(key).unwrap_or(&Node::Nil);
    let slot = over.entry_or_insert_with(key, || match below {
        // Lists are replaced as a whole, so start from the existing one.
        Node::List(_) => below.clone(),
        _ => Node::empty_map(),
    });
    match (rest, below) {
        ([], _) => *slot = Node::from(text),
        (_, Node::Map(below)) => {
            if let Some(over) = slot.as_map_mut() {
                with_stack(|| set_in_map(over, below, rest, text));
            }
        }
        _ => set_in_node(slot, rest, text),
    }
}

fn set_in_node(node: &mut Node, segments: &[Segment], text: &str) {
    let mut current = node;
    for segment in segments {
        let next = match (segment, current) {
            (Segment::Key(key), Node::Map(map)) => map.get_mut(key),
            (Segment::Index(index), Node::List(list)) => list.get_mut(*index),
            _ => None,
        };
        match next {
            Some(next) => current = next,
            None => return,
        }
    }
    *current = Node::from(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn path(segments: &[Segment]) -> ValuePath {
        ValuePath::from(segments.to_vec())
    }

    #[test]
    fn paths_print_as_set_wants_them() {
        let way = ValuePath::root().key("a.b").key("c").index(2).key("d");
        assert_eq!(way.to_string(), "a\\.b.c[2].d");
        assert!(way.enters_list());
    }

    #[test]
    fn an_overlay_has_only_what_is_needed_and_lists_whole() {
        let values = json::read_map(br#"{"a":{"x":"1","y":"2"},"l":[{"i":"p","n":"q"},{"i":"r"}]}"#).unwrap();
        let key = |key: &str| Segment::Key(key.into());
        let a = path(&[key("a"), key("x")]);
        let first = path(&[key("l"), Segment::Index(0), key("i")]);
        let second = path(&[key("l"), Segment::Index(1), key("i")]);
        let absent = path(&[key("no"), key("i")]);
        let over = overlay(&values, [(&a, "A"), (&first, "P"), (&second, "R"), (&absent, "N")]);
        let wanted = json::read_map(br#"{"a":{"x":"A"},"l":[{"i":"P","n":"q"},{"i":"R"}]}"#).unwrap();
        assert_eq!(over, wanted);
    }
}

//! A node of the data tree.

use crate::{Map, Str, with_stack};

/// A node of the data tree: the result of reading YAML, JSON and `--set`.
///
/// Numbers from files are [`Node::Float`] even if they are integral, as Go's JSON decodes them; numbers from `--set`
/// are [`Node::Int`]. Templates can distinguish the two, so the tree does.
#[derive(Debug, Default)]
pub enum Node {
    /// Go's nil.
    #[default]
    Nil,
    /// A boolean.
    Bool(bool),
    /// Go's `int64`.
    Int(i64),
    /// Go's `float64`.
    Float(f64),
    /// A string.
    Str(Str),
    /// A list.
    List(Vec<Node>),
    /// A map with string keys.
    Map(Map<Node>),
}

impl Node {
    /// Returns an empty map node.
    pub const fn empty_map() -> Self {
        Node::Map(Map::new())
    }

    /// Whether the node is nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Node::Nil)
    }

    /// The JSON type of the node, as Go's errors name it.
    pub fn json_type(&self) -> &'static str {
        match self {
            Node::Nil => "null",
            Node::Bool(_) => "bool",
            Node::Int(_) | Node::Float(_) => "number",
            Node::Str(_) => "string",
            Node::List(_) => "array",
            Node::Map(_) => "object",
        }
    }

    /// The map, if the node is one.
    pub fn as_map(&self) -> Option<&Map<Node>> {
        match self {
            Node::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The map, mutable, if the node is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map<Node>> {
        match self {
            Node::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if the node is one.
    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Node::List(list) => Some(list),
            _ => None,
        }
    }

    /// The string, if the node is one.
    pub fn as_text(&self) -> Option<&Str> {
        match self {
            Node::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The string as UTF-8, if the node is one and it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Str::as_str)
    }

    /// The boolean, if the node is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Node::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The child under `key`, if the node is a map that has it.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&Node> {
        self.as_map().and_then(|map| map.get(key))
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Node::Bool(value)
    }
}

impl From<i64> for Node {
    fn from(value: i64) -> Self {
        Node::Int(value)
    }
}

impl From<f64> for Node {
    fn from(value: f64) -> Self {
        Node::Float(value)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Node::Str(text.into())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Node::Str(text.into())
    }
}

impl From<Str> for Node {
    fn from(text: Str) -> Self {
        Node::Str(text)
    }
}

impl From<Vec<Node>> for Node {
    fn from(list: Vec<Node>) -> Self {
        Node::List(list)
    }
}

impl From<Map<Node>> for Node {
    fn from(map: Map<Node>) -> Self {
        Node::Map(map)
    }
}

// Trees nest as deep as Go's readers allow, which is too deep for a thread's stack; so cloning and comparing check
// the stack at every container.

impl Clone for Node {
    fn clone(&self) -> Self {
        match self {
            Node::Nil => Node::Nil,
            Node::Bool(value) => Node::Bool(*value),
            Node::Int(value) => Node::Int(*value),
            Node::Float(value) => Node::Float(*value),
            Node::Str(text) => Node::Str(text.clone()),
            Node::List(list) => with_stack(|| Node::List(list.clone())),
            Node::Map(map) => with_stack(|| Node::Map(map.clone())),
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Node::Nil, Node::Nil) => true,
            (Node::Bool(a), Node::Bool(b)) => a == b,
            (Node::Int(a), Node::Int(b)) => a == b,
            (Node::Float(a), Node::Float(b)) => a == b,
            (Node::Str(a), Node::Str(b)) => a == b,
            (Node::List(a), Node::List(b)) => with_stack(|| a == b),
            (Node::Map(a), Node::Map(b)) => with_stack(|| a == b),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize, around: fn(Node) -> Node) -> Node {
        (0..depth).fold(Node::Nil, |inner, _| around(inner))
    }

    #[test]
    fn deep_trees_are_copied_compared_and_dropped_on_a_small_stack() {
        let run = || {
            let in_list = |inner| Node::List(vec![inner]);
            let in_map = |inner| Node::Map(Map::from_entries(vec![("a".into(), inner)]));
            // Lists are only as deep as the readers allow; maps grow with paths such as those of imports.
            for tree in [nested(5_000, in_list), nested(100_000, in_map)] {
                let copy = tree.clone();
                assert!(copy == tree);
            }
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
        thread.expect("a thread can be started").join().expect("the thread ends well");
    }
}

//! Suites as read: like documents, but scalars also keep their text, because go-yaml fills fields of strings with it.

use pintle_tree::{Map, Node, Str};
use pintle_yaml::Builder;

/// A node of a suite.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    /// A scalar and its text.
    Scalar(Node, Str),
    /// A list.
    List(Vec<Raw>),
    /// A map, in the order of the text; of equal keys the last counts.
    Map(Vec<(Str, Raw)>),
}

impl Raw {
    /// Reads one document.
    ///
    /// # Errors
    /// go-yaml's text.
    pub(crate) fn read(text: &[u8]) -> Result<Raw, pintle_yaml::Error> {
        pintle_yaml::read_version_3(text, &mut Stack::default())
    }

    /// Whether this is null.
    pub(crate) fn is_nil(&self) -> bool {
        matches!(self, Raw::Scalar(Node::Nil, _))
    }

    /// The plain tree.
    pub(crate) fn to_node(&self) -> Node {
        match self {
            Raw::Scalar(node, _) => node.clone(),
            Raw::List(items) => Node::List(items.iter().map(Raw::to_node).collect()),
            Raw::Map(entries) => Node::Map(Map::from_entries(
                entries.iter().map(|(key, raw)| (key.clone(), raw.to_node())).collect(),
            )),
        }
    }
}

/// Builds a [`Raw`] tree.
#[derive(Default)]
struct Stack {
    nodes: Vec<Raw>,
    keys: Vec<Str>,
    open: Vec<(usize, usize)>,
    text: Str,
    duplicates: bool,
}

impl Stack {
    fn scalar(&mut self, node: Node) {
        let text = std::mem::take(&mut self.text);
        self.nodes.push(Raw::Scalar(node, text));
    }
}

impl Builder for Stack {
    type Node = Raw;

    const VERSION_3: bool = true;

    fn reset(&mut self) {
        *self = Stack::default();
    }

    fn has_duplicates(&self) -> bool {
        self.duplicates
    }

    fn plain(&mut self, text: &[u8]) {
        self.text = Str::new(text);
    }

    fn nil(&mut self) {
        self.scalar(Node::Nil);
    }

    fn bool(&mut self, value: bool) {
        self.scalar(Node::Bool(value));
    }

    fn int(&mut self, value: i64) {
        self.scalar(Node::Int(value));
    }

    fn uint(&mut self, value: u64) {
        self.scalar(Node::Float(value as f64));
    }

    fn float(&mut self, value: f64) {
        self.scalar(Node::Float(value));
    }

    fn str(&mut self, text: &[u8]) {
        self.text = Str::new(text);
        self.scalar(Node::Str(self.text.clone()));
    }

    fn begin_list(&mut self) {
        self.open.push((self.nodes.len(), self.keys.len()));
    }

    fn end_list(&mut self) {
        let (nodes, _) = self.open.pop().expect("only an open list is ended");
        let items = self.nodes.drain(nodes..).collect();
        self.nodes.push(Raw::List(items));
    }

    fn begin_map(&mut self) {
        self.begin_list();
    }

    fn key(&mut self, key: &[u8]) {
        self.keys.push(Str::new(key));
    }

    fn end_map(&mut self) {
        let (nodes, keys) = self.open.pop().expect("only an open map is ended");
        let mut entries: Vec<(Str, Raw)> = Vec::with_capacity(self.keys.len() - keys);
        for (key, node) in self.keys.drain(keys..).zip(self.nodes.drain(nodes..)) {
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some(entry) => {
                    self.duplicates = true;
                    entry.1 = node;
                }
                None => entries.push((key, node)),
            }
        }
        self.nodes.push(Raw::Map(entries));
    }

    fn finish(&mut self) -> Raw {
        self.nodes.pop().unwrap_or(Raw::Scalar(Node::Nil, Str::default()))
    }
}

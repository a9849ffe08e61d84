//! Reads YAML by the rules of go-yaml 3, as dyff does: `n` and `yes` are texts, and keys too.

use pintle_tree::{Map, Node, Str};
use pintle_yaml::Builder;

/// Reads a document; nil if it is not valid.
pub(crate) fn read(text: &[u8]) -> Node {
    pintle_yaml::read_version_3(text, &mut Tree::default()).unwrap_or_default()
}

enum Open {
    List(Vec<Node>),
    Map(Map<Node>, Str),
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    root: Node,
}

impl Tree {
    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = node,
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map(map, key)) => {
                map.insert(std::mem::take(key), node);
            }
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::List(items)) => self.add(Node::List(items)),
            Some(Open::Map(map, _)) => self.add(Node::Map(map)),
            None => {}
        }
    }
}

impl Builder for Tree {
    type Node = Node;

    const VERSION_3: bool = true;

    fn reset(&mut self) {
        *self = Tree::default();
    }

    fn nil(&mut self) {
        self.add(Node::Nil);
    }

    fn bool(&mut self, value: bool) {
        self.add(Node::Bool(value));
    }

    fn int(&mut self, value: i64) {
        self.add(Node::Int(value));
    }

    fn uint(&mut self, value: u64) {
        self.add(Node::Float(value as f64));
    }

    fn float(&mut self, value: f64) {
        self.add(Node::Float(value));
    }

    fn str(&mut self, text: &[u8]) {
        self.add(Node::Str(text.into()));
    }

    fn begin_list(&mut self) {
        self.open.push(Open::List(Vec::new()));
    }

    fn end_list(&mut self) {
        self.close();
    }

    fn begin_map(&mut self) {
        self.open.push(Open::Map(Map::new(), Str::EMPTY));
    }

    fn key(&mut self, key: &[u8]) {
        if let Some(Open::Map(_, slot)) = self.open.last_mut() {
            *slot = key.into();
        }
    }

    fn end_map(&mut self) {
        self.close();
    }

    fn finish(&mut self) -> Node {
        std::mem::take(&mut self.root)
    }
}

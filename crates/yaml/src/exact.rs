//! Trees that keep integers: what Kubernetes decodes, as opposed to what templates see.

use pintle_tree::{Map, Node, Str};

use crate::builder::Assemble;

/// A node of an exact tree.
#[derive(Debug)]
pub(crate) struct Exact(pub(crate) Node);

/// Below this, Go's JSON writes a float without an exponent, so an integral one is read back as an integer.
const EXPONENT_FROM: f64 = 1e21;

impl Assemble for Exact {
    fn nil() -> Self {
        Exact(Node::Nil)
    }

    fn bool(value: bool) -> Self {
        Exact(Node::Bool(value))
    }

    fn int(value: i64) -> Self {
        Exact(Node::Int(value))
    }

    fn uint(value: u64) -> Self {
        // Kubernetes' JSON decoder tries int64 and falls back to float64; it has no uint64.
        Exact(Node::Float(value as f64))
    }

    fn float(value: f64) -> Self {
        let fits = value.fract() == 0.0 && value.abs() < EXPONENT_FROM && value.abs() < i64::MAX as f64;
        Exact(if fits { Node::Int(value as i64) } else { Node::Float(value) })
    }

    fn str(text: Str) -> Self {
        Exact(Node::Str(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Exact(Node::List(items.into_iter().map(|item| item.0).collect()))
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Exact(Node::Map(Map::from_entries(entries.into_iter().map(|(key, value)| (key, value.0)).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_whole() {
        let node = crate::read_exact(b"{a: 9007199254740993, b: 1.0, c: 1.5, d: 1e3}").expect("good YAML");
        assert_eq!(node.get("a"), Some(&Node::Int(9_007_199_254_740_993)));
        assert_eq!(node.get("b"), Some(&Node::Int(1)));
        assert_eq!(node.get("c"), Some(&Node::Float(1.5)));
        assert_eq!(node.get("d"), Some(&Node::Int(1000)));
    }
}

//! A YAML builder that keeps only the head of a document, so that large specs never become a tree.

use pintle_tree::{Map, Node, Str};
use pintle_yaml::Builder;

use pintle_yaml::decode::matches_field;

/// Keeps the fields of a head and drops everything else. Unexpected collections are kept empty, because their type
/// matters for errors.
#[derive(Default)]
pub(crate) struct Pruner {
    root: Option<Node>,
    /// The entries of the open maps that are kept: the document, its metadata, their annotations.
    open: Vec<Vec<(Str, Node)>>,
    /// The keys of the open maps in their parents.
    outer_keys: Vec<Option<Str>>,
    /// The key of the current entry, if it is kept.
    key: Option<Str>,
    /// The depth of dropped collections.
    dropped: usize,
}

/// The depth of the annotations map.
const ANNOTATIONS: usize = 3;

impl Pruner {
    fn put(&mut self, node: impl FnOnce() -> Node) {
        if self.dropped > 0 {
            return;
        }
        match self.open.last_mut() {
            None => self.root = Some(node()),
            Some(entries) => {
                if let Some(key) = self.key.take() {
                    entries.push((key, node()));
                }
            }
        }
    }

    /// Whether the map that starts now is part of the head.
    fn keeps_map(&self) -> bool {
        let under = |field| self.key.as_ref().is_some_and(|key| matches_field(key.as_bytes(), field));
        match self.open.len() {
            0 => true,
            1 => under("metadata"),
            2 => under("annotations"),
            _ => false,
        }
    }
}

impl Builder for Pruner {
    type Node = Node;

    fn reset(&mut self) {
        *self = Pruner::default();
    }

    fn nil(&mut self) {
        self.put(|| Node::Nil);
    }

    fn bool(&mut self, value: bool) {
        self.put(|| Node::Bool(value));
    }

    fn int(&mut self, value: i64) {
        self.put(|| Node::Int(value));
    }

    fn uint(&mut self, value: u64) {
        // Only its digits can matter, and only below the root.
        let at_root = self.open.is_empty();
        self.put(|| if at_root { Node::Float(value as f64) } else { value.to_string().into() });
    }

    fn float(&mut self, value: f64) {
        self.put(|| Node::Float(value));
    }

    fn str(&mut self, text: &[u8]) {
        self.put(|| Node::Str(clean(text)));
    }

    fn begin_list(&mut self) {
        // No field of the head is a list; the empty one is kept for the error.
        self.put(|| Node::List(Vec::new()));
        self.dropped += 1;
    }

    fn end_list(&mut self) {
        self.dropped = self.dropped.saturating_sub(1);
    }

    fn begin_map(&mut self) {
        if self.dropped == 0 && self.keeps_map() {
            // The map is added to its parent when it ends, so its key has to be kept until then.
            self.outer_keys.push(self.key.take());
            self.open.push(Vec::new());
            return;
        }
        self.put(Node::empty_map);
        self.dropped += 1;
    }

    fn key(&mut self, key: &[u8]) {
        if self.dropped > 0 {
            return;
        }
        let fields: &[&str] = match self.open.len() {
            1 => &["apiVersion", "kind", "metadata"],
            2 => &["name", "annotations"],
            _ => &[],
        };
        // All annotations are kept: hooks and resource policies are looked up later.
        let kept = self.open.len() == ANNOTATIONS || fields.iter().any(|field| matches_field(key, field));
        self.key = kept.then(|| clean(key));
    }

    fn end_map(&mut self) {
        if self.dropped > 0 {
            self.dropped -= 1;
            return;
        }
        let entries = self.open.pop().unwrap_or_default();
        self.key = self.outer_keys.pop().flatten();
        self.put(|| Node::Map(Map::from_entries(entries)));
    }

    fn finish(&mut self) -> Node {
        self.root.take().unwrap_or_default()
    }
}

/// Text as Go's JSON decodes it: each invalid UTF-8 byte becomes U+FFFD.
fn clean(text: &[u8]) -> Str {
    if std::str::from_utf8(text).is_ok() {
        return Str::new(text);
    }
    let mut clean = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        clean.push_str(chunk.valid());
        clean.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    clean.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_head_is_kept() {
        let text = b"kind: K\nspec: {kind: x, list: [{a: b}]}\nmetadata:\n  labels: {a: b}\n  annotations: {a: 1, b: [2, {z: 3}]}\nname: n\n";
        let root = pintle_yaml::read_with(text, &mut Pruner::default()).expect("is YAML");
        let annotations =
            Map::from_entries(vec![("a".into(), Node::Int(1)), ("b".into(), Node::List(Vec::new()))]);
        let metadata = Map::from_entries(vec![("annotations".into(), Node::Map(annotations))]);
        let head =
            Map::from_entries(vec![("kind".into(), "K".into()), ("metadata".into(), Node::Map(metadata))]);
        assert_eq!(root, Node::Map(head));
    }
}

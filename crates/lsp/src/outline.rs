//! YAML with the position of every key, also while it is being typed: lines that are malformed are passed over.
//!
//! It reads what values files and masked templates contain: block and flow collections, scalars of all styles, anchors and
//! merge keys, several documents. For well-formed text its keys are those of the strict reader; a test compares them.

mod scan;

use std::ops::Range;

pub use scan::unquoted;

/// The number of a node.
pub type Id = usize;

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A key of a map with its value.
    Entry,
    /// An item of a list.
    Item,
    /// A document.
    Document,
}

/// A key with its value, an item, or a document.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The key without quotes; empty for items and documents.
    pub key: String,
    /// The bytes of the key with its quotes, or of the dash of an item.
    pub key_range: Range<usize>,
    /// The bytes of a scalar; of a collection in flow style with its brackets; otherwise empty, behind the key.
    pub value: Range<usize>,
    /// The node that contains it.
    pub parent: Option<Id>,
    /// What it contains.
    pub children: Vec<Id>,
    /// The column.
    pub indent: usize,
    /// The comment lines before it, and the one behind it.
    pub comments: Vec<Range<usize>>,
    /// The end of everything that belongs to it.
    pub end: usize,
    anchor: Option<String>,
    alias: Option<String>,
    flow: bool,
    /// Whether it is a list in flow style.
    bracket: bool,
}

/// The keys of a text and where they are.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    nodes: Vec<Node>,
}

/// The maximum number of aliases that are followed from one node.
const MAX_ALIASES: usize = 8;
/// The maximum number of nodes that are looked at for them.
const MAX_FOLLOWED: usize = 1000;

impl Outline {
    /// Reads a text.
    pub fn read(text: &str) -> Self {
        Outline { nodes: scan::nodes(text) }
    }

    /// A node.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// All nodes, in the order of the text.
    pub fn nodes(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate()
    }

    /// The documents.
    pub fn documents(&self) -> impl Iterator<Item = Id> + '_ {
        self.nodes().filter(|(_, node)| node.kind == Kind::Document).map(|(id, _)| id)
    }

    /// What a node contains, through aliases and merge keys.
    pub fn children(&self, id: Id) -> Vec<Id> {
        let mut found = Vec::new();
        self.collect(id, MAX_ALIASES, &mut { MAX_FOLLOWED }, &mut found);
        found
    }

    fn collect(&self, id: Id, aliases: usize, budget: &mut usize, into: &mut Vec<Id>) {
        // Aliases of aliases can be as many as one likes.
        let Some(left) = budget.checked_sub(1) else { return };
        *budget = left;
        if let Some(target) = self.target(id).filter(|_| aliases > 0) {
            self.collect(target, aliases - 1, budget, into);
        }
        for &child in &self.nodes[id].children {
            if self.nodes[child].key == "<<" && aliases > 0 {
                self.collect(child, aliases - 1, budget, into);
                for &item in &self.nodes[child].children {
                    if self.nodes[item].kind == Kind::Item {
                        self.collect(item, aliases - 1, budget, into);
                    }
                }
            } else {
                into.push(child);
            }
        }
    }

    fn target(&self, id: Id) -> Option<Id> {
        let alias = self.nodes[id].alias.as_ref()?;
        // The last anchor of the name before the alias counts.
        self.nodes[..id].iter().rposition(|node| node.anchor.as_ref() == Some(alias))
    }

    /// Whether a node is a list.
    pub fn is_list(&self, id: Id) -> bool {
        let first = self.children(id).first().map(|child| self.nodes[*child].kind);
        first == Some(Kind::Item) || self.nodes[id].bracket
    }

    /// Whether a node has a map with keys.
    pub fn is_map(&self, id: Id) -> bool {
        self.children(id).iter().any(|child| self.nodes[*child].kind == Kind::Entry)
    }

    /// The nodes at a path below a node. `None` as a step is every item of a list and every value of a map.
    pub fn find(&self, from: Id, path: &[Option<&str>]) -> Vec<Id> {
        let mut found = vec![from];
        for step in path {
            let mut next = Vec::new();
            for id in found {
                for child in self.children(id) {
                    let node = &self.nodes[child];
                    let matches = match step {
                        Some(key) => node.kind == Kind::Entry && node.key == **key,
                        None => true,
                    };
                    if matches && !next.contains(&child) {
                        next.push(child);
                    }
                }
            }
            found = next;
        }
        found
    }

    /// The keys above a node and its own; `None` for items of lists.
    pub fn path(&self, id: Id) -> Vec<Option<String>> {
        let mut path = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            let node = &self.nodes[id];
            match node.kind {
                Kind::Entry => path.push(Some(node.key.clone())),
                Kind::Item => path.push(None),
                Kind::Document => {}
            }
            at = node.parent;
        }
        path.reverse();
        path
    }

    /// The entry or item at an offset: whose key, dash or value contains it.
    pub fn at(&self, offset: usize) -> Option<Id> {
        let hits = self.nodes().filter(|(_, node)| {
            node.kind != Kind::Document
                && node.key_range.start <= offset
                && (offset <= node.key_range.end || node.value.start <= offset && offset <= node.value.end)
        });
        hits.max_by_key(|(_, node)| (node.key_range.start, node.key_range.end)).map(|(id, _)| id)
    }

    /// The node that something typed at an offset with an indentation would belong to.
    pub fn container_at(&self, offset: usize, indent: usize) -> Id {
        let mut found = 0;
        for (id, node) in self.nodes() {
            if node.key_range.start > offset {
                break;
            }
            match node.kind {
                Kind::Document => found = id,
                _ if node.indent < indent && !node.flow_child(self) => found = id,
                _ => {
                    // A sibling or something deeper that has ended: back to what is above it.
                    let mut above = node.parent;
                    while let Some(parent) = above {
                        let parent_node = &self.nodes[parent];
                        if parent_node.kind == Kind::Document || parent_node.indent < indent {
                            found = parent;
                            break;
                        }
                        above = parent_node.parent;
                    }
                }
            }
        }
        found
    }

    /// The comment of a node without number signs.
    pub fn comment(&self, text: &str, id: Id) -> String {
        let lines = self.nodes[id].comments.iter().map(|range| {
            let line = text[range.clone()].trim();
            let line = line.trim_start_matches('#').trim_start_matches([' ', '-']).trim();
            line.strip_prefix("@default").unwrap_or(line)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The text of a value as written, with what is below it.
    pub fn value_text<'t>(&self, text: &'t str, id: Id) -> &'t str {
        let node = &self.nodes[id];
        if node.children.is_empty() || node.flow {
            &text[node.value.clone()]
        } else {
            &text[node.key_range.end..node.end]
        }
    }
}

impl Node {
    fn flow_child(&self, outline: &Outline) -> bool {
        self.parent.is_some_and(|parent| outline.nodes[parent].flow)
    }

    /// Whether it has a scalar that is not empty.
    pub fn is_scalar(&self) -> bool {
        !self.value.is_empty() && !self.flow && self.children.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All paths with their values.
    fn paths(text: &str) -> Vec<String> {
        let outline = Outline::read(text);
        let shown = |(id, node): (Id, &Node)| {
            let path: Vec<String> =
                outline.path(id).into_iter().map(|key| key.unwrap_or_else(|| "*".to_owned())).collect();
            format!("{}={}", path.join("."), &text[node.value.clone()])
        };
        outline.nodes().filter(|(_, node)| node.kind != Kind::Document).map(shown).collect()
    }

    #[test]
    fn keys_have_paths_and_values() {
        let text = "# about a\na: 1 # one\nb:\n  c: 'x: y'\n  d:\n  - e: 1\n    f: 2\n  - g\nh: |\n  i: j\n\"k.l\": {m: [n, o], p: {}}\n";
        assert_eq!(
            paths(text),
            [
                "a=1",
                "b=",
                "b.c='x: y'",
                "b.d=",
                "b.d.*=",
                "b.d.*.e=1",
                "b.d.*.f=2",
                "b.d.*=g",
                "h=|\n  i: j",
                "k.l={m: [n, o], p: {}}",
                "k.l.m=[n, o]",
                "k.l.m.*=n",
                "k.l.m.*=o",
                "k.l.p={}",
            ]
        );
        let outline = Outline::read(text);
        assert_eq!(outline.comment(text, 1), "about a\none");
        assert!(outline.is_list(outline.find(0, &[Some("b"), Some("d")])[0]));
    }

    #[test]
    fn anchors_and_merge_keys_are_followed() {
        let text = "a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\ne: *x\n";
        let outline = Outline::read(text);
        assert_eq!(outline.find(0, &[Some("c"), Some("b")]).len(), 1);
        assert_eq!(outline.find(0, &[Some("e"), Some("b")]).len(), 1);
    }

    #[test]
    fn malformed_lines_do_not_hide_the_others() {
        let found = paths("a: [1, 2\nb: \"x\n  y\nc:\n   d\n  e: 1\n\t\n- f: 2\n:\n}g\nh: 3\n");
        assert!(found.contains(&"h=3".to_owned()), "{found:?}");
        for text in
            ["{", "[{a: ", "a: {b: [", "- - -", "\"", "a: 'é", "? x", "&", "*", "a: *", "{:}", "[é:é]", "{é"]
        {
            paths(text);
        }
    }

    #[test]
    fn the_place_of_a_new_key_is_known_by_its_indentation() {
        let text = "a:\n  b:\n    c: 1\n\nd: 2\n";
        let outline = Outline::read(text);
        let path = |offset: usize, indent: usize| outline.path(outline.container_at(offset, indent));
        let blank = text.find("\n\n").expect("a blank line") + 1;
        assert_eq!(path(blank, 4), [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(path(blank, 2), [Some("a".to_owned())]);
        assert!(path(blank, 0).is_empty());
    }
}

//! Which nodes of templates ran, and which way branches went.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use pintle_tree::{Map, Str};

use super::LineFinder;
use crate::ast::{Node, Source, Tree};
use crate::node_text::NodeRef;
use crate::pool::Span;
use crate::set::Set;

/// How often the nodes of templates ran.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    sources: Map<SourceHits>,
}

/// Counts by byte offset in one source.
#[derive(Clone, Debug, Default)]
struct SourceHits {
    nodes: BTreeMap<u32, u64>,
    branches: BTreeMap<u32, Branch>,
}

/// How often a condition held, or a loop had something to iterate over, and how often not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The condition held.
    pub taken: u64,
    /// It did not.
    pub skipped: u64,
}

/// A part of a template that runs as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The lines that it is on.
    pub lines: RangeInclusive<usize>,
    /// How often it ran.
    pub hits: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// The kind of a [`Region`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// Text that is written as it is.
    Text,
    /// `{{ … }}`.
    Action,
    /// `if`, `with` or `range`, with its condition as it is written.
    Branch {
        /// `if`, `with` or `range`.
        word: &'static str,
        /// The condition.
        condition: String,
        /// Which way it went.
        outcome: Branch,
    },
}

impl Coverage {
    pub(super) fn hit(&mut self, source: &Str, position: u32) {
        *self.source(source).nodes.entry(position).or_default() += 1;
    }

    pub(super) fn branch(&mut self, source: &Str, position: u32, taken: bool) {
        let branch = self.source(source).branches.entry(position).or_default();
        *(if taken { &mut branch.taken } else { &mut branch.skipped }) += 1;
    }

    fn source(&mut self, name: &Str) -> &mut SourceHits {
        self.sources.entry_or_insert_with(name, SourceHits::default)
    }

    /// Which way the conditions of a source went, by their byte offsets.
    pub fn branches(&self, source: &str) -> impl Iterator<Item = (usize, Branch)> + '_ {
        let hits = self.sources.get(source.as_bytes()).into_iter();
        hits.flat_map(|hits| hits.branches.iter().map(|(offset, branch)| (*offset as usize, *branch)))
    }

    /// How often the nodes of a source ran, by their byte offsets.
    pub fn nodes(&self, source: &str) -> impl Iterator<Item = (usize, u64)> + '_ {
        let hits = self.sources.get(source.as_bytes()).into_iter();
        hits.flat_map(|hits| hits.nodes.iter().map(|(offset, count)| (*offset as usize, *count)))
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Coverage) {
        for (name, hits) in other.sources.iter() {
            let own = self.source(name);
            for (position, count) in &hits.nodes {
                *own.nodes.entry(*position).or_default() += count;
            }
            for (position, branch) in &hits.branches {
                let own = own.branches.entry(*position).or_default();
                own.taken += branch.taken;
                own.skipped += branch.skipped;
            }
        }
    }

    /// The regions of all templates of a set by source, in the order of their lines. What `is_rendered` does not accept is
    /// used for its definitions only.
    pub fn regions(&self, set: &Set, is_rendered: &dyn Fn(&str) -> bool) -> Map<Vec<Region>> {
        let mut all: Map<Vec<Region>> = Map::new();
        for tree in set.trees() {
            let source = &tree.source;
            // The text of a partial outside of its definitions never runs, so it would count as missed.
            if tree.name == source.name && !is_rendered(&source.name.to_str_lossy()) {
                continue;
            }
            // A template that never ran has regions, too.
            let none = SourceHits::default();
            let hits = self.sources.get(&source.name).unwrap_or(&none);
            self.collect(tree, hits, all.entry_or_insert_with(&source.name, Vec::new));
        }
        for (_, regions) in all.iter_mut() {
            regions.sort_by_key(|region| (*region.lines.start(), *region.lines.end()));
        }
        all
    }

    fn collect(&self, tree: &Tree, hits: &SourceHits, into: &mut Vec<Region>) {
        // A list instead of recursion: blocks nest as deep as the parser allows.
        let mut pending = vec![tree.nodes];
        let mut finder = LineFinder::default();
        while let Some(nodes) = pending.pop() {
            push_nodes(&tree.source, nodes, hits, (&mut finder, into), &mut pending);
        }
    }
}

fn push_nodes(
    source: &Source,
    nodes: Span<Node>,
    hits: &SourceHits,
    (finder, into): (&mut LineFinder, &mut Vec<Region>),
    pending: &mut Vec<Span<Node>>,
) {
    for node in &source.nodes[nodes] {
        let position = NodeRef::Node(node).position(source);
        let (word, branch) = match node {
            Node::If(branch) => ("if", branch),
            Node::With(branch) => ("with", branch),
            Node::Range(branch) => ("range", branch),
            _ => {
                into.extend(plain_region(source, node, hits, finder));
                continue;
            }
        };
        let branch = &source.branches[*branch];
        let kind = RegionKind::Branch {
            word,
            condition: NodeRef::Pipe(&source.pipes[branch.pipe]).text(source),
            outcome: hits.branches.get(&position).copied().unwrap_or_default(),
        };
        let line = finder.line(&source.text, position as usize);
        let count = hits.nodes.get(&position).copied().unwrap_or_default();
        into.push(Region { lines: line..=line, hits: count, kind });
        pending.extend([branch.list, branch.otherwise]);
    }
}

/// The region of a node without a body; blank text is none.
fn plain_region(source: &Source, node: &Node, hits: &SourceHits, finder: &mut LineFinder) -> Option<Region> {
    let position = NodeRef::Node(node).position(source);
    let (start, end, kind) = match node {
        Node::Text { start, end } => {
            let (start, end) = (*start as usize, *end as usize);
            let text = &source.text.as_bytes()[start..end];
            let blank = text.len() - text.trim_ascii_start().len();
            let text = text.trim_ascii();
            if text.is_empty() {
                return None;
            }
            (start + blank, start + blank + text.len(), RegionKind::Text)
        }
        _ => (position as usize, position as usize, RegionKind::Action),
    };
    let lines = finder.line(&source.text, start)..=finder.line(&source.text, end);
    Some(Region { lines, hits: hits.nodes.get(&position).copied().unwrap_or_default(), kind })
}

//! Expands aliases where an edit must not be visible elsewhere, or where only an alias is written.

use std::borrow::Cow;
use std::collections::BTreeSet;

use pintle_tree::Node;

use super::Outline;
use super::edits::Edits;
use super::node_ref::{Entry, Kind, NodeRef};
use crate::error::Error;

/// A segment of the path to a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathSegment {
    /// A key of a map.
    Key(Cow<'static, str>),
    /// An index of a list.
    Index(usize),
}

impl From<&'static str> for PathSegment {
    fn from(key: &'static str) -> Self {
        PathSegment::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for PathSegment {
    fn from(index: usize) -> Self {
        PathSegment::Index(index)
    }
}

/// The maximum depth of a tree that replaces an alias. It is written recursively.
const DEPTH: usize = 100;

/// The first document of `text`, rewritten so that each of `paths` can be edited without side effects: aliases and
/// merge keys on the paths, and aliases that share their targets, are expanded. All others are kept.
///
/// # Errors
/// When [`crate::read`] fails, and for aliases of very deep trees.
pub fn expand_aliases<'t>(text: &'t [u8], paths: &[Vec<PathSegment>]) -> Result<Cow<'t, [u8]>, Error> {
    spell(text, |outline, marked| {
        for path in paths {
            marked.follow(outline, path);
        }
    })
}

/// The first document of `text` without aliases and merge keys in the node at `path`, so that the node is complete by
/// itself.
///
/// # Errors
/// Like [`expand_aliases`].
pub fn expand_aliases_in<'t>(text: &'t [u8], path: &[PathSegment]) -> Result<Cow<'t, [u8]>, Error> {
    spell(text, |outline, marked| {
        if let Some(node) = marked.follow(outline, path) {
            let inside = node.index..node.after();
            marked.aliases.extend(
                outline.aliases.iter().map(|(alias, _)| *alias).filter(|alias| inside.contains(alias)),
            );
        }
    })
}

/// Expands what `mark` marks until nothing is marked.
fn spell<'t>(text: &'t [u8], mark: impl Fn(&Outline<'_>, &mut Marked)) -> Result<Cow<'t, [u8]>, Error> {
    let mut current = Cow::Borrowed(text);
    loop {
        // Expanding one alias can reveal others inside of it, and moves all offsets, so the text is read
        // again each time. Each round removes at least one alias or merge key; the loop ends.
        let outline = Outline::read_first(&current)?;
        let mut marked = Marked::default();
        if outline.aliases.is_empty() && !outline_merges(&outline) {
            return Ok(current);
        }
        mark(&outline, &mut marked);
        if marked.is_empty() {
            return Ok(current);
        }
        let tree = crate::read_exact(&current)?;
        current = Cow::Owned(marked.expanded(&outline, &tree)?);
    }
}

/// Whether any map merges another, which is possible without aliases.
fn outline_merges(outline: &Outline<'_>) -> bool {
    memchr::memmem::find(outline.text, b"<<").is_some()
}

/// What has to be expanded.
#[derive(Debug, Default)]
struct Marked {
    aliases: BTreeSet<u32>,
    /// Maps whose merge keys are removed.
    mappings: BTreeSet<u32>,
}

impl Marked {
    fn is_empty(&self) -> bool {
        self.aliases.is_empty() && self.mappings.is_empty()
    }

    /// Marks what prevents editing the node at `path`. Returns the node if nothing does.
    fn follow<'o>(&mut self, outline: &'o Outline<'_>, path: &[PathSegment]) -> Option<NodeRef<'o>> {
        let mut node = outline.roots().next()?;
        for step in path {
            if node.kind() == Kind::Alias {
                self.aliases.insert(node.index);
                self.unshare(node);
                return None;
            }
            let next = match step {
                PathSegment::Index(index) => node.items().nth(*index),
                PathSegment::Key(key) => {
                    let merges = |entry: &Entry<'_>| entry.is_merge() && entry.value.has_merged(key);
                    if node.entries().any(|entry| merges(&entry)) {
                        self.mappings.insert(node.index);
                        self.unshare(node);
                        return None;
                    }
                    node.entry(key).map(|entry| entry.value)
                }
            };
            match next {
                Some(next) => node = next,
                None => {
                    self.unshare(node);
                    return None;
                }
            }
        }
        self.keep_inside(node);
        if node.kind() == Kind::Alias && !matches!(node.target().kind(), Kind::Scalar(_)) {
            self.aliases.insert(node.index);
        }
        self.unshare(node);
        Some(node)
    }

    /// Marks the aliases of what is inside the node.
    fn keep_inside(&mut self, node: NodeRef<'_>) {
        let inside = node.index..node.after();
        let aliases = node.outline.aliases.iter();
        self.aliases.extend(aliases.filter(|(_, target)| inside.contains(target)).map(|(alias, _)| *alias));
    }

    /// Marks the aliases that share the node.
    fn unshare(&mut self, node: NodeRef<'_>) {
        for &(alias, target) in &node.outline.aliases {
            if target <= node.index && node.index < node.outline.node_ref(target).after() {
                self.aliases.insert(alias);
            }
        }
    }

    fn expanded(mut self, outline: &Outline<'_>, tree: &Node) -> Result<Vec<u8>, Error> {
        let mut edits = Edits::new(outline);
        for &alias in &self.aliases {
            let (mapping, node) = find(outline, alias, tree);
            match (mapping, node) {
                (Some(mapping), _) => drop(self.mappings.insert(mapping)),
                (None, Some(node)) => edits.replace_tree(outline.node_ref(alias), shallow(node)?),
                // A key.
                (None, None) => edits.replace_tree(
                    outline.node_ref(alias),
                    &outline.node_ref(alias).value().unwrap_or(Node::Nil),
                ),
            }
        }
        for &mapping in &self.mappings {
            let (_, node) = find(outline, mapping, tree);
            unmerge(outline.node_ref(mapping), node, &mut edits)?;
        }
        edits.apply()
    }
}

/// Copies the entries that a map merges into the map itself.
fn unmerge<'o>(mapping: NodeRef<'o>, node: Option<&Node>, edits: &mut Edits<'o>) -> Result<(), Error> {
    let Some(Node::Map(values)) = node else { return Ok(()) };
    let merges: Vec<Entry<'_>> = mapping.entries().filter(Entry::is_merge).collect();
    for merge in &merges {
        edits.remove_entry(mapping, *merge);
    }
    for (key, value) in values.iter() {
        let Some(name) = key.as_str() else { continue };
        let Some(own) = mapping.entry(name) else {
            edits.set(mapping, name, shallow(value)?);
            continue;
        };
        // A later merge takes precedence.
        if merges.iter().any(|merge| merge.key.index > own.key.index && merge.value.has_merged(name)) {
            edits.replace_tree(own.value, shallow(value)?);
        }
    }
    Ok(())
}

/// The node that the tree has for the item at `index`; and the map whose merge key holds the item, if one does.
fn find<'n>(outline: &Outline<'_>, index: u32, tree: &'n Node) -> (Option<u32>, Option<&'n Node>) {
    let Some(mut current) = outline.roots().next() else { return (None, None) };
    let mut node = Some(tree);
    while current.index != index {
        let holds = |child: NodeRef<'_>| child.index <= index && index < child.after();
        if let Some((number, item)) = current.items().enumerate().find(|(_, item)| holds(*item)) {
            node = node.and_then(Node::as_list).and_then(|items| items.get(number));
            current = item;
            continue;
        }
        let Some(entry) = current.entries().find(|entry| holds(entry.value)) else { return (None, None) };
        if entry.is_merge() {
            return (Some(current.index), node);
        }
        node = node.and_then(Node::as_map).and_then(|map| {
            map.iter()
                .find(|(key, _)| key.as_str().is_some_and(|key| entry.key.names(key)))
                .map(|(_, value)| value)
        });
        current = entry.value;
    }
    (None, node)
}

/// The tree, unless it is too deep to be written on one line.
fn shallow(node: &Node) -> Result<&Node, Error> {
    let mut level: Vec<&Node> = vec![node];
    for _ in 0..DEPTH {
        level = level
            .into_iter()
            .flat_map(|node| match node {
                Node::List(items) => items.iter().collect(),
                Node::Map(map) => map.values().collect(),
                _ => Vec::new(),
            })
            .collect();
        if level.is_empty() {
            return Ok(node);
        }
    }
    Err(Error::new("yaml: an alias of a tree this deep cannot be written out"))
}

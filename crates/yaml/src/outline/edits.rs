//! Edits of a text, collected and applied in one pass.

use std::collections::BTreeMap;
use std::ops::Range;

use pintle_tree::Node;

use super::Outline;
use super::node_ref::{Entry, Kind, NodeRef, Style};
use super::render::{RenderContext, in_style_of, question_mark, write_lead};
use crate::error::Error;

/// The longest key that may be implicit, with some reserve for its anchor and tag: YAML allows 1024 characters up to
/// the colon.
const LONGEST_KEY: usize = 900;

/// Edits of the text of an outline. Nothing changes before [`Edits::apply`], and everything else is kept byte for
/// byte.
#[derive(Debug)]
pub struct Edits<'o> {
    outline: &'o Outline<'o>,
    changes: Vec<Change>,
    /// The changes to the children of collections, by index.
    collections: BTreeMap<u32, Children>,
}

/// A replaced range of text.
#[derive(Debug)]
struct Change {
    range: Range<usize>,
    text: Vec<u8>,
}

/// The changes to the children of a collection.
#[derive(Debug, Default)]
struct Children {
    /// The indices of removed keys or items.
    removed: Vec<u32>,
    /// Added children, with their key in a map.
    added: Vec<(Option<String>, Node)>,
}

/// A child of a collection as written.
struct Child {
    node: u32,
    /// The offset of its question mark, dash, anchor or first character.
    start: usize,
    end: usize,
    /// Whether it ends with its colon or tag, which a comma must not touch.
    empty: bool,
}

impl<'o> Edits<'o> {
    /// No edits.
    pub fn new(outline: &'o Outline<'o>) -> Self {
        Edits { outline, changes: Vec::new(), collections: BTreeMap::new() }
    }

    /// Whether there are no edits.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.collections.is_empty()
    }

    /// Replaces the bytes of `range`, which may be empty, by `text`.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<Vec<u8>>) {
        self.changes.push(Change { range, text: text.into() });
    }

    /// Replaces a node by a string, which will be read as exactly that string. Quotes or block style are kept as far
    /// as the string allows. An alias is replaced; an anchor is kept, and its aliases change with it.
    pub fn replace_scalar(&mut self, node: NodeRef<'o>, text: &str) {
        let new = in_style_of(node, text, self.setting(node.is_in_flow(), false));
        self.replace_node(node, new);
    }

    /// Replaces a node by a tree, on one line. An anchor is kept.
    pub fn replace_tree(&mut self, node: NodeRef<'o>, tree: &Node) {
        if let Node::Str(text) = tree
            && let Some(text) = text.as_str()
        {
            return self.replace_scalar(node, text);
        }
        let mut new = Vec::new();
        let setting = self.setting(node.is_in_flow(), false);
        write_lead(node, setting, &mut new);
        setting.inline(tree, &mut new);
        self.replace_node(node, new);
    }

    /// Replaces a node. Its tag is removed, because it would change the meaning of the new text; its anchor is kept.
    fn replace_node(&mut self, node: NodeRef<'o>, mut new: Vec<u8>) {
        if node.lacks_colon() {
            self.ready_for_colon(node);
        }
        let mut range = node.range();
        if (node.kind() == Kind::Sequence || is_block(node)) && begins_line(self.outline, range.start) {
            // Dashes and block indicators may follow directly below their key, other things may not.
            new.insert(0, b' ');
        }
        if node.has_properties() && !self.outline.text[range.start - 1].is_ascii_whitespace() {
            new.insert(0, b' ');
        }
        if node.tag().is_some() {
            let from = node.start_with_properties();
            let mut kept = Vec::new();
            if let Some(anchor) = node.anchor() {
                kept.extend_from_slice(b"&");
                kept.extend_from_slice(anchor);
                kept.push(b' ');
            }
            kept.extend_from_slice(new.trim_ascii_start());
            (range.start, new) = (from, kept);
        }
        self.replace_text(range, new);
    }

    /// Ensures that a colon can be added to the key before a value.
    fn ready_for_colon(&mut self, value: NodeRef<'o>) {
        let Some(key) = value.before() else { return };
        let start = key.start_with_properties();
        if key.range().end == self.outline.text.len() {
            self.close(key);
        } else if (key.has_lines() || key.source().len() > LONGEST_KEY)
            && question_mark(self.outline.text, start) == start
        {
            // A long or multi-line key must be explicit.
            self.replace(start..start, "? ");
        }
    }

    /// Replaces a range that may be followed by a comment, which needs a space before it.
    fn replace_text(&mut self, range: Range<usize>, mut new: Vec<u8>) {
        if !range.is_empty() && self.outline.text[range.end..].starts_with(b"#") {
            new.push(b' ');
        }
        self.replace(range, new);
    }

    /// Sets `key` of a map to `tree`: replaces the existing value, or appends. An alias must be expanded before
    /// ([`super::expand_aliases`]).
    pub fn set(&mut self, mapping: NodeRef<'o>, key: &str, tree: &Node) {
        match mapping.entry(key) {
            Some(entry) => self.replace_tree(entry.value, tree),
            None => self.children(mapping).added.push((Some(key.to_owned()), tree.clone())),
        }
    }

    /// Appends an item to a list.
    pub fn push(&mut self, sequence: NodeRef<'o>, tree: &Node) {
        self.children(sequence).added.push((None, tree.clone()));
    }

    /// Removes all entries of a map for `key`, with the comments on the same lines.
    pub fn remove(&mut self, mapping: NodeRef<'o>, key: &str) {
        let removed: Vec<u32> =
            mapping.entries().filter(|entry| entry.key.names(key)).map(|entry| entry.key.index).collect();
        self.children(mapping).removed.extend(removed);
    }

    /// Removes an entry of a map.
    pub fn remove_entry(&mut self, mapping: NodeRef<'o>, entry: Entry<'o>) {
        self.children(mapping).removed.push(entry.key.index);
    }

    /// Removes an item of a list, with the comments on the same lines.
    pub fn remove_item(&mut self, sequence: NodeRef<'o>, item: NodeRef<'o>) {
        self.children(sequence).removed.push(item.index);
    }

    fn children(&mut self, collection: NodeRef<'o>) -> &mut Children {
        self.collections.entry(collection.target().index).or_default()
    }

    fn setting(&self, flow: bool, json: bool) -> RenderContext {
        RenderContext { flow, json, line_break: self.outline.line_break() }
    }

    /// Applies all edits.
    ///
    /// # Errors
    /// When two edits overlap.
    pub fn apply(self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(self.outline.text.len() + 256);
        self.apply_to(&mut out)?;
        Ok(out)
    }

    /// Like [`Edits::apply`], appending to `out`.
    ///
    /// # Errors
    /// Like [`Edits::apply`]. `out` then has some of the text.
    pub fn apply_to(self, out: &mut Vec<u8>) -> Result<(), Error> {
        let all = 0..self.outline.text.len();
        self.apply_in(all, out)
    }

    /// Like [`Edits::apply_to`], for a range of the text only. Edits elsewhere are not applied.
    ///
    /// # Errors
    /// As [`Edits::apply_to`].
    pub fn apply_in(mut self, piece: Range<usize>, out: &mut Vec<u8>) -> Result<(), Error> {
        // Inner collections first: what is added to them precedes what is added around them.
        for (index, children) in std::mem::take(&mut self.collections).into_iter().rev() {
            self.apply_children(self.outline.node_ref(index), children);
        }
        // Insertions at one offset keep their order, and precede a replacement there.
        self.changes.sort_by_key(|change| (change.range.start, change.range.end));
        let text = self.outline.text;
        let mut at = piece.start;
        let inside = |range: &Range<usize>| piece.start <= range.start && range.end <= piece.end;
        for Change { range, text: new } in self.changes.into_iter().filter(|change| inside(&change.range)) {
            if range.start < at {
                let line = self.outline.line(range.start);
                return Err(Error::new(format!("two changes to line {line} are about the same text")));
            }
            out.extend_from_slice(&text[at..range.start]);
            out.extend_from_slice(&new);
            at = range.end;
        }
        out.extend_from_slice(&text[at..piece.end]);
        Ok(())
    }

    /// Ensures that more text can follow a document that ends without a line break: after a block scalar, a line
    /// break would become part of it.
    pub fn terminate(&mut self, root: NodeRef<'o>) {
        if !self.outline.text.ends_with(b"\n") {
            self.close(root.last_inside());
        }
    }

    /// Rewrites a block scalar at the end of the text so that more can follow.
    fn close(&mut self, node: NodeRef<'o>) {
        let range = node.range();
        // A scalar that is replaced anyway needs no second change, which would overlap with the first.
        let changed = self
            .changes
            .iter()
            .any(|change| change.range.start <= range.start && range.start < change.range.end);
        if !changed && is_block(node) {
            let text = String::from_utf8_lossy(&node.text()).into_owned();
            self.replace_scalar(node, &text);
        }
    }

    /// Converts the changes of a collection's children to text changes.
    fn apply_children(&mut self, collection: NodeRef<'o>, children: Children) {
        let Children { removed, added } = children;
        if removed.is_empty() && added.is_empty() {
            return;
        }
        let all = listed(collection);
        let kept = |child: &Child| !removed.contains(&child.node);
        if !all.iter().any(kept) {
            return self.fill(collection, &added);
        }
        if collection.is_flow() {
            self.remove_in_flow(&all, kept);
            self.add_in_flow(collection, &all, kept, &added);
        } else {
            self.remove_in_block(&all, kept);
            self.add_in_block(collection, &all, kept, &added);
        }
    }

    /// Replaces all children of a collection, or adds the first ones.
    fn fill(&mut self, collection: NodeRef<'o>, added: &[(Option<String>, Node)]) {
        let mapping = collection.kind() == Kind::Mapping;
        let mut new = Vec::new();
        if collection.is_flow() || added.is_empty() {
            let inside = self.setting(true, is_json(collection));
            new.push(if mapping { b'{' } else { b'[' });
            inside.joined(added.iter().map(borrowed), &mut new);
            new.push(if mapping { b'}' } else { b']' });
        } else {
            let setting = self.setting(false, false);
            let indent = collection.indentation();
            for (number, (key, value)) in added.iter().map(borrowed).enumerate() {
                if number > 0 {
                    setting.new_line(indent, &mut new);
                }
                setting.child(key, value, indent, &mut new);
            }
        }
        if added.is_empty() {
            return self.replace_node(collection, new);
        }
        self.replace_text(collection.range(), new);
    }

    fn remove_in_flow(&mut self, all: &[Child], kept: impl Fn(&Child) -> bool) {
        let mut last_kept: Option<&Child> = None;
        let mut at = 0;
        while at < all.len() {
            if kept(&all[at]) {
                last_kept = Some(&all[at]);
                at += 1;
                continue;
            }
            let run = all[at..].iter().take_while(|child| !kept(child)).count();
            match (all.get(at + run), last_kept) {
                (Some(next), _) => self.replace(all[at].start..next.start, ""),
                // A colon needs a space after it.
                (None, Some(before)) => {
                    let rest = if before.empty { " " } else { "" };
                    self.replace(before.end..all[at + run - 1].end, rest);
                }
                (None, None) => {}
            }
            at += run;
        }
    }

    fn add_in_flow(
        &mut self,
        collection: NodeRef<'o>,
        all: &[Child],
        kept: impl Fn(&Child) -> bool,
        added: &[(Option<String>, Node)],
    ) {
        let Some(last) = all.iter().rfind(|child| kept(child)).filter(|_| !added.is_empty()) else { return };
        // Directly after a colon, a comma would be text.
        let mut new = if last.empty { b" , ".to_vec() } else { b", ".to_vec() };
        let inside = self.setting(true, is_json(collection));
        inside.joined(added.iter().map(borrowed), &mut new);
        if !matches!(collection.source(), [b'{' | b'[', ..]) {
            // A single pair in a flow list needs no braces; two do.
            let start = collection.range().start;
            self.replace(start..start, "{");
            new.push(b'}');
        }
        self.replace(last.end..last.end, new);
    }

    fn remove_in_block(&mut self, all: &[Child], kept: impl Fn(&Child) -> bool) {
        let outline = self.outline;
        let mut rest = all;
        let head = all.iter().take_while(|child| !kept(child)).count();
        if head > 0 && (outline.line_start(all[0].start) == 0 || !begins_line(outline, all[0].start)) {
            // The next child moves up, to the start of the text or behind the dash.
            self.replace(all[0].start..all[head].start, "");
            rest = &all[head..];
        }
        for child in rest.iter().filter(|child| !kept(child)) {
            let mut lines = outline.whole_lines(child.start..child.end);
            if let Some(scalar) = outline.node_ref(child.node).before().filter(|before| is_block(*before)) {
                // Otherwise the following lines would become part of the scalar before it.
                lines.end = lines_taken_in(scalar, lines.end);
            }
            self.replace(lines, "");
        }
    }

    fn add_in_block(
        &mut self,
        collection: NodeRef<'o>,
        all: &[Child],
        kept: impl Fn(&Child) -> bool,
        added: &[(Option<String>, Node)],
    ) {
        if added.is_empty() {
            return;
        }
        let Some(last) = all.iter().rfind(|child| kept(child)) else { return };
        let (setting, indent) = (self.setting(false, false), collection.indentation());
        let mut new = Vec::new();
        let end = self.outline.line_end(last.end);
        if end == self.outline.text.len() {
            self.close(last_scalar(collection, last));
        }
        for (key, value) in added.iter().map(borrowed) {
            setting.new_line(indent, &mut new);
            setting.child(key, value, indent, &mut new);
        }
        self.replace(end..end, new);
    }
}

fn borrowed((key, value): &(Option<String>, Node)) -> (Option<&[u8]>, &Node) {
    (key.as_ref().map(String::as_bytes), value)
}

/// The children of a collection.
fn listed(collection: NodeRef<'_>) -> Vec<Child> {
    let text = collection.outline.text;
    if collection.kind() == Kind::Mapping {
        let child = |entry: Entry<'_>| Child {
            node: entry.key.index,
            start: question_mark(text, entry.key.start_with_properties()),
            end: entry.value.range().end.max(entry.key.range().end),
            empty: entry.value.is_bare(),
        };
        return collection.entries().map(child).collect();
    }
    let flow = collection.is_flow();
    let child = |item: NodeRef<'_>| Child {
        node: item.index,
        start: if flow { item.start_with_properties() } else { item.lead() },
        end: item.range().end.max(if flow { 0 } else { item.lead() + 1 }),
        empty: item.last_inside().is_bare(),
    };
    collection.items().map(child).collect()
}

/// Whether only blanks precede a byte on its line.
fn begins_line(outline: &Outline<'_>, offset: usize) -> bool {
    outline.text[outline.line_start(offset)..offset].iter().all(|&byte| byte == b' ')
}

/// Whether it is a block scalar.
fn is_block(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), Kind::Scalar(Style::Literal | Style::Folded))
}

/// The end of the lines after `end` that a block scalar would absorb: blank ones, and comments indented at least as
/// far as its text.
fn lines_taken_in(scalar: NodeRef<'_>, mut end: usize) -> usize {
    let outline = scalar.outline;
    // An empty scalar takes its indentation from what follows.
    let indent = (outline.item(scalar.index).next as usize).max(1);
    loop {
        let start = outline.next_line(end);
        let next = outline.line_end(start);
        let line = &outline.text[start..next];
        let text = line.trim_ascii_start();
        let taken = text.is_empty() || (text.starts_with(b"#") && line.len() - text.len() >= indent);
        if start == outline.text.len() || !taken {
            return end;
        }
        end = next;
    }
}

/// The last written node of a child: the key, if it has no colon.
fn last_scalar<'o>(collection: NodeRef<'o>, child: &Child) -> NodeRef<'o> {
    let key = collection.outline.node_ref(child.node);
    let node =
        if collection.kind() == Kind::Mapping { collection.outline.node_ref(key.after()) } else { key };
    let last = node.last_inside();
    if last.lacks_colon() { last.before().unwrap_or(last) } else { last }
}

/// Whether a flow map has its keys in double quotes, as in JSON.
fn is_json(collection: NodeRef<'_>) -> bool {
    collection.is_flow()
        && collection.entries().next().is_some_and(|entry| entry.key.kind() == Kind::Scalar(Style::Double))
}

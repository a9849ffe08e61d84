//! The flat list of nodes, and the builder through which the fast reader fills it.

use super::Outline;
use crate::builder::Builder;

/// A node, in twenty bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) start: u32,
    pub(super) end: u32,
    /// For values and list items: the offset of the colon or dash before it.
    pub(super) lead: u32,
    /// For a collection, the index after all its children; for a block scalar, the indentation of its lines.
    pub(super) next: u32,
    pub(super) form: Form,
    /// Whether it is inside brackets.
    pub(super) in_flow: bool,
    /// Whether its bytes are its text, apart from quotes. If not, they may still be.
    pub(super) simple: bool,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Scalar,
    Mapping,
    Sequence,
    Alias,
}

/// Fills the list.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    items: Vec<Item>,
    roots: Vec<u32>,
    aliases: Vec<(u32, u32)>,
    properties: Vec<(u32, u32)>,
    /// The open collections.
    open: Vec<u32>,
    /// How many of them are in brackets.
    flow: usize,
    /// Where the document begins in the text.
    base: u32,
    lead: u32,
    /// What the fast reader reported for the next scalar or collection.
    next: (u32, u32, u32),
    simple: bool,
    /// Where the last thing recorded ends.
    last_end: u32,
    /// The lengths of the vectors before this document.
    marks: [usize; 3],
}

impl Recorder {
    /// A recorder with room for the nodes of a usual text of this length.
    pub(super) fn for_text(text: &[u8]) -> Self {
        // Manifests have about one node per twelve bytes; a guess that is too low costs a few reallocations.
        Recorder { items: Vec::with_capacity(text.len() / 12 + 8), ..Recorder::default() }
    }

    pub(super) fn begin_document(&mut self, base: usize) {
        self.base = base as u32;
        self.marks = [self.items.len(), self.aliases.len(), self.properties.len()];
        self.roots.push(self.items.len() as u32);
        self.begin();
    }

    fn begin(&mut self) {
        self.open.clear();
        self.flow = 0;
        self.lead = self.base;
        self.last_end = self.base;
    }

    /// Discards the current document.
    pub(super) fn forget_document(&mut self) {
        let [items, aliases, properties] = self.marks;
        self.items.truncate(items);
        self.aliases.truncate(aliases);
        self.properties.truncate(properties);
        self.begin();
    }

    pub(super) fn into_outline(self, text: &[u8]) -> Outline<'_> {
        let Recorder { items, roots, aliases, properties, .. } = self;
        Outline { text, items, roots, aliases, properties }
    }

    /// The index that the next node will have.
    pub(super) fn next_index(&self) -> u32 {
        self.items.len() as u32
    }

    /// Whether this document has no nodes so far.
    pub(super) fn is_empty_document(&self) -> bool {
        self.items.len() == self.marks[0]
    }

    /// Notes that the next node has an anchor or a tag, which begins at `start`.
    pub(super) fn property(&mut self, start: usize) {
        self.properties.push((self.next_index(), self.base + start as u32));
    }

    /// Adds an alias of the node at `target`.
    pub(super) fn alias(&mut self, start: usize, end: usize, target: u32) {
        self.aliases.push((self.next_index(), target));
        self.scalar_at(start, end, false);
        self.push(Form::Alias);
    }

    #[inline]
    fn push(&mut self, form: Form) {
        let (start, end, next) = self.next;
        self.last_end = end;
        let (lead, in_flow, simple) = (self.lead, self.flow > 0, self.simple);
        self.items.push(Item { start, end, lead, next, form, in_flow, simple });
    }

    #[inline]
    pub(super) fn scalar(&mut self) {
        self.push(Form::Scalar);
    }

    pub(super) fn begin_collection(&mut self, form: Form, flow: bool) {
        self.open.push(self.next_index());
        self.push(form);
        // Whatever is inside brackets is in flow style too, so everything that opens is counted.
        self.flow += usize::from(flow || self.flow > 0);
    }

    pub(super) fn end_collection(&mut self) {
        let index = self.open.pop().expect("only what is open is ended");
        let next = self.items.len() as u32;
        let end = self.last_end;
        let item = &mut self.items[index as usize];
        item.end = end.max(item.start);
        item.next = next;
        self.flow = self.flow.saturating_sub(1);
    }
}

impl Builder for Recorder {
    type Node = ();

    const KEEPS_SCALARS: bool = false;

    fn reset(&mut self) {
        self.forget_document();
    }

    fn nil(&mut self) {
        self.scalar();
    }

    fn bool(&mut self, _: bool) {
        self.scalar();
    }

    fn int(&mut self, _: i64) {
        self.scalar();
    }

    fn uint(&mut self, _: u64) {
        self.scalar();
    }

    fn float(&mut self, _: f64) {
        self.scalar();
    }

    #[inline]
    fn str(&mut self, _: &[u8]) {
        self.scalar();
    }

    fn begin_list(&mut self) {
        self.begin_collection(Form::Sequence, self.next.2 == 1);
    }

    fn end_list(&mut self) {
        self.end_collection();
    }

    fn begin_map(&mut self) {
        self.begin_collection(Form::Mapping, self.next.2 == 1);
    }

    #[inline]
    fn key(&mut self, _: &[u8]) {
        self.scalar();
    }

    fn end_map(&mut self) {
        self.end_collection();
    }

    fn finish(&mut self) {}

    #[inline]
    fn scalar_at(&mut self, start: usize, end: usize, simple: bool) {
        self.next = (self.base + start as u32, self.base + end as u32, 0);
        self.simple = simple;
    }

    fn block_at(&mut self, start: usize, end: usize, indent: usize) {
        self.scalar_at(start, end, false);
        self.next.2 = u32::try_from(indent).unwrap_or(0);
    }

    #[inline]
    fn begin_at(&mut self, start: usize, flow: bool) {
        let start = self.base + start as u32;
        self.next = (start, start, u32::from(flow));
        self.simple = false;
    }

    #[inline]
    fn end_at(&mut self, end: usize) {
        self.last_end = self.base + end as u32;
    }

    #[inline]
    fn lead_at(&mut self, at: usize) {
        self.lead = self.base + at as u32;
    }
}

//! A reference to one node of an outline: its kind, position and content.

use std::borrow::Cow;
use std::ops::Range;

use super::record::Form;
use super::{Outline, UNICODE_BREAKS, scalar};
use crate::builder::Assemble as _;
use crate::exact::Exact;
use crate::read::key_text;
use crate::resolve::{Meaning, Tagged, may_have_meaning};

/// A node of an outline.
#[derive(Clone, Copy)]
pub struct NodeRef<'o> {
    pub(super) outline: &'o Outline<'o>,
    pub(super) index: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scalar; an empty one if nothing is written.
    Scalar(Style),
    /// A map.
    Mapping,
    /// A list.
    Sequence,
    /// An alias `*name` of an earlier node.
    Alias,
}

/// The style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// As a block after `|`.
    Literal,
    /// As a block after `>`.
    Folded,
}

/// A key and its value, as written.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'o> {
    /// The key.
    pub key: NodeRef<'o>,
    /// The value.
    pub value: NodeRef<'o>,
}

impl Entry<'_> {
    /// Whether it is a merge key (`<<`).
    pub fn is_merge(&self) -> bool {
        // Hardly any document has anchors or tags, and this is called for each key.
        if self.key.outline.properties.is_empty() {
            return self.key.source() == b"<<";
        }
        match self.key.tag() {
            None => self.key.source() == b"<<",
            // go-yaml takes a quoted `<<` for a merge key only with the tag.
            Some(b"!" | b"!!merge" | b"!<tag:yaml.org,2002:merge>") => {
                self.key.kind() != Kind::Alias && self.key.text().as_ref() == b"<<"
            }
            Some(_) => false,
        }
    }
}

impl std::fmt::Debug for NodeRef<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let source = String::from_utf8_lossy(self.source());
        write!(formatter, "{:?} at {:?}: {source:?}", self.kind(), self.range())
    }
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && std::ptr::eq(self.outline, other.outline)
    }
}

impl Eq for NodeRef<'_> {}

impl<'o> NodeRef<'o> {
    fn at(self, index: u32) -> Self {
        NodeRef { index, ..self }
    }

    /// The outline.
    pub fn outline(self) -> &'o Outline<'o> {
        self.outline
    }

    /// What the node is.
    pub fn kind(self) -> Kind {
        match self.outline.item(self.index).form {
            Form::Scalar => Kind::Scalar(self.style()),
            Form::Mapping => Kind::Mapping,
            Form::Sequence => Kind::Sequence,
            Form::Alias => Kind::Alias,
        }
    }

    fn style(self) -> Style {
        match self.source().first() {
            Some(b'\'') => Style::Single,
            Some(b'"') => Style::Double,
            Some(b'|') => Style::Literal,
            Some(b'>') => Style::Folded,
            _ => Style::Plain,
        }
    }

    /// Whether it is a flow collection, or inside of one.
    pub fn is_flow(self) -> bool {
        let item = self.outline.item(self.index);
        item.in_flow || (item.form != Form::Scalar && matches!(self.source().first(), Some(b'[' | b'{')))
    }

    /// Whether it is inside a flow collection.
    pub fn is_in_flow(self) -> bool {
        self.outline.item(self.index).in_flow
    }

    /// Its byte range, without anchor and tag, and without the line break after it. Block collections go from their
    /// first key or dash to the end of their last value.
    pub fn range(self) -> Range<usize> {
        let item = self.outline.item(self.index);
        item.start as usize..item.end as usize
    }

    /// Those bytes.
    pub fn source(self) -> &'o [u8] {
        &self.outline.text[self.range()]
    }

    /// The line it begins on, counted from one.
    pub fn line(self) -> usize {
        self.outline.line(self.range().start)
    }

    /// The line on which its anchor or tag begins, or else it itself, counted from one.
    pub fn first_line(self) -> usize {
        self.outline.line(self.start_with_properties())
    }

    /// The column it begins at, in characters counted from one.
    pub fn column(self) -> usize {
        1 + self.indentation()
    }

    /// The indentation that entries or items of a block need to belong to it.
    pub fn indentation(self) -> usize {
        let start = self.range().start;
        let line = &self.outline.text[self.outline.line_start(start)..start];
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        // Characters: continuation bytes of UTF-8 do not count.
        line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
    }

    /// Where its anchor or tag begins, or else it itself.
    pub(super) fn start_with_properties(self) -> usize {
        let properties = &self.outline.properties;
        if properties.is_empty() {
            return self.range().start;
        }
        match properties.binary_search_by_key(&self.index, |&(index, _)| index) {
            Ok(found) => properties[found].1 as usize,
            Err(_) => self.range().start,
        }
    }

    /// Its anchor and its tag, as they are written.
    fn properties(self) -> impl Iterator<Item = &'o [u8]> {
        let mut rest = &self.outline.text[self.start_with_properties()..self.range().start];
        std::iter::from_fn(move || {
            // They are separated by white space; a `#` starts a comment.
            let start = rest.iter().position(|byte| matches!(byte, b'&' | b'!' | b'#'))?;
            if rest[start] == b'#' {
                return None;
            }
            rest = &rest[start..];
            let (word, after) = rest.split_at(word_end(rest));
            rest = after;
            Some(word)
        })
    }

    /// The name of its anchor.
    pub fn anchor(self) -> Option<&'o [u8]> {
        self.properties().find_map(|word| word.strip_prefix(b"&"))
    }

    /// Its tag, as it is written.
    pub fn tag(self) -> Option<&'o [u8]> {
        if self.outline.properties.is_empty() {
            return None;
        }
        self.properties().find(|word| word.starts_with(b"!"))
    }

    /// The target of an alias; any other node itself.
    pub fn target(self) -> Self {
        let aliases = &self.outline.aliases;
        if self.outline.item(self.index).form != Form::Alias {
            return self;
        }
        match aliases.binary_search_by_key(&self.index, |&(index, _)| index) {
            Ok(found) => self.at(aliases[found].1),
            Err(_) => self,
        }
    }

    /// Whether aliases elsewhere show this node too, because it or an ancestor has an anchor.
    pub fn is_shared(self) -> bool {
        let holds = |target: u32| target <= self.index && self.index < self.at(target).after();
        self.outline.aliases.iter().any(|&(_, target)| holds(target))
    }

    /// The index after this node and all its children.
    pub(super) fn after(self) -> u32 {
        let item = self.outline.item(self.index);
        match item.form {
            Form::Mapping | Form::Sequence => item.next,
            Form::Scalar | Form::Alias => self.index + 1,
        }
    }

    /// The offset of the dash before a list item, or of the colon before a value.
    pub(super) fn lead(self) -> usize {
        self.outline.item(self.index).lead as usize
    }

    /// The node that is written before this one.
    pub(super) fn before(self) -> Option<Self> {
        self.index.checked_sub(1).map(|index| self.at(index))
    }

    /// The containing collection. Searches all nodes before it, which is slow.
    pub(super) fn parent(self) -> Option<Self> {
        (0..self.index).rev().map(|index| self.at(index)).find(|node| node.after() > self.index)
    }

    /// Whether nothing is written except the colon, the anchor or the tag before it.
    pub(super) fn is_bare(self) -> bool {
        let range = self.range();
        range.is_empty() && (self.lead() + 1 == range.start || self.has_properties())
    }

    /// Whether it is the value of a key without a colon.
    pub(super) fn lacks_colon(self) -> bool {
        let range = self.range();
        range.is_empty() && !self.is_root() && self.lead() + 1 != range.start && !self.has_properties()
    }

    /// Whether it spans several lines.
    pub(super) fn has_lines(self) -> bool {
        self.outline.line_end(self.range().start) < self.range().end
    }

    pub(super) fn is_root(self) -> bool {
        self.outline.roots.binary_search(&self.index).is_ok()
    }

    /// The last node inside of this one, or itself.
    pub(super) fn last_inside(self) -> Self {
        self.at(self.after() - 1)
    }

    /// The entries of a map as written, including merge keys. Follows an alias. Empty for anything else.
    pub fn entries(self) -> impl Iterator<Item = Entry<'o>> {
        let mapping = self.target();
        let (mut next, end) = mapping.children(Form::Mapping);
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let key = mapping.at(next);
                let value = mapping.at(key.after());
                next = value.after();
                Entry { key, value }
            })
        })
    }

    /// The items of a list. Follows an alias. Empty for anything else.
    pub fn items(self) -> impl Iterator<Item = NodeRef<'o>> {
        let sequence = self.target();
        let (mut next, end) = sequence.children(Form::Sequence);
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let item = sequence.at(next);
                next = item.after();
                item
            })
        })
    }

    fn children(self, form: Form) -> (u32, u32) {
        if self.outline.item(self.index).form == form { (self.index + 1, self.after()) } else { (0, 0) }
    }

    /// The entry of a map for `key`; the last, if there are several. Merged maps are not searched.
    pub fn entry(self, key: &str) -> Option<Entry<'o>> {
        self.entries().filter(|entry| entry.key.names(key) && !entry.is_merge()).last()
    }

    /// The value of `key` in a map, as readers see it: written, or merged.
    pub fn get(self, key: &str) -> Option<Self> {
        let mut found = None;
        for entry in self.entries() {
            if entry.is_merge() {
                // go-yaml 2 merges where `<<` is written: what comes later wins, even a merged key over one
                // of the map itself.
                found = entry.value.merged(key).or(found);
            } else if entry.key.names(key) {
                found = Some(entry.value);
            }
        }
        found
    }

    /// What a merged map has for `key`; of several, the first that has it.
    fn merged(self, key: &str) -> Option<Self> {
        match self.kind() {
            // Of a list of maps the first wins, unlike with repeated keys.
            Kind::Sequence => self.items().find_map(|item| item.get(key)),
            _ => self.get(key),
        }
    }

    /// Whether a merged map has `key`.
    pub(super) fn has_merged(self, key: &str) -> bool {
        self.merged(key).is_some()
    }

    /// Whether this is the key `key`.
    pub(super) fn names(self, key: &str) -> bool {
        if let Some(text) = scalar::simple_text(self)
            && self.outline.properties.is_empty()
        {
            // Most keys are plain words, and their bytes can be compared directly. One that could be a number
            // or a boolean has to be read first.
            let means = self.source().first().is_some_and(|&first| may_have_meaning(first));
            if !means || self.source().len() != text.len() {
                return text == key.as_bytes();
            }
        }
        self.key().is_some_and(|text| *text == *key.as_bytes())
    }

    /// The text of a key as readers see it: numbers and booleans in their canonical spelling. Follows an alias.
    /// `None` for what cannot be a key.
    pub fn key(self) -> Option<Cow<'o, [u8]>> {
        let target = self.target();
        match scalar::meaning_of(target)? {
            Tagged::Bytes(bytes) => Some(Cow::Owned(Exact::text(&bytes).as_bytes().to_vec())),
            Tagged::Plain(Meaning::Text) => Some(scalar::text(target)),
            Tagged::Plain(other) => key_text(other).map(|text| Cow::Owned(text.into_bytes())),
        }
    }

    pub(super) fn has_properties(self) -> bool {
        self.start_with_properties() < self.range().start
    }

    /// The text of a scalar without quotes, escapes and folding. Follows an alias; empty for collections.
    pub fn text(self) -> Cow<'o, [u8]> {
        scalar::text(self.target())
    }

    /// The text of a scalar that is read as a string. Follows an alias.
    pub fn as_str(self) -> Option<Cow<'o, str>> {
        let target = self.target();
        match scalar::meaning_of(target)? {
            Tagged::Plain(Meaning::Text) => match scalar::text(target) {
                Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
                Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
            },
            _ => None,
        }
    }

    /// The value of a scalar, as [`crate::read_exact`] reads it. Follows an alias. `None` for collections, and for
    /// numbers that a tree cannot represent.
    pub fn value(self) -> Option<pintle_tree::Node> {
        scalar::value(self.target())
    }
}

/// Where a word ends: at a blank or at a line break of whatever kind.
fn word_end(text: &[u8]) -> usize {
    let ascii = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let breaks = UNICODE_BREAKS.iter().filter_map(|unicode| memchr::memmem::find(&text[..ascii], unicode));
    breaks.min().unwrap_or(ascii)
}

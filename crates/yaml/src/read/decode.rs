//! Decodes a document: resolves aliases, applies merge keys, and types scalars.
//!
//! Nothing here recurses on the input: documents may be nested ten thousand levels deep.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::{Document, Shape};
use super::key::{Key, key_text};
use super::spell::Spelling;
use crate::builder::Builder;
use crate::error::Error;
use crate::resolve::{Meaning, Tagged, meaning, meaning_for, tagged};

/// The maximum nesting of the result: that of Go's JSON decoder (`maxNestingDepth`), which Helm's values pass through.
const DEPTH: usize = 10_000;

/// The maximum text that aliases expand to.
const MAX_ALIASED_BYTES: usize = 64 << 20;

/// Why a document could not be decoded.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is not valid YAML, or cannot be converted to JSON.
    Yaml(Error),
    /// It has a number that JSON cannot represent. The builder has received everything nevertheless.
    Number,
    /// It nests deeper than Go reads JSON, at this bracket.
    Depth(char),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Yaml(error)
    }
}

/// Passes `document` to `builder`.
pub(super) fn decode<B: Builder>(document: &Document, builder: &mut B, strict: bool) -> Result<(), Failure> {
    let mut decoder = Decoder {
        budget: Budget::default(),
        document,
        builder,
        strict,
        stack: Vec::new(),
        depth: 0,
        following: BTreeSet::new(),
        keys: Vec::new(),
        duplicates: Vec::new(),
        unsupported_key: None,
        unsupported_number: false,
    };
    if document.items.is_empty() {
        decoder.builder.nil();
        return Ok(());
    }
    decoder.run()
}

/// Counts the work, and the share that comes from aliases, so that a few lines cannot expand into gigabytes (as
/// go-yaml's alias ratio).
#[derive(Debug, Default)]
pub(crate) struct Budget {
    nodes: usize,
    from_aliases: usize,
    alias_depth: usize,
    bytes_from_aliases: usize,
}

impl Budget {
    pub(crate) fn spend(&mut self) -> Result<(), Error> {
        self.nodes += 1;
        if self.alias_depth > 0 {
            self.from_aliases += 1;
        }
        let share = self.from_aliases as f64 / self.nodes as f64;
        // go-yaml's numbers, here and in `allowed_share`: small documents are not limited.
        if self.from_aliases > 100 && self.nodes > 1000 && share > allowed_share(self.nodes) {
            return Err(Error::new("yaml: document contains excessive aliasing"));
        }
        Ok(())
    }

    /// Counts the text of a scalar. Go shares the text of a long string between its aliases until it writes JSON, and
    /// then runs out of memory.
    pub(crate) fn spend_text(&mut self, bytes: usize) -> Result<(), Error> {
        if self.alias_depth > 0 {
            self.bytes_from_aliases += bytes;
            if self.bytes_from_aliases > MAX_ALIASED_BYTES {
                return Err(Error::new("yaml: document contains excessive aliasing"));
            }
        }
        Ok(())
    }

    pub(crate) fn enter_alias(&mut self) {
        self.alias_depth += 1;
    }

    pub(crate) fn leave_alias(&mut self) {
        self.alias_depth -= 1;
    }
}

/// The allowed share of nodes from aliases: nearly all in small documents, a tenth in very large ones.
fn allowed_share(nodes: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match nodes {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((nodes - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

/// A collection being read, to be continued after its child.
enum Frame {
    Sequence {
        next: usize,
        end: usize,
    },
    /// `own` is false for a map that is merged into the enclosing one.
    Mapping {
        next: usize,
        end: usize,
        own: bool,
    },
    Alias(usize),
    /// Maps still to be merged; the first of the document is last, because it takes precedence.
    Merges(Vec<usize>),
    /// A key of a strict map that takes effect once its value is read.
    Assign(Key, usize),
}

struct Decoder<'d, B> {
    document: &'d Document,
    builder: &'d mut B,
    strict: bool,
    budget: Budget,
    stack: Vec<Frame>,
    depth: usize,
    /// The aliases that are being followed.
    following: BTreeSet<usize>,
    /// The keys of the open maps, when strict.
    keys: Vec<BTreeSet<Key>>,
    duplicates: Vec<String>,
    unsupported_key: Option<(Key, usize)>,
    unsupported_number: bool,
}

impl<'d, B: Builder> Decoder<'d, B> {
    fn run(&mut self) -> Result<(), Failure> {
        self.budget.spend()?;
        self.value(0)?;
        while let Some(frame) = self.stack.pop() {
            self.proceed(frame)?;
        }
        // The order of the three errors is Go's: go-yaml finds duplicates, then sigs.k8s.io/yaml converts the
        // keys, and at last encoding/json refuses numbers.
        if !self.duplicates.is_empty() {
            let duplicates = self.duplicates.join("\n  ");
            return Err(Error::new(format!("yaml: unmarshal errors:\n  {duplicates}")).into());
        }
        if let Some((key, value)) = self.unsupported_key.take() {
            let value = Spelling::new(self.document, Budget::default(), self.strict).top(value)?;
            return Err(unsupported_key(&key, &value).into());
        }
        if self.unsupported_number {
            return Err(Failure::Number);
        }
        Ok(())
    }

    fn proceed(&mut self, frame: Frame) -> Result<(), Failure> {
        match frame {
            Frame::Sequence { next, end } if next == end => {
                self.depth -= 1;
                self.builder.end_list();
            }
            Frame::Sequence { next, end } => {
                self.stack.push(Frame::Sequence { next: self.document.after(next), end });
                self.value(next)?;
            }
            Frame::Mapping { next, end, own } if next == end => {
                if own {
                    self.depth -= 1;
                    self.keys.pop();
                    self.builder.end_map();
                }
            }
            Frame::Mapping { next, end, own } => {
                let value = self.document.after(next);
                self.stack.push(Frame::Mapping { next: self.document.after(value), end, own });
                if !self.document.is_merge(next) {
                    self.entry(next, value)?;
                // In version 3 the merges were done before the first entry; see `mapping`.
                } else if !B::VERSION_3 {
                    self.merge(value)?;
                }
            }
            Frame::Alias(index) => {
                self.following.remove(&index);
                self.budget.leave_alias();
            }
            Frame::Merges(mut left) => {
                if let Some(index) = left.pop() {
                    self.stack.push(Frame::Merges(left));
                    self.merge_one(index)?;
                }
            }
            Frame::Assign(key, line) => self.assign(key, line),
        }
        Ok(())
    }

    /// Resolves aliases.
    fn follow(&mut self, mut index: usize) -> Result<usize, Error> {
        self.budget.spend()?;
        while let Shape::Alias { name, target } = self.document.items[index].shape {
            if !self.following.insert(index) {
                let name = String::from_utf8_lossy(name.of(&self.document.pool)).into_owned();
                return Err(Error::new(format!("yaml: anchor '{name}' value contains itself")));
            }
            self.stack.push(Frame::Alias(index));
            self.budget.enter_alias();
            index = target;
            self.budget.spend()?;
        }
        Ok(index)
    }

    fn value(&mut self, index: usize) -> Result<(), Failure> {
        let index = self.follow(index)?;
        match self.document.items[index].shape {
            Shape::Scalar { .. } => self.scalar(index),
            Shape::Sequence { end } => {
                self.enter('[')?;
                self.builder.begin_list();
                self.stack.push(Frame::Sequence { next: index + 1, end });
                Ok(())
            }
            Shape::Mapping { end } => {
                self.enter('{')?;
                self.builder.begin_map();
                if self.strict {
                    self.keys.push(BTreeSet::new());
                }
                self.mapping(index, end, true)
            }
            Shape::Alias { .. } => unreachable!("aliases were followed"),
        }
    }

    /// Continues with the entries of a map. By the rules of go-yaml 3 what it merges comes first, so that its own keys
    /// win, and a key may occur only once.
    fn mapping(&mut self, index: usize, end: usize, own: bool) -> Result<(), Failure> {
        self.stack.push(Frame::Mapping { next: index + 1, end, own });
        if !B::VERSION_3 {
            return Ok(());
        }
        let document = self.document;
        let mut lines = BTreeMap::new();
        let mut merges = Vec::new();
        let mut next = index + 1;
        while next < end {
            let value = document.after(next);
            if let Shape::Scalar { text, .. } = document.items[next].shape {
                let (text, line) = (text.of(&document.pool), document.items[next].line + 1);
                if let Some(first) = lines.insert(text, line) {
                    let key = pintle_tree::quote::quote(text);
                    self.duplicates
                        .push(format!("line {line}: mapping key {key} already defined at line {first}"));
                }
            }
            if document.is_merge(next) {
                merges.push(value);
            }
            next = document.after(value);
        }
        // Pushed in reverse, because the stack is popped from its end.
        merges.into_iter().rev().try_for_each(|value| self.merge(value))
    }

    fn enter(&mut self, bracket: char) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Failure::Depth(bracket));
        }
        Ok(())
    }

    fn scalar(&mut self, index: usize) -> Result<(), Failure> {
        let (text, tagged) = self.typed(index)?;
        self.budget.spend_text(text.len())?;
        if matches!(self.document.items[index].shape, Shape::Scalar { tag: None, implicit: false, .. }) {
            self.builder.quoted();
        }
        self.builder.plain(text);
        match tagged {
            Tagged::Bytes(bytes) => self.builder.str(&bytes),
            Tagged::Plain(meaning) => match meaning {
                Meaning::Nil => self.builder.nil(),
                Meaning::Bool(value) => self.builder.bool(value),
                Meaning::Int(value) => self.builder.int(value),
                Meaning::Uint(value) => self.builder.uint(value),
                Meaning::Float(value) => {
                    self.unsupported_number |= !value.is_finite();
                    self.builder.float(value);
                }
                Meaning::Text => self.builder.str(if B::KEEPS_SCALARS { text } else { b"" }),
            },
        }
        Ok(())
    }

    /// The text of a scalar and what it means by the rules that the builder asks for.
    fn typed(&self, index: usize) -> Result<(&'d [u8], Tagged), Error> {
        let (text, tagged) = scalar_meaning(self.document, index)?;
        match (&tagged, &self.document.items[index].shape) {
            // An explicit `!!bool yes` is a boolean in both versions.
            (Tagged::Plain(Meaning::Bool(_)), Shape::Scalar { tag: None, .. }) => {
                Ok((text, Tagged::Plain(meaning_for::<B>(text))))
            }
            _ => Ok((text, tagged)),
        }
    }

    fn entry(&mut self, key: usize, value: usize) -> Result<(), Failure> {
        let before = self.stack.len();
        let index = self.follow(key)?;
        if !matches!(self.document.items[index].shape, Shape::Scalar { .. }) {
            let budget = std::mem::take(&mut self.budget);
            let spelled = Spelling::new(self.document, budget, self.strict).top(index)?;
            return Err(Error::new(format!("yaml: invalid map key: {spelled}")).into());
        }
        let (text, tagged) = self.typed(index)?;
        self.budget.spend_text(text.len())?;
        // The aliases of a key end with the key, before its value: their share of the budget must not include
        // the value.
        while self.stack.len() > before {
            let alias = self.stack.pop().expect("the aliases of the key are on the stack");
            self.proceed(alias)?;
        }
        let typed = match &tagged {
            Tagged::Bytes(bytes) => {
                self.builder.key(bytes);
                Key::Text(bytes.clone())
            }
            Tagged::Plain(Meaning::Text) => {
                self.builder.key(text);
                if !self.strict {
                    return self.value(value);
                }
                Key::Text(text.to_vec())
            }
            Tagged::Plain(meaning) => {
                let typed = Key::new(*meaning, text);
                match key_text(*meaning) {
                    Some(text) => self.builder.key(text.as_bytes()),
                    None => {
                        self.builder.key(b"");
                        self.unsupported_key.get_or_insert((typed.clone(), value));
                    }
                }
                typed
            }
        };
        if self.strict {
            // go-yaml checks for duplicates after it has decoded the value, and names the line of the value.
            self.stack.push(Frame::Assign(typed, self.document.items[value].line + 1));
        }
        self.value(value)
    }

    fn assign(&mut self, key: Key, line: usize) {
        let keys = self.keys.last_mut().expect("a strict key belongs to an open map");
        if keys.contains(&key) {
            let key = if matches!(key, Key::Nil) { "<nil>".to_owned() } else { key.spelled() };
            self.duplicates.push(format!("line {line}: key {key} already set in map"));
        } else {
            keys.insert(key);
        }
    }

    fn merge(&mut self, index: usize) -> Result<(), Failure> {
        if let Shape::Sequence { end } = self.document.items[index].shape {
            let mut items = Vec::new();
            let mut next = index + 1;
            while next < end {
                items.push(next);
                next = self.document.after(next);
            }
            self.stack.push(Frame::Merges(items));
            return Ok(());
        }
        self.merge_one(index)
    }

    fn merge_one(&mut self, index: usize) -> Result<(), Failure> {
        let items = &self.document.items;
        // One step is enough: an alias cannot refer to an alias.
        let target = match items[index].shape {
            Shape::Alias { target, .. } => target,
            _ => index,
        };
        let Shape::Mapping { end } = items[target].shape else {
            let text = "yaml: map merge requires map or sequence of maps as the value";
            return Err(Error::new(text).into());
        };
        let index = self.follow(index)?;
        self.mapping(index, end, false)
    }
}

fn unsupported_key(key: &Key, value: &str) -> Error {
    let (kind, key) = match key {
        Key::Uint(_) => ("uint64", key.spelled()),
        // The type of a nil key is nil, and Go prints it with `%s`.
        _ => ("%!s(<nil>)", "<nil>".to_owned()),
    };
    Error::new(format!("unsupported map key of type: {kind}, key: {key}, value: {value}"))
}

/// The text of a scalar and what it means.
pub(crate) fn scalar_meaning(document: &Document, index: usize) -> Result<(&[u8], Tagged), Error> {
    let Shape::Scalar { text, tag, implicit } = document.items[index].shape else {
        unreachable!("only scalars have a meaning");
    };
    let text = text.of(&document.pool);
    let meaning = match tag {
        Some(tag) => tagged(tag.of(&document.pool), text)?,
        None if implicit => Tagged::Plain(meaning(text)),
        None => Tagged::Plain(Meaning::Text),
    };
    Ok((text, meaning))
}

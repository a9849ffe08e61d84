//! Nodes in Go's `%#v` form, as errors about keys show them.

use std::collections::BTreeMap;

use super::compose::{Document, Shape};
use super::decode::{Budget, scalar_meaning};
use super::key::Key;
use crate::error::Error;
use crate::resolve::{Meaning, Tagged};

/// How deep nodes are spelled out. Deeper ones are omitted, because nobody reads an error that far.
const DEPTH: usize = 200;

/// Spells nodes of a document.
pub(super) struct Spelling<'d> {
    document: &'d Document,
    budget: Budget,
    following: Vec<usize>,
    /// Whether the first of equal keys counts, not the last.
    strict: bool,
}

impl<'d> Spelling<'d> {
    pub(super) fn new(document: &'d Document, budget: Budget, strict: bool) -> Self {
        Spelling { document, budget, following: Vec::new(), strict }
    }

    /// Spells a node by itself.
    pub(super) fn top(mut self, index: usize) -> Result<String, Error> {
        let text = self.node(index, 0)?;
        // `%#v` of a nil interface is `<nil>` on its own, and typed only inside of something.
        Ok(if text == "interface {}(nil)" { "<nil>".to_owned() } else { text })
    }

    fn node(&mut self, index: usize, depth: usize) -> Result<String, Error> {
        self.budget.spend()?;
        if depth > DEPTH {
            return Ok("...".to_owned());
        }
        match self.document.items[index].shape {
            Shape::Scalar { .. } => Ok(self.scalar(index)?.spelled()),
            Shape::Alias { target, .. } => {
                self.through_alias(index, |spelling| spelling.node(target, depth + 1))
            }
            Shape::Sequence { end } => {
                let mut items = Vec::new();
                let mut next = index + 1;
                while next < end {
                    items.push(self.node(next, depth + 1)?);
                    next = self.document.after(next);
                }
                Ok(format!("[]interface {{}}{{{}}}", items.join(", ")))
            }
            Shape::Mapping { .. } => {
                let mut entries = BTreeMap::new();
                self.entries(index, depth + 1, &mut entries)?;
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{}:{value}", key.spelled())).collect();
                Ok(format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", ")))
            }
        }
    }

    fn scalar(&self, index: usize) -> Result<Key, Error> {
        let (text, tagged) = scalar_meaning(self.document, index)?;
        Ok(match tagged {
            Tagged::Bytes(bytes) => Key::new(Meaning::Text, &bytes),
            Tagged::Plain(meaning) => Key::new(meaning, text),
        })
    }

    fn through_alias<T>(
        &mut self,
        index: usize,
        target: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Shape::Alias { name, .. } = self.document.items[index].shape
            && self.following.contains(&index)
        {
            let name = String::from_utf8_lossy(name.of(&self.document.pool));
            return Err(Error::new(format!("yaml: anchor '{name}' value contains itself")));
        }
        self.following.push(index);
        self.budget.enter_alias();
        let result = target(self);
        self.budget.leave_alias();
        self.following.pop();
        result
    }

    fn entries(
        &mut self,
        mapping: usize,
        depth: usize,
        entries: &mut BTreeMap<Key, String>,
    ) -> Result<(), Error> {
        let Shape::Mapping { end } = self.document.items[mapping].shape else { return Ok(()) };
        let mut next = mapping + 1;
        while next < end {
            let value = self.document.after(next);
            if self.document.is_merge(next) {
                self.merge(value, depth + 1, entries)?;
            } else {
                let key = self.key(next, depth)?;
                let value = self.node(value, depth)?;
                // A strict decoder reports a duplicate and does not assign it.
                if !self.strict || !entries.contains_key(&key) {
                    entries.insert(key, value);
                }
            }
            next = self.document.after(value);
        }
        Ok(())
    }

    fn key(&mut self, index: usize, depth: usize) -> Result<Key, Error> {
        match self.document.items[index].shape {
            Shape::Scalar { .. } => {
                self.budget.spend()?;
                self.scalar(index)
            }
            Shape::Alias { target, .. } if depth <= DEPTH => {
                self.budget.spend()?;
                self.through_alias(index, |spelling| spelling.key(target, depth + 1))
            }
            _ => {
                let spelled = self.node(index, depth)?;
                Err(Error::new(format!("yaml: invalid map key: {spelled}")))
            }
        }
    }

    fn merge(
        &mut self,
        index: usize,
        depth: usize,
        entries: &mut BTreeMap<Key, String>,
    ) -> Result<(), Error> {
        if depth > DEPTH {
            return Ok(());
        }
        let mut indices = vec![index];
        if let Shape::Sequence { end } = self.document.items[index].shape {
            indices.clear();
            let mut next = index + 1;
            while next < end {
                indices.push(next);
                next = self.document.after(next);
            }
        }
        // The first map of the list wins, so it is applied last.
        for index in indices.into_iter().rev() {
            self.budget.spend()?;
            match self.document.items[index].shape {
                Shape::Alias { target, .. } if self.is_mapping(target) => {
                    self.through_alias(index, |spelling| spelling.entries(target, depth + 1, entries))?;
                }
                Shape::Mapping { .. } => self.entries(index, depth + 1, entries)?,
                _ => {
                    return Err(Error::new("yaml: map merge requires map or sequence of maps as the value"));
                }
            }
        }
        Ok(())
    }

    fn is_mapping(&self, index: usize) -> bool {
        matches!(self.document.items[index].shape, Shape::Mapping { .. })
    }
}

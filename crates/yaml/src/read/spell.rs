//! Nodes in Go's `%#v` form, as errors about keys show them.

use std::collections::BTreeMap;

use super::compose::{Document, Shape};
use super::decode::{Budget, scalar_meaning};
use super::key::Key;
use crate::error::Error;
use crate::resolve::{Meaning, Tagged};

/// How deep nodes are spelled out. What is deeper is left out: nobody reads that far.
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
    pub(super) fn top(mut self, place: usize) -> Result<String, Error> {
        let text = self.node(place, 0)?;
        Ok(if text == "interface {}(nil)" { "<nil>".to_owned() } else { text })
    }

    fn node(&mut self, place: usize, depth: usize) -> Result<String, Error> {
        self.budget.spend()?;
        if depth > DEPTH {
            return Ok("...".to_owned());
        }
        match self.document.items[place].shape {
            Shape::Scalar { .. } => Ok(self.scalar(place)?.spelled()),
            Shape::Alias { target, .. } => {
                self.through_alias(place, |spelling| spelling.node(target, depth + 1))
            }
            Shape::Sequence { end } => {
                let mut items = Vec::new();
                let mut next = place + 1;
                while next < end {
                    items.push(self.node(next, depth + 1)?);
                    next = self.document.after(next);
                }
                Ok(format!("[]interface {{}}{{{}}}", items.join(", ")))
            }
            Shape::Mapping { .. } => {
                let mut entries = BTreeMap::new();
                self.entries(place, depth + 1, &mut entries)?;
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{}:{value}", key.spelled())).collect();
                Ok(format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", ")))
            }
        }
    }

    fn scalar(&self, place: usize) -> Result<Key, Error> {
        let (text, tagged) = scalar_meaning(self.document, place)?;
        Ok(match tagged {
            Tagged::Bytes(bytes) => Key::new(Meaning::Text, &bytes),
            Tagged::Plain(meaning) => Key::new(meaning, text),
        })
    }

    fn through_alias<T>(
        &mut self,
        place: usize,
        target: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Shape::Alias { name, .. } = self.document.items[place].shape
            && self.following.contains(&place)
        {
            let name = String::from_utf8_lossy(name.of(&self.document.pool));
            return Err(Error::new(format!("yaml: anchor '{name}' value contains itself")));
        }
        self.following.push(place);
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
                if !self.strict || !entries.contains_key(&key) {
                    entries.insert(key, value);
                }
            }
            next = self.document.after(value);
        }
        Ok(())
    }

    fn key(&mut self, place: usize, depth: usize) -> Result<Key, Error> {
        match self.document.items[place].shape {
            Shape::Scalar { .. } => {
                self.budget.spend()?;
                self.scalar(place)
            }
            Shape::Alias { target, .. } if depth <= DEPTH => {
                self.budget.spend()?;
                self.through_alias(place, |spelling| spelling.key(target, depth + 1))
            }
            _ => {
                let spelled = self.node(place, depth)?;
                Err(Error::new(format!("yaml: invalid map key: {spelled}")))
            }
        }
    }

    fn merge(
        &mut self,
        place: usize,
        depth: usize,
        entries: &mut BTreeMap<Key, String>,
    ) -> Result<(), Error> {
        if depth > DEPTH {
            return Ok(());
        }
        let mut places = vec![place];
        if let Shape::Sequence { end } = self.document.items[place].shape {
            places.clear();
            let mut next = place + 1;
            while next < end {
                places.push(next);
                next = self.document.after(next);
            }
        }
        for place in places.into_iter().rev() {
            self.budget.spend()?;
            match self.document.items[place].shape {
                Shape::Alias { target, .. } if self.is_mapping(target) => {
                    self.through_alias(place, |spelling| spelling.entries(target, depth + 1, entries))?;
                }
                Shape::Mapping { .. } => self.entries(place, depth + 1, entries)?,
                _ => {
                    return Err(Error::new("yaml: map merge requires map or sequence of maps as the value"));
                }
            }
        }
        Ok(())
    }

    fn is_mapping(&self, place: usize) -> bool {
        matches!(self.document.items[place].shape, Shape::Mapping { .. })
    }
}

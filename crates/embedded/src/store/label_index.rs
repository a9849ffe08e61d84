//! An index of objects by label, for selective queries over many objects.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use super::object::Object;

/// What is known about the result of a query, to narrow the search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IndexHint {
    /// Nothing: all objects are examined.
    #[default]
    Nothing,
    /// At most the object with this key.
    Key(Str),
    /// Objects with all of these labels.
    Labels(Vec<(Str, Str)>),
}

#[derive(Debug, Default)]
pub(super) struct LabelIndex(BTreeMap<(Str, Str), BTreeSet<Str>>);

impl LabelIndex {
    pub(super) fn add(&mut self, object: &Object) {
        for pair in &object.meta.labels {
            self.0.entry(pair.clone()).or_default().insert(object.key.clone());
        }
    }

    pub(super) fn remove(&mut self, object: &Object) {
        for pair in &object.meta.labels {
            if let Some(keys) = self.0.get_mut(pair) {
                keys.remove(&object.key);
                if keys.is_empty() {
                    self.0.remove(pair);
                }
            }
        }
    }

    /// The keys with a prefix that have the rarest of the labels; `None` without labels.
    pub(super) fn with_prefix<'a>(
        &'a self,
        prefix: &str,
        pairs: &[(Str, Str)],
    ) -> Option<Box<dyn Iterator<Item = &'a Str> + 'a>> {
        let mut rarest: Option<&BTreeSet<Str>> = None;
        for pair in pairs {
            // The labels must all match, so one that no object has ends the search.
            let Some(keys) = self.0.get(pair) else { return Some(Box::new(std::iter::empty())) };
            if rarest.is_none_or(|rarest| keys.len() < rarest.len()) {
                rarest = Some(keys);
            }
        }
        let prefix = Str::from(prefix);
        let keys = rarest?.range(prefix.clone()..);
        Some(Box::new(keys.take_while(move |key| key.starts_with(&prefix[..]))))
    }
}

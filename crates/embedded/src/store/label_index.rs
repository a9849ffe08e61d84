//! Which objects have which labels, so that a few of very many are found without looking at all.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use super::object::Object;

/// What is known beforehand about the objects that are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IndexHint {
    /// Nothing: all are looked at.
    #[default]
    Nothing,
    /// It is the one under this key.
    Key(Str),
    /// They have all of these labels.
    Labels(Vec<(Str, Str)>),
}

/// The keys of objects by their labels.
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

    /// The keys from `prefix` on that have the rarest of these labels; nothing without labels.
    pub(super) fn with_prefix<'a>(
        &'a self,
        prefix: &str,
        pairs: &[(Str, Str)],
    ) -> Option<Box<dyn Iterator<Item = &'a Str> + 'a>> {
        let mut rarest: Option<&BTreeSet<Str>> = None;
        for pair in pairs {
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

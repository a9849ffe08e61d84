//! Who looks for pods by their labels: services and budgets.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use super::network::{self, Labels};
use crate::store::{Object, ObjectMeta};

/// The kinds that do.
pub(super) const KINDS: [&str; 2] = ["services", "poddisruptionbudgets.policy"];

/// The labels that each of them looks for. They are filed under one of these, which every pod that is meant has, so
/// that not all of them are asked about every pod.
#[derive(Default)]
pub(super) struct SelectorIndex {
    selectors: BTreeMap<Str, Labels>,
    /// By namespace and the first label.
    by_label: BTreeMap<(Str, Str, Str), BTreeSet<Str>>,
}

fn namespace(key: &Str) -> Str {
    let mut segments = key.split(|byte| *byte == b'/');
    Str::from(segments.nth(1).unwrap_or_default())
}

fn index_key(key: &Str, labels: &Labels) -> Option<(Str, Str, Str)> {
    let (name, value) = labels.first()?;
    Some((namespace(key), name.clone(), value.clone()))
}

impl SelectorIndex {
    /// Takes note of an object of one of the kinds.
    pub(super) fn insert(&mut self, object: &Object) {
        self.remove(&object.key);
        let labels = network::selector(&object.node());
        if let Some(index_key) = index_key(&object.key, &labels) {
            self.by_label.entry(index_key).or_default().insert(object.key.clone());
            self.selectors.insert(object.key.clone(), labels);
        }
    }

    pub(super) fn remove(&mut self, key: &Str) {
        let Some(index_key) = self.selectors.remove(key).and_then(|labels| index_key(key, &labels)) else {
            return;
        };
        if let Some(keys) = self.by_label.get_mut(&index_key) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_label.remove(&index_key);
            }
        }
    }

    /// Those that mean this pod.
    pub(super) fn matching(&self, pod: &Str, meta: &ObjectMeta) -> Vec<Str> {
        let namespace = namespace(pod);
        let by_label = meta
            .labels
            .iter()
            .filter_map(|(name, value)| self.by_label.get(&(namespace.clone(), name.clone(), value.clone())));
        let selects =
            |key: &&Str| self.selectors.get(*key).is_some_and(|labels| network::selects(labels, meta));
        let mut found: Vec<Str> = by_label.flatten().filter(selects).cloned().collect();
        found.sort();
        found
    }
}

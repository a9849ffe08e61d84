//! An index of the objects that select pods by labels: Services and PodDisruptionBudgets.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use super::network::{self, Labels};
use crate::store::{Object, ObjectMeta};

/// The indexed kinds, as in the prefix of keys. They are reconciled when a selected pod changes.
pub(super) const KINDS: [&str; 2] = ["services", "poddisruptionbudgets.policy"];

/// Selectors, indexed by their first label. A pod that is selected must have this label, so only few selectors are
/// evaluated for a pod.
#[derive(Default)]
pub(super) struct SelectorIndex {
    selectors: BTreeMap<Str, Labels>,
    /// Keys by namespace and first label.
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

    /// The keys of the objects that select this pod.
    pub(super) fn matching(&self, pod: &Str, meta: &ObjectMeta) -> Vec<Str> {
        let namespace = namespace(pod);
        let by_label = meta
            .labels
            .iter()
            .filter_map(|(name, value)| self.by_label.get(&(namespace.clone(), name.clone(), value.clone())));
        let selects =
            |key: &&Str| self.selectors.get(*key).is_some_and(|labels| network::selects(labels, meta));
        let mut found: Vec<Str> = by_label.flatten().filter(selects).cloned().collect();
        // The order decides which one is reconciled first, and must not depend on the order of the pod's labels.
        found.sort();
        found
    }
}

//! Who looks for pods by their labels: services and budgets.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Str;

use super::network::{self, Labels};
use crate::store::{Head, Object};

/// The kinds that do.
pub(super) const KINDS: [&str; 2] = ["services", "poddisruptionbudgets.policy"];

/// The labels that each of them looks for. They are filed under one of these, which every pod that is meant has, so
/// that not all of them are asked about every pod.
#[derive(Default)]
pub(super) struct Selecting {
    wanted: BTreeMap<Str, Labels>,
    /// By namespace and the first label.
    files: BTreeMap<(Str, Str, Str), BTreeSet<Str>>,
}

fn namespace(key: &Str) -> Str {
    let mut words = key.split(|byte| *byte == b'/');
    Str::from(words.nth(1).unwrap_or_default())
}

fn file(key: &Str, labels: &Labels) -> Option<(Str, Str, Str)> {
    let (name, value) = labels.first()?;
    Some((namespace(key), name.clone(), value.clone()))
}

impl Selecting {
    /// Takes note of an object of one of the kinds.
    pub(super) fn note(&mut self, object: &Object) {
        self.forget(&object.key);
        let labels = network::selector(&object.node());
        if let Some(file) = file(&object.key, &labels) {
            self.files.entry(file).or_default().insert(object.key.clone());
            self.wanted.insert(object.key.clone(), labels);
        }
    }

    pub(super) fn forget(&mut self, key: &Str) {
        let Some(file) = self.wanted.remove(key).and_then(|labels| file(key, &labels)) else { return };
        if let Some(keys) = self.files.get_mut(&file) {
            keys.remove(key);
            if keys.is_empty() {
                self.files.remove(&file);
            }
        }
    }

    /// Those that mean this pod.
    pub(super) fn of(&self, pod: &Str, head: &Head) -> Vec<Str> {
        let namespace = namespace(pod);
        let files = head
            .labels
            .iter()
            .filter_map(|(name, value)| self.files.get(&(namespace.clone(), name.clone(), value.clone())));
        let means = |key: &&Str| self.wanted.get(*key).is_some_and(|labels| network::selects(labels, head));
        let mut found: Vec<Str> = files.flatten().filter(means).cloned().collect();
        found.sort();
        found
    }
}

//! A cache of release histories, for long-running processes that read the same releases repeatedly.
//!
//! To list the versions of one release, the server scans those of all releases in the namespace. Every change of a history
//! also changes the release: while the release and its newest version are unchanged, nothing has to be listed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pintle_objects::Object;
use pintle_release::Summary;

use crate::store::record::{self, PayloadRef};

/// How many releases are remembered.
const MAX_RELEASES: usize = 20_000;

/// Histories of releases, which stores share ([`NativeStore::with_histories`](super::NativeStore::with_histories)).
#[derive(Debug, Default)]
pub struct HistoryCache(Mutex<BTreeMap<Key, History>>);

/// The connection and its user, the namespace and the name of a release.
pub(super) type Key = (String, String, String);

/// A history, and the release that it belongs to.
#[derive(Clone, Debug, Default)]
struct History {
    /// The uid and the resource version of the release; empty when there was none.
    release: (String, String),
    /// The versions, oldest first.
    versions: Vec<(Summary, PayloadRef)>,
}

impl HistoryCache {
    /// Changes a cached history. It is evicted if `change` returns that it was not in the expected state.
    fn change(&self, key: &Key, change: impl FnOnce(&mut History) -> bool) {
        let mut histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if histories.get_mut(key).is_some_and(|history| !change(history)) {
            histories.remove(key);
        }
    }

    /// The cached versions of a release, if the release is unchanged.
    pub(super) fn get(&self, key: &Key, release: &Object) -> Option<Vec<(Summary, PayloadRef)>> {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = histories.get(key).filter(|history| history.release == state(release))?;
        Some(history.versions.clone())
    }

    /// Whether a release is cached with at least one version.
    pub(super) fn has_versions(&self, key: &Key) -> bool {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        histories.get(key).is_some_and(|history| !history.versions.is_empty())
    }

    /// Remembers the versions of a release; without a release there are none.
    pub(super) fn insert<'v>(
        &self,
        key: Key,
        release: Option<&Object>,
        versions: impl IntoIterator<Item = &'v Object>,
    ) {
        let mut histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if histories.len() >= MAX_RELEASES {
            histories.clear();
        }
        let versions = versions.into_iter().map(entry).collect();
        histories.insert(key, History { release: release.map(state).unwrap_or_default(), versions });
    }

    /// Replaces a cached version after it was written.
    pub(super) fn update_version(&self, key: &Key, version: &Object) {
        let changed = entry(version);
        self.change(key, |history| {
            let known = history.versions.iter_mut().find(|(known, _)| known.id == changed.0.id);
            known.map(|known| *known = changed).is_some()
        });
    }

    /// Notes that a release was created.
    pub(super) fn create_release(&self, key: &Key, release: &Object) {
        self.change(key, |history| {
            let was_missing = history.release == (String::new(), String::new());
            history.release = state(release);
            was_missing
        });
    }

    /// Notes that a release was pointed to a new version.
    pub(super) fn add_version(&self, key: &Key, before: &Object, after: &Object, version: &Object) {
        self.change(key, |history| {
            let is_next = history.release == state(before);
            history.release = state(after);
            history.versions.push(entry(version));
            is_next
        });
    }

    /// Notes a release after it was written. The history is evicted unless the release points to its newest version.
    pub(super) fn update_release(&self, key: &Key, release: &Object) {
        self.change(key, |history| {
            history.release = state(release);
            let newest = history.versions.last().and_then(|(newest, _)| newest.id);
            newest.is_some() && newest == record::pointer(release).map(|(id, _)| id)
        });
    }

    /// Notes that a version was deleted.
    pub(super) fn remove_version(&self, key: &Key, number: u64) {
        self.change(key, |history| {
            history.versions.retain(|(version, _)| version.number != number);
            true
        });
    }

    /// Evicts a release whose versions are not known any more.
    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

fn state(release: &Object) -> (String, String) {
    (release.uid().to_owned(), release.resource_version().to_owned())
}

fn entry(version: &Object) -> (Summary, PayloadRef) {
    (record::version_summary(version), record::payload_ref(version))
}

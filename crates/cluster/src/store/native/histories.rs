//! A cache of release histories, for long-running processes that read the same releases repeatedly.
//!
//! To list the versions of one release, the server scans those of all releases in the namespace. Every change of a history
//! also changes the release: while the release and its newest version are unchanged, nothing has to be listed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pintle_objects::Object;
use pintle_release::Summary;

use crate::cluster::Cluster;
use crate::store::content::KnownContents;
use crate::store::record::{self, PayloadRef};

/// How much all histories that are kept may take together, in bytes.
const MAX_BYTES: usize = 24 << 20;
/// What a history takes besides its versions, and a version besides its texts, in bytes.
const ENTRY_BYTES: usize = 400;

/// Histories of releases, which stores share ([`NativeStore::with_histories`](super::NativeStore::with_histories)).
#[derive(Debug, Default)]
pub struct HistoryCache(Mutex<Histories>, KnownContents);

#[derive(Debug, Default)]
struct Histories {
    known: BTreeMap<Key, History>,
    /// What they take together, in bytes.
    bytes: usize,
    /// The release that was dropped last. The next one in their order goes next, so that each stays equally long, whichever
    /// releases are read most: the one that is dropped is one list, and not one for every release.
    dropped: Option<Key>,
}

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

impl Histories {
    fn insert(&mut self, key: Key, history: History, limit: usize) {
        self.remove(&key);
        self.bytes += history.size(&key);
        self.known.insert(key, history);
        self.drop_excess(limit);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(history) = self.known.remove(key) {
            self.bytes = self.bytes.saturating_sub(history.size(key));
        }
    }

    /// Drops one history after the other until the rest is small enough.
    fn drop_excess(&mut self, limit: usize) {
        use std::ops::Bound::{Excluded, Unbounded};
        while self.bytes > limit && self.known.len() > 1 {
            let after = self.dropped.as_ref().and_then(|last| {
                self.known.range((Excluded(last), Unbounded)).next().map(|(key, _)| key.clone())
            });
            let Some(next) = after.or_else(|| self.known.keys().next().cloned()) else { return };
            self.remove(&next);
            self.dropped = Some(next);
        }
    }
}

impl History {
    fn size(&self, (cluster, namespace, name): &Key) -> usize {
        let version = |(summary, payload): &(Summary, PayloadRef)| {
            let labels: usize = summary.labels.iter().map(|(key, value)| key.len() + value.len() + 64).sum();
            let secrets: usize = payload.secrets.iter().map(|secret| secret.len() + 24).sum();
            let texts = [
                &summary.name,
                &summary.namespace,
                &summary.description,
                &summary.chart_name,
                &summary.chart_version,
                &summary.app_version,
                &payload.digest,
            ];
            ENTRY_BYTES + labels + secrets + texts.iter().map(|text| text.len()).sum::<usize>()
        };
        let key = cluster.len() + namespace.len() + name.len();
        ENTRY_BYTES + key + self.versions.iter().map(version).sum::<usize>()
    }
}

impl HistoryCache {
    /// The charts that were compared with what they should hold.
    pub(super) fn contents(&self) -> &KnownContents {
        &self.1
    }

    /// The resource version of a release, and names and resource versions of its versions' objects, oldest first, as they were last
    /// read or written here; `None` if they are not known, or there is no release. Whoever watches the objects can tell by
    /// them whether anything changed, without reading them.
    pub fn states(
        &self,
        cluster: &Cluster,
        namespace: &str,
        name: &str,
    ) -> Option<(String, Vec<(String, String)>)> {
        let key = (cluster.identity(), namespace.to_owned(), name.to_owned());
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = histories.known.get(&key).filter(|history| !history.release.1.is_empty())?;
        let version = |(version, _): &(Summary, PayloadRef)| {
            Some((record::version_name(name, version.id?), version.state.clone()))
        };
        let versions: Option<Vec<_>> = history.versions.iter().map(version).collect();
        Some((history.release.1.clone(), versions?))
    }

    /// Changes a cached history. It is evicted if `change` returns that it was not in the expected state.
    fn change(&self, key: &Key, change: impl FnOnce(&mut History) -> bool) {
        let mut histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut history) = histories.known.get(key).cloned() else { return };
        match change(&mut history) {
            true => histories.insert(key.clone(), history, MAX_BYTES),
            false => histories.remove(key),
        }
    }

    /// The cached versions of a release, if the release is unchanged.
    pub(super) fn get(&self, key: &Key, release: &Object) -> Option<Vec<(Summary, PayloadRef)>> {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = histories.known.get(key).filter(|history| history.release == state(release))?;
        Some(history.versions.clone())
    }

    /// Whether a release is cached with at least one version.
    pub(super) fn has_versions(&self, key: &Key) -> bool {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        histories.known.get(key).is_some_and(|history| !history.versions.is_empty())
    }

    /// Remembers the versions of a release; without a release there are none.
    pub(super) fn insert<'v>(
        &self,
        key: Key,
        release: Option<&Object>,
        versions: impl IntoIterator<Item = &'v Object>,
    ) {
        let mut histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = versions.into_iter().map(entry).collect();
        let history = History { release: release.map(state).unwrap_or_default(), versions };
        histories.insert(key, history, MAX_BYTES);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_dropped_one_at_a_time_and_in_turn() {
        let key = |name: &str| (String::new(), "apps".to_owned(), name.to_owned());
        let mut histories = Histories::default();
        let one = History::default().size(&key("a"));
        for name in ["a", "b", "c", "d"] {
            histories.insert(key(name), History::default(), one * 3);
        }
        let names = |histories: &Histories| -> String {
            histories.known.keys().map(|(_, _, name)| name.as_str()).collect()
        };
        assert_eq!(names(&histories), "bcd", "one makes room for one");
        histories.insert(key("a"), History::default(), one * 3);
        assert_eq!(names(&histories), "acd");
        assert_eq!(histories.bytes, one * 3);
        histories.remove(&key("c"));
        assert_eq!(histories.bytes, one * 2, "what is gone takes nothing");
    }
}

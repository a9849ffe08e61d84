//! The in-memory store: `HELM_DRIVER=memory`, and tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::helm::{TimestampLabel, labels};
use crate::store::{Query, Store, StoreError, StoreFuture, newest};
use crate::{Lease, ReleaseVersion, Summary, Timestamp};

/// The namespace of releases without one, as in Helm.
const DEFAULT_NAMESPACE: &str = "default";

/// Namespace, name and number.
type Key = (String, String, u64);

/// A version, its lease, and how often it was written.
#[derive(Debug)]
struct Entry {
    version: ReleaseVersion,
    lease: Option<Lease>,
    revision: u64,
}

impl Entry {
    fn summary(&self) -> Summary {
        Summary {
            lease: self.lease.clone(),
            state: self.revision.to_string(),
            ..Summary::from_version(&self.version)
        }
    }

    fn write(&mut self, version: &ReleaseVersion, lease: Option<&Lease>) {
        // The version may come without a namespace; the stored one has the default.
        let namespace = std::mem::take(&mut self.version.namespace);
        self.version = ReleaseVersion { namespace, ..version.clone() };
        self.lease = lease.cloned();
        self.revision += 1;
    }
}

/// Stores releases in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    versions: Mutex<BTreeMap<Key, Entry>>,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    /// Adds the releases of a YAML list, the format of `HELM_MEMORY_DRIVER_DATA` files.
    ///
    /// # Errors
    /// Text that is not such a list, and versions that exist already.
    pub fn add_data(&self, text: &[u8]) -> Result<(), StoreError> {
        let list = crate::helm::decode_list(text)
            .map_err(|source| StoreError::Unreadable { key: "memory driver data".into(), source })?;
        for version in list {
            self.add(&version, None, None)?;
        }
        Ok(())
    }

    /// Changes are made under the lock and do not panic halfway, so a poisoned map is still consistent.
    fn versions(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let key = key(&version.namespace, &version.name, version.number);
        let mut versions = self.versions();
        after.map_or(Ok(()), |seen| check_unmodified(&versions, seen))?;
        if versions.contains_key(&key) {
            return Err(StoreError::Exists { name: key.1, number: key.2 });
        }
        let mut version = version.clone();
        version.namespace.clone_from(&key.0);
        versions.insert(key, Entry { version, lease: lease.cloned(), revision: 1 });
        Ok(())
    }

    fn matching(&self, query: &Query) -> Vec<Summary> {
        let versions = self.versions();
        let here = |namespace: &str| query.namespace.as_ref().is_none_or(|expected| expected == namespace);
        let named = |name: &str| query.name.as_ref().is_none_or(|expected| expected == name);
        let found = versions.iter().filter(|((namespace, name, _), _)| here(namespace) && named(name));
        found.map(|(_, entry)| entry.summary()).collect()
    }

    fn selected(&self, query: &Query, summary: &Summary) -> Result<bool, StoreError> {
        let selector = query.selector()?;
        let versions = self.versions();
        let key = key(&summary.namespace, &summary.name, summary.number);
        let labels =
            versions.get(&key).map(|entry| labels(&entry.version, TimestampLabel::Created(Timestamp::ZERO)));
        Ok(labels.is_some_and(|labels| selector.matches(&labels)))
    }

    fn change<T>(
        &self,
        key: Key,
        change: impl FnOnce(&mut Entry) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.versions().get_mut(&key) {
            Some(entry) => change(entry),
            None => Err(StoreError::NotFound { name: key.1, number: key.2 }),
        }
    }
}

/// Checks that a version is unmodified, and the newest of its release.
fn check_unmodified(versions: &BTreeMap<Key, Entry>, seen: &Summary) -> Result<(), StoreError> {
    let own = key(&seen.namespace, &seen.name, seen.number);
    let later = key(&seen.namespace, &seen.name, seen.number.saturating_add(1));
    // Keys sort by number last, so that all later versions of the release are one range.
    let newest = key(&seen.namespace, &seen.name, u64::MAX);
    let entry = versions.get(&own).map(Entry::summary);
    let is_newest = versions.range(later..=newest).next().is_none();
    if is_newest && entry.as_ref().is_some_and(|entry| entry.state == seen.state) {
        return Ok(());
    }
    Err(modified(&own.1, own.2, entry))
}

/// The error for a version that another writer has changed, with what it is now.
fn modified(name: &str, number: u64, now: Option<Summary>) -> StoreError {
    StoreError::Modified {
        name: name.to_owned(),
        number,
        status: now.as_ref().map(|now| now.status),
        holder: now.and_then(|now| now.lease).map(|lease| lease.holder),
    }
}

fn key(namespace: &str, name: &str, number: u64) -> Key {
    let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace };
    (namespace.to_owned(), name.to_owned(), number)
}

fn ready<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for MemoryStore {
    fn driver(&self) -> &'static str {
        "Memory"
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()> {
        ready(self.add(version, lease, after))
    }

    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()> {
        let key = key(&version.namespace, &version.name, version.number);
        ready(self.change(key, |entry| {
            if held.is_some_and(|held| !entry.lease.as_ref().is_some_and(|lease| lease.is_same(held))) {
                return Err(modified(&version.name, version.number, Some(entry.summary())));
            }
            entry.write(version, lease);
            Ok(())
        }))
    }

    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String> {
        let mut versions = self.versions();
        if let Err(error) = check_unmodified(&versions, seen) {
            return ready(Err(error));
        }
        let entry = versions.get_mut(&key(&seen.namespace, &seen.name, seen.number));
        ready(Ok(entry.map_or_else(String::new, |entry| {
            entry.write(version, lease);
            entry.summary().state
        })))
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()> {
        ready(self.change(key(namespace, name, number), |entry| match &entry.lease {
            Some(held) if held.holder == lease.holder => {
                // Not a new revision: a heartbeat must not make the holder's own swap fail.
                entry.lease = Some(lease.clone());
                Ok(())
            }
            other => Err(StoreError::Conflict {
                name: name.to_owned(),
                number,
                winner: None,
                holder: other.as_ref().map(|other| other.holder.clone()),
            }),
        }))
    }

    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        let mut versions = self.versions();
        if let Err(error) = check_unmodified(&versions, seen) {
            return ready(Err(error));
        }
        let entry = versions.get_mut(&key(&seen.namespace, &seen.name, seen.number));
        ready(Ok(entry.map_or_else(String::new, |entry| {
            entry.lease = lease.cloned();
            entry.summary().state
        })))
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        ready(Ok(self.versions().get(&key(namespace, name, number)).map(|entry| entry.version.clone())))
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>> {
        ready(Ok(self.matching(&Query::for_release(&key(namespace, name, 0).0, name))))
    }

    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        let mut kept = Vec::new();
        for summary in self.matching(query) {
            match self.selected(query, &summary) {
                Ok(true) if query.matches_status(summary.status) => kept.push(summary),
                Ok(_) => {}
                Err(error) => return ready(Err(error)),
            }
        }
        ready(Ok(kept))
    }

    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        if let Err(error) = query.selector() {
            return ready(Err(error));
        }
        let selected = |summary: &Summary| self.selected(query, summary).unwrap_or(false);
        ready(Ok(newest(self.matching(query), query, selected)))
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        let gone = self.versions().remove(&key(namespace, name, number));
        ready(gone.map(|_| ()).ok_or_else(|| StoreError::NotFound { name: name.to_owned(), number }))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::Status;

    /// Futures of this store are ready at once.
    fn block_on<T>(answer: StoreFuture<'_, T>) -> Result<T, StoreError> {
        answer.now_or_never().expect("is there at once")
    }

    fn version(name: &str, number: u64, status: Status) -> ReleaseVersion {
        let mut version =
            ReleaseVersion { name: name.into(), namespace: "ns".into(), number, ..ReleaseVersion::default() };
        version.info.status = status;
        version
    }

    #[test]
    fn a_number_is_given_once() {
        let store = MemoryStore::new();
        let first = version("web", 1, Status::Deployed);
        block_on(store.create(&first, None, None)).expect("is new");
        assert!(matches!(
            block_on(store.create(&first, None, None)),
            Err(StoreError::Exists { number: 1, .. })
        ));
        block_on(store.delete("ns", "web", 1)).expect("is there");
        assert!(matches!(block_on(store.update(&first, None, None)), Err(StoreError::NotFound { .. })));
    }

    #[test]
    fn history_is_oldest_first_and_latest_is_filtered_last() {
        let store = MemoryStore::new();
        for (number, status) in [(10, Status::Failed), (2, Status::Superseded), (9, Status::Deployed)] {
            block_on(store.create(&version("web", number, status), None, None)).expect("is new");
        }
        let numbers: Vec<u64> = block_on(store.history("ns", "web"))
            .expect("fine")
            .iter()
            .map(|version| version.number)
            .collect();
        assert_eq!(numbers, [2, 9, 10]);
        let mut query = Query { statuses: Some(vec![Status::Deployed]), ..Query::default() };
        assert!(block_on(store.latest(&query)).expect("fine").is_empty());
        query.selector = "version=9,owner".into();
        assert_eq!(block_on(store.list(&query)).expect("fine")[0].number, 9);
    }

    #[test]
    fn only_the_holder_renews() {
        let store = MemoryStore::new();
        let mine = Lease::new("me", Timestamp::from_unix(1, 0), 30);
        block_on(store.create(&version("web", 1, Status::PendingInstall), Some(&mine), None))
            .expect("is new");
        let later = mine.renewed_at(Timestamp::from_unix(20, 0));
        block_on(store.renew("ns", "web", 1, &later)).expect("it is mine");
        assert_eq!(block_on(store.history("ns", "web")).expect("fine")[0].lease, Some(later));
        let other = Lease::new("you", Timestamp::from_unix(1, 0), 30);
        assert!(matches!(block_on(store.renew("ns", "web", 1, &other)), Err(StoreError::Conflict { .. })));
    }

    #[test]
    fn of_following_a_version_and_swapping_it_only_one_succeeds() {
        let store = MemoryStore::new();
        let mut first = version("web", 1, Status::Deployed);
        block_on(store.create(&first, None, None)).expect("is new");
        let mut seen = block_on(store.history("ns", "web")).expect("fine").remove(0);
        let stale = seen.clone();
        first.info.status = Status::Uninstalling;
        seen.state = block_on(store.compare_and_swap(&seen, &first, None)).expect("is as it was seen");
        let second = version("web", 2, Status::PendingUpgrade);
        let late = block_on(store.create(&second, None, Some(&stale)));
        assert!(matches!(late, Err(StoreError::Modified { status: Some(Status::Uninstalling), .. })));
        block_on(store.create(&second, None, Some(&seen))).expect("follows what is there");
        assert!(matches!(
            block_on(store.compare_and_swap(&seen, &first, None)),
            Err(StoreError::Modified { .. })
        ));
    }

    #[test]
    fn data_files_fill_the_store() {
        let store = MemoryStore::new();
        store.add_data(b"- {name: web, version: 1, info: {status: deployed}}\n").expect("good data");
        assert!(block_on(store.get("default", "web", 1)).expect("fine").is_some());
        assert!(store.add_data(b"name: web\n").is_err());
    }
}

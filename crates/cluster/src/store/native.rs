//! Releases as custom resources: a `Release` points to its current `ReleaseVersion`, whose payload is in Secrets.
//!
//! A new version is written completely before the release points to it. The pointer is moved with an optimistic lock
//! (`resourceVersion`), so of two concurrent writers one wins, and the other deletes what it wrote.

mod create;
mod forget;
mod histories;
mod import;
mod update;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_objects::Object;
use pintle_release::{
    Lease, ObjectOwner, Query, ReleaseVersion, Status, Store, StoreChanges, StoreError, StoreFuture, Summary,
    VersionId, newest,
};
use pintle_tree::Node;

use self::update::Dependents;
use super::record::{self, PayloadRef};
use super::{api, application, changes, payload};
use crate::cluster::Cluster;
use crate::crds;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::ListParams;

pub use histories::HistoryCache;

/// How often moving the pointer is retried when others change the release without moving it.
const MAX_RETRIES: usize = 20;

/// Namespace, release and number.
type Key = (String, String, u64);

/// Stores releases as custom resources.
#[derive(Debug)]
pub struct NativeStore {
    cluster: Cluster,
    /// The ids and payload references of versions seen so far.
    version_refs: Mutex<BTreeMap<Key, (VersionId, PayloadRef)>>,
    /// Releases as last read, by namespace and name; `None` where there was none. A stale entry is harmless:
    /// replacing it is a conflict, and it is read again.
    releases: Mutex<BTreeMap<(String, String), Option<Object>>>,
    /// Versions as last listed by a history, which save the get that usually follows.
    listed: Mutex<BTreeMap<Key, Object>>,
    /// Versions to which no release points, as last listed by a history, by namespace and name of the release.
    orphans: Mutex<BTreeMap<(String, String), Vec<Object>>>,
    /// The history cache that stores of this process share.
    histories: Option<Arc<HistoryCache>>,
}

impl NativeStore {
    /// Returns a store in this cluster. The CRDs are installed when the first release is created.
    pub fn new(cluster: Cluster) -> Self {
        NativeStore {
            cluster,
            version_refs: Mutex::default(),
            releases: Mutex::default(),
            listed: Mutex::default(),
            orphans: Mutex::default(),
            histories: None,
        }
    }

    /// Lists the versions of a release only if the release changed since they were cached, or is not cached. This is for
    /// processes with many releases: without the cache, release and versions are read concurrently, which is faster for one.
    #[must_use]
    pub fn with_histories(self, histories: Arc<HistoryCache>) -> Self {
        NativeStore { histories: Some(histories), ..self }
    }

    /// The shared history cache, if there is one, with the key of a release.
    fn shared(&self, namespace: &str, name: &str) -> Option<(&HistoryCache, histories::Key)> {
        let histories = self.histories.as_deref()?;
        Some((histories, (self.cluster.identity(), namespace.to_owned(), name.to_owned())))
    }

    /// Caches a version after it was written.
    fn note_version(&self, version: &Object) {
        self.cache_version(version);
        if let Some((histories, key)) = self.shared(version.namespace(), version.text(&["spec", "release"])) {
            histories.update_version(&key, version);
        }
    }

    fn forget_history(&self, namespace: &str, name: &str) {
        if let Some((histories, key)) = self.shared(namespace, name) {
            histories.forget(&key);
        }
    }

    fn cache_version(&self, object: &Object) {
        let summary = record::version_summary(object);
        if let Some(id) = summary.id {
            let key = (summary.namespace, summary.name, summary.number);
            let mut known = self.version_refs.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, (id, record::payload_ref(object)));
        }
    }

    fn cached_version(&self, namespace: &str, name: &str, number: u64) -> Option<(VersionId, PayloadRef)> {
        let known = self.version_refs.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(namespace.to_owned(), name.to_owned(), number)).cloned()
    }

    fn evict_version(&self, namespace: &str, name: &str, number: u64) {
        let key = (namespace.to_owned(), name.to_owned(), number);
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        self.version_refs.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// Takes a listed version out of the cache.
    fn take_listed(&self, namespace: &str, name: &str, number: u64) -> Option<Object> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.remove(&(namespace.to_owned(), name.to_owned(), number))
    }

    fn cache_listed(&self, parts: &[(Summary, Object)]) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        for (summary, object) in parts {
            let key = (summary.namespace.clone(), summary.name.clone(), summary.number);
            listed.insert(key, object.clone());
        }
    }

    fn cache_orphans(&self, namespace: &str, name: &str, orphans: Vec<Object>) {
        let key = (namespace.to_owned(), name.to_owned());
        self.orphans.lock().unwrap_or_else(PoisonError::into_inner).insert(key, orphans);
    }

    fn cache_release(&self, namespace: &str, name: &str, release: Option<&Object>) {
        let mut seen = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((namespace.to_owned(), name.to_owned()), release.cloned());
    }

    /// Takes a release out of the cache.
    fn take_cached_release(&self, namespace: &str, name: &str) -> Option<Option<Object>> {
        let mut seen = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(&(namespace.to_owned(), name.to_owned()))
    }

    /// The cached release, if there is one.
    fn cached_release(&self, namespace: &str, name: &str) -> Option<Object> {
        let seen = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&(namespace.to_owned(), name.to_owned())).cloned().flatten()
    }

    /// Whether the release is known to point to a later version. A pointer only moves back when versions are deleted,
    /// and that updates the cache.
    fn is_behind_pointer(&self, namespace: &str, name: &str, number: u64) -> bool {
        let release = self.cached_release(namespace, name);
        release.as_ref().and_then(record::pointer).is_some_and(|(_, current)| current > number)
    }

    async fn release(&self, namespace: &str, name: &str) -> Result<Option<Object>> {
        self.cluster.get_by_name(&crds::releases(), namespace, name).await
    }

    /// The `ReleaseVersion` objects, whether or not a release ever pointed to them.
    async fn versions(&self, namespace: &str, selector: String) -> Result<Vec<Object>> {
        let selection = ListParams { labels: selector, ..ListParams::default() };
        empty_if_missing_kind(self.cluster.list(&crds::release_versions(), namespace, &selection).await)
    }

    /// The versions of a release, or those with the given numbers, by number.
    async fn list_versions(
        &self,
        namespace: &str,
        name: &str,
        numbers: &[u64],
    ) -> Result<Vec<(Summary, Object)>> {
        let release = async { empty_if_missing_kind(self.release(namespace, name).await) };
        let versions = self.versions(namespace, record::selector(name, numbers));
        // Two requests are no snapshot: a version may be newer or older than the pointer that was read beside it.
        let (release, versions) = futures::try_join!(release, versions)?;
        self.cache_release(namespace, name, release.as_ref());
        self.of_release(namespace, name, numbers, release.as_ref(), versions).await
    }

    /// Those of the listed versions that belong to a release, by number.
    async fn of_release(
        &self,
        namespace: &str,
        name: &str,
        numbers: &[u64],
        release: Option<&Object>,
        mut versions_there: Vec<Object>,
    ) -> Result<Vec<(Summary, Object)>> {
        let pointer = release.and_then(record::pointer);
        // Uninstalling marks the version before the release. A version that was read before that is out of date.
        let knows = |version: &Object| {
            let summary = record::version_summary(version);
            summary.status == Status::Uninstalling
                || Some(summary.number) != pointer.map(|(_, number)| number)
        };
        if release.is_some_and(record::is_uninstalling) && !versions_there.iter().all(knows) {
            versions_there = self.versions(namespace, record::selector(name, numbers)).await?;
        }
        let summed = versions_there.into_iter().map(|object| (record::version_summary(&object), object));
        let (mut parts, mut orphans): (Vec<_>, Vec<_>) =
            summed.partition(|(summary, _)| record::belongs_to_release(summary, pointer));
        separate_duplicates(&mut parts, &mut orphans);
        if let Some(release) = release {
            separate_leftovers(&mut parts, &mut orphans, release);
        }
        if numbers.is_empty() {
            self.cache_orphans(namespace, name, orphans.into_iter().map(|(_, object)| object).collect());
        }
        parts.sort_by_key(|(summary, _)| summary.number);
        for (_, object) in &parts {
            self.cache_version(object);
        }
        Ok(parts)
    }

    /// All versions of a release, oldest first.
    async fn read_history(&self, namespace: &str, name: &str) -> Result<Vec<Summary>> {
        let summaries =
            |parts: Vec<(Summary, Object)>| parts.into_iter().map(|(summary, _)| summary).collect();
        let Some((histories, key)) = self.shared(namespace, name) else {
            let parts = self.list_versions(namespace, name, &[]).await?;
            self.cache_listed(&parts);
            return Ok(summaries(parts));
        };
        let release = empty_if_missing_kind(self.release(namespace, name).await)?;
        self.cache_release(namespace, name, release.as_ref());
        let Some(release) = release else {
            // The garbage collector deletes versions whose release is gone, but those of a release that was just deleted
            // may still exist.
            let orphans = match histories.has_versions(&key) {
                true => self.versions(namespace, record::selector(name, &[])).await?,
                false => Vec::new(),
            };
            // As long as there are some, they are listed again.
            if orphans.is_empty() {
                histories.insert(key, None, []);
            }
            self.cache_orphans(namespace, name, orphans);
            return Ok(Vec::new());
        };
        if let Some(known) = histories.get(&key, &release)
            && self.is_newest_unchanged(&known).await?
        {
            return Ok(known.into_iter().map(|(summary, _)| summary).collect());
        }
        let versions = self.versions(namespace, record::selector(name, &[])).await?;
        let parts = self.of_release(namespace, name, &[], Some(&release), versions).await?;
        histories.insert(key, Some(&release), parts.iter().map(|(_, object)| object));
        self.cache_listed(&parts);
        Ok(summaries(parts))
    }

    /// Whether the newest version of a known history is as it was; if so, the history counts as listed.
    async fn is_newest_unchanged(&self, known: &[(Summary, PayloadRef)]) -> Result<bool> {
        let Some((newest, _)) = known.last() else { return Ok(false) };
        let Some(id) = newest.id else { return Ok(false) };
        let (namespace, name) = (newest.namespace.as_str(), newest.name.as_str());
        let object_name = record::version_name(name, id);
        let found = self.cluster.get_by_name(&crds::release_versions(), namespace, &object_name).await?;
        let Some(object) = found.filter(|found| found.resource_version() == newest.state) else {
            return Ok(false);
        };
        let mut refs = self.version_refs.lock().unwrap_or_else(PoisonError::into_inner);
        for (summary, payload) in known {
            let key = (namespace.to_owned(), name.to_owned(), summary.number);
            refs.extend(summary.id.map(|id| (key, (id, payload.clone()))));
        }
        drop(refs);
        self.cache_orphans(namespace, name, Vec::new());
        self.cache_listed(&[(newest.clone(), object)]);
        Ok(true)
    }

    /// The `ReleaseVersion` with a number.
    async fn version(&self, namespace: &str, name: &str, number: u64) -> Result<Option<Object>> {
        if let Some((id, _)) = self.cached_version(namespace, name, number) {
            let name = record::version_name(name, id);
            return self.cluster.get_by_name(&crds::release_versions(), namespace, &name).await;
        }
        Ok(self.list_versions(namespace, name, &[number]).await?.pop().map(|(_, object)| object))
    }

    /// The object name of a version.
    async fn version_name(&self, namespace: &str, name: &str, number: u64) -> Result<Option<String>> {
        if let Some((id, _)) = self.cached_version(namespace, name, number) {
            return Ok(Some(record::version_name(name, id)));
        }
        Ok(self.version(namespace, name, number).await?.map(|object| object.name().to_owned()))
    }

    async fn read_version(
        &self,
        namespace: &str,
        name: &str,
        number: u64,
    ) -> Result<Option<ReleaseVersion>, StoreError> {
        let failed = || api::backend_error(format!("get: failed to get version {number} of {name:?}"));
        let listed = self.take_listed(namespace, name, number);
        let was_listed = listed.is_some();
        let object = match listed {
            Some(object) => Some(object),
            None => empty_if_missing_kind(self.version(namespace, name, number).await).map_err(failed())?,
        };
        let Some(object) = object else { return Ok(None) };
        let note = record::payload_ref(&object);
        let read = match payload::read(&self.cluster, namespace, &note).await {
            // Since it was listed, its payload may have been replaced or deleted.
            // `take_listed` has removed the entry, so this recurses once at most.
            Err(_) if was_listed => return Box::pin(self.read_version(namespace, name, number)).await,
            read => read.map_err(failed())?,
        };
        let mut version =
            read.map_err(|source| StoreError::Unreadable { key: object.name().to_owned(), source })?;
        record::fill_from_object(&mut version, &object);
        Ok(Some(version))
    }

    /// The current versions of releases. While an operation is under way the version itself is read, because it is
    /// written before its release, and the writer may have been killed in between.
    async fn current(&self, query: &Query) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let releases = match &query.name {
            Some(name) if !namespace.is_empty() && query.selector.is_empty() => {
                empty_if_missing_kind(self.release(namespace, name).await)?.into_iter().collect()
            }
            _ => {
                let fields =
                    query.name.as_ref().map(|name| format!("metadata.name={name}")).unwrap_or_default();
                let selection =
                    ListParams { labels: query.selector.clone(), fields, ..ListParams::default() };
                empty_if_missing_kind(self.cluster.list(&crds::releases(), namespace, &selection).await)?
            }
        };
        let mut found: Vec<Summary> = releases.iter().filter_map(record::release_summary).collect();
        let is_unsettled =
            |summary: &Summary| summary.status.is_pending() || summary.status == Status::Uninstalling;
        let mut unsettled = Vec::new();
        found.retain(|summary| {
            let keep = !is_unsettled(summary);
            if !keep {
                unsettled.push((summary.namespace.clone(), summary.name.clone()));
            }
            keep
        });
        for (namespace, name) in unsettled {
            found.extend(self.list_versions(&namespace, &name, &[]).await?.pop().map(|(summary, _)| summary));
        }
        Ok(found)
    }

    /// Every version that matches a query.
    async fn matching(&self, query: &Query) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let name = query.name.as_ref().map(|name| format!("name={name}"));
        let parts = name.into_iter().chain(Some(query.selector.clone()).filter(|text| !text.is_empty()));
        let selector = parts.collect::<Vec<_>>().join(",");
        let (everything, releases) = (ListParams::default(), crds::releases());
        let releases =
            async { empty_if_missing_kind(self.cluster.list(&releases, namespace, &everything).await) };
        let (releases, versions) = futures::try_join!(releases, self.versions(namespace, selector))?;
        let releases: BTreeMap<_, _> =
            releases.iter().map(|release| ((release.namespace(), release.name()), release)).collect();
        let mut found: BTreeMap<_, Vec<(Summary, Object)>> = BTreeMap::new();
        for object in versions {
            let version = record::version_summary(&object);
            let release = releases.get(&(version.namespace.as_str(), version.name.as_str()));
            let pointer = release.and_then(|release| record::pointer(release));
            if query.matches_status(version.status) && record::belongs_to_release(&version, pointer) {
                let key = (version.namespace.clone(), version.name.clone());
                found.entry(key).or_default().push((version, object));
            }
        }
        for ((namespace, name), versions) in &mut found {
            if let Some(release) = releases.get(&(namespace.as_str(), name.as_str())) {
                separate_leftovers(versions, &mut Vec::new(), release);
            }
        }
        let mut found: Vec<Summary> = found.into_values().flatten().map(|(version, _)| version).collect();
        found.sort_by(|a, b| (&a.namespace, &a.name, a.number).cmp(&(&b.namespace, &b.name, b.number)));
        Ok(found)
    }
}

/// Moves pending versions with the number of another version to the orphans. Their writers were killed before the release
/// pointed to them. A version that does belong to a release is not pending once there is a later one.
fn separate_duplicates(parts: &mut Vec<(Summary, Object)>, orphans: &mut Vec<(Summary, Object)>) {
    let is_duplicate = |(one, _): &(Summary, Object)| {
        let is_other =
            |(other, _): &(Summary, Object)| other.number == one.number && !other.status.is_pending();
        one.status.is_pending() && parts.iter().any(is_other)
    };
    let duplicates: Vec<usize> =
        (0..parts.len()).rev().filter(|index| is_duplicate(&parts[*index])).collect();
    orphans.extend(duplicates.into_iter().map(|index| parts.swap_remove(index)));
}

/// Moves versions of an earlier release of that name to the orphans, if a version of this one has the same number. Versions without
/// an owner may also come from a backup, so that those whose number no other has stay.
fn separate_leftovers(
    parts: &mut Vec<(Summary, Object)>,
    orphans: &mut Vec<(Summary, Object)>,
    release: &Object,
) {
    let is_leftover = |(one, object): &(Summary, Object)| {
        let is_other = |(other, theirs): &(Summary, Object)| {
            other.number == one.number && record::is_owned_by(theirs, release)
        };
        !record::is_owned_by(object, release) && parts.iter().any(is_other)
    };
    let leftovers: Vec<usize> = (0..parts.len()).rev().filter(|index| is_leftover(&parts[*index])).collect();
    orphans.extend(leftovers.into_iter().map(|index| parts.swap_remove(index)));
}

/// Whether the server does not serve the kind, rather than not having the object.
fn is_missing_kind(error: &Error) -> bool {
    // The status of a missing object names it; that of a missing kind does not.
    let names_something = error.status().is_some_and(|status| !status.name.is_empty());
    error.is_not_found() && !names_something
}

/// Without the CRDs there are no releases.
fn empty_if_missing_kind<T: Default>(result: Result<T>) -> Result<T> {
    match result {
        Err(error) if is_missing_kind(&error) => Ok(T::default()),
        other => other,
    }
}

impl Store for NativeStore {
    fn driver(&self) -> &'static str {
        "native"
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.add(version, lease, after))
    }

    fn import<'a>(&'a self, versions: &'a [ReleaseVersion]) -> StoreFuture<'a, ()> {
        Box::pin(self.import_versions(versions))
    }

    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(NativeStore::update(self, version, lease, held))
    }

    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String> {
        Box::pin(NativeStore::compare_and_swap(self, seen, version, lease))
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let failed = || api::backend_error("update: failed to update");
            let not_found = || StoreError::NotFound { name: name.to_owned(), number };
            let object_name = self.version_name(namespace, name, number).await.map_err(failed())?;
            let object_name = object_name.ok_or_else(not_found)?;
            let steps = vec![
                api::json_patch_op("test", "/status/lease/holderIdentity", lease.holder.as_str()),
                api::json_patch_op("replace", "/status/lease", Node::Map(record::lease_node(lease))),
            ];
            let at = (namespace, object_name.as_str());
            match api::json_patch(&self.cluster, &crds::release_versions(), at, steps).await {
                Ok(Some(renewed)) => {
                    self.note_version(&renewed);
                    Ok(())
                }
                Ok(None) => {
                    Err(StoreError::Conflict { name: name.to_owned(), number, winner: None, holder: None })
                }
                Err(error) if error.is_not_found() => Err(not_found()),
                Err(error) => Err(failed()(error)),
            }
        })
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        Box::pin(self.read_version(namespace, name, number))
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let history = self.read_history(namespace, name).await;
            history.map_err(api::backend_error("query: failed to query with labels"))
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            query.selector()?;
            let found = self.matching(query).await;
            found.map_err(api::backend_error("list: failed to list"))
        })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            query.selector()?;
            let found = self.current(query).await.map_err(api::backend_error("list: failed to list"))?;
            Ok(newest(found, query, |_| true))
        })
    }

    fn watch(&self, namespace: Option<&str>) -> Option<StoreChanges> {
        let follow = |resource: Resource, release: fn(&Object) -> Option<&str>| {
            changes::follow(self.cluster.clone(), resource, namespace, String::new(), release)
        };
        let releases = follow(crds::releases(), |release| Some(release.name()));
        let versions = follow(crds::release_versions(), |version| version.label("name"));
        Some(changes::join(releases, versions))
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        Box::pin(self.delete_version(namespace, name, number, Dependents::Delete))
    }

    fn delete_and_orphan<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.delete_version(namespace, name, number, Dependents::Orphan))
    }

    fn forget<'a>(&'a self, namespace: &'a str, name: &'a str, numbers: &'a [u64]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let forgotten = self.forget_release(namespace, name, numbers).await;
            forgotten.map_err(api::backend_error(format!("delete: failed to delete the records of {name:?}")))
        })
    }

    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        Box::pin(self.set_lease(seen, lease))
    }

    fn owner<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Option<ObjectOwner>> {
        Box::pin(async move {
            let release = match self.cached_release(namespace, name) {
                Some(release) => Some(release),
                None => {
                    let failed = api::backend_error(format!("get: failed to get {name:?}"));
                    empty_if_missing_kind(self.release(namespace, name).await).map_err(failed)?
                }
            };
            Ok(release.map(|release| ObjectOwner {
                reference: record::owner_reference(&release),
                labels: application::object_labels(&release),
            }))
        })
    }
}

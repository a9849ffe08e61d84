//! The records of a release as the operations for one request see them: kept in another namespace than the objects, if the
//! request says so, and not read twice in a row.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::release::{Lease, ObjectOwner, Query, ReleaseVersion, Store, StoreFuture, Summary};
use tokio::time::Instant;

use crate::helm_releases::HelmLookup;

/// The label of a record with the namespace of the release, where that is another one.
const TARGET_NAMESPACE: &str = "helm.sh/target-namespace";
/// How long a history that was read is valid for the next read. Writers compare and swap, so a stale history makes them fail
/// and never overwrite.
const MAX_AGE: Duration = Duration::from_secs(2);

/// A store of the records of one release.
pub(crate) struct RequestStore {
    store: Arc<dyn Store>,
    /// The namespace of the records.
    storage: String,
    /// The namespace of the release, which operations see.
    target: String,
    /// The history that was read last, for the operation that is started because of it.
    recent: Mutex<Option<(Instant, Vec<Summary>)>>,
    /// Saves reads of releases that do not exist, if the store is Helm's.
    lookup: Option<HelmLookup>,
}

impl RequestStore {
    pub(crate) fn new(store: Arc<dyn Store>, storage: &str, target: &str) -> RequestStore {
        let (storage, target) = (storage.to_owned(), target.to_owned());
        RequestStore { store, storage, target, recent: Mutex::default(), lookup: None }
    }

    /// Reads a history of Helm's store only if the namespace may have a release of that name.
    pub(crate) fn with_lookup(self, lookup: HelmLookup) -> RequestStore {
        RequestStore { lookup: Some(lookup), ..self }
    }

    fn is_elsewhere(&self) -> bool {
        self.storage != self.target
    }

    fn stored<'v>(&self, version: &'v ReleaseVersion) -> Cow<'v, ReleaseVersion> {
        if !self.is_elsewhere() {
            return Cow::Borrowed(version);
        }
        let mut version = ReleaseVersion { namespace: self.storage.clone(), ..version.clone() };
        version.labels.insert(TARGET_NAMESPACE.to_owned(), self.target.clone());
        Cow::Owned(version)
    }

    fn stored_summary(&self, summary: &Summary) -> Summary {
        Summary { namespace: self.storage.clone(), ..summary.clone() }
    }

    fn read(&self, mut summaries: Vec<Summary>) -> Vec<Summary> {
        for summary in &mut summaries {
            summary.namespace.clone_from(&self.target);
        }
        summaries
    }

    fn query(&self, query: &Query) -> Query {
        Query { namespace: Some(self.storage.clone()), ..query.clone() }
    }

    fn take_recent(&self) -> Option<Vec<Summary>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner).take();
        recent.filter(|(at, _)| at.elapsed() < MAX_AGE).map(|(_, history)| history)
    }

    /// The store, for a write, which makes the cached history stale.
    fn to_write(&self) -> &dyn Store {
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.store.as_ref()
    }
}

impl Store for RequestStore {
    fn driver(&self) -> &'static str {
        self.store.driver()
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let after = after.map(|after| self.stored_summary(after));
            self.to_write().create(&self.stored(version), lease, after.as_ref()).await
        })
    }

    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.to_write().update(&self.stored(version), lease, held).await })
    }

    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String> {
        Box::pin(async move {
            self.to_write().compare_and_swap(&self.stored_summary(seen), &self.stored(version), lease).await
        })
    }

    fn renew<'a>(&'a self, _: &'a str, name: &'a str, number: u64, lease: &'a Lease) -> StoreFuture<'a, ()> {
        self.to_write().renew(&self.storage, name, number, lease)
    }

    fn get<'a>(&'a self, _: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, Option<ReleaseVersion>> {
        Box::pin(async move {
            let found = self.store.get(&self.storage, name, number).await?;
            Ok(found.map(|version| ReleaseVersion { namespace: self.target.clone(), ..version }))
        })
    }

    fn history<'a>(&'a self, _: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            if let Some(recent) = self.take_recent() {
                return Ok(recent);
            }
            if let Some(lookup) = &self.lookup
                && lookup.has_none(&self.storage, name).await
            {
                return Ok(Vec::new());
            }
            let history = self.read(self.store.history(&self.storage, name).await?);
            let recent = (Instant::now(), history.clone());
            *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Some(recent);
            Ok(history)
        })
    }

    fn has_records<'a>(&'a self, _: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        self.store.has_records(&self.storage, name)
    }

    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move { Ok(self.read(self.store.list(&self.query(query)).await?)) })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move { Ok(self.read(self.store.latest(&self.query(query)).await?)) })
    }

    fn delete<'a>(&'a self, _: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        self.to_write().delete(&self.storage, name, number)
    }

    fn delete_and_orphan<'a>(&'a self, _: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        self.to_write().delete_and_orphan(&self.storage, name, number)
    }

    fn import<'a>(&'a self, versions: &'a [ReleaseVersion]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let stored: Vec<ReleaseVersion> =
                versions.iter().map(|version| self.stored(version).into_owned()).collect();
            self.to_write().import(&stored).await
        })
    }

    fn forget<'a>(&'a self, _: &'a str, name: &'a str, numbers: &'a [u64]) -> StoreFuture<'a, ()> {
        self.to_write().forget(&self.storage, name, numbers)
    }

    fn leave_marker<'a>(&'a self, last: &'a Summary, to: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.to_write().leave_marker(&self.stored_summary(last), to).await })
    }

    fn remove_marker<'a>(&'a self, _: &'a str, name: &'a str) -> StoreFuture<'a, ()> {
        self.to_write().remove_marker(&self.storage, name)
    }

    fn moved_to(&self, _: &str, name: &str) -> Option<String> {
        self.store.moved_to(&self.storage, name)
    }

    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        Box::pin(async move { self.to_write().set_lease(&self.stored_summary(seen), lease).await })
    }

    fn owner<'a>(&'a self, _: &'a str, name: &'a str) -> StoreFuture<'a, Option<ObjectOwner>> {
        // An owner reference across namespaces would make the garbage collector delete the objects.
        match self.is_elsewhere() {
            true => Box::pin(std::future::ready(Ok(None))),
            false => self.store.owner(&self.storage, name),
        }
    }
}

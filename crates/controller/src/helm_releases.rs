//! A cache of the names of Helm's releases in each namespace, shared by many requests.
//!
//! Before a release is installed or upgraded, Helm's store is checked for one of the same name. Each check makes the API server
//! scan all Secrets of the namespace, which is too much for a thousand requests that are created at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::cluster::{Cluster, ListParams};
use tokio::time::Instant;

use crate::recent::Recent;
use crate::request::ArchiveKind;
use crate::values;

/// Lookups in a namespace that are no further apart share one list; a single lookup is left to the store.
const CLOSE: Duration = Duration::from_secs(1);
/// How long a list is valid. One from before the request became due is never used, so that a release that was installed with
/// Helm just before its request was created is found and taken over.
const MAX_AGE: Duration = Duration::from_secs(10);
/// How many records are listed. In namespaces with more of them, each name is looked up in the store.
const MAX_RECORDS: u32 = 500;
/// How many namespaces are remembered.
const MAX_NAMESPACES: usize = 4096;

/// The names of Helm's releases by cluster, user and namespace; users may have different rights.
pub(crate) struct HelmReleases(Mutex<Recent<Arc<tokio::sync::Mutex<Namespace>>>>);

impl Default for HelmReleases {
    fn default() -> HelmReleases {
        HelmReleases(Mutex::new(Recent::new(MAX_NAMESPACES)))
    }
}

#[derive(Default)]
struct Namespace {
    asked: Option<Instant>,
    /// When the last read began, and the names; `None` if not all could be read.
    read: Option<(Instant, Option<BTreeSet<String>>)>,
}

/// Lookups for one request.
#[derive(Clone)]
pub(crate) struct HelmLookup {
    pub(crate) releases: Arc<HelmReleases>,
    /// The cluster, with the rights of the request.
    pub(crate) cluster: Cluster,
    /// The user that has these rights, for the cache key.
    pub(crate) user: String,
    /// Since when the request is due.
    pub(crate) due: Instant,
}

impl HelmLookup {
    /// Whether a namespace is known to have no release of that name. Otherwise the store has to be read.
    pub(crate) async fn has_none(&self, namespace: &str, name: &str) -> bool {
        self.has_none_at(Instant::now(), namespace, name).await
    }

    async fn has_none_at(&self, now: Instant, namespace: &str, name: &str) -> bool {
        let entry = self.releases.entry(format!("{} {} {namespace}", self.cluster.identity(), self.user));
        let mut entry = entry.lock().await;
        let is_alone =
            entry.asked.replace(now).is_none_or(|asked| now.saturating_duration_since(asked) > CLOSE);
        let is_good = |began: Instant| began >= self.due && now.saturating_duration_since(began) < MAX_AGE;
        if entry.read.as_ref().is_none_or(|(began, _)| !is_good(*began)) {
            if is_alone {
                return false;
            }
            entry.read = Some((now, self.names(namespace).await));
        }
        let names = entry.read.as_ref().and_then(|(_, names)| names.as_ref());
        names.is_some_and(|names| !names.contains(name))
    }

    /// The names of Helm's releases; `None` if there are too many, or on an error, which the store then reports.
    async fn names(&self, namespace: &str) -> Option<BTreeSet<String>> {
        let params = ListParams {
            labels: "owner=helm".to_owned(),
            limit: MAX_RECORDS,
            metadata_only: true,
            ..ListParams::default()
        };
        let resource = values::resource(ArchiveKind::Secret);
        let page = self.cluster.page(&resource, namespace, &params, "").await.ok()?;
        let names = page.objects.iter().filter_map(|object| object.label("name")).map(str::to_owned);
        page.next.is_empty().then(|| names.collect())
    }
}

impl HelmReleases {
    fn entry(&self, key: String) -> Arc<tokio::sync::Mutex<Namespace>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(&key) {
            return Arc::clone(entry);
        }
        let entry = Arc::<tokio::sync::Mutex<Namespace>>::default();
        entries.insert(key, Arc::clone(&entry), 1);
        entry
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A cluster whose namespaces have one release of Helm's, `web`, and the number of its requests.
    fn cluster() -> (Cluster, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let body = r#"{"kind":"List","items":[{"metadata":{"name":"sh.helm.release.v1.web.v1","labels":{"name":"web","owner":"helm"}}}]}"#;
        let answer = move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(http::Response::new(kube::client::Body::from(body.as_bytes().to_vec())))
        };
        (Cluster::from_service_fn(answer, "apps"), count)
    }

    #[tokio::test]
    async fn requests_that_are_due_together_share_one_read() {
        let (cluster, count) = cluster();
        let due = Instant::now();
        let at = |milliseconds: u64| due + Duration::from_millis(milliseconds);
        let lookup = HelmLookup { releases: Arc::default(), cluster, user: String::new(), due };
        assert!(!lookup.has_none_at(at(0), "apps", "one").await, "a single question is answered by name");
        assert_eq!(count.load(Ordering::Relaxed), 0);
        for (moment, name) in [(10, "two"), (20, "three"), (5_000, "four")] {
            assert!(lookup.has_none_at(at(moment), "apps", name).await, "{name}");
        }
        assert!(!lookup.has_none_at(at(5_010), "apps", "web").await, "there is one of that name");
        assert_eq!(count.load(Ordering::Relaxed), 1);
        // A release may have been installed with Helm just before this request was created.
        let later = HelmLookup { due: at(5_020), ..lookup.clone() };
        assert!(later.has_none_at(at(5_030), "apps", "five").await);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert!(!lookup.has_none_at(at(60_000), "apps", "six").await, "an old answer is none");
        let other = HelmLookup { user: "other".to_owned(), ..lookup };
        assert!(!other.has_none_at(at(60_010), "apps", "six").await, "others may see other releases");
    }
}

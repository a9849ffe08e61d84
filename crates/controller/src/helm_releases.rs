//! Which releases of Helm's a namespace has, read once for many requests.
//!
//! Before a release is installed or upgraded, Helm's store is asked whether it has one of the same name. Each such question makes
//! the API server go over all Secrets of the namespace, which is too much for a thousand requests that are created at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::cluster::{Cluster, ListParams};
use tokio::time::Instant;

use crate::request::ArchiveKind;
use crate::values;

/// How close two questions about a namespace are that are answered together.
const CLOSE: Duration = Duration::from_secs(1);
/// For how long an answer is good. It is never one from before the request became due, so whoever installs a release with Helm
/// and creates a request for it then has it taken over.
const MAX_AGE: Duration = Duration::from_secs(10);
/// How many records are read. Namespaces with more of them are asked for each name.
const MAX_RECORDS: u32 = 500;
/// How many namespaces are remembered.
const MAX_NAMESPACES: usize = 4096;

/// The releases of Helm's by namespace, as different users see them.
#[derive(Default)]
pub(crate) struct HelmReleases(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Namespace>>>>);

#[derive(Default)]
struct Namespace {
    asked: Option<Instant>,
    /// When the last read began, and the names; `None` if not all could be read.
    read: Option<(Instant, Option<BTreeSet<String>>)>,
}

/// A question about the releases of one namespace.
#[derive(Clone)]
pub(crate) struct HelmLookup {
    pub(crate) releases: Arc<HelmReleases>,
    /// The cluster, with the rights of the request.
    pub(crate) cluster: Cluster,
    /// Whose rights these are.
    pub(crate) user: String,
    /// Since when the request is due.
    pub(crate) due: Instant,
}

impl HelmLookup {
    /// Whether a namespace is known to have no release of that name. Otherwise it has to be asked.
    pub(crate) async fn has_none(&self, namespace: &str, name: &str) -> bool {
        self.has_none_at(Instant::now(), namespace, name).await
    }

    async fn has_none_at(&self, now: Instant, namespace: &str, name: &str) -> bool {
        let entry = self.releases.entry(format!("{} {} {namespace}", self.cluster.address(), self.user));
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

    /// The names of Helm's releases; `None` if they are too many, or if the question by name is to report what is wrong.
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
        if entries.len() >= MAX_NAMESPACES {
            entries.clear();
        }
        Arc::clone(entries.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A cluster whose namespaces have one release of Helm's, `web`, and how often it was asked.
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
        // Whoever created this request may have installed a release with Helm just before.
        let later = HelmLookup { due: at(5_020), ..lookup.clone() };
        assert!(later.has_none_at(at(5_030), "apps", "five").await);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert!(!lookup.has_none_at(at(60_000), "apps", "six").await, "an old answer is none");
        let other = HelmLookup { user: "other".to_owned(), ..lookup };
        assert!(!other.has_none_at(at(60_010), "apps", "six").await, "others may see other releases");
    }
}

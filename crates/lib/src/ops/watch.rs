//! `watch`: the releases of all stores of a session, and every change of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, SelectAll};
use futures::{FutureExt as _, StreamExt as _};
use pintle_release::{Query, Store, StoreChange, Summary};

use crate::records::searched_stores;
use crate::{Result, Session};

/// Which releases to watch.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// How often stores are read that cannot be watched: databases, memory, and clusters where the user may not watch. Also
    /// the delay before a store is read again that could not be read.
    pub poll_interval: Duration,
}

impl Default for WatchRequest {
    fn default() -> Self {
        WatchRequest { namespace: None, poll_interval: Duration::from_secs(5) }
    }
}

/// A change of the releases.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReleaseChange {
    /// A release exists, is new, or has changed; this is its newest version.
    Applied(Box<Summary>),
    /// A release does not exist any more.
    Removed {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// Every store was read: what existed before the watch has been reported. Comes once.
    Synced,
}

/// Watches releases. Those that exist come first, then [`ReleaseChange::Synced`], then changes as they happen. A release that
/// two stores hold is reported once, by its newest version; renewals of leases are no change. Errors end nothing: a store
/// that cannot be read is read again later. Dropping the stream ends all requests.
///
/// ```
/// use std::sync::Arc;
///
/// use futures::StreamExt;
/// use pintle::ops::{CreateRequest, InstallRequest, ReleaseChange, WatchRequest, create, install, watch};
/// use pintle::release::{MemoryStore, Status};
/// use pintle::{Session, Silent, embedded};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
/// let api = embedded::Embedded::default().open().await?;
/// let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
/// let poll_interval = std::time::Duration::from_millis(10);
/// let mut changes = watch(&session, &WatchRequest { poll_interval, ..WatchRequest::default() });
/// assert_eq!(changes.next().await.transpose()?, Some(ReleaseChange::Synced));
///
/// let (name, namespace) = ("demo".to_owned(), "default".to_owned());
/// let request = InstallRequest { chart: chart.into(), name, namespace, ..InstallRequest::default() };
/// install(&session, &request, &mut Silent).await?;
/// while let Some(change) = changes.next().await.transpose()? {
///     if matches!(&change, ReleaseChange::Applied(release) if release.status == Status::Deployed) {
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn watch(session: &Session, request: &WatchRequest) -> BoxStream<'static, Result<ReleaseChange>> {
    let stores = searched_stores(session);
    let hints = stores.iter().enumerate().map(|(index, store)| hints(index, store, request).boxed());
    let releases = Releases {
        hints: hints.collect(),
        request: request.clone(),
        known: stores.iter().map(|_| BTreeMap::new()).collect(),
        unread: (0..stores.len()).collect(),
        stores,
        shown: BTreeMap::new(),
        changes: VecDeque::new(),
        is_synced: false,
    };
    stream::unfold(releases, |mut releases| async move {
        let change = releases.next().await;
        Some((change, releases))
    })
    .boxed()
}

/// Namespace and name.
type Key = (String, String);

/// What may have changed in the store with this index.
type Hint = (usize, StoreChange);

/// What is known of the releases.
struct Releases {
    request: WatchRequest,
    stores: Vec<Arc<dyn Store>>,
    hints: SelectAll<BoxStream<'static, Hint>>,
    /// The newest version of each release in each store.
    known: Vec<BTreeMap<Key, Summary>>,
    /// The stores that were never read.
    unread: BTreeSet<usize>,
    /// What was reported last.
    shown: BTreeMap<Key, Summary>,
    /// What is to be reported.
    changes: VecDeque<ReleaseChange>,
    is_synced: bool,
}

/// The changes of a store, watched if possible, or polled.
fn hints(
    index: usize,
    store: &Arc<dyn Store>,
    request: &WatchRequest,
) -> impl futures::Stream<Item = Hint> + Send + 'static + use<> {
    let interval = request.poll_interval;
    let polled = stream::unfold(false, move |again| async move {
        if again {
            tokio::time::sleep(interval).await;
        }
        Some((StoreChange::Everything, true))
    });
    let watched = store.watch(request.namespace.as_deref());
    let watched = watched.unwrap_or_else(|| stream::empty().boxed());
    // A watch that fails is not tried again: mostly the user may list and not watch.
    let watched = watched.scan((), |(), change| std::future::ready(change.ok()));
    watched.chain(polled).map(move |change| (index, change))
}

impl Releases {
    async fn next(&mut self) -> Result<ReleaseChange> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(change);
            }
            if !self.is_synced && self.unread.is_empty() {
                self.is_synced = true;
                return Ok(ReleaseChange::Synced);
            }
            let Some(first) = self.hints.next().await else { return std::future::pending().await };
            // Many writes of one operation become one read.
            let mut hints = BTreeMap::from([(first.0, Vec::from([first.1]))]);
            while let Some(Some((index, change))) = self.hints.next().now_or_never() {
                hints.entry(index).or_default().push(change);
            }
            for (index, changes) in hints {
                if let Err(error) = self.read(index, changes).await {
                    self.read_later(index);
                    return Err(error);
                }
            }
        }
    }

    fn read_later(&mut self, index: usize) {
        let interval = self.request.poll_interval;
        let later = async move {
            tokio::time::sleep(interval).await;
            (index, StoreChange::Everything)
        };
        self.hints.push(stream::once(later).boxed());
    }

    /// Reads what may have changed in a store.
    async fn read(&mut self, index: usize, changes: Vec<StoreChange>) -> Result<()> {
        let store = Arc::clone(&self.stores[index]);
        let mut keys = BTreeSet::new();
        for change in changes {
            match change {
                StoreChange::Release { namespace, name } => keys.insert((namespace, name)),
                _ => return self.read_all(index, &store).await,
            };
        }
        for (namespace, name) in keys {
            let newest = store.latest(&Query::for_release(&namespace, &name)).await?.pop();
            let key = (namespace, name);
            match newest {
                Some(newest) => self.known[index].insert(key.clone(), newest),
                None => self.known[index].remove(&key),
            };
            self.show(&key);
        }
        Ok(())
    }

    async fn read_all(&mut self, index: usize, store: &Arc<dyn Store>) -> Result<()> {
        let query = Query { namespace: self.request.namespace.clone(), ..Query::default() };
        let all = store.latest(&query).await?;
        let key = |version: &Summary| (version.namespace.clone(), version.name.clone());
        let now: BTreeMap<Key, Summary> = all.into_iter().map(|version| (key(&version), version)).collect();
        let before = std::mem::replace(&mut self.known[index], now);
        let keys: BTreeSet<Key> = before.into_keys().chain(self.known[index].keys().cloned()).collect();
        keys.iter().for_each(|key| self.show(key));
        self.unread.remove(&index);
        Ok(())
    }

    /// Reports a release if it is not as it was reported last.
    fn show(&mut self, key: &Key) {
        let copies = self.known.iter().zip(&self.stores);
        let copies = copies.filter_map(|(known, store)| Some((known.get(key)?, store.driver_word())));
        // Of equal versions the first: a release that is being moved is in two stores.
        let newest = copies.reduce(|one, other| if other.0.number > one.0.number { other } else { one });
        match newest {
            None => {
                if self.shown.remove(key).is_some() {
                    let (namespace, name) = key.clone();
                    self.changes.push_back(ReleaseChange::Removed { namespace, name });
                }
            }
            Some((newest, store)) => {
                let newest = Summary { store, ..newest.clone() };
                let comparable = comparable(&newest);
                if self.shown.get(key) != Some(&comparable) {
                    self.shown.insert(key.clone(), comparable);
                    self.changes.push_back(ReleaseChange::Applied(Box::new(newest)));
                }
            }
        }
    }
}

/// A version without what changes when its lease is renewed.
fn comparable(version: &Summary) -> Summary {
    let mut version = Summary { state: String::new(), ..version.clone() };
    if let Some(lease) = &mut version.lease {
        lease.renewed = lease.since;
    }
    version
}

//! Follows the records of a store by a watch on their metadata.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use pintle_objects::Object;
use pintle_release::{StoreChange, StoreChanges};

use super::api;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::Result;
use crate::read::ListParams;
use crate::watch::{WatchEvent, WatchStream};

/// The initial and the maximum delay after an error.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));

/// Returns the changes of the objects of a kind. `release` returns the name of the release that an object belongs to.
pub(super) fn follow(
    cluster: Cluster,
    resource: Resource,
    namespace: Option<&str>,
    labels: String,
    release: fn(&Object) -> Option<&str>,
) -> StoreChanges {
    let selection = ListParams { labels, metadata_only: true, ..ListParams::default() };
    let namespace = namespace.unwrap_or_default().to_owned();
    let follower = Follower {
        cluster,
        resource,
        namespace,
        selection,
        release,
        watch: None,
        version: String::new(),
        delay: BACKOFF.0,
    };
    stream::unfold(Some(follower), |follower| async move {
        let mut follower = follower?;
        match follower.next().await {
            Ok(change) => Some((Ok(change), Some(follower))),
            Err(error) => Some((Err(api::backend_error("watch: failed to watch")(error)), None)),
        }
    })
    .boxed()
}

/// Joins the changes of two kinds. It ends with the first error of either.
pub(super) fn join(one: StoreChanges, other: StoreChanges) -> StoreChanges {
    let joined: BoxStream<'static, _> = stream::select(one, other).boxed();
    joined
        .scan(false, |failed, change| {
            let ended = std::mem::replace(failed, change.is_err());
            std::future::ready((!ended).then_some(change))
        })
        .boxed()
}

struct Follower {
    cluster: Cluster,
    resource: Resource,
    namespace: String,
    selection: ListParams,
    release: fn(&Object) -> Option<&str>,
    watch: Option<WatchStream>,
    /// The `resourceVersion` up to which changes were seen; empty if everything has to be read again.
    version: String,
    delay: Duration,
}

impl Follower {
    async fn next(&mut self) -> Result<StoreChange> {
        loop {
            if self.version.is_empty() {
                // Only the version of the list counts: whoever is told that everything may have changed reads it.
                let head = ListParams { limit: 1, ..self.selection.clone() };
                let page = self.cluster.page(&self.resource, &self.namespace, &head, "").await?;
                self.version = page.resource_version;
                return Ok(StoreChange::Everything);
            }
            let Some(watch) = &mut self.watch else {
                self.open().await?;
                continue;
            };
            match watch.next().await {
                Ok(Some(event)) => {
                    self.delay = BACKOFF.0;
                    if let Some(change) = self.changed(event) {
                        return Ok(change);
                    }
                }
                Ok(None) => self.watch = None,
                Err(error) => {
                    self.watch = None;
                    self.recover(error.is_expired()).await;
                }
            }
        }
    }

    async fn open(&mut self) -> Result<()> {
        let opened = self.cluster.watch(&self.resource, &self.namespace, &self.selection, &self.version);
        match opened.await {
            Ok(watch) => self.watch = Some(watch),
            Err(error) if error.is_expired() || error.is_transport() => {
                self.recover(error.is_expired()).await;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits before the next attempt. A version that has expired leaves a gap, after which everything is read again.
    async fn recover(&mut self, expired: bool) {
        if expired {
            self.version.clear();
        }
        tokio::time::sleep(self.delay).await;
        self.delay = (self.delay * 2).min(BACKOFF.1);
    }

    fn changed(&mut self, event: WatchEvent) -> Option<StoreChange> {
        let object = match event {
            WatchEvent::Bookmark(version) => {
                self.version = version;
                return None;
            }
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => object,
        };
        if !object.resource_version().is_empty() {
            object.resource_version().clone_into(&mut self.version);
        }
        let name = (self.release)(&object)?.to_owned();
        Some(StoreChange::Release { namespace: object.namespace().to_owned(), name })
    }
}

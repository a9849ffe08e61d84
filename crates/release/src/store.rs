//! The trait of release stores. The in-memory one is in this crate; those in a cluster or database are in crates of
//! their own.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use pintle_tree::{Map, Node};

use crate::selector::Selector;
use crate::{Lease, ReleaseVersion, Status, Summary, VersionId};

/// The future that store operations return.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A stream of what may have changed in a store.
pub type StoreChanges = BoxStream<'static, Result<StoreChange, StoreError>>;

/// What may have changed in a store since it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreChange {
    /// A version of this release.
    Release {
        /// The namespace of the release.
        namespace: String,
        /// The name of the release.
        name: String,
    },
    /// Anything: everything has to be read again.
    Everything,
}

/// The newest version of a release, as far as it is known without reading its record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseHead {
    /// The namespace of the release.
    pub namespace: String,
    /// The name of the release.
    pub name: String,
    /// The number of the version.
    pub number: u64,
    /// Its status.
    pub status: Status,
    /// Its labels: at least the user's.
    pub labels: BTreeMap<String, String>,
    /// The summary, in stores where it costs nothing more.
    pub summary: Option<Box<Summary>>,
}

impl From<Summary> for ReleaseHead {
    fn from(summary: Summary) -> Self {
        ReleaseHead {
            namespace: summary.namespace.clone(),
            name: summary.name.clone(),
            number: summary.number,
            status: summary.status,
            labels: summary.labels.clone(),
            summary: Some(Box::new(summary)),
        }
    }
}

/// Which versions to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The name of the release; `None` for all.
    pub name: Option<String>,
    /// The statuses; `None` for all.
    pub statuses: Option<Vec<Status>>,
    /// A Kubernetes label selector; empty for all.
    pub selector: String,
}

impl Query {
    /// Selects all versions of one release.
    pub fn for_release(namespace: &str, name: &str) -> Self {
        Query { namespace: Some(namespace.to_owned()), name: Some(name.to_owned()), ..Query::default() }
    }

    /// Parses the label selector.
    ///
    /// # Errors
    /// An invalid selector.
    pub fn selector(&self) -> Result<Selector, StoreError> {
        Selector::parse(&self.selector).map_err(StoreError::Selector)
    }

    /// Whether the query includes this status.
    pub fn matches_status(&self, status: Status) -> bool {
        self.statuses.as_ref().is_none_or(|statuses| statuses.contains(&status))
    }
}

/// How much of a record is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPart {
    /// Everything.
    All,
    /// Everything but templates, schema and files of the chart, which are most of a record.
    WithoutFiles,
}

/// Stores release versions. Creating a version number that exists is an error, which keeps concurrent writers apart.
pub trait Store: Send + Sync {
    /// The name of the driver: `native`, `Secret`, `ConfigMap`, `Memory` or `SQL`.
    fn driver(&self) -> &'static str;

    /// The driver as `HELM_DRIVER` spells it.
    fn driver_word(&self) -> &'static str {
        driver_word(self.driver())
    }

    /// Creates a version that follows `after`, as that was read. Of this and a concurrent [`Store::compare_and_swap`] of the
    /// earlier version, only one succeeds.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is such a version, [`StoreError::Conflict`] when another writer was first,
    /// [`StoreError::Modified`] when the earlier version is being uninstalled or was deleted.
    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()>;

    /// Updates an existing version. A `lease` of `None` releases the lease. With `held`, the version is updated only while
    /// that lease is on it: a holder that was suspended must not overwrite what was recorded by whoever took over.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version, [`StoreError::Modified`] when it has another lease than
    /// `held`, or none.
    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()>;

    /// Updates the newest version of a release if it is unmodified and still the newest (compare and swap). Returns
    /// its new state.
    ///
    /// # Errors
    /// [`StoreError::Modified`] when another writer was first.
    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String>;

    /// Renews the lease of a version and changes nothing else.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version, [`StoreError::Conflict`] when another holder has the
    /// lease, or nobody has one.
    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()>;

    /// Reads a complete version.
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>>;

    /// Reads the newest version of a release, of those whose records can be read; `None` when there is none. Stores may
    /// leave out what `part` does not need.
    fn newest<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        part: RecordPart,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        let _ = part;
        Box::pin(async move {
            match self.history(namespace, name).await?.last() {
                Some(newest) => self.get(namespace, name, newest.number).await,
                None => Ok(None),
            }
        })
    }

    /// All versions of a release, oldest first.
    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>>;

    /// Whether there are records of a release. Called when [`Store::history`] is empty, to distinguish a release of which no
    /// record can be read from one that does not exist.
    fn has_records<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move { Ok(!self.history(namespace, name).await?.is_empty()) })
    }

    /// Every version that matches, by namespace, name and number.
    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>>;

    /// The newest version of each release, if it matches: status and labels are compared after the newest was
    /// selected, as in Helm.
    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>>;

    /// The newest version of every release of a namespace, or of all, with as little of each record as the store can read.
    fn heads<'a>(&'a self, namespace: Option<&'a str>) -> StoreFuture<'a, Vec<ReleaseHead>> {
        Box::pin(async move {
            let query = Query { namespace: namespace.map(str::to_owned), ..Query::default() };
            Ok(self.latest(&query).await?.into_iter().map(ReleaseHead::from).collect())
        })
    }

    /// Summarizes a version; `None` when there is none, or its record cannot be read.
    fn summary<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<Summary>> {
        Box::pin(async move {
            let history = self.history(namespace, name).await?;
            Ok(history.into_iter().find(|version| version.number == number))
        })
    }

    /// Watches the releases of a namespace, or of all. The first item is [`StoreChange::Everything`], and after an error there
    /// is nothing more. `None` if the store cannot be watched: it has to be read now and then.
    fn watch(&self, namespace: Option<&str>) -> Option<StoreChanges> {
        let _ = namespace;
        None
    }

    /// Deletes a version.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version.
    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()>;

    /// As [`Store::delete`], but objects that belong to the release by an owner reference stay, when this was its last
    /// version.
    ///
    /// # Errors
    /// As [`Store::delete`].
    fn delete_and_orphan<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, ()> {
        self.delete(namespace, name, number)
    }

    /// Imports all versions of a release from another store, oldest first. Where the store can, they appear
    /// atomically: until the import is complete, readers see none of them.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when another writer was first; otherwise as [`Store::create`].
    fn import<'a>(&'a self, versions: &'a [ReleaseVersion]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for version in versions {
                match self.create(version, None, None).await {
                    // An interrupted import left it.
                    Err(StoreError::Exists { .. }) => self.update(version, None, None).await?,
                    created => created?,
                }
            }
            Ok(())
        })
    }

    /// Deletes versions of a release that another store has now, given oldest first. The objects of the release stay, even
    /// those that the records own. Without numbers, deletes only what an interrupted call has left.
    ///
    /// # Errors
    /// When a record cannot be deleted; those after it stay.
    fn forget<'a>(&'a self, namespace: &'a str, name: &'a str, numbers: &'a [u64]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for number in numbers {
                match self.delete(namespace, name, *number).await {
                    Ok(()) | Err(StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
    }

    /// Leaves a marker for other clients of the format, which do not know the store that a release was moved to; see
    /// [`helm::marker`](crate::helm::marker). `last` is the newest version, `to` the `HELM_DRIVER` of the other store.
    /// Markers are no versions: nothing lists them. Stores that only we read need none.
    ///
    /// # Errors
    /// When it cannot be written.
    fn leave_marker<'a>(&'a self, last: &'a Summary, to: &'a str) -> StoreFuture<'a, ()> {
        let _ = (last, to);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Deletes the marker of a release, if there is one.
    ///
    /// # Errors
    /// When it cannot be deleted.
    fn remove_marker<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, ()> {
        let _ = (namespace, name);
        Box::pin(std::future::ready(Ok(())))
    }

    /// The `HELM_DRIVER` of the store that a release was moved to, if there is a marker. This sends no request: it is what
    /// the last [`Store::history`], or [`Store::latest`] of that release, has read.
    fn moved_to(&self, namespace: &str, name: &str) -> Option<String> {
        let _ = (namespace, name);
        None
    }

    /// Sets or removes the lease of the newest version if it is unmodified; the version itself does not change.
    /// Returns its new state. Stores that cannot do so return the old state.
    ///
    /// # Errors
    /// [`StoreError::Modified`] when another writer was first.
    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        let _ = lease;
        Box::pin(std::future::ready(Ok(seen.state.clone())))
    }

    /// The owner of the objects of a release, if this store keeps releases as Kubernetes objects. The release must have a
    /// version.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn owner<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Option<ObjectOwner>> {
        let _ = (namespace, name);
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A release as the owner of its objects.
#[derive(Clone, Debug, Default)]
pub struct ObjectOwner {
    /// The entry of `metadata.ownerReferences`.
    pub reference: Map<Node>,
    /// Labels by which others find the objects.
    pub labels: BTreeMap<String, String>,
}

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The version exists already.
    #[error("release: already exists")]
    Exists {
        /// The release.
        name: String,
        /// The version.
        number: u64,
    },
    /// There is no such version.
    #[error("release: not found")]
    NotFound {
        /// The release.
        name: String,
        /// The version.
        number: u64,
    },
    /// Another writer was first, or holds the lease.
    #[error("another operation on release {name} came first{}{}", holder_suffix(.holder.as_deref()), winner_suffix(*.winner, *.number))]
    Conflict {
        /// The release.
        name: String,
        /// The contested number.
        number: u64,
        /// The id of the winning version, for stores with ids.
        winner: Option<VersionId>,
        /// The holder of the winning version.
        holder: Option<String>,
    },
    /// The version to update or to follow was modified.
    #[error("another operation on release {name} came first{}: version {number} is {}", holder_suffix(.holder.as_deref()), status_text(*.status))]
    Modified {
        /// The release.
        name: String,
        /// The modified version.
        number: u64,
        /// Its current status; `None` when it was deleted.
        status: Option<Status>,
        /// The current holder.
        holder: Option<String>,
    },
    /// A record cannot be decoded.
    #[error("get: failed to decode data {key:?}: {source}")]
    Unreadable {
        /// The key of the record.
        key: String,
        /// The reason.
        source: crate::helm::Error,
    },
    /// A record cannot be encoded.
    #[error("{action}: failed to encode release {name:?}: {source}")]
    Unwritable {
        /// `create` or `update`.
        action: &'static str,
        /// The release.
        name: String,
        /// The reason.
        source: crate::helm::Error,
    },
    /// A record exceeds the limit of the store.
    #[error("{}{reason}", action_prefix(.action))]
    TooLarge {
        /// The operation, as Helm names it; may be empty.
        action: &'static str,
        /// The server's message.
        reason: String,
        /// The size of the record in bytes.
        size: usize,
        /// The kind that should hold it, such as `Secret`.
        kind: &'static str,
    },
    /// The label selector is invalid.
    #[error("{0}")]
    Selector(String),
    /// The CRDs of the native store are missing, and installing them failed.
    #[error(
        "the cluster has no Release resources, and they cannot be installed; `pintle init` installs them, HELM_DRIVER=secret does without"
    )]
    CrdsMissing {
        /// Why they could not be installed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The storage backend failed.
    #[error("{}{source}", action_prefix(.action))]
    Backend {
        /// The operation, as Helm names it; may be empty.
        action: String,
        /// Whether the user lacks rights on records.
        forbidden: bool,
        /// The backend's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A driver as `HELM_DRIVER` spells it: `native`, `secret`, `configmap`, `sql` or `memory`.
pub fn driver_word(driver: &str) -> &'static str {
    match driver {
        "Secret" => "secret",
        "ConfigMap" => "configmap",
        "SQL" => "sql",
        "Memory" => "memory",
        _ => "native",
    }
}

fn action_prefix(action: &str) -> String {
    if action.is_empty() { String::new() } else { format!("{action}: ") }
}

fn holder_suffix(holder: Option<&str>) -> String {
    holder.map(|holder| format!(" ({holder})")).unwrap_or_default()
}

fn status_text(status: Option<Status>) -> &'static str {
    status.map_or("gone", Status::as_str)
}

fn winner_suffix(winner: Option<VersionId>, number: u64) -> String {
    match winner {
        Some(winner) => format!(": version {number} is {winner}"),
        None => format!(": version {number} is taken"),
    }
}

/// Selects the newest version of each release, then applies the query. `matches` compares labels.
pub fn newest(mut versions: Vec<Summary>, query: &Query, matches: impl Fn(&Summary) -> bool) -> Vec<Summary> {
    // The newest of each release sorts first, and `dedup_by` keeps the first.
    versions.sort_by(|a, b| (&a.namespace, &a.name, b.number).cmp(&(&b.namespace, &b.name, a.number)));
    versions.dedup_by(|later, earlier| later.namespace == earlier.namespace && later.name == earlier.name);
    // After the newest were selected: a release whose newest version has another status must not show an older one.
    versions.retain(|version| query.matches_status(version.status) && matches(version));
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_count_after_the_newest_is_chosen() {
        let version =
            |name: &str, number, status| Summary { name: name.into(), number, status, ..Summary::default() };
        let all = vec![
            version("a", 1, Status::Deployed),
            version("a", 2, Status::Failed),
            version("b", 1, Status::Deployed),
        ];
        let query = Query { statuses: Some(vec![Status::Deployed]), ..Query::default() };
        let names: Vec<String> =
            newest(all, &query, |_| true).into_iter().map(|version| version.name).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn a_modified_version_is_reported_with_its_status() {
        let changed = |status| StoreError::Modified { name: "web".into(), number: 3, status, holder: None };
        assert_eq!(
            changed(Some(Status::Uninstalling)).to_string(),
            "another operation on release web came first: version 3 is uninstalling"
        );
        assert!(changed(None).to_string().ends_with("version 3 is gone"));
    }

    #[test]
    fn a_conflict_names_the_winner() {
        let winner = VersionId::new(1_700_000_000_000, 1);
        let error = StoreError::Conflict {
            name: "web".into(),
            number: 3,
            winner: Some(winner),
            holder: Some("a@b".into()),
        };
        assert_eq!(
            error.to_string(),
            format!("another operation on release web came first (a@b): version 3 is {winner}")
        );
    }
}

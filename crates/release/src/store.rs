//! The port to where releases are kept. Implementations live at the edges: in memory here, in a cluster or a database
//! elsewhere.

use futures::future::BoxFuture;
use pintle_tree::{Map, Node};

use crate::selector::Selector;
use crate::{Lease, ReleaseVersion, Status, Summary, VersionId};

/// The answer of a store, when it comes.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Which versions are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The namespace; none means all.
    pub namespace: Option<String>,
    /// The name of the release; none means all.
    pub name: Option<String>,
    /// The states; none means all.
    pub statuses: Option<Vec<Status>>,
    /// A label selector as Kubernetes has it; empty selects all.
    pub selector: String,
}

impl Query {
    /// Asks for all versions of one release.
    pub fn for_release(namespace: &str, name: &str) -> Self {
        Query { namespace: Some(namespace.to_owned()), name: Some(name.to_owned()), ..Query::default() }
    }

    /// The selector, read.
    ///
    /// # Errors
    /// Text that is no selector.
    pub fn selector(&self) -> Result<Selector, StoreError> {
        Selector::parse(&self.selector).map_err(StoreError::Selector)
    }

    /// Whether the states that are asked for include this one.
    pub fn matches_status(&self, status: Status) -> bool {
        self.statuses.as_ref().is_none_or(|statuses| statuses.contains(&status))
    }
}

/// Keeps the versions of releases. A number that exists cannot be created again, which is what keeps two writers apart.
pub trait Store: Send + Sync {
    /// What the store is called: `native`, `Secret`, `ConfigMap`, `Memory` or `SQL`.
    fn driver(&self) -> &'static str;

    /// Keeps a new version, which follows another as that was seen. Of this and a [`Store::swap`] of the earlier
    /// version, only one succeeds.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there is such a version, [`StoreError::Conflict`] when another writer was quicker,
    /// [`StoreError::Modified`] when the earlier version is going or gone.
    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()>;

    /// Writes a version that exists anew; without a lease it is nobody's from then on.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version.
    fn update<'a>(&'a self, version: &'a ReleaseVersion, lease: Option<&'a Lease>) -> StoreFuture<'a, ()>;

    /// Writes the newest version of a release anew, if it is still as it was seen and still the newest. Gives its new
    /// state.
    ///
    /// # Errors
    /// [`StoreError::Modified`] when somebody else was quicker.
    fn swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String>;

    /// Renews the lease on a version and changes nothing else.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version, [`StoreError::Conflict`] when somebody else holds it.
    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()>;

    /// A version, whole.
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>>;

    /// All versions of a release, oldest first.
    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>>;

    /// Every version that matches, by namespace, name and number.
    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>>;

    /// The newest version of each release, if it matches: states and labels are looked at after the newest is chosen.
    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>>;

    /// Forgets a version.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such version.
    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()>;

    /// Keeps all versions of a release that another store has had until now, oldest first. Where the store can, they
    /// appear together: whoever looks meanwhile, or after a writer that died, finds none of them.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when another writer was quicker; otherwise as [`Store::create`].
    fn import<'a>(&'a self, versions: &'a [ReleaseVersion]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for version in versions {
                self.create(version, None, None).await?;
            }
            Ok(())
        })
    }

    /// Notes on the newest version of a release, if it is still as it was seen, who is at work on it, or that nobody is;
    /// the version itself does not change. Gives its new state.
    ///
    /// # Errors
    /// [`StoreError::Modified`] when somebody else was quicker.
    fn hold<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        let _ = lease;
        Box::pin(std::future::ready(Ok(seen.state.clone())))
    }

    /// What the objects of a release name as their owner, if this store keeps releases as objects: an entry for
    /// `metadata.ownerReferences`. The release must have a version.
    ///
    /// # Errors
    /// When the store cannot be asked.
    fn owner<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Option<Map<Node>>> {
        let _ = (namespace, name);
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Why a store did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is such a version already.
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
    /// Another writer was quicker, or has taken the version over.
    #[error("another operation on release {name} came first{}{}", by(.holder.as_deref()), version(*.winner, *.number))]
    Conflict {
        /// The release.
        name: String,
        /// The number that both wanted.
        number: u64,
        /// The id of the version that won, where the store gives ids.
        winner: Option<VersionId>,
        /// Who holds it.
        holder: Option<String>,
    },
    /// Somebody has changed the version that was to be changed or followed.
    #[error("another operation on release {name} came first{}: version {number} is {}", by(.holder.as_deref()), now(*.status))]
    Modified {
        /// The release.
        name: String,
        /// The version that both saw.
        number: u64,
        /// What it is now; none when it is gone.
        status: Option<Status>,
        /// Who holds it.
        holder: Option<String>,
    },
    /// A record cannot be read.
    #[error("get: failed to decode data {key:?}: {source}")]
    Unreadable {
        /// What the store calls the record.
        key: String,
        /// What is wrong with it.
        source: crate::helm::Error,
    },
    /// A record cannot be written.
    #[error("{action}: failed to encode release {name:?}: {source}")]
    Unwritable {
        /// `create` or `update`.
        action: &'static str,
        /// The release.
        name: String,
        /// What is wrong with it.
        source: crate::helm::Error,
    },
    /// A record is larger than the store can hold.
    #[error("{}{reason}", doing(.action))]
    TooLarge {
        /// What was being done, in Helm's words; empty where it has none.
        action: &'static str,
        /// What the server says of it.
        reason: String,
        /// How many bytes the record takes.
        size: usize,
        /// What was to hold it, such as `Secret`.
        kind: &'static str,
    },
    /// The selector is none.
    #[error("{0}")]
    Selector(String),
    /// The cluster lacks the kinds that the native store needs, and they may not be installed.
    #[error(
        "the cluster has no Release resources, and they cannot be installed; `pintle init` installs them, HELM_DRIVER=secret does without"
    )]
    CrdsMissing {
        /// What happened when they were to be installed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Where the releases are kept, something failed.
    #[error("{}{source}", doing(.action))]
    Backend {
        /// What was being done, in Helm's words; empty where it has none.
        action: String,
        /// What failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn doing(action: &str) -> String {
    if action.is_empty() { String::new() } else { format!("{action}: ") }
}

fn by(holder: Option<&str>) -> String {
    holder.map(|holder| format!(" ({holder})")).unwrap_or_default()
}

fn now(status: Option<Status>) -> &'static str {
    status.map_or("gone", Status::as_str)
}

fn version(winner: Option<VersionId>, number: u64) -> String {
    match winner {
        Some(winner) => format!(": version {number} is {winner}"),
        None => format!(": version {number} is taken"),
    }
}

/// Keeps the newest version of each release, then what the query wants. `matches` looks at labels.
pub fn newest(mut versions: Vec<Summary>, query: &Query, matches: impl Fn(&Summary) -> bool) -> Vec<Summary> {
    // The newest of each release comes first and is the one that dedup keeps.
    versions.sort_by(|a, b| (&a.namespace, &a.name, b.number).cmp(&(&b.namespace, &b.name, a.number)));
    versions.dedup_by(|later, earlier| later.namespace == earlier.namespace && later.name == earlier.name);
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
    fn coming_late_tells_what_has_become_of_the_version() {
        let changed = |status| StoreError::Modified { name: "web".into(), number: 3, status, holder: None };
        assert_eq!(
            changed(Some(Status::Uninstalling)).to_string(),
            "another operation on release web came first: version 3 is uninstalling"
        );
        assert!(changed(None).to_string().ends_with("version 3 is gone"));
    }

    #[test]
    fn losing_names_the_winner() {
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

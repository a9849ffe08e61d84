//! Finds the store that holds a release. A name has one owner, but a move between stores may be interrupted halfway.
//! Both stores hold the release then, and comparing their versions shows which one counts.

use std::sync::Arc;

use futures::future::join_all;
use pintle_release::{Query, Store, StoreError, Summary};

use crate::{Error, Result, Session};

/// The result of searching all stores for a release.
pub(super) struct Located {
    /// The store that owns the release.
    pub(super) store: Arc<dyn Store>,
    /// The versions in it, oldest first; empty when no store holds the release.
    pub(super) history: Vec<Summary>,
    /// Copies that an interrupted move left in other stores.
    copies: Vec<(Arc<dyn Store>, Vec<Summary>)>,
    /// A store that holds an unrelated release of the same name.
    conflicting: Option<Arc<dyn Store>>,
}

/// How the versions of a release in the session's own store relate to those in another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The versions were moved here, and the copies in the other store are not deleted yet.
    Moved,
    /// The versions were moved here, and then another client, such as Helm, continued in the other store.
    OtherIsNewer,
    /// Two different releases have the same name.
    Unrelated,
}

impl Located {
    /// Fails if two stores hold unrelated releases of the name.
    pub(super) fn ensure_single_owner(&self, name: &str) -> Result<()> {
        match &self.conflicting {
            None => Ok(()),
            Some(other) => Err(Error::DuplicateRelease {
                name: name.to_owned(),
                stores: [self.store.driver(), other.driver()],
            }),
        }
    }

    /// Deletes the copies that a move left behind, newest last, in the order of the move itself. Copies that cannot
    /// be deleted are left for the next operation.
    pub(super) async fn delete_copies(&self, namespace: &str, name: &str) {
        for (store, copies) in &self.copies {
            for copy in copies {
                match store.delete(namespace, name, copy.number).await {
                    Ok(()) | Err(StoreError::NotFound { .. }) => {}
                    Err(_) => break,
                }
            }
        }
    }
}

/// Finds the store that holds a release: the session's own, unless another one has newer versions of the same
/// release.
pub(super) async fn find(
    session: &Session,
    namespace: &str,
    name: &str,
    others: &[Arc<dyn Store>],
) -> Result<Located> {
    let own = session.store.history(namespace, name);
    let asked = join_all(others.iter().map(|other| other.history(namespace, name)));
    let (own, asked) = futures::join!(own, asked);
    let mut found =
        Located { store: Arc::clone(&session.store), history: own?, copies: Vec::new(), conflicting: None };
    for (other, history) in others.iter().zip(asked) {
        let history = match history {
            // A user without rights on the other store can still work on a release that is known to be in this one.
            Err(error) if !found.history.is_empty() && is_forbidden(&error) => continue,
            history => history?,
        };
        if history.is_empty() {
            continue;
        }
        if found.history.is_empty() {
            (found.store, found.history) = (Arc::clone(other), history);
            continue;
        }
        match relation(&found.history, &history) {
            Relation::Moved => found.copies.push((Arc::clone(other), history)),
            Relation::OtherIsNewer => (found.store, found.history) = (Arc::clone(other), history),
            Relation::Unrelated => found.conflicting = Some(Arc::clone(other)),
        }
    }
    Ok(found)
}

/// Returns the first store that holds a release. Stores that the user may not read are skipped.
pub(super) async fn find_first(
    stores: &[Arc<dyn Store>],
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<dyn Store>>> {
    let query = Query::for_release(namespace, name);
    let asked = join_all(stores.iter().map(|store| store.latest(&query))).await;
    for (store, found) in stores.iter().zip(asked) {
        match found {
            Err(error) if is_forbidden(&error) => {}
            Ok(found) if found.is_empty() => {}
            Ok(_) => return Ok(Some(Arc::clone(store))),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn is_forbidden(error: &StoreError) -> bool {
    match error {
        StoreError::Backend { source, .. } => {
            source.downcast_ref::<pintle_cluster::Error>().is_some_and(pintle_cluster::Error::is_forbidden)
        }
        _ => false,
    }
}

/// Compares the versions of two stores. A move copies all versions unchanged and deletes the newest last, so until it
/// is finished both stores have at least one version with the same number and time.
fn relation(own: &[Summary], other: &[Summary]) -> Relation {
    let mut common = other
        .iter()
        .filter_map(|theirs| own.iter().find(|ours| ours.number == theirs.number).map(|ours| (ours, theirs)))
        .peekable();
    let is_further = other.last().map(|last| last.number) > own.last().map(|last| last.number);
    if common.peek().is_none() || !common.all(|(ours, theirs)| is_same_version(ours, theirs)) {
        Relation::Unrelated
    } else if is_further {
        Relation::OtherIsNewer
    } else {
        Relation::Moved
    }
}

/// Returns whether two records describe the same version. The status is not compared: it may change after the copy.
fn is_same_version(ours: &Summary, theirs: &Summary) -> bool {
    let facts = |version: &Summary| {
        (version.last_deployed, version.chart_name.clone(), version.chart_version.clone())
    };
    facts(ours) == facts(theirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_release::Timestamp;

    fn version(number: u64, seconds: i64) -> Summary {
        Summary { number, last_deployed: Some(Timestamp::from_unix(seconds, 0)), ..Summary::default() }
    }

    #[test]
    fn the_versions_that_both_stores_have_say_which_counts() {
        for (own, other, expected) in [
            // Nothing is deleted yet, or all but the newest.
            (vec![(1, 10), (2, 20)], vec![(1, 10), (2, 20)], Relation::Moved),
            (vec![(1, 10), (2, 20)], vec![(2, 20)], Relation::Moved),
            (vec![(1, 10), (2, 20), (3, 30)], vec![(2, 20)], Relation::Moved),
            // Helm continued in its own store.
            (vec![(1, 10), (2, 20)], vec![(2, 20), (3, 30)], Relation::OtherIsNewer),
            // Two releases of the same name.
            (vec![(1, 11)], vec![(1, 10), (2, 20)], Relation::Unrelated),
            (vec![(1, 10), (2, 21)], vec![(1, 10), (2, 20)], Relation::Unrelated),
            (vec![(3, 30)], vec![(1, 10)], Relation::Unrelated),
        ] {
            let summaries = |versions: &[(u64, i64)]| -> Vec<Summary> {
                versions.iter().map(|(number, seconds)| version(*number, *seconds)).collect()
            };
            assert_eq!(relation(&summaries(&own), &summaries(&other)), expected, "{own:?} {other:?}");
        }
    }
}

//! Finds the store that holds a release. A name has one owner, but a move between stores may be interrupted halfway.
//! Both stores hold the release then, and comparing their versions shows which one counts.

use std::sync::Arc;

use futures::future::join_all;
use pintle_release::{Query, Store, StoreError, Summary};

use crate::{Error, Result};

/// The result of searching all stores for a release.
pub(crate) struct Located {
    /// The store that owns the release.
    pub(crate) store: Arc<dyn Store>,
    /// The versions in it, oldest first; empty when no store holds the release.
    pub(crate) history: Vec<Summary>,
    /// Copies that an interrupted move left in other stores.
    pub(crate) copies: Vec<(Arc<dyn Store>, Vec<Summary>)>,
    /// A store that holds an unrelated release of the same name.
    conflicting: Option<Arc<dyn Store>>,
    /// The drivers of the stores that were read.
    read: Vec<&'static str>,
}

/// How the versions of a release in one store relate to those in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The other store has copies.
    OtherIsCopy,
    /// The other store is further, or has more of the same versions.
    OtherCounts,
    /// Two different releases have the same name.
    Unrelated,
}

impl Located {
    /// Fails if two stores hold unrelated releases of the name.
    pub(crate) fn ensure_single_owner(&self, name: &str) -> Result<()> {
        match &self.conflicting {
            None => Ok(()),
            Some(other) => Err(Error::DuplicateRelease {
                name: name.to_owned(),
                stores: [self.store.driver(), other.driver()],
            }),
        }
    }

    /// Fails if a marker says that the release is in a store that this session does not read, or may not read. Otherwise a
    /// marker of a release that no store holds is stale.
    pub(crate) fn ensure_not_moved_away(
        &self,
        stores: &[Arc<dyn Store>],
        namespace: &str,
        name: &str,
    ) -> Result<()> {
        if !self.history.is_empty() {
            return Ok(());
        }
        let markers = stores.iter().filter_map(|store| store.moved_to(namespace, name));
        let unread =
            |to: &String| !self.read.iter().any(|driver| pintle_release::driver_word(driver) == to.as_str());
        match markers.into_iter().find(unread) {
            None => Ok(()),
            Some(to) => Err(Error::InOtherStore {
                name: name.to_owned(),
                kept: driver(&to),
                here: self.store.driver(),
            }),
        }
    }

    /// Notes that another store was read without finding the release.
    pub(super) fn note_read(&mut self, drivers: impl IntoIterator<Item = &'static str>) {
        self.read.extend(drivers);
    }

    /// Deletes the copies that a move left behind, and leaves the marker that the move may not have written yet. Copies
    /// that cannot be deleted are left for the next operation.
    pub(super) async fn delete_copies(&self, namespace: &str, name: &str) {
        for (store, copies) in &self.copies {
            // An error means that the copies stay, which is a state that every command understands.
            let _ = forget(store, copies, self.store.driver_word(), (namespace, name)).await;
        }
    }
}

/// Deletes the records of a release from a store after it was moved to another one, whose `HELM_DRIVER` is `to`. The marker
/// is written first, so that there is no moment at which the name is free for Helm.
///
/// # Errors
/// When the marker cannot be written, or a record cannot be deleted.
pub(crate) async fn forget(
    store: &Arc<dyn Store>,
    versions: &[Summary],
    to: &str,
    (namespace, name): (&str, &str),
) -> Result<()> {
    let Some(last) = versions.last() else { return Ok(()) };
    store.leave_marker(last, to).await?;
    let numbers: Vec<u64> = versions.iter().map(|version| version.number).collect();
    // The newest goes last: as long as it exists, an interrupted move can be recognized.
    Ok(store.forget(namespace, name, &numbers).await?)
}

/// Finds the store that holds a release, among stores that must not be empty: the first, unless another one has newer
/// versions of the same release, or more of them.
///
/// # Errors
/// When a store cannot be read. One that the user may not read is an error only if no other store has the release.
pub(crate) async fn find(stores: &[Arc<dyn Store>], namespace: &str, name: &str) -> Result<Located> {
    let asked = join_all(stores.iter().map(|store| store.history(namespace, name))).await;
    let mut found = Located {
        store: Arc::clone(&stores[0]),
        history: Vec::new(),
        copies: Vec::new(),
        conflicting: None,
        read: Vec::new(),
    };
    let mut forbidden = None;
    for (index, (store, history)) in stores.iter().zip(asked).enumerate() {
        let history = match history {
            // A user without rights on another store can still work on a release that is known to be in this one.
            Err(error) if index > 0 && is_forbidden(&error) => {
                forbidden = forbidden.or(Some(error));
                continue;
            }
            history => history?,
        };
        found.read.push(store.driver());
        if history.is_empty() {
            continue;
        }
        if found.history.is_empty() {
            (found.store, found.history) = (Arc::clone(store), history);
            continue;
        }
        match relation(&found.history, &history) {
            Relation::OtherIsCopy => found.copies.push((Arc::clone(store), history)),
            Relation::OtherCounts => {
                let copy = std::mem::replace(&mut found.history, history);
                found.copies.push((std::mem::replace(&mut found.store, Arc::clone(store)), copy));
            }
            Relation::Unrelated => found.conflicting = Some(Arc::clone(store)),
        }
    }
    match forbidden {
        Some(error) if found.history.is_empty() => Err(error.into()),
        _ => Ok(found),
    }
}

/// What stores hold of a release that are only asked whether the name is taken.
#[derive(Default)]
pub(super) struct Guarded {
    /// The first store that holds it, with the newest version there.
    pub(super) taken: Option<(Arc<dyn Store>, Summary)>,
    /// The drivers of the stores that were read.
    pub(super) read: Vec<&'static str>,
}

/// Finds the first store that holds a release. Stores that the user may not read are skipped.
pub(super) async fn find_first(stores: &[Arc<dyn Store>], namespace: &str, name: &str) -> Result<Guarded> {
    let query = Query::for_release(namespace, name);
    let asked = join_all(stores.iter().map(|store| store.latest(&query))).await;
    let mut guarded = Guarded::default();
    for (store, found) in stores.iter().zip(asked) {
        match found {
            Err(error) if is_forbidden(&error) => continue,
            Err(error) => return Err(error.into()),
            Ok(found) => {
                let newest = found.into_iter().next_back().map(|newest| (Arc::clone(store), newest));
                guarded.taken = guarded.taken.or(newest);
            }
        }
        guarded.read.push(store.driver());
    }
    Ok(guarded)
}

/// The driver that `HELM_DRIVER` names.
fn driver(word: &str) -> &'static str {
    match word {
        "secret" => "Secret",
        "configmap" => "ConfigMap",
        "sql" => "SQL",
        _ => "native",
    }
}

fn is_forbidden(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend { forbidden: true, .. })
}

/// Compares the versions of two stores. A move copies all versions unchanged, oldest first, and deletes them in the same
/// order. So until it is finished both stores have at least one version with the same number and time, and the one that has
/// more of them is complete. Whoever is further was continued by a client that does not know of the move, such as Helm.
fn relation(own: &[Summary], other: &[Summary]) -> Relation {
    let mut common = other
        .iter()
        .filter_map(|theirs| own.iter().find(|ours| ours.number == theirs.number).map(|ours| (ours, theirs)))
        .peekable();
    let progress = |versions: &[Summary]| (versions.last().map(|last| last.number), versions.len());
    if common.peek().is_none() || !common.all(|(ours, theirs)| is_same_version(ours, theirs)) {
        Relation::Unrelated
    } else if progress(other) > progress(own) {
        Relation::OtherCounts
    } else {
        Relation::OtherIsCopy
    }
}

/// Returns whether two records describe the same version. The status is not compared: it may change after the copy.
pub(super) fn is_same_version(ours: &Summary, theirs: &Summary) -> bool {
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
            (vec![(1, 10), (2, 20)], vec![(1, 10), (2, 20)], Relation::OtherIsCopy),
            (vec![(1, 10), (2, 20)], vec![(2, 20)], Relation::OtherIsCopy),
            (vec![(1, 10), (2, 20), (3, 30)], vec![(2, 20)], Relation::OtherIsCopy),
            // Helm continued in its own store.
            (vec![(1, 10), (2, 20)], vec![(2, 20), (3, 30)], Relation::OtherCounts),
            // A move to the other store was interrupted while the versions were deleted here.
            (vec![(2, 20)], vec![(1, 10), (2, 20)], Relation::OtherCounts),
            // A move to the other store was interrupted while they were written there.
            (vec![(1, 10), (2, 20)], vec![(1, 10)], Relation::OtherIsCopy),
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

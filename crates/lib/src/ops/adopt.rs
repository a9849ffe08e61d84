//! `adopt`: move the records of a release to another store, in either direction. Nothing else moves a release: every other
//! operation works in the store that holds it.

use std::fmt;
use std::sync::Arc;

use pintle_release::{ReleaseVersion, Store, Summary};

use crate::lifecycle::record_metadata;
use crate::records::owners::{self, Located};
use crate::records::{Records, all_stores};
use crate::{Error, Result, Session};

/// Which release to move, and where to.
#[derive(Clone)]
pub struct AdoptRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The store that is to hold the release. It is searched for among all stores of the session.
    pub to: Arc<dyn Store>,
}

impl fmt::Debug for AdoptRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("AdoptRequest");
        shown.field("name", &self.name).field("namespace", &self.namespace);
        shown.field("to", &self.to.driver()).finish()
    }
}

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Adopted {
    /// The `HELM_DRIVER` of the store that the release was moved from; `None` if it was in the other one already.
    pub from: Option<&'static str>,
    /// The `HELM_DRIVER` of the store that holds the release.
    pub to: &'static str,
    /// How many versions the release has; 0 if it does not exist any more, and only a marker of it was deleted.
    pub versions: usize,
}

/// Moves all versions of a release to a store. The objects of the release are not changed.
///
/// The versions are copied first and deleted last, so that an interrupted move loses nothing, and repeating it finishes it.
/// A release that leaves a store in Helm's format leaves a marker there, which makes Helm refuse to install or upgrade a
/// release of that name; see [`pintle_release::helm::marker`].
///
/// ```no_run
/// # use std::sync::Arc;
/// # use pintle::{Session, cluster::{Cluster, store::HelmSecrets}, ops::{AdoptRequest, adopt}};
/// # async fn example(session: Session, cluster: Cluster) -> pintle::Result<()> {
/// let to = Arc::new(HelmSecrets::new(cluster));
/// let request = AdoptRequest { name: "web".to_owned(), namespace: "default".to_owned(), to };
/// let adopted = adopt(&session, &request).await?;
/// println!("{} versions are in Helm's Secrets", adopted.versions);
/// # Ok(()) }
/// ```
///
/// # Errors
/// When no store holds the release, two stores hold different releases of the name, or another client is working on it. The
/// release then stays where it is.
pub async fn adopt(session: &Session, request: &AdoptRequest) -> Result<Adopted> {
    session.cluster.check_reachable().await?;
    let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
    let (to, word) = (&request.to, request.to.driver_word());
    let others = all_stores(session).into_iter().filter(|store| store.driver() != to.driver());
    let stores: Vec<Arc<dyn Store>> = std::iter::once(Arc::clone(to)).chain(others).collect();
    // The other store is preferred where both have the same versions: then an earlier move was interrupted.
    let mut found = owners::find(&stores, namespace, name).await?;
    found.ensure_single_owner(name)?;
    found.ensure_not_moved_away(&stores, namespace, name)?;
    if found.history.is_empty() {
        return remove_stale_markers(session, &stores, request).await;
    }
    let mut from = None;
    if found.store.driver() != to.driver() {
        import(session, &mut found, request).await?;
        from = Some(found.store.driver_word());
        let source = Arc::clone(&found.store);
        finish(session, &source, &found.history, request).await?;
    }
    for (copy, versions) in found.copies.iter().filter(|(copy, _)| copy.driver() != to.driver()) {
        owners::forget(copy, versions, word, (namespace, name)).await?;
        from = from.or(Some(copy.driver_word()));
    }
    if from.is_none() {
        // A move that was interrupted at its end may have left objects that are no versions.
        for other in &stores[1..] {
            other.forget(namespace, name, &[]).await?;
        }
    }
    if to.moved_to(namespace, name).is_some() {
        to.remove_marker(namespace, name).await?;
    }
    Ok(Adopted { from, to: word, versions: found.history.len() })
}

/// Deletes the markers of a release that is gone.
async fn remove_stale_markers(
    session: &Session,
    stores: &[Arc<dyn Store>],
    request: &AdoptRequest,
) -> Result<Adopted> {
    let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
    let marked = |store: &&Arc<dyn Store>| store.moved_to(namespace, name).is_some();
    let marked: Vec<&Arc<dyn Store>> = stores.iter().filter(marked).collect();
    if marked.is_empty() {
        return Err(Records::in_store(session, &request.to, namespace, name).missing().await);
    }
    for store in marked {
        store.remove_marker(namespace, name).await?;
    }
    Ok(Adopted { from: None, to: request.to.driver_word(), versions: 0 })
}

/// Copies all versions to the other store, while a lease keeps other clients away.
async fn import(session: &Session, found: &mut Located, request: &AdoptRequest) -> Result<()> {
    let records = Records::in_store(session, &found.store, &request.namespace, &request.name);
    let Some(last) = found.history.last_mut() else { return Ok(()) };
    records.ensure_unlocked(last).await?;
    let lease = session.lease();
    records.set_lease(last, Some(&lease)).await?;
    let number = last.number;
    let import = async {
        let versions = load(&records, &found.history, request.to.driver()).await?;
        Ok::<_, Error>(request.to.import(&versions).await?)
    };
    let imported = records.race_with_lease(number, &lease, import).await;
    if let Err(error) = &imported {
        let is_copied_already = found.copies.iter().any(|(copy, _)| copy.driver() == request.to.driver());
        // The native store deletes what it could not import. Another client that has taken over may be copying itself.
        let deletes_itself = request.to.driver() == "native";
        if !is_copied_already && !deletes_itself && !matches!(error, Error::LeaseLost { .. }) {
            let numbers: Vec<u64> = found.history.iter().map(|version| version.number).collect();
            // Copies that stay are harmless: the release is where it was, and the next operation deletes them.
            let _ = request.to.forget(&request.namespace, &request.name, &numbers).await;
        }
        records.release_lease(&lease).await;
    }
    imported
}

/// Deletes the versions that were copied.
async fn finish(
    session: &Session,
    source: &Arc<dyn Store>,
    history: &[Summary],
    request: &AdoptRequest,
) -> Result<()> {
    let Some(last) = history.last() else { return Ok(()) };
    let at = (request.namespace.as_str(), request.name.as_str());
    source.leave_marker(last, request.to.driver_word()).await?;
    // Helm has no leases and may have continued before it could see the marker. Then its records win, and the next move
    // copies the new ones.
    let records = Records::in_store(session, source, at.0, at.1);
    let now = records.history().await?;
    if now.last().is_some_and(|now| now.number > last.number) {
        source.remove_marker(at.0, at.1).await?;
        return Err(Error::Pending { lease: None });
    }
    let numbers: Vec<u64> = history.iter().map(|version| version.number).collect();
    Ok(source.forget(at.0, at.1, &numbers).await?)
}

/// Loads versions as the store of a driver keeps them.
async fn load(records: &Records<'_>, history: &[Summary], driver: &str) -> Result<Vec<ReleaseVersion>> {
    let mut versions = Vec::new();
    for summary in history {
        let mut version = records.load(summary.number).await?;
        if driver != "native" {
            record_metadata::forget_source_chart(&mut version.chart);
        }
        versions.push(version);
    }
    Ok(versions)
}

//! `adopt`: move the records of a release from another store into the session's own.

use std::sync::Arc;

use pintle_release::{Store, Summary};

use crate::records::Records;
use crate::{Error, Result, Session};

/// Moves all versions of a release into the session's own store and gives their number.
///
/// # Errors
/// When no other store has the release, or someone is at work on it. What was not moved stays where it was.
pub async fn adopt(session: &Session, namespace: &str, name: &str) -> Result<usize> {
    session.cluster.reach().await?;
    if !Records::of(session, namespace, name).history().await?.is_empty() {
        return Ok(0);
    }
    match if_foreign(session, namespace, name).await? {
        0 => Err(Error::NoSuchRelease { name: name.to_owned() }),
        moved => Ok(moved),
    }
}

/// The versions of a release in the session's own store, oldest first, after one that only another store has was moved
/// there.
pub(super) async fn history(session: &Session, records: &Records<'_>) -> Result<Vec<Summary>> {
    let history = records.history().await?;
    if !history.is_empty() || session.others.is_empty() {
        return Ok(history);
    }
    let (namespace, name) = records.of_whom();
    match if_foreign(session, namespace, name).await? {
        0 => Ok(history),
        _ => records.history().await,
    }
}

/// Moves a release that the session's own store does not have; gives the number of versions moved.
async fn if_foreign(session: &Session, namespace: &str, name: &str) -> Result<usize> {
    for other in &session.others {
        let moved = from(session, other, namespace, name).await?;
        if moved > 0 {
            return Ok(moved);
        }
    }
    Ok(0)
}

async fn from(session: &Session, other: &Arc<dyn Store>, namespace: &str, name: &str) -> Result<usize> {
    let history = other.history(namespace, name).await?;
    if let Some(last) = history.last()
        && last.status.is_pending()
    {
        return Err(Error::Pending { claim: last.claim.clone().map(Box::new) });
    }
    for summary in &history {
        if let Some(version) = other.get(namespace, name, summary.number).await? {
            session.store.create(&version, None, None).await?;
        }
    }
    // Only when everything is in the new place is anything taken from the old one.
    for summary in &history {
        other.delete(namespace, name, summary.number).await?;
    }
    Ok(history.len())
}

//! `history`: list the versions of a release.

use pintle_release::Summary;

use super::name;
use crate::records::Records;
use crate::{Error, Result, Session};

/// Lists the newest `max` versions of a release, oldest first.
///
/// # Errors
/// When there is no such release, or none of its records can be read.
pub async fn history(session: &Session, namespace: &str, name: &str, max: usize) -> Result<Vec<Summary>> {
    session.cluster.check_reachable().await?;
    if !name::is_valid(name) {
        return Err(Error::InvalidName { prefix: "release name is invalid", name: name.to_owned() });
    }
    let (records, mut history) = Records::find_with_history(session, namespace, name).await?;
    if history.is_empty() {
        return Err(records.missing().await);
    }
    if max > 0 && history.len() > max {
        history.drain(..history.len() - max);
    }
    Ok(history)
}

/// All versions of a release, oldest first, in the first store of the session that has any; none if there is no such release.
/// Later stores are not asked: a controller asks for each release again and again, and an operation that changes anything
/// looks for other owners itself.
///
/// # Errors
/// When a store cannot be read.
pub async fn versions(session: &Session, namespace: &str, name: &str) -> Result<Vec<Summary>> {
    for store in std::iter::once(&session.store).chain(&session.other_stores) {
        let versions = store.history(namespace, name).await?;
        if !versions.is_empty() {
            return Ok(versions);
        }
    }
    Ok(Vec::new())
}

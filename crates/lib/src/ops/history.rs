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

/// All versions of a release, oldest first, in the store that operations on it work in; none if there is no such release.
///
/// # Errors
/// When a store cannot be read.
pub async fn versions(session: &Session, namespace: &str, name: &str) -> Result<Vec<Summary>> {
    Ok(Records::find_with_history(session, namespace, name).await?.1)
}

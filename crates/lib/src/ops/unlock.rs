//! `unlock`: see who is at executor on a release, and free it when nobody is.

use pintle_release::{Lease, Status, Summary};

use crate::records::Records;
use crate::{Error, Result, Session};

/// What stood in the way of a release.
#[derive(Clone, Debug)]
pub struct Unlocked {
    /// The version that is pending, if one is.
    pub pending: Option<Summary>,
    /// Whose lease it is, where a lease was made.
    pub lease: Option<Lease>,
    /// Whether the holder can be taken for dead.
    pub abandoned: bool,
    /// Whether the version was written off.
    pub freed: bool,
}

/// Shows who is at executor on a release; with `free`, marks the pending version as failed, so that executor can go on.
///
/// # Errors
/// When there is no such release, or the record cannot be written.
pub async fn unlock(session: &Session, namespace: &str, name: &str, free: bool) -> Result<Unlocked> {
    session.cluster.check_reachable().await?;
    let records = Records::find(session, namespace, name).await?;
    let mut history = records.existing_history().await?;
    let last = history.last_mut().ok_or_else(|| Error::NoSuchRelease { name: name.to_owned() })?;
    let lease = last.lease.clone();
    let abandoned = lease.as_ref().is_some_and(|lease| records.is_abandoned(lease));
    let is_open = last.status.is_pending() || (last.status == Status::Uninstalling && lease.is_some());
    if !is_open {
        return Ok(Unlocked { pending: None, lease, abandoned, freed: false });
    }
    let pending = Some(last.clone());
    if free {
        records.mark_interrupted(last).await?;
    }
    Ok(Unlocked { pending, lease, abandoned, freed: free })
}

//! `unlock`: show who is working on a release, and release it when nobody is.

use pintle_release::{Lease, Status, Summary};

use crate::records::Records;
use crate::{Error, Result, Session};

/// The lock of a release.
#[derive(Clone, Debug)]
pub struct Unlocked {
    /// The pending version, if there is one.
    pub pending: Option<Summary>,
    /// Its lease; `None` if the client does not use leases, as Helm.
    pub lease: Option<Lease>,
    /// Whether the lease has expired or its holder is known to be dead.
    pub abandoned: bool,
    /// Whether the version was marked as failed.
    pub freed: bool,
}

/// Returns who is working on a release. With `free`, marks the pending version as failed, so that other operations
/// can continue.
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

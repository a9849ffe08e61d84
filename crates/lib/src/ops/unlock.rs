//! `unlock`: who is working on a release, and how to continue when nobody is.

use pintle_release::{Lease, Status, Summary};

use crate::records::Records;
use crate::{Error, Result, Session};

/// The lock of a release.
#[derive(Clone, Debug)]
pub struct LockStatus {
    /// The pending version, if there is one.
    pub pending: Option<Summary>,
    /// Its lease; `None` if the client does not use leases, as Helm.
    pub lease: Option<Lease>,
    /// Whether the lease has expired or its holder is known to be dead.
    pub abandoned: bool,
}

/// Returns who is working on a release.
///
/// # Errors
/// When there is no such release.
pub async fn lock_status(session: &Session, namespace: &str, name: &str) -> Result<LockStatus> {
    inspect(session, namespace, name, false).await
}

/// Marks the pending version of a release as failed, so that other operations can continue. Returns who was working on it.
///
/// # Errors
/// When there is no such release, or the record cannot be written.
pub async fn unlock(session: &Session, namespace: &str, name: &str) -> Result<LockStatus> {
    inspect(session, namespace, name, true).await
}

async fn inspect(session: &Session, namespace: &str, name: &str, free: bool) -> Result<LockStatus> {
    session.cluster.check_reachable().await?;
    let records = Records::find(session, namespace, name).await?;
    let mut history = records.existing_history().await?;
    let last = history.last_mut().ok_or_else(|| Error::NoSuchRelease { name: name.to_owned() })?;
    let lease = last.lease.clone();
    let abandoned = lease.as_ref().is_some_and(|lease| records.is_abandoned(lease));
    let is_open = last.status.is_pending() || (last.status == Status::Uninstalling && lease.is_some());
    if !is_open {
        return Ok(LockStatus { pending: None, lease, abandoned });
    }
    let pending = Some(last.clone());
    if free {
        records.mark_interrupted(last).await?;
    }
    Ok(LockStatus { pending, lease, abandoned })
}

//! `unlock`: see who is at work on a release, and free it when nobody is.

use pintle_release::{Claim, Status, Summary};

use crate::records::Records;
use crate::{Error, Result, Session};

/// What stood in the way of a release.
#[derive(Clone, Debug)]
pub struct Unlocked {
    /// The version that is pending, if one is.
    pub pending: Option<Summary>,
    /// Whose claim it is, where a claim was made.
    pub claim: Option<Claim>,
    /// Whether the holder can be taken for dead.
    pub abandoned: bool,
    /// Whether the version was written off.
    pub freed: bool,
}

/// Shows who is at work on a release; with `free`, marks the pending version as failed, so that work can go on.
///
/// # Errors
/// When there is no such release, or the record cannot be written.
pub async fn unlock(session: &Session, namespace: &str, name: &str, free: bool) -> Result<Unlocked> {
    session.cluster.reach().await?;
    let records = Records::find(session, namespace, name).await?;
    let mut history = records.some_history().await?;
    let last = history.last_mut().ok_or_else(|| Error::NoSuchRelease { name: name.to_owned() })?;
    let claim = last.claim.clone();
    let abandoned = claim.as_ref().is_some_and(|claim| records.is_abandoned(claim));
    let is_open = last.status.is_pending() || (last.status == Status::Uninstalling && claim.is_some());
    if !is_open {
        return Ok(Unlocked { pending: None, claim, abandoned, freed: false });
    }
    let pending = Some(last.clone());
    if free {
        records.write_off(last).await?;
    }
    Ok(Unlocked { pending, claim, abandoned, freed: free })
}

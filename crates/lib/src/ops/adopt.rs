//! `adopt`: move the records of a release from another store into the session's own. Upgrades and rollbacks do so too
//! when they succeed; until then the release stays where it is.

use std::time::Duration;

use pintle_release::{Lease, ReleaseVersion, Status, StoreError, Summary};
use pintle_tree::LogLine;

use crate::deploy::Executor;
use crate::records::{Records, excess_versions};
use crate::{Error, Reporter, Result, Session};

/// Moves all versions of a release into the session's own store and returns their number.
///
/// # Errors
/// When no other store holds the release, or another client is working on it. The release then stays where it is.
pub async fn adopt(session: &Session, namespace: &str, name: &str) -> Result<usize> {
    session.cluster.check_reachable().await?;
    let (records, mut history) = Records::find_for_update(session, namespace, name, false).await?;
    let Some(last) = history.last_mut() else {
        return Err(Error::NoSuchRelease { name: name.to_owned() });
    };
    if !records.is_in_other_store() {
        return Ok(0);
    }
    records.ensure_unlocked(last).await?;
    let lease = session.lease();
    records.set_lease(last, Some(&lease)).await?;
    let number = last.number;
    let import = async {
        let versions = load(&records, &history, &[]).await?;
        Ok::<_, Error>(session.store.import(&versions).await?)
    };
    let imported = tokio::select! {
        imported = import => imported,
        error = keep_lease_renewed(session, &records, number, &lease) => Err(error),
    };
    if imported.is_err() {
        release_lease(&records, &lease).await;
    }
    imported?;
    // Helm has no leases and may have continued meanwhile. Then its records win, and the next move copies the new
    // ones.
    let now = records.history().await?;
    if now.last().map(|last| last.number) > history.last().map(|last| last.number) {
        return Err(Error::Pending { lease: None });
    }
    delete_versions(&records, history.iter().map(|version| version.number)).await?;
    Ok(history.len())
}

/// Keeps the lease on a release renewed while it is moved, until another client has taken over.
async fn keep_lease_renewed(session: &Session, records: &Records<'_>, number: u64, lease: &Lease) -> Error {
    loop {
        tokio::time::sleep((session.lease_duration / 3).max(Duration::from_millis(100))).await;
        let renewed = records.renew(number, &lease.renewed_at(session.clock.now())).await;
        // A store that is unreachable for a while is no reason to stop: the lease is ours until it expires.
        if let Err(error @ Error::Store(StoreError::Conflict { .. } | StoreError::NotFound { .. })) = renewed
        {
            return Error::LeaseLost { source: Box::new(error) };
        }
    }
}

/// Releases the lease after a failed move. Errors are ignored: the move already has one to return, and the lease
/// expires anyway.
async fn release_lease(records: &Records<'_>, lease: &Lease) {
    let Ok(mut now) = records.history().await else { return };
    let ours = |last: &&mut Summary| last.lease.as_ref().is_some_and(|now| now.holder == lease.holder);
    if let Some(last) = now.last_mut().filter(ours) {
        let _ = records.set_lease(last, None).await;
    }
}

/// The versions before a new one, and what happens to them.
pub(super) struct ReplacedVersions<'a> {
    /// The versions before the new one, oldest first.
    pub(super) history: &'a [Summary],
    /// The numbers of those that it supersedes.
    pub(super) superseded: &'a [u64],
    /// How many versions to keep; 0 for all.
    pub(super) max_history: u64,
}

/// Moves a release into the session's own store together with its new version, which is recorded as deployed there.
/// Returns false when the move fails; the release then continues in its current store.
///
/// # Errors
/// When another client has taken the release over.
pub(super) async fn with_new_version(
    executor: &mut Executor<'_>,
    records: &Records<'_>,
    replaced: &ReplacedVersions<'_>,
    description: &str,
    reporter: &mut dyn Reporter,
) -> Result<bool> {
    let mut version = executor.version.clone();
    version.info.status = Status::Deployed;
    description.clone_into(&mut version.info.description);
    let versions_to_keep = versions_to_keep(replaced.history, replaced.max_history);
    let import = async {
        let mut versions = load(records, &versions_to_keep, replaced.superseded).await?;
        versions.push(version.clone());
        Ok(records.own_store().import(&versions).await?)
    };
    match executor.while_leased(import).await {
        Ok(()) => {}
        Err(error @ Error::LeaseLost { .. }) => return Err(error),
        Err(error) => {
            let attributes =
                vec![("store", records.store().driver().to_owned()), ("error", error.to_string())];
            reporter.log_extra(LogLine::warn("the release stays in Helm's records", attributes));
            return Ok(false);
        }
    }
    let number = version.number;
    executor.version = version;
    let old = replaced.history.iter().map(|version| version.number).chain([number]);
    if let Err(error) = delete_versions(records, old).await {
        let attributes = vec![("error", error.to_string())];
        reporter.log_extra(LogLine::warn("cannot delete the moved records yet", attributes));
    }
    Ok(true)
}

/// Returns the versions that are kept besides a new one.
fn versions_to_keep(history: &[Summary], max_history: u64) -> Vec<Summary> {
    let old = if max_history == 0 { Vec::new() } else { excess_versions(history, max_history - 1) };
    history.iter().filter(|version| !old.contains(&version.number)).cloned().collect()
}

/// Loads versions, with the status that they have after a new one.
async fn load(records: &Records<'_>, history: &[Summary], superseded: &[u64]) -> Result<Vec<ReleaseVersion>> {
    let mut versions = Vec::new();
    for summary in history {
        let mut version = records.load(summary.number).await?;
        if superseded.contains(&summary.number) {
            version.info.status = Status::Superseded;
        }
        versions.push(version);
    }
    Ok(versions)
}

/// Deletes moved records, newest last: as long as it exists, an interrupted move can be recognized.
async fn delete_versions(records: &Records<'_>, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
    for number in numbers {
        records.delete(number).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_keeps_as_many_versions_as_an_upgrade_would() {
        let version = |(number, status)| Summary { number, status, ..Summary::default() };
        let statuses = [Status::Deployed, Status::Failed, Status::Failed, Status::Failed];
        let history: Vec<Summary> = (1..).zip(statuses).map(version).collect();
        let numbers =
            |most| versions_to_keep(&history, most).iter().map(|version| version.number).collect::<Vec<_>>();
        assert_eq!(numbers(0), [1, 2, 3, 4]);
        assert_eq!(numbers(5), [1, 2, 3, 4]);
        assert_eq!(numbers(3), [1, 4]);
        assert_eq!(numbers(1), [1]);
    }
}

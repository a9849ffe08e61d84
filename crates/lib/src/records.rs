//! The records of one release: its versions, which store holds them, and whether another client is working on it.

use std::sync::Arc;
use std::time::Duration;

use pintle_release::{
    HookPhase, Lease, RecordPart, ReleaseVersion, Status, Store, StoreError, Summary, VersionId, VersionRef,
    interrupted_description,
};

use crate::lifecycle::record_metadata;
use crate::{Error, Result, Session};

pub(crate) mod owners;

/// The records of one release in one store.
pub(crate) struct Records<'s> {
    session: &'s Session,
    store: Arc<dyn Store>,
    namespace: String,
    name: String,
}

/// The stores that a session searches, its own first.
pub(crate) fn searched_stores(session: &Session) -> Vec<Arc<dyn Store>> {
    std::iter::once(&session.store).chain(&session.other_stores).cloned().collect()
}

/// All stores of a session.
pub(crate) fn all_stores(session: &Session) -> Vec<Arc<dyn Store>> {
    searched_stores(session).into_iter().chain(session.excluded_stores.iter().cloned()).collect()
}

impl<'s> Records<'s> {
    /// Returns the records of a release in the session's own store.
    pub(crate) fn new(session: &'s Session, namespace: &str, name: &str) -> Records<'s> {
        let store = Arc::clone(&session.store);
        Records { session, store, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the records of a release in whichever store holds it; in the session's own store when none does.
    pub(crate) async fn find(session: &'s Session, namespace: &str, name: &str) -> Result<Records<'s>> {
        if session.other_stores.is_empty() {
            return Ok(Records::new(session, namespace, name));
        }
        Ok(Records::find_with_history(session, namespace, name).await?.0)
    }

    /// As [`Records::find`], with all versions, oldest first, so that no store is queried twice.
    pub(crate) async fn find_with_history(
        session: &'s Session,
        namespace: &str,
        name: &str,
    ) -> Result<(Records<'s>, Vec<Summary>)> {
        let found = owners::find(&searched_stores(session), namespace, name).await?;
        let records = Records { store: found.store, ..Records::new(session, namespace, name) };
        Ok((records, found.history))
    }

    /// As [`Records::find_with_history`], for an operation that changes the release. It works in the store that holds the
    /// release. Unless it is a dry run, also deletes the copies that an interrupted move left in another store.
    ///
    /// # Errors
    /// When more than one store holds the name, or only a store that this session excludes.
    pub(crate) async fn find_for_update(
        session: &'s Session,
        namespace: &str,
        name: &str,
        dry_run: bool,
    ) -> Result<(Records<'s>, Vec<Summary>)> {
        let searched = searched_stores(session);
        let found = owners::find(&searched, namespace, name);
        let guarded = owners::find_first(&session.excluded_stores, namespace, name);
        let (found, guarded) = futures::join!(found, guarded);
        let mut found = found?;
        found.ensure_single_owner(name)?;
        let guarded = guarded?;
        if let Some((store, newest)) = guarded.taken {
            let (name, kept) = (name.to_owned(), store.driver());
            let here = found.store.driver();
            let is_copy = |version: &Summary| {
                version.number == newest.number && owners::is_same_version(version, &newest)
            };
            return Err(match found.history.as_slice() {
                [] => Error::InOtherStore { name, kept, here },
                history if history.iter().any(is_copy) => {
                    Error::MoveInterrupted { name, stores: [here, kept] }
                }
                _ => Error::DuplicateRelease { name, stores: [here, kept] },
            });
        }
        found.note_read(guarded.read);
        found.ensure_not_moved_away(&all_stores(session), namespace, name)?;
        if !dry_run {
            found.delete_copies(namespace, name).await;
        }
        let records = Records { store: found.store, ..Records::new(session, namespace, name) };
        Ok((records, found.history))
    }

    /// Returns the records of a release in one store.
    pub(crate) fn in_store(
        session: &'s Session,
        store: &Arc<dyn Store>,
        namespace: &str,
        name: &str,
    ) -> Records<'s> {
        Records { store: Arc::clone(store), ..Records::new(session, namespace, name) }
    }

    /// Deletes the markers of a release that no store holds any more, so that its name is free for Helm again.
    pub(crate) async fn remove_markers(&self) -> Result<()> {
        for store in all_stores(self.session) {
            if store.moved_to(&self.namespace, &self.name).is_some() {
                store.remove_marker(&self.namespace, &self.name).await?;
            }
        }
        Ok(())
    }

    /// Returns whether the release is in a store other than the session's own.
    pub(crate) fn is_in_other_store(&self) -> bool {
        !Arc::ptr_eq(&self.store, &self.session.store)
    }

    /// Returns the store that holds the release.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Adds what a version can keep in this store beyond Helm's format, which has a size limit: the chart as it was loaded,
    /// with its subcharts.
    pub(crate) fn complete(&self, version: &mut ReleaseVersion, chart: &pintle_chart::Chart) {
        if self.store.driver() == "native" {
            record_metadata::record_source_chart(&mut version.chart, chart);
        }
    }

    /// Returns all versions, oldest first; empty when there is no such release.
    pub(crate) async fn history(&self) -> Result<Vec<Summary>> {
        Ok(self.store.history(&self.namespace, &self.name).await?)
    }

    /// Returns all versions, oldest first.
    ///
    /// # Errors
    /// When there is no such release.
    pub(crate) async fn existing_history(&self) -> Result<Vec<Summary>> {
        let history = self.history().await?;
        if history.is_empty() { Err(self.missing().await) } else { Ok(history) }
    }

    /// Whether a store of the session has records of the release, none of which can be read.
    pub(crate) async fn is_unreadable(&self) -> bool {
        for store in std::iter::once(&self.session.store).chain(&self.session.other_stores) {
            // Errors are ignored: the store was queried before, and its error was reported then.
            if store.has_records(&self.namespace, &self.name).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Why there is no version at all: there is no such release, or none of its records can be read.
    pub(crate) async fn missing(&self) -> Error {
        let name = self.name.clone();
        match self.is_unreadable().await {
            true => Error::NoReadableVersion { name },
            false => Error::NoSuchRelease { name },
        }
    }

    /// Loads the full record of a version.
    pub(crate) async fn load(&self, number: u64) -> Result<ReleaseVersion> {
        match self.store.get(&self.namespace, &self.name, number).await? {
            Some(version) => Ok(version),
            None => Err(Error::NoSuchRelease { name: self.name.clone() }),
        }
    }

    /// Loads the version that a reference names.
    pub(crate) async fn resolve(&self, reference: &VersionRef) -> Result<ReleaseVersion> {
        if let VersionRef::Number(number) = reference {
            return match self.store.get(&self.namespace, &self.name, *number).await? {
                Some(version) => Ok(version),
                None => Err(self.version_not_found(*number).await),
            };
        }
        if *reference == VersionRef::Current {
            return self.newest(RecordPart::All).await;
        }
        let history = self.existing_history().await?;
        self.load(self.number(&history, reference)?).await
    }

    /// Loads the newest version.
    pub(crate) async fn newest(&self, part: RecordPart) -> Result<ReleaseVersion> {
        match self.store.newest(&self.namespace, &self.name, part).await? {
            Some(version) => Ok(version),
            None => Err(self.missing().await),
        }
    }

    /// Returns the error for a missing version: the release does not exist, or it has other versions.
    async fn version_not_found(&self, number: u64) -> Error {
        let name = self.name.clone();
        match self.history().await.unwrap_or_default() {
            history if history.is_empty() => Error::NoSuchRelease { name },
            history => {
                let known = history.iter().map(|version| version.number).collect();
                Error::VersionNotFound { name, number, known }
            }
        }
    }

    /// Returns the number of the version that a reference names. An abbreviated id must match exactly one version.
    pub(crate) fn number(&self, history: &[Summary], reference: &VersionRef) -> Result<u64> {
        let ends_so =
            |version: &&Summary, end: &str| version.id.is_some_and(|id| id.to_string().ends_with(end));
        let found: Vec<&Summary> = match reference {
            VersionRef::Current => history.last().into_iter().collect(),
            VersionRef::Number(number) => return Ok(*number),
            VersionRef::Id(id) => history.iter().filter(|version| version.id == Some(*id)).collect(),
            VersionRef::Suffix(end) => history.iter().filter(|version| ends_so(version, end)).collect(),
            VersionRef::Before(steps) => history.iter().rev().nth(*steps as usize).into_iter().collect(),
        };
        match found.as_slice() {
            [version] => Ok(version.number),
            found => Err(Error::BadVersion {
                name: self.name.clone(),
                reference: reference.to_string(),
                candidates: found.iter().filter_map(|version| version.id).map(|id| id.to_string()).collect(),
            }),
        }
    }

    /// Fails if another client is working on the release. A pending version whose lease has expired, or whose holder
    /// is known to be dead, is marked as failed and does not block.
    pub(crate) async fn ensure_unlocked(&self, last: &mut Summary) -> Result<()> {
        if self.is_interrupted(last)? { self.mark_interrupted(last).await } else { Ok(()) }
    }

    /// As [`Records::ensure_unlocked`], for dry runs: the version is marked as failed in memory only.
    pub(crate) fn ensure_unlocked_dry_run(&self, last: &mut Summary) -> Result<()> {
        if self.is_interrupted(last)? {
            last.status = Status::Failed;
        }
        Ok(())
    }

    /// Returns whether the last version was interrupted and has to be marked as failed first.
    ///
    /// # Errors
    /// When its holder is still working on it.
    fn is_interrupted(&self, last: &Summary) -> Result<bool> {
        // Helm leaves `uninstalling` behind when it is interrupted and does not treat it as pending. Only a lease
        // means that an uninstall is still running.
        let is_open =
            last.status.is_pending() || (last.status == Status::Uninstalling && last.lease.is_some());
        match &last.lease {
            None if is_open => Err(Error::Pending { lease: None }),
            // A lease on a version that is not pending belongs to a client that is moving the release into another
            // store.
            Some(lease) if !self.is_abandoned(lease) => {
                Err(Error::Pending { lease: Some(Box::new(lease.clone())) })
            }
            _ => Ok(is_open),
        }
    }

    /// Returns whether a lease can be taken over.
    pub(crate) fn is_abandoned(&self, lease: &Lease) -> bool {
        let has_expired = lease.is_expired(self.session.clock.now());
        self.session.holder.can_take_over(&lease.holder, has_expired)
    }

    /// Marks a pending version as failed because its client is gone. Hooks that were running get the phase `Unknown`.
    pub(crate) async fn mark_interrupted(&self, pending: &mut Summary) -> Result<()> {
        let mut version = self.load(pending.number).await?;
        let holder = pending.lease.as_ref().map_or("its holder", |lease| lease.holder.as_str());
        let description = interrupted_description(holder, version.info.status);
        version.info.status = Status::Failed;
        version.info.description.clone_from(&description);
        for hook in version.hooks.iter_mut().filter(|hook| hook.last_run.phase == HookPhase::Running) {
            hook.last_run.phase = HookPhase::Unknown;
        }
        self.compare_and_swap(pending, &version, None).await?;
        pending.description = description;
        Ok(())
    }

    /// Creates a version after the existing ones. Prunes first, so that the limit of the history also holds while the
    /// new version is pending, as in Helm.
    pub(crate) async fn create(
        &self,
        version: &mut ReleaseVersion,
        lease: Option<&Lease>,
        history: &[Summary],
        max_history: u64,
    ) -> Result<()> {
        let pruned = match max_history {
            0 => Vec::new(),
            most => self.prune(history, most - 1).await?,
        };
        // The store checks that the predecessor still exists, so a pruned version cannot be it.
        let after = history.iter().rev().find(|version| !pruned.contains(&version.number));
        let clock = &self.session.clock;
        version.id = Some(VersionId::new(clock.now().unix_millis(), clock.random()));
        self.store.create(version, lease, after).await?;
        if self.store.moved_to(&self.namespace, &self.name).is_some() {
            // The marker is stale: this is the store of the release now. A marker that stays makes Helm refuse to work
            // on the release, which is no reason to fail; the next operation tries again.
            let _ = self.store.remove_marker(&self.namespace, &self.name).await;
        }
        Ok(())
    }

    /// Replaces the newest version if its record has not changed since it was observed.
    pub(crate) async fn compare_and_swap(
        &self,
        observed: &mut Summary,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
    ) -> Result<()> {
        observed.state = self.store.compare_and_swap(observed, version, lease).await?;
        // Kept up to date, so that further swaps of the same operation start from what it has written itself.
        (observed.status, observed.lease) = (version.info.status, lease.cloned());
        Ok(())
    }

    /// Sets or clears the lease on the newest version if its record has not changed since it was observed.
    pub(crate) async fn set_lease(&self, observed: &mut Summary, lease: Option<&Lease>) -> Result<()> {
        observed.state = self.store.set_lease(observed, lease).await?;
        observed.lease = lease.cloned();
        Ok(())
    }

    /// Runs a future that changes no record, while a lease on the newest version keeps other clients away. The lease is
    /// released afterwards, unless it is lost. Users who may not change records work without a lease.
    pub(crate) async fn while_leased<T>(
        &self,
        last: &mut Summary,
        doing: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let lease = self.session.lease();
        match self.set_lease(last, Some(&lease)).await {
            Err(error) if error.is_forbidden_store() => return doing.await,
            held => held?,
        }
        let outcome = self.race_with_lease(last.number, &lease, doing).await;
        if !matches!(outcome, Err(Error::LeaseLost { .. })) {
            self.release_lease(&lease).await;
        }
        outcome
    }

    /// Runs a future while a lease is renewed, until another client has taken over.
    pub(crate) async fn race_with_lease<T>(
        &self,
        number: u64,
        lease: &Lease,
        doing: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            outcome = doing => outcome,
            error = self.keep_lease_renewed(number, lease) => Err(error),
        }
    }

    async fn keep_lease_renewed(&self, number: u64, lease: &Lease) -> Error {
        let session = self.session;
        loop {
            tokio::time::sleep((session.lease_duration / 3).max(Duration::from_millis(100))).await;
            let renewed = self.renew(number, &lease.renewed_at(session.clock.now())).await;
            // A store that is unreachable for a while is no reason to stop: the lease is ours until it expires.
            if let Err(error @ Error::Store(StoreError::Conflict { .. } | StoreError::NotFound { .. })) =
                renewed
            {
                return Error::LeaseLost { source: Box::new(error) };
            }
        }
    }

    /// Releases the lease on the newest version, if it is still ours. Errors are ignored: the lease expires anyway.
    pub(crate) async fn release_lease(&self, lease: &Lease) {
        let Ok(mut now) = self.history().await else { return };
        let ours = |last: &&mut Summary| last.lease.as_ref().is_some_and(|now| now.holder == lease.holder);
        if let Some(last) = now.last_mut().filter(ours) {
            let _ = self.set_lease(last, None).await;
        }
    }

    /// Replaces a version that is already in the store; with `held`, only while that lease is on it.
    pub(crate) async fn update(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        held: Option<&Lease>,
    ) -> Result<()> {
        Ok(self.store.update(version, lease, held).await?)
    }

    /// Renews the lease on a version.
    pub(crate) async fn renew(&self, number: u64, lease: &Lease) -> Result<()> {
        Ok(self.store.renew(&self.namespace, &self.name, number, lease).await?)
    }

    /// Deletes the oldest versions until at most `keep` are left and returns their numbers. The deployed version
    /// always stays.
    async fn prune(&self, history: &[Summary], keep: u64) -> Result<Vec<u64>> {
        let old = excess_versions(history, keep);
        for number in &old {
            self.delete(*number).await?;
        }
        Ok(old)
    }

    /// Deletes a version. One that is already gone is not an error.
    pub(crate) async fn delete(&self, number: u64) -> Result<()> {
        match self.store.delete(&self.namespace, &self.name, number).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Records::delete`], but objects that the release owns stay.
    pub(crate) async fn delete_and_orphan(&self, number: u64) -> Result<()> {
        match self.store.delete_and_orphan(&self.namespace, &self.name, number).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Loads the versions other than `base` whose objects may still be in the cluster.
    pub(crate) async fn unfinished(&self, history: &[Summary], base: u64) -> Result<Vec<ReleaseVersion>> {
        let mut versions = Vec::new();
        for number in unfinished_versions(history, base) {
            versions.extend(self.store.get(&self.namespace, &self.name, number).await?);
        }
        Ok(versions)
    }

    /// Marks all deployed versions of a history but one as superseded. `known` is a version that was loaded before.
    pub(crate) async fn supersede_all_but(
        &self,
        number: u64,
        history: &[Summary],
        known: &ReleaseVersion,
    ) -> Result<()> {
        // Helm has no leases, so a version that was pending when the history was read may have been finished by Helm
        // since.
        let fresh = match history.last().is_some_and(|last| last.status.is_pending()) {
            true => Some(self.history().await?),
            false => None,
        };
        for summary in fresh.as_deref().unwrap_or(history) {
            if summary.status == Status::Deployed && summary.number != number {
                let mut version = match summary.number == known.number && fresh.is_none() {
                    true => known.clone(),
                    false => self.load(summary.number).await?,
                };
                version.info.status = Status::Superseded;
                self.update(&version, None, None).await?;
            }
        }
        Ok(())
    }
}

/// Returns the versions other than `but` whose objects may be in the cluster: the last one that was deployed, and all
/// failed ones after it.
fn unfinished_versions(history: &[Summary], but: u64) -> Vec<u64> {
    let newest = |statuses: &[Status]| history.iter().rposition(|version| statuses.contains(&version.status));
    let last_good =
        newest(&[Status::Deployed]).or_else(|| newest(&[Status::Superseded, Status::Uninstalled]));
    let since = &history[last_good.unwrap_or(0)..];
    since.iter().map(|version| version.number).filter(|number| *number != but).collect()
}

/// Returns the oldest versions beyond the newest `keep`. The deployed version always stays.
pub(crate) fn excess_versions(history: &[Summary], keep: u64) -> Vec<u64> {
    let deployed = newest_deployed(history).map(|version| version.number);
    let excess = history.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let old = history.iter().filter(|version| Some(version.number) != deployed);
    old.take(excess).map(|version| version.number).collect()
}

/// Returns the newest version with the status deployed. Several can have it after an interrupted upgrade.
pub(crate) fn newest_deployed(history: &[Summary]) -> Option<&Summary> {
    history.iter().rev().find(|version| version.status == Status::Deployed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_may_be_left_of_everything_since_the_last_version_that_was_deployed() {
        use Status::{Deployed, Failed, Superseded};
        for (statuses, base, expected) in [
            (vec![Superseded, Deployed], 2, vec![]),
            (vec![Superseded, Deployed, Failed, Failed], 2, vec![3, 4]),
            (vec![Superseded, Deployed, Failed], 3, vec![2]),
            (vec![Superseded, Superseded, Failed], 3, vec![2]),
            (vec![Failed, Failed], 2, vec![1]),
            (vec![], 1, vec![]),
        ] {
            let summary = |(number, status)| Summary { number, status, ..Summary::default() };
            let history: Vec<Summary> = (1..).zip(statuses.clone()).map(summary).collect();
            assert_eq!(unfinished_versions(&history, base), expected, "{statuses:?}");
        }
    }
}

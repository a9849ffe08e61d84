//! Creates a version: it is written completely before the release points to it, and the pointer is moved with an
//! optimistic lock.

use std::sync::PoisonError;

use pintle_objects::Object;
use pintle_release::native::Payload;
use pintle_release::{Lease, ReleaseVersion, Status, StoreError, Summary, VersionId};

use super::update::Dependents;
use super::{HistoryCache, MAX_RETRIES, NativeStore, is_missing_kind};
use crate::crds;
use crate::error::{Error, Result};
use crate::store::content::{self, ChartRef};
use crate::store::payload::PayloadSecrets;
use crate::store::{api, application, clock, record};

impl NativeStore {
    /// The release of a new version, created if needed. Installs the CRDs when they are missing.
    pub(super) async fn release_for(&self, version: &ReleaseVersion) -> Result<Object, StoreError> {
        let failed = || api::backend_error("create: failed to create");
        let (namespace, name) = (&version.namespace, &version.name);
        let found = match self.take_cached_release(namespace, name) {
            Some(seen) => seen,
            None => self.release(namespace, name).await.map_err(failed())?,
        };
        if let Some(release) = found {
            if record::is_terminating(&release) {
                let text = format!("the Release object {name:?} is being deleted; try again when it is gone");
                return Err(failed()(Error::InvalidRequest(text)));
            }
            return Ok(release);
        }
        match self.new_release(version).await {
            Err(error) if is_missing_kind(&error) => {
                crds::install(&self.cluster).await.map_err(|error| match error.is_forbidden() {
                    true => StoreError::CrdsMissing { source: Box::new(error) },
                    // A full disk, for instance, is no matter of rights, and an administrator would meet it too.
                    false => api::backend_error("create: failed to install the Release resources")(error),
                })?;
                self.new_release(version).await.map_err(failed())
            }
            made => made.map_err(failed()),
        }
    }

    pub(super) async fn new_release(&self, version: &ReleaseVersion) -> Result<Object> {
        let mut release = record::new_release(version);
        if let Some(application) = application::ensure(&self.cluster, version).await? {
            record::set_owner(&mut release, &application);
        }
        match api::create(&self.cluster, &crds::releases(), &release).await {
            Err(error) if error.is_already_exists() => {
                let found = self.release(&version.namespace, &version.name).await?;
                found.ok_or(error)
            }
            Err(error) => Err(error),
            Ok(made) => {
                if let Some((histories, key)) = self.shared(&version.namespace, &version.name) {
                    histories.create_release(&key, &made);
                }
                Ok(made)
            }
        }
    }

    pub(super) async fn add(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let unwritable =
            |source| StoreError::Unwritable { action: "create", name: version.name.clone(), source };
        let payload = Payload::from_version(version).map_err(unwritable)?;
        let mut release = self.release_for(version).await?;
        if self.is_taken(version, &release).await? {
            return Err(StoreError::Exists { name: version.name.clone(), number: version.number });
        }
        // `is_taken` has repaired the pointer, so the release has changed.
        if record::pointer(&release).is_some_and(|(_, number)| number >= version.number) {
            release = self.release_for(version).await?;
        }
        self.check_predecessor(&release, version, after).await?;
        let moment = version.info.last_deployed.unwrap_or_else(clock::now);
        let id = version.id.unwrap_or_else(|| clock::new_id(moment));
        let name = record::version_name(&version.name, id);
        let secrets = PayloadSecrets::new(&name, &payload);
        let mut object = record::new_version(version, id, lease, &secrets.note);
        record::set_owner(&mut object, &release);
        let created = api::create(&self.cluster, &crds::release_versions(), &object).await;
        let object = created.map_err(api::backend_error("create: failed to create"))?;
        let earlier = record::pointer(&release).is_some().then(|| release.clone());
        let outcome = self.finish((version, &payload), id, &object, &secrets, (release, after)).await;
        match &outcome {
            Ok(object) => {
                self.cache_version(object);
                if let Some(release) = earlier {
                    // The version is stored; the application is optional.
                    let _ = application::update(&self.cluster, &release, version).await;
                }
            }
            // Nothing refers to it, so nothing is lost; its Secrets are deleted with it.
            Err(_) => {
                self.forget_history(&version.namespace, &version.name);
                self.delete_orphan(&object).await;
            }
        }
        outcome.map(drop)
    }

    /// Writes the payload of a version that refers to it. Returns the version, which refers to other Secrets if the chart cannot be
    /// shared: the definition of the kind may be too old to say where it is, or the user may not read the Secret.
    pub(super) async fn write_payload(
        &self,
        object: &Object,
        payload: &Payload,
        secrets: &PayloadSecrets,
    ) -> Result<Object> {
        let Some(chart) = &secrets.chart else {
            return secrets.write(&self.cluster, object).await.map(|()| object.clone());
        };
        if record::payload_ref(object).chart.is_some() {
            let known = self.histories.as_deref().map(HistoryCache::contents);
            let shared = chart.ensure(&self.cluster, object.namespace(), known);
            let (own, is_shared) = futures::try_join!(secrets.write(&self.cluster, object), shared)?;
            let () = own;
            if is_shared {
                return Ok(object.clone());
            }
        }
        let whole = PayloadSecrets::whole(object.name(), payload);
        whole.write(&self.cluster, object).await?;
        let patch = record::payload_patch(&whole.note, object.resource_version());
        let at = (object.namespace(), object.name());
        api::merge_patch(&self.cluster, &crds::release_versions(), at, &patch).await
    }

    /// Whether the number of a new version is taken. A writer may have been killed between deleting the current
    /// version and updating the release; then the pointer is repaired.
    pub(super) async fn is_taken(
        &self,
        version: &ReleaseVersion,
        release: &Object,
    ) -> Result<bool, StoreError> {
        let failed = || api::backend_error("create: failed to create");
        let Some((id, _)) = record::pointer(release).filter(|(_, number)| *number >= version.number) else {
            return Ok(false);
        };
        let (namespace, name) = (&version.namespace, record::version_name(&version.name, id));
        let found = self.cluster.get_by_name(&crds::release_versions(), namespace, &name).await;
        if found.map_err(failed())?.is_some() {
            return Ok(true);
        }
        self.repair_pointer(namespace, &version.name, &name, Dependents::Delete).await.map_err(failed())?;
        let release = self.release(namespace, &version.name).await.map_err(failed())?;
        let pointer = release.as_ref().and_then(record::pointer);
        Ok(pointer.is_some_and(|(_, number)| number >= version.number))
    }

    /// Writes the payload of a new version and points the release to it. Returns the version's object.
    pub(super) async fn finish(
        &self,
        (version, payload): (&ReleaseVersion, &Payload),
        id: VersionId,
        object: &Object,
        secrets: &PayloadSecrets,
        (release, after): (Object, Option<&Summary>),
    ) -> Result<Object, StoreError> {
        let write = self.write_payload(object, payload, secrets);
        // Orphans are listed before the pointer moves: later, a version of the next writer would look like one.
        let (written, orphans) = futures::join!(write, self.orphans(version, &release));
        let object = written.map_err(api::backend_error("create: failed to create"))?;
        self.move_pointer(version, (id, &object), release, after).await?;
        for orphan in orphans.unwrap_or_default().iter().filter(|orphan| orphan.name() != object.name()) {
            self.delete_orphan(orphan).await;
        }
        Ok(object)
    }

    /// Versions to which the release does not point: those with the number of this one, or of the one before it, whose writers
    /// will lose the race or were killed, and those of an earlier release of that name. They can be deleted once this version is
    /// in place.
    pub(super) async fn orphans(&self, version: &ReleaseVersion, release: &Object) -> Result<Vec<Object>> {
        let pointer = record::pointer(release);
        let mut numbers = vec![version.number];
        numbers.extend(pointer.map(|(_, number)| number));
        let key = (version.namespace.clone(), version.name.clone());
        let listed = self.orphans.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let was_listed = listed.is_some();
        let mut found = match listed {
            // Those that were written since then are left to the next writer.
            Some(listed) => listed,
            None => self.versions(&version.namespace, record::selector(&version.name, &numbers)).await?,
        };
        found.retain(|object| {
            let summary = record::version_summary(object);
            match record::belongs_to_release(&summary, pointer) {
                // Listed as an orphan because another version has its number; see `separate_duplicates`.
                true => was_listed,
                false => numbers.contains(&summary.number) || !record::is_owned_by(object, release),
            }
        });
        Ok(found)
    }

    /// Deletes a version to which no release points. If that fails, the next writer does it.
    pub(super) async fn delete_orphan(&self, object: &Object) {
        let at = (object.namespace(), object.name());
        let _ = api::delete(&self.cluster, &crds::release_versions(), at, "").await;
        if let Some(chart) = record::payload_ref(object).chart {
            self.sweep(object.namespace(), &chart).await;
        }
    }

    /// Deletes the Secrets of a chart if no version refers to them any more. If that fails, or the user has no right to, the
    /// next one does it.
    pub(super) async fn sweep(&self, namespace: &str, chart: &ChartRef) {
        let _ = content::sweep(&self.cluster, namespace, chart.label(), &chart.secrets).await;
    }

    pub(super) async fn move_pointer(
        &self,
        version: &ReleaseVersion,
        (id, object): (VersionId, &Object),
        mut release: Object,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let failed = || api::backend_error("create: failed to create");
        for _ in 0..MAX_RETRIES {
            record::set_pointer(&mut release, version, id);
            match api::replace(&self.cluster, &crds::releases(), &release).await {
                Ok(moved) => {
                    self.cache_release(&version.namespace, &version.name, Some(&moved));
                    if let Some((histories, key)) = self.shared(&version.namespace, &version.name) {
                        histories.add_version(&key, &release, &moved, object);
                    }
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_not_found() => return Err(self.conflict(version, None).await),
                Err(error) => return Err(failed()(error)),
            }
            let now = self.release(&version.namespace, &version.name).await.map_err(failed())?;
            let Some(now) = now else { return Err(self.conflict(version, None).await) };
            match record::pointer(&now) {
                // A lost response may have been a success.
                Some((winner, _)) if winner == id => return Ok(()),
                Some((winner, number)) if number >= version.number => {
                    return Err(self.conflict(version, Some(winner)).await);
                }
                _ => {
                    self.check_predecessor(&now, version, after).await?;
                    release = now;
                }
            }
        }
        Err(self.conflict(version, None).await)
    }

    /// Checks that a release still points to the version that a new one follows, and is not being uninstalled.
    pub(super) async fn check_predecessor(
        &self,
        release: &Object,
        version: &ReleaseVersion,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let Some(after) = after else { return Ok(()) };
        let pointer = record::pointer(release).map(|(id, _)| id);
        let is_uninstalling = record::is_uninstalling(release) && after.status != Status::Uninstalling;
        if pointer == after.id && !is_uninstalling {
            return Ok(());
        }
        match pointer.filter(|_| pointer != after.id) {
            None => Err(self.changed(after).await),
            winner => Err(self.conflict(version, winner).await),
        }
    }

    pub(super) async fn conflict(&self, version: &ReleaseVersion, winner: Option<VersionId>) -> StoreError {
        let mut holder = None;
        if let Some(winner) = winner {
            let name = record::version_name(&version.name, winner);
            let found = self.cluster.get_by_name(&crds::release_versions(), &version.namespace, &name).await;
            let lease = found.ok().flatten().and_then(|object| record::version_summary(&object).lease);
            holder = lease.map(|lease| lease.holder);
        }
        StoreError::Conflict { name: version.name.clone(), number: version.number, winner, holder }
    }
}

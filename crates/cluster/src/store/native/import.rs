//! Imports a release from another store: all versions are written completely before the release points to the newest
//! of them. Until then the release is not in this store, and from then on all of it is.

use std::time::Duration;

use pintle_objects::Object;
use pintle_release::native::Payload;
use pintle_release::{ReleaseVersion, StoreError, VersionId};

use super::update::Precondition;
use super::{MAX_RETRIES, NativeStore};
use crate::crds;
use crate::error::Result;
use crate::store::payload::PayloadSecrets;
use crate::store::{api, application, clock, record};

/// How often, and after which time, an object is read again that is being deleted.
const TERMINATION_POLLS: usize = 150;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What an import has created, for rolling it back.
struct ImportedObjects {
    release: Object,
    /// Whether the import created the release.
    is_new: bool,
    versions: Vec<Object>,
}

impl NativeStore {
    /// Imports the versions of another store, oldest first. Versions that exist here are updated.
    pub(super) async fn import_versions(&self, versions: &[ReleaseVersion]) -> Result<(), StoreError> {
        let failed = || api::backend_error("create: failed to create");
        let Some(newest) = versions.last() else { return Ok(()) };
        let (namespace, name) = (newest.namespace.as_str(), newest.name.as_str());
        self.forget_history(namespace, name);
        let found = self.release_unless_terminating(namespace, name).await.map_err(failed())?;
        self.cache_release(namespace, name, found.as_ref());
        let is_new = found.is_none();
        let release = self.release_for(newest).await?;
        let mut written = ImportedObjects { release, is_new, versions: Vec::new() };
        let id = newest.id.unwrap_or_else(|| id_for(newest));
        match self.import_all(versions, id, &mut written).await {
            Ok(release) => {
                written.versions.iter().for_each(|version| self.cache_version(version));
                self.cache_release(namespace, name, Some(&release));
                Ok(())
            }
            Err(error) => self.roll_back_import(&written, id, error).await,
        }
    }

    /// The release. One that was moved out of this store a moment ago may still be waiting for the garbage collector.
    async fn release_unless_terminating(&self, namespace: &str, name: &str) -> Result<Option<Object>> {
        for _ in 0..TERMINATION_POLLS {
            let found = self.release(namespace, name).await?;
            if !found.as_ref().is_some_and(record::is_terminating) {
                return Ok(found);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.release(namespace, name).await
    }

    /// Writes the versions, then moves the pointer, and returns the release.
    async fn import_all(
        &self,
        versions: &[ReleaseVersion],
        id: VersionId,
        written: &mut ImportedObjects,
    ) -> Result<Object, StoreError> {
        let failed = || api::backend_error("create: failed to create");
        let pointer = record::pointer(&written.release);
        let (namespace, name) = (written.release.namespace().to_owned(), written.release.name().to_owned());
        // Orphans of a killed writer would become part of the history once the pointer moves.
        for version in self.versions(&namespace, record::selector(&name, &[])).await.map_err(failed())? {
            if !record::belongs_to_release(&record::version_summary(&version), pointer) {
                let at = (namespace.as_str(), version.name());
                api::delete(&self.cluster, &crds::release_versions(), at, "").await.map_err(failed())?;
            }
        }
        let known = pointer.map_or(0, |(_, number)| number);
        let Some((newest, earlier)) = versions.split_last() else { return Ok(written.release.clone()) };
        for version in earlier {
            match version.number <= known {
                // A version that is no longer here was pruned.
                true => match self.change(version, None, Precondition::None).await {
                    Ok(_) | Err(StoreError::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                },
                false => {
                    let id = version.id.unwrap_or_else(|| id_for(version));
                    self.write_version(version, id, written).await?;
                }
            }
        }
        if newest.number <= known {
            return Err(StoreError::Exists { name, number: newest.number });
        }
        self.write_version(newest, id, written).await?;
        self.move_pointer_to(newest, id, written.release.clone(), pointer).await
    }

    /// Writes a version completely, without pointing to it.
    async fn write_version(
        &self,
        version: &ReleaseVersion,
        id: VersionId,
        written: &mut ImportedObjects,
    ) -> Result<(), StoreError> {
        let failed = || api::backend_error("create: failed to create");
        let payload = Payload::from_version(version).map_err(|source| StoreError::Unwritable {
            action: "create",
            name: version.name.clone(),
            source,
        })?;
        let secrets = PayloadSecrets::new(&record::version_name(&version.name, id), &payload);
        let mut object = record::new_version(version, id, None, &secrets.note);
        record::set_owner(&mut object, &written.release);
        let object = api::create(&self.cluster, &crds::release_versions(), &object).await;
        let object = object.map_err(failed())?;
        written.versions.push(object.clone());
        let object = self.write_payload(&object, &payload, &secrets).await.map_err(failed())?;
        if let Some(last) = written.versions.last_mut() {
            *last = object;
        }
        Ok(())
    }

    /// Moves the pointer of a release, if no other writer moved it.
    async fn move_pointer_to(
        &self,
        version: &ReleaseVersion,
        id: VersionId,
        mut release: Object,
        before: Option<(VersionId, u64)>,
    ) -> Result<Object, StoreError> {
        let failed = || api::backend_error("create: failed to create");
        for _ in 0..MAX_RETRIES {
            record::set_pointer(&mut release, version, id);
            match api::replace(&self.cluster, &crds::releases(), &release).await {
                Ok(release) => return Ok(release),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(failed()(error)),
            }
            let now = self.release(&version.namespace, &version.name).await.map_err(failed())?;
            release = match now {
                Some(now) if record::pointer(&now) == before => now,
                now => {
                    return Err(self
                        .conflict(version, now.and_then(|now| record::pointer(&now)).map(first))
                        .await);
                }
            };
        }
        Err(self.conflict(version, None).await)
    }

    /// Deletes what a failed import created. If it succeeded after all, because only the response was lost, or if
    /// that cannot be determined, everything stays.
    async fn roll_back_import(
        &self,
        written: &ImportedObjects,
        id: VersionId,
        error: StoreError,
    ) -> Result<(), StoreError> {
        let (namespace, name) = (written.release.namespace(), written.release.name());
        let Ok(now) = self.release(namespace, name).await else { return Err(error) };
        let pointer = now.as_ref().and_then(record::pointer);
        if pointer.is_some_and(|(current, _)| current == id) {
            self.cache_release(namespace, name, now.as_ref());
            return Ok(());
        }
        self.cache_release(namespace, name, None);
        // Whatever is cached is from before the import.
        self.take_cached_release(namespace, name);
        for version in &written.versions {
            self.delete_orphan(version).await;
        }
        if let Some(now) = now.filter(|now| written.is_new && record::pointer(now).is_none()) {
            let state = now.resource_version();
            let gone = api::delete(&self.cluster, &crds::releases(), (namespace, name), state).await;
            if gone.is_ok() {
                // The application is optional.
                let _ = application::discard(&self.cluster, &now).await;
            }
        }
        Err(error)
    }
}

fn first((id, _): (VersionId, u64)) -> VersionId {
    id
}

/// An id for a version from a store without ids.
fn id_for(version: &ReleaseVersion) -> VersionId {
    clock::new_id(version.info.last_deployed.unwrap_or_else(clock::now))
}

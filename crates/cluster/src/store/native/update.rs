//! Updates and deletes versions, and keeps the release consistent with them.

use std::sync::PoisonError;

use pintle_objects::Object;
use pintle_release::native::Payload;
use pintle_release::{Lease, ReleaseVersion, StoreError, Summary};
use pintle_tree::{Map, Node};

use super::{MAX_RETRIES, NativeStore, empty_if_missing_kind};
use crate::crds;
use crate::error::Result;
use crate::store::content::{self, ChartRef};
use crate::store::payload::{self, PayloadSecrets};
use crate::store::{api, application, clock, record};

/// The condition under which a version is updated.
#[derive(Clone, Copy)]
pub(super) enum Precondition<'a> {
    /// Unconditionally.
    None,
    /// If nobody has changed it since it was read.
    Unmodified(&'a Summary),
    /// While it has this lease.
    Held(&'a Lease),
}

/// What happens to the objects that a release owns when it is deleted.
#[derive(Clone, Copy)]
pub(super) enum Dependents {
    /// The garbage collector deletes them.
    Delete,
    /// They stay, without the owner.
    Orphan,
}

impl NativeStore {
    /// The error for a version that is not in the expected state any more.
    pub(super) async fn changed(&self, seen: &Summary) -> StoreError {
        let name = seen.id.map(|id| record::version_name(&seen.name, id)).unwrap_or_default();
        let found = self.cluster.get_by_name(&crds::release_versions(), &seen.namespace, &name).await;
        modified(&seen.name, seen.number, found.ok().flatten().as_ref())
    }

    /// Updates a version under a condition. Returns the object.
    pub(super) async fn change(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        precondition: Precondition<'_>,
    ) -> Result<Object, StoreError> {
        let (namespace, name, number) = (version.namespace.as_str(), version.name.as_str(), version.number);
        let failed = || api::backend_error("update: failed to update");
        let not_found = || StoreError::NotFound { name: name.to_owned(), number };
        let payload = Payload::from_version(version).map_err(|source| StoreError::Unwritable {
            action: "update",
            name: name.to_owned(),
            source,
        })?;
        if self.cached_version(namespace, name, number).is_none() {
            self.version(namespace, name, number).await.map_err(failed())?.ok_or_else(not_found)?;
        }
        let (id, mut old) = self.cached_version(namespace, name, number).ok_or_else(not_found)?;
        self.take_listed(namespace, name, number);
        let object_name = record::version_name(name, id);
        let mut new = None;
        if old.digest != payload.digest() {
            let owner = self.cluster.get_by_name(&crds::release_versions(), namespace, &object_name).await;
            let owner = owner.map_err(failed())?.ok_or_else(not_found)?;
            // The version must not refer to a shared chart before it is checked, and it may not refer to it while it is changed.
            let secrets = PayloadSecrets::whole(&object_name, &payload);
            secrets.write(&self.cluster, &owner).await.map_err(failed())?;
            new = Some(secrets.note);
        }
        let mut patch = record::update_patch(version, lease, new.as_ref());
        let at = (namespace, object_name.as_str());
        let patched = match precondition {
            Precondition::Held(held) => self.patch_held(at, &patch, held).await,
            Precondition::Unmodified(seen) => {
                record::set_precondition(&mut patch, &seen.state);
                match api::merge_patch(&self.cluster, &crds::release_versions(), at, &patch).await {
                    Err(error) if error.is_conflict() => Ok(None),
                    patched => patched.map(Some),
                }
            }
            Precondition::None => {
                api::merge_patch(&self.cluster, &crds::release_versions(), at, &patch).await.map(Some)
            }
        };
        let object = match patched {
            Ok(Some(object)) => object,
            Ok(None) => {
                let now = self.cluster.get_by_name(&crds::release_versions(), namespace, &object_name).await;
                let now = now.map_err(failed())?.ok_or_else(not_found)?;
                // Either a response was lost, or another writer did the same, with the same payload.
                let is_same_payload = record::payload_ref(&now).digest == payload.digest();
                if !is_same_payload || !is_update(&now, version, lease, precondition) {
                    return Err(modified(name, number, Some(&now)));
                }
                now
            }
            Err(error) if error.is_not_found() => return Err(not_found()),
            Err(error) => return Err(failed()(error)),
        };
        self.note_version(&object);
        if new.is_some() {
            // Last: until the version points to the new Secrets, readers need the old ones.
            let kept = record::payload_ref(&object).secrets;
            old.secrets.retain(|secret| !kept.contains(secret));
            payload::discard(&self.cluster, namespace, &old).await.map_err(failed())?;
            // The label of the version still counts as a reference to the chart: what is left goes with the version.
        }
        Ok(object)
    }

    /// Patches a version while a lease is on it; `None` when it is not. The server tests the lease and applies the patch in
    /// one step.
    async fn patch_held(&self, at: (&str, &str), patch: &Map<Node>, held: &Lease) -> Result<Option<Object>> {
        let lease = "/status/lease";
        let mut steps = vec![
            api::json_patch_op("test", &format!("{lease}/holderIdentity"), held.holder.as_str()),
            api::json_patch_op("test", &format!("{lease}/acquireTime"), held.since.to_string()),
        ];
        steps.extend(record::patch_operations(patch));
        api::json_patch(&self.cluster, &crds::release_versions(), at, steps).await
    }

    pub(super) async fn update(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        held: Option<&Lease>,
    ) -> Result<(), StoreError> {
        self.change(version, lease, held.map_or(Precondition::None, Precondition::Held)).await?;
        // An older version, superseded for instance, is not mirrored in the release, so the request can be saved.
        if self.is_behind_pointer(&version.namespace, &version.name, version.number) {
            return Ok(());
        }
        let failed = api::backend_error("update: failed to update");
        self.mirror_status(version).await.map_err(failed).map(drop)
    }

    /// Updates the newest version, then its release. A concurrent writer that adds a version needs the release
    /// unmodified, or has modified it already; in the latter case the update of the version is reverted.
    pub(super) async fn compare_and_swap(
        &self,
        seen: &Summary,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
    ) -> Result<String, StoreError> {
        let object = match self.change(version, lease, Precondition::Unmodified(seen)).await {
            Err(StoreError::NotFound { .. }) => return Err(self.changed(seen).await),
            changed => changed?,
        };
        let failed = api::backend_error("update: failed to update");
        if self.mirror_status(version).await.map_err(failed)? {
            return Ok(object.resource_version().to_owned());
        }
        self.forget_history(&version.namespace, &version.name);
        let undo = record::revert_patch(seen, object.resource_version());
        let at = (object.namespace(), object.name());
        // The winner may have changed it by now, which takes precedence.
        let _ = api::merge_patch(&self.cluster, &crds::release_versions(), at, &undo).await;
        let release = self.release(&version.namespace, &version.name).await.ok().flatten();
        match release.as_ref().and_then(record::pointer) {
            Some((winner, number)) => {
                let next = ReleaseVersion { number, name: seen.name.clone(), ..version.clone() };
                Err(self.conflict(&next, Some(winner)).await)
            }
            None => Err(self.changed(seen).await),
        }
    }

    /// Copies the status of a version to its release, and returns whether the release points to it.
    pub(super) async fn mirror_status(&self, version: &ReleaseVersion) -> Result<bool> {
        let (namespace, name) = (version.namespace.as_str(), version.name.as_str());
        let Some((id, _)) = self.cached_version(namespace, name, version.number) else { return Ok(false) };
        // `test` makes the patch a compare-and-swap: the server rejects all of it if the pointer has moved.
        let mut steps = vec![api::json_patch_op("test", "/status/current", id.to_string())];
        let fields = record::mirror(version).into_iter();
        steps.extend(fields.map(|(key, value)| api::json_patch_op("add", &format!("/status/{key}"), value)));
        steps.push(api::json_patch_op("add", "/metadata/labels/status", version.status_word()));
        match api::json_patch(&self.cluster, &crds::releases(), (namespace, name), steps).await {
            Ok(Some(release)) => {
                self.cache_release(namespace, name, Some(&release));
                if let Some((histories, key)) = self.shared(namespace, name) {
                    histories.update_release(&key, &release);
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a version, and with its last version the release.
    pub(super) async fn delete_version(
        &self,
        namespace: &str,
        name: &str,
        number: u64,
        dependents: Dependents,
    ) -> Result<(), StoreError> {
        match self.remove(namespace, name, number, dependents).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::NotFound { name: name.to_owned(), number }),
            Err(error) => {
                let action = format!("delete: failed to delete version {number} of {name:?}");
                Err(api::backend_error(action)(error))
            }
        }
    }

    async fn remove(&self, namespace: &str, name: &str, number: u64, dependents: Dependents) -> Result<bool> {
        let Some(object_name) = empty_if_missing_kind(self.version_name(namespace, name, number).await)?
        else {
            return Ok(false);
        };
        let is_behind_pointer = self.is_behind_pointer(namespace, name, number);
        let (has_chart, chart) = self.shared_chart(namespace, name, number);
        // The release is deleted before its last version. A process that is killed in between leaves a version without an
        // owner, which the garbage collector deletes; a release without versions would never be cleaned up.
        let is_last =
            !is_behind_pointer && self.delete_release_of(namespace, name, &object_name, dependents).await?;
        let at = (namespace, object_name.as_str());
        let was_there = api::delete(&self.cluster, &crds::release_versions(), at, "").await?;
        self.evict_version(namespace, name, number);
        if let Some((histories, key)) = self.shared(namespace, name) {
            histories.remove_version(&key, number);
        }
        if !is_behind_pointer {
            self.forget_history(namespace, name);
            if !is_last {
                self.repair_pointer(namespace, name, &object_name, dependents).await?;
            }
        }
        if let Some(chart) = chart {
            self.sweep(namespace, &chart).await;
        }
        if is_last && has_chart {
            // Also what is left of releases that were deleted in other ways. If that fails, nothing is lost.
            let turn = usize::try_from(clock::now().unix()).unwrap_or_default();
            let _ = content::sweep_some(&self.cluster, namespace, turn).await;
        }
        // The garbage collector may have been faster.
        Ok(was_there || is_last)
    }

    /// Whether the chart of a version may be shared, and the chart, unless another known version of the release refers to it, too.
    fn shared_chart(&self, namespace: &str, name: &str, number: u64) -> (bool, Option<ChartRef>) {
        let known = self.version_refs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |number: u64| (namespace.to_owned(), name.to_owned(), number);
        let Some(chart) = known.get(&key(number)).and_then(|(_, payload)| payload.chart.clone()) else {
            return (false, None);
        };
        let mut others = known.range(key(0)..=key(u64::MAX)).filter(|((.., other), _)| *other != number);
        let is_shared = others.any(|(_, (_, payload))| payload.chart.as_ref() == Some(&chart));
        (true, (!is_shared).then_some(chart))
    }

    /// Deletes a release if `last` is its only version. Returns whether it did.
    async fn delete_release_of(
        &self,
        namespace: &str,
        name: &str,
        last: &str,
        dependents: Dependents,
    ) -> Result<bool> {
        let mut seen =
            self.cached_release(namespace, name).filter(|release| !points_elsewhere(release, last));
        for _ in 0..MAX_RETRIES {
            let release = match seen.take() {
                Some(release) => Some(release),
                None => self.release(namespace, name).await?,
            };
            let Some(release) = release.filter(|release| !points_elsewhere(release, last)) else {
                return Ok(false);
            };
            if self.newest_besides(&release, last).await?.is_some() {
                return Ok(false);
            }
            match self.delete_release(&release, dependents).await {
                Err(error) if error.is_conflict() => {}
                deleted => {
                    self.take_cached_release(namespace, name);
                    return deleted.map(|()| true);
                }
            }
        }
        Ok(false)
    }

    /// The newest version of a release other than `gone`.
    async fn newest_besides(&self, release: &Object, gone: &str) -> Result<Option<Object>> {
        let versions =
            self.versions(release.namespace(), record::selector(release.name(), &[])).await?.into_iter();
        let pointer = record::pointer(release);
        let left = versions.filter(|object| {
            object.name() != gone && record::belongs_to_release(&record::version_summary(object), pointer)
        });
        Ok(left.max_by_key(|object| record::version_summary(object).number))
    }

    /// Deletes a release, unless somebody has changed it, and the application that owns it.
    async fn delete_release(&self, release: &Object, dependents: Dependents) -> Result<()> {
        let at = (release.namespace(), release.name());
        let (releases, state) = (crds::releases(), release.resource_version());
        match dependents {
            Dependents::Delete => api::delete(&self.cluster, &releases, at, state).await?,
            Dependents::Orphan => api::delete_and_orphan(&self.cluster, &releases, at, state).await?,
        };
        application::discard(&self.cluster, release).await
    }

    /// After a version was deleted: a release that pointed to it now points to the newest remaining one, or is
    /// deleted too.
    pub(super) async fn repair_pointer(
        &self,
        namespace: &str,
        name: &str,
        gone: &str,
        dependents: Dependents,
    ) -> Result<()> {
        let mut seen = self
            .take_cached_release(namespace, name)
            .flatten()
            .filter(|release| !points_elsewhere(release, gone));
        for _ in 0..MAX_RETRIES {
            let release = match seen.take() {
                Some(release) => Some(release),
                None => self.release(namespace, name).await?,
            };
            let Some(mut release) = release.filter(|release| !points_elsewhere(release, gone)) else {
                return Ok(());
            };
            let changed = match self.newest_besides(&release, gone).await? {
                Some(object) => {
                    let mut version = ReleaseVersion::default();
                    record::fill_from_object(&mut version, &object);
                    let metadata = &mut version.chart.metadata;
                    let summary = record::version_summary(&object);
                    metadata.name = summary.chart_name;
                    metadata.version = summary.chart_version;
                    metadata.app_version = summary.app_version;
                    let Some(id) = summary.id else { return Ok(()) };
                    record::set_pointer(&mut release, &version, id);
                    api::replace(&self.cluster, &crds::releases(), &release).await.map(|_| ())
                }
                None => self.delete_release(&release, dependents).await,
            };
            match changed {
                Err(error) if error.is_conflict() => {}
                other => return other,
            }
        }
        Ok(())
    }
}

/// Whether a release points to another version than the one with this object name.
fn points_elsewhere(release: &Object, version: &str) -> bool {
    let current = record::pointer(release).map(|(id, _)| record::version_name(release.name(), id));
    current.is_some_and(|current| current != version)
}

/// Whether a version already is what an update wanted. With `Held`, the description must match too: another client that
/// took over the release also marks the version as failed, but with another description.
fn is_update(
    now: &Object,
    version: &ReleaseVersion,
    lease: Option<&Lease>,
    precondition: Precondition<'_>,
) -> bool {
    let now = record::version_summary(now);
    let is_equal = now.status == version.info.status && now.lease.as_ref() == lease;
    match precondition {
        Precondition::Held(_) => is_equal && now.description == version.info.description,
        _ => is_equal,
    }
}

/// The error for a version that another writer has changed, with what it is now.
fn modified(name: &str, number: u64, now: Option<&Object>) -> StoreError {
    let now = now.map(record::version_summary);
    StoreError::Modified {
        name: name.to_owned(),
        number,
        status: now.as_ref().map(|now| now.status),
        holder: now.and_then(|now| now.lease).map(|lease| lease.holder),
    }
}

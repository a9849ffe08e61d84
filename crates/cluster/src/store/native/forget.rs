//! Moves a release out of this store: its records are deleted, and its objects stay.

use pintle_release::{Lease, StoreError, Summary};

use super::{NativeStore, empty_if_missing_kind};
use crate::crds;
use crate::error::{Error, Result};
use crate::store::{api, application, record};

impl NativeStore {
    /// Sets or removes the lease on the newest version, and returns its new state.
    pub(super) async fn set_lease(
        &self,
        seen: &Summary,
        lease: Option<&Lease>,
    ) -> Result<String, StoreError> {
        let Some(id) = seen.id else { return Ok(seen.state.clone()) };
        let name = record::version_name(&seen.name, id);
        let at = (seen.namespace.as_str(), name.as_str());
        let patch = record::lease_patch(lease, &seen.state);
        match api::merge_patch(&self.cluster, &crds::release_versions(), at, &patch).await {
            Ok(version) => {
                self.take_listed(&seen.namespace, &seen.name, seen.number);
                self.note_version(&version);
                return Ok(version.resource_version().to_owned());
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(api::backend_error("update: failed to update")(error)),
        }
        let now = self.cluster.get_by_name(&crds::release_versions(), at.0, at.1).await;
        let now = now.map_err(api::backend_error("update: failed to update"))?;
        match now {
            // A lost response may have been a success.
            Some(now) if lease.is_some() && record::version_summary(&now).lease.as_ref() == lease => {
                Ok(now.resource_version().to_owned())
            }
            _ => Err(self.changed(seen).await),
        }
    }

    /// Deletes the records of a release, but no object that the release owns.
    ///
    /// First the release loses its pointer: from then on it is not in this store, whatever else is left of it. The release
    /// itself is deleted last, because it is the owner of the objects: what deletes it has to say that they stay. Without
    /// numbers, only what a killed client left of a release without a pointer is deleted.
    pub(super) async fn forget_release(&self, namespace: &str, name: &str, numbers: &[u64]) -> Result<()> {
        self.forget_history(namespace, name);
        let release = empty_if_missing_kind(self.release(namespace, name).await)?;
        self.take_cached_release(namespace, name);
        if numbers.is_empty() && release.as_ref().is_none_or(|release| record::pointer(release).is_some()) {
            return Ok(());
        }
        if let Some((id, _)) = release.as_ref().and_then(record::pointer) {
            let current = "/status/current";
            let steps = vec![
                api::json_patch_op("test", current, id.to_string()),
                api::json_patch_op("replace", current, ""),
            ];
            // A pointer that has moved belongs to a writer that ignores the lease of the move.
            let at = (namespace, name);
            if api::json_patch(&self.cluster, &crds::releases(), at, steps).await?.is_none() {
                let text = format!("release {name:?} was changed while it was moved; repeat the command");
                return Err(Error::InvalidRequest(text));
            }
        }
        let mut charts = Vec::new();
        for version in self.versions(namespace, record::selector(name, &[])).await? {
            charts.extend(record::payload_ref(&version).chart.filter(|chart| !charts.contains(chart)));
            let at = (namespace, version.name());
            api::delete(&self.cluster, &crds::release_versions(), at, "").await?;
            self.evict_version(namespace, name, record::version_summary(&version).number);
        }
        for chart in &charts {
            self.sweep(namespace, chart).await;
        }
        if let Some(release) = release {
            api::delete_and_orphan(&self.cluster, &crds::releases(), (namespace, name), "").await?;
            // The application is optional.
            let _ = application::discard(&self.cluster, &release).await;
        }
        Ok(())
    }
}

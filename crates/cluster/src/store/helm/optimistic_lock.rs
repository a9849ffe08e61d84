//! Optimistic locking between a writer that adds the next version and one that changes or deletes the current one.
//!
//! Each record is an object of its own, and the API server compares and swaps single objects only. Therefore both
//! writers change the record that both have read: a writer that adds a version annotates the current one with its
//! successor. Each update requires the `resourceVersion` that was read, so the second one fails.

use std::sync::PoisonError;

use pintle_objects::Object;
use pintle_release::helm;
use pintle_release::{Lease, ReleaseVersion, Status, StoreError, Summary};
use pintle_tree::{Map, Node};

use super::listing::summary;
use super::{CREATE, HelmStore, RecordKind, UPDATE};
use crate::store::{api, clock};

/// How often an update is retried when others change the record without uninstalling it.
const MAX_RETRIES: usize = 20;

/// The state of a record: its uid and resource version.
pub(super) fn state(object: &Object) -> String {
    format!("{}@{}", object.uid(), object.resource_version())
}

impl<H: RecordKind> HelmStore<H> {
    /// Annotates a record with its successor. The new version exists already.
    pub(super) async fn annotate_successor(
        &self,
        version: &ReleaseVersion,
        after: &Summary,
    ) -> Result<(), StoreError> {
        let Some((uid, seen)) = after.state.split_once('@') else { return Ok(()) };
        let failed = || api::backend_error(H::error_prefix(CREATE.failure));
        let successor = version.id.unwrap_or_else(|| clock::new_id(clock::now())).to_string();
        let key = helm::object_name(&after.name, after.number);
        let at = (after.namespace.as_str(), key.as_str());
        let mut seen = seen.to_owned();
        for _ in 0..MAX_RETRIES {
            match api::merge_patch(&self.cluster, &self.resource, at, &successor_patch(&successor, &seen))
                .await
            {
                Ok(_) => return Ok(()),
                // Helm does not need the right to patch records and has no such lock, so go on without.
                Err(error) if error.is_forbidden() => return Ok(()),
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(failed()(error)),
            }
            let now = self.cluster.get_by_name(&self.resource, at.0, at.1).await.map_err(failed())?;
            match now.filter(|now| now.uid() == uid) {
                // A lost response may have been a success.
                Some(now) if now.annotation(helm::SUCCESSOR) == Some(&successor) => return Ok(()),
                Some(now) if is_uninstalling::<H>(&now) => return Err(changed::<H>(after, Some(&now))),
                Some(now) => now.resource_version().clone_into(&mut seen),
                None => return Err(changed::<H>(after, None)),
            }
        }
        Err(changed::<H>(after, None))
    }

    /// Annotates a record with the lease of its holder, or removes the lease. Returns the new state.
    pub(super) async fn annotate_lease(
        &self,
        seen: &Summary,
        lease: Option<&Lease>,
    ) -> Result<String, StoreError> {
        let Some((_, resource_version)) = seen.state.split_once('@') else { return Ok(seen.state.clone()) };
        let annotations = lease.map(helm::lease_annotations).into_iter().flatten();
        let annotations: Vec<(&str, Node)> = match lease {
            Some(_) => annotations.map(|(key, value)| (key, value.into())).collect(),
            None => [helm::LEASE_HOLDER, helm::ACQUIRE_TIME, helm::RENEW_TIME, helm::LEASE_DURATION_SECONDS]
                .map(|key| (key, Node::Nil))
                .to_vec(),
        };
        let patch = annotation_patch(annotations, resource_version);
        let key = helm::object_name(&seen.name, seen.number);
        let at = (seen.namespace.as_str(), key.as_str());
        match api::merge_patch(&self.cluster, &self.resource, at, &patch).await {
            Ok(object) => return Ok(state(&object)),
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(api::backend_error(H::error_prefix(UPDATE.failure))(error)),
        }
        let now = self.cluster.get_by_name(&self.resource, at.0, at.1).await;
        let now = now.map_err(api::backend_error(H::error_prefix(UPDATE.failure)))?;
        match now.filter(|now| now.uid() == seen.state.split('@').next().unwrap_or_default()) {
            // A lost response may have been a success.
            Some(now)
                if lease.is_some() && summary::<H>(&now).and_then(|now| now.lease).as_ref() == lease =>
            {
                Ok(state(&now))
            }
            Some(now) if has_successor(&now) => Err(self.superseded(seen).await),
            now => Err(changed::<H>(seen, now.as_ref())),
        }
    }

    /// Replaces a record if it is unmodified, and returns its new state.
    pub(super) async fn replace_if_unmodified(
        &self,
        seen: &Summary,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
    ) -> Result<String, StoreError> {
        let mut object = self.update_of(version, lease)?;
        let failed = || api::backend_error(H::error_prefix(UPDATE.failure));
        if let Some((_, resource_version)) = seen.state.split_once('@') {
            object.metadata_mut().insert("resourceVersion".into(), resource_version.into());
        }
        match api::replace_retryable(&self.cluster, &self.resource, &object).await {
            Ok(object) => {
                self.cache_lease(&object, lease);
                self.note_written(&object, lease);
                return Ok(state(&object));
            }
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(failed()(error)),
        }
        let now = self.cluster.get_by_name(&self.resource, object.namespace(), object.name()).await;
        match now.map_err(failed())? {
            // Either a response was lost, or another writer did the same.
            Some(now) if seen.state.starts_with(now.uid()) && matches_update::<H>(&now, version, lease) => {
                Ok(state(&now))
            }
            Some(now) if has_successor(&now) => Err(self.superseded(seen).await),
            now => Err(changed::<H>(seen, now.as_ref())),
        }
    }

    /// Replaces a record while a lease is on it. Each write of the holder leaves a resource version behind; a record that
    /// has another one is read, to see whose lease it has.
    pub(super) async fn replace_held(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        held: &Lease,
    ) -> Result<(), StoreError> {
        let mut object = self.update_of(version, lease)?;
        let failed = || api::backend_error(H::error_prefix(UPDATE.failure));
        let key = (object.namespace().to_owned(), object.name().to_owned());
        let not_found = || StoreError::NotFound { name: version.name.clone(), number: version.number };
        let seen = || Summary { name: version.name.clone(), number: version.number, ..Summary::default() };
        for _ in 0..MAX_RETRIES {
            let known = self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            let resource_version = match known {
                Some(known) => known,
                None => {
                    let now = self.cluster.get_by_name(&self.resource, &key.0, &key.1).await;
                    let now = now.map_err(failed())?.ok_or_else(not_found)?;
                    let current = summary::<H>(&now).unwrap_or_default();
                    let is_written = matches_update::<H>(&now, version, lease);
                    if is_written && current.description == version.info.description {
                        // A response was lost.
                        return Ok(());
                    }
                    if !current.lease.is_some_and(|current| current.is_same(held)) {
                        return Err(changed::<H>(&seen(), Some(&now)));
                    }
                    now.resource_version().to_owned()
                }
            };
            object.metadata_mut().insert("resourceVersion".into(), resource_version.as_str().into());
            match api::replace_retryable(&self.cluster, &self.resource, &object).await {
                Ok(object) => {
                    self.cache_lease(&object, lease);
                    self.note_written(&object, lease);
                    return Ok(());
                }
                Err(error) if error.is_not_found() => return Err(not_found()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(failed()(error)),
            }
        }
        Err(changed::<H>(&seen(), None))
    }

    /// The error for a version that was added after the one that was read.
    async fn superseded(&self, seen: &Summary) -> StoreError {
        let number = seen.number + 1;
        let key = helm::object_name(&seen.name, number);
        let next = self.cluster.get_by_name(&self.resource, &seen.namespace, &key).await.ok().flatten();
        let holder =
            next.as_ref().and_then(summary::<H>).and_then(|next| next.lease).map(|lease| lease.holder);
        StoreError::Conflict { name: seen.name.clone(), number, winner: None, holder }
    }
}

/// The merge patch that sets the successor, conditional on a resource version.
fn successor_patch(successor: &str, resource_version: &str) -> Map<Node> {
    annotation_patch(vec![(helm::SUCCESSOR, successor.into())], resource_version)
}

/// A merge patch for annotations, conditional on a resource version.
fn annotation_patch(entries: Vec<(&str, Node)>, resource_version: &str) -> Map<Node> {
    let annotations: Map<Node> = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
    let metadata = Map::from_entries(vec![
        ("annotations".into(), Node::Map(annotations)),
        ("resourceVersion".into(), resource_version.into()),
    ]);
    Map::from_entries(vec![("metadata".into(), Node::Map(metadata))])
}

/// Whether the release is being uninstalled.
fn is_uninstalling<H: RecordKind>(record: &Object) -> bool {
    summary::<H>(record).is_some_and(|now| now.status == Status::Uninstalling && now.lease.is_some())
}

fn matches_update<H: RecordKind>(record: &Object, version: &ReleaseVersion, lease: Option<&Lease>) -> bool {
    summary::<H>(record).is_some_and(|now| {
        now.status == version.info.status && now.lease.as_ref() == lease && !has_successor(record)
    })
}

fn has_successor(record: &Object) -> bool {
    record.annotation(helm::SUCCESSOR).is_some()
}

fn changed<H: RecordKind>(seen: &Summary, now: Option<&Object>) -> StoreError {
    let now = now.and_then(summary::<H>);
    StoreError::Modified {
        name: seen.name.clone(),
        number: seen.number,
        status: now.as_ref().map(|now| now.status),
        holder: now.and_then(|now| now.lease).map(|lease| lease.holder),
    }
}

//! Client-side apply as Helm does it: create, patch, or replace.

use pintle_objects::{Object, ObjectId};
use pintle_tree::{Map, Node, json};

use super::{MAX_ATTEMPTS, retry};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{PatchType, WriteParams, WrittenObject};

impl Cluster {
    /// Creates an object, and retries on conflicts.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn create_object(&self, object: &Object, params: &WriteParams) -> Result<WrittenObject> {
        if object.resource_version().is_empty() {
            return retry(Error::is_conflict, || self.create(object, params)).await;
        }
        // A manifest that was dumped from a cluster has one, and the server rejects it in a create.
        let mut fresh = object.clone();
        fresh.metadata_mut().remove("resourceVersion");
        retry(Error::is_conflict, || self.create(&fresh, params)).await
    }

    /// Replaces an object as a whole. `live` saves a request for its resource version.
    ///
    /// # Errors
    /// Helm's message: that it could not be replaced, and why.
    pub async fn replace_object(
        &self,
        object: &Object,
        live: Option<&Object>,
        params: &WriteParams,
    ) -> Result<WrittenObject> {
        let failed = |error: Error| error.during("failed to replace object");
        if !object.resource_version().is_empty() {
            return self.replace(object, params).await.map_err(failed);
        }
        // Some kinds reject an update without `metadata.resourceVersion`.
        let mut version = live.map(|live| live.resource_version().to_owned());
        let mut attempts = 1;
        loop {
            let current = match version.take() {
                Some(version) => version,
                None => self
                    .get(&object.id())
                    .await
                    .ok()
                    .flatten()
                    .map_or_else(String::new, |live| live.resource_version().to_owned()),
            };
            let mut guarded = object.clone();
            if !current.is_empty() {
                guarded.metadata_mut().insert("resourceVersion".into(), current.into());
            }
            match self.replace(&guarded, params).await {
                // A controller has written to the object since it was read. What is replaced does not depend on that.
                Err(error) if error.is_conflict() && attempts < MAX_ATTEMPTS => attempts += 1,
                outcome => return outcome.map_err(failed),
            }
        }
    }

    /// Sends a patch that was computed on the client.
    ///
    /// # Errors
    /// Helm's message: what could not be patched, and why.
    pub async fn patch_object(
        &self,
        id: &ObjectId,
        kind: PatchType,
        patch: &Map<Node>,
        params: &WriteParams,
    ) -> Result<WrittenObject> {
        // JSON cannot represent infinities, and no reader of objects accepts them.
        let body = json::write_raw(patch).unwrap_or_default();
        let sent = self.patch(id, kind, body, params).await;
        sent.map_err(|error| error.during(format!("cannot patch {:?} with kind {}", id.name, id.kind)))
    }
}

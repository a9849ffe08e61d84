//! Deleting as Helm does it.

use pintle_objects::ObjectId;

use super::retry;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{Preconditions, PropagationPolicy};

impl Cluster {
    /// Deletes an object whatever its state, and returns whether it was there.
    ///
    /// # Errors
    /// When the server rejects the request or does not answer.
    pub async fn delete_object(&self, id: &ObjectId, propagation: PropagationPolicy) -> Result<bool> {
        let preconditions = Preconditions::default();
        retry(Error::is_conflict, || self.delete(id, propagation, &preconditions)).await
    }
}

//! Deleting as Helm does it.

use pintle_objects::ObjectId;

use super::retry;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{Guard, Propagation};

impl Cluster {
    /// Deletes an object whatever its state, and returns whether it was there.
    ///
    /// # Errors
    /// When the server refuses or does not answer.
    pub async fn delete_object(&self, id: &ObjectId, propagation: Propagation) -> Result<bool> {
        if self.pretends() {
            return Ok(false);
        }
        let guard = Guard::default();
        retry(Error::is_conflict, || self.delete(id, propagation, &guard)).await
    }
}

//! Progress callbacks of a copy.

use std::sync::Arc;

use crate::digest::Digest;

/// Receives progress. Methods may be called concurrently.
pub trait Progress: Send + Sync {
    /// The transfer of a blob of `size` bytes starts.
    fn blob_started(&self, digest: &Digest, size: u64) {
        let _ = (digest, size);
    }

    /// The transfer resumes at `offset`, where an earlier attempt ended.
    fn blob_resumed(&self, digest: &Digest, offset: u64) {
        let _ = (digest, offset);
    }

    /// Another `bytes` bytes were transferred.
    fn blob_progressed(&self, digest: &Digest, bytes: u64) {
        let _ = (digest, bytes);
    }

    /// The transfer ended, successfully or not.
    fn blob_finished(&self, digest: &Digest) {
        let _ = digest;
    }

    /// An image is finished, successfully or not.
    fn image_finished(&self, outcome: &crate::copy::Outcome) {
        let _ = outcome;
    }
}

/// Ignores all progress.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {}

/// The progress of one blob.
#[derive(Clone)]
pub(crate) struct BlobProgress {
    progress: Arc<dyn Progress>,
    digest: Digest,
}

impl BlobProgress {
    pub(crate) fn new(progress: Arc<dyn Progress>, digest: Digest) -> BlobProgress {
        BlobProgress { progress, digest }
    }

    pub(crate) fn blob_started(&self, size: u64) {
        self.progress.blob_started(&self.digest, size);
    }

    pub(crate) fn blob_resumed(&self, offset: u64) {
        self.progress.blob_resumed(&self.digest, offset);
    }

    pub(crate) fn blob_progressed(&self, bytes: u64) {
        self.progress.blob_progressed(&self.digest, bytes);
    }

    pub(crate) fn blob_finished(&self) {
        self.progress.blob_finished(&self.digest);
    }
}

//! What a copy tells while it goes on.

use std::sync::Arc;

use crate::digest::Digest;

/// Receives what happens on the way. All methods may be called from several places at once.
pub trait Progress: Send + Sync {
    /// A blob of `size` bytes begins to move.
    fn blob_started(&self, digest: &Digest, size: u64) {
        let _ = (digest, size);
    }

    /// The blob is at `offset`, because an earlier try got that far.
    fn blob_resumed(&self, digest: &Digest, offset: u64) {
        let _ = (digest, offset);
    }

    /// So many bytes more have moved.
    fn blob_progressed(&self, digest: &Digest, bytes: u64) {
        let _ = (digest, bytes);
    }

    /// The blob is done with, well or not.
    fn blob_finished(&self, digest: &Digest) {
        let _ = digest;
    }

    /// An image is done with.
    fn image_finished(&self, outcome: &crate::copy::Outcome) {
        let _ = outcome;
    }
}

/// For those who do not want to know.
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

//! What a copy tells while it goes on.

use std::sync::Arc;

use crate::digest::Digest;

/// Receives what happens on the way. All methods may be called from several places at once.
pub trait Progress: Send + Sync {
    /// A blob of `size` bytes begins to move.
    fn begun(&self, digest: &Digest, size: u64) {
        let _ = (digest, size);
    }

    /// The blob is at `offset`, because an earlier try got that far.
    fn at(&self, digest: &Digest, offset: u64) {
        let _ = (digest, offset);
    }

    /// So many bytes more have moved.
    fn moved(&self, digest: &Digest, bytes: u64) {
        let _ = (digest, bytes);
    }

    /// The blob is done with, well or not.
    fn ended(&self, digest: &Digest) {
        let _ = digest;
    }

    /// An image is done with.
    fn image(&self, outcome: &crate::copy::Outcome) {
        let _ = outcome;
    }
}

/// For those who do not want to know.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {}

/// The progress of one blob.
#[derive(Clone)]
pub(crate) struct Watch {
    progress: Arc<dyn Progress>,
    digest: Digest,
}

impl Watch {
    pub(crate) fn new(progress: Arc<dyn Progress>, digest: Digest) -> Watch {
        Watch { progress, digest }
    }

    pub(crate) fn begun(&self, size: u64) {
        self.progress.begun(&self.digest, size);
    }

    pub(crate) fn at(&self, offset: u64) {
        self.progress.at(&self.digest, offset);
    }

    pub(crate) fn moved(&self, bytes: u64) {
        self.progress.moved(&self.digest, bytes);
    }

    pub(crate) fn ended(&self) {
        self.progress.ended(&self.digest);
    }
}

//! Copies images between registries and layout folders: plan first, then execute.

mod endpoint;
mod graph;
mod ingest;
mod plan;
mod transfer;

pub use endpoint::Endpoint;
pub use plan::{DestinationStatus, Planned, plan};
pub use transfer::execute;

pub(crate) use graph::{SUFFIXES, known_digests};

use crate::digest::Digest;
use crate::error::Result;
use crate::manifest::Platform;

/// An image to copy.
#[derive(Clone, Debug)]
pub struct Job {
    /// The source.
    pub source: Endpoint,
    /// The destination.
    pub destination: Endpoint,
}

/// Options for planning and copying.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of concurrent blob transfers.
    pub jobs: usize,
    /// Restricts multi-platform images to these platforms; empty for all.
    pub platforms: Vec<Platform>,
    /// Whether signatures, attestations and other referrers are copied too.
    pub signatures: bool,
    /// Whether tags at the destination may be moved to another digest.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { jobs: 4, platforms: Vec::new(), signatures: true, overwrite: false }
    }
}

/// The result of copying one image.
#[derive(Debug)]
pub struct Outcome {
    /// The source, as shown to users.
    pub source: String,
    /// The destination, as shown to users.
    pub destination: String,
    /// The digest that was to be copied.
    pub digest: Digest,
    /// The statistics, or the error.
    pub result: Result<CopyStats>,
}

/// What was transferred, and what was already there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyStats {
    /// Blobs that were transferred.
    pub copied: usize,
    /// Blobs that the registry mounted from another of its repositories.
    pub mounted: usize,
    /// Blobs that already existed at the destination.
    pub existing: usize,
    /// Bytes that were transferred.
    pub bytes: u64,
    /// Manifests that were written.
    pub manifests: usize,
    /// Signatures and other referrers that were copied.
    pub artifacts: usize,
}

impl std::ops::AddAssign for CopyStats {
    fn add_assign(&mut self, other: CopyStats) {
        self.copied += other.copied;
        self.mounted += other.mounted;
        self.existing += other.existing;
        self.bytes += other.bytes;
        self.manifests += other.manifests;
        self.artifacts += other.artifacts;
    }
}

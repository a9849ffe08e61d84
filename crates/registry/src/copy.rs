//! Copying images between registries and layout folders: plan first, then carry out.

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

/// One image, from where to where.
#[derive(Clone, Debug)]
pub struct Job {
    /// From where.
    pub source: Endpoint,
    /// To where.
    pub destination: Endpoint,
}

/// How to copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many blobs move at once.
    pub jobs: usize,
    /// Only these platforms of images that have several; none for all.
    pub platforms: Vec<Platform>,
    /// Whether signatures, attestations and the like go along.
    pub signatures: bool,
    /// Whether names at the destination may come to stand for something else.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { jobs: 4, platforms: Vec::new(), signatures: true, overwrite: false }
    }
}

/// What became of an image.
#[derive(Debug)]
pub struct Outcome {
    /// From where.
    pub source: String,
    /// To where.
    pub destination: String,
    /// What was copied, or what was to be.
    pub digest: Digest,
    /// How it went.
    pub result: Result<CopyStats>,
}

/// How much was done, and how much needed not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyStats {
    /// Blobs that were sent or fetched.
    pub copied: usize,
    /// Blobs that the registry took over from another of its repositories.
    pub mounted: usize,
    /// Blobs that were there.
    pub existing: usize,
    /// Bytes that were sent or fetched.
    pub bytes: u64,
    /// Manifests that were written.
    pub manifests: usize,
    /// Signatures and the like that went along.
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

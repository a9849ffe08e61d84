//! Copying images between registries and layout folders: plan first, then carry out.

mod gather;
mod ingest;
mod place;
mod plan;
mod transfer;

pub use place::Place;
pub use plan::{Planned, Standing, plan};
pub use transfer::carry_out;

pub(crate) use gather::{SUFFIXES, known_digests};

use crate::digest::Digest;
use crate::error::Result;
use crate::manifest::Platform;

/// One image, from where to where.
#[derive(Clone, Debug)]
pub struct Job {
    /// From where.
    pub source: Place,
    /// To where.
    pub destination: Place,
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
    pub result: Result<Tally>,
}

/// How much was done, and how much needed not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blobs that were sent or fetched.
    pub copied: usize,
    /// Blobs that the registry took over from another of its repositories.
    pub mounted: usize,
    /// Blobs that were there.
    pub there: usize,
    /// Bytes that were sent or fetched.
    pub bytes: u64,
    /// Manifests that were written.
    pub manifests: usize,
    /// Signatures and the like that went along.
    pub artifacts: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.copied += other.copied;
        self.mounted += other.mounted;
        self.there += other.there;
        self.bytes += other.bytes;
        self.manifests += other.manifests;
        self.artifacts += other.artifacts;
    }
}

//! Plans a copy by querying both sides, changing nothing.

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::copy::endpoint::Endpoint;
use crate::copy::graph::{Artifact, ImageGraph, artifacts, choose, known_platforms};
use crate::copy::{Job, Options};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, Parts, Platform};

/// The number of images planned concurrently.
const CONCURRENT_IMAGES: usize = 8;

/// Concurrent requests about the blobs of one image.
const CONCURRENT_REQUESTS: usize = 6;

/// The state of an image at its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DestinationStatus {
    /// The name does not exist yet.
    New,
    /// Nothing is to be copied.
    UpToDate,
    /// The image exists, but some of its artifacts are missing.
    Incomplete,
    /// The name resolves to another digest, which will be replaced.
    Replaces(Digest),
}

/// A planned copy of one image.
#[derive(Debug)]
pub struct Planned {
    /// Source and destination.
    pub job: Job,
    /// The digest that the destination will have.
    pub digest: Digest,
    /// The media type of the root manifest.
    pub media_type: String,
    /// The platforms of the image, if it is an index.
    pub platforms: Vec<Platform>,
    /// The state of the destination.
    pub status: DestinationStatus,
    /// The total size of the image's blobs.
    pub bytes: u64,
    /// The bytes that the destination lacks.
    pub missing: u64,
    /// The number of signatures and other referrers.
    pub artifacts: usize,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    pub(crate) writes: Vec<ManifestWrite>,
    pub(crate) blobs: Vec<Blob>,
}

/// A manifest to write.
#[derive(Clone, Debug)]
pub(crate) struct ManifestWrite {
    pub(crate) manifest: Manifest,
    pub(crate) role: Role,
}

/// Why a manifest is written, which decides its name at the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is a child of an index and needs no name.
    Part,
    /// It refers to an image, and is found by this tag or by its subject.
    Artifact(Option<String>),
    /// It is the image itself.
    Root,
}

/// A blob of the image.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) exists: bool,
}

/// Plans the copies. The results are in the order of the jobs.
pub async fn plan(jobs: &[Job], options: &Options) -> Vec<Result<Planned>> {
    // Collected first, here and below, because a stream of closures is not `Send`.
    let plans: Vec<_> = jobs.iter().map(|job| plan_one(job, options).boxed()).collect();
    stream::iter(plans).buffered(CONCURRENT_IMAGES).collect().await
}

async fn plan_one(job: &Job, options: &Options) -> Result<Planned> {
    let Job { source, destination } = job;
    let mut warnings = Vec::new();
    let whole = source.root().await?;
    let platforms = platforms_of(&whole);
    let root = narrow_platforms(source, whole, options, &mut warnings).await?;
    let status = destination.current_digest().await?;
    if let Some(there) = status.clone().filter(|there| *there != root.digest && !options.overwrite) {
        return Err(Error::Conflict { name: destination.to_string(), there, wanted: root.digest });
    }
    let mut image = ImageGraph::default();
    image.add(source, root.clone(), 0).await?;
    if !image.foreign.is_empty() {
        let count = image.foreign.len();
        warnings.push(format!("{source}: {count} of its layers are not distributable and are not copied"));
    }
    let bytes = image.blobs.values().map(|blob| blob.size).sum();
    let mut builder = PlanBuilder::default();
    let artifacts = if options.signatures {
        builder.add_artifacts(job, &image, options, &mut warnings).await?
    } else {
        0
    };
    let is_there = status.as_ref() == Some(&root.digest);
    if !is_there {
        builder.add_image(image);
    }
    let blobs = builder.blobs(destination).await?;
    Ok(Planned {
        job: job.clone(),
        digest: root.digest,
        media_type: root.media_type,
        platforms,
        status: match status {
            None => DestinationStatus::New,
            Some(_) if is_there && builder.writes.is_empty() => DestinationStatus::UpToDate,
            Some(_) if is_there => DestinationStatus::Incomplete,
            Some(there) => DestinationStatus::Replaces(there),
        },
        bytes,
        missing: blobs.iter().filter(|blob| !blob.exists).map(|blob| blob.size).sum(),
        artifacts,
        warnings,
        writes: builder.writes,
        blobs,
    })
}

/// The platforms of an index; a single image would need its configuration to be fetched.
fn platforms_of(manifest: &Manifest) -> Vec<Platform> {
    match &manifest.parts {
        Parts::Index(entries) => known_platforms(entries),
        Parts::Content { .. } => Vec::new(),
    }
}

/// Restricts an image to the requested platforms, unless its name pins the digest of the whole index.
async fn narrow_platforms(
    source: &Endpoint,
    whole: Manifest,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<Manifest> {
    if options.platforms.is_empty() || matches!(whole.parts, Parts::Content { .. }) {
        return Ok(whole);
    }
    if source.pinned().is_some() {
        warnings.push(format!("{source}: it is pinned by digest, so all of its platforms are copied"));
        return Ok(whole);
    }
    let before = whole.digest.clone();
    let chosen = choose(source, whole, &options.platforms).await?;
    if chosen.digest != before {
        warnings
            .push(format!("{source}: with fewer platforms its digest is {}, not {before}", chosen.digest));
    }
    Ok(chosen)
}

/// Collects what to write.
#[derive(Default)]
struct PlanBuilder {
    writes: Vec<ManifestWrite>,
    content: ImageGraph,
}

impl PlanBuilder {
    /// Adds the artifacts of an image that the destination lacks. Returns the number of all artifacts.
    async fn add_artifacts(
        &mut self,
        job: &Job,
        image: &ImageGraph,
        options: &Options,
        warnings: &mut Vec<String>,
    ) -> Result<usize> {
        let subjects: Vec<Digest> = image.manifests.iter().map(|manifest| manifest.digest.clone()).collect();
        let found = artifacts(&job.source, &subjects).await?;
        let count = found.len();
        for Artifact { manifest, tag } in found {
            if is_up_to_date(&job.destination, &manifest, tag.as_deref(), options, warnings).await? {
                continue;
            }
            let mut parts = ImageGraph::default();
            parts.add(&job.source, manifest, 0).await?;
            self.add(parts, Role::Artifact(tag));
        }
        Ok(count)
    }

    fn add_image(&mut self, image: ImageGraph) {
        self.add(image, Role::Root);
    }

    /// Adds manifests; the last one gets `role`.
    fn add(&mut self, parts: ImageGraph, role: Role) {
        self.writes
            .extend(parts.manifests.into_iter().map(|manifest| ManifestWrite { manifest, role: Role::Part }));
        if let Some(last) = self.writes.last_mut() {
            last.role = role;
        }
        self.content.blobs.extend(parts.blobs);
    }

    /// The blobs, with whether the destination has them.
    async fn blobs(&self, destination: &Endpoint) -> Result<Vec<Blob>> {
        let ask = |digest: Digest, size: u64| async move {
            let exists = destination.has_blob(&digest, size).await?;
            Ok(Blob { digest, size, exists })
        };
        let questions = self.content.blobs.values().map(|blob| ask(blob.digest.clone(), blob.size).boxed());
        let questions: Vec<_> = questions.collect();
        stream::iter(questions).buffered(CONCURRENT_REQUESTS).try_collect().await
    }
}

/// Whether an artifact needs no copy: it exists, or its tag is taken and must not be overwritten.
async fn is_up_to_date(
    destination: &Endpoint,
    manifest: &Manifest,
    tag: Option<&str>,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<bool> {
    let Some(tag) = tag else { return destination.has_manifest(manifest).await };
    match destination.tag_digest(tag).await? {
        None => Ok(false),
        Some(there) if there == manifest.digest => Ok(true),
        Some(_) if options.overwrite => Ok(false),
        Some(there) => {
            // The image may have been signed again at the destination, so this is not an error.
            warnings.push(format!("{destination}: {tag} already exists as {there} and is kept"));
            Ok(true)
        }
    }
}

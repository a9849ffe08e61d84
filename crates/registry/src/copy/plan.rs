//! What a copy would do, found out by asking both sides and changing nothing.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::copy::gather::{Artifact, Gathered, artifacts, choose, known_platforms};
use crate::copy::place::Place;
use crate::copy::{Job, Options};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, Parts, Platform};

/// How many images are looked at at once.
const IMAGES: usize = 8;

/// How many questions are asked at once about the blobs of one image.
const QUESTIONS: usize = 6;

/// How the destination stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// Its name stands for nothing yet.
    New,
    /// All is there.
    There,
    /// The image is there; something that belongs to it is not.
    Incomplete,
    /// Its name stands for something else, and may be moved.
    Moves(Digest),
}

/// One image, ready to be copied.
#[derive(Debug)]
pub struct Planned {
    /// From where to where.
    pub job: Job,
    /// What will stand at the destination.
    pub digest: Digest,
    /// What kind of manifest that is.
    pub media_type: String,
    /// The platforms of the image, if it says so itself.
    pub platforms: Vec<Platform>,
    /// How the destination stands.
    pub standing: Standing,
    /// All bytes of the image.
    pub bytes: u64,
    /// Those that the destination has not got.
    pub missing: u64,
    /// How many signatures and the like go along.
    pub artifacts: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) blobs: Vec<Blob>,
}

/// A manifest to write.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) manifest: Manifest,
    pub(crate) role: Role,
}

/// What a manifest is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is part of another one.
    Part,
    /// It belongs to an image, and is found by this tag, or by its subject.
    Artifact(Option<String>),
    /// It is the image.
    Root,
}

/// Content to move.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) there: bool,
}

/// Finds out what copying would take. The answers are in the order of the jobs.
pub async fn plan(jobs: &[Job], options: &Options) -> Vec<Result<Planned>> {
    stream::iter(jobs.iter().map(|job| plan_one(job, options))).buffered(IMAGES).collect().await
}

async fn plan_one(job: &Job, options: &Options) -> Result<Planned> {
    let Job { source, destination } = job;
    let mut warnings = Vec::new();
    let whole = source.root().await?;
    let platforms = platforms_of(&whole);
    let root = narrowed(source, whole, options, &mut warnings).await?;
    let standing = destination.standing().await?;
    if let Some(there) = standing.clone().filter(|there| *there != root.digest && !options.overwrite) {
        return Err(Error::Conflict { name: destination.to_string(), there, wanted: root.digest });
    }
    let mut image = Gathered::default();
    image.add(source, root.clone(), 0).await?;
    if !image.foreign.is_empty() {
        let count = image.foreign.len();
        warnings
            .push(format!("{source}: {count} of its layers may not be passed on and stay where they are"));
    }
    let bytes = image.blobs.values().map(|blob| blob.size).sum();
    let mut draft = Draft::default();
    let artifacts =
        if options.signatures { draft.add_artifacts(job, &image, options, &mut warnings).await? } else { 0 };
    let is_there = standing.as_ref() == Some(&root.digest);
    if !is_there {
        draft.add_image(image);
    }
    let blobs = draft.blobs(destination).await?;
    Ok(Planned {
        job: job.clone(),
        digest: root.digest,
        media_type: root.media_type,
        platforms,
        standing: match standing {
            None => Standing::New,
            Some(_) if is_there && draft.steps.is_empty() => Standing::There,
            Some(_) if is_there => Standing::Incomplete,
            Some(there) => Standing::Moves(there),
        },
        bytes,
        missing: blobs.iter().filter(|blob| !blob.there).map(|blob| blob.size).sum(),
        artifacts,
        warnings,
        steps: draft.steps,
        blobs,
    })
}

/// The platforms that an image says it is for; only indexes say it without being read further.
fn platforms_of(manifest: &Manifest) -> Vec<Platform> {
    match &manifest.parts {
        Parts::Index(entries) => known_platforms(entries),
        Parts::Content { .. } => Vec::new(),
    }
}

/// Leaves only the platforms that were asked for, unless the name fixes the digest of the whole.
async fn narrowed(
    source: &Place,
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

/// A plan in the making.
#[derive(Default)]
struct Draft {
    steps: Vec<Step>,
    content: Gathered,
}

impl Draft {
    /// Adds what belongs to an image, as far as the destination has not got it, and says how much belongs to it.
    async fn add_artifacts(
        &mut self,
        job: &Job,
        image: &Gathered,
        options: &Options,
        warnings: &mut Vec<String>,
    ) -> Result<usize> {
        let subjects: Vec<Digest> = image.manifests.iter().map(|manifest| manifest.digest.clone()).collect();
        let found = artifacts(&job.source, &subjects).await?;
        let count = found.len();
        for Artifact { manifest, tag } in found {
            if is_settled(&job.destination, &manifest, tag.as_deref(), options, warnings).await? {
                continue;
            }
            let mut parts = Gathered::default();
            parts.add(&job.source, manifest, 0).await?;
            self.add(parts, Role::Artifact(tag));
        }
        Ok(count)
    }

    fn add_image(&mut self, image: Gathered) {
        self.add(image, Role::Root);
    }

    /// Adds manifests, of which the last has a role of its own.
    fn add(&mut self, parts: Gathered, role: Role) {
        self.steps.extend(parts.manifests.into_iter().map(|manifest| Step { manifest, role: Role::Part }));
        if let Some(last) = self.steps.last_mut() {
            last.role = role;
        }
        self.content.blobs.extend(parts.blobs);
    }

    /// The content, with whether the destination has got it.
    async fn blobs(&self, destination: &Place) -> Result<Vec<Blob>> {
        let ask = |digest: Digest, size: u64| async move {
            let there = destination.has_blob(&digest, size).await?;
            Ok(Blob { digest, size, there })
        };
        let questions = self.content.blobs.values().map(|blob| ask(blob.digest.clone(), blob.size));
        stream::iter(questions).buffered(QUESTIONS).try_collect().await
    }
}

/// Whether nothing is to be done about an artifact: it is there, or something else is that must stay.
async fn is_settled(
    destination: &Place,
    manifest: &Manifest,
    tag: Option<&str>,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<bool> {
    let Some(tag) = tag else { return destination.has_manifest(manifest).await };
    match destination.standing_tag(tag).await? {
        None => Ok(false),
        Some(there) if there == manifest.digest => Ok(true),
        Some(_) if options.overwrite => Ok(false),
        Some(there) => {
            // Someone may have signed the image again over there.
            warnings.push(format!("{destination}: {tag} is {there} already and stays so"));
            Ok(true)
        }
    }
}

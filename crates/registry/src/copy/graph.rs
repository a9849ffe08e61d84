//! Everything that an image is made of, and everything that belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::copy::endpoint::Endpoint;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, Manifest, Parts, Platform};

/// How deep indexes may lie in each other.
const MAX_INDEX_DEPTH: usize = 4;

/// How many manifests an image may have, signatures included.
const MAX_MANIFESTS: usize = 2000;

/// How many questions are asked at once about one image.
const CONCURRENT_REQUESTS: usize = 6;

/// The suffixes of the tags under which cosign keeps what belongs to an image.
pub(crate) const SUFFIXES: [&str; 3] = ["sig", "att", "sbom"];

/// A manifest that belongs to another one.
#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    pub(crate) manifest: Manifest,
    /// The tag that it is found by, if it is found by a tag.
    pub(crate) tag: Option<String>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct ImageGraph {
    /// Manifests, each after those that it names.
    pub(crate) manifests: Vec<Manifest>,
    seen: BTreeSet<Digest>,
    /// Content, once each.
    pub(crate) blobs: BTreeMap<Digest, Descriptor>,
    /// Content that may not be passed on.
    pub(crate) foreign: BTreeSet<Digest>,
}

impl ImageGraph {
    /// Adds a manifest and all below it.
    pub(crate) fn add<'g>(
        &'g mut self,
        endpoint: &'g Endpoint,
        manifest: Manifest,
        depth: usize,
    ) -> BoxFuture<'g, Result<()>> {
        Box::pin(async move {
            let bad =
                |reason: &str| Error::Manifest { what: endpoint.to_string(), reason: reason.to_owned() };
            if !self.seen.insert(manifest.digest.clone()) {
                return Ok(());
            }
            if depth > MAX_INDEX_DEPTH {
                return Err(bad("its indexes lie too deep in each other"));
            }
            if self.seen.len() > MAX_MANIFESTS {
                return Err(bad("it has too many manifests"));
            }
            match &manifest.parts {
                Parts::Content { config, layers } => {
                    for blob in config.iter().chain(layers) {
                        self.add_blob(blob);
                    }
                }
                Parts::Index(entries) => {
                    if entries.len() > MAX_MANIFESTS {
                        return Err(bad("it has too many manifests"));
                    }
                    for child in self.children(endpoint, entries).await? {
                        self.add(endpoint, child, depth + 1).await?;
                    }
                }
            }
            self.manifests.push(manifest);
            Ok(())
        })
    }

    fn add_blob(&mut self, blob: &Descriptor) {
        if blob.is_foreign() {
            self.foreign.insert(blob.digest.clone());
        } else {
            self.blobs.entry(blob.digest.clone()).or_insert_with(|| blob.clone());
        }
    }

    /// The manifests that an index names; other content that it names is noted.
    async fn children(&mut self, endpoint: &Endpoint, entries: &[Descriptor]) -> Result<Vec<Manifest>> {
        let mut wanted = Vec::new();
        for entry in entries {
            match &entry.media_type {
                kind if kind.is_empty() || kind.contains("manifest") || kind.contains("index") => {
                    wanted.push(entry.clone());
                }
                _ => self.add_blob(entry),
            }
        }
        let fetch = |entry: Descriptor| async move {
            let found = endpoint.manifest(&entry.digest, &entry.media_type).await?;
            found.ok_or_else(|| Error::Missing { name: format!("{endpoint} ({})", entry.digest) })
        };
        stream::iter(wanted.into_iter().map(fetch)).buffered(CONCURRENT_REQUESTS).try_collect().await
    }
}

/// Leaves only some platforms of an image.
pub(crate) async fn choose(endpoint: &Endpoint, root: Manifest, platforms: &[Platform]) -> Result<Manifest> {
    let Parts::Index(entries) = &root.parts else { return Ok(root) };
    if platforms.is_empty() {
        return Ok(root);
    }
    let wanted = |entry: &Descriptor| {
        entry.platform.as_ref().is_some_and(|found| platforms.iter().any(|platform| platform.takes(found)))
    };
    for platform in platforms {
        if !entries.iter().any(|entry| entry.platform.as_ref().is_some_and(|found| platform.takes(found))) {
            let mut there: Vec<String> = known_platforms(entries).iter().map(ToString::to_string).collect();
            there.dedup();
            let reason = format!("it is not there for {platform}; it is for {}", there.join(", "));
            return Err(Error::Manifest { what: endpoint.to_string(), reason });
        }
    }
    let chosen: Vec<&Descriptor> = entries.iter().filter(|entry| wanted(entry)).collect();
    if let [only] = chosen[..] {
        let found = endpoint.manifest(&only.digest, &only.media_type).await?;
        return found.ok_or_else(|| Error::Missing { name: format!("{endpoint} ({})", only.digest) });
    }
    // Attestations of builders stand beside the images that they are about.
    let about = |entry: &Descriptor| {
        let subject = entry.annotation("vnd.docker.reference.digest");
        subject.is_some_and(|subject| chosen.iter().any(|image| image.digest.to_string() == subject))
    };
    root.narrow_platforms(|entry| wanted(entry) || about(entry))
}

/// The platforms that an index names, with their digests.
pub(crate) fn known_digests(entries: &[Descriptor]) -> Vec<(Platform, Digest)> {
    let named = entries.iter().filter_map(|entry| Some((entry.platform.clone()?, entry.digest.clone())));
    named.filter(|(platform, _)| !platform.is_unknown()).collect()
}

/// The platforms that an index names.
pub(crate) fn known_platforms(entries: &[Descriptor]) -> Vec<Platform> {
    known_digests(entries).into_iter().map(|(platform, _)| platform).collect()
}

/// What belongs to `subjects`, and what belongs to that.
pub(crate) async fn artifacts(endpoint: &Endpoint, subjects: &[Digest]) -> Result<Vec<Artifact>> {
    let mut found: Vec<Artifact> = Vec::new();
    let mut open: Vec<Digest> = subjects.to_vec();
    let mut seen: BTreeSet<Digest> = open.iter().cloned().collect();
    for _ in 0..MAX_INDEX_DEPTH {
        let answers = stream::iter(open.iter().map(|subject| artifacts_of(endpoint, subject)));
        let next: Vec<Artifact> = answers.buffered(CONCURRENT_REQUESTS).try_concat().await?;
        open = Vec::new();
        for artifact in next {
            if seen.insert(artifact.manifest.digest.clone()) {
                open.push(artifact.manifest.digest.clone());
                found.push(artifact);
            }
        }
        if found.len() > MAX_MANIFESTS {
            let reason = "it has too many signatures and the like".to_owned();
            return Err(Error::Manifest { what: endpoint.to_string(), reason });
        }
        if open.is_empty() {
            break;
        }
    }
    Ok(found)
}

async fn artifacts_of(endpoint: &Endpoint, subject: &Digest) -> Result<Vec<Artifact>> {
    let mut found = Vec::new();
    for suffix in SUFFIXES {
        let tag = format!("{}.{suffix}", subject.tag());
        if let Some(manifest) = endpoint.tagged(&tag).await? {
            found.push(Artifact { manifest, tag: Some(tag) });
        }
    }
    for entry in endpoint.referrers(subject).await? {
        // A list may name what is gone.
        let Some(manifest) = endpoint.manifest(&entry.digest, &entry.media_type).await? else { continue };
        if manifest.subject.as_ref() == Some(subject) {
            found.push(Artifact { manifest, tag: None });
        }
    }
    Ok(found)
}

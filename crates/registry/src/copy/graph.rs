//! The manifests and blobs that an image consists of, and the artifacts that refer to it.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::copy::endpoint::Endpoint;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, Manifest, Parts, Platform};

/// The maximum nesting of indexes; a bound against hostile registries.
const MAX_INDEX_DEPTH: usize = 4;

/// The maximum number of manifests of an image, including artifacts.
const MAX_MANIFESTS: usize = 2000;

/// Concurrent requests per image.
const CONCURRENT_REQUESTS: usize = 6;

/// The tag suffixes that cosign uses for signatures, attestations and SBOMs.
pub(crate) const SUFFIXES: [&str; 3] = ["sig", "att", "sbom"];

/// A manifest that refers to another one.
#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    pub(crate) manifest: Manifest,
    /// The tag it is found by; `None` if it was found through the referrers API.
    pub(crate) tag: Option<String>,
}

/// The manifests and blobs reachable from a root manifest.
#[derive(Debug, Default)]
pub(crate) struct ImageGraph {
    /// Manifests in post-order: children before the index that names them, which is the order registries require.
    pub(crate) manifests: Vec<Manifest>,
    seen: BTreeSet<Digest>,
    /// The blobs, without duplicates.
    pub(crate) blobs: BTreeMap<Digest, Descriptor>,
    /// Blobs that must not be redistributed (non-distributable layers).
    pub(crate) foreign: BTreeSet<Digest>,
}

impl ImageGraph {
    /// Adds a manifest and everything reachable from it.
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
                return Err(bad("its indexes are nested too deeply"));
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

    /// Fetches the manifests that an index names; other entries are recorded as blobs.
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
        let fetches: Vec<_> = wanted.into_iter().map(|entry| fetch(entry).boxed()).collect();
        stream::iter(fetches).buffered(CONCURRENT_REQUESTS).try_collect().await
    }
}

/// Restricts an image to some platforms.
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
            let reason = format!("not available for {platform}; available for {}", there.join(", "));
            return Err(Error::Manifest { what: endpoint.to_string(), reason });
        }
    }
    let chosen: Vec<&Descriptor> = entries.iter().filter(|entry| wanted(entry)).collect();
    if let [only] = chosen[..] {
        let found = endpoint.manifest(&only.digest, &only.media_type).await?;
        return found.ok_or_else(|| Error::Missing { name: format!("{endpoint} ({})", only.digest) });
    }
    // BuildKit stores attestations in the index next to the image they describe; keep those of chosen images.
    let about = |entry: &Descriptor| {
        let subject = entry.annotation("vnd.docker.reference.digest");
        subject.is_some_and(|subject| chosen.iter().any(|image| image.digest.to_string() == subject))
    };
    root.narrow_platforms(|entry| wanted(entry) || about(entry))
}

/// The platforms of an index with their digests.
pub(crate) fn known_digests(entries: &[Descriptor]) -> Vec<(Platform, Digest)> {
    let named = entries.iter().filter_map(|entry| Some((entry.platform.clone()?, entry.digest.clone())));
    named.filter(|(platform, _)| !platform.is_unknown()).collect()
}

/// The platforms of an index.
pub(crate) fn known_platforms(entries: &[Descriptor]) -> Vec<Platform> {
    known_digests(entries).into_iter().map(|(platform, _)| platform).collect()
}

/// The artifacts that refer to `subjects`, transitively.
pub(crate) async fn artifacts(endpoint: &Endpoint, subjects: &[Digest]) -> Result<Vec<Artifact>> {
    let mut found: Vec<Artifact> = Vec::new();
    let mut open: Vec<Digest> = subjects.to_vec();
    let mut seen: BTreeSet<Digest> = open.iter().cloned().collect();
    for _ in 0..MAX_INDEX_DEPTH {
        // Collected first, because a stream of closures is not `Send`.
        let answers: Vec<_> = open.iter().map(|subject| artifacts_of(endpoint, subject).boxed()).collect();
        let next: Vec<Artifact> = stream::iter(answers).buffered(CONCURRENT_REQUESTS).try_concat().await?;
        open = Vec::new();
        for artifact in next {
            if seen.insert(artifact.manifest.digest.clone()) {
                open.push(artifact.manifest.digest.clone());
                found.push(artifact);
            }
        }
        if found.len() > MAX_MANIFESTS {
            let reason = "it has too many signatures and other referrers".to_owned();
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
        // The referrers list may be stale and name deleted manifests.
        let Some(manifest) = endpoint.manifest(&entry.digest, &entry.media_type).await? else { continue };
        if manifest.subject.as_ref() == Some(subject) {
            found.push(Artifact { manifest, tag: None });
        }
    }
    Ok(found)
}

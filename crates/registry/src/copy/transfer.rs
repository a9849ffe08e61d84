//! Executes a plan: blobs first, then manifests, tags last, so that a tag never names an incomplete image.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::sync::Semaphore;

use crate::client::Client;
use crate::copy::endpoint::Endpoint;
use crate::copy::ingest::ingest;
use crate::copy::plan::{Blob, ManifestWrite, Planned, Role};
use crate::copy::{CopyStats, Options, Outcome};
use crate::digest::Digest;
use crate::error::Result;
use crate::name::{ImageName, Repository};
use crate::progress::{BlobProgress, Progress};
use crate::repository::Mounted;
use crate::upload::Upload;

/// The number of images in progress; actual transfers are limited by [`Options::jobs`].
const CONCURRENT_IMAGES: usize = 8;

/// State shared by all images of a copy.
struct Shared {
    /// Limits concurrent blob transfers.
    gate: Semaphore,
    /// The stores that already have each blob. The inner lock is held during the transfer, so that a blob shared by
    /// several images is transferred once.
    known: Mutex<BTreeMap<Digest, Known>>,
    /// Serialises the read-modify-write of fallback referrers tags.
    lists: tokio::sync::Mutex<()>,
    progress: Arc<dyn Progress>,
}

type Known = Arc<tokio::sync::Mutex<Vec<String>>>;

/// Executes a plan. A failed image does not stop the others. The outcomes are in the order of the plan.
pub async fn execute(plan: Vec<Planned>, options: &Options, progress: Arc<dyn Progress>) -> Vec<Outcome> {
    let shared = Shared {
        gate: Semaphore::new(options.jobs.max(1)),
        known: Mutex::default(),
        lists: tokio::sync::Mutex::default(),
        progress,
    };
    let shared = &shared;
    let copies = plan.into_iter().map(|planned| async move {
        let result = copy(&planned, shared).await;
        let outcome = Outcome {
            source: planned.job.source.to_string(),
            destination: planned.job.destination.to_string(),
            digest: planned.digest,
            result,
        };
        shared.progress.image_finished(&outcome);
        outcome
    });
    // Collected first, here and below, because a stream of closures is not `Send`.
    let copies: Vec<_> = copies.map(|copy| copy.boxed()).collect();
    stream::iter(copies).buffered(CONCURRENT_IMAGES.max(options.jobs)).collect().await
}

async fn copy(planned: &Planned, shared: &Shared) -> Result<CopyStats> {
    let moves: Vec<_> = planned.blobs.iter().map(|blob| shared.deliver(planned, blob).boxed()).collect();
    let width = planned.blobs.len().max(1);
    let mut stats: CopyStats = stream::iter(moves)
        .buffer_unordered(width)
        .try_fold(CopyStats::default(), |mut sum, one| async move {
            sum += one;
            Ok(sum)
        })
        .await?;
    for step in &planned.writes {
        shared.write(&planned.job.destination, step).await?;
        stats.manifests += 1;
        stats.artifacts += usize::from(matches!(step.role, Role::Artifact(_)));
    }
    Ok(stats)
}

impl Shared {
    /// Ensures that a blob exists at the destination.
    async fn deliver(&self, planned: &Planned, blob: &Blob) -> Result<CopyStats> {
        let store = planned.job.destination.store();
        let known = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(blob.digest.clone()).or_default().clone()
        };
        let mut stores = known.lock().await;
        if blob.exists || stores.contains(&store) {
            stores.push(store);
            return Ok(CopyStats { existing: 1, ..CopyStats::default() });
        }
        // The semaphore is never closed while copies run, so acquiring cannot fail.
        let _pass = self.gate.acquire().await;
        let progress = BlobProgress::new(self.progress.clone(), blob.digest.clone());
        progress.blob_started(blob.size);
        let outcome = self.transfer(planned, blob, &stores, &progress).await;
        progress.blob_finished();
        let stats = outcome?;
        stores.push(store);
        Ok(stats)
    }

    async fn transfer(
        &self,
        planned: &Planned,
        blob: &Blob,
        stores: &[String],
        progress: &BlobProgress,
    ) -> Result<CopyStats> {
        let origin = planned.job.source.origin();
        match &planned.job.destination {
            Endpoint::Layout { layout, .. } => {
                let bytes = ingest(layout, &origin, &blob.digest, blob.size, progress).await?;
                Ok(CopyStats { copied: 1, bytes, ..CopyStats::default() })
            }
            Endpoint::Registry { client, name } => {
                let from = mountable(&planned.job.source, &name.repository, stores);
                let begun = match begin(client, &name.repository, from, &blob.digest).await? {
                    Mounted::Done => return Ok(CopyStats { mounted: 1, ..CopyStats::default() }),
                    Mounted::Upload(begun) => begun,
                };
                let upload = Upload {
                    client,
                    repository: &name.repository,
                    origin,
                    digest: &blob.digest,
                    size: blob.size,
                    progress: progress.clone(),
                };
                upload.run(begun).await?;
                Ok(CopyStats { copied: 1, bytes: blob.size, ..CopyStats::default() })
            }
        }
    }

    /// Writes a manifest under the name for its role.
    async fn write(&self, destination: &Endpoint, step: &ManifestWrite) -> Result<()> {
        let ManifestWrite { manifest, role } = step;
        let digest = manifest.digest.to_string();
        match destination {
            Endpoint::Registry { client, name } => {
                let reference = match role {
                    Role::Root => name.tag(),
                    Role::Artifact(tag) => tag.as_deref(),
                    Role::Part => None,
                };
                let reference = reference.unwrap_or(&digest);
                let tracked = client.put_manifest(&name.repository, reference, manifest).await?;
                if let (Some(subject), false) = (&manifest.subject, tracked) {
                    let _alone = self.lists.lock().await;
                    client.add_referrer(&name.repository, subject, manifest).await?;
                }
                Ok(())
            }
            Endpoint::Layout { layout, name } => {
                layout.put_manifest(manifest)?;
                let repository = name.parse::<ImageName>().ok().map(|name| name.repository);
                let entry = match (role, repository) {
                    (Role::Part, _) => return Ok(()),
                    (Role::Root, _) => name.clone(),
                    (Role::Artifact(Some(tag)), Some(repository)) => format!("{repository}:{tag}"),
                    (Role::Artifact(_), Some(repository)) => format!("{repository}@{digest}"),
                    (Role::Artifact(_), None) => format!("{name}@{digest}"),
                };
                layout.enter(&entry, &manifest.descriptor())
            }
        }
    }
}

/// Starts an upload, or mounts the blob from another repository.
async fn begin(
    client: &Client,
    to: &Repository,
    from: Option<Repository>,
    digest: &Digest,
) -> Result<Mounted> {
    match from {
        Some(from) => client.mount(to, &from, digest).await,
        None => client.begin_upload(to).await.map(Mounted::Upload),
    }
}

/// A repository of the same registry that has the blob: one filled earlier in this copy, or the source.
fn mountable(source: &Endpoint, to: &Repository, stores: &[String]) -> Option<Repository> {
    let beside = |store: &String| {
        let (registry, path) = store.split_once('/')?;
        Repository::new(registry, path).ok().filter(|found| found.registry() == to.registry())
    };
    if let Some(found) = stores.iter().find_map(beside) {
        return Some(found);
    }
    match source {
        Endpoint::Registry { name, .. } => Some(name.repository.clone()),
        Endpoint::Layout { .. } => None,
    }
    .filter(|from| from.registry() == to.registry() && from != to)
}

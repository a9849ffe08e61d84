//! Carrying out what was planned: content first, then manifests, names last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::sync::Semaphore;

use crate::client::Client;
use crate::copy::ingest::ingest;
use crate::copy::place::Place;
use crate::copy::plan::{Blob, Planned, Role, Step};
use crate::copy::{Options, Outcome, Tally};
use crate::digest::Digest;
use crate::error::Result;
use crate::name::{ImageName, Repository};
use crate::progress::{Progress, Watch};
use crate::repository::Mounted;
use crate::upload::Upload;

/// How many images are under way at once; what really moves at once is bounded by the number of jobs.
const IMAGES: usize = 8;

/// What all images of a copy share.
struct Shared {
    /// Lets only so many blobs move at once.
    gate: Semaphore,
    /// Where each blob is by now; the inner lock is held while it moves.
    known: Mutex<BTreeMap<Digest, Known>>,
    /// Held while a list of signatures is read and written again.
    lists: tokio::sync::Mutex<()>,
    progress: Arc<dyn Progress>,
}

type Known = Arc<tokio::sync::Mutex<Vec<String>>>;

/// Carries out a plan. Images that fail do not stop others. The outcomes are in the order of the plan.
pub async fn carry_out(plan: Vec<Planned>, options: &Options, progress: Arc<dyn Progress>) -> Vec<Outcome> {
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
        shared.progress.image(&outcome);
        outcome
    });
    stream::iter(copies).buffered(IMAGES.max(options.jobs)).collect().await
}

async fn copy(planned: &Planned, shared: &Shared) -> Result<Tally> {
    let moves = planned.blobs.iter().map(|blob| shared.deliver(planned, blob));
    let width = planned.blobs.len().max(1);
    let mut tally: Tally = stream::iter(moves)
        .buffer_unordered(width)
        .try_fold(Tally::default(), |mut sum, one| async move {
            sum += one;
            Ok(sum)
        })
        .await?;
    for step in &planned.steps {
        shared.write(&planned.job.destination, step).await?;
        tally.manifests += 1;
        tally.artifacts += usize::from(matches!(step.role, Role::Artifact(_)));
    }
    Ok(tally)
}

impl Shared {
    /// Sees to it that content is at the destination.
    async fn deliver(&self, planned: &Planned, blob: &Blob) -> Result<Tally> {
        let store = planned.job.destination.store();
        let known = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(blob.digest.clone()).or_default().clone()
        };
        let mut stores = known.lock().await;
        if blob.there || stores.contains(&store) {
            stores.push(store);
            return Ok(Tally { there: 1, ..Tally::default() });
        }
        // The gate is open for as long as copying goes on.
        let _pass = self.gate.acquire().await;
        let watch = Watch::new(self.progress.clone(), blob.digest.clone());
        watch.begun(blob.size);
        let outcome = self.transfer(planned, blob, &stores, &watch).await;
        watch.ended();
        let tally = outcome?;
        stores.push(store);
        Ok(tally)
    }

    async fn transfer(
        &self,
        planned: &Planned,
        blob: &Blob,
        stores: &[String],
        watch: &Watch,
    ) -> Result<Tally> {
        let origin = planned.job.source.origin();
        match &planned.job.destination {
            Place::Layout { layout, .. } => {
                let bytes = ingest(layout, &origin, &blob.digest, blob.size, watch).await?;
                Ok(Tally { copied: 1, bytes, ..Tally::default() })
            }
            Place::Registry { client, name } => {
                let from = mountable(&planned.job.source, &name.repository, stores);
                let begun = match begin(client, &name.repository, from, &blob.digest).await? {
                    Mounted::Done => return Ok(Tally { mounted: 1, ..Tally::default() }),
                    Mounted::Upload(begun) => begun,
                };
                let upload = Upload {
                    client,
                    repository: &name.repository,
                    origin,
                    digest: &blob.digest,
                    size: blob.size,
                    watch: watch.clone(),
                };
                upload.run(begun).await?;
                Ok(Tally { copied: 1, bytes: blob.size, ..Tally::default() })
            }
        }
    }

    /// Writes a manifest, under the name that it is to have.
    async fn write(&self, destination: &Place, step: &Step) -> Result<()> {
        let Step { manifest, role } = step;
        let digest = manifest.digest.to_string();
        match destination {
            Place::Registry { client, name } => {
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
            Place::Layout { layout, name } => {
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

/// Begins to send content, or has it taken over.
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

/// A repository of the same registry that has the content: one that was filled before, or the source.
fn mountable(source: &Place, to: &Repository, stores: &[String]) -> Option<Repository> {
    let beside = |store: &String| {
        let (registry, path) = store.split_once('/')?;
        Repository::new(registry, path).ok().filter(|found| found.registry() == to.registry())
    };
    if let Some(found) = stores.iter().find_map(beside) {
        return Some(found);
    }
    match source {
        Place::Registry { name, .. } => Some(name.repository.clone()),
        Place::Layout { .. } => None,
    }
    .filter(|from| from.registry() == to.registry() && from != to)
}

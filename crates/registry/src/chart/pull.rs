//! Fetching charts.

use std::sync::Arc;

use bytes::Bytes;

use super::{CONFIG, CONTENT, LEGACY_CONTENT, PROVENANCE, ResolvedChart};
use crate::blob::{BlobReader, Origin};
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, MANIFEST_LIMIT, Manifest, Parts};
use crate::name::Repository;

/// How many manifests of an index are looked at.
const MANIFESTS: usize = 64;

/// The largest provenance file that is fetched.
const PROVENANCE_LIMIT: u64 = 8 << 20;

/// Whether the provenance file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedProvenance {
    /// It is not.
    No,
    /// If there is one.
    IfThere,
    /// A chart without it is an error.
    Required,
}

/// What is wanted of a chart.
#[derive(Clone, Copy, Debug)]
pub struct WantedParts {
    /// The archive.
    pub content: bool,
    /// The provenance file.
    pub provenance: WantedProvenance,
    /// The largest archive that is taken.
    pub limit: u64,
}

/// A chart of a registry whose archive can be read.
pub struct PulledChart {
    /// The reference as Helm shows it.
    pub reference: String,
    /// The digest of the manifest that the reference means; of an index, if it means one.
    pub manifest: Digest,
    /// That manifest, byte for byte.
    pub manifest_bytes: Bytes,
    /// The chart's metadata as JSON.
    pub config: Bytes,
    /// The archive; nothing if it is not wanted.
    pub content: Option<Descriptor>,
    /// The provenance file.
    pub provenance: Option<Bytes>,
    /// Whether the archive has the deprecated media type.
    pub is_legacy: bool,
    client: Arc<Client>,
    repository: Repository,
}

/// The parts of a chart.
#[derive(Default)]
struct Found {
    config: Option<Descriptor>,
    content: Option<Descriptor>,
    provenance: Option<Descriptor>,
    is_legacy: bool,
    /// How many of them there are, manifests included.
    count: usize,
}

impl Found {
    fn look_at(&mut self, manifest: &Manifest, wanted: &WantedParts) {
        let Parts::Content { config, layers } = &manifest.parts else { return };
        for part in config.iter().chain(layers) {
            let slot = match part.media_type.as_str() {
                CONFIG => &mut self.config,
                CONTENT | LEGACY_CONTENT if wanted.content => {
                    self.is_legacy = part.media_type == LEGACY_CONTENT;
                    &mut self.content
                }
                PROVENANCE if wanted.provenance != WantedProvenance::No => &mut self.provenance,
                _ => continue,
            };
            *slot = Some(part.clone());
            self.count += 1;
        }
    }
}

impl Client {
    /// Looks a chart up, and fetches everything but its archive.
    ///
    /// # Errors
    ///
    /// When there is no such chart, when what is there is no chart, and when bytes are not those of their digests.
    pub async fn pull_chart(
        self: &Arc<Self>,
        chart: &ResolvedChart,
        wanted: WantedParts,
    ) -> Result<PulledChart> {
        let failed = |error: Error| error.while_performing("FetchReference", "source", "Get");
        let reference = chart.to_string();
        let manifest = self.manifest(&chart.name).await.map_err(failed)?;
        let manifest = manifest.ok_or_else(|| Error::Chart {
            text: format!("failed to perform \"FetchReference\" on source: {reference}: not found"),
        })?;
        let repository = chart.name.repository.clone();
        let found = self.parts_of(&repository, &manifest, &wanted).await?;
        let missing = |media_type: &str| Error::Chart {
            text: format!("manifest does not contain a layer with mediatype {media_type}"),
        };
        let least =
            1 + usize::from(wanted.content) + usize::from(wanted.provenance == WantedProvenance::Required);
        if found.count < least {
            return Err(Error::Chart {
                text: format!(
                    "manifest does not contain minimum number of descriptors ({least}), descriptors found: {}",
                    found.count
                ),
            });
        }
        let config = found
            .config
            .ok_or_else(|| Error::Chart { text: format!("could not load config with mediatype {CONFIG}") })?;
        if wanted.content && found.content.is_none() {
            return Err(missing(CONTENT));
        }
        if let Some(content) = found.content.as_ref().filter(|content| content.size > wanted.limit) {
            let reason = format!(
                "the archive has {} bytes, and {} are the most that is taken",
                content.size, wanted.limit
            );
            return Err(Error::Size { what: reference, reason });
        }
        if wanted.provenance == WantedProvenance::Required && found.provenance.is_none() {
            return Err(missing(PROVENANCE));
        }
        let provenance = match &found.provenance {
            Some(part) => Some(self.small(&repository, part, PROVENANCE_LIMIT).await?),
            None => None,
        };
        Ok(PulledChart {
            reference,
            manifest: manifest.digest,
            manifest_bytes: manifest.bytes,
            config: self.small(&repository, &config, MANIFEST_LIMIT as u64).await?,
            content: found.content,
            provenance,
            is_legacy: found.is_legacy,
            client: self.clone(),
            repository,
        })
    }

    async fn parts_of(
        &self,
        repository: &Repository,
        manifest: &Manifest,
        wanted: &WantedParts,
    ) -> Result<Found> {
        let mut found = Found { count: 1, ..Found::default() };
        found.look_at(manifest, wanted);
        if let Parts::Index(entries) = &manifest.parts {
            for entry in entries.iter().take(MANIFESTS) {
                let Some(inner) = self.manifest(&repository.at(entry.digest.clone())).await? else {
                    continue;
                };
                found.count += 1;
                found.look_at(&inner, wanted);
                if found.config.is_some() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Fetches a blob of at most `limit` bytes into memory.
    pub(crate) async fn small(
        self: &Arc<Self>,
        repository: &Repository,
        part: &Descriptor,
        limit: u64,
    ) -> Result<Bytes> {
        if part.size > limit {
            let what = repository.at(part.digest.clone()).to_string();
            let reason = format!("it has {} bytes, and {limit} are the most that is taken", part.size);
            return Err(Error::Size { what, reason });
        }
        let mut whole = Vec::new();
        read(self, repository, part, &mut |piece| {
            whole.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        Ok(whole.into())
    }
}

impl PulledChart {
    /// Streams the archive to `write`. The content may be used only after this returns `Ok`, because the digest is checked at
    /// the end.
    ///
    /// # Errors
    ///
    /// When the connection breaks off again and again, when the bytes are not those of the digest, or when `write` fails.
    pub async fn read_content(
        &self,
        write: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
    ) -> Result<()> {
        match &self.content {
            Some(content) => read(&self.client, &self.repository, content, write).await,
            None => Ok(()),
        }
    }
}

async fn read(
    client: &Arc<Client>,
    repository: &Repository,
    part: &Descriptor,
    write: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
) -> Result<()> {
    let origin = Origin::Registry(client.clone(), repository.clone());
    let mut reader = BlobReader::new(origin, part.digest.clone(), part.size, 0);
    let what = reader.what();
    let mut hasher = part.digest.hasher();
    while let Some(piece) = reader.next().await? {
        hasher.update(&piece);
        write(&piece).map_err(|source| Error::File { action: "write", path: what.clone().into(), source })?;
    }
    hasher.check(&part.digest, &what)
}

//! Plugins of Helm in registries: an artifact with an archive and its provenance file as layers, found by their titles.

use std::sync::Arc;

use bytes::Bytes;

use crate::chart::ChartReference;
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, Parts};

/// The type of the artifact, or of its configuration.
pub const PLUGIN: &str = "application/vnd.helm.plugin.v1+json";

/// The types of the layers.
const LAYERS: [&str; 2] =
    ["application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip"];

const TITLE: &str = "org.opencontainers.image.title";

/// The largest provenance file that is fetched.
const PROVENANCE_LIMIT: u64 = 1 << 20;

/// A plugin of a registry.
#[derive(Clone, Debug)]
pub struct PulledPlugin {
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The archive.
    pub archive: Bytes,
    /// The provenance file, if there is one.
    pub provenance: Option<Bytes>,
}

impl Client {
    /// Fetches a plugin whose archive is called `<name>-<version>.tgz`, where the name is the last part of the
    /// repository. Archives larger than `limit` are refused.
    ///
    /// # Errors
    ///
    /// When there is no such artifact, when it is no plugin, and when bytes are not those of their digests.
    pub async fn pull_plugin(
        self: &Arc<Self>,
        reference: &ChartReference,
        limit: u64,
    ) -> Result<PulledPlugin> {
        let failed = |error: Error| error.while_performing("FetchReference", "source", "Get");
        let name = match reference.digest.as_str() {
            "" => reference.repository.tagged(&reference.tag)?,
            _ => reference.digest_name()?,
        };
        let manifest = self.manifest(&name).await.map_err(failed)?.ok_or_else(|| Error::Chart {
            text: format!("failed to perform \"FetchReference\" on source: {name}: not found"),
        })?;
        let (config, layers) = match &manifest.parts {
            Parts::Content { config, layers } => (config.as_ref(), layers.as_slice()),
            Parts::Index(_) => (None, &[][..]),
        };
        let media_type = config.map_or("", |config| config.media_type.as_str());
        check_type(manifest.artifact_type(), media_type)?;
        let base = reference.base();
        let layer = |ending: &str| layers.iter().find(|layer| has_title(layer, base, ending));
        let archive = layer(".tgz").ok_or_else(|| Error::Chart {
            text: format!("required layer matching pattern {base}-VERSION.tgz not found in manifest"),
        })?;
        check_layer(archive, "plugin data")?;
        let provenance = match layer(".tgz.prov") {
            Some(part) => {
                check_layer(part, "provenance data")?;
                Some(self.small(&name.repository, part, PROVENANCE_LIMIT).await?)
            }
            None => None,
        };
        let archive = self.small(&name.repository, archive, limit).await?;
        Ok(PulledPlugin { manifest: manifest.digest, archive, provenance })
    }
}

/// Checks that an artifact is a plugin, by its type or, if it has none, by that of its configuration.
fn check_type(artifact_type: &str, config: &str) -> Result<()> {
    let text = match (artifact_type, config) {
        (PLUGIN, _) | ("", PLUGIN) => return Ok(()),
        ("", other) => {
            format!("expected config media type {PLUGIN} for legacy compatibility, got {other}")
        }
        (other, _) => format!("expected artifact type {PLUGIN}, got {other}"),
    };
    Err(Error::Chart { text })
}

/// Checks the media type of a layer. Helm copies no other layers, so it reports them as not found.
fn check_layer(layer: &Descriptor, what: &str) -> Result<()> {
    let (digest, media_type) = (&layer.digest, &layer.media_type);
    if LAYERS.contains(&media_type.as_str()) {
        return Ok(());
    }
    let text = format!("unable to retrieve {what} with digest {digest}: {digest}: {media_type}: not found");
    Err(Error::Chart { text })
}

fn has_title(layer: &Descriptor, base: &str, ending: &str) -> bool {
    let rest = layer.annotation(TITLE).and_then(|title| title.strip_prefix(base)?.strip_prefix('-'));
    rest.is_some_and(|rest| rest.ends_with(ending))
}

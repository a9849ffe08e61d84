//! Fetches the cosign signatures of a chart.

use std::sync::Arc;

use bytes::Bytes;

use crate::client::Client;
use crate::digest::Digest;
use crate::error::Result;
use crate::manifest::{Descriptor, Manifest, Parts};
use crate::name::Repository;

/// The artifact type of signatures in a referrers list.
const ARTIFACT: &str = "application/vnd.dev.cosign.artifact.sig.v1+json";

/// The media type of a payload.
pub(crate) const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The prefix of the media types of bundles; the version follows.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// The annotation with the signature of a payload.
pub(crate) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// The annotation with the signer's certificate.
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";

/// The annotation with the transparency log entry.
const LOG_ENTRY: &str = "dev.sigstore.cosign/bundle";

/// The annotation with the RFC 3161 timestamp.
const TIMESTAMP: &str = "dev.sigstore.cosign/rfc3161timestamp";

/// The maximum size of a payload in bytes, and the maximum number of signatures that are read.
const PAYLOAD_LIMIT: u64 = 1 << 20;
const SIGNATURES: usize = 64;

/// A signature that cosign made.
#[derive(Clone, Debug, Default)]
pub struct ChartSignature {
    /// What was signed, or the whole bundle.
    pub content: Bytes,
    /// Whether it is a bundle, which includes the other fields.
    pub is_bundle: bool,
    /// The signature, in Base64.
    pub signature: String,
    /// The certificate of the signer, in PEM; empty for signatures with a key.
    pub certificate: String,
    /// The transparency log entry, in JSON.
    pub log_entry: String,
    /// The timestamp of an authority, in JSON.
    pub timestamp: String,
}

impl Client {
    /// The signatures of a manifest: under the tag `sha256-….sig`, and among its referrers.
    ///
    /// # Errors
    ///
    /// When the registry does not respond, or content does not match its digest.
    pub async fn chart_signatures(
        self: &Arc<Self>,
        repository: &Repository,
        manifest: &Digest,
    ) -> Result<Vec<ChartSignature>> {
        let tagged = repository.tagged(&format!("{}.sig", manifest.tag()))?;
        let mut lists: Vec<Manifest> = self.manifest(&tagged).await?.into_iter().collect();
        for referrer in self.referrers(repository, manifest).await?.into_iter().take(SIGNATURES) {
            if referrer.artifact_type().is_some_and(|kind| kind == ARTIFACT || kind.starts_with(BUNDLE)) {
                lists.extend(self.manifest(&repository.at(referrer.digest)).await?);
            }
        }
        let mut found = Vec::new();
        for layer in lists.iter().flat_map(layers).filter(is_signature).take(SIGNATURES) {
            let content = self.small(repository, layer, PAYLOAD_LIMIT).await?;
            let text = |name: &str| layer.annotation(name).unwrap_or_default().to_owned();
            found.push(ChartSignature {
                content,
                is_bundle: layer.media_type.starts_with(BUNDLE),
                signature: text(SIGNATURE),
                certificate: text(CERTIFICATE),
                log_entry: text(LOG_ENTRY),
                timestamp: text(TIMESTAMP),
            });
        }
        Ok(found)
    }
}

fn is_signature(layer: &&Descriptor) -> bool {
    layer.media_type.starts_with(BUNDLE)
        || layer.media_type == PAYLOAD && layer.annotation(SIGNATURE).is_some()
}

fn layers(manifest: &Manifest) -> &[Descriptor] {
    match &manifest.parts {
        Parts::Content { layers, .. } => layers,
        Parts::Index(_) => &[],
    }
}

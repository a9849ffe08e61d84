//! What cosign has put beside a chart.

use std::sync::Arc;

use bytes::Bytes;

use crate::client::Client;
use crate::digest::Digest;
use crate::error::Result;
use crate::manifest::{Descriptor, Manifest, Parts};
use crate::name::Repository;

/// What signatures are, where registries keep track of what belongs to what.
const ARTIFACT: &str = "application/vnd.dev.cosign.artifact.sig.v1+json";

/// What each payload is.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Where its signature is.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// The largest payload, and how many signatures are looked at.
const PAYLOAD_LIMIT: u64 = 1 << 20;
const SIGNATURES: usize = 64;

/// A signature that cosign made with a key.
#[derive(Clone, Debug)]
pub struct ChartSignature {
    /// What was signed.
    pub payload: Bytes,
    /// The signature, in Base64.
    pub signature: String,
}

impl Client {
    /// The signatures of a manifest: under the tag `sha256-….sig`, and among what belongs to it.
    ///
    /// # Errors
    ///
    /// When the registry does not answer, or not with what it promised.
    pub async fn chart_signatures(
        self: &Arc<Self>,
        repository: &Repository,
        manifest: &Digest,
    ) -> Result<Vec<ChartSignature>> {
        let tagged = repository.tagged(&format!("{}.sig", manifest.tag()))?;
        let mut lists: Vec<Manifest> = self.manifest(&tagged).await?.into_iter().collect();
        for referrer in self.referrers(repository, manifest).await?.into_iter().take(SIGNATURES) {
            if referrer.artifact_type() == Some(ARTIFACT) {
                lists.extend(self.manifest(&repository.at(referrer.digest)).await?);
            }
        }
        let mut found = Vec::new();
        for layer in
            lists.iter().flat_map(layers).filter(|layer| layer.media_type == PAYLOAD).take(SIGNATURES)
        {
            if let Some(signature) = layer.annotation(SIGNATURE) {
                let payload = self.small(repository, layer, PAYLOAD_LIMIT).await?;
                found.push(ChartSignature { payload, signature: signature.to_owned() });
            }
        }
        Ok(found)
    }
}

fn layers(manifest: &Manifest) -> &[Descriptor] {
    match &manifest.parts {
        Parts::Content { layers, .. } => layers,
        Parts::Index(_) => &[],
    }
}

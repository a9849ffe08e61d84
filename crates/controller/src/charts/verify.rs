//! Signatures of charts: provenance files, and cosign for charts in registries.

use std::sync::Arc;

use pintle::Clock as _;
use pintle::cluster::Cluster;
use pintle::cosign::CosignTrust;
use pintle::provenance::{Keyring, PublicKey, verify};
use pintle::registry::chart::ChartReference;
use pintle::registry::{Client, Settings};
use pintle::repo::{ChartQuery, Fetched, Resolved, Resolver};
use sha2::{Digest as _, Sha256};

use super::describe_error;
use crate::error::{Error, Result};
use crate::request::{ArchiveKind, HelmRequest, VerificationProvider, hex};
use crate::settled::{Source, state};
use crate::values;

/// The public key that a chart must be signed with.
pub(super) enum Key {
    /// An OpenPGP keyring.
    Pgp(Vec<u8>),
    /// The public key of cosign.
    Cosign(Vec<u8>),
}

impl Key {
    /// Identifies the key in cache keys.
    pub(super) fn digest(&self) -> String {
        let (Key::Pgp(bytes) | Key::Cosign(bytes)) = self;
        hex(&Sha256::digest(bytes))
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Chart(format!("the signature of the chart cannot be verified: {}", describe_error(&error)))
}

/// Reads the key that a request names.
pub(super) async fn key(
    cluster: &Cluster,
    request: &HelmRequest,
    sources: &mut Vec<Source>,
) -> Result<Option<Key>> {
    let Some(verification) = &request.spec.chart.verify else { return Ok(None) };
    let reference = &verification.secret_ref;
    let resource = values::resource(ArchiveKind::Secret);
    let found = cluster.get_by_name(&resource, request.namespace(), &reference.name).await;
    let named = |text: String| failed(format!("Secret {}: {text}", reference.name));
    let secret = found.map_err(|error| named(error.to_string()))?;
    let secret = secret.ok_or_else(|| named("it does not exist".to_owned()))?;
    sources.push(Source {
        kind: ArchiveKind::Secret,
        name: reference.name.clone(),
        state: state(secret.uid(), secret.resource_version()),
    });
    let default = match verification.provider {
        VerificationProvider::Pgp => "pubring.gpg",
        VerificationProvider::Cosign => "cosign.pub",
    };
    let name = reference.key.as_deref().filter(|key| !key.is_empty()).unwrap_or(default);
    let bytes = values::data(&secret, ArchiveKind::Secret, name).map_err(|error| named(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| named(format!("it has no key `{name}`")))?;
    Ok(Some(match verification.provider {
        VerificationProvider::Pgp => Key::Pgp(bytes),
        VerificationProvider::Cosign => Key::Cosign(bytes),
    }))
}

/// Verifies the provenance file beside an archive. Blocks.
pub(super) fn pgp(
    resolver: &Resolver<'_>,
    resolved: &Resolved,
    fetched: &Fetched,
    keyring: &[u8],
) -> Result<()> {
    let keyring = Keyring::read(keyring).map_err(failed)?;
    let path = resolver.cached_provenance(resolved, &fetched.digest).map_err(failed)?;
    let text = std::fs::read(&path).map_err(failed)?;
    let now = u64::try_from(pintle::SystemClock.now().unix()).unwrap_or_default();
    verify(&keyring, &text, &resolved.file_name, &fetched.digest, now).map_err(failed)?;
    Ok(())
}

/// Verifies the cosign signature of a chart, and pins what is fetched to the manifest that was verified: a tag may move
/// between the two.
pub(super) async fn cosign(settings: &Settings, wanted: &mut ChartQuery, key: &[u8]) -> Result<()> {
    let key = PublicKey::read(key).map_err(failed)?;
    let client = Arc::new(Client::new(settings.clone()).map_err(failed)?);
    let reference = ChartReference::parse(&wanted.reference).map_err(failed)?;
    let chart = client.resolve_chart(&reference, &wanted.version).await.map_err(failed)?;
    let digest = client.chart_digest(&chart).await.map_err(failed)?;
    let digest = digest.ok_or_else(|| failed(format!("{chart}: not found")))?;
    let signatures = client.chart_signatures(&reference.repository, &digest).await.map_err(failed)?;
    CosignTrust::Key(key).verify(&signatures, &digest).map_err(failed)?;
    wanted.reference = format!("oci://{}@{digest}", reference.repository);
    wanted.version.clear();
    Ok(())
}

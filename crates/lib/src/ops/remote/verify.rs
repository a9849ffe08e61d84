//! Verifies charts by provenance files and by the signatures of cosign.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pintle_chart::FileError;
use pintle_provenance::{
    KEYRING_LIMIT, Keyring, PROVENANCE_LIMIT, Signer, Verified, sha256, sha256_of, verify,
};
use pintle_registry::Digest;
use pintle_repo::{Resolved, Resolver};

use crate::cosign::CosignTrust;
use crate::error::RemoteError;
use crate::remote::off_thread;
use crate::{ChartReference, Error, KeyringFile, Reporter, Result};

/// The size limit of an archive.
const MAX_ARCHIVE: u64 = 1 << 30;

/// Whose signature of cosign a chart of a registry has.
#[derive(Clone, Debug, PartialEq)]
pub struct CosignVerified {
    /// The chart, without `oci://`.
    pub chart: String,
    /// The signer, if there is a certificate.
    pub signer: Option<Signer>,
    /// The digest of the signed manifest.
    pub manifest: Digest,
}

/// Verifies an archive with its provenance file.
///
/// # Errors
/// When a file cannot be read, the signature is not valid, or it is that of another archive.
pub async fn verify_archive(
    keyring: &KeyringFile,
    archive: &Path,
    provenance: &Path,
    reporter: &mut dyn Reporter,
) -> Result<Verified> {
    let (keyring, archive, provenance) = (keyring.clone(), archive.to_owned(), provenance.to_owned());
    off_thread(reporter, move |_| Ok(verify_file(&keyring, &archive, None, &provenance)?)).await
}

/// Verifies bytes that are called `name` with the text of their provenance file.
///
/// # Errors
/// When the keyring cannot be read, the signature is not valid, or it is that of other bytes.
pub fn verify_bytes(keyring: &KeyringFile, bytes: &[u8], name: &str, provenance: &[u8]) -> Result<Verified> {
    Ok(verify(&read_keyring(keyring)?, provenance, name, &sha256(bytes), keyring.now)?)
}

/// Verifies a chart of a registry by the signature of cosign, without fetching it.
///
/// # Errors
/// When the reference cannot be resolved, or no signature is valid.
pub async fn verify_reference(
    reference: &ChartReference,
    trust: &std::sync::Arc<CosignTrust>,
    reporter: &mut dyn Reporter,
) -> Result<CosignVerified> {
    let (reference, trust) = (reference.clone(), std::sync::Arc::clone(trust));
    off_thread(reporter, move |_| {
        let resolver = reference.remote.resolver();
        let mut resolved = resolver.resolve(&reference.query)?;
        Ok(verify_cosign(&trust, &resolver, &mut resolved)?)
    })
    .await
}

/// Verifies the signature of a resolved chart before it is fetched, and pins `resolved` to the verified manifest.
pub(super) fn verify_cosign(
    trust: &CosignTrust,
    resolver: &Resolver<'_>,
    resolved: &mut Resolved,
) -> Result<CosignVerified, RemoteError> {
    let chart = resolved.source.url.trim_start_matches("oci://").to_owned();
    let (manifest, signatures) = resolver.signatures(resolved)?;
    let signer = trust.verify(&signatures, &manifest)?;
    Ok(CosignVerified { chart, signer, manifest })
}

/// Verifies an archive; `name` is its name in the provenance file, if that is not the name of the file.
pub(crate) fn verify_file(
    keyring: &KeyringFile,
    archive: &Path,
    name: Option<&str>,
    provenance: &Path,
) -> Result<Verified, RemoteError> {
    let own = archive.file_name().unwrap_or_default().to_string_lossy();
    let name = name.unwrap_or(&own);
    let stat = |path: &Path| std::fs::metadata(path).map_err(|cause| FileError::new("stat", path, cause));
    if stat(archive).map_err(RemoteError::Unreadable)?.is_dir() {
        return Err(RemoteError::UnpackedChart);
    }
    if !Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tgz")) {
        return Err(RemoteError::NotAnArchive);
    }
    stat(provenance).map_err(|cause| RemoteError::NoProvenanceFile { path: provenance.to_owned(), cause })?;
    let keyring_or = read_keyring(keyring).map_err(|error| error.during("failed to load keyring"))?;
    // A device without end is not the chart that was signed either.
    let digest = File::open(archive).and_then(|file| sha256_of(file.take(MAX_ARCHIVE)));
    let digest = digest.map_err(|error| unreadable(archive, error).during("failed to read chart archive"))?;
    let text = read_up_to(provenance, PROVENANCE_LIMIT)
        .map_err(|error| error.during("failed to read provenance file"))?;
    Ok(verify(&keyring_or, &text, name, &digest, keyring.now)?)
}

/// The provenance file of an archive, beside it.
pub(crate) fn beside(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(".prov");
    path.into()
}

/// Reads a keyring.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn keyring(file: &KeyringFile) -> Result<Keyring> {
    read_keyring(file).map_err(Error::from)
}

fn read_keyring(file: &KeyringFile) -> Result<Keyring, RemoteError> {
    let text = read_up_to(&file.path, KEYRING_LIMIT)?;
    Ok(Keyring::read_named(&text, &file.path.to_string_lossy())?)
}

fn unreadable(path: &Path, source: io::Error) -> RemoteError {
    let operation = if source.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
    RemoteError::Unreadable(FileError::new(operation, path, source))
}

/// The content of a file, up to one byte over `limit`, by which the caller detects that it is too large.
fn read_up_to(path: &Path, limit: usize) -> Result<Vec<u8>, RemoteError> {
    let mut content = Vec::new();
    let outcome = File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut content));
    outcome.map(|_| content).map_err(|error| unreadable(path, error))
}

/// Reads a file of keys or signatures, up to one byte over `limit`.
///
/// # Errors
/// When it cannot be read.
pub fn read_signature_file(path: &Path, limit: usize) -> Result<Vec<u8>> {
    read_up_to(path, limit).map_err(Error::from)
}

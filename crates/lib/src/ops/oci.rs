//! Pushes charts to registries and fetches them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_registry::chart::{
    ChartContent, ChartPush, ChartReference, PushedChart, WantedParts, WantedProvenance,
};
use pintle_registry::{Client, Digest, Progress};
use pintle_repo::address::Address;

use crate::report::forward_log;
use crate::{Error, Remote, RemoteError, Reporter, Result};

/// Limit for the size of a fetched archive, far above the limits for loading one.
const LIMIT: u64 = 1 << 30;

/// What to push, and where to.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// The archive. A provenance file beside it is pushed, too.
    pub archive: PathBuf,
    /// The folder in the registry, with or without `oci://`; name and version of the chart are added to it.
    pub remote: String,
    /// When the archive was created, in the format of RFC 3339.
    pub created: String,
}

/// Pushes a chart to a registry with the client of `remote`, with the same manifest as Helm. Needs the runtime of tokio.
///
/// # Errors
/// When the file is not a chart, the reference is invalid, or the registry rejects the push.
pub async fn push_oci_chart(
    remote: &Remote,
    request: &PushRequest,
    progress: Arc<dyn Progress>,
    reporter: &mut dyn Reporter,
) -> Result<PushedChart> {
    let client = remote.registry.as_ref().ok_or(RemoteError::NoRegistry)?;
    let archive = &request.archive;
    // Reading what is in the archive and hashing it take as long as sending it, so they are done side by side.
    let (chart, content) = std::thread::scope(|scope| {
        let hashing = scope.spawn(|| ChartContent::of_file(archive));
        (described(archive, reporter), hashing.join())
    });
    let chart = chart?;
    // Helm writes the URL as Go does, and cleans the path: `OCI://host/a/../b` means `oci://host/b`.
    let folder =
        Address::parse(&request.remote).map_or_else(|_| request.remote.clone(), |url| url.to_string());
    let folder = folder.strip_prefix("oci://").unwrap_or(&folder);
    let path = pintle_chart::path::clean(&format!("{folder}/{}", chart.metadata.name));
    let reference = ChartReference::parse(&format!("{path}:{}", chart.metadata.version))?;
    let mut beside = archive.clone().into_os_string();
    beside.push(".prov");
    let provenance = match pintle_chart::read_limited(&beside, pintle_chart::MAX_TEXT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(source) => return Err(Error::File { action: "read", path: beside.into(), source }),
    };
    let push = ChartPush {
        content: content.unwrap_or_else(|_| ChartContent::of_file(archive))?,
        config: chart.metadata.to_oci_config()?,
        annotations: chart.metadata.oci_annotations(&request.created),
        provenance,
    };
    drop(chart);
    Ok(client.push_chart(&reference, &push, progress).await?)
}

/// Archives from this size on are not held in memory for their metadata.
const LARGE: u64 = 16 << 20;

/// Loads the chart of an archive; of a large one, only the files that describe it.
fn described(archive: &Path, reporter: &mut dyn Reporter) -> Result<pintle_chart::Chart> {
    if std::fs::metadata(archive).is_ok_and(|found| found.len() >= LARGE)
        && let Ok(files) = pintle_repo::metadata_files(archive)
        && let Ok(chart) = pintle_chart::load_files(files)
    {
        return Ok(chart);
    }
    forward_log(reporter, |log| Ok(pintle_chart::load_any_version(archive, log)?))
}

/// A chart that was fetched from a registry.
#[derive(Clone, Debug)]
pub struct FetchedChart {
    /// The reference as Helm shows it, without `oci://`.
    pub reference: String,
    /// The digest of the manifest, usable as a cache key.
    pub manifest: Digest,
    /// The file name of the archive: name and version, or name and digest.
    pub file_name: String,
    /// The provenance file, if it was requested and exists.
    pub provenance: Option<Vec<u8>>,
    /// Whether the registry has it under a media type that Helm warns about.
    pub is_legacy: bool,
}

/// Fetches the chart that `reference` (`oci://…`) and `version` (a version, a range, or empty) refer to, and passes it to
/// `write` in chunks. The data is verified only once this has returned `Ok`.
///
/// A cache can check first: [`Client::resolve_chart`] and [`Client::chart_digest`] return what this would fetch.
///
/// # Errors
/// When the reference is invalid, the chart does not exist, or its content does not match the digests.
pub async fn fetch_oci_chart(
    client: &Arc<Client>,
    reference: &str,
    version: &str,
    provenance: WantedProvenance,
    write: &mut (dyn FnMut(&[u8]) -> std::io::Result<()> + Send),
) -> Result<FetchedChart> {
    let reference = ChartReference::parse(reference)?;
    let chart = client.resolve_chart(&reference, version).await?;
    let wanted = WantedParts { content: true, provenance, limit: LIMIT };
    let pulled = client.pull_chart(&chart, wanted).await?;
    pulled.read_content(write).await?;
    let file_name = match chart.name.digest() {
        Some(digest) => format!("{}@{}-{}.tgz", reference.base(), digest.algorithm(), digest.hex()),
        None => format!("{}-{}.tgz", reference.base(), chart.version),
    };
    Ok(FetchedChart {
        reference: pulled.reference,
        manifest: pulled.manifest,
        file_name,
        provenance: pulled.provenance.map(|bytes| bytes.to_vec()),
        is_legacy: pulled.is_legacy,
    })
}

//! From a reference to a chart on this machine: for operations on charts, and for `pull`.

use std::path::{Component, Path, PathBuf};

use pintle_provenance::Verified;
use pintle_release::ChartSource;
use pintle_repo::{Error, Getter, Registries, Resolved, Resolver, provenance_url, pull};
use pintle_tree::redact::redacted;
use pintle_tree::{LogLevel, LogLine};

use super::verify::{CosignVerified, beside, verify_cosign, verify_file};
use crate::error::RemoteError;
use crate::progress::{Progress, RemoteEvent};
use crate::remote::off_thread;
use crate::{ChartReference, LocatedChart, Reporter, Result, Verify};

/// Finds the chart that a reference means: a path that exists, or an archive that is brought into the content cache.
///
/// # Errors
/// Paths that do not exist, charts that cannot be fetched, and signatures that are not valid.
pub async fn locate_chart(reference: &ChartReference, reporter: &mut dyn Reporter) -> Result<LocatedChart> {
    let reference = reference.clone();
    off_thread(reporter, move |reporter| Ok(locate(&reference, reporter)?)).await
}

fn locate(reference: &ChartReference, reporter: &mut dyn Reporter) -> Result<LocatedChart, RemoteError> {
    let ChartReference { remote, query, folder, verify } = reference;
    let typed = query.reference.as_str();
    // An empty path would be that of the folder.
    if query.repo_url.is_empty() && !typed.is_empty() {
        match std::fs::metadata(folder.join(typed)) {
            Ok(_) => return local(absolute(folder, Path::new(typed)), verify),
            Err(source) if typed.starts_with(['/', '.']) => {
                return Err(RemoteError::NoChartAtPath { reference: typed.to_owned(), source });
            }
            Err(_) => {}
        }
    }
    let resolver = remote.resolver();
    let create_cache = || {
        let created = pintle_chart::create_folders(&resolver.folders.repository_cache);
        created.map_err(|error| Error::File(error.to_string()))
    };
    let mut resolved = resolver.resolve_after(query, create_cache)?;
    std::mem::take(&mut resolved.log).into_iter().for_each(|line| reporter.log(line));
    if let Verify::Cosign(trust) = verify {
        let verified = verify_cosign(trust, &resolver, &mut resolved)?;
        reporter.report(Progress::Remote(RemoteEvent::SignedByCosign(verified)));
    }
    let fetched = resolver.fetch(&resolved);
    notice(&remote.getter, reporter);
    if let Err(Error::Cache(_)) = fetched {
        let line = LogLine::info("failed to create cache directory");
        reporter.log(LogLine { level: LogLevel::Error, ..line });
    }
    let fetched = fetched?;
    if let Verify::Provenance(keyring) = verify {
        let provenance = resolver.cached_provenance(&resolved, &fetched.digest);
        notice(&remote.getter, reporter);
        let provenance = provenance.map_err(|error| no_provenance(&resolved, error))?;
        verify_file(keyring, &fetched.path, Some(&resolved.file_name), &provenance)?;
    }
    let source = ChartSource {
        url: redacted(&resolved.source.url).into_owned(),
        repository: redacted(&resolved.source.repository).into_owned(),
        digest: format!("sha256:{}", fetched.digest),
    };
    Ok(LocatedChart { path: absolute(folder, &fetched.path), source: Some(source) })
}

/// A chart that is there already.
fn local(path: PathBuf, verify: &Verify) -> Result<LocatedChart, RemoteError> {
    match verify {
        Verify::Never => {}
        Verify::Cosign(_) => return Err(RemoteError::CosignOfFile { path }),
        Verify::Provenance(keyring) => {
            verify_file(keyring, &path, None, &beside(&path))?;
        }
    }
    Ok(LocatedChart { path, source: None })
}

/// An absolute, cleaned path. Links are not followed, because errors show the path.
pub fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            component => cleaned.push(component),
        }
    }
    cleaned
}

/// Reports what Helm prints about charts of registries.
fn notice(getter: &Getter, reporter: &mut dyn Reporter) {
    let text = getter.registries().map(Registries::take_notices).unwrap_or_default();
    if !text.is_empty() {
        reporter.report(Progress::Remote(RemoteEvent::Pulled { text }));
    }
}

fn no_provenance(resolved: &Resolved, cause: Error) -> RemoteError {
    RemoteError::NoProvenance { url: provenance_url(resolved), cause: Box::new(cause) }
}

/// A chart to fetch into a folder.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// The chart.
    pub chart: ChartReference,
    /// Where the archive is written to, unless it is unpacked.
    pub folder: PathBuf,
    /// Where the chart is unpacked to, in a folder of its name.
    pub unpack: Option<PathBuf>,
    /// Whether the provenance file is fetched too.
    pub provenance: bool,
}

/// What was fetched.
#[derive(Debug)]
pub struct PulledArchive {
    /// The archive, or the folder that it was unpacked to.
    pub path: PathBuf,
    /// Whose signature of cosign the chart has, if that was verified.
    pub cosign: Option<CosignVerified>,
    /// Who signed the provenance file, if that was verified.
    pub verified: Option<Verified>,
    /// The chart whose provenance file could not be fetched, and why, if it was not to be verified.
    pub no_provenance: Option<(String, Error)>,
}

/// Fetches the archive of a chart into a folder, packed or unpacked. Nothing is kept whose digest or signature is not right.
///
/// # Errors
/// When the chart cannot be found, fetched, verified or written.
pub async fn pull_chart(request: &PullRequest, reporter: &mut dyn Reporter) -> Result<PulledArchive> {
    let request = request.clone();
    off_thread(reporter, move |reporter| Ok(pull_now(&request, reporter)?)).await
}

fn pull_now(request: &PullRequest, reporter: &mut dyn Reporter) -> Result<PulledArchive, RemoteError> {
    let ChartReference { remote, query, verify, .. } = &request.chart;
    let resolver = remote.resolver();
    let mut resolved = resolver.resolve(query)?;
    std::mem::take(&mut resolved.log).into_iter().for_each(|line| reporter.log(line));
    let cosign = match verify {
        Verify::Cosign(trust) => Some(verify_cosign(trust, &resolver, &mut resolved)?),
        _ => None,
    };
    let outcome = write(request, &resolver, &resolved);
    // Messages about registries come first, even if the fetch failed.
    notice(&remote.getter, reporter);
    Ok(PulledArchive { cosign, ..outcome? })
}

/// Writes the archive and its provenance file, which are unpacked from a temporary folder.
fn write(
    request: &PullRequest,
    resolver: &Resolver<'_>,
    resolved: &Resolved,
) -> Result<PulledArchive, RemoteError> {
    let failed = |error: std::io::Error| Error::File(error.to_string());
    let scratch = request.unpack.as_ref().map(|_| tempfile::Builder::new().prefix("helm-").tempdir());
    let scratch = scratch.transpose().map_err(failed)?;
    let folder = scratch.as_ref().map_or(request.folder.as_path(), |scratch| scratch.path());
    let (archive, _) = pull::pull(resolver, resolved, folder)?;
    let mut pulled = PulledArchive { path: archive, cosign: None, verified: None, no_provenance: None };
    let keyring = match &request.chart.verify {
        Verify::Provenance(keyring) => Some(keyring),
        _ => None,
    };
    if keyring.is_some() || request.provenance {
        let file = beside(&pulled.path);
        match resolver.provenance(resolved) {
            Ok(content) => {
                let name = Path::new(file.file_name().unwrap_or_default());
                pintle_chart::write_below(folder, name, &content).map_err(failed)?;
            }
            Err(error) if keyring.is_some() => return Err(no_provenance(resolved, error)),
            Err(error) => {
                // A chart that was looked up in the index of a URL is named by its own URL.
                let query = &request.chart.query;
                let by_index = !query.repo_url.is_empty();
                let named = if by_index { &resolved.source.url } else { &query.reference };
                pulled.no_provenance = Some((named.clone(), error));
            }
        }
        pulled.verified =
            keyring.map(|keyring| verify_file(keyring, &pulled.path, None, &file)).transpose()?;
    }
    if let Some(target) = &request.unpack {
        pulled.path = pull::expand(&pulled.path, target)?;
    }
    Ok(pulled)
}

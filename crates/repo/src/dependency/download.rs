//! Fetches dependencies concurrently, while they are consumed in order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use pintle_chart::dependency::{Download, Output};
use pintle_chart::metadata::Dependency;
use pintle_registry::chart::{
    ChartReference, LEGACY_CONTENT, PulledChart, UNDERSCORE, WantedParts, WantedProvenance,
};
use pintle_registry::{Client, Digest};
use pintle_tree::quote::quote;
use sha2::{Digest as _, Sha256};

use super::plan::{HttpPlan, Plan};
use super::{DependencySource, Verification, chart_error, no_registry};
use crate::address::Address;
use crate::atomic;
use crate::content::{ContentCache, Hashing, Kind, hex};
use crate::error::{Error, Result, refused};
use crate::fetch::MAX_ARCHIVE;
use crate::get::{Getter, Request};
use crate::oci::{cached_layer, is_unreachable, keep_manifest};

/// The `Accept` header.
const ACCEPT: &str = "application/gzip,application/octet-stream";

/// How many archives are fetched at once.
const AT_ONCE: usize = 8;

/// The largest provenance file that is fetched.
const PROVENANCE_LIMIT: u64 = 16 << 20;

/// An archive that was fetched.
struct Ready {
    /// The file, in the cache or a temporary one.
    source: Archive,
    file_name: String,
    /// The lines that Helm's registry client prints about it.
    lines: Vec<String>,
    /// The provenance file; nothing if it is not wanted.
    provenance: Option<Result<Vec<u8>>>,
    /// Where the provenance file is.
    provenance_url: String,
    /// What Helm calls the chart in a warning.
    reference: String,
}

enum Archive {
    Cached(PathBuf),
    Temporary(tempfile::NamedTempFile),
}

type Outcome = Result<Ready>;

impl DependencySource<'_> {
    /// Fetches what is planned while `body` runs.
    pub(super) fn download_planned(
        &mut self,
        locked: &[Dependency],
        plans: &[Plan],
        folder: &Path,
        output: &mut Output<'_>,
        body: &mut dyn FnMut(&mut Download<'_>, &mut Output<'_>),
    ) -> Result<()> {
        let needs_registry = plans.iter().any(|plan| matches!(plan, Plan::Registry { .. }));
        if needs_registry {
            self.runtime()?;
        }
        let this = &*self;
        let verified = !matches!(this.verification, Verification::Never);
        let fetcher = HttpFetcher {
            getter: this.getter,
            cache: ContentCache::new(&this.folders.content_cache),
            verified,
        };
        let cache = this.folders.check_content_cache();
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel::<(usize, Outcome)>();
        std::thread::scope(|scope| {
            let http: Vec<(usize, &HttpPlan)> = http_plans(plans);
            for _ in 0..http.len().min(AT_ONCE) {
                let (sender, http) = (sender.clone(), http.clone());
                let (next, stopped, fetcher, cache) = (&next, &stopped, &fetcher, &cache);
                scope.spawn(move || {
                    while let Some((at, plan)) = http.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stopped.load(Ordering::Relaxed) {
                            return;
                        }
                        let fetched = cache.clone().and_then(|()| fetcher.fetch(plan));
                        if sender.send((*at, fetched)).is_err() {
                            return;
                        }
                    }
                });
            }
            if let (Some(runtime), true) = (&this.known.runtime, needs_registry) {
                let (sender, stopped, client) = (sender.clone(), &stopped, this.registry.clone());
                let (cache, fetcher) = (&cache, &fetcher);
                scope.spawn(move || {
                    for (at, plan) in plans.iter().enumerate() {
                        let Plan::Registry { url, version } = plan else { continue };
                        if stopped.load(Ordering::Relaxed) {
                            return;
                        }
                        let fetched = cache.clone().and_then(|()| match &client {
                            Some(client) => {
                                let reference = (url.as_str(), version.as_str());
                                runtime.block_on(fetch_registry(client, &fetcher.cache, reference, verified))
                            }
                            None => Err(no_registry()),
                        });
                        if sender.send((at, fetched)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut arrived: BTreeMap<usize, Outcome> = BTreeMap::new();
            let mut download = |at: usize, output: &mut Output<'_>| {
                let Dependency { name, repository, .. } = &locked[at];
                let (url, log) = match &plans[at] {
                    Plan::Nothing => return Ok(()),
                    Plan::Failed(error) => return Err(chart_error(error.clone())),
                    Plan::Again => {
                        (output.report)(&format!("Already downloaded {name} from repo {repository}"));
                        return Ok(());
                    }
                    Plan::Http(plan) => (&plan.url, plan.log.as_slice()),
                    Plan::Registry { url, .. } => (url, [].as_slice()),
                };
                output.log.extend(log.iter().cloned());
                (output.report)(&format!("Downloading {name} from repo {repository}"));
                let outcome = loop {
                    if let Some(outcome) = arrived.remove(&at) {
                        break outcome;
                    }
                    match receiver.recv() {
                        Ok((at, outcome)) => arrived.insert(at, outcome),
                        Err(_) => break Err(Error::Fetch("it was not fetched".to_owned())),
                    };
                };
                let outcome = outcome.and_then(|ready| this.take(ready, folder, output));
                outcome.map_err(|error| chart_error(error.within(&format!("could not download {url}"))))
            };
            body(&mut download, output);
            stopped.store(true, Ordering::Relaxed);
        });
        Ok(())
    }

    /// Puts an archive into the folder, and checks its signature.
    fn take(&self, ready: Ready, folder: &Path, output: &mut Output<'_>) -> Result<()> {
        for line in &ready.lines {
            (output.report)(line);
        }
        let path = folder.join(&ready.file_name);
        match ready.source {
            Archive::Cached(source) => {
                fs::copy(&source, &path).map_err(refused("open", &path))?;
            }
            Archive::Temporary(file) => {
                let mut target = atomic::beside(&path).map_err(refused("open", &path))?;
                let copied =
                    file.reopen().and_then(|mut from| std::io::copy(&mut from, target.as_file_mut()));
                copied.map_err(refused("write", &path))?;
                atomic::persist(target, &path, 0o644).map_err(refused("rename", &path))?;
            }
        }
        let (verifier, must) = match self.verification {
            Verification::Never => return Ok(()),
            Verification::IfPossible(verifier) => (verifier, false),
            Verification::Always(verifier) => (verifier, true),
        };
        let text = match ready.provenance {
            Some(Ok(text)) => text,
            Some(Err(_)) if must => {
                let url = quote(ready.provenance_url.as_bytes());
                return Err(Error::Fetch(format!("failed to fetch provenance {url}")));
            }
            Some(Err(error)) => {
                let reference = &ready.reference;
                (output.report)(&format!("WARNING: Verification not found for {reference}: {error}"));
                return Ok(());
            }
            None => return Ok(()),
        };
        let mut provenance = path.clone().into_os_string();
        provenance.push(".prov");
        let provenance = PathBuf::from(provenance);
        atomic::write(&provenance, &text, 0o644).map_err(refused("open", &provenance))?;
        verifier(&path, &provenance).map_err(Error::Input)
    }
}

fn http_plans(plans: &[Plan]) -> Vec<(usize, &HttpPlan)> {
    let plans = plans.iter().enumerate();
    plans
        .filter_map(|(at, plan)| if let Plan::Http(plan) = plan { Some((at, &**plan)) } else { None })
        .collect()
}

/// Fetches archives of repositories, through the content cache.
struct HttpFetcher<'g> {
    getter: &'g Getter,
    cache: ContentCache,
    verified: bool,
}

impl HttpFetcher<'_> {
    fn fetch(&self, plan: &HttpPlan) -> Outcome {
        let address = Address::parse(&plan.url).map_err(Error::Input)?;
        let scheme = address.scheme.as_str();
        if !matches!(scheme, "http" | "https") && !self.getter.knows_scheme(scheme) {
            let scheme = quote(address.scheme.as_bytes());
            return Err(Error::Input(format!("scheme {scheme} not supported")));
        }
        let cached = plan.digest.as_ref().and_then(|digest| self.cache.chart(digest));
        let source = match cached {
            Some(path) => Archive::Cached(path),
            None => self.fetch_archive(plan)?,
        };
        let provenance_url = format!("{}.prov", plan.url);
        let provenance = self.verified.then(|| {
            let request = Request { limit: PROVENANCE_LIMIT, ..request(plan, &provenance_url) };
            self.getter.get_bytes(&request).map(|(_, text)| text)
        });
        Ok(Ready {
            source,
            file_name: plan.file_name.clone(),
            lines: Vec::new(),
            provenance,
            provenance_url,
            reference: plan.url.clone(),
        })
    }

    fn fetch_archive(&self, plan: &HttpPlan) -> Result<Archive> {
        // If the cache is not writable, the archive is fetched to a temporary file, as in Helm.
        let (mut file, is_kept) = match self.cache.incoming() {
            Ok(file) => (file, true),
            Err(_) => (temporary()?, false),
        };
        let mut hashing = Hashing { sink: file.as_file_mut(), hasher: Sha256::new() };
        self.getter.get(&request(plan, &plan.url), &mut hashing)?;
        let digest = hex(&hashing.hasher.finalize());
        self.getter.check_digest(&plan.url, plan.digest.as_deref(), &digest)?;
        match is_kept {
            true => self.cache.keep(file, &digest, Kind::Chart).map(Archive::Cached),
            false => Ok(Archive::Temporary(file)),
        }
    }
}

fn temporary() -> Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new()
        .map_err(|error| Error::File(format!("cannot make a temporary file: {error}")))
}

fn request<'r>(plan: &'r HttpPlan, url: &'r str) -> Request<'r> {
    Request {
        url,
        home: &plan.home,
        access: plan.access.clone(),
        accept: ACCEPT,
        known: None,
        compressed: false,
        limit: MAX_ARCHIVE,
    }
}

/// Fetches a chart from a registry. If it is in the content cache, only its tag is resolved to a digest.
async fn fetch_registry(
    client: &Arc<Client>,
    cache: &ContentCache,
    (url, version): (&str, &str),
    verified: bool,
) -> Outcome {
    let failed = |error: pintle_registry::Error| Error::Fetch(error.to_string());
    let reference = ChartReference::parse(url).map_err(failed)?;
    let chart = client.resolve_chart(&reference, version).await.map_err(failed)?;
    let ready = |source: Archive, lines: Vec<String>| Ready {
        source,
        file_name: format!("{}-{}.tgz", reference.base(), chart.version),
        lines,
        provenance: None,
        provenance_url: format!("{url}:{}.prov", chart.version),
        reference: url.to_owned(),
    };
    if !verified {
        let digest = match client.chart_digest(&chart).await {
            Err(error) if is_unreachable(&error) => return Err(failed(error)),
            // Other errors are reported when the chart itself is pulled.
            answer => answer.ok().flatten(),
        };
        let cached = digest.and_then(|digest| Some((cached_layer(cache, &digest)?, digest)));
        if let Some(((archive, is_legacy), digest)) = cached {
            let lines = notices(&chart.to_string(), &digest, is_legacy);
            return Ok(ready(Archive::Cached(cache.path(&archive, Kind::Chart)), lines));
        }
    }
    let provenance = if verified { WantedProvenance::IfThere } else { WantedProvenance::No };
    let wanted = WantedParts { content: true, provenance, limit: MAX_ARCHIVE };
    let pulled = client.pull_chart(&chart, wanted).await.map_err(failed)?;
    let source = fetch_layer(&pulled, cache).await?;
    let mut lines = notices(&pulled.reference, &pulled.manifest, pulled.is_legacy);
    let provenance = verified.then(|| match pulled.provenance {
        Some(text) => Ok(text.to_vec()),
        None => Err(Error::Fetch(format!(
            "manifest does not contain a layer with mediatype {}",
            pintle_registry::chart::PROVENANCE
        ))),
    });
    if matches!(provenance, Some(Ok(_))) {
        // Helm makes a second request for the provenance file, and prints the lines again.
        lines.extend(notices(&pulled.reference, &pulled.manifest, false));
    }
    Ok(Ready { provenance, ..ready(source, lines) })
}

/// Fetches the archive of a chart into the content cache, or to a temporary file if the cache is not writable.
async fn fetch_layer(pulled: &PulledChart, cache: &ContentCache) -> Result<Archive> {
    let failed = |error: pintle_registry::Error| Error::Fetch(error.to_string());
    let layer = pulled.content.as_ref().map(|content| &content.digest);
    let layer = layer.filter(|digest| digest.algorithm() == "sha256");
    let (mut file, kept_by) = match cache.incoming() {
        Ok(file) => (file, layer),
        Err(_) => (temporary()?, None),
    };
    let mut write = |piece: &[u8]| std::io::Write::write_all(file.as_file_mut(), piece);
    pulled.read_content(&mut write).await.map_err(failed)?;
    match kept_by {
        Some(digest) => {
            let path = cache.keep(file, digest.hex(), Kind::Chart)?;
            keep_manifest(cache, pulled);
            Ok(Archive::Cached(path))
        }
        None => Ok(Archive::Temporary(file)),
    }
}

/// What Helm prints about a chart of a registry.
fn notices(reference: &str, manifest: &Digest, is_legacy: bool) -> Vec<String> {
    let legacy = is_legacy.then(|| format!("Warning: chart media type {LEGACY_CONTENT} is deprecated"));
    let pulled = [format!("Pulled: {reference}"), format!("Digest: {manifest}")];
    let underscore =
        reference.contains('_').then(|| format!("{reference} contains an underscore.\n{UNDERSCORE}"));
    legacy.into_iter().chain(pulled).chain(underscore).collect()
}

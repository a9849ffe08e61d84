//! Charts in registries: what a reference means, the archive through the content cache, and its provenance file.
//!
//! The cache keeps an archive under its own digest, as Helm does, and the manifest that names it under the manifest's. So a
//! tag costs one question for its digest, and nothing is served that was not compared with that digest.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pintle_registry::chart::{
    CONTENT, ChartReference, ChartSignature, LEGACY_CONTENT, PulledChart, ResolvedChart, UNDERSCORE,
    WantedParts, WantedProvenance,
};
use pintle_registry::{Client, Digest};
use pintle_tree::Node;
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Builder, Runtime};

use crate::content::{ContentCache, Kind, hex};
use crate::error::{Error, Result};
use crate::fetch::MAX_ARCHIVE;
use crate::resolve::{Resolved, Resolver};

/// Whose credentials a registry gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Those of the flags, or else those of the files with logins.
    Given,
    /// Those of the files with logins: the registry was named by an index, not by the user.
    Stored,
}

/// Creates a client.
type Connect = Box<dyn Fn(Credentials) -> Result<Arc<Client>> + Send + Sync>;

/// Clients for registries, created on first use.
pub struct Registries {
    connect: Connect,
    given: OnceLock<Result<Arc<Client>>>,
    stored: OnceLock<Result<Arc<Client>>>,
    runtime: OnceLock<std::result::Result<Runtime, String>>,
    notices: Mutex<String>,
    deadline: Option<std::time::Instant>,
}

impl Registries {
    /// Registries that `connect` makes the clients for.
    pub fn new(connect: impl Fn(Credentials) -> Result<Arc<Client>> + Send + Sync + 'static) -> Registries {
        Registries {
            connect: Box::new(connect),
            given: OnceLock::new(),
            stored: OnceLock::new(),
            runtime: OnceLock::new(),
            notices: Mutex::default(),
            deadline: None,
        }
    }

    /// The same registries, which fail everything after a moment. Each connection has a timeout of its own, but a registry
    /// that sends a little now and then could go on for ever.
    #[must_use]
    pub fn with_deadline(self, deadline: std::time::Instant) -> Registries {
        Registries { deadline: Some(deadline), ..self }
    }

    /// What Helm prints about the charts fetched since the last call.
    pub fn take_notices(&self) -> String {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn client(&self, credentials: Credentials) -> Result<Arc<Client>> {
        let made = match credentials {
            Credentials::Given => &self.given,
            Credentials::Stored => &self.stored,
        };
        made.get_or_init(|| (self.connect)(credentials)).clone()
    }

    pub(crate) fn run<T>(&self, operation: impl Future<Output = pintle_registry::Result<T>>) -> Result<T> {
        let runtime = self.runtime.get_or_init(|| {
            Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
        });
        let runtime = runtime.as_ref().map_err(|error| Error::Fetch(format!("cannot start: {error}")))?;
        let Some(deadline) = self.deadline else { return Ok(runtime.block_on(operation)?) };
        let ended = runtime.block_on(async { tokio::time::timeout_at(deadline.into(), operation).await });
        Ok(ended.map_err(|_| Error::Fetch("the registry takes too long".to_owned()))??)
    }

    /// Notes what Helm prints about a chart that the user named. Helm prints nothing about charts named by an index.
    fn notice(&self, oci: &OciChart, manifest: &Digest, is_legacy: bool) {
        if oci.credentials == Credentials::Stored {
            return;
        }
        let reference = oci.chart.to_string();
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if is_legacy {
            let _ = writeln!(notices, "Warning: chart media type {LEGACY_CONTENT} is deprecated");
        }
        let _ = writeln!(notices, "Pulled: {reference}\nDigest: {manifest}");
        if reference.contains('_') {
            let _ = writeln!(notices, "{reference} contains an underscore.\n{UNDERSCORE}");
        }
    }
}

/// A chart of a registry that is to be fetched.
#[derive(Clone, Debug)]
pub(crate) struct OciChart {
    chart: ResolvedChart,
    credentials: Credentials,
}

impl OciChart {
    /// The chart that was typed: a tag or a digest, or the newest version that fits.
    pub(crate) fn typed(
        registries: &Registries,
        reference: &str,
        version: &str,
    ) -> Result<(OciChart, String)> {
        let credentials = Credentials::Given;
        let client = registries.client(credentials)?;
        let parsed = parse(reference)?;
        let chart = registries.run(client.resolve_chart(&parsed, version))?;
        let name = file_name(&parsed, &chart);
        Ok((OciChart { chart, credentials }, name))
    }

    /// The chart that an index names. Its tag need not be a version.
    pub(crate) fn listed(
        registries: &Registries,
        reference: &str,
        version: &str,
    ) -> Result<(OciChart, String)> {
        let credentials = Credentials::Stored;
        let parsed = parse(reference)?;
        let chart = if parsed.digest.is_empty() && !parsed.tag.is_empty() {
            ResolvedChart {
                name: parsed.repository.tagged(&parsed.tag)?,
                version: parsed.tag.replace('_', "+"),
            }
        } else {
            let version = if parsed.tag.is_empty() { version } else { "" };
            let client = registries.client(credentials)?;
            registries.run(client.resolve_chart(&parsed, version))?
        };
        let name = file_name(&parsed, &chart);
        Ok((OciChart { chart, credentials }, name))
    }

    /// Where it is, with `+` in its version.
    pub(crate) fn url(&self) -> String {
        let ResolvedChart { name, version } = &self.chart;
        match name.digest() {
            Some(digest) => format!("oci://{}@{digest}", name.repository),
            None => format!("oci://{}:{version}", name.repository),
        }
    }

    /// The version that was chosen; empty for a digest.
    pub(crate) fn version(&self) -> &str {
        &self.chart.version
    }
}

pub(crate) fn parse(reference: &str) -> Result<ChartReference> {
    ChartReference::parse(reference).map_err(|error| Error::Input(error.to_string()))
}

fn file_name(reference: &ChartReference, chart: &ResolvedChart) -> String {
    match chart.name.digest() {
        Some(digest) => format!("{}@{}-{}.tgz", reference.base(), digest.algorithm(), digest.hex()),
        None => format!("{}-{}.tgz", reference.base(), chart.version),
    }
}

impl Resolver<'_> {
    /// The registries, or why there are none.
    pub(crate) fn registries(&self, reference: &str, version: &str) -> Result<&Registries> {
        self.getter.registries().ok_or_else(|| {
            let text =
                format!("unable to lookup ref {reference} at version '{version}', missing registry client");
            Error::Input(text)
        })
    }

    /// The SHA-256 of a chart's archive, if it is cached: the tag is resolved to a digest, and the manifest of that digest
    /// must be in the cache with its archive.
    pub(crate) fn cached_oci(&self, resolved: &Resolved, oci: &OciChart) -> Result<Option<String>> {
        let registries = self.registries(&resolved.source.url, "")?;
        let client = registries.client(oci.credentials)?;
        let digest = match registries.run(async { Ok(client.chart_digest(&oci.chart).await) })? {
            Ok(Some(digest)) => digest,
            Err(error) if is_unreachable(&error) => return Err(error.into()),
            // The reason is reported when the manifest is fetched.
            Ok(None) | Err(_) => return Ok(None),
        };
        let cache = ContentCache::new(&self.folders.content_cache);
        let Some((archive, is_legacy)) = cached_layer(&cache, &digest) else { return Ok(None) };
        if !self.skip_digest {
            self.getter.check_digest(&resolved.source.url, resolved.digest.as_deref(), &archive)?;
        }
        registries.notice(oci, &digest, is_legacy);
        Ok(Some(archive))
    }

    /// The cosign signatures of a chart in a registry, with the digest of the signed manifest. `resolved` is pinned to that
    /// digest, because the tag may move.
    ///
    /// # Errors
    /// Charts that are in no registry, and what a registry refuses.
    pub fn signatures(&self, resolved: &mut Resolved) -> Result<(Digest, Vec<ChartSignature>)> {
        let url = &resolved.source.url;
        let Some(oci) = &mut resolved.oci else {
            return Err(Error::Input(format!("{url} is in no registry, where cosign puts its signatures")));
        };
        let registries = self.registries(url, "")?;
        let client = registries.client(oci.credentials)?;
        let digest = registries.run(client.chart_digest(&oci.chart))?;
        let digest = digest.ok_or_else(|| Error::Fetch(format!("{}: not found", oci.chart)))?;
        let repository = oci.chart.name.repository.clone();
        let found = registries.run(client.chart_signatures(&repository, &digest))?;
        oci.chart.name = repository.at(digest.clone());
        Ok((digest, found))
    }

    /// Fetches an archive into `sink`, caches its manifest, and returns the SHA-256 of the archive.
    pub(crate) fn download_oci(
        &self,
        resolved: &Resolved,
        oci: &OciChart,
        sink: &mut (dyn Write + Send),
    ) -> Result<String> {
        let registries = self.registries(&resolved.source.url, "")?;
        let client = registries.client(oci.credentials)?;
        let limit = self.getter.limit(MAX_ARCHIVE);
        let wanted = WantedParts { content: true, provenance: WantedProvenance::No, limit };
        let pulled = registries.run(async {
            let pulled = client.pull_chart(&oci.chart, wanted).await?;
            let mut meter =
                self.getter.meter(&resolved.file_name, pulled.content.as_ref().map(|content| content.size));
            // `read_content` verifies the digest in the manifest. It is nearly always a SHA-256, so no second hash is needed.
            let known = pulled.content.as_ref().map(|content| content.digest.clone());
            let known = known.filter(|digest| digest.algorithm() == "sha256");
            let mut hasher = known.is_none().then(Sha256::new);
            let mut write = |piece: &[u8]| {
                meter(piece.len() as u64);
                hasher.iter_mut().for_each(|hasher| hasher.update(piece));
                sink.write_all(piece)
            };
            pulled.read_content(&mut write).await?;
            let digest = known.map(|digest| digest.hex().to_owned());
            let digest = digest.or_else(|| hasher.map(|hasher| hex(&hasher.finalize())));
            Ok((pulled, digest.unwrap_or_default()))
        })?;
        let (pulled, digest) = pulled;
        if !self.skip_digest {
            self.getter.check_digest(&resolved.source.url, resolved.digest.as_deref(), &digest)?;
        }
        registries.notice(oci, &pulled.manifest, pulled.is_legacy);
        keep_manifest(&ContentCache::new(&self.folders.content_cache), &pulled);
        Ok(digest)
    }

    /// The provenance file of a chart, which is a layer beside the archive.
    pub(crate) fn provenance_oci(&self, resolved: &Resolved, oci: &OciChart) -> Result<Vec<u8>> {
        let registries = self.registries(&resolved.source.url, "")?;
        let client = registries.client(oci.credentials)?;
        let wanted =
            WantedParts { content: false, provenance: WantedProvenance::Required, limit: MAX_ARCHIVE };
        let pulled = registries.run(client.pull_chart(&oci.chart, wanted))?;
        registries.notice(oci, &pulled.manifest, false);
        Ok(pulled.provenance.map(|text| text.to_vec()).unwrap_or_default())
    }
}

/// The archive of a manifest, if both are in the cache: its SHA-256, and whether it has the deprecated media type.
pub(crate) fn cached_layer(cache: &ContentCache, manifest: &Digest) -> Option<(String, bool)> {
    let found = cache.manifest(manifest).and_then(|text| layer(&text))?;
    cache.chart(&found.0).map(|_| found)
}

/// Caches the manifest, so that the archive is found by its digest. Errors are ignored.
pub(crate) fn keep_manifest(cache: &ContentCache, pulled: &PulledChart) {
    let is_usable = pulled.manifest.algorithm() == "sha256" && layer(&pulled.manifest_bytes).is_some();
    if !is_usable || cache.manifest(&pulled.manifest).is_some() {
        return;
    }
    let written = cache.incoming().ok().filter(|file| {
        let mut file = file.as_file();
        file.write_all(&pulled.manifest_bytes).is_ok()
    });
    if let Some(file) = written {
        let _ = cache.keep(file, pulled.manifest.hex(), Kind::Manifest);
    }
}

/// Whether the registry could not be reached, so that further requests would fail too.
pub(crate) fn is_unreachable(error: &pintle_registry::Error) -> bool {
    use pintle_registry::Error as E;
    matches!(error, E::Transfer { source, .. } if matches!(**source, E::Network { .. }))
}

/// The SHA-256 of the archive that a manifest names, and whether it has the deprecated media type.
fn layer(manifest: &[u8]) -> Option<(String, bool)> {
    let tree = pintle_tree::json::read(manifest).ok()?;
    let layers = tree.get("layers").and_then(Node::as_list)?;
    let media_type = |layer: &Node| layer.get("mediaType").and_then(Node::as_str).map(ToOwned::to_owned);
    let found = layers
        .iter()
        .rfind(|layer| matches!(media_type(layer).as_deref(), Some(CONTENT | LEGACY_CONTENT)))?;
    let digest: Digest = found.get("digest").and_then(Node::as_str)?.parse().ok()?;
    let is_legacy = media_type(found).as_deref() == Some(LEGACY_CONTENT);
    (digest.algorithm() == "sha256").then(|| (digest.hex().to_owned(), is_legacy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_a_manifest_is_the_layer_with_the_media_type_of_charts() {
        let digest = "ab".repeat(32);
        let manifest = |media_type: &str| {
            format!(
                r#"{{"layers":[{{"mediaType":"application/x","digest":"sha256:{}"}},
                   {{"mediaType":"{media_type}","digest":"sha256:{digest}"}}]}}"#,
                "00".repeat(32)
            )
        };
        assert_eq!(layer(manifest(CONTENT).as_bytes()), Some((digest.clone(), false)));
        assert_eq!(layer(manifest(LEGACY_CONTENT).as_bytes()), Some((digest.clone(), true)));
        assert_eq!(layer(manifest("other").as_bytes()), None);
        assert_eq!(layer(b"{"), None);
        assert_eq!(layer(br#"{"manifests":[]}"#), None);
    }

    #[test]
    fn manifests_of_the_cache_are_compared_with_their_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = ContentCache::new(folder.path());
        let digest = Digest::of(b"manifest");
        for (bytes, found) in [(&b"other"[..], None), (b"manifest", Some(b"manifest".to_vec()))] {
            let file = cache.incoming().expect("a file");
            std::fs::write(file.path(), bytes).expect("it is written");
            cache.keep(file, digest.hex(), Kind::Manifest).expect("it is kept");
            assert_eq!(cache.manifest(&digest), found);
        }
    }

    #[test]
    fn notices_are_helms_paragraphs_and_are_given_once() {
        let registries = Registries::new(|_| Err(Error::Input("nobody".to_owned())));
        let digest = Digest::of(b"x");
        let typed = |version: &str, credentials| {
            let parsed = parse(&format!("r.io/web:{version}")).expect("a reference");
            let name = parsed.repository.tagged(&parsed.tag).expect("a tag");
            OciChart { chart: ResolvedChart { name, version: version.to_owned() }, credentials }
        };
        registries.notice(&typed("1.0.0", Credentials::Stored), &digest, false);
        assert_eq!(registries.take_notices(), "");
        registries.notice(&typed("1.0.0", Credentials::Given), &digest, false);
        assert_eq!(registries.take_notices(), format!("Pulled: r.io/web:1.0.0\nDigest: {digest}\n"));
        assert_eq!(registries.take_notices(), "");
        registries.notice(&typed("1.0.0+a", Credentials::Given), &digest, true);
        let text = registries.take_notices();
        assert!(text.starts_with("Warning: chart media type application/tar+gzip is deprecated\nPulled: "));
        assert!(text.contains("r.io/web:1.0.0_a contains an underscore.\n\nOCI artifact"), "{text}");
    }

    #[test]
    fn a_registry_that_takes_too_long_is_left() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let host = silent.local_addr().expect("it has an address").to_string();
        let settings = pintle_registry::Settings { plain_http: true, ..Default::default() };
        let client = Arc::new(Client::new(settings).expect("good settings"));
        let deadline = std::time::Instant::now() + std::time::Duration::from_millis(200);
        let shared = Arc::clone(&client);
        let registries = Registries::new(move |_| Ok(Arc::clone(&shared))).with_deadline(deadline);
        let parsed = parse(&format!("oci://{host}/charts/web")).expect("a reference");
        let error = registries.run(client.resolve_chart(&parsed, "1.x")).expect_err("it says nothing");
        assert_eq!(error.to_string(), "the registry takes too long");
    }
}

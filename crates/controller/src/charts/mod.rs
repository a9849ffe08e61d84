//! Charts by their digest. Resolved references are cached for a while, so that a thousand requests for one chart query its
//! repository once, and loaded charts are shared between them.

mod disk;
mod verify;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::chart::Chart;
use pintle::cluster::Cluster;
use pintle::objects::Object;
use pintle::registry::{Client, Login, Settings};
use pintle::release::ChartSource as RecordedSource;
use pintle::repo::{
    Access, ChartQuery, Credentials, Fetched, Getter, IndexTable, Proxies, Registries, RepositoryPaths,
    Resolver,
};
use pintle_tree::Node;
use pintle_tree::redact::redacted;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::address::AddressRules;
use crate::error::{Error, Result};
use crate::memory::{Memory, StageLimits};
use crate::recent::Recent;
use crate::request::{Archive, ArchiveKind, ChartSource, CommonMetadata, HelmRequest, HelmRequestSpec, hex};
use crate::settled::{Source, state};
use crate::values;
use verify::Key;

/// How much all loaded charts that are kept may have together, in bytes.
const MAX_LOADED_BYTES: usize = 32 << 20;
/// How many references are remembered.
const MAX_RESOLVED: usize = 4096;
/// How much text all indexes that are kept may have together, in bytes.
const MAX_INDEXES: usize = 32 << 20;
/// How many requests are remembered with their references.
const MAX_REFERENCES: usize = 32_768;
/// How long a request to a repository may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The largest index or archive, in bytes.
const MAX_DOWNLOAD: u64 = 64 << 20;
/// How long all requests to a registry may take together.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// A chart that can be deployed.
#[derive(Clone, Debug)]
pub(crate) struct LoadedChart {
    /// The chart.
    pub(crate) chart: Arc<Chart>,
    /// The SHA-256 of its archive, in hexadecimal digits.
    pub(crate) digest: String,
    /// Where it was fetched from, for the record of the release.
    pub(crate) source: Option<Arc<RecordedSource>>,
}

/// Resolves and caches charts.
pub struct Charts {
    folder: PathBuf,
    proxies: Proxies,
    addresses: AddressRules,
    /// The most memory that a reconciliation may reserve.
    memory_share: u64,
    /// How long a resolved reference is cached.
    max_age: Duration,
    resolved: Mutex<Recent<Entry>>,
    /// The reference of each request whose chart is resolved without its rights, by uid.
    references: Mutex<Recent<String>>,
    indexes: Arc<IndexTable>,
    loaded: Mutex<VecDeque<LoadedChart>>,
}

/// A reference. Whoever needs it first resolves it, and the others wait.
type Entry = Arc<tokio::sync::Mutex<Option<Resolution>>>;

/// What a reference was resolved to, and when.
#[derive(Clone)]
struct Resolution {
    at: Instant,
    digest: String,
    path: Option<PathBuf>,
    source: Option<Arc<RecordedSource>>,
    /// What was asked for, if that needs no Secret of the request.
    public: Option<Arc<ChartSource>>,
}

impl Charts {
    /// Keeps archives below a folder. They are fetched through these proxies, from addresses that the rules allow.
    pub fn new(folder: PathBuf, proxies: Proxies, addresses: AddressRules, max_age: Duration) -> Charts {
        Charts {
            folder,
            proxies,
            addresses,
            memory_share: u64::MAX,
            max_age,
            resolved: Mutex::new(Recent::new(MAX_RESOLVED)),
            references: Mutex::new(Recent::new(MAX_REFERENCES)),
            indexes: Arc::new(IndexTable::new(max_age, MAX_INDEXES)),
            loaded: Mutex::default(),
        }
    }

    /// For reconciliations that share memory.
    #[must_use]
    pub fn with_memory(self, memory: &Memory) -> Charts {
        Charts { memory_share: memory.share(), ..self }
    }

    /// Returns the chart of a request, and adds the objects that were read for it to `sources`. With `fresh`, its reference is
    /// resolved again.
    ///
    /// # Errors
    /// When it cannot be found or read, or exceeds the limits.
    pub(crate) async fn get(
        &self,
        cluster: &Cluster,
        request: &HelmRequest,
        fresh: bool,
        limits: StageLimits,
        sources: &mut Vec<Source>,
    ) -> Result<LoadedChart> {
        match &request.spec.chart.archive {
            Some(archive) => {
                self.get_from_object(cluster, request.namespace(), archive, limits, sources).await
            }
            None => self.get_from_network(cluster, request, fresh, limits, sources).await,
        }
    }

    /// Whether the chart of a request is still the one with this digest. Nothing of the cluster is read for that; for a
    /// reference that needs a Secret of the request, the answer is no.
    pub(crate) async fn is_current(&self, uid: &str, digest: &str, memory: (&Memory, &str)) -> bool {
        let reference = self.references.lock().unwrap_or_else(PoisonError::into_inner).get(uid).cloned();
        let Some(reference) = reference else { return false };
        let entry = self.entry(&reference);
        let mut entry = entry.lock().await;
        let Some(known) = entry.clone() else { return false };
        if known.at.elapsed() < self.max_age {
            return known.digest == digest;
        }
        let Some(public) = known.public else { return false };
        let (memory, namespace) = memory;
        let reserved = memory.reserve(namespace, self.fetch_needs()).await;
        let limits = StageLimits(reserved.size());
        let wanted = wanted(&public, &None);
        // An error is found again by the reconciliation, which reports it.
        let Ok((fetched, source)) = self.fetch(&public, wanted, None, None, (limits, false)).await else {
            return false;
        };
        let found = fetched.digest.clone();
        *entry = Some(Resolution {
            at: Instant::now(),
            digest: fetched.digest,
            path: Some(fetched.path),
            source: Some(Arc::new(source)),
            public: Some(public),
        });
        found == digest
    }

    /// An archive in a ConfigMap or Secret. Its metadata tells whether it changed, so that a large archive is read once.
    async fn get_from_object(
        &self,
        cluster: &Cluster,
        namespace: &str,
        archive: &Archive,
        limits: StageLimits,
        sources: &mut Vec<Source>,
    ) -> Result<LoadedChart> {
        let what = format!("{} {}", archive.kind.as_str(), archive.name);
        let missing = || {
            Error::Chart(format!("{what}, which holds the chart, does not exist in namespace {namespace}"))
        };
        let failed = |error: pintle::cluster::Error| Error::Chart(format!("{what}: {error}"));
        let resource = values::resource(archive.kind);
        let metadata = cluster.get_metadata(&resource, namespace, &archive.name).await.map_err(failed)?;
        let metadata = metadata.ok_or_else(missing)?;
        let read = |object: &Object| Source {
            kind: archive.kind,
            name: archive.name.clone(),
            state: state(object.uid(), object.resource_version()),
        };
        sources.push(read(&metadata));
        let name = archive.key.as_deref().filter(|key| !key.is_empty()).unwrap_or("chart.tgz");
        let key = format!("{} {} {name}", metadata.uid(), metadata.resource_version());
        let entry = self.entry(&key);
        let mut entry = entry.lock().await;
        if let Some(chart) = entry.as_ref().and_then(|known| self.kept(&known.digest)) {
            return Ok(chart);
        }
        let object = cluster.get_by_name(&resource, namespace, &archive.name).await.map_err(failed)?;
        let object = object.ok_or_else(missing)?;
        // It may have changed meanwhile, and then no watch agrees with both.
        sources.push(read(&object));
        let bytes =
            values::data(&object, archive.kind, name).map_err(|error| Error::Chart(error.to_string()))?;
        let bytes = bytes.ok_or_else(|| Error::Chart(format!("{what} has no key `{name}`")))?;
        let digest = hex(&Sha256::digest(&bytes));
        let chart = self
            .load(&digest, limits, move || {
                pintle::chart::load_archive_within(bytes, limits.chart(), &mut Vec::new())
                    .map_err(|error| error.to_string())
            })
            .await?;
        *entry = Some(Resolution { at: Instant::now(), digest, path: None, source: None, public: None });
        Ok(chart)
    }

    async fn get_from_network(
        &self,
        cluster: &Cluster,
        request: &HelmRequest,
        fresh: bool,
        limits: StageLimits,
        sources: &mut Vec<Source>,
    ) -> Result<LoadedChart> {
        let source = &request.spec.chart;
        let login = self.credentials(cluster, request, sources).await?;
        let signer = verify::key(cluster, request, sources).await?;
        let wanted = wanted(source, &login);
        let reference = key(source, &login, signer.as_ref());
        let entry = self.entry(&reference);
        let public = (login.is_none() && signer.is_none()).then(|| Arc::new(source.clone()));
        self.references.lock().unwrap_or_else(PoisonError::into_inner).insert(
            request.uid().to_owned(),
            reference,
            1,
        );
        let mut entry = entry.lock().await;
        let known = entry.clone().filter(|known| !fresh && known.at.elapsed() < self.max_age);
        let known = match known {
            Some(known) => known,
            None => {
                if limits.fetched() < self.fetch_needs() {
                    return Err(too_large(limits));
                }
                let (fetched, source) = self.fetch(source, wanted, login, signer, (limits, fresh)).await?;
                let source = Some(Arc::new(source));
                let (digest, path) = (fetched.digest, Some(fetched.path));
                entry.insert(Resolution { at: Instant::now(), digest, path, source, public }).clone()
            }
        };
        drop(entry);
        let path = known.path.unwrap_or_default();
        let chart = match self.kept(&known.digest) {
            Some(chart) => chart,
            None => {
                let load = move || {
                    // The path is one of this machine, and has the digest of whatever the server has sent.
                    let failed = |error: pintle::chart::Error| {
                        error.to_string().replace(&*path.to_string_lossy(), "the archive")
                    };
                    pintle::chart::load_file_within(&path, limits.chart(), &mut Vec::new()).map_err(failed)
                };
                self.load(&known.digest, limits, load).await?
            }
        };
        // The same archive may be in several places.
        Ok(LoadedChart { source: known.source, ..chart })
    }

    /// Fetches an archive into the content cache, on a thread that may block.
    async fn fetch(
        &self,
        source: &ChartSource,
        mut wanted: ChartQuery,
        login: Option<(String, String)>,
        signer: Option<Key>,
        (limits, fresh): (StageLimits, bool),
    ) -> Result<(Fetched, RecordedSource)> {
        // Cached archives are found by the digest that an index declares, and anyone may declare one. What was fetched with a
        // login is only found with the same login.
        let folder =
            login.as_ref().map_or_else(|| self.folder.clone(), |login| self.folder.join(login_digest(login)));
        let folders = RepositoryPaths {
            repository_config: folder.join("repositories.yaml"),
            repository_cache: folder.join("repository"),
            content_cache: folder.join("content"),
        };
        let settings = Settings {
            login: login.map(|(user, password)| Login::Password { user, password }),
            plain_http: source.plain_http,
            insecure: source.insecure_skip_tls_verify,
            proxies: self.proxies.clone(),
            addresses: Some(self.addresses.check()),
            ..Settings::default()
        };
        let deadline = std::time::Instant::now() + FETCH_TIMEOUT;
        if let Some(Key::Cosign(key)) = &signer {
            let verified = verify::cosign(&settings, &mut wanted, key);
            let verified = tokio::time::timeout_at(deadline.into(), verified).await;
            verified.map_err(|_| Error::Chart("the registry takes too long".to_owned()))??;
        }
        let (proxies, addresses) = (self.proxies.clone(), self.addresses.check());
        let indexes = Arc::clone(&self.indexes);
        let work = move || {
            std::fs::create_dir_all(&folders.repository_cache)
                .map_err(|error| Error::Chart(format!("cannot create the cache of charts: {error}")))?;
            let registries = Registries::new(move |credentials| {
                let login = (credentials == Credentials::Given).then(|| settings.login.clone()).flatten();
                let client = Client::new(Settings { login, ..settings.clone() });
                client.map(Arc::new).map_err(|error| pintle::repo::Error::Input(error.to_string()))
            });
            let agent = concat!("pintle-controller/", env!("CARGO_PKG_VERSION"));
            let registries = registries.with_deadline(deadline);
            let getter = Getter::new(proxies, TIMEOUT, agent).with_registries(registries);
            let getter = getter.with_addresses(addresses).with_max_bytes(MAX_DOWNLOAD.min(limits.fetched()));
            let getter = getter.with_indexes(indexes, fresh);
            let resolver =
                Resolver { folders, getter: &getter, skip_digest: false, needs_all_indexes: false };
            let failed = |error: pintle::repo::Error| Error::Chart(describe_error(&error));
            let resolved = resolver.resolve(&wanted).map_err(failed)?;
            let fetched = resolver.fetch(&resolved).map_err(failed)?;
            disk::prune(&resolver.folders.content_cache, disk::MAX_CACHE, &fetched.path);
            if let Some(Key::Pgp(keyring)) = &signer {
                verify::pgp(&resolver, &resolved, &fetched, keyring)?;
            }
            let source = RecordedSource {
                url: redacted(&resolved.source.url).into_owned(),
                repository: redacted(&resolved.source.repository).into_owned(),
                digest: format!("sha256:{}", fetched.digest),
            };
            Ok((fetched, source))
        };
        blocking(work).await
    }

    /// User name and password of the Secret that a request names.
    async fn credentials(
        &self,
        cluster: &Cluster,
        request: &HelmRequest,
        sources: &mut Vec<Source>,
    ) -> Result<Option<(String, String)>> {
        let Some(reference) = &request.spec.chart.credentials else { return Ok(None) };
        let kind = ArchiveKind::Secret;
        let found = cluster.get_by_name(&values::resource(kind), request.namespace(), &reference.name).await;
        let found =
            found.map_err(|error| Error::Chart(format!("credentials Secret {}: {error}", reference.name)))?;
        let missing = |what: &str| Error::Chart(format!("credentials Secret {}: {what}", reference.name));
        let object = found.ok_or_else(|| missing("it does not exist"))?;
        sources.push(Source {
            kind,
            name: reference.name.clone(),
            state: state(object.uid(), object.resource_version()),
        });
        let text = |key: &str| -> Result<String> {
            let bytes = values::data(&object, kind, key).map_err(|error| Error::Chart(error.to_string()))?;
            let bytes = bytes.ok_or_else(|| missing(&format!("it has no key `{key}`")))?;
            String::from_utf8(bytes).map_err(|_| missing(&format!("`{key}` is no text")))
        };
        Ok(Some((text("username")?, text("password")?)))
    }

    fn entry(&self, key: &str) -> Arc<tokio::sync::Mutex<Option<Resolution>>> {
        let mut resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = resolved.get(key) {
            return Arc::clone(entry);
        }
        let entry = Entry::default();
        // One that is dropped while it is in use is kept alive by its `Arc`.
        resolved.insert(key.to_owned(), Arc::clone(&entry), 1);
        entry
    }

    fn kept(&self, digest: &str) -> Option<LoadedChart> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let at = loaded.iter().position(|chart| chart.digest == digest)?;
        // To the end: the least recently used chart is dropped first.
        let chart = loaded.remove(at)?;
        loaded.push_back(chart.clone());
        Some(chart)
    }

    async fn load(
        &self,
        digest: &str,
        limits: StageLimits,
        load: impl FnOnce() -> std::result::Result<Option<Chart>, String> + Send + 'static,
    ) -> Result<LoadedChart> {
        let chart = blocking(move || load().map_err(Error::Chart)).await?;
        let chart = Arc::new(chart.ok_or_else(|| too_large(limits))?);
        let chart = LoadedChart { chart, digest: digest.to_owned(), source: None };
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|other| other.digest != chart.digest);
        loaded.push_back(chart.clone());
        drop_old(&mut loaded);
        Ok(chart)
    }

    /// What a reconciliation must have reserved before it fetches anything: an index is as large as its repository makes it.
    fn fetch_needs(&self) -> u64 {
        MAX_DOWNLOAD.min(self.memory_share)
    }
}

/// Drops the charts that were not used for longest, until those that are kept are small enough.
fn drop_old(loaded: &mut VecDeque<LoadedChart>) {
    let mut total: usize = loaded.iter().map(|kept| size(&kept.chart)).sum();
    while total > MAX_LOADED_BYTES && loaded.len() > 1 {
        let Some(dropped) = loaded.pop_front() else { return };
        total -= size(&dropped.chart);
    }
}

/// The size of all files of a chart and its subcharts, in bytes.
fn size(chart: &Chart) -> usize {
    let own: usize = chart.raw.iter().map(|file| file.data.size()).sum();
    own + chart.subcharts.iter().chain(&chart.libraries).map(size).sum::<usize>()
}

fn too_large(StageLimits(share): StageLimits) -> Error {
    Error::Memory { stage: "chart", share }
}

/// The text of an error for the status, without the digest of content that is not what was asked for: with it, the next
/// request would get the content.
pub(crate) fn describe_error(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    match text.split_once(", found ") {
        Some((front, rest)) => {
            let is_digest = |letter: char| letter.is_ascii_alphanumeric() || letter == ':';
            format!("{front}{}", rest.trim_start_matches(is_digest))
        }
        None => text,
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Error::Chart(format!("the chart cannot be read: {error}"))),
    }
}

/// The chart to request from the repository.
fn wanted(source: &ChartSource, login: &Option<(String, String)>) -> ChartQuery {
    let (username, password) = login.clone().unwrap_or_default();
    let access = Access {
        username,
        password,
        insecure_skip_tls_verify: source.insecure_skip_tls_verify,
        ..Access::default()
    };
    let name = source.name.clone().unwrap_or_default();
    let repository = source.repository.clone().unwrap_or_default();
    let (reference, repo_url) = match &source.url {
        Some(url) => (url.clone(), String::new()),
        None if repository.starts_with("oci://") => {
            (format!("{}/{name}", repository.trim_end_matches('/')), String::new())
        }
        None => (name, repository),
    };
    ChartQuery { reference, version: source.version.clone().unwrap_or_default(), repo_url, access }
}

/// Identifies a login in cache keys.
fn login_digest((user, password): &(String, String)) -> String {
    hex(&Sha256::digest(format!("{user}\n{password}")))
}

/// The cache key of a reference. Credentials are part of it, so that nobody gets a chart by the login of another; only their
/// digest is kept. So is the key of the signer, or an unverified chart could pass as verified.
fn key(source: &ChartSource, login: &Option<(String, String)>, signer: Option<&Key>) -> String {
    let login = login.as_ref().map(login_digest);
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    [
        text(&source.repository),
        text(&source.name),
        text(&source.url),
        text(&source.version),
        login.unwrap_or_default(),
        signer.map(Key::digest).unwrap_or_default(),
        format!("{} {}", source.insecure_skip_tls_verify, source.plain_http),
    ]
    .join("\n")
}

/// The digest of what is deployed: the archive of the chart, the values, and what changes the rendered objects.
pub(crate) fn config_digest(chart: &str, values: &pintle_tree::Map<Node>, spec: &HelmRequestSpec) -> String {
    let mut hash = Sha256::new();
    hash.update(chart.as_bytes());
    hash.update(b"\n");
    hash.update(pintle_tree::json::write_raw(values).unwrap_or_default());
    if !spec.post_renderers.is_empty() || spec.common_metadata != CommonMetadata::default() {
        let changes = (&spec.post_renderers, &spec.common_metadata);
        hash.update(serde_json::to_vec(&changes).unwrap_or_default());
    }
    // Labels have a limit of 63 characters, and 160 bits are enough.
    hex(&hash.finalize())[..40].to_owned()
}

/// An entry of the inventory for an object.
pub(crate) fn inventory_entry(object: &Object, namespace: &str) -> crate::request::InventoryEntry {
    let id = object.id();
    let namespace = if id.namespace.is_empty() { namespace } else { &id.namespace };
    crate::request::InventoryEntry {
        id: format!("{namespace}_{}_{}_{}", id.name, id.group, id.kind),
        v: id.version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_content_that_does_not_fit_is_not_shown() {
        let found = "b".repeat(64);
        let error = pintle::repo::Error::Digest {
            url: "https://example.com/web.tgz".to_owned(),
            expected: "a".repeat(64),
            found: found.clone(),
        };
        let text = describe_error(&error);
        assert!(text.contains(&"a".repeat(64)) && !text.contains(&found), "{text}");
        let text = describe_error(&format!("r/x: expected sha256:aa, found sha256:{found} (again)"));
        assert_eq!(text, "r/x: expected sha256:aa (again)");
    }
}

//! Charts of apps: folders of the repository, and archives that are fetched once each.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pintle_chart::{Chart, File, IgnoreRules};
use pintle_gitops::{ChartSource, Entry, Snapshot, join};
use pintle_tree::redact::redacted;

use crate::{ChartReference, Remote, Silent, Verify};

/// An archive with a chart.
#[derive(Clone, Debug)]
pub struct FetchedArchive {
    /// Where it is on this machine.
    pub path: PathBuf,
    /// Its digest; empty if it is not known.
    pub digest: String,
}

/// Fetches charts that are not in the repository.
pub trait ChartFetcher: Send + Sync {
    /// The archive of a chart.
    ///
    /// # Errors
    /// Why there is none.
    fn fetch(&self, source: &ChartSource) -> Result<FetchedArchive, String>;
}

/// Fetches charts from repositories and registries, from allowed hosts only. An exact version is fetched once: its digest is
/// remembered beside the indexes of repositories, and from then on the chart comes from the content cache.
pub struct RemoteCharts {
    /// How servers are reached.
    pub remote: Remote,
    /// The hosts that may be asked, with their ports if they have one.
    pub hosts: Vec<String>,
    /// Asks no server at all: charts come from the cache.
    pub offline: bool,
    /// Digests by source.
    pins: Mutex<BTreeMap<String, String>>,
}

/// The name of the file with digests.
const PINS: &str = "preview-digests.json";
/// The most that it may have, in bytes.
const MAX_PINS: u64 = 16 << 20;

impl RemoteCharts {
    /// Fetches with these settings.
    pub fn new(remote: Remote, hosts: Vec<String>, offline: bool) -> Self {
        let file = remote.paths.repository_cache.join(PINS);
        // A file that is missing or damaged is only a cache.
        let text = pintle_chart::read_limited(&file, MAX_PINS).unwrap_or_default();
        let read = pintle_tree::json::read_map(&text).unwrap_or_default();
        let pins =
            read.iter().filter_map(|(key, digest)| Some((key.to_string(), digest.as_str()?.to_owned())));
        let pins = Mutex::new(pins.collect());
        RemoteCharts { remote, hosts, offline, pins }
    }

    /// The archive of an exact version that was fetched before.
    fn pinned(&self, source: &ChartSource) -> Option<FetchedArchive> {
        let digest = match source {
            ChartSource::Oci { digest, .. } if !digest.is_empty() => None,
            _ => self.pins.lock().unwrap_or_else(PoisonError::into_inner).get(&source.to_string()).cloned(),
        }?;
        let cache = pintle_repo::ContentCache::new(&self.remote.paths.content_cache);
        let path = cache.chart(digest.trim_start_matches("sha256:"))?;
        Some(FetchedArchive { path, digest })
    }

    fn pin(&self, source: &ChartSource, digest: &str) {
        let version = match source {
            ChartSource::Http { version, .. } | ChartSource::Oci { version, .. } => version,
            _ => return,
        };
        // Ranges and tags such as `latest` move.
        if digest.is_empty()
            || pintle_semver::Version::parse(version).is_err()
            || version.matches('.').count() < 2
        {
            return;
        }
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        pins.insert(source.to_string(), digest.to_owned());
        let all: pintle_tree::Map<pintle_tree::Node> =
            pins.iter().map(|(key, digest)| (key.as_str().into(), digest.as_str().into())).collect();
        let text = pintle_tree::json::write(&all).unwrap_or_default();
        // Without it the next run asks again.
        let _ = pintle_chart::write_atomic(&self.remote.paths.repository_cache.join(PINS), &text);
    }

    fn check_host(&self, url: &str) -> Result<(), String> {
        let host = host_of(url);
        if self.offline {
            return Err(format!("{} is not asked: only the cache is used", redacted(url)));
        }
        match self.hosts.iter().any(|known| known.eq_ignore_ascii_case(&host)) {
            true => Ok(()),
            false => Err(format!("the base does not name the host {host}; --allow-host {host} allows it")),
        }
    }
}

/// The host of an address with its port, if it has one.
pub fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').map_or(host, |(_, host)| host).to_lowercase()
}

impl ChartFetcher for RemoteCharts {
    fn fetch(&self, source: &ChartSource) -> Result<FetchedArchive, String> {
        if let Some(archive) = self.pinned(source) {
            return Ok(archive);
        }
        let query = match source {
            ChartSource::Http { url, name, version } => {
                self.check_host(if url.is_empty() { name } else { url })?;
                pintle_repo::ChartQuery {
                    reference: name.clone(),
                    version: version.clone(),
                    repo_url: url.clone(),
                    ..pintle_repo::ChartQuery::default()
                }
            }
            ChartSource::Oci { url, version, digest } => {
                self.check_host(url)?;
                let reference = if digest.is_empty() { url.clone() } else { format!("{url}@{digest}") };
                let version = if digest.is_empty() { version.clone() } else { String::new() };
                pintle_repo::ChartQuery { reference, version, ..pintle_repo::ChartQuery::default() }
            }
            ChartSource::Git { url, .. } => {
                return Err(format!("charts of other git repositories are not fetched ({})", redacted(url)));
            }
            ChartSource::Folder(path) => return Err(format!("{path} is a folder of the repository")),
        };
        let reference = ChartReference {
            remote: self.remote.clone(),
            query,
            // A name that is also a file must not be taken for it.
            folder: PathBuf::from("/nonexistent"),
            verify: Verify::Never,
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
        let located = runtime.block_on(super::super::locate_chart(&reference, &mut Silent));
        let located = located.map_err(|error| chain(&error))?;
        let digest = located.source.map(|source| source.digest).unwrap_or_default();
        self.pin(source, &digest);
        Ok(FetchedArchive { path: located.path, digest })
    }
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A chart that was loaded, and what tells it from others.
#[derive(Clone, Debug)]
pub(crate) struct LoadedChart {
    pub(crate) chart: Arc<Chart>,
    /// Equal for equal charts.
    pub(crate) identity: u64,
    /// The folder of the repository that it comes from.
    pub(crate) folder: Option<String>,
}

type Slot = Arc<OnceLock<Result<LoadedChart, String>>>;

/// The charts of a run, each loaded once.
pub(crate) struct Charts {
    fetcher: Arc<dyn ChartFetcher>,
    fetched: Mutex<BTreeMap<ChartSource, Slot>>,
    folders: Mutex<BTreeMap<(String, u64), Slot>>,
}

/// How deep charts of the repository may depend on each other.
const MAX_DEPTH: usize = 8;

impl Charts {
    pub(crate) fn new(fetcher: Arc<dyn ChartFetcher>) -> Self {
        Charts { fetcher, fetched: Mutex::default(), folders: Mutex::default() }
    }

    /// The chart of a source.
    pub(crate) fn load(&self, files: &Snapshot, source: &ChartSource) -> Result<LoadedChart, String> {
        match source {
            ChartSource::Folder(folder) => {
                let found = folder_files(files, folder)?;
                let identity = identity(&found);
                let slot = slot(&self.folders, (folder.clone(), identity));
                slot.get_or_init(|| self.of_folder(files, folder, found, identity)).clone()
            }
            source => {
                let slot = slot(&self.fetched, source.clone());
                slot.get_or_init(|| self.fetched(source)).clone()
            }
        }
    }

    fn fetched(&self, source: &ChartSource) -> Result<LoadedChart, String> {
        let archive = self.fetcher.fetch(source)?;
        let mut log = Vec::new();
        let chart = pintle_chart::load(&archive.path, &mut log).map_err(|error| chain(&error))?;
        let mut hasher = DefaultHasher::new();
        (&archive.digest, &archive.path).hash(&mut hasher);
        Ok(LoadedChart { chart: Arc::new(chart), identity: hasher.finish(), folder: None })
    }

    fn of_folder(
        &self,
        files: &Snapshot,
        folder: &str,
        mut found: Vec<File>,
        identity: u64,
    ) -> Result<LoadedChart, String> {
        self.add_dependencies(files, folder, &mut found, 0)?;
        let chart =
            pintle_chart::load_files(found).map_err(|error| format!("{folder}: {}", chain(&error)))?;
        Ok(LoadedChart { chart: Arc::new(chart), identity, folder: Some(folder.to_owned()) })
    }

    /// Adds dependencies that Chart.yaml lists and `charts/` does not have, as Flux and Argo CD build them.
    fn add_dependencies(
        &self,
        files: &Snapshot,
        folder: &str,
        found: &mut Vec<File>,
        depth: usize,
    ) -> Result<(), String> {
        let chart = pintle_chart::load_files(found.clone())
            .map_err(|error| format!("{folder}: {}", chain(&error)))?;
        if depth > MAX_DEPTH {
            return Err(format!(
                "{folder}: charts depend on each other more than {MAX_DEPTH} times, or in a circle"
            ));
        }
        let locked = chart.lock.iter().flat_map(|lock| &lock.dependencies);
        let locked: BTreeMap<&str, &str> = locked.map(|it| (it.name.as_str(), it.version.as_str())).collect();
        for dependency in &chart.metadata.dependencies {
            let is_there = chart.subcharts.iter().any(|subchart| subchart.name() == dependency.name);
            if is_there || dependency.repository.is_empty() {
                continue;
            }
            if let Some(path) = dependency.repository.strip_prefix("file://") {
                let path = join(folder, path)
                    .ok_or_else(|| format!("{folder}: its dependency {path} leads out of the repository"))?;
                let mut inner = folder_files(files, &path)?;
                self.add_dependencies(files, &path, &mut inner, depth + 1)?;
                let prefix = format!("charts/{}/", dependency.name);
                found.extend(
                    inner.into_iter().map(|file| File { name: format!("{prefix}{}", file.name), ..file }),
                );
                continue;
            }
            let version =
                locked.get(dependency.name.as_str()).copied().unwrap_or(&dependency.version).to_owned();
            let source = dependency_source(&dependency.repository, &dependency.name, version);
            let archive = self.fetcher.fetch(&source)?;
            let bytes = pintle_chart::read_limited(&archive.path, pintle_chart::MAX_CHART_SIZE)
                .map_err(|error| format!("{}: {error}", archive.path.display()))?;
            found.push(File::new(format!("charts/{}.tgz", dependency.name), bytes));
        }
        Ok(())
    }
}

fn dependency_source(repository: &str, name: &str, version: String) -> ChartSource {
    let repository = repository.trim_end_matches('/');
    match repository.starts_with("oci://") {
        true => ChartSource::Oci { url: format!("{repository}/{name}"), version, digest: String::new() },
        false => ChartSource::Http { url: repository.to_owned(), name: name.to_owned(), version },
    }
}

fn slot<K: Ord>(slots: &Mutex<BTreeMap<K, Slot>>, key: K) -> Slot {
    // A thread that panicked has left a map that is whole.
    let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(slots.entry(key).or_default())
}

/// The files of a chart in the repository, without those that it ignores.
fn folder_files(files: &Snapshot, folder: &str) -> Result<Vec<File>, String> {
    let folder = files.resolve(folder)?.ok_or_else(|| format!("there is no folder {folder}"))?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    if !files.is_file(&format!("{prefix}Chart.yaml")) {
        return Err(format!("{folder} has no Chart.yaml"));
    }
    let ignored = files.read(&format!("{prefix}.helmignore"))?.unwrap_or_default();
    let rules = IgnoreRules::parse_plain(&ignored).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for (path, entry) in files.below(&folder) {
        let name = path.strip_prefix(&prefix).unwrap_or(path);
        if is_ignored(&rules, name) {
            continue;
        }
        match entry {
            Entry::File(content) => found.push(File::new(name, content.to_vec())),
            Entry::Link(_) if files.is_folder(path) => {
                for (inner, entry) in files.below(path) {
                    let root = files.resolve(path)?.unwrap_or_default();
                    if let (Entry::File(content), Some(rest)) = (entry, inner.strip_prefix(&root)) {
                        found.push(File::new(format!("{name}{rest}"), content.to_vec()));
                    }
                }
            }
            Entry::Link(_) => {
                if let Some(content) = files.read(path)? {
                    found.push(File::new(name, content.to_vec()));
                }
            }
            Entry::TooLarge(size) => return Err(format!("{path} has {size} bytes, which is too large")),
            Entry::Submodule => {}
        }
    }
    Ok(found)
}

fn is_ignored(rules: &IgnoreRules, name: &str) -> bool {
    let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
    // Helm's own rule: hidden files in `templates/`.
    let is_hidden = name
        .strip_prefix("templates/")
        .is_some_and(|rest| rest.len() > 1 && rest.starts_with('.') && !rest.contains('/'));
    folders.into_iter().any(|folder| rules.ignores(folder, true)) || rules.ignores(name, false) || is_hidden
}

fn identity(files: &[File]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.name.hash(&mut hasher);
        file.data.to_vec().hash(&mut hasher);
    }
    hasher.finish()
}

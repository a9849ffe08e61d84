//! `outdated`: releases of which the source of the chart has a newer version.

use std::collections::BTreeMap;

use pintle_release::{ChartSource, Summary, VersionRef};
use pintle_repo::repository::download_index;
use pintle_repo::{ChartQuery, Entry, Repositories, address};
use pintle_semver::Version;

use crate::ops::{ListRequest, get, list};
use crate::remote::off_thread;
use crate::{Remote, Reporter, Result, Session};

/// Which releases are compared, and with which versions.
#[derive(Clone, Debug, Default)]
pub struct OutdatedRequest {
    /// The releases.
    pub releases: ListRequest,
    /// The range of versions, and the credentials. The reference is not used.
    pub query: ChartQuery,
}

/// A release, and what its source has.
#[derive(Clone, Debug)]
pub struct ComparedRelease {
    /// The release.
    pub release: Summary,
    /// The newest version; empty if it is unknown.
    pub newest: String,
    /// The repository or the registry; empty if it is unknown.
    pub source: String,
    /// Why the newest version is unknown, if that is an error.
    pub problem: String,
    /// What fetches versions of the chart from there: the reference and the URL of the repository, which may be empty.
    pub chart: (String, String),
}

impl ComparedRelease {
    /// Whether the source has a newer version.
    pub fn is_outdated(&self) -> bool {
        match (Version::parse(&self.release.chart_version), Version::parse(&self.newest)) {
            (Ok(installed), Ok(newest)) => newest.compare(&installed) == std::cmp::Ordering::Greater,
            _ => false,
        }
    }
}

/// Compares releases with the sources of their charts. Releases whose records name no source are compared with the chart of
/// the same name in the repositories that were added, if only one has it.
///
/// # Errors
/// When releases or the list of repositories cannot be read.
pub async fn outdated(
    session: &Session,
    remote: &Remote,
    request: &OutdatedRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<ComparedRelease>> {
    let mut releases = Vec::new();
    let (known, remote) = (Repositories::load(remote.config()), remote.clone());
    for release in list(session, &request.releases, reporter).await? {
        let at = VersionRef::Number(release.number);
        let version = get(session, &release.namespace, &release.name, &at).await?;
        let source = ChartSource::of(&version.chart);
        releases.push((release, source));
    }
    let (query, entries) = (request.query.clone(), known?.unwrap_or_default().entries);
    off_thread(reporter, move |_| {
        let mut lookup = Lookup { remote, query, entries, refreshed: BTreeMap::new() };
        Ok(releases.into_iter().map(|(release, source)| lookup.compare(release, source)).collect())
    })
    .await
}

/// The newest version of a chart.
#[derive(Default)]
struct Found {
    version: String,
    source: String,
    chart: (String, String),
}

/// Finds the newest versions of charts; each repository is asked once.
struct Lookup {
    remote: Remote,
    query: ChartQuery,
    entries: Vec<Entry>,
    refreshed: BTreeMap<String, Result<(), String>>,
}

impl Lookup {
    fn compare(&mut self, release: Summary, source: Option<ChartSource>) -> ComparedRelease {
        let found = match source {
            Some(source) => self.newest(&release.chart_name, &source),
            None => Ok(self.by_name(&release.chart_name)),
        };
        let (found, problem) = match found {
            Ok(found) => (found, String::new()),
            Err(problem) => (Found::default(), problem),
        };
        ComparedRelease { release, newest: found.version, source: found.source, problem, chart: found.chart }
    }

    /// The newest version at the source of the chart, and that source.
    fn newest(&mut self, name: &str, source: &ChartSource) -> Result<Found, String> {
        if source.repository.is_empty() {
            let Some(path) = source.url.strip_prefix("oci://") else {
                // A single archive has no versions.
                return Ok(Found { source: source.url.clone(), ..Found::default() });
            };
            let path = path.split_once('@').map_or(path, |(path, _)| path);
            let end = path.rfind(':').filter(|at| !path[*at..].contains('/')).unwrap_or(path.len());
            let reference = format!("oci://{}", &path[..end]);
            let version = self.resolve(reference.clone(), "")?;
            return Ok(Found { version, source: reference.clone(), chart: (reference, String::new()) });
        }
        let is_it = |entry: &&Entry| address::equal(&entry.url, &source.repository);
        let chart = match self.entries.iter().find(is_it).cloned() {
            Some(entry) => {
                self.refresh(&entry)?;
                (format!("{}/{name}", entry.name), String::new())
            }
            None => (name.to_owned(), source.repository.clone()),
        };
        let version = self.resolve(chart.0.clone(), &chart.1)?;
        Ok(Found { version, source: source.repository.clone(), chart })
    }

    /// The newest version of a chart that exactly one repository has.
    fn by_name(&mut self, name: &str) -> Found {
        let mut found = Vec::new();
        for entry in self.entries.clone() {
            if self.refresh(&entry).is_err() {
                continue;
            }
            let reference = format!("{}/{name}", entry.name);
            if let Ok(version) = self.resolve(reference.clone(), "") {
                found.push(Found { version, source: entry.url, chart: (reference, String::new()) });
            }
        }
        if found.len() == 1 { found.remove(0) } else { Default::default() }
    }

    fn resolve(&self, reference: String, repo_url: &str) -> Result<String, String> {
        let query = ChartQuery { reference, repo_url: repo_url.to_owned(), ..self.query.clone() };
        let resolved = self.remote.resolver().resolve(&query);
        resolved.map(|resolved| resolved.source.version).map_err(|error| error.to_string())
    }

    fn refresh(&mut self, entry: &Entry) -> Result<(), String> {
        let Remote { getter, paths, .. } = &self.remote;
        let fetch = || {
            let fetched = download_index(getter, entry, &paths.repository_cache);
            fetched.map(|_| ()).map_err(|error| error.to_string())
        };
        self.refreshed.entry(entry.name.clone()).or_insert_with(fetch).clone()
    }
}

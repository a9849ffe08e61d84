//! `search repo` and `search hub`: charts by words.

use pintle_repo::hub::{self, HubChart};
use pintle_repo::repository::index_path;
use pintle_repo::search::{self as charts, Hit, Pattern};
use pintle_repo::{Cached, Error, Repositories, warnings};
use pintle_semver::Constraint;
use pintle_tree::LogLine;

use crate::error::RemoteError;
use crate::remote::off_thread;
use crate::{Remote, Reporter, Result};

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// The words; none for all charts. One that begins with `oci://` names a chart in a registry, whose versions are listed.
    pub words: Vec<String>,
    /// Whether the words are a regular expression.
    pub regexp: bool,
    /// The range of versions; empty for all but pre-releases.
    pub version: String,
    /// Whether all versions of each chart are wanted, and not only the newest.
    pub all_versions: bool,
    /// Whether references to registries are words like others, as in Helm.
    pub only_repositories: bool,
}

/// Searches the cached indexes of the repositories that were added, or lists the versions of a chart in a registry.
///
/// # Errors
/// A pattern or a range that is invalid, no repositories, and what a registry refuses. Indexes that cannot be read are only
/// reported.
pub async fn search(
    remote: &Remote,
    request: &SearchRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Hit>> {
    let (remote, request) = (remote.clone(), request.clone());
    off_thread(reporter, move |reporter| Ok(find(&remote, &request, reporter)?)).await
}

fn find(
    remote: &Remote,
    request: &SearchRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Hit>, RemoteError> {
    let SearchRequest { words, regexp, all_versions, only_repositories, .. } = request;
    if let Some(reference) = words.iter().find(|word| word.starts_with("oci://") && !only_repositories) {
        if words.len() > 1 {
            return Err(RemoteError::SearchWords);
        }
        let constraint = constraint(&request.version)?;
        let missing = || Error::Input(format!("there is no client for the registry of {reference}"));
        let registries = remote.getter.registries().ok_or_else(missing)?;
        let (hits, log) = registries.search(reference, &constraint, *all_versions)?;
        log.into_iter().for_each(|line| reporter.log(line));
        return Ok(hits);
    }
    let indexes = indexes(remote, reporter)?;
    let pattern = Pattern::new(words, *regexp).map_err(|reason| RemoteError::SearchPattern { reason })?;
    Ok(charts::search(&indexes, &pattern, &constraint(&request.version)?, *all_versions))
}

fn constraint(range: &str) -> Result<Constraint, RemoteError> {
    let text = if range.is_empty() { ">0.0.0" } else { range };
    Constraint::parse(text)
        .map_err(|error| RemoteError::VersionRange { range: range.to_owned(), reason: error.to_string() })
}

/// The indexes of all repositories; unreadable ones are reported and skipped.
fn indexes(remote: &Remote, reporter: &mut dyn Reporter) -> Result<Vec<(String, Cached)>, RemoteError> {
    let repositories = Repositories::load_partly(remote.config());
    if repositories.entries.is_empty() {
        return Err(RemoteError::NoRepositories);
    }
    let mut indexes = Vec::new();
    for entry in repositories.entries {
        let path = index_path(&remote.paths.repository_cache, &entry.name);
        match Cached::open(&path) {
            Ok(index) => {
                let lines = warnings(&index, &path.to_string_lossy());
                lines.into_iter().for_each(|line| reporter.log(line));
                indexes.push((entry.name, index));
            }
            Err(error) => reporter.log(LogLine::warn(
                "repo is corrupt or missing",
                vec![("repo", entry.name), ("error", error.to_string())],
            )),
        }
    }
    Ok(indexes)
}

/// What to look for in a hub.
#[derive(Clone, Debug)]
pub struct HubSearchRequest {
    /// The URL of the hub.
    pub endpoint: String,
    /// The words.
    pub words: Vec<String>,
}

/// Searches a hub, such as Artifact Hub.
///
/// # Errors
/// An endpoint that is no URL, and when the hub does not answer.
pub async fn search_hub(
    remote: &Remote,
    request: &HubSearchRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<HubChart>> {
    let (remote, request) = (remote.clone(), request.clone());
    let words = request.words.join(" ");
    let search = move || hub::search(&remote.getter, &request.endpoint, &words);
    off_thread(reporter, move |_| Ok(search().map_err(RemoteError::from)?)).await
}

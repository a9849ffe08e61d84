//! The dependencies of charts: found in repositories and registries, and fetched concurrently.
//!
//! What is refreshed, chosen and fetched for `dependency build|update`, in Helm's order and with its texts. Each index is
//! read once, and what is fetched goes through the content cache, checked against the digest of the index or the manifest.

mod download;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use pintle_chart::dependency::{Download, Output, Remote, is_remote};
use pintle_chart::metadata::Dependency;
use pintle_registry::Client;
use pintle_registry::chart::ChartReference;
use pintle_semver::{Constraint, Version};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;
use sha2::{Digest as _, Sha256};

use crate::address::{Address, equal};
use crate::config::{Entry, Repositories};
use crate::content::hex;
use crate::error::{Error, Result};
use crate::get::Getter;
use crate::index::Cached;
use crate::repository::{check_scheme, index_path, update};
use crate::resolve::{RepositoryPaths, warnings};

/// The prefix of the index names of repositories without a name.
const UNMANAGED: &str = "helm-manager-";

/// Helm's note when a repository is given by a bare name instead of a URL.
const NO_URL: &str = "
Note that repositories must be URLs or aliases. For example, to refer to the \"example\"
repository, use \"https://charts.example.com/\" or \"@example\" instead of
\"example\". Don't forget to add the repo, too ('helm repo add').";

/// Checks the signature of an archive with its provenance file.
pub type Verifier<'v> = dyn Fn(&Path, &Path) -> std::result::Result<(), String> + 'v;

/// Whether signatures are checked.
#[derive(Clone, Copy)]
pub enum Verification<'v> {
    /// They are not.
    Never,
    /// Charts without a signature are reported.
    IfPossible(&'v Verifier<'v>),
    /// Charts without a signature are an error.
    Always(&'v Verifier<'v>),
}

/// Repositories and registries as a source of dependencies.
pub struct DependencySource<'g> {
    /// Where things are kept.
    pub folders: RepositoryPaths,
    /// Fetches over HTTP.
    pub getter: &'g Getter,
    /// Fetches from registries; without it, they cannot be used.
    pub registry: Option<Arc<Client>>,
    /// Whether all repositories are refreshed and must be readable, as in Helm, and not only those that are needed.
    pub all_repositories: bool,
    /// Whether nothing is refreshed.
    pub skip_refresh: bool,
    /// Whether signatures are checked.
    pub verification: Verification<'g>,
    known: Known,
}

/// State that is kept between the steps of an update.
#[derive(Default)]
struct Known {
    entries: Option<Arc<Vec<Entry>>>,
    /// The names of the repositories of the dependencies, by position.
    names: Vec<Option<String>>,
    /// The indexes that were opened, by the name of their repository.
    indexes: BTreeMap<String, Arc<Cached>>,
    /// The repositories that were refreshed.
    refreshed: BTreeSet<String>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl<'g> DependencySource<'g> {
    /// The repositories of `folders`, reached with `getter`, as a source.
    pub fn new(folders: RepositoryPaths, getter: &'g Getter) -> DependencySource<'g> {
        DependencySource {
            folders,
            getter,
            registry: None,
            all_repositories: false,
            skip_refresh: false,
            verification: Verification::Never,
            known: Known::default(),
        }
    }

    /// The configured repositories.
    fn entries(&mut self) -> Result<Arc<Vec<Entry>>> {
        if let Some(entries) = &self.known.entries {
            return Ok(Arc::clone(entries));
        }
        let file = Repositories::load(&self.folders.repository_config)?.unwrap_or_default();
        let entries = Arc::new(file.entries);
        self.known.entries = Some(Arc::clone(&entries));
        Ok(entries)
    }

    fn runtime(&mut self) -> Result<&tokio::runtime::Runtime> {
        if self.known.runtime.is_none() {
            let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let built = built.map_err(|error| Error::Fetch(format!("cannot start: {error}")))?;
            self.known.runtime = Some(built);
        }
        self.known.runtime.as_ref().ok_or_else(|| Error::Fetch("cannot start".to_owned()))
    }

    /// The index of a repository from the cache, read once.
    fn index(&mut self, name: &str, log: &mut Vec<LogLine>) -> Result<Arc<Cached>> {
        let path = index_path(&self.folders.repository_cache, name);
        if let Some(index) = self.known.indexes.get(name) {
            // Helm reads it again, and logs its warnings again.
            if self.all_repositories {
                log.extend(warnings(index, &path.to_string_lossy()));
            }
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(Cached::open(&path)?);
        // Otherwise, the warnings were logged when the index was refreshed.
        if self.all_repositories || !self.known.refreshed.contains(name) {
            log.extend(warnings(&index, &path.to_string_lossy()));
        }
        self.known.indexes.insert(name.to_owned(), Arc::clone(&index));
        Ok(index)
    }

    fn replace(&mut self, dependencies: &mut [Dependency]) -> Result<()> {
        let entries = self.entries()?;
        self.known.names = vec![None; dependencies.len()];
        let mut missing = Vec::new();
        for (dependency, name) in dependencies.iter_mut().zip(&mut self.known.names) {
            if !is_remote(dependency) || is_registry(&dependency.repository) {
                continue;
            }
            let repository = &dependency.repository;
            let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
            let is_it = |entry: &&Entry| alias == Some(&entry.name) || equal(&entry.url, repository);
            if let Some(entry) = entries.iter().find(is_it) {
                *name = Some(entry.name.clone());
                if alias == Some(&entry.name) {
                    dependency.repository.clone_from(&entry.url);
                }
            } else if !is_request_uri(repository) {
                missing.push(repository.clone());
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let mut text = format!(
            "no repository definition for {}. Please add them via 'helm repo add'",
            missing.join(", ")
        );
        let is_name =
            |text: &String| !text.contains("//") && !text.starts_with('@') && !text.starts_with("alias:");
        if missing.iter().any(is_name) {
            text.push_str(NO_URL);
        }
        Err(Error::Input(text))
    }

    fn check(&mut self, locked: &[Dependency]) -> Result<()> {
        let entries = self.entries()?;
        let mut missing = Vec::new();
        self.known.names = vec![None; locked.len()];
        for (dependency, name) in locked.iter().zip(&mut self.known.names) {
            let repository = &dependency.repository;
            if !is_remote(dependency) || is_registry(repository) {
                continue;
            }
            let trimmed = repository.strip_suffix('/').unwrap_or(repository);
            match entries.iter().find(|entry| equal(&entry.url, trimmed)) {
                Some(entry) => *name = Some(entry.name.clone()),
                None => missing.push(repository.as_str()),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::Input(format!(
            "no repository definition for {}. Please add the missing repos via 'helm repo add'",
            missing.join(", ")
        )))
    }

    fn refresh_all(
        &mut self,
        dependencies: &[Dependency],
        unknown: bool,
        output: &mut Output<'_>,
    ) -> Result<()> {
        let mut unmanaged = if unknown { self.name_unmanaged(dependencies) } else { Vec::new() };
        unmanaged.retain(|entry| !self.known.refreshed.contains(&entry.name));
        if self.skip_refresh {
            return Ok(());
        }
        if !unmanaged.is_empty() {
            (output.report)("Getting updates for unmanaged Helm repositories...");
            self.refresh_each(&unmanaged, output)?;
        }
        let entries = self.entries()?;
        let is_needed = |entry: &&Entry| {
            self.all_repositories || self.known.names.iter().flatten().any(|name| *name == entry.name)
        };
        let needed: Vec<Entry> = entries.iter().filter(is_needed).cloned().collect();
        let mut needed = if self.all_repositories { last_of_each_url(needed) } else { needed };
        // Libraries come after dependencies, and often from the same repositories.
        needed.retain(|entry| !self.known.refreshed.contains(&entry.name));
        if needed.is_empty() {
            return Ok(());
        }
        (output.report)("Hang tight while we grab the latest from your chart repositories...");
        self.refresh_each(&needed, output)?;
        (output.report)("Update Complete. ⎈Happy Helming!⎈");
        Ok(())
    }

    /// Gives repositories without a name a generated one, for caching their index.
    fn name_unmanaged(&mut self, dependencies: &[Dependency]) -> Vec<Entry> {
        let mut unmanaged: Vec<Entry> = Vec::new();
        for (dependency, name) in dependencies.iter().zip(&mut self.known.names) {
            let url = &dependency.repository;
            if !is_remote(dependency) || is_registry(url) || name.is_some() {
                continue;
            }
            let made = format!("{UNMANAGED}{}", hex(&Sha256::digest(url)));
            *name = Some(made.clone());
            if unmanaged.iter().all(|entry| entry.name != made) {
                unmanaged.push(Entry { name: made, url: url.clone(), ..Entry::default() });
            }
        }
        unmanaged
    }

    fn refresh_each(&mut self, entries: &[Entry], output: &mut Output<'_>) -> Result<()> {
        for entry in entries {
            check_scheme(self.getter, &entry.url)?;
        }
        let refreshed = &mut self.known.refreshed;
        update(self.getter, entries, &self.folders.repository_cache, |entry, outcome| {
            let is_unmanaged = entry.name.starts_with(UNMANAGED);
            let name = quote(if is_unmanaged { &entry.url } else { &entry.name }.as_bytes());
            let line = match outcome {
                Ok(skipped) => {
                    refreshed.insert(entry.name.clone());
                    output.log.extend(skipped.iter().map(|one| one.log_line(&entry.url)));
                    format!("...Successfully got an update from the {name} chart repository")
                }
                Err(error) => {
                    let url = if is_unmanaged { String::new() } else { format!(" ({})", entry.url) };
                    format!("...Unable to get an update from the {name} chart repository{url}:\n\t{error}")
                }
            };
            (output.report)(&line);
        });
        Ok(())
    }

    fn newest_in_repository(
        &mut self,
        at: usize,
        dependency: &Dependency,
        range: &Constraint,
        log: &mut Vec<LogLine>,
    ) -> Result<Option<String>> {
        let Dependency { name, repository, version, .. } = dependency;
        let Some(Some(repository_name)) = self.known.names.get(at).cloned() else {
            return Ok(Some(version.clone()));
        };
        let index = self.index(&repository_name, log).map_err(|error| {
            error.within(&format!(
                "no cached repository for {repository_name} found. (try 'helm repo update')"
            ))
        })?;
        let Some(chart) = index.catalog.chart(name) else {
            return Err(Error::Input(format!("{name} chart not found in repo {repository}")));
        };
        let details = index.details(name);
        let fits = |version: &str| Version::parse(version).is_ok_and(|version| range.check(&version));
        let mut versions = chart.versions.iter().zip(&details);
        let found = versions.find(|(head, detail)| !detail.urls.is_empty() && fits(&head.version));
        Ok(found.map(|(head, _)| head.version.clone()))
    }

    fn newest_in_registry(&mut self, dependency: &Dependency, range: &Constraint) -> Result<String> {
        let Dependency { name, repository, version, .. } = dependency;
        if Version::parse(version).is_ok() {
            return Ok(version.clone());
        }
        let failed = |error: pintle_registry::Error| {
            Error::Fetch(format!("could not retrieve list of tags for repository {repository}: {error}"))
        };
        let client = self.registry.clone().ok_or_else(no_registry)?;
        let reference = ChartReference::parse(&format!("{repository}/{name}")).map_err(failed)?;
        let listing = client.chart_versions(&reference.repository);
        let tags = self.runtime()?.block_on(listing).map_err(failed)?;
        let fits = |tag: &&String| Version::parse(tag).is_ok_and(|found| range.check(&found));
        // If no tag satisfies the range, fetching fails later.
        Ok(tags.iter().find(fits).unwrap_or(version).clone())
    }
}

impl Remote for DependencySource<'_> {
    fn replace_aliases(&mut self, dependencies: &mut [Dependency]) -> pintle_chart::Result<()> {
        self.replace(dependencies).map_err(chart_error)
    }

    fn check_known(&mut self, locked: &[Dependency]) -> pintle_chart::Result<()> {
        self.check(locked).map_err(chart_error)
    }

    fn refresh(
        &mut self,
        dependencies: &[Dependency],
        unknown: bool,
        output: &mut Output<'_>,
    ) -> pintle_chart::Result<()> {
        self.refresh_all(dependencies, unknown, output).map_err(chart_error)
    }

    fn newest(
        &mut self,
        at: usize,
        dependency: &Dependency,
        range: &Constraint,
        output: &mut Output<'_>,
    ) -> pintle_chart::Result<Option<String>> {
        let found = if is_registry(&dependency.repository) {
            self.newest_in_registry(dependency, range).map(Some)
        } else {
            self.newest_in_repository(at, dependency, range, output.log)
        };
        found.map_err(chart_error)
    }

    fn download(
        &mut self,
        locked: &[Dependency],
        folder: &Path,
        output: &mut Output<'_>,
        body: &mut dyn FnMut(&mut Download<'_>, &mut Output<'_>),
    ) -> pintle_chart::Result<()> {
        let plans = self.plan(locked, output.log).map_err(chart_error)?;
        self.download_planned(locked, &plans, folder, output, body).map_err(chart_error)
    }
}

fn chart_error(error: Error) -> pintle_chart::Error {
    pintle_chart::Error::message(error.to_string())
}

fn no_registry() -> Error {
    Error::Input("charts in registries cannot be fetched here".to_owned())
}

/// Whether a URL is that of a registry.
fn is_registry(url: &str) -> bool {
    url.starts_with("oci://")
}

/// Whether a text is a URL, or a path from the root, as Go's `ParseRequestURI` has it.
fn is_request_uri(text: &str) -> bool {
    Address::parse(text).is_ok_and(|address| address.is_absolute() || text.starts_with('/'))
}

/// Removes repositories with the same URL, except the last.
fn last_of_each_url(entries: Vec<Entry>) -> Vec<Entry> {
    let trimmed = |entry: &Entry| entry.url.strip_suffix('/').unwrap_or(&entry.url).to_owned();
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Entry> =
        entries.into_iter().rev().filter(|entry| seen.insert(trimmed(entry))).collect();
    kept.reverse();
    kept
}

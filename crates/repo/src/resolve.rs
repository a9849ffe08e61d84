//! From what the user typed to a chart: the one place that knows what a reference means.
//!
//! A reference that is no path is `repo/name` of a configured repository, a name with `--repo URL`, the URL of an
//! archive, or the name of a chart in a registry (`oci://…`). [`Resolver::resolve`] finds out where the archive is,
//! which digest it must have and how to reach it; [`Resolver::fetch`] brings it into the content cache.

use std::path::PathBuf;

use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::address::Address;
use crate::config::{Entry, Repositories};
use crate::content::declared;
use crate::error::{Error, Result};
use crate::get::{Access, Getter};
use crate::index::Cached;
use crate::listed::{self, archive_url};
use crate::oci::OciChart;
use crate::repository::{check_scheme, index_path};

/// Where things are kept.
#[derive(Clone, Debug, Default)]
pub struct RepositoryPaths {
    /// `repositories.yaml`.
    pub repository_config: PathBuf,
    /// The folder of cached indexes.
    pub repository_cache: PathBuf,
    /// The folder of cached charts.
    pub content_cache: PathBuf,
}

impl RepositoryPaths {
    /// Refuses a content cache without a path.
    pub(crate) fn check_content_cache(&self) -> Result<()> {
        match self.content_cache.as_os_str().is_empty() {
            true => Err(Error::Input("content cache must be set".to_owned())),
            false => Ok(()),
        }
    }
}

/// A chart that is asked for.
#[derive(Clone, Debug, Default)]
pub struct ChartQuery {
    /// The reference, as it was typed.
    pub reference: String,
    /// The version or the range of versions; empty for the newest.
    pub version: String,
    /// The URL of a repository that has no name; empty if the reference says it all.
    pub repo_url: String,
    /// How to reach servers, by the flags.
    pub access: Access,
}

/// Where a chart comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The URL of the archive.
    pub url: String,
    /// The URL of the repository, if it came by its index.
    pub repository: String,
    /// The version that was chosen, if it came by an index.
    pub version: String,
}

/// An archive that was found and not fetched yet.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Where it is.
    pub source: Source,
    /// The name of its file.
    pub file_name: String,
    /// The SHA-256 that the index declares, in hexadecimal digits.
    pub digest: Option<String>,
    /// What there is to say about it.
    pub log: Vec<LogLine>,
    pub(crate) home: String,
    pub(crate) access: Access,
    pub(crate) oci: Option<OciChart>,
    /// Whether it was named by `repo/name`, so that Helm knows its digest too.
    pub(crate) by_name: bool,
}

/// An archive in a file.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The file.
    pub path: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// Its SHA-256, in hexadecimal digits.
    pub digest: String,
}

/// Resolves references.
pub struct Resolver<'g> {
    /// Where things are kept.
    pub folders: RepositoryPaths,
    /// Fetches.
    pub getter: &'g Getter,
    /// Whether archives are accepted even if their digest differs from the one in the index.
    pub skip_digest: bool,
    /// Whether an index that cannot be read stops the search for the repository of a URL, as in Helm.
    pub needs_all_indexes: bool,
}

impl Resolver<'_> {
    /// Finds the archive of a chart.
    ///
    /// # Errors
    /// When the reference cannot be resolved, with Helm's text.
    pub fn resolve(&self, wanted: &ChartQuery) -> Result<Resolved> {
        self.resolve_after(wanted, || Ok(()))
    }

    /// The same, but calls `prepare` before the caches are used. Errors of the repository at [`ChartQuery::repo_url`] are
    /// reported before its errors.
    ///
    /// # Errors
    /// As [`Resolver::resolve`], and those of `prepare`.
    pub fn resolve_after(
        &self,
        wanted: &ChartQuery,
        prepare: impl FnOnce() -> Result<()>,
    ) -> Result<Resolved> {
        let version = wanted.version.as_str();
        let prepare = || prepare().and_then(|()| self.folders.check_content_cache());
        if wanted.repo_url.is_empty() {
            prepare()?;
            return self.resolve_typed(&wanted.reference, version, &wanted.access);
        }
        let (url, found, log) = self.find_in(wanted, version)?;
        prepare()?;
        let mut access = wanted.access.clone();
        if !access.pass_credentials_all && !same_host(&wanted.repo_url, &url) {
            access.username.clear();
            access.password.clear();
        }
        let mut resolved = if is_oci(&url) {
            self.resolve_listed(&url, &found.version)?
        } else {
            // Helm does this for every URL, so that the credentials of a configured repository are used.
            self.resolve_typed(&url, version, &access)?
        };
        if resolved.oci.is_none() {
            let address = Address::parse(&url).map_err(Error::Input)?;
            resolved.file_name = listed::file_name(&address, &wanted.reference, &found.version);
        }
        resolved.digest = self.expected(&url, &found.detail.digest, &mut resolved.log);
        resolved.log.splice(0..0, log);
        resolved.source.repository.clone_from(&wanted.repo_url);
        resolved.source.version = found.version;
        Ok(resolved)
    }

    /// Looks a chart up in a repository that is given by its URL.
    fn find_in(
        &self,
        wanted: &ChartQuery,
        version: &str,
    ) -> Result<(String, crate::index::Found, Vec<LogLine>)> {
        let ChartQuery { reference, repo_url, access, .. } = wanted;
        let entry = Entry {
            url: repo_url.clone(),
            username: access.username.clone(),
            password: access.password.clone(),
            cert_file: access.cert_file.clone(),
            key_file: access.key_file.clone(),
            ca_file: access.ca_file.clone(),
            insecure_skip_tls_verify: access.insecure_skip_tls_verify,
            pass_credentials_all: access.pass_credentials_all,
            ..Entry::default()
        };
        check_scheme(self.getter, repo_url)?;
        let index = self.getter.index_of(&entry).map_err(|error| unreachable_repository(repo_url, error))?;
        let mut log = warnings(&index, repo_url);
        let mut what = format!("chart {}", quote(reference.as_bytes()));
        if !version.is_empty() {
            what.push_str(&format!(" version {}", quote(version.as_bytes())));
        }
        let found = index
            .get(reference, version)
            .map_err(|_| Error::Input(format!("{what} not found in {repo_url} repository")))?;
        log.extend(found.log.clone());
        let url = found
            .detail
            .urls
            .first()
            .ok_or_else(|| Error::Input(format!("{what} has no downloadable URLs")))?;
        let url = archive_url(|url| self.getter.is_of_plugin(url), repo_url, url)
            .map_err(|error| Error::Input(format!("failed to make chart URL absolute: {error}")))??;
        Ok((url, found, log))
    }

    fn resolve_typed(&self, reference: &str, version: &str, access: &Access) -> Result<Resolved> {
        let address = Address::parse(reference)
            .map_err(|_| Error::Input(format!("invalid chart URL format: {reference}")))?;
        // A bare `oci://` is not a registry reference: it loses its slashes when it is formatted again.
        if is_oci(&address.to_string()) {
            let found = OciChart::typed(self.registries(reference, version)?, reference, version)?;
            return Ok(in_registry(found));
        }
        let repositories = Repositories::load(&self.folders.repository_config)?.unwrap_or_default();
        let is_url = address.is_absolute() && !address.host.is_empty() && !address.path.is_empty();
        if is_url || self.getter.knows_scheme(&address.scheme) {
            return self.resolve_url(reference, &address, &repositories, access);
        }
        self.resolve_name(reference, &address, version, &repositories, access)
    }

    /// A chart of a registry that an index names.
    fn resolve_listed(&self, url: &str, version: &str) -> Result<Resolved> {
        Ok(in_registry(OciChart::listed(self.registries(url, version)?, url, version)?))
    }

    /// The URL of an archive: a repository that lists it knows how to reach it.
    fn resolve_url(
        &self,
        reference: &str,
        address: &Address,
        repositories: &Repositories,
        access: &Access,
    ) -> Result<Resolved> {
        let mut log = Vec::new();
        let owner = self.owner(reference, repositories, &mut log)?;
        self.check_getter(address)?;
        let mut resolved = Resolved {
            source: Source { url: reference.to_owned(), ..Source::default() },
            file_name: file_name(address),
            digest: None,
            log,
            home: reference.to_owned(),
            access: access.clone(),
            oci: None,
            by_name: false,
        };
        if let Some(entry) = owner {
            resolved.home.clone_from(&entry.url);
            resolved.source.repository.clone_from(&entry.url);
            apply_repository_credentials(entry, &mut resolved.access);
        }
        Ok(resolved)
    }

    fn check_getter(&self, address: &Address) -> Result<()> {
        match address.scheme.as_str() {
            "http" | "https" => Ok(()),
            other if self.getter.knows_scheme(other) => Ok(()),
            other => Err(Error::Input(format!("scheme {} not supported", quote(other.as_bytes())))),
        }
    }

    /// The repository that lists a URL.
    fn owner<'e>(
        &self,
        url: &str,
        repositories: &'e Repositories,
        log: &mut Vec<LogLine>,
    ) -> Result<Option<&'e Entry>> {
        for entry in &repositories.entries {
            check_scheme(self.getter, &entry.url)?;
            let path = index_path(&self.folders.repository_cache, &entry.name);
            match Cached::open(&path) {
                Ok(index) => {
                    log.extend(warnings(&index, &path.to_string_lossy()));
                    if index.lists(url) {
                        return Ok(Some(entry));
                    }
                }
                Err(error) if self.needs_all_indexes => return Err(no_cached_repository(error)),
                Err(error) => log.push(LogLine::warn(
                    "repo is corrupt or missing",
                    vec![("repo", entry.name.clone()), ("error", error.to_string())],
                )),
            }
        }
        Ok(None)
    }

    /// `repo/name`.
    fn resolve_name(
        &self,
        reference: &str,
        address: &Address,
        version: &str,
        repositories: &Repositories,
        access: &Access,
    ) -> Result<Resolved> {
        let path = address.plain_path();
        let Some((name, chart)) = path.split_once('/') else {
            return Err(Error::NotAbsolute { reference: address.to_string() });
        };
        let entry = repositories.get(name);
        let entry = entry.ok_or_else(|| Error::UnknownRepository { name: name.to_owned() })?;
        if entry.url.is_empty() {
            return Err(Error::Input(format!("no URL found for repository {name}")));
        }
        check_scheme(self.getter, &entry.url)?;
        let path = index_path(&self.folders.repository_cache, name);
        let index = Cached::open(&path).map_err(no_cached_repository)?;
        let mut log = warnings(&index, &path.to_string_lossy());
        let found = index.get(chart, version).map_err(|cause| {
            Error::Input(format!(
                "chart {} matching {version} not found in {name} index. (try 'helm repo update'): {cause}",
                quote(chart.as_bytes())
            ))
        })?;
        log.extend(found.log);
        let url = found.detail.urls.first().ok_or_else(|| {
            Error::Input(format!("chart {} has no downloadable URLs", quote(reference.as_bytes())))
        })?;
        let url = archive_url(|url| self.getter.is_of_plugin(url), &entry.url, url)
            .map_err(|_| Error::Input(format!("invalid chart URL format: {reference}")))??;
        let digest = self.expected(&url, &found.detail.digest, &mut log);
        if is_oci(&url) {
            let mut resolved = Resolved { digest, log, ..self.resolve_listed(&url, &found.version)? };
            resolved.source.repository.clone_from(&entry.url);
            return Ok(resolved);
        }
        let address = Address::parse(&url).map_err(Error::Input)?;
        self.check_getter(&address)?;
        let mut access = access.clone();
        apply_repository_credentials(entry, &mut access);
        Ok(Resolved {
            file_name: listed::file_name(&address, chart, &found.version),
            source: Source { url, repository: entry.url.clone(), version: found.version },
            digest,
            log,
            home: entry.url.clone(),
            access,
            oci: None,
            by_name: true,
        })
    }

    /// The digest that an archive must have, if the index declares one that can be compared. A getter plugin may make its
    /// archives anew each time, as helm-git does, so what it delivers is not compared with an index that it made, too.
    fn expected(&self, url: &str, digest: &str, log: &mut Vec<LogLine>) -> Option<String> {
        match declared(digest) {
            Ok(_) if self.getter.is_of_plugin(url) => None,
            Ok(digest) => digest,
            Err(reason) => {
                log.push(LogLine::warn(
                    "the digest in the index cannot be checked and is ignored",
                    vec![("digest", digest.to_owned()), ("reason", reason)],
                ));
                None
            }
        }
    }
}

/// The resolved form of a chart in a registry.
fn in_registry((oci, file_name): (OciChart, String)) -> Resolved {
    let (url, version) = (oci.url(), oci.version().to_owned());
    Resolved {
        source: Source { url, repository: String::new(), version },
        file_name,
        digest: None,
        log: Vec::new(),
        home: String::new(),
        access: Access::default(),
        oci: Some(oci),
        by_name: false,
    }
}

fn is_oci(url: &str) -> bool {
    url.starts_with("oci://")
}

/// Overrides the flags with the certificates and credentials of a configured repository. Its `insecure_skip_tls_verify`
/// applies too, which Helm ignores here.
fn apply_repository_credentials(entry: &Entry, access: &mut Access) {
    let Entry { cert_file, key_file, ca_file, .. } = entry;
    if !cert_file.is_empty() || !key_file.is_empty() || !ca_file.is_empty() {
        access.cert_file.clone_from(cert_file);
        access.key_file.clone_from(key_file);
        access.ca_file.clone_from(ca_file);
    }
    if !entry.username.is_empty() && !entry.password.is_empty() {
        access.username.clone_from(&entry.username);
        access.password.clone_from(&entry.password);
        access.pass_credentials_all = entry.pass_credentials_all;
    }
    access.insecure_skip_tls_verify |= entry.insecure_skip_tls_verify;
}

fn same_host(left: &str, right: &str) -> bool {
    match (Address::parse(left), Address::parse(right)) {
        (Ok(left), Ok(right)) => left.scheme == right.scheme && left.host == right.host,
        _ => false,
    }
}

fn file_name(address: &Address) -> String {
    pintle_chart::path::base(&address.plain_path()).to_owned()
}

fn no_cached_repository(error: Error) -> Error {
    error.within("no cached repo found. (try 'helm repo update')")
}

/// Adds to an error that the URL is not a valid repository.
pub fn unreachable_repository(url: &str, cause: Error) -> Error {
    let url = quote(url.as_bytes());
    cause.within(&format!("looks like {url} is not a valid chart repository or cannot be reached"))
}

/// What Helm logs about the entries of an index that it leaves out.
pub fn warnings(index: &Cached, source: &str) -> Vec<LogLine> {
    index.skipped.iter().map(|skipped| skipped.log_line(source)).collect()
}

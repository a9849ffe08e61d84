//! Where each dependency is.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_chart::dependency::is_remote;
use pintle_chart::metadata::Dependency;
use pintle_semver::Version;
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use super::{DependencySource, is_registry};
use crate::address::{Address, equal};
use crate::config::Entry;
use crate::content::declared;
use crate::error::{Error, Result};
use crate::get::Access;
use crate::index::{Cached, Detail};
use crate::listed::{archive_url, file_name};
use crate::repository::{check_scheme, index_of};
use crate::resolve::unreachable_repository;

/// What is to be done about a dependency.
pub(super) enum Plan {
    /// It comes from a folder.
    Nothing,
    /// An archive of a repository.
    Http(Box<HttpPlan>),
    /// A chart of a registry.
    Registry {
        /// Where it is, without a tag.
        url: String,
        /// The tag, or a range.
        version: String,
    },
    /// The same archive as that of a dependency before.
    Again,
    /// It cannot be found.
    Failed(Error),
}

/// An archive of a repository.
pub(super) struct HttpPlan {
    pub(super) url: String,
    /// The URL that the credentials belong to.
    pub(super) home: String,
    pub(super) access: Access,
    /// The SHA-256 that the index declares.
    pub(super) digest: Option<String>,
    pub(super) file_name: String,
    pub(super) log: Vec<LogLine>,
}

impl DependencySource<'_> {
    /// Finds out where everything is.
    pub(super) fn plan(&mut self, locked: &[Dependency], log: &mut Vec<LogLine>) -> Result<Vec<Plan>> {
        if self.all_repositories {
            for entry in self.entries()?.iter() {
                self.index(&entry.name, log)?;
            }
        }
        let mut others = BTreeMap::new();
        let mut plans: Vec<Plan> = Vec::with_capacity(locked.len());
        for (at, dependency) in locked.iter().enumerate() {
            let plan = match () {
                () if !is_remote(dependency) => Plan::Nothing,
                () if is_registry(&dependency.repository) => {
                    let Dependency { name, repository, version, .. } = dependency;
                    registry_plan(&format!("{repository}/{name}:{version}"))
                }
                () => match self.find(at, dependency, &mut others, log) {
                    Ok(found) if is_registry(&found.url) => registry_plan(&found.url),
                    Ok(found) => again_or(found, &plans),
                    Err(error) => Plan::Failed(error.within("could not find ")),
                },
            };
            plans.push(plan);
        }
        Ok(plans)
    }

    /// Looks a dependency up in its repository.
    fn find(
        &mut self,
        at: usize,
        dependency: &Dependency,
        others: &mut BTreeMap<String, Result<Arc<Cached>>>,
        log: &mut Vec<LogLine>,
    ) -> Result<HttpPlan> {
        let Dependency { name, version, repository, .. } = dependency;
        let mut silent = Vec::new();
        // Helm has read all indexes by now, so their warnings are already logged.
        let log = if self.all_repositories { &mut silent } else { log };
        let entries = self.entries()?;
        let named = self.known.names.get(at).cloned().flatten();
        let by_name = entries.iter().find(|entry| named.as_ref() == Some(&entry.name));
        let by_url = || entries.iter().find(|entry| equal(repository, &entry.url));
        if let Some(entry) = by_name.or_else(by_url) {
            let index = self.index(&entry.name, log)?;
            let detail = find_version(&index, name, version)?;
            return self.http_plan(dependency, &detail, Some(entry));
        }
        let not_found = |error: Error| error.within(&format!("chart {name} not found in {repository}"));
        let index = match named.filter(|name| self.known.refreshed.contains(name)) {
            Some(name) => self.index(&name, log),
            None => others.entry(repository.clone()).or_insert_with(|| self.fetch_index(repository)).clone(),
        };
        let index = index.map_err(not_found)?;
        let what = match version.as_str() {
            "" => format!("chart {}", quote(name.as_bytes())),
            _ => format!("chart {} version {}", quote(name.as_bytes()), quote(version.as_bytes())),
        };
        let found = index.get(name, version);
        let found = found.map_err(|_| Error::Input(format!("{what} not found in {repository} repository")));
        let found = found.map_err(not_found)?;
        if found.detail.urls.is_empty() {
            return Err(not_found(Error::Input(format!("{what} has no downloadable URLs"))));
        }
        let plan = self
            .http_plan(dependency, &found.detail, None)
            .map_err(|error| not_found(error.within("failed to make chart URL absolute")))?;
        Ok(HttpPlan { log: found.log.into_iter().collect(), ..plan })
    }

    /// The index of a repository that was not refreshed and has no name.
    fn fetch_index(&self, url: &str) -> Result<Arc<Cached>> {
        check_scheme(self.getter, url)?;
        let entry = Entry { url: url.to_owned(), ..Entry::default() };
        index_of(self.getter, &entry).map(Arc::new).map_err(|error| unreachable_repository(url, error))
    }

    fn http_plan(&self, dependency: &Dependency, detail: &Detail, entry: Option<&Entry>) -> Result<HttpPlan> {
        let Dependency { name, version, repository, .. } = dependency;
        let listed = detail.urls.first().map(String::as_str).unwrap_or_default();
        let url =
            archive_url(|url| self.getter.is_of_plugin(url), repository, listed).map_err(Error::Input)??;
        // For an absolute URL in the index, the credentials go only to the server of the repository.
        let is_whole = Address::parse(listed).is_ok_and(|address| address.is_absolute());
        let home = entry.filter(|_| is_whole).map_or_else(|| url.clone(), |entry| entry.url.clone());
        let address = Address::parse(&url).map_err(Error::Input)?;
        // A digest in another format cannot be checked and is ignored, as is that of an index which a plugin makes.
        let digest = declared(&detail.digest).ok().flatten().filter(|_| !self.getter.is_of_plugin(&url));
        Ok(HttpPlan {
            home,
            access: entry.map(Access::from).unwrap_or_default(),
            digest,
            file_name: file_name(&address, name, version),
            log: Vec::new(),
            url,
        })
    }
}

/// The version of a chart that equals `version`; the newest if it is empty.
fn find_version(index: &Cached, name: &str, version: &str) -> Result<Detail> {
    let Some(chart) = index.catalog.chart(name) else {
        return Err(Error::Input("entry not found".to_owned()));
    };
    let wanted = Version::parse(version).ok();
    let is_it = |found: &str| match &wanted {
        _ if version.is_empty() => true,
        None => found == version,
        Some(wanted) => {
            Version::parse(found).is_ok_and(|found| found.compare(wanted) == std::cmp::Ordering::Equal)
        }
    };
    let versions = chart.versions.iter().zip(index.details(name));
    let mut versions = versions.filter(|(head, detail)| !detail.urls.is_empty() && is_it(&head.version));
    let found = versions.next().map(|(_, detail)| detail);
    found.ok_or_else(|| Error::Input("no matching version".to_owned()))
}

fn again_or(found: HttpPlan, plans: &[Plan]) -> Plan {
    let is_same = |plan: &Plan| matches!(plan, Plan::Http(other) if other.url == found.url);
    if plans.iter().any(is_same) { Plan::Again } else { Plan::Http(Box::new(found)) }
}

/// Takes a tag off a URL. The host may have a port, so a colon alone is not enough.
fn registry_plan(url: &str) -> Plan {
    let split = || {
        let rest = url.strip_prefix("oci://")?;
        let (host, path) = rest.split_once('/')?;
        let (path, version) = path.split_once(':')?;
        let has_port = host.rsplit_once(':').is_none_or(|(_, port)| {
            matches!(port.len(), 1..=5) && port.bytes().all(|byte| byte.is_ascii_digit())
        });
        (has_port && !host.is_empty() && !path.is_empty())
            .then(|| (format!("oci://{host}/{path}"), version.to_owned()))
    };
    match split() {
        Some((url, version)) => Plan::Registry { url, version },
        None => Plan::Failed(Error::Input(format!(
            "could not parse OCI reference: improperly formatted oci chart reference: {url}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_what_stands_after_the_path_and_not_the_port() {
        let parts = |url: &str| match registry_plan(url) {
            Plan::Registry { url, version } => (url, version),
            _ => (String::new(), String::new()),
        };
        let is = |url: &str, version: &str| (url.to_owned(), version.to_owned());
        assert_eq!(parts("oci://h:5000/a/b:1.0.0"), is("oci://h:5000/a/b", "1.0.0"));
        assert_eq!(parts("oci://h/b:^1"), is("oci://h/b", "^1"));
        assert_eq!(parts("oci://h/b"), is("", ""));
        assert_eq!(parts("oci://h:port/b:1"), is("", ""));
    }
}

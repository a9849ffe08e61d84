//! Dependencies from repositories and registries: `dependency build`, `update`, `add` and `upgrade`.

use std::path::{Path, PathBuf};

use pintle_chart::dependency::{DependencyFile, build_order};
use pintle_chart::metadata::Dependency;
use pintle_repo::repository::download_index;
use pintle_repo::{ChartQuery, DependencySource, Error, Repositories, Verification, address};
use pintle_semver::{Constraint, Version};

use super::verify::verify_file;
use crate::error::RemoteError;
use crate::ops::dependency::{self, BuildTimes};
use crate::progress::{Progress, RemoteEvent};
use crate::remote::off_thread;
use crate::{KeyringFile, OfflineSession, Remote, Reporter, Result};

/// Whether the signatures of dependencies are verified.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Signatures {
    /// They are not.
    #[default]
    Ignored,
    /// Those that are there; charts without one are reported.
    IfPresent(KeyringFile),
    /// Charts without a signature are an error.
    Required(KeyringFile),
}

/// A chart whose dependencies are fetched.
#[derive(Clone, Debug)]
pub struct DependencyRequest {
    /// The folder of the chart.
    pub chart: PathBuf,
    /// Whether the same is done first for the charts in folders that it depends on, and for those in `charts/`.
    pub recursive: bool,
    /// Where dependencies come from.
    pub remote: Remote,
    /// Whether the cached indexes are used as they are.
    pub skip_refresh: bool,
    /// Whether signatures are verified.
    pub signatures: Signatures,
    /// The times of what is written.
    pub times: BuildTimes,
}

impl DependencyRequest {
    /// The chart, after those that must be processed before it.
    fn charts(&self) -> Result<Vec<PathBuf>> {
        if self.recursive { Ok(build_order(&self.chart)?) } else { Ok(vec![self.chart.clone()]) }
    }

    /// Runs an operation for each chart, with one source: an index is read once for all of them.
    fn for_each(
        &self,
        reporter: &mut dyn Reporter,
        operation: impl Fn(&Path, &mut DependencySource<'_>, &mut dyn Reporter) -> Result<()>,
    ) -> Result<()> {
        let (keyring, required) = match &self.signatures {
            Signatures::Ignored => (None, false),
            Signatures::IfPresent(keyring) => (Some(keyring), false),
            Signatures::Required(keyring) => (Some(keyring), true),
        };
        let verifier = |archive: &Path, provenance: &Path| {
            let keyring = keyring.ok_or_else(|| "there is no keyring".to_owned())?;
            let outcome = verify_file(keyring, archive, None, provenance);
            outcome.map(|_| ()).map_err(|error| error.to_string())
        };
        let charts = self.charts()?;
        let mut source = DependencySource::new(self.remote.paths.clone(), &self.remote.getter);
        source.registry.clone_from(&self.remote.registry);
        source.all_repositories = self.remote.needs_all_indexes;
        source.skip_refresh = self.skip_refresh;
        source.verification = match (keyring, required) {
            (None, _) => Verification::Never,
            (Some(_), false) => Verification::IfPossible(&verifier),
            (Some(_), true) => Verification::Always(&verifier),
        };
        for chart in &charts {
            if charts.len() > 1 {
                reporter.progress(&format!("==> {}", chart.display()));
            }
            operation(chart, &mut source, reporter)?;
        }
        Ok(())
    }

    fn update(&self, reporter: &mut dyn Reporter) -> Result<()> {
        self.for_each(reporter, |chart, source, reporter| {
            dependency::update(chart, self.times, Some(source), reporter)
        })
    }
}

/// Fills `charts/` from the lock file, as [`dependency::build`] does. Calls the handlers of events on this thread, which waits
/// for servers: to be called where that is allowed.
///
/// # Errors
/// As [`dependency::build`].
pub fn build_dependencies(
    session: &OfflineSession,
    request: &DependencyRequest,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    request.for_each(reporter, |chart, source, reporter| {
        dependency::build(session, chart, request.times, Some(source), reporter)
    })
}

/// Resolves the dependencies again, fills `charts/` and writes the lock file.
///
/// # Errors
/// As [`dependency::update`].
pub async fn update_dependencies(request: &DependencyRequest, reporter: &mut dyn Reporter) -> Result<()> {
    let request = request.clone();
    off_thread(reporter, move |reporter| request.update(reporter)).await
}

/// A dependency to add to a chart.
#[derive(Clone, Debug)]
pub struct AddDependencyRequest {
    /// The chart, and where dependencies come from.
    pub target: DependencyRequest,
    /// What is looked up: REPOSITORY/NAME, the URL of a chart in a registry or of a folder, or a name in
    /// [`ChartQuery::repo_url`]. Its version is the range for the newest version that is looked for.
    pub query: ChartQuery,
    /// Version, alias and condition. Without a version, the newest is looked up, and the range is `^` and this version.
    pub dependency: Dependency,
}

/// Adds a dependency to Chart.yaml, and updates `charts/` and the lock file.
///
/// # Errors
/// When the chart has the dependency already or cannot be changed, or the dependency cannot be found or fetched.
pub async fn add_dependency(request: &AddDependencyRequest, reporter: &mut dyn Reporter) -> Result<()> {
    let request = request.clone();
    off_thread(reporter, move |reporter| {
        let AddDependencyRequest { target, query, .. } = &request;
        let mut dependency = declared(&request)?;
        let mut file = DependencyFile::open(&target.chart)?;
        if dependency.version.is_empty() {
            dependency.version = format!("^{}", newest(&target.remote, query, &dependency)?);
        }
        file.add(&dependency).map_err(|cause| {
            let Dependency { name, alias, .. } = &dependency;
            let name = if alias.is_empty() { name } else { alias }.clone();
            RemoteError::DependencyNotAdded { name, cause: Box::new(cause) }
        })?;
        file.write()?;
        reporter.report(Progress::Remote(RemoteEvent::DependencyAdded(dependency)));
        target.update(reporter)
    })
    .await
}

/// The dependency that a reference describes.
fn declared(request: &AddDependencyRequest) -> Result<Dependency, RemoteError> {
    let reference = request.query.reference.as_str();
    let (repository, name) = match (request.query.repo_url.as_str(), reference.rsplit_once('/')) {
        ("", Some((repository, name)))
            if reference.starts_with("oci://") || reference.starts_with("file://") =>
        {
            let is_folder = reference.starts_with("file://");
            (if is_folder { reference } else { repository }.to_owned(), name)
        }
        ("", _) => {
            let missing = || RemoteError::NoRepositoryNamed { reference: reference.to_owned() };
            let (repository, name) = reference.split_once('/').ok_or_else(missing)?;
            let known = Repositories::load(request.target.remote.config())?.unwrap_or_default();
            let unknown = || Error::UnknownRepository { name: repository.to_owned() };
            (known.get(repository).ok_or_else(unknown)?.url.clone(), name)
        }
        (url, _) => (url.to_owned(), reference),
    };
    Ok(Dependency { name: name.to_owned(), repository, ..request.dependency.clone() })
}

/// The newest version of a dependency, from its repository as it is now.
fn newest(remote: &Remote, query: &ChartQuery, dependency: &Dependency) -> Result<String> {
    let Dependency { name, repository, .. } = dependency;
    if let Some(folder) = repository.strip_prefix("file://") {
        return Ok(pintle_chart::load_any_version(Path::new(folder), &mut Vec::new())?.metadata.version);
    }
    let of = |reference: String, repo_url: &str| ChartQuery {
        reference,
        repo_url: repo_url.to_owned(),
        ..query.clone()
    };
    let query = if repository.starts_with("oci://") {
        of(format!("{repository}/{name}"), "")
    } else {
        let known = Repositories::load(remote.config())?.unwrap_or_default();
        let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
        let is_it = |url: &str| address::equal(url, repository);
        match known.entries.iter().find(|entry| alias == Some(&entry.name) || is_it(&entry.url)) {
            // The configured credentials are used, and the index is downloaded first, so that it is current.
            Some(entry) => {
                download_index(&remote.getter, entry, &remote.paths.repository_cache)?;
                of(format!("{}/{name}", entry.name), "")
            }
            None => of(name.clone(), repository),
        }
    };
    Ok(remote.resolver().resolve(&query)?.source.version)
}

/// A dependency whose version is raised.
#[derive(Clone, Debug)]
pub struct UpgradeDependencyRequest {
    /// The chart, and where dependencies come from.
    pub target: DependencyRequest,
    /// The name or the alias of the dependency.
    pub name: String,
    /// The range for the newest version, and the credentials.
    pub query: ChartQuery,
}

/// Sets the version of a dependency in Chart.yaml to the newest one, and updates `charts/` and the lock file. The kind of the
/// range is kept.
///
/// # Errors
/// When the chart has no such dependency or cannot be changed, or the dependency cannot be found or fetched.
pub async fn upgrade_dependency(
    request: &UpgradeDependencyRequest,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let request = request.clone();
    off_thread(reporter, move |reporter| {
        let UpgradeDependencyRequest { target, name, query } = &request;
        let mut file = DependencyFile::open(&target.chart)?;
        let is_it = |one: &Dependency| one.name == *name || one.alias == *name;
        let Some(at) = file.dependencies.iter().position(is_it) else {
            let known = file.dependencies.iter().map(|one| one.name.clone()).collect();
            return Err(RemoteError::NoSuchDependency { name: name.clone(), known }.into());
        };
        let mut dependency = file.dependencies[at].clone();
        let relative = dependency.repository.strip_prefix("file://").filter(|path| !path.starts_with('/'));
        if let Some(path) = relative {
            dependency.repository = format!("file://{}/{path}", target.chart.display());
        }
        if dependency.repository.is_empty() {
            return Err(RemoteError::NoRepositoryOf { name: name.clone() }.into());
        }
        let newest = newest(&target.remote, query, &dependency)?;
        let range = raised(&dependency.version, &newest);
        if range != dependency.version {
            file.set_version(at, &range)?;
            file.write()?;
        }
        let Dependency { name, version, .. } = dependency;
        reporter.report(Progress::Remote(RemoteEvent::DependencyUpgraded {
            name,
            from: version,
            to: range,
            newest,
        }));
        target.update(reporter)
    })
    .await
}

/// A range of the same kind that begins at a version; the same range if it is of another kind and allows the version.
fn raised(range: &str, newest: &str) -> String {
    let trimmed = range.trim();
    let rest = trimmed.trim_start_matches(['^', '~', '=', 'v']);
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '^' | '~'));
    if Version::parse(rest).is_ok() {
        // Ranges such as `^1` and `~1.2` stay as short as they are, if the version is in them.
        let allows = |range: &str| {
            Constraint::parse(range)
                .is_ok_and(|range| Version::parse(newest).is_ok_and(|it| range.check(&it)))
        };
        if sign.is_some() && rest.matches('.').count() < 2 && allows(trimmed) {
            return range.to_owned();
        }
        return format!("{}{newest}", sign.map(String::from).unwrap_or_default());
    }
    let fits = Constraint::parse(range).ok().zip(Version::parse(newest).ok());
    if fits.is_some_and(|(range, version)| range.check(&version)) {
        return range.to_owned();
    }
    format!("^{newest}")
}

#[cfg(test)]
mod tests {
    use super::raised;

    #[test]
    fn ranges_keep_their_kind() {
        for (range, newest, raised_to) in [
            ("^1.2.0", "2.0.0", "^2.0.0"),
            ("~1.2.0", "1.3.1", "~1.3.1"),
            ("1.2.0", "2.0.0", "2.0.0"),
            ("^1", "1.9.0", "^1"),
            ("^1", "2.0.0", "^2.0.0"),
            (">=1.0.0", "2.0.0", ">=1.0.0"),
            ("<2", "2.0.0", "^2.0.0"),
            ("1.x", "2.0.0", "^2.0.0"),
            ("*", "2.0.0", "*"),
        ] {
            assert_eq!(raised(range, newest), raised_to, "{range}");
        }
    }
}

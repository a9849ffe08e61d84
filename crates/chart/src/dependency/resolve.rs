//! Resolves version constraints to versions.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;

use super::remote::{Output, Remote, is_remote};
use crate::error::{Error, Result, file_error};
use crate::load::load_folder_any_version;
use crate::metadata::Dependency;
use crate::path::clean;

/// Locks each of `dependencies` of the chart at `chart_path` to the available version.
///
/// # Errors
/// Bad ranges, missing folders, versions out of range, and what `remote` cannot find.
pub(super) fn resolve(
    dependencies: &[Dependency],
    chart_path: &Path,
    remote: Option<&mut (dyn Remote + '_)>,
    output: &mut Output<'_>,
) -> Result<Vec<Dependency>> {
    let found = resolve_each(dependencies, chart_path, remote, output)?;
    let missing: Vec<String> = dependencies
        .iter()
        .zip(&found)
        .filter(|(_, found)| found.is_none())
        .map(|(dependency, _)| describe(dependency))
        .collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    Err(Error::message(format!(
        "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, \
         or change the version constraint in Chart.yaml",
        missing.len(),
        missing.join(", ")
    )))
}

/// As [`resolve`]; `None` for each of which no version suits.
pub(super) fn resolve_each(
    dependencies: &[Dependency],
    chart_path: &Path,
    mut remote: Option<&mut (dyn Remote + '_)>,
    output: &mut Output<'_>,
) -> Result<Vec<Option<Dependency>>> {
    let mut locked = Vec::with_capacity(dependencies.len());
    for (at, dependency) in dependencies.iter().enumerate() {
        let Dependency { name, version, repository, .. } = dependency;
        let range = Constraint::parse(version).map_err(|error| {
            let name = quote(name.as_bytes());
            Error::message(format!("dependency {name} has an invalid version/constraint format: {error}"))
        })?;
        let found = if repository.is_empty() {
            // Without a repository the chart must be in `charts/` already. The constraint itself is locked,
            // because Helm does not look at the version here.
            local_path(&format!("charts/{name}"), chart_path)?;
            Some(version.clone())
        } else if is_remote(dependency) {
            let remote = remote.as_mut().ok_or_else(|| no_remote_error(dependency))?;
            remote.newest(at, dependency, &range, output)?
        } else {
            let chart = load_folder_any_version(&local_path(repository, chart_path)?, output.log)?;
            let found = chart.metadata.version;
            Version::parse(&found).is_ok_and(|found| range.check(&found)).then_some(found)
        };
        locked.push(found.map(|version| Dependency {
            name: name.clone(),
            repository: repository.clone(),
            version,
            ..Dependency::default()
        }));
    }
    Ok(locked)
}

fn describe(dependency: &Dependency) -> String {
    let Dependency { name, repository, version, .. } = dependency;
    let [name, repository, version] =
        [name, repository, version].map(|text| quote(redacted(text).as_bytes()));
    format!("{name} (repository {repository}, version {version})")
}

/// Says that a dependency cannot be fetched without a [`Remote`].
pub(super) fn no_remote_error(dependency: &Dependency) -> Error {
    let Dependency { name, repository, .. } = dependency;
    let repository = redacted(repository);
    Error::message(format!(
        "dependency {name} comes from {repository}, and no repositories can be reached here; use a file:// \
         repository or put the chart into charts/"
    ))
}

/// The folder of a `repository` (`file://…` or a plain path), relative to the chart at `chart_path`.
///
/// # Errors
/// When the folder does not exist.
pub fn local_path(repository: &str, chart_path: &Path) -> Result<PathBuf> {
    let path = repository.strip_prefix("file://").unwrap_or(repository);
    let joined = if path.starts_with('/') { PathBuf::from(path) } else { chart_path.join(path) };
    let folder = joined.to_str().map_or(joined.clone(), |text| PathBuf::from(clean(text)));
    match fs::metadata(&folder) {
        Ok(_) => Ok(folder),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::message(format!("directory {} not found", folder.display())))
        }
        Err(error) => Err(file_error("stat", &folder)(error)),
    }
}

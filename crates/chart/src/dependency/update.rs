//! `dependency update` and `dependency build`: make `charts/` match Chart.yaml or the lock.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use super::resolve::{check_local, local_path, resolve};
use super::{digest, legacy_digest, write_lock};
use crate::error::{Error, Result, file_error};
use crate::metadata::{Dependency, Lock, Metadata, Timestamp, V1};
use crate::package::{self, Times};
use crate::{Chart, load_any_version};
use pintle_tree::LogLine;

/// The inputs of both commands.
pub struct UpdateContext<'a> {
    /// The folder of the chart.
    pub chart_path: &'a Path,
    /// The time to record in a new lock.
    pub now: Timestamp,
    /// The modification times in archives built from folders.
    pub times: Times,
    /// Receives each line of output as it happens.
    pub report: &'a mut dyn FnMut(&str),
    /// Receives log lines.
    pub log: &'a mut Vec<LogLine>,
}

/// Resolves the dependencies, updates `charts/`, and writes the lock if it changed.
///
/// # Errors
/// When charts cannot be loaded or found, versions do not match, or a repository is remote.
pub fn update(mut updating: UpdateContext<'_>) -> Result<()> {
    let chart = updating.load()?;
    updating.update(&chart)
}

/// Updates `charts/` from the lock; without a lock, like [`update`].
///
/// # Errors
/// When the lock is out of sync with Chart.yaml, and the errors of [`update`].
pub fn build(mut updating: UpdateContext<'_>) -> Result<()> {
    let chart = updating.load()?;
    let Some(lock) = &chart.lock else { return updating.update(&chart) };
    updating.check_repositories(&chart.metadata.dependencies)?;
    updating.check_lock(&chart.metadata, lock)?;
    let mut locked = lock.dependencies.clone();
    locked.iter().try_for_each(check_local)?;
    updating.fetch_all(&mut locked)
}

/// Updates `charts/` with other charts than Chart.yaml declares. The lock belongs to Chart.yaml and is not changed.
///
/// # Errors
/// Like [`update`].
pub fn build_instead(mut updating: UpdateContext<'_>, dependencies: &[Dependency]) -> Result<()> {
    updating.load()?;
    updating.check_repositories(dependencies)?;
    let mut locked = resolve(dependencies, updating.chart_path, updating.log)?;
    updating.fetch_all(&mut locked)
}

/// The declared dependencies; `None` without a `dependencies:` list.
fn declared(metadata: &Metadata) -> Option<&[Dependency]> {
    let declared = metadata.declares_dependencies || !metadata.dependencies.is_empty();
    declared.then_some(metadata.dependencies.as_slice())
}

impl UpdateContext<'_> {
    fn load(&mut self) -> Result<Chart> {
        let path = self.chart_path;
        match fs::metadata(path) {
            Err(error) => {
                let reason = file_error("stat", path)(error);
                Err(Error::message(format!("could not find {}: {reason}", path.display())))
            }
            Ok(metadata) if !metadata.is_dir() => Err(Error::message("only unpacked charts can be updated")),
            Ok(_) => load_any_version(path, self.log),
        }
    }

    fn update(&mut self, chart: &Chart) -> Result<()> {
        let Some(asked) = declared(&chart.metadata) else { return Ok(()) };
        self.check_repositories(asked)?;
        let mut locked = resolve(asked, self.chart_path, self.log)?;
        self.fetch_all(&mut locked)?;
        let digest = digest(Some(asked), &locked)?;
        if chart.lock.as_ref().is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let lock = Lock { generated: self.now.to_string(), digest, dependencies: locked };
        write_lock(self.chart_path, &lock, chart.metadata.api_version == V1)
    }

    /// Checks every repository before anything is changed.
    fn check_repositories(&self, dependencies: &[Dependency]) -> Result<()> {
        for dependency in dependencies {
            check_local(dependency)?;
            if dependency.repository.starts_with("file://") {
                local_path(&dependency.repository, self.chart_path)?;
            }
        }
        Ok(())
    }

    fn check_lock(&mut self, metadata: &Metadata, lock: &Lock) -> Result<()> {
        if digest(declared(metadata), &lock.dependencies)? == lock.digest {
            return Ok(());
        }
        if metadata.api_version != V1 {
            return Err(Error::message(
                "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update \
                 the dependencies with 'helm dependency update'",
            ));
        }
        self.log.push(LogLine {
            level: "INFO",
            message: "warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...".into(),
            attributes: Vec::new(),
        });
        if legacy_digest(declared(metadata))? == lock.digest {
            return Ok(());
        }
        Err(Error::message(
            "the lock file (requirements.lock) is out of sync with the dependencies file (requirements.yaml). \
             Please update the dependencies",
        ))
    }

    /// Fetches all charts into `charts/`, through a temporary folder, so that a failure changes nothing.
    fn fetch_all(&mut self, locked: &mut [Dependency]) -> Result<()> {
        let charts = self.chart_path.join("charts");
        match fs::metadata(&charts) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                let shown = quote(charts.to_string_lossy().as_bytes());
                return Err(Error::message(format!("{shown} is not a directory")));
            }
            Err(_) => fs::create_dir_all(&charts).map_err(file_error("mkdir", &charts))?,
        }
        let temporary = self.chart_path.join(format!("tmpcharts-{}", std::process::id()));
        fs::create_dir_all(&temporary).map_err(file_error("mkdir", &temporary))?;
        (self.report)(&format!("Saving {} charts", locked.len()));
        let fetched =
            locked.iter_mut().try_for_each(|dependency| self.fetch(dependency, &charts, &temporary));
        let outcome = match fetched {
            Ok(()) => self.replace_archives(locked, &temporary, &charts),
            Err(Fetch::Stop(error)) => Err(error),
            Err(Fetch::Save(error)) => {
                (self.report)(&format!("Save error occurred:  {error}"));
                Err(error)
            }
        };
        // Best effort: a leftover temporary folder is harmless.
        let _ = fs::remove_dir_all(&temporary);
        outcome
    }

    fn fetch(&mut self, dependency: &mut Dependency, charts: &Path, temporary: &Path) -> Result<(), Fetch> {
        let Dependency { name, version, repository, .. } = &*dependency;
        if repository.is_empty() {
            (self.report)(&format!(
                "Dependency {name} did not declare a repository. Assuming it exists in the charts directory"
            ));
            return self.check_present(dependency, &charts.join(name));
        }
        let folder = local_path(repository, self.chart_path).map_err(Fetch::Save)?;
        let mut chart = load_any_version(&folder, self.log).map_err(Fetch::Save)?;
        let range = Constraint::parse(version).map_err(|error| {
            Fetch::Save(Error::message(format!(
                "dependency {name} has an invalid version/constraint format: {error}"
            )))
        })?;
        let found = Version::parse(&chart.metadata.version)
            .map_err(|error| Fetch::Save(Error::message(error.to_string())))?;
        if !range.check(&found) {
            return Err(Fetch::Save(Error::message(format!(
                "can't get a valid version for dependency {name}"
            ))));
        }
        package::save(&mut chart, temporary, self.times).map_err(Fetch::Save)?;
        dependency.version = chart.metadata.version;
        Ok(())
    }

    fn check_present(&mut self, dependency: &Dependency, folder: &Path) -> Result<(), Fetch> {
        let Dependency { name, version, .. } = dependency;
        let stop = |text: String| Fetch::Stop(Error::message(text));
        let chart = load_any_version(folder, self.log)
            .map_err(|error| stop(format!("unable to load chart '{}': {error}", folder.display())))?;
        let range = Constraint::parse(version).map_err(|error| {
            stop(format!("dependency {name} has an invalid version/constraint format: {error}"))
        })?;
        let found = &chart.metadata.version;
        let parsed = Version::parse(found)
            .map_err(|error| stop(format!("invalid version {version} for dependency {name}: {error}")))?;
        if range.check(&parsed) {
            return Ok(());
        }
        Err(Fetch::Save(Error::message(format!(
            "dependency {name} at version {found} does not satisfy the constraint {version}"
        ))))
    }

    /// Moves the new archives into place, and removes those that are no longer needed.
    fn replace_archives(&mut self, locked: &[Dependency], temporary: &Path, charts: &Path) -> Result<()> {
        let old = plain_files(charts)?;
        let mut kept = BTreeSet::new();
        for file in plain_files(temporary)? {
            let Some(name) = file.file_name() else { continue };
            kept.insert(name.to_owned());
            let target = charts.join(name);
            fs::rename(&file, &target).map_err(file_error("rename", &target))?;
        }
        (self.report)("Deleting outdated charts");
        for file in old.iter().filter(|file| file.file_name().is_none_or(|name| !kept.contains(name))) {
            let chart = match load_any_version(file, &mut Vec::new()) {
                Ok(chart) => chart,
                Err(error) => {
                    let file = file.display();
                    (self.report)(&format!("Could not verify {file} for deletion: {error} (Skipping)"));
                    continue;
                }
            };
            let local =
                |dependency: &Dependency| dependency.repository.is_empty() && dependency.name == chart.name();
            if locked.iter().any(local) {
                continue;
            }
            if let Err(error) = fs::remove_file(file) {
                (self.report)(&format!("Could not delete {}: {error} (Skipping)", file.display()));
            }
        }
        Ok(())
    }
}

/// How a failed fetch ends: immediately, or after a message.
enum Fetch {
    Stop(Error),
    Save(Error),
}

/// The regular files of a folder, sorted.
fn plain_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(file_error("open", folder))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| !path.is_dir()).collect();
    files.sort();
    Ok(files)
}

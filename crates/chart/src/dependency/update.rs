//! `dependency update` and `dependency build`: the charts of `charts/` brought in line with Chart.yaml or the lock.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use super::resolve::{check_local, local_path, resolve};
use super::{digest, legacy_digest, write_lock};
use crate::error::{Error, Result, refused};
use crate::metadata::{Dependency, Lock, Metadata, Timestamp, V1};
use crate::package::{self, Times};
use crate::{Chart, load_any_version};
use pintle_tree::LogLine;

/// Everything the two commands need from outside.
pub struct Updating<'a> {
    /// The folder of the chart.
    pub chart_path: &'a Path,
    /// The moment that a new lock records.
    pub now: Timestamp,
    /// The times in archives made from folders.
    pub times: Times,
    /// Receives each line for the reader as it happens.
    pub report: &'a mut dyn FnMut(&str),
    /// Receives what is to be logged.
    pub log: &'a mut Vec<LogLine>,
}

/// Resolves the dependencies anew, fills `charts/` and writes the lock if it changed.
///
/// # Errors
/// Charts that cannot be loaded or found, versions out of range, repositories on the network.
pub fn update(mut updating: Updating<'_>) -> Result<()> {
    let chart = updating.load()?;
    updating.update(&chart)
}

/// Fills `charts/` with what the lock says; without a lock, does what [`update`] does.
///
/// # Errors
/// A lock that does not fit Chart.yaml, and what [`update`] refuses.
pub fn build(mut updating: Updating<'_>) -> Result<()> {
    let chart = updating.load()?;
    let Some(lock) = &chart.lock else { return updating.update(&chart) };
    updating.check_repositories(&chart.metadata.dependencies)?;
    updating.check_lock(&chart.metadata, lock)?;
    let mut locked = lock.dependencies.clone();
    locked.iter().try_for_each(check_local)?;
    updating.fetch_all(&mut locked)
}

/// Fills `charts/` with other charts than Chart.yaml asks for, resolved anew. The lock is about Chart.yaml, and stays as
/// it is.
///
/// # Errors
/// As [`update`].
pub fn build_instead(mut updating: Updating<'_>, dependencies: &[Dependency]) -> Result<()> {
    updating.load()?;
    updating.check_repositories(dependencies)?;
    let mut locked = resolve(dependencies, updating.chart_path, updating.log)?;
    updating.fetch_all(&mut locked)
}

/// What the chart asks for; `None` without a `dependencies:` list.
fn asked(metadata: &Metadata) -> Option<&[Dependency]> {
    let declared = metadata.declares_dependencies || !metadata.dependencies.is_empty();
    declared.then_some(metadata.dependencies.as_slice())
}

impl Updating<'_> {
    fn load(&mut self) -> Result<Chart> {
        let path = self.chart_path;
        match fs::metadata(path) {
            Err(error) => {
                let reason = refused("stat", path)(error);
                Err(Error::told(format!("could not find {}: {reason}", path.display())))
            }
            Ok(metadata) if !metadata.is_dir() => Err(Error::told("only unpacked charts can be updated")),
            Ok(_) => load_any_version(path, self.log),
        }
    }

    fn update(&mut self, chart: &Chart) -> Result<()> {
        let Some(asked) = asked(&chart.metadata) else { return Ok(()) };
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

    /// Every repository must be one that can be used, before anything is touched.
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
        if digest(asked(metadata), &lock.dependencies)? == lock.digest {
            return Ok(());
        }
        if metadata.api_version != V1 {
            return Err(Error::told(
                "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update \
                 the dependencies with 'helm dependency update'",
            ));
        }
        self.log.push(LogLine {
            level: "INFO",
            message: "warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...".into(),
            attributes: Vec::new(),
        });
        if legacy_digest(asked(metadata))? == lock.digest {
            return Ok(());
        }
        Err(Error::told(
            "the lock file (requirements.lock) is out of sync with the dependencies file (requirements.yaml). \
             Please update the dependencies",
        ))
    }

    /// Brings all charts into `charts/`, by way of a temporary folder so that a failure changes nothing.
    fn fetch_all(&mut self, locked: &mut [Dependency]) -> Result<()> {
        let charts = self.chart_path.join("charts");
        match fs::metadata(&charts) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                let shown = quote(charts.to_string_lossy().as_bytes());
                return Err(Error::told(format!("{shown} is not a directory")));
            }
            Err(_) => fs::create_dir_all(&charts).map_err(refused("mkdir", &charts))?,
        }
        let temporary = self.chart_path.join(format!("tmpcharts-{}", std::process::id()));
        fs::create_dir_all(&temporary).map_err(refused("mkdir", &temporary))?;
        (self.report)(&format!("Saving {} charts", locked.len()));
        let fetched =
            locked.iter_mut().try_for_each(|dependency| self.fetch(dependency, &charts, &temporary));
        let outcome = match fetched {
            Ok(()) => self.move_in(locked, &temporary, &charts),
            Err(Fetch::Stop(error)) => Err(error),
            Err(Fetch::Save(error)) => {
                (self.report)(&format!("Save error occurred:  {error}"));
                Err(error)
            }
        };
        // What could not be removed is only clutter; the outcome matters more.
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
            Fetch::Save(Error::told(format!(
                "dependency {name} has an invalid version/constraint format: {error}"
            )))
        })?;
        let found = Version::parse(&chart.metadata.version)
            .map_err(|error| Fetch::Save(Error::told(error.to_string())))?;
        if !range.check(&found) {
            return Err(Fetch::Save(Error::told(format!("can't get a valid version for dependency {name}"))));
        }
        package::save(&mut chart, temporary, self.times).map_err(Fetch::Save)?;
        dependency.version = chart.metadata.version;
        Ok(())
    }

    fn check_present(&mut self, dependency: &Dependency, folder: &Path) -> Result<(), Fetch> {
        let Dependency { name, version, .. } = dependency;
        let stop = |text: String| Fetch::Stop(Error::told(text));
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
        Err(Fetch::Save(Error::told(format!(
            "dependency {name} at version {found} does not satisfy the constraint {version}"
        ))))
    }

    /// Moves the new archives in, and removes those that are no longer wanted.
    fn move_in(&mut self, locked: &[Dependency], temporary: &Path, charts: &Path) -> Result<()> {
        let old = plain_files(charts)?;
        let mut kept = BTreeSet::new();
        for file in plain_files(temporary)? {
            let Some(name) = file.file_name() else { continue };
            kept.insert(name.to_owned());
            let target = charts.join(name);
            fs::rename(&file, &target).map_err(refused("rename", &target))?;
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

/// How a failure to fetch ends: at once, or with a line for the reader first.
enum Fetch {
    Stop(Error),
    Save(Error),
}

/// The files of a folder, sorted, folders left out.
fn plain_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(refused("open", folder))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| !path.is_dir()).collect();
    files.sort();
    Ok(files)
}

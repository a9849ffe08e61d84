//! `dependency update` and `dependency build`: make `charts/` match Chart.yaml or the lock.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use super::remote::{Download, Output, Remote, is_remote};
use super::resolve::{local_path, no_remote_error, resolve};
use super::{digest, legacy_digest, write_lock};
use crate::error::{Error, Result, file_error};
use crate::load::load_folder_any_version;
use crate::metadata::{Dependency, Lock, Metadata, Timestamp, V1};
use crate::package::{self, Times};
use crate::{Chart, check_links, create_folders, load_any_version};
use pintle_tree::{LogLevel, LogLine};

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
    /// Finds and fetches charts of repositories and registries; without it, such dependencies are errors.
    pub remote: Option<&'a mut dyn Remote>,
}

/// What is fetched, which decides on the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Dependencies, into `charts/`.
    Charts,
    /// Library charts, into `library/`.
    Libraries,
}

/// Resolves the dependencies, updates `charts/`, and writes the lock if it changed. Libraries that the chart asks for are
/// fetched and locked, too.
///
/// # Errors
/// When charts cannot be loaded or found, versions do not match, or a repository cannot be reached.
pub fn update(mut updating: UpdateContext<'_>) -> Result<()> {
    let chart = updating.load()?;
    updating.update(&chart)?;
    updating.update_libraries(chart)
}

/// Updates `charts/` from the lock; without a lock, like [`update`].
///
/// # Errors
/// When the lock is out of sync with Chart.yaml, and the errors of [`update`].
pub fn build(mut updating: UpdateContext<'_>) -> Result<()> {
    let chart = updating.load()?;
    match &chart.lock {
        None => updating.update(&chart)?,
        Some(lock) => {
            let mut requested = chart.metadata.dependencies.clone();
            updating.check_repositories(&mut requested)?;
            updating.check_lock(&chart.metadata, &requested, lock)?;
            updating.fetch_locked(lock.dependencies.clone(), Target::Charts)?;
        }
    }
    updating.build_libraries(chart)
}

/// Updates `charts/` with other charts than Chart.yaml declares. The lock belongs to Chart.yaml and is not changed.
///
/// # Errors
/// Like [`update`].
pub fn build_instead(mut updating: UpdateContext<'_>, dependencies: &[Dependency]) -> Result<()> {
    let chart = updating.load()?;
    let mut requested = dependencies.to_vec();
    let mut locked = updating.choose(&mut requested)?;
    updating.fetch_all(&mut locked, Target::Charts)?;
    updating.build_libraries(chart)
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
        let Some(requested) = declared(&chart.metadata) else { return Ok(()) };
        let mut requested = requested.to_vec();
        let mut locked = self.choose(&mut requested)?;
        self.fetch_all(&mut locked, Target::Charts)?;
        let digest = digest(Some(&requested), &locked)?;
        // Nothing changed, so the time in the lock does not either, and the file stays as it is in version
        // control.
        if chart.lock.as_ref().is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let lock = Lock { generated: self.now.to_string(), digest, dependencies: locked };
        write_lock(self.chart_path, &lock, chart.metadata.api_version == V1)
    }

    /// Resolves the requested dependencies to versions, after refreshing the repository indexes.
    pub(super) fn choose(&mut self, requested: &mut [Dependency]) -> Result<Vec<Dependency>> {
        self.check_repositories(requested)?;
        let output = &mut Output { report: self.report, log: self.log };
        if let Some(remote) = &mut self.remote {
            remote.refresh(requested, true, output)?;
        }
        resolve(requested, self.chart_path, self.remote.as_deref_mut(), output)
    }

    /// Checks every repository before anything is changed, and replaces aliases by URLs.
    pub(super) fn check_repositories(&mut self, dependencies: &mut [Dependency]) -> Result<()> {
        for dependency in dependencies.iter().filter(|one| one.repository.starts_with("file://")) {
            local_path(&dependency.repository, self.chart_path)?;
        }
        self.check_remote(dependencies)?;
        match &mut self.remote {
            Some(remote) => remote.replace_aliases(dependencies),
            None => Ok(()),
        }
    }

    /// Without a [`Remote`], rejects dependencies of repositories and registries.
    fn check_remote(&self, dependencies: &[Dependency]) -> Result<()> {
        match dependencies.iter().find(|dependency| is_remote(dependency)) {
            Some(dependency) if self.remote.is_none() => Err(no_remote_error(dependency)),
            _ => Ok(()),
        }
    }

    /// Checks that the lock matches the requested dependencies; `requested` has URLs where the metadata may have aliases.
    fn check_lock(&mut self, metadata: &Metadata, requested: &[Dependency], lock: &Lock) -> Result<()> {
        let requested = declared(metadata).is_some().then_some(requested);
        if digest(requested, &lock.dependencies)? == lock.digest {
            return Ok(());
        }
        // Only requirements.lock can come from Helm 2, which hashed something else.
        if metadata.api_version != V1 {
            return Err(Error::message(
                "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update \
                 the dependencies with 'helm dependency update'",
            ));
        }
        self.log.push(LogLine {
            level: LogLevel::Info,
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

    /// Fetches the locked versions, after refreshing the indexes of their repositories.
    pub(super) fn fetch_locked(&mut self, mut locked: Vec<Dependency>, target: Target) -> Result<()> {
        self.check_remote(&locked)?;
        if let Some(remote) = &mut self.remote {
            remote.check_known(&locked)?;
            let output = &mut Output { report: self.report, log: self.log };
            remote.refresh(&locked, false, output)?;
        }
        self.fetch_all(&mut locked, target)
    }

    /// Fetches all charts into their folder, through a temporary one, so that a failure changes nothing.
    pub(super) fn fetch_all(&mut self, locked: &mut [Dependency], target: Target) -> Result<()> {
        // Next to `charts/`, so that moving the archives is a rename on one file system.
        let temporary = self.chart_path.join(format!("tmpcharts-{}", std::process::id()));
        // A killed process with the same ID may have left it behind.
        let _ = fs::remove_dir_all(&temporary);
        let outcome = self.fetch_into(locked, target, &temporary);
        // Best effort: a leftover temporary folder is harmless.
        let _ = fs::remove_dir_all(&temporary);
        outcome
    }

    fn fetch_into(&mut self, locked: &mut [Dependency], target: Target, temporary: &Path) -> Result<()> {
        let charts = &self.chart_path.join(match target {
            Target::Charts => "charts",
            Target::Libraries => "library",
        });
        let remote = self.remote.as_deref_mut();
        let output = &mut Output { report: &mut *self.report, log: &mut *self.log };
        let files =
            FolderSource { chart_path: self.chart_path, times: self.times, charts, temporary, target };
        let wanted = locked.to_vec();
        let mut outcome = Ok(());
        let mut body = |download: &mut Download<'_>, output: &mut Output<'_>| {
            outcome = files.fetch_each(locked, download, output);
        };
        match remote {
            Some(remote) => remote.download(&wanted, temporary, output, &mut body)?,
            None => body(&mut |at, _| Err(no_remote_error(&wanted[at])), output),
        }
        match outcome {
            Ok(()) => replace_archives(locked, temporary, charts, output.report),
            Err(Fetch::Stop(error)) => Err(error),
            Err(Fetch::Save(error)) => {
                (output.report)(&format!("Save error occurred:  {error}"));
                Err(error)
            }
        }
    }
}

/// Fetches charts from local folders.
struct FolderSource<'a> {
    chart_path: &'a Path,
    times: Times,
    charts: &'a Path,
    temporary: &'a Path,
    target: Target,
}

impl FolderSource<'_> {
    /// Fetches all dependencies in their order, into the temporary folder.
    fn fetch_each(
        &self,
        locked: &mut [Dependency],
        download: &mut Download<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Fetch> {
        self.make_folders().map_err(Fetch::Stop)?;
        let what = if self.target == Target::Charts { "charts" } else { "libraries" };
        (output.report)(&format!("Saving {} {what}", locked.len()));
        for (at, dependency) in locked.iter_mut().enumerate() {
            if is_remote(dependency) {
                download(at, output).map_err(Fetch::Save)?;
            } else {
                self.fetch(dependency, output)?;
            }
        }
        Ok(())
    }

    fn make_folders(&self) -> Result<()> {
        let name = self.charts.file_name().unwrap_or_default();
        check_links(self.chart_path, Path::new(name)).map_err(file_error("open", self.charts))?;
        match fs::metadata(self.charts) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                let shown = quote(self.charts.to_string_lossy().as_bytes());
                return Err(Error::message(format!("{shown} is not a directory")));
            }
            Err(_) => create_folders(self.charts)?,
        }
        Ok(create_folders(self.temporary)?)
    }

    fn fetch(&self, dependency: &mut Dependency, output: &mut Output<'_>) -> Result<(), Fetch> {
        let Dependency { name, version, repository, .. } = &*dependency;
        if repository.is_empty() {
            (output.report)(&format!(
                "Dependency {name} did not declare a repository. Assuming it exists in the charts directory"
            ));
            return check_present(dependency, &self.charts.join(name), output.log);
        }
        let folder = local_path(repository, self.chart_path).map_err(Fetch::Save)?;
        let mut chart = load_folder_any_version(&folder, output.log).map_err(Fetch::Save)?;
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
        package::save(&mut chart, self.temporary, self.times).map_err(Fetch::Save)?;
        dependency.version = chart.metadata.version;
        Ok(())
    }
}

fn check_present(dependency: &Dependency, folder: &Path, log: &mut Vec<LogLine>) -> Result<(), Fetch> {
    let Dependency { name, version, .. } = dependency;
    let stop = |text: String| Fetch::Stop(Error::message(text));
    let chart = load_folder_any_version(folder, log)
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
fn replace_archives(
    locked: &[Dependency],
    temporary: &Path,
    charts: &Path,
    report: &mut dyn FnMut(&str),
) -> Result<()> {
    let old = plain_files(charts)?;
    let mut kept = BTreeSet::new();
    // Helm does not end the line about a file that it does not move.
    let mut line = String::new();
    for file in plain_files(temporary)? {
        let Some(name) = file.file_name() else { continue };
        kept.insert(name.to_owned());
        if let Err(error) = load_any_version(&file, &mut Vec::new()) {
            line.push_str(&format!("Could not verify {} for moving: {error} (Skipping)", file.display()));
            continue;
        }
        let target = charts.join(name);
        fs::rename(&file, &target).map_err(file_error("rename", &target))?;
    }
    report(&format!("{line}Deleting outdated charts"));
    for file in old.iter().filter(|file| file.file_name().is_none_or(|name| !kept.contains(name))) {
        let chart = match load_any_version(file, &mut Vec::new()) {
            Ok(chart) => chart,
            Err(error) => {
                let file = file.display();
                report(&format!("Could not verify {file} for deletion: {error} (Skipping)"));
                continue;
            }
        };
        let local =
            |dependency: &Dependency| dependency.repository.is_empty() && dependency.name == chart.name();
        if locked.iter().any(local) {
            continue;
        }
        if let Err(error) = fs::remove_file(file) {
            report(&format!("Could not delete {}: {error} (Skipping)", file.display()));
        }
    }
    Ok(())
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

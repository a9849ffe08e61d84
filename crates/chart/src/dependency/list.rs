//! `dependency list`: declared dependencies and whether they are present.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_semver::{Constraint, Version};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::error::Result;
use crate::load::matches;
use crate::metadata::Dependency;
use crate::path::clean;
use crate::{Chart, load_any_version};

/// The status of a dependency, as in Helm's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// An archive of a matching version.
    Ok,
    /// A folder of a matching version.
    Unpacked,
    /// Neither archive nor folder.
    Missing,
    /// An archive that cannot be loaded.
    Corrupt,
    /// An archive of another chart.
    Misnamed,
    /// An invalid version or constraint.
    InvalidVersion,
    /// A version outside of the constraint.
    WrongVersion,
    /// Several matching archives.
    TooManyMatches,
    /// A name that is not a valid glob pattern.
    BadPattern,
}

impl Status {
    /// The text in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Unpacked => "unpacked",
            Status::Missing => "missing",
            Status::Corrupt => "corrupt",
            Status::Misnamed => "misnamed",
            Status::InvalidVersion => "invalid version",
            Status::WrongVersion => "wrong version",
            Status::TooManyMatches => "too many matches",
            Status::BadPattern => "bad pattern",
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the dependency.
    pub name: String,
    /// The version constraint.
    pub version: String,
    /// The repository URL.
    pub repository: String,
    /// The status.
    pub status: Status,
}

/// The table, and warnings to print after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The rows; `None` if the chart has no `dependencies:`.
    pub rows: Option<Vec<Row>>,
    /// Lines that start with `WARNING: `.
    pub warnings: Vec<String>,
}

/// Lists the dependencies of the chart at `chart_path`. `log` receives the warnings of loading charts.
///
/// # Errors
/// When the chart cannot be loaded.
pub fn list(chart_path: &Path, log: &mut Vec<LogLine>) -> Result<Listing> {
    let chart = load_any_version(chart_path, log)?;
    let charts = chart_path.join("charts");
    let charts = charts.to_str().map_or(charts.clone(), |text| PathBuf::from(clean(text)));
    let metadata = &chart.metadata;
    if metadata.dependencies.is_empty() && !metadata.declares_dependencies {
        let warnings = vec![format!("WARNING: no dependencies at {}", charts.display())];
        return Ok(Listing { rows: None, warnings });
    }
    let rows = metadata.dependencies.iter().map(|dependency| Row {
        name: dependency.name.clone(),
        version: dependency.version.clone(),
        repository: dependency.repository.clone(),
        status: status(&charts, dependency, &chart, log),
    });
    let rows = rows.collect();
    Ok(Listing { rows: Some(rows), warnings: unlisted_warnings(&charts, &metadata.dependencies, log) })
}

fn status(charts: &Path, dependency: &Dependency, chart: &Chart, log: &mut Vec<LogLine>) -> Status {
    let pattern = format!("{}-*.tgz", dependency.name);
    // Go's `filepath.Glob` validates the pattern first in the same way.
    if matches(&pattern, "").is_err() {
        return Status::BadPattern;
    }
    let mut archives = entries(charts);
    archives.retain(|name| matches(&pattern, name) == Ok(true));
    if archives.len() > 1 {
        // Of several matches, only those whose name continues with a version count: `db-1.0.0`, not `db-admin-1.0.0`.
        let prefix = format!("{}-", dependency.name);
        archives.retain(|name| {
            let stem = name.strip_suffix(".tgz").unwrap_or(name);
            Version::parse_strict(stem.strip_prefix(&prefix).unwrap_or(stem)).is_ok()
        });
        if archives.len() > 1 {
            return Status::TooManyMatches;
        }
    }
    if let Some(archive) = archives.first().map(|name| charts.join(name)).filter(|archive| archive.exists()) {
        return archive_status(&archive, dependency, log);
    }
    // The last one wins, as in Helm, which overwrites its result in a loop.
    match chart.subcharts.iter().rev().find(|subchart| subchart.name() == dependency.name) {
        None => Status::Missing,
        Some(subchart) => version_status(&subchart.metadata.version, dependency).unwrap_or(Status::Unpacked),
    }
}

fn archive_status(archive: &Path, dependency: &Dependency, log: &mut Vec<LogLine>) -> Status {
    match load_any_version(archive, log) {
        Err(_) => Status::Corrupt,
        Ok(chart) if chart.name() != dependency.name => Status::Misnamed,
        Ok(chart) => version_status(&chart.metadata.version, dependency).unwrap_or(Status::Ok),
    }
}

/// The status of a version, unless it matches.
fn version_status(found: &str, dependency: &Dependency) -> Option<Status> {
    // Equal strings match even if they are not semantic versions.
    if found == dependency.version {
        return None;
    }
    match (Constraint::parse(&dependency.version), Version::parse(found)) {
        (Ok(range), Ok(version)) => (!range.check(&version)).then_some(Status::WrongVersion),
        _ => Some(Status::InvalidVersion),
    }
}

/// Warnings about charts that are not listed, and about files that are not charts.
fn unlisted_warnings(charts: &Path, dependencies: &[Dependency], log: &mut Vec<LogLine>) -> Vec<String> {
    let mut warnings = Vec::new();
    for name in entries(charts) {
        let path = charts.join(&name);
        if !path.is_dir() && path.extension().is_none_or(|extension| extension != "tgz") {
            continue;
        }
        let shown = quote(path.to_string_lossy().as_bytes());
        match load_any_version(&path, log) {
            Err(_) => warnings.push(format!("WARNING: {shown} is not a chart.")),
            Ok(chart) if dependencies.iter().all(|dependency| dependency.name != chart.name()) => {
                warnings.push(format!("WARNING: {shown} is not in Chart.yaml."));
            }
            Ok(_) => {}
        }
    }
    warnings
}

/// The names in a folder, sorted; empty if the folder does not exist.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

//! `lint`: check charts for errors and recommendations.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_chart::File;
use pintle_chart::metadata::Draft;
use pintle_render::KubeVersion;
use pintle_values::ValuesLayer;

use crate::input;
use crate::lint::{self, Findings, Options};
use crate::{Error, LookupObjects, OfflineSession, Reporter, Result};

/// What to check charts with.
#[derive(Clone, Debug, Default)]
pub struct LintRequest {
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// The namespace to render for.
    pub namespace: String,
    /// The Kubernetes version to render and check for.
    pub kube_version: Option<KubeVersion>,
    /// Skips `values.schema.json`.
    pub skip_schema: bool,
    /// Also applies rules that Helm does not have.
    pub extra_rules: bool,
    /// What `lookup` finds.
    pub lookup: LookupObjects,
    /// Parent of temporary folders for unpacked archives.
    pub scratch: PathBuf,
}

/// The findings about one chart.
#[derive(Clone, Debug)]
pub struct Linted {
    /// The findings; empty when the chart could not be read.
    pub findings: Findings,
    /// Why the chart could not be read.
    pub problem: Option<String>,
}

/// Lints a chart folder or archive. Errors of handlers of lifecycle events become findings.
///
/// # Errors
/// Only when the values cannot be read; everything about the chart is in the result.
pub fn lint(
    session: &OfflineSession,
    chart: &Path,
    request: &LintRequest,
    reporter: &mut dyn Reporter,
) -> Result<Linted> {
    let events = &session.events;
    let options = Options {
        values: input::user_values(&request.values)?,
        namespace: request.namespace.clone(),
        kube_version: request.kube_version.clone(),
        skip_schema: request.skip_schema,
        schemas: session.schemas.clone(),
        extra_rules: request.extra_rules,
        lookup: request.lookup.clone(),
    };
    let outcome = with_folder(chart, &request.scratch, |folder| lint::lint(folder, &options, events));
    events.report(reporter);
    let (findings, problem) = match outcome {
        Ok(findings) => (findings, None),
        Err(problem) => (Findings::default(), Some(problem)),
    };
    for line in &findings.log {
        reporter.log(line.clone());
    }
    Ok(Linted { findings, problem })
}

/// Runs `look` on the folder of a chart. An archive is unpacked into a temporary folder below `scratch` first.
fn with_folder<T>(
    chart: &Path,
    scratch: &Path,
    look: impl FnOnce(&Path) -> T,
) -> std::result::Result<T, String> {
    if !is_archive(chart) {
        return if chart.join("Chart.yaml").exists() {
            Ok(look(chart))
        } else {
            Err(unreadable_message(chart))
        };
    }
    let folder = UnpackedArchive::new(chart, scratch)?;
    Ok(look(&folder.chart))
}

pub(super) fn is_archive(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".tgz") || name.ends_with(".tar.gz")
}

/// An unpacked archive; the folder is deleted on drop.
struct UnpackedArchive {
    whole: PathBuf,
    chart: PathBuf,
}

impl UnpackedArchive {
    fn new(archive: &Path, scratch: &Path) -> std::result::Result<Self, String> {
        let data = pintle_chart::read_regular(archive)
            .map_err(|error| format!("unable to open tarball: {}", input::go_error_text(archive, &error)))?;
        let failed = |reason: &dyn std::fmt::Display| format!("unable to extract tarball: {reason}");
        let files = pintle_chart::read_archive(data).map_err(|error| failed(&error))?;
        let metadata = files.iter().find(|file| file.name == "Chart.yaml");
        let metadata = metadata.ok_or_else(|| failed(&"chart name not specified"))?;
        let mut draft = Draft::default();
        draft.read_chart_file(&metadata.data).map_err(|error| failed(&error))?;
        let name = draft.metadata.name;
        if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(failed(&"chart name not specified"));
        }
        let whole = new_folder(scratch).map_err(|error| failed(&error))?;
        let unpacked = UnpackedArchive { chart: whole.join(name), whole };
        for file in &files {
            unpacked.write(file).map_err(|error| failed(&error))?;
        }
        Ok(unpacked)
    }

    fn write(&self, file: &File) -> std::io::Result<()> {
        // The archive reader has already refused absolute paths and `..`.
        let path = self.chart.join(&file.name);
        fs::create_dir_all(path.parent().unwrap_or(&self.chart))?;
        fs::write(path, &file.data)
    }
}

/// Makes a folder that was not there: others may write to the folder for temporary files, too.
fn new_folder(scratch: &Path) -> std::io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let folder = scratch.join(format!("pintle-lint-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => number += 1,
            Err(error) => return Err(error),
        }
    }
}

impl Drop for UnpackedArchive {
    fn drop(&mut self) {
        // A folder that cannot be deleted is left to the system's cleanup of temporary files.
        let _ = fs::remove_dir_all(&self.whole);
    }
}

fn unreadable_message(chart: &Path) -> String {
    let reason = if chart.is_file() { "not a directory" } else { "no such file or directory" };
    let chart_file = pintle_chart::path::clean(&chart.join("Chart.yaml").to_string_lossy());
    format!("unable to check Chart.yaml file in chart: stat {chart_file}: {reason}")
}

/// Returns the chart folders below `charts/`, for linting them too.
///
/// # Errors
/// When a folder cannot be read.
pub fn subchart_folders(chart: &Path) -> Result<Vec<PathBuf>> {
    let charts = chart.join("charts");
    let mut found = Vec::new();
    if charts.is_dir() {
        collect(&charts, &mut found)?;
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |source| Error::File { action: "read", path: folder.to_owned(), source };
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "Chart.yaml" {
            found.push(folder.to_owned());
        } else if is_archive(&path) {
            found.push(path);
        } else if path.is_dir() {
            collect(&path, found)?;
        }
    }
    Ok(())
}

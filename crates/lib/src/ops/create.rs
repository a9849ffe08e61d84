//! `create`: create a new chart.

mod extract;
mod manifests;

use std::fs;
use std::path::{Path, PathBuf};

use pintle_chart::create::{Generation, Scaffold};
use pintle_chart::package::Times;
use pintle_chart::{Chart, File, ext, write_below};
use pintle_events::Event;
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::report::forward_log;
use crate::{Error, OfflineSession, Reporter, Result, prepare};

pub use manifests::{CreateFromRequest, CreatedFrom, SourceManifest, create_from};

/// Placeholder for the name of the chart in starters.
const PLACEHOLDER: &str = "<CHARTNAME>";

/// The script of the scaffold, added on request.
const SCAFFOLD_SCRIPT: &str = include_str!("scaffold.lua");

/// Which chart to create, and where.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// The parent of the chart's folder.
    pub folder: PathBuf,
    /// The name of the chart.
    pub name: String,
    /// A chart to start from instead of the built-in scaffold.
    pub starter: Option<PathBuf>,
    /// Modification time of generated files, in Unix seconds.
    pub now: i64,
    /// Adds a script to the scaffold.
    pub scripts: bool,
    /// The chart API version of the scaffold.
    pub generation: Generation,
    /// Which files the built-in scaffold has.
    pub scaffold: Scaffold,
}

impl Default for CreateRequest {
    fn default() -> Self {
        CreateRequest::new(".", "chart")
    }
}

impl CreateRequest {
    /// Returns a request for the built-in scaffold.
    pub fn new(folder: impl AsRef<Path>, name: impl Into<String>) -> Self {
        CreateRequest {
            folder: folder.as_ref().to_owned(),
            name: name.into(),
            starter: None,
            now: 0,
            scripts: false,
            generation: Generation::V2,
            scaffold: Scaffold::Complete,
        }
    }
}

/// Creates the chart and returns its folder. Existing files are reported before they are overwritten. Handlers of
/// lifecycle events may change the chart before it is written.
///
/// # Errors
/// An invalid name, an unreadable starter, or files that cannot be written. When a handler fails, nothing is written.
pub fn create(
    session: &OfflineSession,
    request: &CreateRequest,
    reporter: &mut dyn Reporter,
) -> Result<PathBuf> {
    let events = &session.events;
    // Only a starter can contain scripts. One that cannot be read fails below, when the chart is drafted from it.
    let scripted;
    let starter = request.starter.as_ref().filter(|_| events.may_run_scripts());
    let events = match starter.and_then(|_| draft(request).ok()) {
        Some(draft) => {
            scripted = events.with_scripts_of(&draft, &[Event::PreCreate, Event::PostCreate])?;
            &scripted
        }
        None => events,
    };
    let outcome = prepare::emit_without_chart(Event::PreCreate, events);
    events.report(reporter);
    outcome?;
    if !events.listens(Event::PostCreate) {
        return write_chart(request, reporter);
    }
    let before = draft(request)?;
    let mut after = before.clone();
    let outcome = prepare::emit_for_chart(&mut after, Event::PostCreate, events);
    events.report(reporter);
    outcome?;
    let folder = write_chart(request, reporter)?;
    write_changes(&folder, &before, &after)?;
    Ok(folder)
}

/// Writes the chart without calling handlers.
fn write_chart(request: &CreateRequest, reporter: &mut dyn Reporter) -> Result<PathBuf> {
    let CreateRequest { folder, name, starter, now, scripts, generation, scaffold } = request;
    let made = match starter {
        None => pintle_chart::create::create(name, *generation, *scaffold, folder, &mut |path| {
            warn_about_overwriting(path, *generation, reporter);
        })?,
        Some(starter) => forward_log(reporter, |log| {
            let times = Times { all: None, fallback: *now };
            Ok(pintle_chart::create::create_from(name, *generation, folder, starter, times, log)?)
        })?,
    };
    if *scripts && !made.join(ext::MAIN).exists() {
        write(&made, &File::new(ext::MAIN, SCAFFOLD_SCRIPT.as_bytes()))?;
    }
    Ok(made)
}

/// Helm says it on standard output, and for charts of the third generation in its log.
fn warn_about_overwriting(path: &Path, generation: Generation, reporter: &mut dyn Reporter) {
    let path = path.to_string_lossy();
    match generation {
        Generation::V3 => {
            reporter.log(LogLine::warn("Overwriting existing file", vec![("file", path.into_owned())]));
        }
        Generation::V2 | Generation::Object => {
            let shown = quote(path.as_bytes());
            reporter.progress(&format!("WARNING: File {shown} already exists. Overwriting."));
        }
    }
}

/// Builds the chart in memory.
fn draft(request: &CreateRequest) -> Result<Chart> {
    let name = &request.name;
    let Some(starter) = &request.starter else {
        let files = pintle_chart::create::scaffold(name, request.generation, request.scaffold);
        return Ok(pintle_chart::load_files(files)?);
    };
    let mut chart = pintle_chart::load_any_version(starter, &mut Vec::new())?;
    chart.metadata.name.clone_from(name);
    let values = chart.raw.iter_mut().filter(|file| file.name == "values.yaml");
    for file in chart.templates.iter_mut().chain(values) {
        file.data = String::from_utf8_lossy(&file.data).replace(PLACEHOLDER, name).into_bytes().into();
    }
    if let Some(text) = chart.values_text()
        && let Ok(values) = pintle_yaml::read_values(text)
    {
        chart.values = values;
    }
    Ok(chart)
}

/// Writes what handlers changed into the folder of the new chart.
fn write_changes(folder: &Path, before: &Chart, after: &Chart) -> Result<()> {
    let all = |chart: &Chart| -> Vec<File> {
        let values = chart.raw.iter().filter(|file| file.name == "values.yaml");
        chart.templates.iter().chain(&chart.files).chain(values).cloned().collect()
    };
    let (before, after) = (all(before), all(after));
    for file in before.iter().filter(|file| !after.iter().any(|other| other.name == file.name)) {
        let path = folder.join(&file.name);
        fs::remove_file(&path).map_err(|source| Error::File { action: "remove", path, source })?;
    }
    let is_new = |file: &&File| !before.iter().any(|old| old.name == file.name && old.data == file.data);
    for file in after.iter().filter(is_new) {
        // `sources` has already refused paths that leave the chart.
        write(folder, file)?;
    }
    Ok(())
}

/// Writes a file into the folder of the new chart.
fn write(folder: &Path, file: &File) -> Result<()> {
    write_below(folder, Path::new(&file.name), &file.data).map_err(|source| Error::File {
        action: "write",
        path: folder.join(&file.name),
        source,
    })
}

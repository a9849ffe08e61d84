//! `unittest`: run the helm-unittest suites of charts.

mod changed;
mod charts;
mod files;
mod lifecycle;
#[cfg(feature = "embedded")]
mod rehearsal;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pintle_chart::{Chart, MAX_TEXT, read_limited, write_below};
use pintle_render::{Lookup, Release};
use pintle_tree::{Map, Node};
use pintle_unittest::coverage::CoverageReport;
use pintle_unittest::{
    Host, Options, PostRenderer, PrepareRequest, PreparedChart, RehearsalFinding, RehearsalRequest, Runner,
    Suite, SuiteOrigin, SuiteResult,
};
use pintle_values::NullRules;

use self::charts::Turn;
use crate::input::{self, go_error_text};
#[cfg(feature = "embedded")]
use crate::rehearse::{Rehearsal, RehearseRequest};
use crate::{Lifecycle, LookupObjects, SchemaLoader};

/// Which suites to run, and how.
#[derive(Clone, Debug)]
pub struct UnittestRequest {
    /// The charts, folders or archives, as the user names them.
    pub charts: Vec<String>,
    /// Patterns of suite files, relative to each chart.
    pub files: Vec<String>,
    /// Values files, or patterns of them, for all suites.
    pub values: Vec<String>,
    /// The folder, relative to each chart, of a chart whose templates are suites.
    pub chart_tests_path: String,
    /// Whether unknown keys in suites are errors.
    pub strict: bool,
    /// Whether suites of subcharts run too.
    pub with_subcharts: bool,
    /// The current folder, which the paths of suites are relative to.
    pub current_folder: PathBuf,
    /// Where to write what tests rendered.
    pub rendered_folder: Option<PathBuf>,
    /// Runs only suites that these files can affect, which are absolute.
    pub changed: Option<Vec<PathBuf>>,
    /// How suites are run.
    pub options: Options,
    /// What `lookup` finds besides the objects of suites.
    pub lookup: LookupObjects,
}

/// What tests need from the program.
pub trait UnittestHost: Sync {
    /// Runs a post-renderer.
    ///
    /// # Errors
    /// When it cannot be run, or fails.
    fn post_render(&self, post_renderer: &PostRenderer, text: &[u8]) -> Result<Vec<u8>, String>;
    /// Rehearses a chart, on a runtime of the program.
    ///
    /// # Errors
    /// When the rehearsal cannot begin.
    #[cfg(feature = "embedded")]
    fn rehearse(&self, request: &RehearseRequest) -> crate::Result<Rehearsal>;
    /// Loads schemas that charts refer to by URL.
    fn schemas(&self) -> &SchemaLoader;
    /// The time since some moment before the run.
    fn elapsed(&self) -> Duration;
}

/// The results of one chart.
#[derive(Clone, Debug, Default)]
pub struct TestedChart {
    /// The name of the chart.
    pub name: String,
    /// The chart as the user named it.
    pub path: String,
    /// Suite files that cannot be read.
    pub unreadable: Vec<SuiteResult>,
    /// Warnings about subcharts whose suites cannot be read.
    pub warnings: Vec<String>,
    /// Why the chart cannot be tested.
    pub error: Option<String>,
    /// The suites that ran.
    pub suites: Vec<SuiteResult>,
    /// Snapshot files that could not be written.
    pub unwritten: Vec<SuiteResult>,
    /// What the suites covered, if that was recorded.
    pub coverage: Option<CoverageReport>,
}

impl TestedChart {
    /// Whether all suites passed.
    pub fn passed(&self) -> bool {
        self.error.is_none() && self.unwritten.is_empty() && self.suites.iter().all(|suite| suite.passed)
    }
}

/// Runs the suites of all charts, several charts at a time. New and updated snapshots are written next to the suites.
pub fn unittest(request: &UnittestRequest, host: &dyn UnittestHost) -> Vec<TestedChart> {
    let mut tested =
        charts::run(request, |path, options, turn| test_chart(request, path, host, options, turn));
    // Charts that no change affects are left out of the result.
    tested.retain(|chart| request.changed.is_none() || chart.error.is_some() || !chart.suites.is_empty());
    tested
}

fn test_chart(
    request: &UnittestRequest,
    path: &str,
    host: &dyn UnittestHost,
    options: Options,
    turn: Turn<'_>,
) -> TestedChart {
    let mut tested = TestedChart { path: path.to_owned(), ..TestedChart::default() };
    let chart = match load(path) {
        Ok(chart) => chart,
        Err(error) => {
            tested.error = Some(error);
            return tested;
        }
    };
    tested.name = chart.name().to_owned();
    let mut finder = Finder { request, values: None, tested: &mut tested };
    let mut suites = match finder.suites(path, chart.name(), &chart) {
        Ok(suites) => suites,
        Err(error) => {
            tested.error = Some(error);
            return tested;
        }
    };
    if let Some(files) = &request.changed {
        let changes = changed::Changes::new(files, &request.current_folder, path);
        changes.retain(&mut suites, chart.name());
    }
    let suites: Vec<(Suite, Option<Vec<u8>>)> = suites
        .into_iter()
        .map(|suite| {
            let snapshots = read_limited(suite.snapshot_file(), MAX_TEXT).ok();
            (suite, snapshots)
        })
        .collect();
    let host = Files {
        host,
        chart: Path::new(path),
        folder: request.rendered_folder.as_deref(),
        lookup: &request.lookup,
    };
    let runner = Runner::new(chart, options, &host);
    let mut capabilities = turn.take(|capabilities| {
        let before = capabilities.clone();
        runner.carry_over(&suites, capabilities);
        before
    });
    let mut results = runner.run(&suites, &mut capabilities);
    tested.coverage = runner.coverage(path);
    for (result, (suite, _)) in results.iter_mut().zip(&suites) {
        if let Some(text) = result.snapshot_file.take()
            && let Err(error) = write_snapshots(Path::new(&suite.snapshot_file()), &text)
        {
            let file = suite.snapshot_file();
            tested.unwritten.push(SuiteResult { file, error: Some(error), ..SuiteResult::default() });
        }
    }
    tested.suites = results;
    tested
}

fn load(path: &str) -> Result<Chart, String> {
    pintle_chart::load(Path::new(path), &mut Vec::new()).map_err(|error| error.to_string())
}

/// Writes snapshots to `__snapshot__` beside their suite, which may be a link to elsewhere and is then refused.
fn write_snapshots(path: &Path, text: &[u8]) -> Result<(), String> {
    let folder = path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let name = path.strip_prefix(folder).unwrap_or(path);
    write_below(folder, name, text).map_err(|error| go_error_text(path, &error))
}

/// Finds the suites of a chart and its subcharts.
struct Finder<'f> {
    request: &'f UnittestRequest,
    /// The values that decide which subcharts are enabled.
    values: Option<Map<Node>>,
    tested: &'f mut TestedChart,
}

impl Finder<'_> {
    fn suites(&mut self, folder: &str, route: &str, chart: &Chart) -> Result<Vec<Suite>, String> {
        let mut suites = self.own(folder, route)?;
        if !self.request.with_subcharts {
            return Ok(suites);
        }
        if self.values.is_none() {
            self.values = self.condition_values(folder, chart);
        }
        for subchart in &chart.subcharts {
            let name = subchart.name();
            let enabled = |values| Runner::subchart_is_enabled(chart, name, values);
            if !self.values.as_ref().is_none_or(enabled) {
                continue;
            }
            let folder = files::join(folder, &format!("charts/{name}"));
            match self.suites(&folder, &format!("{route}/charts/{name}"), subchart) {
                Ok(mut found) => suites.append(&mut found),
                Err(error) => {
                    self.tested
                        .warnings
                        .push(format!("Failed to get test suites for subchart {name}: {error}"));
                }
            }
        }
        Ok(suites)
    }

    /// The suites of one chart: files, then rendered ones.
    fn own(&mut self, folder: &str, route: &str) -> Result<Vec<Suite>, String> {
        let found = files::find(folder, &self.request.files)?;
        let values = files::find_values(&self.request.values, &self.request.current_folder)?;
        let origin =
            SuiteOrigin { route, strict: self.request.strict, values: &values, ..SuiteOrigin::default() };
        let rendered = self.rendered(folder, &origin)?;
        let mut suites = Vec::new();
        for path in found {
            let file = files::relative(&self.request.current_folder, &path);
            let origin = SuiteOrigin { file: &file, ..origin.clone() };
            let read = read_limited(&path, MAX_TEXT).map_err(|error| go_error_text(Path::new(&path), &error));
            let parsed =
                read.and_then(|text| Suite::parse(&text, &origin).map_err(|error| error.to_string()));
            match parsed {
                Ok(mut found) => suites.append(&mut found),
                Err(error) => {
                    let unreadable =
                        SuiteResult { file: path, error: Some(error.clone()), ..SuiteResult::default() };
                    self.tested.unreadable.push(unreadable);
                    return Err(error);
                }
            }
        }
        suites.extend(rendered);
        Ok(suites)
    }

    /// The suites that a chart of suites renders.
    fn rendered(&self, folder: &str, origin: &SuiteOrigin<'_>) -> Result<Vec<Suite>, String> {
        if self.request.chart_tests_path.is_empty() {
            return Ok(Vec::new());
        }
        let folder = files::join(folder, &self.request.chart_tests_path);
        if !Path::new(&folder).exists() {
            return Ok(Vec::new());
        }
        let metadata = files::join(&folder, "Chart.yaml");
        fs::metadata(&metadata).map_err(|_| format!("stat {metadata}: no such file or directory"))?;
        let chart = load(&folder)?;
        let (mut suites, mut errors) = (Vec::new(), Vec::new());
        for (template, text) in Runner::render_suites(&chart, self.request.options.nulls)? {
            let below = template.strip_prefix(chart.name()).unwrap_or(&template);
            let file = files::relative(&self.request.current_folder, &files::join(&folder, below));
            let origin = SuiteOrigin { file: &file, rendered: true, ..origin.clone() };
            match rendered_suites(&String::from_utf8_lossy(&text), &origin) {
                Ok(found) if found.is_empty() => {
                    errors.push(format!("test suite template ({template}) file did not render a manifest"))
                }
                Ok(mut found) => suites.append(&mut found),
                Err(error) => errors.push(format!("test suite template ({template}) error: {error}")),
            }
        }
        if errors.is_empty() { Ok(suites) } else { Err(errors.join("\n")) }
    }

    fn condition_values(&mut self, folder: &str, chart: &Chart) -> Option<Map<Node>> {
        let mut texts = Vec::new();
        for name in &self.request.values {
            let path = if name.starts_with('/') { name.clone() } else { files::join(folder, name) };
            match input::read_values(Path::new(&path)) {
                Ok(text) => texts.push(text),
                Err(error) => {
                    self.tested.warnings.push(format!(
                        "Failed to merge values for condition evaluation: failed to read values file {name}: {error}. All subchart tests will be included."
                    ));
                    return None;
                }
            }
        }
        Runner::values_over_defaults(chart, &texts).ok()
    }
}

/// The suites of a rendered template, numbered for their snapshots.
fn rendered_suites(text: &str, origin: &SuiteOrigin<'_>) -> Result<Vec<Suite>, String> {
    let mut suites = Vec::new();
    let parts = pintle_unittest::suite_parts(text);
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| !part.trim().is_empty()) {
        let parsed =
            Suite::parse_one(part, origin).map_err(|error| format!("chart {index} error: {error}"))?;
        if let Some(mut suite) = parsed {
            suite.number(suites.len());
            suites.push(suite);
        }
    }
    Ok(suites)
}

/// The files that tests read and write.
struct Files<'f> {
    host: &'f dyn UnittestHost,
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only rehearsals read it"))]
    chart: &'f Path,
    folder: Option<&'f Path>,
    lookup: &'f LookupObjects,
}

impl Host for Files<'_> {
    fn lookup(&self, release: &Release) -> Option<Arc<dyn Lookup + Send + Sync>> {
        // Scripts of charts reach no network in tests.
        self.lookup.port(release, &Lifecycle::default())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        input::read_values(Path::new(path))
    }

    fn read_referenced(&self, path: &str) -> Result<Vec<u8>, String> {
        self.host.schemas().load(path)
    }

    fn post_render(&self, post_renderer: &PostRenderer, text: &[u8]) -> Result<Vec<u8>, String> {
        self.host.post_render(post_renderer, text)
    }

    fn rendered(&self, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        let Some(folder) = self.folder else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|error| go_error_text(folder, &error))?;
        for (name, text) in files {
            write_below(folder, Path::new(name), text)
                .map_err(|error| go_error_text(&folder.join(name), &error))?;
        }
        Ok(())
    }

    fn prepare(&self, request: &PrepareRequest<'_>) -> Result<PreparedChart, String> {
        lifecycle::prepare(request)
    }

    #[cfg(feature = "embedded")]
    fn rehearse(&self, request: &RehearsalRequest<'_>) -> Result<Vec<RehearsalFinding>, String> {
        rehearsal::rehearse(self.host, self.chart, request)
    }

    #[cfg(not(feature = "embedded"))]
    fn rehearse(&self, _request: &RehearsalRequest<'_>) -> Result<Vec<RehearsalFinding>, String> {
        Err("there are no rehearsals: the program is built without the embedded cluster".to_owned())
    }

    fn elapsed(&self) -> Duration {
        self.host.elapsed()
    }
}

impl Default for UnittestRequest {
    fn default() -> Self {
        UnittestRequest {
            charts: Vec::new(),
            files: vec!["tests/*_test.yaml".to_owned()],
            values: Vec::new(),
            chart_tests_path: String::new(),
            strict: false,
            with_subcharts: true,
            current_folder: PathBuf::new(),
            rendered_folder: None,
            changed: None,
            options: Options { nulls: NullRules::Helm4, ..Options::default() },
            lookup: LookupObjects::default(),
        }
    }
}

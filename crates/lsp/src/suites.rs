//! Runs suites of tests on charts as they are in the editor. Nothing is written: new snapshots are not stored, and tests that
//! start programs or rehearse fail with a hint to the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pintle::chart::{MAX_TEXT, load_files, read_limited};
use pintle::unittest::{
    Capabilities, Host, Options, PostRenderer, PrepareRequest, PreparedChart, RehearsalFinding,
    RehearsalRequest, Runner, Suite, SuiteOrigin, SuiteResult,
};

use crate::project::{FileId, Project};

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Whether it was skipped.
    pub skipped: bool,
    /// Why it failed.
    pub message: String,
}

/// How the suites of a file ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteOutcome {
    /// The tests, in order.
    pub tests: Vec<TestOutcome>,
    /// Why there are none, or not all.
    pub error: Option<String>,
    /// The lines of templates that ran, and all, by the names of files in the chart.
    pub coverage: BTreeMap<String, (usize, usize)>,
}

/// The hint of tests that need more than texts.
const COMMAND: &str = "the editor does not do this; `pintle unittest` does";

/// Runs the suites of a file.
pub fn run(project: &Project, file: FileId) -> SuiteOutcome {
    let failed = |error: String| SuiteOutcome { error: Some(error), ..SuiteOutcome::default() };
    let source = project.file(file);
    let Some(path) = &source.path else { return failed("suites in archives are not run".to_owned()) };
    let chart = match load_files(project.chart_files_of(source.chart)) {
        Ok(chart) => chart,
        Err(error) => return failed(error.to_string()),
    };
    let shown = path.to_string_lossy().into_owned();
    let origin = SuiteOrigin { file: &shown, route: chart.name(), ..SuiteOrigin::default() };
    let suites = match Suite::parse(source.text.text.as_bytes(), &origin) {
        Ok(suites) => suites,
        Err(error) => return failed(error.to_string()),
    };
    let host = Files { project, start: Instant::now() };
    let with_snapshots = |suite: Suite| {
        let snapshots = host.text(Path::new(&suite.snapshot_file())).ok();
        (suite, snapshots)
    };
    let suites: Vec<_> = suites.into_iter().map(with_snapshots).collect();
    let options = Options { threads: 1, coverage: true, ..Options::default() };
    let runner = Runner::new(chart, options, &host);
    let results = runner.run(&suites, &mut Capabilities::default());
    let mut outcome = SuiteOutcome::default();
    for result in &results {
        outcome.error = outcome.error.take().or_else(|| result.error.clone());
        outcome.tests.extend(tests(result));
    }
    for file in runner.coverage(&shown).into_iter().flat_map(|report| report.files) {
        let ran = file.lines.values().filter(|count| **count > 0).count();
        outcome.coverage.insert(file.path.clone(), (ran, file.lines.len()));
    }
    outcome
}

fn tests(result: &SuiteResult) -> impl Iterator<Item = TestOutcome> + '_ {
    result.tests.iter().map(|test| {
        let failed = test.assertions.iter().filter(|assertion| !assertion.passed);
        let mut lines: Vec<String> = test.error.iter().cloned().collect();
        for assertion in failed {
            lines.push(assertion.title());
            lines.extend(assertion.info.iter().cloned());
        }
        TestOutcome {
            name: test.name.clone(),
            passed: test.passed,
            skipped: test.skipped,
            message: lines.join("\n"),
        }
    })
}

/// The files that tests read: those of the project, as they are in the editor.
struct Files<'p> {
    project: &'p Project,
    start: Instant,
}

impl Files<'_> {
    fn text(&self, path: &Path) -> Result<Vec<u8>, String> {
        let error = || format!("open {}: no such file or directory", path.display());
        // Links, and steps up, lead to where they lead.
        let found = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let same = |file: &&crate::project::ProjectFile| file.path.as_ref() == Some(&found);
        if let Some(file) = self.project.files.iter().find(same) {
            let bytes = file.bytes.as_ref().map(|bytes| bytes.to_vec());
            return Ok(bytes.unwrap_or_else(|| file.text.text.clone().into_bytes()));
        }
        let folders: Vec<&PathBuf> =
            self.project.charts.iter().filter_map(|chart| chart.folder.as_ref()).collect();
        if !folders.iter().any(|folder| found.starts_with(folder)) {
            return Err(format!("open {}: the file is outside of the chart", path.display()));
        }
        read_limited(&found, MAX_TEXT).map_err(|_| error())
    }
}

impl Host for Files<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.text(Path::new(path))
    }

    fn read_referenced(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path} is not read: {COMMAND}"))
    }

    fn post_render(&self, _: &PostRenderer, _: &[u8]) -> Result<Vec<u8>, String> {
        Err(format!("post-renderers are not started: {COMMAND}"))
    }

    fn prepare(&self, _: &PrepareRequest<'_>) -> Result<PreparedChart, String> {
        Err(format!("scripts are not run: {COMMAND}"))
    }

    fn rehearse(&self, _: &RehearsalRequest<'_>) -> Result<Vec<RehearsalFinding>, String> {
        Err(format!("nothing is rehearsed: {COMMAND}"))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

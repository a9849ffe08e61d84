//! Runs suites on a chart, several at a time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pintle_chart::Chart;
use pintle_render::trace::Trace;
use pintle_render::{HELM_VERSION, Lookup, Release, Target, TemplateCache};
use pintle_tree::{Map, Node};
use pintle_values::schema::{ParsedSchemas, SchemaCache};
use pintle_values::{DependencyCache, NullRules};

use crate::coverage::{CoverageReport, Recorded};
use crate::job;
use crate::snapshot::Cache;
use crate::templates::Selection;
use crate::user_values::ValuesFiles;
use crate::{
    PostRenderer, PrepareRequest, PreparedChart, RehearsalFinding, RehearsalRequest, Suite, SuiteResult,
    TestResult, user_values,
};

/// What suites need from outside.
pub trait Host: Sync {
    /// Reads a values file. The error is worded as Go's.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// Reads a file that a schema refers to.
    ///
    /// # Errors
    /// When it cannot be read, or must not be.
    fn read_referenced(&self, path: &str) -> Result<Vec<u8>, String>;
    /// Runs a post-renderer.
    ///
    /// # Errors
    /// When it cannot be run, or fails.
    fn post_render(&self, post_renderer: &PostRenderer, text: &[u8]) -> Result<Vec<u8>, String>;
    /// What `lookup` finds besides the objects of a suite.
    fn lookup(&self, _release: &Release) -> Option<Arc<dyn Lookup + Send + Sync>> {
        None
    }
    /// Receives what a test rendered.
    ///
    /// # Errors
    /// When it was to be stored and cannot be.
    fn rendered(&self, _files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        Ok(())
    }
    /// Renders a chart as an installation does, with its scripts. Errors in templates have Helm 3's text.
    ///
    /// # Errors
    /// When it does not render.
    fn prepare(&self, request: &PrepareRequest<'_>) -> Result<PreparedChart, String>;
    /// Rehearses the chart.
    ///
    /// # Errors
    /// When the rehearsal cannot begin.
    fn rehearse(&self, request: &RehearsalRequest<'_>) -> Result<Vec<RehearsalFinding>, String>;
    /// The time since some moment before the run.
    fn elapsed(&self) -> Duration;
}

/// How suites are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Stores what was rendered as the new snapshots.
    pub update_snapshots: bool,
    /// Ends with the first failure.
    pub fail_fast: bool,
    /// Skips the schemas of values.
    pub skip_schema: bool,
    /// Which Helm version's rules apply to null values.
    pub nulls: NullRules,
    /// Repeats what helm-unittest does by mistake: `notGreaterOrEqual` always passes, and the Kubernetes version that a test
    /// sets stays for those after it.
    pub quirks: bool,
    /// How many suites run at a time; zero for as many as there are processors.
    pub threads: usize,
    /// Records which lines and branches of templates tests run, and which values they read.
    pub coverage: bool,
}

/// The Kubernetes version that tests see if they set none. With [`Options::quirks`] it carries over from test to test, from
/// suite to suite and from chart to chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    major: String,
    minor: String,
}

impl Default for Capabilities {
    /// Kubernetes 1.20, the default of Helm's library.
    fn default() -> Self {
        Capabilities { major: "1".to_owned(), minor: "20".to_owned() }
    }
}

/// The versions that one test sees.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    pub(crate) major: String,
    pub(crate) minor: String,
    pub(crate) helm: String,
}

/// The Helm version that charts see by the rules of Helm 3: that of the library in helm-unittest.
const HELM_3_VERSION: &str = "v3.21";

/// Runs suites on one chart.
pub struct Runner<'r> {
    charts: DependencyCache,
    schemas: ParsedSchemas,
    options: Options,
    host: &'r dyn Host,
    recorded: Mutex<Recorded>,
}

/// What the tests of one thread share.
pub(crate) struct Worker<'w> {
    pub(crate) charts: &'w DependencyCache,
    pub(crate) schemas: SchemaCache<'w>,
    pub(crate) values: ValuesFiles<'w>,
    pub(crate) options: &'w Options,
    pub(crate) host: &'w dyn Host,
    pub(crate) templates: &'w TemplateCache,
    /// Where coverage is recorded, if it is.
    pub(crate) trace: Option<RefCell<Trace>>,
}

impl<'r> Runner<'r> {
    /// Prepares a chart for tests.
    pub fn new(mut chart: Chart, options: Options, host: &'r dyn Host) -> Self {
        let values = chart.raw.iter().position(|file| file.name == "values.yaml");
        let values = values.filter(|_| options.coverage).map(|at| chart.raw.swap_remove(at));
        forget_originals(&mut chart);
        // Only coverage needs a text: that of the values, for the lines of its keys.
        chart.raw.extend(values);
        let schemas = match options.skip_schema {
            true => ParsedSchemas::default(),
            false => ParsedSchemas::parse(&chart),
        };
        let charts = DependencyCache::new(chart, options.nulls);
        Runner { charts, schemas, options, host, recorded: Mutex::default() }
    }

    /// Runs suites, each with the text of its snapshot file, and returns their results in the same order. After a failure
    /// with [`Options::fail_fast`] there are fewer.
    pub fn run(
        &self,
        suites: &[(Suite, Option<Vec<u8>>)],
        capabilities: &mut Capabilities,
    ) -> Vec<SuiteResult> {
        let versions: Vec<Vec<Versions>> =
            suites.iter().map(|(suite, _)| self.versions(suite, capabilities)).collect();
        let threads = match self.options.threads {
            _ if self.options.fail_fast => 1,
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let queue = Queue { suites, versions, groups: groups(suites), next: AtomicUsize::new(0) };
        let results: Mutex<BTreeMap<usize, SuiteResult>> = Mutex::default();
        let work = || {
            let templates = self.template_cache();
            let worker = self.worker(&templates);
            queue.work(&worker, &results);
            if let Some(trace) = &worker.trace {
                let mut recorded = self.recorded.lock().unwrap_or_else(|error| error.into_inner());
                recorded.add(&trace.borrow());
            }
        };
        // This thread works too, which saves one thread and the allocator memory that comes with it.
        thread::scope(|scope| {
            for _ in 1..threads.min(queue.groups.len()) {
                scope.spawn(work);
            }
            work();
        });
        results.into_inner().unwrap_or_else(|error| error.into_inner()).into_values().collect()
    }

    /// Changes `capabilities` as [`run`](Runner::run) does, without running anything.
    pub fn carry_over(&self, suites: &[(Suite, Option<Vec<u8>>)], capabilities: &mut Capabilities) {
        if self.options.quirks {
            suites.iter().for_each(|(suite, _)| drop(self.versions(suite, capabilities)));
        }
    }

    /// What the tests have covered so far. `name` is the chart as the user names it.
    pub fn coverage(&self, name: &str) -> Option<CoverageReport> {
        let recorded = self.recorded.lock().unwrap_or_else(|error| error.into_inner());
        self.options.coverage.then(|| recorded.report(self.charts.chart(), name))
    }

    /// Renders a chart of suites. Returns its files by their paths.
    ///
    /// # Errors
    /// When it does not render.
    pub fn render_suites(chart: &Chart, nulls: NullRules) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let release = Release {
            name: "TEST-SUITE-RELEASE".to_owned(),
            namespace: "NAMESPACE".to_owned(),
            revision: 1,
            is_upgrade: false,
        };
        let target = Target::offline(release, pintle_render::Capabilities::default());
        let values = pintle_values::coalesce(chart, &Map::new(), nulls, &mut Vec::new())
            .map_err(|error| error.to_string())?;
        let rendered = pintle_render::render(chart, &values, &target).map_err(|error| error.helm_3_text())?;
        Ok(rendered.files.into_iter().map(|file| (file.path, file.text)).collect())
    }

    /// Whether the suites of a subchart run, by its condition or its tags in the parent chart. `values` are the defaults of
    /// the root chart under the values files of the command line.
    pub fn subchart_is_enabled(parent: &Chart, subchart: &str, values: &Map<Node>) -> bool {
        let named = |dependency: &&pintle_chart::metadata::Dependency| {
            let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
            name == subchart
        };
        let Some(dependency) = parent.metadata.dependencies.iter().find(named) else { return true };
        if !dependency.condition.is_empty() {
            return condition(&dependency.condition, values);
        }
        match values.get("tags") {
            Some(Node::Map(tags)) if !dependency.tags.is_empty() => {
                dependency.tags.iter().any(|tag| tags.get(tag).and_then(Node::as_bool) == Some(true))
            }
            _ => true,
        }
    }

    /// The defaults of a chart under the values files of the command line.
    ///
    /// # Errors
    /// When a text is not YAML.
    pub fn values_over_defaults(chart: &Chart, texts: &[Vec<u8>]) -> Result<Map<Node>, String> {
        user_values::over_defaults(&chart.values, texts)
    }

    fn template_cache(&self) -> TemplateCache {
        let release =
            Release { name: String::new(), namespace: String::new(), revision: 0, is_upgrade: false };
        TemplateCache::new(&Target::offline(release, pintle_render::Capabilities::default()))
    }

    fn worker<'w>(&'w self, templates: &'w TemplateCache) -> Worker<'w> {
        Worker {
            charts: &self.charts,
            schemas: SchemaCache::new(&self.schemas),
            values: ValuesFiles::new(self.host),
            options: &self.options,
            host: self.host,
            templates,
            trace: self.options.coverage.then(|| RefCell::new(Trace::of_coverage())),
        }
    }

    /// The versions that the tests of a suite see, in order.
    fn versions(&self, suite: &Suite, capabilities: &mut Capabilities) -> Vec<Versions> {
        let helm = match self.options.nulls {
            NullRules::Helm3 => HELM_3_VERSION,
            NullRules::Helm4 => HELM_VERSION,
        };
        let mut versions = Vec::with_capacity(suite.tests.len());
        for test in &suite.tests {
            if !self.options.quirks {
                *capabilities = Capabilities::default();
            }
            if test.skip_reason.is_empty() {
                for (given, slot) in [
                    (&test.capabilities.major, &mut capabilities.major),
                    (&test.capabilities.minor, &mut capabilities.minor),
                ] {
                    if !given.is_empty() {
                        slot.clone_from(given);
                    }
                }
            }
            versions.push(Versions {
                major: capabilities.major.clone(),
                minor: capabilities.minor.clone(),
                helm: helm.to_owned(),
            });
        }
        versions
    }
}

/// The suites that are left to run.
struct Queue<'q> {
    suites: &'q [(Suite, Option<Vec<u8>>)],
    versions: Vec<Vec<Versions>>,
    groups: Vec<Range<usize>>,
    next: AtomicUsize,
}

/// Ranges of consecutive suites with the same snapshot file, which must run in order: each reads what the previous one wrote.
fn groups(suites: &[(Suite, Option<Vec<u8>>)]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, (suite, _)) in suites.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if suites[group.start].0.snapshot_file() == suite.snapshot_file() => {
                group.end = at + 1
            }
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

impl Queue<'_> {
    /// Runs suites until there are none.
    fn work(&self, worker: &Worker<'_>, results: &Mutex<BTreeMap<usize, SuiteResult>>) {
        while let Some(group) = self.groups.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut stored: Option<Vec<u8>> = None;
            for at in group.clone() {
                let (suite, snapshots) = &self.suites[at];
                let snapshots = stored.as_ref().or(snapshots.as_ref());
                let result = worker.suite(suite, &self.versions[at], snapshots.map(Vec::as_slice));
                if result.snapshot_file.is_some() {
                    stored.clone_from(&result.snapshot_file);
                }
                let stop = !result.passed && result.fail_fast;
                results.lock().unwrap_or_else(|error| error.into_inner()).insert(at, result);
                if stop {
                    return;
                }
            }
        }
    }
}

impl Worker<'_> {
    fn suite(&self, suite: &Suite, versions: &[Versions], snapshots: Option<&[u8]>) -> SuiteResult {
        let mut result =
            SuiteResult { name: suite.name.clone(), file: suite.file.clone(), ..SuiteResult::default() };
        let mut cache = match Cache::read(snapshots, self.options.update_snapshots) {
            Ok(cache) => cache,
            Err(error) => {
                result.name = String::new();
                result.error = Some(error);
                return result;
            }
        };
        let selection = Selection::new(&suite.route, &suite.settings.templates, &suite.exclude_templates);
        let mut skipped = 0;
        for (index, (test, versions)) in suite.tests.iter().zip(versions).enumerate() {
            if test.skip_reason.is_empty() {
                let tested = job::run(self, suite, test, &selection, versions, &mut cache);
                result.passed = tested.passed && (index == 0 || result.passed);
                result.tests.push(tested);
            } else {
                skipped += 1;
                result.passed |= index == 0;
                result.tests.push(TestResult {
                    name: test.name.clone(),
                    skipped: true,
                    ..TestResult::default()
                });
            }
            if !result.passed && self.options.fail_fast {
                result.fail_fast = true;
                break;
            }
        }
        result.skipped = skipped == suite.tests.len();
        result.snapshots = cache.counts();
        result.snapshot_file = cache.changed();
        result
    }
}

/// Drops the original texts, which tests do not need, because every test has a copy of the chart.
fn forget_originals(chart: &mut Chart) {
    chart.raw = Vec::new();
    chart.subcharts.iter_mut().for_each(forget_originals);
}

/// Whether a condition holds: it does unless its path leads to `false`.
fn condition(path: &str, values: &Map<Node>) -> bool {
    let mut parts = path.split('.');
    let first = parts.next().and_then(|part| values.get(part));
    let found = parts.fold(first, |node, part| node.and_then(|node| node.get(part)));
    found.and_then(Node::as_bool).unwrap_or(true)
}

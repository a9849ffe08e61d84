//! One test: renders the chart with the values of the test, and checks its assertions.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use pintle_chart::Chart;
use pintle_regex::Regex;
use pintle_render::{KubeVersion, Target};
use pintle_tree::{LogLine, Map, Node};

use crate::assertion::{Assertion, Subject};
use crate::check::Comparer;
use crate::lifecycle::{Expectations, PrepareRequest, PreparedChart, RehearsalRequest};
use crate::lookup::First;
use crate::runner::{Versions, Worker};
use crate::snapshot::Cache;
use crate::suite::{Job, Suite};
use crate::templates::{Selection, file_name, join};
use crate::{AssertionResult, TestResult, document, user_values};

/// A program that changes what was rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostRenderer {
    /// The program; none if empty.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The name of a release that a suite does not name.
const RELEASE_NAME: &str = "RELEASE-NAME";
/// The namespace of a release that a suite does not name.
const NAMESPACE: &str = "NAMESPACE";

/// The marker before every file in the input of a post-renderer.
const FILE_MARK: &str = "---\n#### file:";

/// The rendered files by their paths.
type Files = BTreeMap<String, Vec<u8>>;

/// The result of rendering.
#[derive(Default)]
struct Rendering {
    files: Files,
    /// Whether the chart rendered.
    succeeded: bool,
    /// The error, if it is not in a file.
    error: Option<String>,
    /// The processed chart, if there is one.
    chart: Option<Arc<Chart>>,
    /// What the release would do, if the test expects anything of it.
    prepared: Option<PreparedChart>,
}

/// Runs one test.
pub(crate) fn run(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    selection: &Selection,
    versions: &Versions,
    cache: &mut Cache,
) -> TestResult {
    let start = worker.host.elapsed();
    let mut result = TestResult { name: job.name.clone(), ..TestResult::default() };
    if let Err(error) = run_in(worker, suite, job, selection, versions, cache, &mut result) {
        result.error = Some(error);
        return result;
    }
    result.duration = worker.host.elapsed().saturating_sub(start);
    result
}

fn run_in(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    selection: &Selection,
    versions: &Versions,
    cache: &mut Cache,
    result: &mut TestResult,
) -> Result<(), String> {
    let sets = [suite.settings.set.as_slice(), job.settings.set.as_slice()];
    let values =
        user_values::user_values(&suite.route, &suite.file, &job.settings.values, &sets, &worker.values)?;
    let mut rendering = render(worker, suite, job, selection, versions, &values);
    worker.host.rendered(&rendering.files)?;
    result.error.clone_from(&rendering.error);
    let chart = rendering.chart.as_deref().unwrap_or(worker.charts.chart());
    let post_rendered = post_render(worker, suite, job, &rendering.files)?;
    let files = post_rendered.as_ref().unwrap_or(&rendering.files);
    let documents = documents(suite, chart, files, rendering.succeeded)?;
    let post_rendered = post_rendered.is_some();
    // Only the paths are needed from here on; the texts can be large and are dropped.
    let paths: Vec<String> = std::mem::take(&mut rendering.files).into_keys().collect();
    let subject = Subject {
        documents: &documents,
        rendered: rendering.succeeded,
        post_rendered,
        render_error: rendering.error.as_deref(),
        skip_empty_templates: job.selector.as_ref().is_some_and(|selector| selector.skip_empty_templates),
        fail_fast: worker.options.fail_fast,
        quirks: worker.options.quirks,
    };
    let scope = Scope { suite, job, chart, paths: &paths };
    check(&scope, &subject, &mut Comparer::new(cache, &job.name), result);
    if let Some(expected) = &job.settings.lifecycle {
        let mut checked = expected.check(rendering.prepared.as_ref());
        checked.extend(expected.rehearse(|settings| {
            worker.host.rehearse(&RehearsalRequest {
                values: &values,
                target: &target(worker, job, versions),
                permissions: expected.permissions(),
                suite_file: &suite.file,
                settings,
            })
        }));
        let passed = result.passed || job.assertions.is_empty();
        result.passed = passed && checked.iter().all(|checked| checked.passed);
        result.assertions.append(&mut checked);
    }
    Ok(())
}

/// What decides which templates an assertion is about.
struct Scope<'s> {
    suite: &'s Suite,
    job: &'s Job,
    chart: &'s Chart,
    /// The rendered files.
    paths: &'s [String],
}

fn check(scope: &Scope<'_>, subject: &Subject<'_>, snapshots: &mut Comparer<'_>, result: &mut TestResult) {
    let job = scope.job;
    let mut passed = false;
    for (index, assertion) in job.assertions.iter().enumerate() {
        let Some(assertion) = assertion else { continue };
        let templates = scope.templates(assertion);
        let selector = assertion.selector.as_ref().or(job.selector.as_ref());
        let document_index = match job.document_index {
            Some(index) => usize::try_from(index).ok(),
            None => assertion.document_index,
        };
        let selection = (document_index, selector);
        let checked = assertion.run(index, &templates, selection, subject, snapshots);
        // A skipped assertion resets earlier failures, as in helm-unittest.
        passed = (passed || index == 0 || checked.skip_reason.is_some()) && checked.passed;
        result.assertions.push(checked);
        if !passed && subject.fail_fast {
            break;
        }
    }
    result.passed = passed;
    let skipped = |assertion: &AssertionResult| assertion.skip_reason.is_some();
    result.skipped = !result.assertions.is_empty() && result.assertions.iter().all(skipped);
}

impl Scope<'_> {
    /// The templates that an assertion is about, by their paths in the tree.
    fn templates(&self, assertion: &Assertion) -> Vec<String> {
        let (suite, job) = (self.suite, self.job);
        let prefixed = |name: &String| join(&suite.route, &file_name(name));
        if !assertion.template.is_empty() {
            return vec![prefixed(&assertion.template)];
        }
        if !job.settings.templates.is_empty() {
            return job.settings.templates.iter().map(prefixed).collect();
        }
        if !job.template.is_empty() {
            return vec![prefixed(&job.template)];
        }
        if !suite.settings.templates.is_empty()
            && !suite.settings.templates.iter().any(|name| name.contains('*'))
        {
            return suite.settings.templates.iter().map(prefixed).collect();
        }
        let mut templates = self.paths.to_vec();
        if suite.include_crds {
            templates.extend(self.chart.crds().into_iter().map(|crd| crd.path));
        }
        templates
    }
}

fn render(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    selection: &Selection,
    versions: &Versions,
    values: &Map<Node>,
) -> Rendering {
    let failed = |error: String| Rendering { error: Some(error), ..Rendering::default() };
    if !job.settings.release.name.is_empty()
        && let Err(error) = check_name(&job.settings.release.name)
    {
        return failed(error);
    }
    match &job.settings.lifecycle {
        None => render_templates(worker, suite, job, selection, versions, values),
        Some(expected) => {
            // Only templates that are rendered here are traced.
            if worker.trace.is_some() {
                render_templates(worker, suite, job, selection, versions, values);
            }
            prepare(worker, suite, job, selection, (versions, values), expected)
        }
    }
}

/// Renders as an installation does, with the scripts of the chart.
fn prepare(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    selection: &Selection,
    (versions, values): (&Versions, &Map<Node>),
    expected: &Expectations,
) -> Rendering {
    let chart = Arc::new(with_metadata(worker.charts.chart().clone(), job));
    let prepared = worker.host.prepare(&PrepareRequest {
        chart: &chart,
        values,
        target: &target(worker, job, versions),
        permissions: expected.permissions(),
        options: worker.options,
    });
    match prepared {
        Ok(mut prepared) => {
            let mut files = std::mem::take(&mut prepared.files);
            files.retain(|path, _| selection.contains(path));
            let (chart, prepared) = (Some(chart), Some(prepared));
            Rendering { files, succeeded: true, error: None, chart, prepared }
        }
        Err(error) => Rendering { chart: Some(chart), ..failure(suite, job, error) },
    }
}

/// A rendering that failed with an error in Helm 3's words.
fn failure(suite: &Suite, job: &Job, error: String) -> Rendering {
    match error_files(suite, job, &error) {
        Some(files) => Rendering { files, ..Rendering::default() },
        None => Rendering { error: Some(error), ..Rendering::default() },
    }
}

/// Renders the templates that the suite selects.
fn render_templates(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    selection: &Selection,
    versions: &Versions,
    values: &Map<Node>,
) -> Rendering {
    let failed = |error: String| Rendering { error: Some(error), ..Rendering::default() };
    let mut log = Vec::new();
    let chart = match worker.charts.process(values, &mut log) {
        Ok(chart) => chart,
        Err(error) => return failed(error.to_string()),
    };
    let values = match render_values(worker, &chart, values, &mut log) {
        Ok(values) => values,
        Err(error) => return Rendering { chart: Some(chart), ..failed(error.to_string()) },
    };
    let templates = selection.templates(&chart, worker.templates);
    let chart =
        if job.settings.chart.is_empty() { chart } else { Arc::new(with_metadata((*chart).clone(), job)) };
    let target = target(worker, job, versions);
    let rendered =
        templates.map(|templates| templates.of(&chart)).and_then(|templates| match &worker.trace {
            Some(trace) => templates.render_traced(&values, &target, &mut trace.borrow_mut()),
            None => templates.render(&values, &target),
        });
    match rendered {
        Ok(rendered) => {
            let files = rendered.files.into_iter().map(|file| (file.path, file.text)).collect();
            Rendering { files, succeeded: true, chart: Some(chart), ..Rendering::default() }
        }
        Err(error) => Rendering { chart: Some(chart), ..failure(suite, job, error.helm_3_text()) },
    }
}

/// The values of the chart, validated unless that is not wanted.
fn render_values(
    worker: &Worker<'_>,
    chart: &Chart,
    user: &Map<Node>,
    log: &mut Vec<LogLine>,
) -> pintle_values::Result<Map<Node>> {
    let values = Node::Map(pintle_values::coalesce(chart, user, worker.options.nulls, log)?);
    if !worker.options.skip_schema {
        let read = &mut |path: &str| worker.host.read_referenced(path);
        worker.schemas.check(chart, &values, read, log)?;
    }
    match values {
        Node::Map(values) => Ok(values),
        _ => Ok(Map::new()),
    }
}

/// Puts an error into the file that it is about, for `failedTemplate`. An error in a partial is about all templates of the
/// suite.
fn error_files(suite: &Suite, job: &Job, error: &str) -> Option<Files> {
    if job.assertions.iter().flatten().all(|assertion| assertion.kind.needs_render) {
        return None;
    }
    let (path, message) = parse_error(error)?;
    let document = Node::Map(Map::from_entries(vec![("raw".into(), Node::from(message))]));
    let text = pintle_yaml::write_pretty(&document);
    if !crate::templates::is_partial(&path) {
        return Some([(path, text)].into_iter().collect());
    }
    let all = ["**".to_owned()];
    let templates = if suite.settings.templates.is_empty() { &all[..] } else { &suite.settings.templates };
    Some(templates.iter().map(|name| (join(&suite.route, &file_name(name)), text.clone())).collect())
}

/// The pattern by which helm-unittest finds the file and the message in an error.
static ERROR_PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?msU)^(?:.+: |.+ \()(?:(.+):\d+:\d+).+(?:.+>)*: (.+)$";
    Regex::compile(pattern).expect("the pattern is valid")
});

/// The file that an error is about, and its message: of an error of several lines all but the first.
fn parse_error(error: &str) -> Option<(String, &str)> {
    let groups = ERROR_PATTERN.captures(error.as_bytes())?;
    let group = |at: usize| groups.get(at).cloned().flatten().and_then(|range| error.get(range));
    let message = match error.split_once('\n') {
        Some((_, rest)) => rest,
        None => group(2)?,
    };
    Some((group(1)?.to_owned(), message))
}

fn check_name(name: &str) -> Result<(), String> {
    let label = |label: &str| {
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().is_some_and(inner)
            && bytes.last().is_some_and(inner)
            && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
    };
    if name.len() <= 53 && name.split('.').all(label) {
        return Ok(());
    }
    let pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    Err(format!("invalid release name, must match regex {pattern} and the length must not be longer than 53"))
}

/// The chart with the versions that the test sets, which its subcharts get too.
fn with_metadata(mut chart: Chart, job: &Job) -> Chart {
    let set = |chart: &mut Chart| {
        for (slot, value) in [
            (&mut chart.metadata.version, &job.settings.chart.version),
            (&mut chart.metadata.app_version, &job.settings.chart.app_version),
        ] {
            if !value.is_empty() {
                slot.clone_from(value);
            }
        }
    };
    set(&mut chart);
    chart.subcharts.iter_mut().for_each(set);
    chart
}

fn target(worker: &Worker<'_>, job: &Job, versions: &Versions) -> Target {
    let or = |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
    let release = pintle_render::Release {
        name: or(&job.settings.release.name, RELEASE_NAME),
        namespace: or(&job.settings.release.namespace, NAMESPACE),
        revision: job.settings.release.revision,
        is_upgrade: job.settings.release.upgrade,
    };
    let version = format!("v{}.{}.0", versions.major, versions.minor);
    let capabilities = pintle_render::Capabilities {
        kube_version: KubeVersion {
            normalized: version.clone(),
            version,
            major: versions.major.clone(),
            minor: versions.minor.clone(),
        },
        api_versions: job.capabilities.api_versions.iter().flatten().cloned().collect(),
        helm_version: versions.helm.clone(),
    };
    let others = worker.host.lookup(&release);
    let mut target = Target::offline(release, capabilities);
    let provider = &job.settings.provider;
    match (provider.objects.is_empty(), others) {
        (true, None) => {}
        (true, Some(others)) => target.lookup = others,
        (false, None) => target.lookup = Arc::new(provider.clone()),
        (false, Some(others)) => target.lookup = Arc::new(First(provider.clone(), others)),
    }
    target
}

/// Runs the post-renderer of the test or the suite, if there is one.
fn post_render(
    worker: &Worker<'_>,
    suite: &Suite,
    job: &Job,
    files: &Files,
) -> Result<Option<Files>, String> {
    let chosen = [&job.settings.post_renderer, &suite.settings.post_renderer];
    let Some(post_renderer) = chosen.into_iter().find(|one| !one.command.is_empty()) else { return Ok(None) };
    let mut text = Vec::new();
    for (path, content) in files {
        text.extend_from_slice(format!("{FILE_MARK} {path}\n").as_bytes());
        text.extend_from_slice(content.trim_ascii());
        text.push(b'\n');
    }
    let output = worker.host.post_render(post_renderer, &text)?;
    Ok(Some(split_files(&String::from_utf8_lossy(&output))))
}

/// Finds the files in what a post-renderer returned; if it dropped the marks, all is one file.
fn split_files(text: &str) -> Files {
    let mut files = Files::new();
    let starts: Vec<usize> = text.match_indices(FILE_MARK).map(|(at, _)| at).collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let block = &text[start + FILE_MARK.len()..end];
        let (line, content) = block.split_once('\n').unwrap_or((block, ""));
        if let Some(path) = line.strip_prefix(' ') {
            files.insert(path.to_owned(), content.as_bytes().to_vec());
        }
    }
    if files.is_empty() {
        files.insert("manifest.yaml".to_owned(), text.as_bytes().to_vec());
    }
    files
}

/// Reads the documents of all files. Text files are one document each, and other files none.
fn documents(
    suite: &Suite,
    chart: &Chart,
    files: &Files,
    rendered: bool,
) -> Result<BTreeMap<String, Vec<Node>>, String> {
    let mut documents = BTreeMap::new();
    if suite.include_crds {
        for crd in chart.crds() {
            documents.insert(crd.path, document::documents(&crd.file.data)?);
        }
    }
    for (path, text) in files {
        let path = match path.starts_with(chart.name()) {
            true => path.clone(),
            false => join(chart.name(), path),
        };
        let extension = if rendered { pintle_chart::path::extension(&path) } else { ".yaml" };
        match extension {
            ".yaml" | ".yml" | ".tpl" => {
                documents.insert(path, document::documents(text)?);
            }
            ".txt" => {
                let raw = Node::from(String::from_utf8_lossy(text).into_owned());
                documents.insert(path, vec![Node::Map(Map::from_entries(vec![("raw".into(), raw)]))]);
            }
            _ => {}
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_split_into_file_and_message() {
        for (error, expected) in [
            ("execution error at (c/templates/a.yaml:3:4): no name", Some(("c/templates/a.yaml", "no name"))),
            (
                "template: c/templates/a.yaml:3:4: executing \"c/templates/a.yaml\" at <.Values.x.y>: nil pointer evaluating interface {}.y",
                Some(("c/templates/a.yaml", "nil pointer evaluating interface {}.y")),
            ),
            (
                "execution error at (c/templates/a.yaml:3:4): first\nsecond\nthird",
                Some(("c/templates/a.yaml", "second\nthird")),
            ),
            ("parse error at (c/templates/a.yaml:3): unexpected EOF", None),
        ] {
            let found = parse_error(error);
            let found = found.as_ref().map(|(path, message)| (path.as_str(), *message));
            assert_eq!(found, expected, "{error}");
        }
    }

    #[test]
    fn files_of_post_renderers_are_found_by_their_marks() {
        let files = split_files("---\n#### file: a.yaml\nx: 1\n---\ny: 2\n---\n#### file: b.yaml\nz: 3\n");
        let expected = [("a.yaml", "x: 1\n---\ny: 2\n"), ("b.yaml", "z: 3\n")];
        assert!(
            files.iter().map(|(path, text)| (path.as_str(), std::str::from_utf8(text).unwrap())).eq(expected)
        );
        assert_eq!(split_files("x: 1\n").keys().next().map(String::as_str), Some("manifest.yaml"));
    }

    #[test]
    fn release_names_follow_kubernetes() {
        assert!(check_name("a.b-c").is_ok());
        for name in ["", "A", "a_b", "-a", "a.", &"a".repeat(54)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}

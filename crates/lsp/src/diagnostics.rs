//! What is wrong with a chart: found by rendering and checking it as it is in the editor. Runs on a thread of its own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pintle::chart::{Chart, load_files};
use pintle::check::Severity;
use pintle::ops::{CheckRequest, LoadedChart, check_loaded};
use pintle::prepare::{PrepareOptions, prepare};
use pintle::render::{Capabilities, Release, Target};
use pintle::{Lifecycle, RecordObjects, Session, Silent, ValuesLayer};
use pintle_tree::Map;

use crate::project::{FileId, FileKind, Project, Text};
use crate::rename::Edits;
use crate::scenario::Scenario;

/// How bad something is, in the numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Must be fixed.
    Error = 1,
    /// Should be fixed.
    Warning = 2,
    /// Should be known.
    Information = 3,
    /// May be improved.
    Hint = 4,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub range: Range<usize>,
    /// How bad.
    pub level: Level,
    /// What.
    pub message: String,
    /// The rule, or what found it.
    pub code: String,
    /// Whether it is about something that could be removed.
    pub unnecessary: bool,
    /// What explains it: file and bytes.
    pub related: Option<(FileId, Range<usize>, String)>,
    /// The text of the line to replace, and what fixes it.
    pub fix: Option<(String, String)>,
}

/// What is wrong with the files of a project.
pub type Problems = BTreeMap<FileId, Vec<Problem>>;

/// What is wrong with the text of a file alone.
pub fn of_text(project: &Project, file: FileId) -> Vec<Problem> {
    let source = project.file(file);
    let text = &source.text;
    let mut problems = Vec::new();
    if text.too_large {
        problems.push(Problem {
            range: 0..0,
            level: Level::Information,
            message: "this file is too large to be analysed; only its syntax is checked".to_owned(),
            code: "too-large".to_owned(),
            unnecessary: false,
            related: None,
            fix: None,
        });
    }
    if let Some(tree) = &text.tree {
        for error in tree.errors() {
            problems.push(Problem {
                range: error.range.clone(),
                level: Level::Error,
                message: error.message.clone(),
                code: "syntax".to_owned(),
                unnecessary: false,
                related: error.related.clone().map(|range| (file, range, "it starts here".to_owned())),
                fix: None,
            });
        }
    }
    if matches!(source.kind, FileKind::Values | FileKind::MoreValues)
        && let Err(error) = pintle_yaml::read_values(text.text.as_bytes())
    {
        problems.push(at_line(text, error.line().unwrap_or(1), Level::Error, error.to_string(), "yaml"));
    }
    problems
}

fn at_line(text: &Text, line: usize, level: Level, message: String, code: &str) -> Problem {
    let range = text.lines.line_range(&text.text, line.saturating_sub(1));
    let content = &text.text[range.clone()];
    let start = range.start + (content.len() - content.trim_start().len());
    let end = range.start + content.trim_end().len();
    Problem {
        range: start..end.max(start),
        level,
        message,
        code: code.to_owned(),
        unnecessary: false,
        related: None,
        fix: None,
    }
}

/// What is wrong with a chart, with its own values and with each of its values files for CI.
pub fn of_chart(project: &Project) -> Problems {
    let mut problems = Problems::new();
    // A template that does not parse is reported by its tree, with all that is wrong with it.
    let broken = project
        .templates()
        .any(|file| project.file(file).text.tree.as_ref().is_some_and(|tree| !tree.errors().is_empty()));
    let chart_file = project.file_named(0, "Chart.yaml");
    let chart = match load_files(project.chart_files()) {
        Ok(chart) => chart,
        Err(error) => {
            let values =
                project.file_named(0, "values.yaml").filter(|_| error.to_string().contains("values.yaml"));
            // Malformed values are reported by the text alone.
            if let (None, Some(file)) = (values, chart_file) {
                let problem = at_line(&project.file(file).text, 1, Level::Error, error.to_string(), "chart");
                problems.entry(file).or_default().push(problem);
            }
            return problems;
        }
    };
    for scenario in &project.configured {
        if let (Err(error), Some(file)) = (&scenario.values, chart_file) {
            let message = format!("the scenario `{}` cannot be read: {error}", scenario.name);
            let problem = at_line(&project.file(file).text, 1, Level::Warning, message, "scenario");
            problems.entry(file).or_default().push(problem);
        }
    }
    check_scripts(project, &chart, &mut problems);
    if !broken {
        check(project, &chart, &mut problems);
    }
    problems
}

/// Checks the scripts of a chart, which are not run for that.
fn check_scripts(project: &Project, chart: &Chart, problems: &mut Problems) {
    if !project.has_scripts() {
        return;
    }
    let findings = match pintle::lua::check(chart) {
        Ok(findings) => findings,
        Err(error) => {
            if let Some(file) = project.file_named(0, "ext/permissions.yaml") {
                let problem = at_line(&project.file(file).text, 1, Level::Error, error.to_string(), "script");
                problems.entry(file).or_default().push(problem);
            }
            return;
        }
    };
    for finding in findings {
        let Some(file) = project.by_rendered_path(&finding.file) else { continue };
        let text = &project.file(file).text;
        let problem = at_line(text, finding.line, Level::Error, finding.message, "script");
        problems.entry(file).or_default().push(problem);
    }
}

fn check(project: &Project, chart: &Chart, problems: &mut Problems) {
    let text_of = |file: FileId| project.file(file).text.text.clone().into_bytes();
    let config = project.file_named(0, ".pintle-check.yaml").map(text_of);
    let loaded = LoadedChart {
        name: chart.name().to_owned(),
        chart,
        values_files: project.values_for_checks(),
        config,
    };
    let session = Session::offline();
    let request = CheckRequest { ignore_missing_schemas: true, ..CheckRequest::default() };
    let report = match check_loaded(&session, loaded, &request, &mut Silent) {
        Ok(report) => report,
        Err(error) => {
            if let Some(file) = project.file_named(0, "Chart.yaml") {
                let problem = at_line(&project.file(file).text, 1, Level::Error, error.to_string(), "check");
                problems.entry(file).or_default().push(problem);
            }
            return;
        }
    };
    for finding in &report.findings {
        let location = finding.location.as_ref();
        let file = location.and_then(|location| project.by_rendered_path(&location.file));
        let Some(file) = file.or_else(|| project.file_named(0, "Chart.yaml")) else { continue };
        let line = location.map_or(1, |location| location.line);
        let mut message = finding.message.clone();
        let scenarios: Vec<&str> =
            finding.scenarios.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        if !scenarios.is_empty() && !finding.scenarios.contains("") {
            message.push_str(&format!(" (with {})", scenarios.join(", ")));
        }
        let rule = finding.rule.name;
        let mut problem = at_line(&project.file(file).text, line, level(finding.severity), message, rule);
        problem.unnecessary = rule.contains("unused");
        problem.fix = finding.fix.as_ref().map(|fix| (fix.from.clone(), fix.to.clone()));
        if rule.contains("unused") || rule.contains("undefined") {
            problem.level = problem.level.max(Level::Information);
        }
        // What policy rules find may well work; only what a cluster refuses is an error in the editor.
        // So do null, and an empty text for one of some words, which a cluster takes for values that are missing.
        let may_be_missing = finding.message.contains("got null") || finding.message.ends_with(", <nil>");
        if !REFUSED.contains(&rule) || may_be_missing {
            problem.level = problem.level.max(Level::Warning);
        }
        // A chart may require values that only its users know.
        if rule == "render" && (is_required(&finding.message) || finding.message.contains(NOT_FETCHED)) {
            problem.level = Level::Information;
        }
        let known = problems.entry(file).or_default();
        if !known.contains(&problem) {
            known.push(problem);
        }
    }
}

/// Schemas that are elsewhere are not fetched, so nothing is known about values that they describe.
const NOT_FETCHED: &str = "not fetched over the network";

/// The rules about what cannot be rendered, or what a cluster refuses.
const REFUSED: [&str; 6] =
    ["render", "schema", "unknown-field", "invalid-yaml", "removed-api", "duplicate-key"];

/// Whether a chart stops rendering by itself.
fn is_required(message: &str) -> bool {
    message.contains("error calling fail")
        || message.contains("error calling required")
        || message.contains("execution error at")
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Info => Level::Information,
    }
}

/// The rendered files by path, or why there are none.
pub type Rendering = Result<Vec<(String, Vec<u8>)>, String>;

/// Renders a project with its own values and with each of its values files for CI. Random values are always the same.
pub fn render_scenarios(project: &Project) -> Vec<(String, Rendering)> {
    let chart = load_files(project.chart_files()).map_err(|error| error.to_string());
    let render = |scenario: Scenario| {
        let Scenario { name, text } = scenario;
        let rendering = chart.clone().and_then(|chart| render(chart, &name, text));
        (name, rendering)
    };
    project.scenarios().into_iter().map(render).collect()
}

/// Renders a chart.
pub fn render(chart: Chart, name: &str, values: Option<Vec<u8>>) -> Rendering {
    let user = match values {
        Some(content) => {
            let layer = ValuesLayer::Bytes { name: name.to_owned(), content };
            let none = &mut |_: &std::path::Path| Err("not a file".to_owned());
            pintle::values::layer(&[layer], none).map_err(|error| error.to_string())?
        }
        None => Map::new(),
    };
    let release = Release {
        name: "release-name".to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        is_upgrade: false,
    };
    let mut target = Target::offline(release, Capabilities::default());
    target.repeatable = true;
    let rules = PrepareOptions { record_objects: RecordObjects::Allow, ..PrepareOptions::default() };
    let prepared = prepare(chart, user, &target, rules, &Lifecycle::default(), &mut Silent);
    let prepared = prepared.map_err(|error| error.to_string())?;
    let mut files = prepared.files;
    files.push(("NOTES.txt".to_owned(), prepared.notes));
    Ok(files)
}

/// The project with edits applied.
pub fn with_edits(project: &Project, edits: &Edits) -> Project {
    let mut changed = project.clone();
    for (file, edits) in edits {
        let mut edits = edits.clone();
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = project.file(*file).text.text.clone();
        for (range, new) in edits {
            text.replace_range(range, &new);
        }
        let old = &project.file(*file).text;
        let lines = crate::position::LineIndex::new(&text);
        // Rendering needs the text only.
        let text = Text {
            text,
            number: old.number,
            lines,
            tree: None,
            outline: None,
            schema: None,
            too_large: true,
        };
        changed.set_text(*file, Arc::new(text));
    }
    changed
}

//! What tests expect of the lifecycle of a release, beyond what its templates render: the key `pintle` of suites and
//! tests. helm-unittest ignores it.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_regex::Regex;
use pintle_render::Target;
use pintle_tree::{Map, Node};

use crate::AssertionResult;
use crate::diff::unified;
use crate::fail::{self, Info};
use crate::runner::Options;

/// What a test expects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectations {
    /// The permissions that the scripts of the chart get.
    pub(crate) permissions: Option<Vec<String>>,
    /// The events that the scripts of the chart handle.
    pub(crate) events: Option<Vec<String>>,
    /// Patterns, each of which a line of the scripts' log matches.
    pub(crate) log: Option<Vec<String>>,
    /// The hooks of each event, in the order in which they run.
    pub(crate) hooks: Option<BTreeMap<String, Vec<String>>>,
    /// The images of the objects.
    pub(crate) images: Option<ImageExpectations>,
    /// How to rehearse the chart.
    pub(crate) rehearsal: Option<RehearsalSettings>,
}

/// What a test expects of images.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageExpectations {
    /// All images, in any order.
    pub(crate) equal: Option<Vec<String>>,
    /// The registries that images may come from.
    pub(crate) registries: Option<Vec<String>>,
}

/// How a test rehearses the chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RehearsalSettings {
    /// The chart to upgrade from, relative to the suite; the chart itself if empty.
    pub from: String,
    /// Files and folders of objects that are there before, relative to the suite.
    pub given: Vec<String>,
    /// The Kubernetes version; the newest if empty.
    pub kube_version: String,
    /// Whether warnings are failures.
    pub strict: bool,
    /// A pattern that an error of the rehearsal must match; without it, there must be none.
    pub fails: Option<String>,
}

/// A chart that is to be rendered as an installation renders it.
#[derive(Clone, Copy)]
pub struct PrepareRequest<'r> {
    /// The chart.
    pub chart: &'r Chart,
    /// The values of the test.
    pub values: &'r Map<Node>,
    /// The release and the capabilities.
    pub target: &'r Target,
    /// The permissions of the chart's scripts.
    pub permissions: &'r [String],
    /// How suites are run.
    pub options: &'r Options,
}

/// What a chart rendered, and what its release would do.
#[derive(Clone, Debug, Default)]
pub struct PreparedChart {
    /// The rendered files by their paths, after the handlers of scripts.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The lifecycle events that the scripts of the chart handle, in the order in which they occur.
    pub events: Vec<String>,
    /// What scripts logged.
    pub log: Vec<String>,
    /// The hooks of every hook event as `Kind/name`, in the order in which they run.
    pub hooks: BTreeMap<String, Vec<String>>,
    /// The images of all objects, each with its registry.
    pub images: BTreeMap<String, String>,
}

/// A chart that is to be rehearsed.
#[derive(Clone, Copy)]
pub struct RehearsalRequest<'r> {
    /// The values of the test.
    pub values: &'r Map<Node>,
    /// The release.
    pub target: &'r Target,
    /// The permissions of the chart's scripts.
    pub permissions: &'r [String],
    /// The suite, which paths are relative to.
    pub suite_file: &'r str,
    /// The settings of the test.
    pub settings: &'r RehearsalSettings,
}

/// What a rehearsal found.
#[derive(Clone, Debug, Default)]
pub struct RehearsalFinding {
    /// Whether it is an error.
    pub is_error: bool,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// What happened, where, in one line or more.
    pub text: String,
}

impl Expectations {
    /// Takes from the suite what the test does not say itself.
    pub(crate) fn inherit(&mut self, suite: &Expectations) {
        let suite = suite.clone();
        self.permissions = self.permissions.take().or(suite.permissions);
        self.events = self.events.take().or(suite.events);
        self.log = self.log.take().or(suite.log);
        self.hooks = self.hooks.take().or(suite.hooks);
        self.images = self.images.take().or(suite.images);
        self.rehearsal = self.rehearsal.take().or(suite.rehearsal);
    }

    pub(crate) fn permissions(&self) -> &[String] {
        self.permissions.as_deref().unwrap_or_default()
    }

    /// Checks what a chart rendered. `None` is a chart that does not render, of which only the rehearsal can say more.
    pub(crate) fn check(&self, prepared: Option<&PreparedChart>) -> Vec<AssertionResult> {
        let mut results = Vec::new();
        let mut add = |kind: &'static str, check: &dyn Fn(&PreparedChart) -> Info| {
            let info = match prepared {
                Some(prepared) => check(prepared),
                None => fail::error(None, None, "the chart does not render"),
            };
            results.push(result(kind, info));
        };
        if let Some(expected) = &self.events {
            add("events", &|prepared| compare(&list(expected), &list(&prepared.events)));
        }
        if let Some(patterns) = &self.log {
            add("log", &|prepared| unmatched(patterns, &prepared.log));
        }
        if let Some(expected) = &self.hooks {
            add("hooks", &|prepared| hooks(expected, &prepared.hooks));
        }
        if let Some(expected) = &self.images {
            add("images", &|prepared| expected.check(&prepared.images));
        }
        results
    }

    /// Rehearses the chart, if that is wanted.
    pub(crate) fn rehearse(
        &self,
        rehearse: impl FnOnce(&RehearsalSettings) -> Result<Vec<RehearsalFinding>, String>,
    ) -> Option<AssertionResult> {
        let settings = self.rehearsal.as_ref()?;
        let info = match rehearse(settings) {
            Ok(findings) => settings.check(&findings),
            Err(error) => fail::error(None, None, &error),
        };
        Some(result("rehearsal", info))
    }
}

impl ImageExpectations {
    fn check(&self, images: &BTreeMap<String, String>) -> Info {
        let mut info = Info::new();
        if let Some(expected) = &self.equal {
            let expected: BTreeSet<&String> = expected.iter().collect();
            info = compare(&list(expected), &list(images.keys()));
        }
        if let Some(registries) = &self.registries {
            let other = images.iter().filter(|(_, registry)| !registries.contains(registry));
            let other = list(other.map(|(image, _)| image));
            if other != Node::List(Vec::new()) {
                let format = fail::format(false, false, true, false, " images from the registries");
                let texts = [fail::yaml(&list(registries)), fail::yaml(&other)];
                info.extend(fail::lines(&format, None, None, &[&texts[0], &texts[1]]));
            }
        }
        info
    }
}

impl RehearsalSettings {
    fn check(&self, findings: &[RehearsalFinding]) -> Info {
        let counts = |finding: &&RehearsalFinding| finding.is_error || (self.strict && finding.is_warning);
        let texts: Vec<String> = findings.iter().filter(counts).map(|finding| finding.text.clone()).collect();
        match &self.fails {
            Some(pattern) => unmatched(std::slice::from_ref(pattern), &texts),
            None if texts.is_empty() => Info::new(),
            None => fail::error(None, None, &texts.join("\n")),
        }
    }
}

fn result(kind: &'static str, info: Info) -> AssertionResult {
    AssertionResult { kind, lifecycle: true, passed: info.is_empty(), info, ..AssertionResult::default() }
}

fn list<'s>(texts: impl IntoIterator<Item = &'s String>) -> Node {
    Node::List(texts.into_iter().map(|text| Node::from(text.as_str())).collect())
}

/// Nothing if both are equal.
fn compare(expected: &Node, actual: &Node) -> Info {
    if expected == actual {
        return Info::new();
    }
    let (expected, actual) = (fail::yaml(expected), fail::yaml(actual));
    let format = fail::format(false, false, true, true, " to equal");
    fail::lines(&format, None, None, &[&expected, &actual, &unified(&expected, &actual)])
}

fn hooks(expected: &BTreeMap<String, Vec<String>>, actual: &BTreeMap<String, Vec<String>>) -> Info {
    if let Some(unknown) = expected.keys().find(|event| !actual.contains_key(*event)) {
        let known: Vec<&str> = actual.keys().map(String::as_str).collect();
        let text = format!("there is no hook event `{unknown}`; the events are {}", known.join(", "));
        return fail::error(None, None, &text);
    }
    let of = |hooks: &BTreeMap<String, Vec<String>>| {
        let events = hooks.iter().filter(|(event, _)| expected.contains_key(*event));
        Node::Map(events.map(|(event, hooks)| (event.as_str().into(), list(hooks))).collect())
    };
    compare(&of(expected), &of(actual))
}

/// The patterns that no text matches.
fn unmatched(patterns: &[String], texts: &[String]) -> Info {
    let mut info = Info::new();
    for pattern in patterns {
        match Regex::compile(pattern) {
            Ok(regex) if texts.iter().any(|text| regex.is_match(text.as_bytes())) => {}
            Ok(_) => {
                let format = fail::format(false, false, true, false, " a line to match");
                let actual = if texts.is_empty() { "nothing".to_owned() } else { texts.join("\n") };
                info.extend(fail::lines(&format, None, None, &[pattern, &actual]));
            }
            Err(error) => info.extend(fail::error(None, None, &error.to_string())),
        }
    }
    info
}

#[cfg(test)]
mod tests;

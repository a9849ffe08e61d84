//! Coverage: which lines and branches of templates the tests of a chart ran, and which values they read.

mod html;
mod lcov;
mod text;

use std::collections::BTreeMap;

use pintle_chart::Chart;
use pintle_render::trace::{Branch, Coverage, ReadValues, Region, RegionKind, Trace};
use pintle_render::{Release, Target, Templates};
use pintle_tree::Str;

/// What the tests of a chart covered.
#[derive(Clone, Debug, Default)]
pub struct CoverageReport {
    /// The chart, as the user names it.
    pub chart: String,
    /// The templates, by path.
    pub files: Vec<FileCoverage>,
    /// The keys of values.yaml, in order.
    pub values: Vec<ValueCoverage>,
}

/// The coverage of one template.
#[derive(Clone, Debug, Default)]
pub struct FileCoverage {
    /// The path in the chart.
    pub path: String,
    /// The text of the template.
    pub text: Str,
    /// How often each line ran. Lines that write nothing and do nothing are not here.
    pub lines: BTreeMap<usize, u64>,
    /// The branches, in order.
    pub branches: Vec<BranchCoverage>,
}

/// The coverage of an `if`, `with` or `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchCoverage {
    /// The line.
    pub line: usize,
    /// `if`, `with` or `range`.
    pub word: &'static str,
    /// The condition.
    pub condition: String,
    /// Which way it went.
    pub outcome: Branch,
}

/// Whether a key of values.yaml was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCoverage {
    /// The path, with dots.
    pub path: String,
    /// The line in values.yaml.
    pub line: usize,
    /// Whether a template read it.
    pub read: bool,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// What was covered.
    pub covered: usize,
    /// Everything.
    pub all: usize,
}

impl Share {
    fn add(&mut self, other: Share) {
        self.covered += other.covered;
        self.all += other.all;
    }

    /// The percentage; 100 if there is nothing to cover.
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.covered as f64 * 100.0 / self.all as f64 }
    }
}

/// What was recorded by all threads.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    coverage: Coverage,
    reads: ReadValues,
}

impl Recorded {
    pub(crate) fn add(&mut self, trace: &Trace) {
        if let (Some(coverage), Some(reads)) = (trace.coverage(), trace.reads()) {
            self.coverage.merge(coverage);
            self.reads.merge(reads);
        }
    }

    /// The report about a chart and those of its dependencies whose templates ran.
    pub(crate) fn report(&self, chart: &Chart, name: &str) -> CoverageReport {
        let mut report = CoverageReport { chart: name.to_owned(), ..CoverageReport::default() };
        let release =
            Release { name: String::new(), namespace: String::new(), revision: 0, is_upgrade: false };
        let target = Target::offline(release, pintle_render::Capabilities::default());
        if let Ok(templates) = Templates::parse(chart, &target) {
            let own = format!("{}/templates/", chart.name());
            for (path, regions) in templates.regions(&self.coverage) {
                let path = path.to_string();
                let ran = regions.iter().any(|region| region.hits > 0);
                let Some(text) = source(chart, &path).filter(|_| ran || path.starts_with(&own)) else {
                    continue;
                };
                let below = path.split_once('/').map_or(path.as_str(), |(_, below)| below).to_owned();
                report.files.push(file(below, text, &regions));
            }
        }
        report.files.retain(|file| !file.lines.is_empty());
        report.values = values(chart, &self.reads);
        report
    }
}

/// The text of a template by its path in the tree.
fn source(chart: &Chart, path: &str) -> Option<Str> {
    let below = path.strip_prefix(chart.name())?.strip_prefix('/')?;
    if let Some(file) = chart.templates.iter().find(|file| file.name == below) {
        return Some(file.data.text());
    }
    let below = below.strip_prefix("charts/")?;
    chart.subcharts.iter().find_map(|subchart| source(subchart, below))
}

fn file(path: String, text: Str, regions: &[Region]) -> FileCoverage {
    let mut found = FileCoverage { path, ..FileCoverage::default() };
    let shown = text.to_str_lossy();
    let written: Vec<&str> = shown.lines().collect();
    for region in regions {
        for line in region.lines.clone() {
            let content = written.get(line - 1).map_or("", |line| line.trim());
            let counts = !content.is_empty() && !content.starts_with('#') && content != "---";
            if counts || region.kind != RegionKind::Text {
                let hits = found.lines.entry(line).or_default();
                *hits = (*hits).max(region.hits);
            }
        }
        if let RegionKind::Branch { word, condition, outcome } = &region.kind {
            let (line, condition) = (*region.lines.start(), condition.clone());
            found.branches.push(BranchCoverage { line, word, condition, outcome: *outcome });
        }
    }
    found.text = text.clone();
    found
}

/// The leaves of values.yaml. Those of dependencies are covered by their own tests.
fn values(chart: &Chart, reads: &ReadValues) -> Vec<ValueCoverage> {
    let mut found = Vec::new();
    chart.visit_value_keys(&mut |key| {
        if key.is_leaf {
            found.push(ValueCoverage { path: key.dotted(), line: key.line, read: reads.contains(key.path) });
        }
        true
    });
    found
}

impl FileCoverage {
    /// The lines that ran.
    pub fn lines_share(&self) -> Share {
        Share { covered: self.lines.values().filter(|hits| **hits > 0).count(), all: self.lines.len() }
    }

    /// The ways of branches that were taken: each has two.
    pub fn branches_share(&self) -> Share {
        let ways = |branch: &BranchCoverage| {
            usize::from(branch.outcome.taken > 0) + usize::from(branch.outcome.skipped > 0)
        };
        Share { covered: self.branches.iter().map(ways).sum(), all: self.branches.len() * 2 }
    }
}

impl CoverageReport {
    /// The lines of all templates.
    pub fn lines_share(&self) -> Share {
        let mut share = Share::default();
        self.files.iter().for_each(|file| share.add(file.lines_share()));
        share
    }

    /// The branches of all templates.
    pub fn branches_share(&self) -> Share {
        let mut share = Share::default();
        self.files.iter().for_each(|file| share.add(file.branches_share()));
        share
    }

    /// The keys of values.yaml.
    pub fn values_share(&self) -> Share {
        Share { covered: self.values.iter().filter(|value| value.read).count(), all: self.values.len() }
    }

    /// The report for people.
    pub fn to_text(&self) -> String {
        text::write(self)
    }
}

/// The tracefile of LCOV for several charts.
pub fn lcov(reports: &[CoverageReport]) -> String {
    lcov::write(reports)
}

/// A page with all templates of several charts.
pub fn html(reports: &[CoverageReport]) -> String {
    html::write(reports)
}

//! Values that templates read and values.yaml does not have, and the reverse.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::{Chart, ext};
use pintle_render::uses::{Segment, Uses};
use pintle_tree::{Map, Node};

use crate::finding::{Finding, SourceLine};
use crate::locate::in_chart;
use crate::rule::{Severity, rule};

/// Compares values.yaml of a chart with what its templates read. Only the chart itself is checked, not its dependencies.
pub fn check_values(chart: &Chart, uses: &Uses) -> Vec<Finding> {
    let mut findings = undefined(chart, uses);
    // Scripts may read anything.
    if !uses.incomplete && !ext::has_scripts(chart) {
        findings.extend(unused(chart, uses));
    }
    findings
}

fn finding(name: &str, message: String, location: SourceLine) -> Option<Finding> {
    let rule = rule(name)?;
    Some(Finding {
        rule,
        severity: rule.severity.unwrap_or(Severity::Info),
        message,
        location: Some(location),
        object: None,
        pointer: String::new(),
        scenarios: BTreeSet::new(),
        versions: BTreeSet::new(),
        fix: None,
    })
}

/// One finding for each path, at the first place that reads it.
fn undefined(chart: &Chart, uses: &Uses) -> Vec<Finding> {
    let own = format!("{}/templates/", chart.name());
    let mut places: BTreeMap<String, Vec<SourceLine>> = BTreeMap::new();
    for found in uses.uses.iter().filter(|found| found.file.starts_with(&own)) {
        if let Some(missing) = missing(&chart.values, &found.path) {
            let location = SourceLine { file: in_chart(&found.file), line: found.line };
            places.entry(missing).or_default().push(location);
        }
    }
    let describe = |(path, mut places): (String, Vec<SourceLine>)| {
        places.sort();
        places.dedup();
        let more = match places.len() {
            1 => String::new(),
            count => format!(" ({count} places)"),
        };
        let message = format!("templates read {path}, which values.yaml does not have{more}");
        finding("undefined-value", message, places.swap_remove(0))
    };
    places.into_iter().filter_map(describe).collect()
}

/// The part of a path that values.yaml does not have. Below an empty map, null, a list or a scalar anything is allowed.
fn missing(values: &Map<Node>, path: &[Segment]) -> Option<String> {
    let mut shown = String::new();
    let mut current = values;
    for segment in path {
        let Segment::Key(key) = segment else { return None };
        if !shown.is_empty() {
            shown.push('.');
        }
        shown.push_str(&key.to_str_lossy());
        match current.get(key) {
            None if current.is_empty() && !std::ptr::eq(current, values) => return None,
            None => return Some(shown),
            Some(Node::Map(next)) => current = next,
            Some(_) => return None,
        }
    }
    None
}

/// Reports values that no template reads; of nested ones only the outermost.
fn unused(chart: &Chart, uses: &Uses) -> Vec<Finding> {
    let mut findings = Vec::new();
    chart.visit_value_keys(&mut |key| {
        let path: Vec<Segment> = key.path.iter().cloned().map(Segment::Key).collect();
        let is_read = uses.reads(&path);
        if !is_read {
            let message = format!("no template reads {}", key.dotted());
            let location = SourceLine { file: "values.yaml".to_owned(), line: key.line };
            findings.extend(finding("unused-value", message, location));
        }
        is_read
    });
    findings
}

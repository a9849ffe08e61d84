//! Values that are read because of Chart.yaml: conditions, tags, imports, and the values of charts that are not there.

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_gotmpl::reads::{Segment, Usage};
use pintle_tree::{Node, Str};

use super::{ValueUse, absolute};

/// Adds the values that the dependencies of a chart read.
pub(super) fn add(chart: &Chart, path: &str, prefix: &[Str], uses: &mut Vec<ValueUse>) {
    let file = chart.raw.iter().find(|file| {
        let with_dependencies =
            if chart.metadata.api_version == "v1" { "requirements.yaml" } else { "Chart.yaml" };
        file.name == with_dependencies
    });
    let text = file.map(|file| file.data.text());
    let text = text.as_ref().map(|text| text.to_str_lossy()).unwrap_or_default();
    let name = format!("{path}/{}", file.map_or("Chart.yaml", |file| &file.name));
    for dependency in &chart.metadata.dependencies {
        let line = line_of(&text, "name", &dependency.name);
        let mut add = |below: &str, line: usize, usage: Usage| {
            let below: Vec<Segment> = below.split('.').map(|key| Segment::Key(key.into())).collect();
            let path = absolute(prefix, &below);
            uses.push(ValueUse { path, file: name.clone(), line, column: 0, usage });
        };
        for condition in dependency.condition.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            add(condition, line_of(&text, "condition", &dependency.condition), Usage::Tested);
        }
        for tag in &dependency.tags {
            add(&format!("tags.{tag}"), line, Usage::Tested);
        }
        let values = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        // The chart is not there or is disabled, so its templates are unknown; anything of its values may be
        // read.
        if !chart.subcharts.iter().any(|subchart| subchart.name() == values) {
            add(values, line, Usage::Used);
        }
        for import in imports(dependency) {
            add(&format!("{values}.{import}"), line, Usage::Used);
        }
    }
}

/// The paths of a subchart's values that its parent imports.
fn imports(dependency: &Dependency) -> Vec<String> {
    let path = |import: &Node| match import {
        Node::Str(name) => Some(format!("exports.{name}")),
        Node::Map(entries) => Some(entries.get("child")?.as_str()?.to_owned()),
        _ => None,
    };
    dependency.import_values.iter().filter_map(path).collect()
}

/// The line on which a key has a value, or the first line.
fn line_of(text: &str, key: &str, value: &str) -> usize {
    let matches = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        line.strip_prefix(key).is_some_and(|rest| {
            let rest = rest.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
            rest.trim_start_matches(['"', '\'']).starts_with(value)
        })
    };
    text.lines().position(matches).map_or(1, |line| line + 1)
}

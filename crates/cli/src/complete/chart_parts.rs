//! Completion of what is in a chart on disk: templates for `--show-only`, and paths of values for `--set`.

use std::path::Path;

use pintle::chart::Chart;
use pintle::tree::{Map, Node};

use super::{Completions, Directive};
use crate::invocation::Invocation;
use crate::personality::Personality;

/// How many paths are offered, and how deep they are.
const MAX_PATHS: usize = 2_000;
const MAX_DEPTH: usize = 12;

/// The templates of the chart. Helm offers files.
pub(super) fn templates(invocation: &Invocation<'_>) -> Completions {
    let Some(chart) = chart(invocation) else { return Completions::nothing(Directive::Default) };
    let is_rendered = |name: &&str| !name.rsplit('/').next().unwrap_or_default().starts_with('_');
    let names = chart.templates.iter().map(|file| file.name.as_str()).filter(is_rendered);
    Completions::new(Directive::NoFiles, names.map(|name| (name.to_owned(), String::new())).collect())
}

/// The paths of the chart's values, each with its default. Helm offers files.
pub(super) fn value_paths(invocation: &Invocation<'_>) -> Completions {
    let Some(chart) = chart(invocation) else { return Completions::nothing(Directive::Default) };
    let mut found = Vec::new();
    collect(&chart.values, "", 0, &mut found);
    for subchart in &chart.subcharts {
        collect(&subchart.values, &format!("{}.", subchart.name()), 0, &mut found);
    }
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    Completions::new(Directive::NoSpaceNoFiles, found)
}

/// The chart among the operands, if it is a folder or an archive here.
fn chart(invocation: &Invocation<'_>) -> Option<Chart> {
    if invocation.personality != Personality::Pintle {
        return None;
    }
    let is_chart =
        |path: &&Path| path.join("Chart.yaml").is_file() || path.extension().is_some_and(|end| end == "tgz");
    let operands = invocation.flags.operands.iter().rev().map(Path::new);
    let path = operands.into_iter().find(|path| is_chart(path))?;
    pintle::chart::load(path, &mut Vec::new()).ok()
}

fn collect(values: &Map<Node>, prefix: &str, depth: usize, found: &mut Vec<(String, String)>) {
    for (key, node) in values.iter() {
        // Keys with dots and commas are written with backslashes.
        let key = key.to_string().replace('.', "\\.").replace(',', "\\,");
        let path = format!("{prefix}{key}");
        if found.len() >= MAX_PATHS {
            return;
        }
        match node {
            Node::Map(below) if !below.is_empty() && depth < MAX_DEPTH => {
                collect(below, &format!("{path}."), depth + 1, found);
            }
            Node::Map(_) | Node::List(_) => found.push((format!("{path}="), String::new())),
            node => {
                let text = pintle_tree::json::write(node).unwrap_or_default();
                found.push((format!("{path}="), String::from_utf8_lossy(&text).chars().take(40).collect()));
            }
        }
    }
}

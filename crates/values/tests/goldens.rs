//! Compares layering, dependency processing, coalescing and schemas with recorded results of Helm.

#![allow(clippy::print_stdout, reason = "the test says what it skipped and how far it got")]

use std::path::Path;

use pintle_chart::{Chart, File};
use pintle_tree::{Map, Node, json, set};
use pintle_values::{LogLine, NullRules, SchemaCheck, ValuesLayer};

/// Makes the layer of one value flag from its argument.
type LayerOf = fn(String) -> ValuesLayer;

/// The recorded cases; `None` where the corpus is absent.
fn cases(family: &str) -> Option<Vec<Node>> {
    let lines = pintle_testkit::recorded(family);
    let read = |line: &String| json::read(line.as_bytes()).expect("recorded cases are JSON");
    (!lines.is_empty()).then(|| lines.iter().map(read).collect())
}

fn text(node: Option<&Node>) -> String {
    node.and_then(Node::as_str).unwrap_or_default().to_owned()
}

fn texts(node: Option<&Node>) -> Vec<String> {
    node.and_then(Node::as_list).unwrap_or_default().iter().map(|item| text(Some(item))).collect()
}

/// The tree with integers as floats, as in the corpus.
fn floating(node: &Node) -> Node {
    match node {
        Node::Int(value) => Node::Float(*value as f64),
        Node::List(list) => Node::List(list.iter().map(floating).collect()),
        Node::Map(map) => Node::Map(map.iter().map(|(key, node)| (key.clone(), floating(node))).collect()),
        other => other.clone(),
    }
}

/// Runs all cases and asserts that nearly all of them agree.
fn run(family: &str, keep: impl Fn(&Node) -> bool, differs: impl Fn(&Node, &Node) -> Option<String>) {
    let Some(cases) = cases(family) else { return };
    let cases: Vec<_> = cases.into_iter().filter(keep).collect();
    let mut failed = 0;
    for case in &cases {
        let (Some(input), Some(out)) = (case.get("in"), case.get("out")) else { continue };
        if let Some(difference) = differs(input, out) {
            failed += 1;
            if failed <= 20 {
                let case =
                    String::from_utf8_lossy(&json::write_raw(case).expect("cases are JSON")).into_owned();
                println!("differs: {difference}\n    {case}");
            }
        }
    }
    println!("{family}: {} of {}", cases.len() - failed, cases.len());
    assert!(failed * 200 <= cases.len(), "{failed} of {} cases differ", cases.len());
}

#[test]
fn value_flags_are_layered_as_helm_layers_them() {
    let all = |case: &Node| {
        case.get("in").and_then(|input| input.get("flag")).and_then(Node::as_str) == Some("all")
    };
    run("strvals", all, |input, out| {
        let options = input.get("opts").cloned().unwrap_or_default();
        let list = |name: &str| texts(options.get(name));
        let kinds: [(&str, LayerOf); 6] = [
            ("Values", |file| ValuesLayer::File(file.into())),
            ("SetJSON", ValuesLayer::SetJson),
            ("Set", ValuesLayer::Set),
            ("SetString", ValuesLayer::SetString),
            ("SetFile", ValuesLayer::set_file),
            ("SetLiteral", ValuesLayer::SetLiteral),
        ];
        let layers: Vec<ValuesLayer> =
            kinds.iter().flat_map(|(name, kind)| list(name).into_iter().map(kind)).collect();
        let files = input.get("files").cloned().unwrap_or_default();
        let mut read = |path: &Path| {
            let name = path.to_string_lossy();
            match files.get(name.trim_start_matches("./")).and_then(Node::as_text) {
                Some(content) => Ok(content.as_bytes().to_vec()),
                None => Err(format!("open {name}: no such file or directory")),
            }
        };
        match pintle_values::layer(&layers, &mut read) {
            Ok(values) if out.get("ok") == Some(&floating(&Node::Map(values.clone()))) => None,
            Err(error) if text(out.get("err")) == error.to_string() => None,
            other => Some(format!("{other:?}")),
        }
    });
}

/// The full paths of a chart and its subcharts.
fn paths(chart: &Chart, prefix: &str, found: &mut Vec<String>) {
    let path = format!("{prefix}{}", chart.name());
    for subchart in &chart.subcharts {
        paths(subchart, &format!("{path}/charts/"), found);
    }
    found.push(path);
}

fn loaded(input: &Node) -> Result<Chart, String> {
    let files = input.get("files").and_then(Node::as_map).cloned().unwrap_or_default();
    let files = files.iter().map(|(name, data)| {
        File::new(name.to_string(), data.as_text().map(|text| text.as_bytes().to_vec()).unwrap_or_default())
    });
    pintle_chart::load_files(files.collect()).map_err(|error| error.to_string())
}

fn user_values(input: &Node) -> Map<Node> {
    let mut user = input.get("values").and_then(Node::as_map).cloned().unwrap_or_default();
    for line in texts(input.get("set")) {
        set::assign(line, &mut user).expect("recorded lines follow the grammar");
    }
    user
}

/// Whether templates of the case set or unset keys.
fn changes_values(input: &Node) -> bool {
    let files = input.get("files").and_then(Node::as_map).cloned().unwrap_or_default();
    files.values().any(|text| text.as_str().is_some_and(|text| text.contains("set .")))
}

/// Runs a case. Returns the first difference.
fn coalesced(input: &Node, out: &Node) -> Option<String> {
    let (stage, error) = (text(out.get("stage")), text(out.get("err")));
    let failed = |at: &str, message: String| {
        (stage != at || error != message).then(|| format!("{at} failed: {message}"))
    };
    let chart = match loaded(input) {
        Ok(chart) => chart,
        Err(message) => return failed("load", message),
    };
    let missing = pintle_values::missing_dependencies(&chart).err().map(|error| error.to_string());
    if missing.unwrap_or_default() != text(out.get("missing")) {
        return Some("missing dependencies".to_owned());
    }
    let (user, before) = (user_values(input), chart.values.clone());
    let mut log: Vec<LogLine> = Vec::new();
    let chart = match pintle_values::process_dependencies(chart, &user, NullRules::Helm4, &mut log) {
        Ok(chart) => chart,
        Err(error) => return failed("dependencies", error.to_string()),
    };
    let changed = (chart.values != before).then(|| floating(&Node::Map(chart.values.clone())));
    if changed.as_ref() != out.get("chart_values") {
        return Some(format!("chart values: {changed:?}"));
    }
    let mut enabled = Vec::new();
    paths(&chart, "", &mut enabled);
    enabled.sort();
    if enabled != texts(out.get("charts")) {
        return Some(format!("charts: {enabled:?}"));
    }
    let check = match input.get("skip_schema") {
        Some(Node::Bool(true)) => SchemaCheck::Skip,
        _ => SchemaCheck::Check,
    };
    let mut read = |name: &str| Err(format!("open {name}: no such file or directory"));
    match pintle_values::render_values(&chart, &user, NullRules::Helm4, check, &mut read, &mut log) {
        Err(error) => return failed("values", error.to_string()),
        // Values that templates change are recorded too, but belong to rendering.
        Ok(_) if changes_values(input) => {}
        Ok(values) if out.get("ok") != Some(&floating(&Node::Map(values.clone()))) => {
            return Some(format!("values: {values:?}"));
        }
        Ok(_) => {}
    }
    // Helm warns about this once per process, and the record was made in one.
    log.retain(|line| !line.message.contains("URN"));
    let mut lines: Vec<String> = log.iter().map(LogLine::to_string).collect();
    lines.sort();
    lines.dedup();
    (lines != texts(out.get("log"))).then(|| format!("log: {lines:?}"))
}

#[test]
fn charts_are_coalesced_as_helm_coalesces_them() {
    run("coalesce", |_| true, coalesced);
}

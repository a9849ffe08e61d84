//! Value coalescing for a chart with subcharts, and rendering where the chart has templates.

use pintle_chart::{Chart, File};
use pintle_render::{Capabilities, Release, Target, render};
use pintle_tree::{LogLine, Map, Node, set};
use pintle_values::{NullRules, SchemaCheck};
use serde_json::{Value, json};

use crate::case::{Case, shorten};
use crate::tree;

pub(super) fn check(case: &Case) -> Option<String> {
    let got = run(case);
    let fields = ["charts", "chart_values", "err", "log", "missing", "ok", "render", "render_err", "stage"];
    fields.iter().find_map(|field| {
        let want = case.output.get(*field).map(tree::normalize).unwrap_or_default();
        let got = got.get(*field).map(tree::normalize).unwrap_or_default();
        (want != got).then(|| format!("{field}: want {} got {}", shorten(&want), shorten(&got)))
    })
}

fn run(case: &Case) -> Value {
    let files = case.files("files").into_iter().map(|(name, text)| File::new(name, text)).collect();
    let mut log: Vec<LogLine> = Vec::new();
    let chart = match pintle_chart::load_files_logged(files, &mut log) {
        Ok(chart) => chart,
        Err(error) => return json!({"err": error.to_string(), "stage": "load"}),
    };
    let mut answer = json!({});
    let mut user = tree::map(&case.input["values"]);
    for text in case.input["set"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if let Err(error) = set::assign(text, &mut user) {
            return json!({"err": error.to_string(), "stage": "set"});
        }
    }
    if let Err(error) = chart.check_dependencies() {
        answer["missing"] = error.to_string().into();
    }
    let outcome = finish(case, chart, &user, &mut answer, &mut log);
    if let Err((stage, error)) = outcome {
        answer["err"] = error.into();
        answer["stage"] = stage.into();
    }
    let mut lines: Vec<String> = log.iter().map(ToString::to_string).collect();
    lines.sort();
    lines.dedup();
    if !lines.is_empty() {
        answer["log"] = lines.into();
    }
    answer
}

fn finish(
    case: &Case,
    chart: Chart,
    user: &Map<Node>,
    answer: &mut Value,
    log: &mut Vec<LogLine>,
) -> Result<(), (&'static str, String)> {
    let own_values = chart.values.clone();
    let chart = pintle_values::process_dependencies(chart, user, NullRules::Helm4, log)
        .map_err(|error| ("dependencies", error.to_string()))?;
    if chart.values != own_values {
        answer["chart_values"] = tree::json_map(&chart.values);
    }
    let mut charts = Vec::new();
    collect_paths(&chart, chart.name().to_owned(), &mut charts);
    charts.sort();
    answer["charts"] = charts.into();
    let check = if case.flag("skip_schema") { SchemaCheck::Skip } else { SchemaCheck::Check };
    let read = &mut |path: &str| Err(format!("open {path}: no such file or directory"));
    let values = pintle_values::render_values(&chart, user, NullRules::Helm4, check, read, log)
        .map_err(|error| ("values", error.to_string()))?;
    answer["ok"] = tree::json_map(&values);
    if !has_templates(&chart) {
        return Ok(());
    }
    let release =
        Release { name: "rel".to_owned(), namespace: "ns".to_owned(), revision: 1, is_upgrade: false };
    let target = Target { keep_values: true, ..Target::offline(release, Capabilities::default()) };
    match render(&chart, &values, &target) {
        Err(error) => answer["render_err"] = error.to_string().into(),
        Ok(rendered) => {
            // Templates may modify values (`set`); the recorded values are those after rendering.
            if let Some(values) = &rendered.values {
                answer["ok"] = tree::json_map(values);
            }
            let files = rendered.files.iter();
            answer["render"] = files
                .map(|file| (file.path.clone(), String::from_utf8_lossy(&file.text).into_owned()))
                .collect();
        }
    }
    Ok(())
}

fn has_templates(chart: &Chart) -> bool {
    !chart.templates.is_empty() || chart.subcharts.iter().any(has_templates)
}

fn collect_paths(chart: &Chart, path: String, paths: &mut Vec<String>) {
    for child in &chart.subcharts {
        collect_paths(child, format!("{path}/charts/{}", child.name()), paths);
    }
    paths.push(path);
}

//! Charts whose own files are wrong.

use std::path::PathBuf;

use pintle::chart;

use super::excerpt::{excerpt, excerpt_of_line};
use super::names::near_file;
use super::yaml::diagnose;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::read;

/// A dependency in a folder that does not exist.
pub(super) fn missing_folder(failure: &mut Failure, invocation: &Invocation<'_>) {
    let is_meant = |text: &str| text.starts_with("directory ") && text.ends_with(" not found");
    let Some(chart) = invocation.flags.operands.last().map(PathBuf::from).filter(|_| is_meant(&failure.text))
    else {
        return;
    };
    let Ok(text) = read::file(chart.join("Chart.yaml"), read::MAX_STREAM) else { return };
    let text = String::from_utf8_lossy(&text);
    let folder_of = |line: &str| {
        let (_, folder) = line.split_once("repository:")?.1.split_once("file://")?;
        Some(folder.trim().trim_matches(['"', '\'']).to_owned())
    };
    let missing = text.lines().enumerate().find_map(|(at, line)| {
        let folder = folder_of(line)?;
        (!chart.join(&folder).is_dir()).then_some((at + 1, folder))
    });
    let Some((line, folder)) = missing else { return };
    let near = near_file(&chart.join(&folder).to_string_lossy())
        .and_then(|near| Some(near.rsplit_once('/')?.1.to_owned()))
        .map(|near| match folder.rsplit_once('/') {
            Some((parent, _)) => format!("{parent}/{near}"),
            None => near,
        });
    failure.own = Some(format!("a dependency is in the folder `{folder}`, which does not exist"));
    failure.excerpt = Some(excerpt_of_line(&format!("{}/Chart.yaml", chart.display()), line, &text));
    failure.hint = Some(match near {
        Some(near) => format!("did you mean `file://{near}`?"),
        None => "the path is relative to the folder of the chart".to_owned(),
    });
}

/// Improves the failure of a chart that cannot be loaded.
pub(super) fn improve(failure: &mut Failure, invocation: &Invocation<'_>, error: &chart::Error) {
    let folder =
        invocation.chart_path.clone().or_else(|| invocation.flags.operands.last().map(PathBuf::from));
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let name =
        folder.file_name().map_or_else(|| "chart".to_owned(), |name| name.to_string_lossy().into_owned());
    let text = |file: &str| {
        let text = read::file(folder.join(file), read::MAX_STREAM).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    match error {
        chart::Error::File { file, reason, .. } => {
            let Some(text) = text(file) else { return };
            let found = diagnose(&text, reason);
            failure.own = Some(format!("`{name}/{file}` is not valid YAML: {}", found.problem));
            let line = text.lines().nth(found.line - 1).unwrap_or_default();
            failure.excerpt = Some(excerpt(&format!("{name}/{file}"), found.line, found.column, line));
            failure.hint = Some(found.hint);
        }
        chart::Error::Invalid(reason) => {
            let Some(field) = reason.strip_prefix("chart.metadata.").and_then(|rest| rest.split(' ').next())
            else {
                return;
            };
            let Some(text) = text("Chart.yaml") else { return };
            let file = format!("{name}/Chart.yaml");
            let line = text.lines().position(|line| line.starts_with(&format!("{field}:")));
            let shown = reason.strip_prefix("chart.metadata.").unwrap_or(reason);
            failure.own = Some(format!("Chart.yaml: {shown}"));
            failure.excerpt = Some(match line {
                Some(at) => excerpt_of_line(&file, at + 1, &text),
                None => format!("  --> {file}"),
            });
            failure.hint = Some(match field {
                "version" => "a chart has a semantic version: `version: 1.0.0`; `appVersion` can be any text"
                    .to_owned(),
                "apiVersion" => "write `apiVersion: v2`".to_owned(),
                "name" => format!("write `name: {name}`"),
                "type" => "it may be `application` or `library`".to_owned(),
                _ => return,
            });
        }
        chart::Error::NotAnArchive(_) => {
            let shown = folder.display();
            let is_yaml = folder.extension().is_some_and(|end| end == "yaml" || end == "yml");
            failure.own = Some(format!("`{shown}` is no chart: it is neither a folder nor a packed archive"));
            failure.hint = is_yaml.then(|| {
                let parent = folder.parent().filter(|parent| parent.join("Chart.yaml").is_file());
                let chart = parent.map_or_else(String::new, |parent| {
                    format!("; the chart of this file is `{}`", parent.display())
                });
                format!("values are given with `-f {shown}`{chart}")
            });
        }
        chart::Error::UndetectableFolder { .. } | chart::Error::NoChartFile => {
            failure.own = Some(format!("`{name}` is no chart: it has no Chart.yaml"));
            let below = charts_below(&folder);
            failure.hint = Some(match below.as_slice() {
                [] => {
                    "give the folder that has Chart.yaml; `pintle create NAME` makes a new chart".to_owned()
                }
                charts => format!("there are charts below it: {}", charts.join(", ")),
            });
        }
        _ => {}
    }
}

/// The folders with a Chart.yaml in a folder and in its folders.
fn charts_below(folder: &std::path::Path) -> Vec<String> {
    let folders = |path: &std::path::Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().take(1_000).flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let first = folders(folder);
    let second: Vec<PathBuf> = first.iter().take(50).flat_map(|path| folders(path)).collect();
    let charts = first.into_iter().chain(second).filter(|path| path.join("Chart.yaml").is_file());
    let mut names: Vec<String> = charts
        .filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names.truncate(5);
    names
}

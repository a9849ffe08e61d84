//! Indexes of repositories, references to charts, tags of registries, and `search repo`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use pintle::registry::chart::choose_version;
use pintle::registry::{Client, Settings};
use pintle::repo::address::resolve_reference;
use pintle::repo::index::{Cached, IndexDocument, index_directory};
use pintle::repo::search::{Pattern, search};
use pintle::repo::{
    ChartQuery, Entry, Getter, Proxies, Registries, Repositories, RepositoryPaths, Resolver, warnings,
};
use pintle_chart::metadata::Timestamp;
use pintle_regex::Regex;
use pintle_semver::Constraint;
use pintle_tree::{LogLevel, LogLine};
use serde_json::{Map, Value, json};

use crate::case::Case;
use crate::report::first_difference;

pub(super) fn check(case: &Case) -> Option<String> {
    let folder = tempfile::tempdir().ok()?;
    let got = match case.text("op") {
        "load" => load(case),
        "get" => get(case),
        "merge" => merge(case, folder.path()),
        "resolve-url" => outcome_json(resolve_reference(case.text("base"), case.text("ref"))),
        "ref" => reference(case, folder.path()),
        "oci-ref" => oci_reference(case, folder.path()),
        "tags" => outcome_json(choose_version(&texts(&case.input["tags"]), case.text("version"))),
        "search" => return check_search(case, folder.path()),
        "index-dir" => index_dir(case, folder.path()),
        other => return Some(format!("unknown operation {other}")),
    };
    let mut want = case.output.clone();
    // The digests in these cases are invalid, and we ignore invalid ones.
    if matches!(case.text("op"), "ref" | "oci-ref")
        && let Some(ok) = want.get_mut("ok").and_then(Value::as_object_mut)
    {
        ok.remove("digest");
    }
    let (want, got) = (want.to_string(), got.to_string());
    (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()))
}

fn outcome_json(outcome: Result<String, String>) -> Value {
    match outcome {
        Ok(text) => json!({ "ok": text }),
        Err(error) => json!({ "err": error }),
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Adds the log lines that Helm prints without `--debug`, as they were recorded.
fn with_log(mut answer: Value, log: &[LogLine]) -> Value {
    let printed = log.iter().filter(|line| line.level > LogLevel::Debug);
    let mut lines: Vec<String> = printed.map(ToString::to_string).collect();
    if !lines.is_empty() {
        lines.sort();
        answer["log"] = lines.into();
    }
    answer
}

fn load(case: &Case) -> Value {
    let text = case.text("index").as_bytes();
    let index = match Cached::parse(text) {
        Ok(index) => index,
        Err(error) => return json!({"err": format!("error loading index.yaml: {error}")}),
    };
    let entries: Map<String, Value> = index
        .catalog
        .charts
        .iter()
        .map(|chart| {
            let versions = chart.versions.iter().map(|head| head.version.clone());
            (chart.name.clone(), versions.collect::<Vec<_>>().into())
        })
        .collect();
    // Our index does not keep unused fields; they are read from the text, so that the rest can be compared.
    let tree: Value = serde_json::to_value(other_fields(text)).unwrap_or_default();
    let field = |name: &str| tree[name].clone();
    let answer = json!({"ok": {
        "annotations": field("annotations"), "apiVersion": field("apiVersion"), "entries": entries,
        "publicKeys": field("publicKeys"),
    }});
    with_log(answer, &warnings(&index, "index.yaml"))
}

/// The fields of an index besides its entries.
fn other_fields(text: &[u8]) -> BTreeMap<String, Value> {
    let tree = pintle_yaml::read(text).ok();
    let json = tree.and_then(|tree| pintle_tree::json::write(&tree).ok()).unwrap_or_default();
    serde_json::from_slice(&json).unwrap_or_default()
}

fn get(case: &Case) -> Value {
    let index = match Cached::parse(case.text("index").as_bytes()) {
        Ok(index) => index,
        Err(error) => return json!({"err": error.to_string()}),
    };
    let (name, version) = (case.text("name"), case.text("version"));
    match index.get(name, version) {
        Err(error) => json!({ "err": error }),
        Ok(found) => {
            let chart = index.catalog.chart(name);
            let head =
                chart.and_then(|chart| chart.versions.iter().find(|head| head.version == found.version));
            let app_version = head.map(|head| head.app_version.clone()).unwrap_or_default();
            let mut log = warnings(&index, "index.yaml");
            log.extend(found.log);
            let urls = if found.detail.urls.is_empty() { Value::Null } else { found.detail.urls.into() };
            with_log(json!({"ok": {"appVersion": app_version, "urls": urls, "version": found.version}}), &log)
        }
    }
}

fn merge(case: &Case, folder: &Path) -> Value {
    let read = |field: &str| {
        let path = folder.join(field);
        fs::write(&path, case.text(field)).ok();
        IndexDocument::load(&path)
    };
    let (mut index, other) = match (read("index"), read("other")) {
        (Ok((index, _)), Ok((other, _))) => (index, other),
        (Err(error), _) | (_, Err(error)) => return json!({"err": error.to_string()}),
    };
    let log = index.merge(other);
    let versions = |index: &IndexDocument| {
        let all = index.entries.iter().map(|(name, versions)| {
            let versions = versions.iter().map(|entry| entry.metadata.version.clone());
            (name.clone(), versions.collect::<Vec<_>>().into())
        });
        all.collect::<Map<String, Value>>()
    };
    let before = versions(&index);
    index.sort();
    let urls = index.entries.iter().flat_map(|(name, versions)| {
        versions
            .iter()
            .map(move |entry| (format!("{name}@{}", entry.metadata.version), Value::from(entry.urls.clone())))
    });
    let urls: Map<String, Value> = urls.collect();
    let answer = json!({"ok": {"before_sort": before, "entries": versions(&index), "urls": urls}});
    with_log(answer, &log)
}

/// Writes the repositories of a case into a folder.
fn repositories(case: &Case, folder: &Path) -> RepositoryPaths {
    let mut file = Repositories::default();
    for repository in case.input["repos"].as_array().into_iter().flatten() {
        let text = |field: &str| repository[field].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        if let Some(index) = repository["index"].as_str() {
            fs::write(folder.join(format!("{name}-index.yaml")), index).ok();
        }
        file.update(Entry { name, url: text("url"), ..Entry::default() });
    }
    let path = folder.join("repositories.yaml");
    if !file.entries.is_empty() {
        fs::write(&path, file.to_yaml().unwrap_or_default()).ok();
    }
    RepositoryPaths {
        repository_config: path,
        repository_cache: folder.to_owned(),
        content_cache: folder.join("content"),
    }
}

fn resolve(case: &Case, folder: &Path, getter: &Getter) -> Value {
    let folders = repositories(case, folder);
    let resolver = Resolver { folders, getter, skip_digest: false, needs_all_indexes: false };
    let wanted = ChartQuery {
        reference: case.text("ref").to_owned(),
        version: case.text("version").to_owned(),
        ..ChartQuery::default()
    };
    match resolver.resolve(&wanted) {
        Ok(resolved) => json!({"ok": {"url": resolved.source.url}}),
        Err(error) => json!({"err": error.to_string()}),
    }
}

fn reference(case: &Case, folder: &Path) -> Value {
    resolve(case, folder, &Getter::new(Proxies::default(), Duration::ZERO, "conformance"))
}

fn oci_reference(case: &Case, folder: &Path) -> Value {
    let registries = Registries::new(|_| Ok(std::sync::Arc::new(Client::new(Settings::default())?)));
    let getter = Getter::new(Proxies::default(), Duration::ZERO, "conformance").with_registries(registries);
    resolve(case, folder, &getter)
}

/// Compares what is found, whatever the format of the output.
fn check_search(case: &Case, folder: &Path) -> Option<String> {
    let got = found(case, folder);
    let (want, cut) = match case.output.get("ok").and_then(Value::as_str) {
        None => (Err(case.output["err"].as_str().unwrap_or_default().to_owned()), false),
        Some(text) if text.starts_with("NAME") => (Ok(table(text)), true),
        Some(text) if text.starts_with("No results found") => (Ok(Vec::new()), false),
        Some(text) => (Ok(records(text)), false),
    };
    let same = match (&want, &got) {
        (Ok(want), Ok(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| row_equal(want, got, cut))
        }
        (want, got) => want == got,
    };
    (!same).then(|| first_difference(format!("{want:?}").as_bytes(), format!("{got:?}").as_bytes()))
}

type Row = [String; 4];

/// Tables cut descriptions to a width.
fn row_equal(want: &Row, got: &Row, cut: bool) -> bool {
    let description = want[3].trim_end_matches("...");
    want[..3] == got[..3] && (want[3] == got[3] || cut && got[3].starts_with(description))
}

fn table(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut cells = line.split('\t').map(|cell| cell.trim_end().to_owned());
        [(); 4].map(|()| cells.next().unwrap_or_default())
    };
    text.lines().skip(1).map(row).collect()
}

fn records(text: &str) -> Vec<Row> {
    let tree = pintle_yaml::read(text.as_bytes()).unwrap_or_default();
    let json = pintle_tree::json::write(&tree).unwrap_or_default();
    let list: Vec<Value> = serde_json::from_slice(&json).unwrap_or_default();
    let row = |record: &Value| {
        ["name", "version", "app_version", "description"]
            .map(|field| record[field].as_str().unwrap_or_default().to_owned())
    };
    list.iter().map(row).collect()
}

fn found(case: &Case, folder: &Path) -> Result<Vec<Row>, String> {
    let mut words = Vec::new();
    let (mut version, mut devel, mut all, mut regex, mut must) = (String::new(), false, false, false, false);
    let arguments = texts(&case.input["args"]);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--version" => version = arguments.next().cloned().unwrap_or_default(),
            "-o" | "--output" | "--max-col-width" => drop(arguments.next()),
            "--devel" => devel = true,
            "-l" | "--versions" => all = true,
            "-r" | "--regexp" => regex = true,
            "--fail-on-no-result" => must = true,
            word => words.push(word.to_owned()),
        }
    }
    if version.is_empty() {
        version = if devel { ">0.0.0-0" } else { ">0.0.0" }.to_owned();
    }
    let folders = repositories(case, folder);
    let file = Repositories::load(&folders.repository_config).ok().flatten();
    let file = file.filter(|file| !file.entries.is_empty()).ok_or("no repositories configured")?;
    let indexes: Vec<(String, Cached)> = file
        .entries
        .into_iter()
        .filter_map(|entry| {
            let path = folder.join(format!("{}-index.yaml", entry.name));
            Some((entry.name, Cached::open(&path).ok()?))
        })
        .collect();
    let pattern = Pattern::new(&words, regex)?;
    let constraint = Constraint::parse(&version)
        .map_err(|error| format!("an invalid version/constraint format: {error}"))?;
    let hits = search(&indexes, &pattern, &constraint, all);
    if hits.is_empty() && must {
        return Err("no results found".to_owned());
    }
    Ok(hits.into_iter().map(|hit| [hit.name, hit.version, hit.app_version, hit.description]).collect())
}

fn index_dir(case: &Case, folder: &Path) -> Value {
    let charts = folder.join("charts");
    for (file, metadata) in case.input["packages"].as_object().into_iter().flatten() {
        let path = charts.join(file);
        path.parent().map(fs::create_dir_all);
        fs::write(&path, archive(metadata)).ok();
    }
    outcome_json(indexed(case, folder, &charts).map_err(|error| {
        let shown = folder.to_string_lossy();
        error.replace(&*shown, "<dir>").replace("<dir>/charts", "<dir>")
    }))
}

fn indexed(case: &Case, folder: &Path, charts: &Path) -> Result<String, String> {
    fs::create_dir_all(charts).map_err(|error| error.to_string())?;
    let now = Timestamp::from_unix(1_700_000_000, 0);
    let mut index = index_directory(charts, case.text("url"), now).map_err(|error| error.to_string())?;
    if case.input.get("merge").is_some() {
        let path = folder.join("m.yaml");
        fs::write(&path, case.text("merge")).map_err(|error| error.to_string())?;
        let (other, _) =
            IndexDocument::load(&path).map_err(|error| error.within("merge failed").to_string())?;
        index.merge(other);
    }
    index.sort();
    let path = charts.join("index.yaml");
    index.write(&path, case.flag("json")).map_err(|error| error.to_string())?;
    let text = fs::read(&path).map_err(|error| error.to_string())?;
    let mask = |text: Vec<u8>, pattern: &str, with: &str| match Regex::compile(pattern) {
        Ok(regex) => regex.replace_all(&text, with.as_bytes()),
        Err(_) => text,
    };
    let text = mask(text, r#""20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)""#, "\"<date>\"");
    let text = mask(text, r#""?[0-9a-f]{64}"?"#, "\"<sha256>\"");
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A chart of nothing but its metadata.
fn archive(metadata: &Value) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let text = metadata.to_string();
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    let name = format!("{}/Chart.yaml", metadata["name"].as_str().unwrap_or("chart"));
    let appended = tar.append_data(&mut header, name, text.as_bytes());
    let finished = appended.and_then(|()| tar.into_inner()).and_then(|gzip| gzip.finish());
    finished.unwrap_or_default()
}

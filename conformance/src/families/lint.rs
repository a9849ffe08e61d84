//! Findings of `lint`.

use std::fs;
use std::path::Path;

use pintle::lint::{Options, lint};
use pintle_render::KubeVersion;
use serde_json::{Value, json};

use crate::case::Case;
use crate::report::first_difference;
use crate::tree;

pub(super) fn check(case: &Case) -> Option<String> {
    let folder = match write_chart(case) {
        Ok(folder) => folder,
        Err(error) => return Some(format!("cannot write the chart: {error}")),
    };
    let chart = folder.path().join("app");
    let kube_version = match case.input["kube_version"].as_str().map(KubeVersion::parse).transpose() {
        Ok(version) => version,
        // An invalid Kubernetes version fails before anything is linted.
        Err(reason) => {
            let (want, got) = (case.output.to_string(), json!({"err": reason.to_string()}).to_string());
            return (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()));
        }
    };
    let options = Options {
        values: tree::map(&case.input["values"]),
        namespace: "ns".to_owned(),
        kube_version,
        skip_schema: case.flag("skip_schema"),
        ..Options::default()
    };
    let findings = lint(&chart, &options, &pintle::Lifecycle::default());
    let chart_path = chart.to_string_lossy().into_owned();
    let hide = |text: String| text.replace(&chart_path, "<chart>");
    let messages: Vec<Value> = findings
        .messages
        .iter()
        .map(|message| {
            json!({
                "severity": message.severity.to_string(),
                "path": hide(message.path.clone()),
                "text": hide(message.text.clone()),
            })
        })
        .collect();
    let highest = findings.worst().map_or("UNKNOWN".to_owned(), |severity| severity.to_string());
    let mut got = json!({"ok": {"messages": messages, "highest": highest}});
    if !findings.log.is_empty() {
        got["log"] = findings.log.iter().map(|line| hide(line.to_string())).collect::<Vec<_>>().into();
    }
    let (want, got) = (case.output.to_string(), got.to_string());
    (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()))
}

fn write_chart(case: &Case) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let chart = folder.path().join("app");
    fs::create_dir(&chart)?;
    for (name, text) in case.files("files") {
        write(&chart.join(name), &text)?;
    }
    for name in case.input["dirs"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        fs::create_dir_all(chart.join(name))?;
    }
    Ok(folder)
}

fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}

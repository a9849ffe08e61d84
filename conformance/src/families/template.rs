//! Templates and template functions, rendered in an in-memory chart.

use pintle_chart::File;
use pintle_regex::Regex;
use pintle_render::{Capabilities, Mode, Release, Rendered, Target, render};
use pintle_tree::set;
use serde_json::Value;

use crate::case::{Case, compare_text};
use crate::{families::pem, tree};

/// The chart that every case is rendered in.
const CHART: &str =
    "apiVersion: v2\nname: t\nversion: 0.1.0\nappVersion: '1.0'\ndescription: d\ntype: application\n";
const MAIN: &str = "t/templates/x.yaml";

pub(super) fn check(case: &Case) -> Option<String> {
    let outcome = rendered(case);
    match case.text("shape") {
        "regex" => return check_pattern(case, outcome),
        "pem" if case.output.get("shape").is_some() => {
            return match outcome {
                Ok(rendered) => pem::check(&case.output["shape"], &main_text(&rendered)),
                Err(error) => Some(format!("unexpected error {error}")),
            };
        }
        _ => {}
    }
    match outcome {
        Err(error) => case.compare("err", error.as_bytes()),
        Ok(rendered) => {
            let difference = case.compare("ok", &main_text(&rendered));
            difference.or_else(|| check_all_files(case, &rendered))
        }
    }
}

/// Renders the case.
fn rendered(case: &Case) -> Result<Rendered, String> {
    let mut files = vec![File::new("Chart.yaml", CHART.as_bytes().to_vec())];
    files.push(File::new("templates/x.yaml", case.bytes("tpl").unwrap_or_default()));
    for field in ["helpers", "files"] {
        files.extend(case.files(field).into_iter().map(|(name, text)| File::new(name, text)));
    }
    let chart = pintle_chart::load_files(files).map_err(|error| error.to_string())?;
    let mut user = tree::map(&case.input["values"]);
    for text in case.input["set"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        set::assign(text, &mut user).map_err(|error| error.to_string())?;
    }
    let mut log = Vec::new();
    let rules = pintle_values::NullRules::Helm4;
    let values =
        pintle_values::coalesce(&chart, &user, rules, &mut log).map_err(|error| error.to_string())?;
    let release =
        Release { name: "rel".to_owned(), namespace: "ns".to_owned(), revision: 1, is_upgrade: false };
    let mut target = Target::offline(release, capabilities());
    if case.flag("lint") {
        target.mode = Mode::Lint;
    }
    render(&chart, &values, &target).map_err(|error| error.to_string())
}

/// The recordings are from a build of Helm with the version `v4.3`.
fn capabilities() -> Capabilities {
    Capabilities { helm_version: "v4.3".to_owned(), ..Capabilities::default() }
}

fn main_text(rendered: &Rendered) -> Vec<u8> {
    rendered.files.iter().find(|file| file.path == MAIN).map(|file| file.text.clone()).unwrap_or_default()
}

fn check_all_files(case: &Case, rendered: &Rendered) -> Option<String> {
    let wanted = case.output.get("files")?;
    let names: Vec<&String> = wanted.as_object()?.keys().collect();
    if names.len() != rendered.files.len() {
        return Some(format!("{} files wanted, {} got", names.len(), rendered.files.len()));
    }
    rendered.files.iter().find_map(|file| compare_text(wanted, &file.path, &file.text))
}

/// The output must match a pattern, and differ between two runs when it is random.
fn check_pattern(case: &Case, outcome: Result<Rendered, String>) -> Option<String> {
    let text = match outcome {
        Ok(rendered) => main_text(&rendered),
        Err(error) => return Some(format!("unexpected error {error}")),
    };
    let pattern = match Regex::compile(case.text("regex")) {
        Ok(pattern) => pattern,
        Err(error) => return Some(format!("the recorded pattern is bad: {error}")),
    };
    if !pattern.is_match(&text) {
        return Some(format!("{:?} does not match {}", String::from_utf8_lossy(&text), case.text("regex")));
    }
    if case.flag("vary") {
        let again = rendered(case).map(|rendered| main_text(&rendered));
        return (again.as_ref() == Ok(&text)).then(|| "two runs gave the same text".to_owned());
    }
    None
}

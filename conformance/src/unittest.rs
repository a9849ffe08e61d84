//! Runs recorded helm-unittest suites with the program, invoked as `helm`, and compares the verdict of every test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::Options;
use crate::report::{Tally, print_line};

/// The tests of a run by suite, name and verdict, with how often they occur.
type Verdicts = BTreeMap<(String, String, &'static str), usize>;

/// Runs the suites of all charts in `FOLDER/charts` and compares with `FOLDER/expected`.
pub(crate) fn run(folder: &Path, options: &Options) -> Result<bool> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let helm = work.path().join("helm");
    let binary = fs::canonicalize(&options.binary).with_context(|| {
        format!("no program at {}; build it or name it with --binary", options.binary.display())
    })?;
    std::os::unix::fs::symlink(binary, &helm).context("cannot link the program")?;
    let (mut tests, mut exits) = (Tally::default(), Tally::default());
    for name in names(&folder.join("expected"), &options.only)? {
        let archive = folder.join(format!("charts/{name}.tgz"));
        let file = fs::File::open(&archive).with_context(|| format!("no chart {}", archive.display()))?;
        tar::Archive::new(GzDecoder::new(file)).unpack(work.path()).context("cannot unpack the chart")?;
        let recorded = fs::read(folder.join(format!("expected/{name}.json")))?;
        let runs: Vec<Value> = serde_json::from_slice(&recorded).with_context(|| name.clone())?;
        for (index, run) in runs.iter().enumerate() {
            let (exit, got) = replay(&helm, work.path(), &name, run)?;
            let id = format!("{name}#{index}");
            let wanted = run["exit"].as_i64() != Some(0);
            exits.add(&id, "", (exit != wanted).then(|| format!("exit: want {wanted} got {exit}")));
            compare(&id, &wanted_verdicts(run), &got, &mut tests);
        }
    }
    Ok(tests.print("unittest verdicts", options) & exits.print("unittest exit", options))
}

fn names(folder: &Path, only: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".json").filter(|name| name.contains(only)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Runs the suites as recorded. Returns whether the program failed, and the verdicts of its JUnit report.
fn replay(helm: &Path, work: &Path, name: &str, run: &Value) -> Result<(bool, Verdicts)> {
    let report = work.join("report.xml");
    if report.exists() {
        fs::remove_file(&report)?;
    }
    let arguments: Vec<&str> =
        run["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (chart, flags) = arguments.split_last().context("a run names a chart")?;
    let status = Command::new(helm)
        .arg("unittest")
        .args(flags)
        .args(["--output-type", "JUnit", "--output-file"])
        .arg(&report)
        .arg(chart)
        .current_dir(work.join(name))
        .env("HOME", work)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot run the program")?;
    let text = if report.exists() { fs::read_to_string(&report)? } else { String::new() };
    Ok((!status.success(), verdicts(&text)))
}

/// Reads a JUnit report as we write it: one element to a line.
fn verdicts(report: &str) -> Verdicts {
    let mut verdicts = Verdicts::new();
    let mut suite = String::new();
    let mut test: Option<(String, &'static str)> = None;
    let mut end = |suite: &str, test: &mut Option<(String, &'static str)>| {
        if let Some((name, verdict)) = test.take() {
            *verdicts.entry((suite.to_owned(), name, verdict)).or_default() += 1;
        }
    };
    for line in report.lines().map(str::trim_start) {
        if line.starts_with("<testsuite ") {
            end(&suite, &mut test);
            suite = attribute(line, "name");
        } else if line.starts_with("<testcase ") {
            end(&suite, &mut test);
            test = Some((attribute(line, "name"), "passed"));
        } else if let Some((_, verdict)) = &mut test {
            if line.starts_with("<failure ") || line.starts_with("<error ") {
                *verdict = "failed";
            } else if line.starts_with("<skipped ") {
                *verdict = "skipped";
            }
        }
    }
    end(&suite, &mut test);
    verdicts
}

fn attribute(line: &str, name: &str) -> String {
    let start = format!(" {name}=\"");
    let value =
        line.split_once(&start).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(value, _)| value);
    let mut text = value.to_owned();
    for (escape, character) in [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#x9;", "\t"),
        ("&#xA;", "\n"),
        ("&amp;", "&"),
    ] {
        text = text.replace(escape, character);
    }
    text
}

fn wanted_verdicts(run: &Value) -> Verdicts {
    let mut verdicts = Verdicts::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for suite in list(&run["suites"]) {
        for test in list(&suite["tests"]) {
            let verdict = match test["result"].as_str() {
                Some("failed") => "failed",
                Some("skipped") => "skipped",
                _ => "passed",
            };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            *verdicts.entry((text(&suite["name"]), text(&test["name"]), verdict)).or_default() += 1;
        }
    }
    verdicts
}

/// Adds one case for each wanted test.
fn compare(id: &str, wanted: &Verdicts, got: &Verdicts, tests: &mut Tally) {
    for ((suite, test, verdict), count) in wanted {
        let same = got.get(&(suite.clone(), test.clone(), verdict)).copied().unwrap_or_default().min(*count);
        for number in 0..*count {
            let id = format!("{id}: {suite}: {test}");
            let difference = (number >= same).then(|| format!("want {verdict}"));
            tests.add(&id, "", difference);
        }
    }
    if wanted.is_empty() && !got.is_empty() {
        print_line(&format!("    {id}: no test is wanted, got {}", got.len()));
    }
}

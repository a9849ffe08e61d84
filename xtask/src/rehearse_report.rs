//! `rehearse-report`: the results of rehearsals of the whole corpus, as a committed page.

mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell::{ci_binary, corpus, print_line, root};
use crate::steps::Outcome;

/// The timeout of one rehearsal; a chart that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(600);

/// The result of one chart.
struct Rehearsal {
    /// The name of its archive, without the ending.
    chart: String,
    /// Whether Helm renders it without any values.
    renders: bool,
    /// The exit code; none when it did not end by itself.
    code: Option<i32>,
    /// The report; nothing when there is none.
    report: Value,
    /// The first line of standard error, if there is no report.
    error: String,
}

/// Rehearses the corpus and compares the report with the committed page, or renews that.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let (mut renew, mut program) = (false, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--write" => renew = true,
            "--program" => program = Some(PathBuf::from(arguments.next().context("--program wants a path")?)),
            _ => bail!("usage: cargo xtask rehearse-report [--write] [--program PINTLE]"),
        }
    }
    let Some(corpus) = corpus() else {
        return Ok(Outcome::skipped("the corpus is not here (PINTLE_CORPUS or ../shared)"));
    };
    let program = program.map_or_else(ci_binary, Ok)?;
    let start = Instant::now();
    let outcomes = rehearse_all(&program, &corpus.join("charts"))?;
    print_line(&format!("{} charts in {:.0} s", outcomes.len(), start.elapsed().as_secs_f64()));
    check(&outcomes)?;
    let page = page::page(&outcomes);
    if renew {
        fs::write(path(), &page).with_context(|| format!("cannot write {}", path().display()))?;
        return Ok(Outcome::Passed);
    }
    let kept = fs::read_to_string(path())
        .with_context(|| format!("cannot read {}; --write makes it", path().display()))?;
    match page.lines().zip(kept.lines()).find(|(now, before)| now != before) {
        Some((now, before)) => {
            bail!(
                "docs/contributing/rehearse-report.md is out of date; --write renews it\n- {before}\n+ {now}"
            )
        }
        None if page != kept => {
            bail!("docs/contributing/rehearse-report.md is out of date; --write renews it")
        }
        None => Ok(Outcome::Passed),
    }
}

fn path() -> PathBuf {
    root().join("docs/contributing/rehearse-report.md")
}

/// The archives of the corpus, and whether each renders without values.
fn charts(folder: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let index = folder.join("INDEX.tsv");
    let text = fs::read_to_string(&index).with_context(|| format!("cannot read {}", index.display()))?;
    let mut rows = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = rows.next().context("the index is empty")?;
    let column = |name: &str| {
        head.iter().position(|it| *it == name).with_context(|| format!("the index has no column {name}"))
    };
    let (file, default) = (column("file")?, column("default")?);
    let mut charts: Vec<(PathBuf, bool)> = rows
        .filter(|row| row.len() > default)
        .map(|row| (folder.join(row[file]), row[default] == "ok"))
        .collect();
    charts.sort();
    Ok(charts)
}

/// Rehearses as many charts at a time as there are processors.
fn rehearse_all(program: &Path, folder: &Path) -> Result<Vec<Rehearsal>> {
    let charts = charts(folder)?;
    let (next, outcomes) = (Mutex::new(charts.iter()), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let taken = next.lock().expect("nobody panics with the lock").next();
            let Some((chart, renders)) = taken else { return Ok(()) };
            let outcome = rehearse(program, chart, *renders)?;
            outcomes.lock().expect("as above").push(outcome);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|thread| thread.join().expect("the work does not panic"))
    })?;
    let mut outcomes = outcomes.into_inner().expect("nobody panicked with the lock");
    outcomes.sort_by(|a, b| a.chart.cmp(&b.chart));
    Ok(outcomes)
}

fn rehearse(program: &Path, chart: &Path, renders: bool) -> Result<Rehearsal> {
    let folder = tempfile::tempdir()?;
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let mut child = Command::new(program)
        .arg("rehearse")
        .arg(chart)
        .args(["--output", "json"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out)?)
        .stderr(fs::File::create(&err)?)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let limit = Instant::now() + LONGEST;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if Instant::now() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let report = serde_json::from_slice(&fs::read(&out)?).unwrap_or(Value::Null);
    let error = String::from_utf8_lossy(&fs::read(&err)?).lines().next().unwrap_or_default().to_owned();
    let chart = chart.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Rehearsal { chart, renders, code, report, error })
}

/// Checks that do not depend on the committed page.
fn check(outcomes: &[Rehearsal]) -> Result<()> {
    for it in outcomes {
        let fits = match it.code {
            Some(0 | 1) => !it.report.is_null(),
            Some(2) => !it.renders,
            _ => false,
        };
        if !fits {
            bail!("{} ended with {:?}: {}", it.chart, it.code, it.error);
        }
    }
    Ok(())
}

//! Compares Pintle with recorded behaviour of the real Helm and prints a table.
//!
//! ```text
//! pintle-conformance                          everything: our own cases, and the corpus if present
//! pintle-conformance behaviour DIR            single behaviours, family by family (DIR/*.jsonl)
//! pintle-conformance render CHARTS GOLDENS    whole charts through the program, chart by chart
//! pintle-conformance diff CHARTS CASES        what helm-diff says about edited charts (CASES.jsonl)
//! pintle-conformance cases [DIR]              our own small charts
//! pintle-conformance unittest DIR             helm-unittest suites, test by test
//! ```
//!
//! Options: `--only TEXT` (families, charts or cases whose name contains TEXT), `--show N` (differences shown for each),
//! `--binary PATH` (the program to run; by default the one built beside this one).
//!
//! Every case must pass, except those in `exceptions.tsv`, which has a reason for each. The corpus was recorded with Helm
//! 4.2.4; `rerecorded` has the results of the cases that Helm 4.3.1, built with Go 1.27, answers otherwise.

mod case;
mod cases;
mod diff;
mod exceptions;
mod families;
mod render;
mod report;
mod tree;
mod unittest;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::exceptions::Exceptions;

/// The options of the command line.
pub(crate) struct Options {
    /// Run only names that contain this text.
    pub(crate) only: String,
    /// The number of differences to print per family or chart.
    pub(crate) show: usize,
    /// The program that renders charts.
    pub(crate) binary: PathBuf,
    /// The cases that may differ.
    pub(crate) exceptions: Exceptions,
}

fn main() -> ExitCode {
    pintle_time::Zone::set_local(std::env::var("TZ").ok());
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            report::print_line(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let mut words = Vec::new();
    let exceptions = Exceptions::read(&own_folder().join("exceptions.tsv"))?;
    let mut options =
        Options { only: String::new(), show: 3, binary: sibling_program("pintle")?, exceptions };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--only" => options.only = value()?,
            "--show" => options.show = value()?.parse().context("--show takes a number")?,
            "--binary" => options.binary = value()?.into(),
            _ => words.push(argument),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => run_all(&options),
        ["behaviour", folder] => families::run(Path::new(folder), &options),
        ["render", charts, goldens] => render::run(Path::new(charts), Path::new(goldens), &options),
        ["unittest", folder] => unittest::run(Path::new(folder), &options),
        ["diff", charts, cases] => diff::run(Path::new(charts), Path::new(cases), &options),
        ["cases"] => cases::run(&own_cases(), &options),
        ["cases", folder] => cases::run(Path::new(folder), &options),
        _ => bail!("unknown arguments: {}; see the head of conformance/src/main.rs", words.join(" ")),
    }
}

fn run_all(options: &Options) -> Result<bool> {
    let mut good = cases::run(&own_cases(), options)?;
    let corpus =
        std::env::var_os("PINTLE_CORPUS").map_or_else(|| own_folder().join("../../shared"), PathBuf::from);
    let goldens = corpus.join("goldens");
    if !goldens.is_dir() {
        report::print_line(
            "corpus: not here (PINTLE_CORPUS or ../shared); behaviour and render are left out",
        );
        return Ok(good);
    }
    good &= families::run(&goldens.join("behaviour"), options)?;
    good &= render::run(&corpus.join("charts"), &goldens.join("render"), options)?;
    let suites = corpus.join("unittest");
    if suites.is_dir() {
        good &= unittest::run(&suites, options)?;
    }
    let diffs = goldens.join("diff/local.jsonl");
    if diffs.is_file() {
        good &= diff::run(&corpus.join("charts"), &diffs, options)?;
    }
    Ok(good)
}

fn own_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn own_cases() -> PathBuf {
    own_folder().join("cases")
}

/// The path of another program in the same target directory.
fn sibling_program(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe().context("cannot tell where this program is")?.with_file_name(name))
}

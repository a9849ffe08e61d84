//! `fuzz`: runs the libFuzzer targets.
//!
//! Coverage instrumentation is an LLVM pass of every toolchain, so neither a nightly toolchain nor `cargo fuzz` is needed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::rotation::Shard;
use crate::shell::{output, print_line, root, run as run_command};
use crate::steps::Outcome;

/// The default of SECONDS.
const SECONDS: u64 = 60;

/// The compiler flags of `cargo fuzz`, without sanitizers, which only slow down safe Rust.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Clink-dead-code",
    "-Cdebug-assertions",
];

/// Runs `fuzz [SECONDS [TARGET]]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let seconds =
        arguments.first().map_or(Ok(SECONDS), |text| text.parse()).context("SECONDS must be a number")?;
    run_all(seconds, arguments.get(1).map(String::as_str))
}

/// Fuzzes every target, or the one named.
pub(crate) fn run_all(seconds: u64, only: Option<&str>) -> Result<Outcome> {
    let targets: Vec<String> =
        targets()?.into_iter().filter(|target| only.is_none_or(|only| only == target)).collect();
    fuzz_these(&targets, seconds)
}

/// Fuzzes one shard of the targets.
pub(crate) fn run_part(seconds: u64, part: Shard) -> Result<Outcome> {
    let targets = targets()?.into_iter().enumerate().filter(|(index, _)| part.has(*index));
    fuzz_these(&targets.map(|(_, target)| target).collect::<Vec<_>>(), seconds)
}

fn fuzz_these(targets: &[String], seconds: u64) -> Result<Outcome> {
    build(targets)?;
    for target in targets {
        fuzz(target, seconds).with_context(|| format!("fuzz target {target}"))?;
    }
    Ok(Outcome::Passed)
}

/// The programs of `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder().join("fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn folder() -> PathBuf {
    root().join("fuzz")
}

/// The host target triple.
fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let version = String::from_utf8_lossy(&version).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what machine this is")?.to_owned())
}

fn build(targets: &[String]) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // An explicit `--target` keeps the flags away from build scripts.
    cargo.args(["build", "--quiet", "--release", "--target", &host()?]).current_dir(folder());
    // Each target has a feature of its name, which enables its dependencies.
    cargo.args(targets.iter().flat_map(|target| ["--bin", target, "--features", target]));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")).env_remove("RUSTFLAGS");
    run_command(&mut cargo)
}

fn fuzz(target: &str, seconds: u64) -> Result<()> {
    let corpus = folder().join("corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let mut command = Command::new(folder().join("target").join(host()?).join("release").join(target));
    command.arg(&corpus).arg(folder().join("seeds").join(target));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", folder().join("artifacts").join(target).display()));
    command.args(["-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_final_stats=1"]);
    std::fs::create_dir_all(folder().join("artifacts").join(target))?;
    let printed = output_of_both(&mut command)?;
    let executed = printed.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    print_line(&format!(
        "fuzz {target}: {} runs in {seconds} s, no finding",
        executed.unwrap_or(" ?").trim()
    ));
    Ok(())
}

/// libFuzzer prints on standard error; a finding ends it with an error code.
fn output_of_both(command: &mut Command) -> Result<String> {
    let finished = command.output().context("cannot run the fuzz target")?;
    let printed = String::from_utf8_lossy(&finished.stderr).into_owned();
    if !finished.status.success() {
        let tail: Vec<&str> = printed.lines().rev().take(40).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        anyhow::bail!("{}", tail.join("\n"));
    }
    Ok(printed)
}

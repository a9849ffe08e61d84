//! `fuzz`: hostile input, made up by libFuzzer.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell::{self, cache, root, say};

/// Fuzzes every target, or the one named, for some seconds each (60 unless told).
pub(crate) fn run_all(seconds: u64, only: Option<&str>) -> Result<()> {
    let Some(tool) = tool()? else { return Ok(()) };
    for target in targets()? {
        if only.is_none_or(|only| only == target) {
            fuzz(&tool, &target, seconds).with_context(|| format!("fuzz target {target}"))?;
        }
    }
    Ok(())
}

/// Reads the arguments of the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds =
        arguments.first().map_or(Ok(60), |text| text.parse()).context("SECONDS must be a number")?;
    run_all(seconds, arguments.get(1).map(String::as_str))
}

/// The programs of `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// cargo-fuzz, installed on first use. Without a nightly toolchain the chore is left out, and says so.
fn tool() -> Result<Option<PathBuf>> {
    let nightly = Command::new("cargo").args(["+nightly", "--version"]).output();
    if !nightly.is_ok_and(|output| output.status.success()) {
        say("skipped: fuzzing needs a nightly toolchain (rustup toolchain install nightly)");
        return Ok(None);
    }
    let folder = cache()?.join("cargo-fuzz");
    let path = folder.join("bin/cargo-fuzz");
    if !path.is_file() {
        say("installing cargo-fuzz (once)");
        let mut install = Command::new("cargo");
        install.args(["+nightly", "install", "--quiet", "--locked", "cargo-fuzz", "--root"]).arg(&folder);
        if let Err(error) = shell::run(&mut install) {
            say(&format!("skipped: cargo-fuzz could not be installed ({error:#})"));
            return Ok(None);
        }
    }
    Ok(Some(path))
}

fn fuzz(tool: &std::path::Path, target: &str, seconds: u64) -> Result<()> {
    let fuzz_folder = root().join("fuzz");
    let corpus = fuzz_folder.join("corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let seeds = fuzz_folder.join("seeds").join(target);
    let mut command = Command::new(tool);
    // Everything that is fuzzed is safe Rust, so the sanitizers would only slow it down.
    command
        .args(["fuzz", "run", "--sanitizer", "none", target])
        .arg(&corpus)
        .arg(&seeds)
        .args([
            "--",
            &format!("-max_total_time={seconds}"),
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-verbosity=0",
        ])
        .arg("-print_final_stats=1")
        .current_dir(&fuzz_folder)
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env_remove("CARGO");
    let printed = output_of_both(&mut command)?;
    let executed = printed.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    say(&format!("fuzz {target}: {} runs in {seconds} s, no finding", executed.unwrap_or(" ?").trim()));
    Ok(())
}

/// libFuzzer prints on standard error; a finding ends it with an error code.
fn output_of_both(command: &mut Command) -> Result<String> {
    let finished = command.output().context("cannot run cargo-fuzz")?;
    let printed = String::from_utf8_lossy(&finished.stderr).into_owned();
    if !finished.status.success() {
        let tail: Vec<&str> = printed.lines().rev().take(40).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        anyhow::bail!("{}", tail.join("\n"));
    }
    Ok(printed)
}

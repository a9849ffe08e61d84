//! `ci`: everything that must be true of a commit, cheapest first.

use std::process::Command;

use anyhow::Result;

use crate::shell::{cache, cargo, corpus, release_binary, run, say, step};
use crate::{
    bench, clients, contract, e2e, fuzz, images_report, instructions, registries, rehearse_report, suite,
    tidy,
};

/// What is run on the oldest supported Kubernetes: that everything works there, too. What does not depend on the version
/// (faults, sizes, many charts) is left to the newest.
const OLDEST: [&str; 9] =
    ["--kubernetes", "1.34", "share_releases", "told_alike", "hook", "wait", "version", "owns", "comes_over"];

/// Runs all steps; the first that fails stops the run.
pub(crate) fn run_all() -> Result<()> {
    step("format", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("tidy", tidy::run)?;
    step("clippy", || {
        run(&mut cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    step("registries", registries::build)?;
    step("tests", tests)?;
    step("documentation", || {
        run(cargo(&["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("dependencies", deny)?;
    step("conformance", conformance)?;
    step("our own cluster", || e2e::run(&["--on", "embedded", "--release"].map(ToOwned::to_owned)))?;
    step("contract with the real server", || contract::run(&[]))?;
    step("clients on both clusters", || clients::run(&[]))?;
    step("real cluster", || e2e::run(&[]))?;
    step("real cluster, oldest Kubernetes", || e2e::run(&OLDEST.map(ToOwned::to_owned)))?;
    step("benches", bench::smoke)?;
    step("instructions", || instructions::chore(&[]))?;
    step("images of the corpus", || images_report::chore(&[]))?;
    step("rehearsals of the corpus", || rehearse_report::chore(&[]))?;
    step("fuzz", || fuzz::run_all(5, None))?;
    say("all steps passed");
    Ok(())
}

fn tests() -> Result<()> {
    let command = |words: &[String]| {
        let mut command = cargo(&["test", "--quiet", "--workspace", "--no-fail-fast", "--"]);
        command.args(words);
        command
    };
    suite::run(command, &[])
}

/// The program is built by itself, as users get it: together with another package, cargo would give it that one's
/// features. What looks at it need not be quick.
fn conformance() -> Result<()> {
    let program = release_binary()?;
    if corpus().is_none() {
        say("corpus: not here; only our own cases run");
    }
    let mut conformance = cargo(&["run", "--quiet", "--package", "pintle-conformance", "--"]);
    run(conformance.arg("--binary").arg(program).args(["--least", "99.5"]))
}

/// cargo-deny where it is installed or can be; it needs no network for bans, licences and sources.
fn deny() -> Result<()> {
    let folder = cache()?.join("cargo-deny");
    let tool = folder.join("bin/cargo-deny");
    let installed = tool.is_file() || Command::new("cargo-deny").arg("--version").output().is_ok();
    if !installed {
        say("installing cargo-deny (once)");
        let mut install = cargo(&["install", "--quiet", "--locked", "cargo-deny", "--root"]);
        if let Err(error) = run(install.arg(&folder)) {
            say(&format!("skipped: cargo-deny could not be installed ({error:#})"));
            return Ok(());
        }
    }
    // Also what only other systems need, because the licences of all of it are looked at.
    run(&mut cargo(&["fetch", "--quiet", "--locked"]))?;
    let mut command = if tool.is_file() { Command::new(tool) } else { Command::new("cargo-deny") };
    run(command
        .args([
            "--offline",
            "--log-level",
            "error",
            "check",
            "--hide-inclusion-graph",
            "bans",
            "licenses",
            "sources",
        ])
        .current_dir(crate::shell::root()))
}

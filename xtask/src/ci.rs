//! `check`, `test`, `ci` and `nightly`: the checks after an edit, before a commit, on every commit, and at night.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cluster::RELEASES;
use crate::load::Load;
use crate::rotation::{Shard, Slot};
use crate::runner::{Suite, features};
use crate::shell::{cargo, ci_binary, corpus, output, print_line, program, root, run};
use crate::steps::{Outcome, Steps};
use crate::{
    api, bench, clients, contract, dependencies, e2e, editors, fuzz, go, helm, helm_clients, images_report,
    instructions, msrv, reference, registries, rehearse_report, reproducible, site, tidy, ui, unicode,
    vscode,
};

/// The number of shards of the kill points, the fuzz targets and the tests on each Kubernetes; a CI run has one. Most tests
/// also run on the embedded cluster, every time.
const SHARDS: usize = 5;

/// Why a run leaves out what one of the two Kubernetes versions is for: building one takes as long as all Rust code.
const OTHER_VERSION: &str = "the newest and the oldest Kubernetes alternate by commit";

/// Seconds per fuzz target: in CI, where one shard runs, and at night, where all run.
const FUZZ: u64 = 10;
const FUZZ_AT_NIGHT: u64 = 300;

/// `check`: format, tidy, clippy and the tests of the packages that changed.
pub(crate) fn check() -> Result<()> {
    let packages = changed_packages()?;
    let flags: Vec<&str> = packages.iter().flat_map(|name| ["--package", name.as_str()]).collect();
    Steps::all(false, |steps| {
        static_checks(steps)?;
        if flags.is_empty() {
            print_line("no package has changed");
            return Ok(());
        }
        print_line(&format!(
            "changed: {}",
            packages.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ));
        steps.run("clippy", || clippy(&flags))?;
        steps.run("tests", || Suite::build(&flags)?.run("tests").map(|_| Outcome::Passed))
    })
}

/// `test [--under-load]`: all tests that need only Rust.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let under_load = match arguments {
        [] => false,
        [flag] if flag == "--under-load" => true,
        _ => bail!("usage: cargo xtask test [--under-load]"),
    };
    Steps::all(false, |steps| {
        static_checks(steps)?;
        steps.run("tests", || {
            let suite = Suite::build(&["--workspace"])?.env("PINTLE_TEST_WITHOUT_GO", "yes");
            if under_load {
                Load::rounds(|| suite.run("tests"))?;
            } else {
                suite.run("tests")?;
            }
            Ok(Outcome::Passed)
        })?;
        steps.run("examples in documentation", doc_tests)
    })
}

/// `ci [--keep-going]`: all checks of a commit, cheapest first; stops at the first failure without `--keep-going`. What takes
/// too long for every commit is sharded over commits, see [`Shard`].
pub(crate) fn ci(arguments: &[String]) -> Result<()> {
    let keep_going = match arguments {
        [] => false,
        [flag] if flag == "--keep-going" => true,
        _ => bail!("usage: cargo xtask ci [--keep-going]"),
    };
    let slot = Slot::of_head()?;
    let shard = slot.shard(SHARDS);
    print_line(&format!("this run has shard {} of the sets that rotate by commit", shard.text()));
    if go::is_available() {
        let [newest, .., oldest] = RELEASES;
        go::build_ahead(if slot.is_even() { newest } else { oldest });
    }
    Steps::all(keep_going, |steps| {
        static_checks(steps)?;
        // Not with the checks after every edit: npm may have to download.
        steps.run("page of the web view", ui::check)?;
        steps.run("clippy", || clippy(&["--workspace"]))?;
        steps.run("the library without features", rendering_alone)?;
        // Tests compare with them, and skip what is missing.
        steps.run("registries and Helm", || if_go(|| registries::build().and(helm::helm().map(|_| ()))))?;
        steps.run("tables of characters", || if_go(|| unicode::run(&[])))?;
        steps.run("tests", || {
            Suite::build(&["--workspace"])?.retry(true).run("tests").map(|_| Outcome::Passed)
        })?;
        steps.run("documentation", documentation)?;
        steps.run("examples in documentation", doc_tests)?;
        steps.run("program", || ci_binary().map(|_| Outcome::Passed))?;
        steps.run("the page in a browser", || ui::browser(&ci_binary()?))?;
        steps.run("conformance", conformance)?;
        steps.run("e2e on the embedded cluster", || e2e(&["--on", "embedded"], shard))?;
        steps.run("programs that call Helm", || helm_clients::run(&[]))?;
        steps.run("editors", || editors::run_all(&[]))?;
        let on_kubernetes = slot.shard_of_every_second(SHARDS).text();
        if slot.is_even() {
            steps.run("contract with a real API server", || contract::run(&[]))?;
            steps.run("kubectl and Helm on both clusters", || clients::run(&[]))?;
            steps.run("e2e on the newest Kubernetes", || e2e(&["--part", &on_kubernetes], shard))?;
        } else {
            for step in ["contract with a real API server", "kubectl and Helm on both clusters"] {
                steps.run(step, || Ok(Outcome::skipped(OTHER_VERSION)))?;
            }
            let oldest = ["--kubernetes", "1.34", "--part", &on_kubernetes];
            steps.run("e2e on the oldest Kubernetes", || e2e(&oldest, shard))?;
        }
        steps.run("benches", bench::smoke)?;
        steps.run("instructions", || instructions::run(&[]))?;
        steps.run("images of the corpus", || images_report::run(&[]))?;
        steps.run("rehearsals of the corpus", || rehearse_report::run(&[]))?;
        // With the oldest Kubernetes, because runs with the newest have more to do.
        steps.run("fuzz", || match slot.is_even() {
            true => Ok(Outcome::skipped("the fuzz targets are built every second commit")),
            false => fuzz::run_part(FUZZ, slot.shard_of_every_second(SHARDS)),
        })
    })
}

/// `nightly`: the complete long sets, of which `ci` runs one shard: every test and kill point on every Kubernetes.
pub(crate) fn nightly() -> Result<()> {
    Steps::all(false, |steps| {
        steps.run("program", || ci_binary().map(|_| Outcome::Passed))?;
        for (name, version) in [
            ("e2e on the newest Kubernetes", "1.37"),
            ("e2e on Kubernetes 1.36", "1.36"),
            ("e2e on Kubernetes 1.35", "1.35"),
            ("e2e on the oldest Kubernetes", "1.34"),
        ] {
            steps
                .run(name, || e2e::run(&["--profile-ci", "--kubernetes", version].map(ToOwned::to_owned)))?;
        }
        steps.run("replicas of the controller", || {
            let filters = ["--", "ring::model", "simulation::"];
            let mut test =
                cargo(&[&["test", "--profile", "ci", "-p", "pintle-controller"][..], &filters].concat());
            done(test.env("PINTLE_RING_FAILURES", "2").env("PINTLE_RING_SEEDS", "2000"))
        })?;
        // The newest one is checked by every second run of `ci`.
        steps.run("contract with Kubernetes 1.36", || {
            contract::run(&["--kubernetes", "1.36"].map(ToOwned::to_owned))
        })?;
        steps.run("oldest compiler", || msrv::run(&[]))?;
        steps.run("two builds are equal", || reproducible::run_twice(&[]).map(|()| Outcome::Passed))?;
        steps.run("documentation site in a browser", site::in_browser)?;
        steps.run("extension for Visual Studio Code", || vscode::run_task(&[]))?;
        steps.run("fuzz", || fuzz::run_all(FUZZ_AT_NIGHT, None))
    })
}

fn static_checks(steps: &mut Steps) -> Result<()> {
    steps.run("format", || done(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.run("tidy", || tidy::run().map(|()| Outcome::Passed))?;
    steps.run("public API", || api::run(&[]).map(|()| Outcome::Passed))?;
    steps.run("documentation site", || {
        reference::check()?;
        site::check().map(|()| Outcome::Passed)
    })?;
    steps.run("dependencies", || dependencies::run().map(|()| Outcome::Passed))
}

fn done(command: &mut Command) -> Result<Outcome> {
    run(command)?;
    Ok(Outcome::Passed)
}

fn if_go(work: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    if !go::is_available() {
        return Ok(Outcome::skipped(go::MISSING));
    }
    work()?;
    Ok(Outcome::Passed)
}

fn clippy(selection: &[&str]) -> Result<Outcome> {
    let mut command = cargo(&["clippy", "--quiet", "--all-targets"]);
    command.args(selection).args(features(selection));
    done(command.args(["--", "-D", "warnings"]))
}

/// Checks the library with no Cargo feature, which the rest of the workspace turns on.
fn rendering_alone() -> Result<Outcome> {
    let selection = ["clippy", "--quiet", "--package", "pintle", "--no-default-features", "--lib"];
    done(cargo(&selection).args(["--", "-D", "warnings"]))
}

fn documentation() -> Result<Outcome> {
    done(cargo(&["doc", "--quiet", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn doc_tests() -> Result<Outcome> {
    done(&mut cargo(&["test", "--quiet", "--workspace", "--doc"]))
}

/// Failed tests on a cluster are retried once: a machine that stalls for a minute should not discard a run of half an hour.
/// A test that passes only on retry is reported, and is a bug.
fn e2e(words: &[&str], kill_points: Shard) -> Result<Outcome> {
    let kills = ["--kill-points", &kill_points.text()].map(ToOwned::to_owned);
    let words = ["--profile-ci", "--retry"].iter().chain(words).map(|word| (*word).to_owned());
    e2e::run(&words.chain(kills).collect::<Vec<_>>())
}

/// Runs against the release build, as users get it.
fn conformance() -> Result<Outcome> {
    let checked = ci_binary()?;
    if corpus().is_none() {
        print_line("corpus: not found; only our own cases run");
    }
    // `--workspace` unifies the features as for the tests, so that nothing is built twice.
    run(&mut cargo(&["build", "--quiet", "--workspace", "--bin", "pintle-conformance"]))?;
    let mut conformance = Command::new(program("debug/pintle-conformance")?);
    // The time zone of the recordings.
    done(conformance.arg("--binary").arg(checked).current_dir(root()).env("TZ", "UTC"))
}

/// The packages with changes since the last commit, or, without any, the packages of the last commit.
fn changed_packages() -> Result<BTreeSet<String>> {
    let git = |words: &[&str]| -> Result<Vec<String>> {
        let listed = output(Command::new("git").args(words).current_dir(root()))?;
        Ok(String::from_utf8_lossy(&listed).lines().map(ToOwned::to_owned).collect())
    };
    let mut files = git(&["diff", "--name-only", "HEAD"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    if files.is_empty() {
        files = git(&["diff", "--name-only", "HEAD~1", "HEAD"])?;
    }
    files.iter().filter_map(|file| package_of(file).transpose()).collect()
}

/// The package that a file belongs to, if any.
fn package_of(file: &str) -> Result<Option<String>> {
    let folders = Path::new(file).ancestors().skip(1);
    let manifest = folders.map(|folder| root().join(folder).join("Cargo.toml")).find(|path| path.is_file());
    let Some(manifest) = manifest.filter(|path| *path != root().join("Cargo.toml")) else { return Ok(None) };
    let text =
        std::fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    // The fuzz targets are a separate workspace.
    Ok(name.filter(|name| *name != "pintle-fuzz").map(ToOwned::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_the_package_around_them() {
        let package = |file| package_of(file).unwrap();
        assert_eq!(package("crates/lib/src/ops/install.rs").as_deref(), Some("pintle"));
        assert_eq!(package("xtask/src/ci.rs").as_deref(), Some("xtask"));
        assert_eq!(package("README.md"), None);
        assert_eq!(package("fuzz/fuzz_targets/set.rs"), None);
    }
}

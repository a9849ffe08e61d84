//! `e2e`: runs the tests that need a cluster, on a real Kubernetes or the embedded API.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES, Release};
use crate::load::Load;
use crate::postgres::Postgres;
use crate::rotation::Shard;
use crate::runner::Suite;
use crate::shell::{self, ci_binary, print_line};
use crate::steps::Outcome;
use crate::{go, helm};

/// The integration tests that need a cluster or a database. The whole workspace is selected, so that cargo unifies the
/// features as in other builds and reuses their artifacts.
const TESTS: [&str; 3] = ["--workspace", "--test", "it"];

/// The packages whose integration tests need a cluster or a database.
const PACKAGES: [&str; 3] = ["e2e", "cluster", "sql"];

/// More tests than processors, because they mostly wait for the cluster.
const JOBS: usize = 6;

/// The value of `--on` for a temporary embedded API.
const EMBEDDED: &str = "embedded";

/// The command line of the task.
struct Options {
    /// A running cluster, which is not removed, or [`EMBEDDED`].
    on: Option<String>,
    /// `None` for the highest level that this machine supports.
    level: Option<Level>,
    kubernetes: Release,
    /// Whether to test the release build.
    profile_ci: bool,
    /// Whether to run a failed test once more; one that passes then is reported as flaky.
    retry: bool,
    /// Run three times under CPU load.
    under_load: bool,
    /// Run only this shard of the tests.
    part: Option<Shard>,
    /// The shard of kill points; `None` for all.
    kill_points: Option<Shard>,
    /// Substrings of test names; empty for all.
    filters: Vec<String>,
}

/// Runs `e2e [--on embedded|NAME] [--level LEVEL] [--kubernetes VERSION] [--release] [--retry] [--part K/N]
/// [--kill-points K/N] [--under-load] [FILTER…]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let options = parse(arguments)?;
    let given = options.level.or((options.on.as_deref() == Some(EMBEDDED)).then_some(Level::Embedded));
    if !go::is_available() {
        return Ok(Outcome::skipped(go::MISSING));
    }
    // Everything that can fail without a cluster runs first.
    let program = if options.profile_ci { ci_binary()? } else { cluster::program()? };
    let helms = [("PINTLE_HELM", helm::helm()?), ("PINTLE_HELM3", helm::helm3()?)];
    let mut suite = Suite::build(&TESTS)?.packages(&PACKAGES).filters(&options.filters).jobs(JOBS);
    suite = suite.retry(options.retry).part(options.part).env("PINTLE_E2E_PROGRAM", &program);
    // Built with the integration tests of its crate.
    suite = suite.env("PINTLE_E2E_CONTROLLER", shell::program("debug/pintle-controller")?);
    if let Some(part) = options.kill_points {
        suite = suite.env("PINTLE_E2E_KILL_POINTS", part.text());
    }
    for (name, path) in helms {
        suite = suite.env(name, path);
    }
    if let Some(name) = options.on.as_ref().filter(|name| *name != EMBEDDED) {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return test(&cluster, suite, options.under_load);
    }
    let name = format!("run-{}", std::process::id());
    let level = given.unwrap_or_else(cluster::level);
    let spec = ClusterSpec { name, level, kubernetes: options.kubernetes, program: Some(program) };
    let guard = Guard::set(&spec.name)?;
    let tested = start(&spec, given.is_some()).and_then(|cluster| test(&cluster, suite, options.under_load));
    guard.release()?;
    tested
}

/// Starts the cluster. If a node does not start on this machine, falls back to the control plane, unless `--level` was
/// given; the tests that need pods are then skipped.
fn start(spec: &ClusterSpec, fixed: bool) -> Result<Cluster> {
    match cluster::up(spec) {
        Err(error) if spec.level == Level::Node && !fixed => {
            print_line(&format!("no node here, going on without pods: {error:#}"));
            cluster::up(&ClusterSpec { level: Level::ControlPlane, ..spec.clone() })
        }
        outcome => outcome,
    }
}

fn parse(arguments: &[String]) -> Result<Options> {
    let [newest, ..] = RELEASES;
    let mut options = Options {
        on: None,
        level: None,
        kubernetes: newest,
        profile_ci: false,
        retry: false,
        under_load: false,
        part: None,
        kill_points: None,
        filters: Vec::new(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--on" => options.on = Some(value()?.clone()),
            "--level" => options.level = Some(Level::named(value()?)?),
            "--profile-ci" => options.profile_ci = true,
            "--retry" => options.retry = true,
            "--under-load" => options.under_load = true,
            "--part" => options.part = Some(Shard::parse(value()?)?),
            "--kubernetes" => options.kubernetes = Release::named(value()?)?,
            "--kill-points" => options.kill_points = Some(Shard::parse(value()?)?),
            word if word.starts_with('-') => bail!("e2e knows no `{word}`"),
            _ => options.filters.push(word.clone()),
        }
    }
    Ok(options)
}

fn test(cluster: &Cluster, mut suite: Suite, under_load: bool) -> Result<Outcome> {
    suite = suite.env("PINTLE_E2E_KUBECONFIG", cluster.kubeconfig());
    suite = suite.env("PINTLE_E2E_LEVEL", cluster.level.name());
    let postgres = Postgres::start()?;
    if let Some(postgres) = &postgres {
        suite = suite.env("PINTLE_E2E_POSTGRES", postgres.address());
        suite = suite.env("PINTLE_E2E_POSTGRES_TLS", postgres.secure_address());
        suite = suite.env("PINTLE_E2E_POSTGRES_CA", postgres.authority());
    }
    if under_load {
        Load::rounds(|| suite.run("e2e"))?;
    } else {
        suite.run("e2e")?;
    }
    Ok(Outcome::Passed)
}

/// A process that removes the cluster once this one ends. It is in its own process group, so that Ctrl-C and even a kill of
/// this process leave nothing behind.
pub(crate) struct Guard(Child);

impl Guard {
    /// Starts the guard of a cluster.
    pub(crate) fn set(name: &str) -> Result<Guard> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", "guard", "--name", name]).stdin(Stdio::piped()).process_group(0);
        Ok(Guard(command.spawn().context("cannot start the guard of the cluster")?))
    }

    /// Removes the cluster now, and waits for it.
    pub(crate) fn release(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        let status = self.0.wait().context("cannot wait for the guard of the cluster")?;
        if !status.success() {
            bail!("the cluster could not be taken down ({status}); see `cargo xtask cluster status`");
        }
        print_line("nothing is left of the cluster");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filters_and_unknown_flags_are_refused() {
        let words = ["--on", "mine", "hooks", "--part", "2/5", "waits"].map(ToOwned::to_owned);
        let options = parse(&words).unwrap();
        assert_eq!(options.on.as_deref(), Some("mine"));
        assert_eq!(options.filters, ["hooks", "waits"]);
        assert!(parse(&["--nocapture".to_owned()]).is_err());
        assert!(parse(&["--kubernetes".to_owned(), "1.2".to_owned()]).is_err());
    }
}

//! `e2e`: the tests that need a cluster, with a cluster around them: a real Kubernetes, or our own API.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, Level, RELEASES, Release, Wish};
use crate::load::Load;
use crate::postgres::Postgres;
use crate::rotation::Part;
use crate::runner::Suite;
use crate::shell::{release_binary, say};
use crate::steps::Outcome;
use crate::{go, helm};

/// The integration tests that need a cluster or a database. The whole workspace is selected, so that cargo takes the
/// features, and with them the crates, that are built already.
const TESTS: [&str; 3] = ["--workspace", "--test", "it"];

/// The packages whose integration tests need a cluster or a database.
const PACKAGES: [&str; 3] = ["e2e", "cluster", "sql"];

/// Most of the time a test waits for the cluster, so more of them run than there are processors.
const JOBS: usize = 6;

/// On what the tests run when it is our own API: a fresh one that goes afterwards.
const EMBEDDED: &str = "embedded";

/// What somebody asks for.
struct Order {
    /// A cluster that is up and stays up, or [`EMBEDDED`].
    on: Option<String>,
    /// The most that this machine can have of a real Kubernetes, unless given.
    level: Option<Level>,
    kubernetes: Release,
    /// Whether the program is the one that users get, which is built longer and runs faster.
    release: bool,
    /// Whether a test that fails may pass at its second run; it is named then.
    retry: bool,
    /// Three runs beside busy loops.
    under_load: bool,
    /// Every so many tests only.
    part: Option<Part>,
    /// A part of the moments at which the program is killed; all, unless given.
    kill_points: Option<Part>,
    /// Parts of names of tests; none means all.
    filters: Vec<String>,
}

/// Runs `e2e [--on embedded|NAME] [--level LEVEL] [--kubernetes VERSION] [--release] [--retry] [--part K/N]
/// [--kill-points K/N] [--under-load] [FILTER…]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let order = parse(arguments)?;
    let given = order.level.or((order.on.as_deref() == Some(EMBEDDED)).then_some(Level::Embedded));
    if !go::is_here() {
        return Ok(Outcome::skipped(go::MISSING));
    }
    // Everything that can fail without a cluster comes first.
    let program = if order.release { release_binary()? } else { cluster::program()? };
    let helms = [("PINTLE_HELM", helm::helm()?), ("PINTLE_HELM3", helm::helm3()?)];
    let mut suite = Suite::build(&TESTS)?.packages(&PACKAGES).filters(&order.filters).jobs(JOBS);
    suite = suite.retry(order.retry).part(order.part).env("PINTLE_E2E_PROGRAM", &program);
    if let Some(part) = order.kill_points {
        suite = suite.env("PINTLE_E2E_KILL_POINTS", part.text());
    }
    for (name, path) in helms {
        suite = suite.env(name, path);
    }
    if let Some(name) = order.on.as_ref().filter(|name| *name != EMBEDDED) {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return test(&cluster, suite, order.under_load);
    }
    let name = format!("run-{}", std::process::id());
    let level = given.unwrap_or_else(cluster::level);
    let wish = Wish { name, level, kubernetes: order.kubernetes, program: Some(program) };
    let guard = Guard::set(&wish.name)?;
    let tested = start(&wish, given.is_some()).and_then(|cluster| test(&cluster, suite, order.under_load));
    guard.release()?;
    tested
}

/// Starts the cluster. Where a node turns out to be more than the machine can have, the control plane has to do, unless
/// the node was asked for; the tests that need pods then say that they are skipped.
fn start(wish: &Wish, fixed: bool) -> Result<Cluster> {
    match cluster::up(wish) {
        Err(error) if wish.level == Level::Node && !fixed => {
            say(&format!("no node here, going on without pods: {error:#}"));
            cluster::up(&Wish { level: Level::ControlPlane, ..wish.clone() })
        }
        outcome => outcome,
    }
}

fn parse(arguments: &[String]) -> Result<Order> {
    let [newest, ..] = RELEASES;
    let mut order = Order {
        on: None,
        level: None,
        kubernetes: newest,
        release: false,
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
            "--on" => order.on = Some(value()?.clone()),
            "--level" => order.level = Some(Level::named(value()?)?),
            "--release" => order.release = true,
            "--retry" => order.retry = true,
            "--under-load" => order.under_load = true,
            "--part" => order.part = Some(Part::parse(value()?)?),
            "--kubernetes" => order.kubernetes = Release::named(value()?)?,
            "--kill-points" => order.kill_points = Some(Part::parse(value()?)?),
            word if word.starts_with('-') => bail!("e2e knows no `{word}`"),
            _ => order.filters.push(word.clone()),
        }
    }
    Ok(order)
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

/// A process that takes the cluster down when this one is gone. It does not share the terminal's signals, so Ctrl-C and
/// even a kill of this process leave nothing behind.
pub(crate) struct Guard(Child);

impl Guard {
    /// Starts the guard of a cluster.
    pub(crate) fn set(name: &str) -> Result<Guard> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["cluster", "guard", "--name", name]).stdin(Stdio::piped()).process_group(0);
        Ok(Guard(command.spawn().context("cannot start the guard of the cluster")?))
    }

    /// Lets the guard do its work, and waits for it.
    pub(crate) fn release(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        let status = self.0.wait().context("cannot wait for the guard of the cluster")?;
        if !status.success() {
            bail!("the cluster could not be taken down ({status}); see `cargo xtask cluster status`");
        }
        say("nothing is left of the cluster");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filters_and_unknown_flags_are_refused() {
        let words = ["--on", "mine", "hooks", "--part", "2/5", "waits"].map(ToOwned::to_owned);
        let order = parse(&words).unwrap();
        assert_eq!(order.on.as_deref(), Some("mine"));
        assert_eq!(order.filters, ["hooks", "waits"]);
        assert!(parse(&["--nocapture".to_owned()]).is_err());
        assert!(parse(&["--kubernetes".to_owned(), "1.2".to_owned()]).is_err());
    }
}

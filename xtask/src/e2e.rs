//! `e2e`: the tests that need a cluster, with a cluster around them: a real Kubernetes, or our own API.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, Level, RELEASES, Release, Wish};
use crate::helm;
use crate::postgres::Postgres;
use crate::shell::{cargo, release_binary, run as run_command, say};
use crate::suite;

/// Where the tests are that need a cluster or a database; their other tests are quick.
const PACKAGES: [&str; 6] =
    ["--package", "pintle-e2e", "--package", "pintle-cluster", "--package", "pintle-sql"];

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
    /// For the test program: part of a name, or its own flags.
    rest: Vec<String>,
}

/// Runs `e2e [--on embedded|NAME] [--level LEVEL] [--kubernetes VERSION] [--release] [FILTER] [FLAGS OF THE TEST PROGRAM]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let order = parse(arguments)?;
    // Everything that can fail without a cluster comes first.
    let program = if order.release { release_binary()? } else { cluster::program()? };
    run_command(cargo(&["test", "--quiet", "--no-run"]).args(PACKAGES))?;
    let helms = [("PINTLE_HELM", helm::helm()?), ("PINTLE_HELM3", helm::helm3()?)];
    if let Some(name) = order.on.as_ref().filter(|name| *name != EMBEDDED) {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return test(&cluster, &program, &helms, &order.rest);
    }
    let name = format!("run-{}", std::process::id());
    let given = order.level.or(order.on.is_some().then_some(Level::Embedded));
    let level = given.unwrap_or_else(cluster::level);
    let wish = Wish { name, level, kubernetes: order.kubernetes, program: Some(program.clone()) };
    let guard = Guard::set(&wish.name)?;
    let tested =
        start(&wish, given.is_some()).and_then(|cluster| test(&cluster, &program, &helms, &order.rest));
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
    let mut order = Order { on: None, level: None, kubernetes: newest, release: false, rest: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
        match word.as_str() {
            "--on" => order.on = Some(value()?.clone()),
            "--level" => order.level = Some(Level::named(value()?)?),
            "--release" => order.release = true,
            "--kubernetes" => order.kubernetes = Release::named(value()?)?,
            _ => order.rest.push(word.clone()),
        }
    }
    Ok(order)
}

fn test(cluster: &Cluster, program: &PathBuf, helms: &[(&str, PathBuf)], rest: &[String]) -> Result<()> {
    let postgres = Postgres::start()?;
    let skipped = cluster.folder.join("skipped");
    let command = |words: &[String]| {
        let mut command = cargo(&["test", "--quiet", "--no-fail-fast"]);
        command.args(PACKAGES).arg("--").args(words).envs(helms.iter().map(|(name, path)| (name, path)));
        // Most of the time a test waits for the cluster, so more of them run than there are processors.
        command.env("RUST_TEST_THREADS", "4");
        command.env("PINTLE_E2E_PROGRAM", program);
        command.env("PINTLE_E2E_KUBECONFIG", cluster.kubeconfig());
        command.env("PINTLE_E2E_LEVEL", cluster.level.name());
        command.env("PINTLE_E2E_SKIPPED", &skipped);
        if let Some(postgres) = &postgres {
            command.env("PINTLE_E2E_POSTGRES", postgres.address());
            command.env("PINTLE_E2E_POSTGRES_TLS", postgres.secure_address());
            command.env("PINTLE_E2E_POSTGRES_CA", postgres.authority());
        }
        command
    };
    let tested = suite::run(command, rest);
    if let Ok(list) = std::fs::read_to_string(&skipped) {
        say(list.trim_end());
        say(&format!("{} tests were skipped", list.lines().count()));
        std::fs::remove_file(&skipped)?;
    }
    tested
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
    fn what_is_not_ours_goes_to_the_test_program() {
        let words = ["--on", "mine", "hooks", "--nocapture"].map(ToOwned::to_owned);
        let order = parse(&words).unwrap();
        assert_eq!(order.on.as_deref(), Some("mine"));
        assert_eq!(order.rest, ["hooks", "--nocapture"]);
        assert!(parse(&["--kubernetes".to_owned(), "1.2".to_owned()]).is_err());
    }
}

//! `cluster`: a Kubernetes for tests, on this machine, up in seconds and gone without a trace.

mod api;
mod build;
mod debian;
mod embedded;
mod images;
mod init;
pub(crate) mod keys;
mod needs;
mod node;
mod parts;
mod plain;
mod ready;
mod state;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

pub(crate) use self::build::{RELEASES, Release, kubernetes as build};
pub(crate) use self::embedded::program;
pub(crate) use self::state::Cluster;
use crate::shell::say;

/// The name of a cluster that was given none.
pub(crate) const DEFAULT_NAME: &str = "e2e";

/// How much of a cluster there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Our own API, `pintle cluster serve`: pods go through their states, and nothing runs in them.
    Embedded,
    /// Objects can be made, and controllers act on them; pods stay pending. Needs no root.
    ControlPlane,
    /// Pods run.
    Node,
}

impl Level {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Embedded => "embedded",
            Level::ControlPlane => "control-plane",
            Level::Node => "node",
        }
    }

    /// The level that a person calls `name`.
    pub(crate) fn named(name: &str) -> Result<Level> {
        let found = [Level::Embedded, Level::ControlPlane, Level::Node]
            .into_iter()
            .find(|level| level.name() == name);
        found.with_context(|| {
            format!("there is no level `{name}`; there are embedded, control-plane and node")
        })
    }
}

/// What somebody asks for.
#[derive(Clone)]
pub(crate) struct Wish {
    pub(crate) name: String,
    pub(crate) level: Level,
    pub(crate) kubernetes: Release,
    /// The program that is our own API, where that is wanted; built when not given.
    pub(crate) program: Option<PathBuf>,
}

/// Runs `cluster COMMAND [--name NAME] [--level LEVEL] [--kubernetes VERSION]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (command, rest) =
        arguments.split_first().context("cluster up, down, status, kubeconfig, or can-run-pods?")?;
    if command == "node-init" {
        return init::run(Path::new(rest.first().context("node-init needs the folder of its cluster")?));
    }
    let (wish, level_is_given) = parse(rest)?;
    match command.as_str() {
        "up" => {
            let level = if level_is_given { wish.level } else { level() };
            up(&Wish { level, ..wish }).map(drop)
        }
        "down" => down(&wish.name),
        "status" => status(),
        "kubeconfig" => kubeconfig(&wish.name),
        "can-run-pods" => can_run_pods(),
        "guard" => guard(&wish.name),
        other => bail!("cluster knows no `{other}`; it knows up, down, status, kubeconfig and can-run-pods"),
    }
}

fn parse(arguments: &[String]) -> Result<(Wish, bool)> {
    let [newest, ..] = RELEASES;
    let mut wish =
        Wish { name: DEFAULT_NAME.to_owned(), level: Level::Node, kubernetes: newest, program: None };
    let mut level_is_given = false;
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("`{flag}` needs a value"))?;
        match flag.as_str() {
            "--name" => value.clone_into(&mut wish.name),
            "--kubernetes" => wish.kubernetes = Release::named(value)?,
            "--level" => {
                wish.level = Level::named(value)?;
                level_is_given = true;
            }
            other => bail!("cluster knows no `{other}`; it knows --name, --level and --kubernetes"),
        }
    }
    Ok((wish, level_is_given))
}

/// The most that this machine can have.
pub(crate) fn level() -> Level {
    match needs::check() {
        Ok(()) => Level::Node,
        Err(error) => {
            say(&format!("pods cannot run here: {error:#}"));
            Level::ControlPlane
        }
    }
}

/// The name of the context in the cluster's kubeconfig.
pub(crate) fn context(name: &str) -> String {
    if name == DEFAULT_NAME { "pintle-e2e".to_owned() } else { format!("pintle-e2e-{name}") }
}

/// Starts the cluster that is asked for, or finds it running.
pub(crate) fn up(wish: &Wish) -> Result<Cluster> {
    if wish.level == Level::Node {
        needs::check()?;
    }
    if let Some(cluster) = Cluster::load(&wish.name)?
        && cluster.ended().is_none()
    {
        return already_up(wish, cluster);
    }
    down(&wish.name)?;
    // What is started takes long to build the first time, which is not to be counted.
    let program = match wish.level {
        Level::Embedded => wish.program.clone().map_or_else(embedded::program, Ok)?,
        Level::ControlPlane | Level::Node => build::kubernetes(wish.kubernetes)?,
    };
    let start = Instant::now();
    let mut cluster = Cluster::create(&wish.name, wish.level, wish.kubernetes.minor)?;
    let context = context(&wish.name);
    let started = match wish.level {
        Level::Embedded => embedded::up(&mut cluster, &program, &context),
        Level::ControlPlane => plain::up(&mut cluster, &program, &context),
        Level::Node => node::up(&mut cluster, &program, &context),
    };
    if let Err(error) = started {
        // The logs stay, for whoever wants to know more.
        stop(&cluster)?;
        return Err(error.context(format!("cluster `{}` does not start", cluster.name)));
    }
    say(&format!(
        "cluster `{}` is up after {:.1?}: Kubernetes {}, {}, context {context}\nKUBECONFIG={}",
        cluster.name,
        start.elapsed(),
        cluster.kubernetes,
        cluster.level.name(),
        cluster.kubeconfig().display()
    ));
    Ok(cluster)
}

fn already_up(wish: &Wish, cluster: Cluster) -> Result<Cluster> {
    if (cluster.level, cluster.kubernetes.as_str()) != (wish.level, wish.kubernetes.minor) {
        bail!(
            "cluster `{}` is up with Kubernetes {} and {}; take it down first, or choose another name",
            cluster.name,
            cluster.kubernetes,
            cluster.level.name()
        );
    }
    say(&format!("cluster `{}` is up already\nKUBECONFIG={}", cluster.name, cluster.kubeconfig().display()));
    Ok(cluster)
}

/// Ends a cluster and removes everything that it wrote. One that is not there is down.
pub(crate) fn down(name: &str) -> Result<()> {
    let start = Instant::now();
    let Some(cluster) = Cluster::load(name)? else {
        let folder = state::folder(name)?;
        // A start that was cut short before it started anything.
        return if folder.is_dir() { Ok(std::fs::remove_dir_all(folder)?) } else { Ok(()) };
    };
    stop(&cluster)?;
    cluster.remove()?;
    say(&format!("cluster `{name}` is down after {:.1?}", start.elapsed()));
    Ok(())
}

fn stop(cluster: &Cluster) -> Result<()> {
    cluster.kill()?;
    if cluster.subnet > 0 { node::clean(cluster.subnet) } else { Ok(()) }
}

fn status() -> Result<()> {
    let names = Cluster::names()?;
    if names.is_empty() {
        say("no cluster is up");
    }
    for name in names {
        let Some(cluster) = Cluster::load(&name)? else {
            say(&format!("{name}  not started"));
            continue;
        };
        let state = cluster.ended().map_or_else(|| "up".to_owned(), |part| format!("{part} has ended"));
        say(&format!(
            "{name}  {state}  Kubernetes {}  {}  {}",
            cluster.kubernetes,
            cluster.level.name(),
            cluster.server
        ));
    }
    Ok(())
}

fn kubeconfig(name: &str) -> Result<()> {
    let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
    say(&cluster.kubeconfig().display().to_string());
    Ok(())
}

fn can_run_pods() -> Result<()> {
    needs::check()?;
    say("pods can run here");
    Ok(())
}

/// Takes a cluster down when whoever holds the other end of standard input is gone, in whatever way.
fn guard(name: &str) -> Result<()> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    down(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_say_that_they_are_for_tests() {
        assert_eq!(context(DEFAULT_NAME), "pintle-e2e");
        assert_eq!(context("oldest"), "pintle-e2e-oldest");
    }

    #[test]
    fn flags_are_understood_and_others_refused() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(ToOwned::to_owned).collect() };
        let (wish, given) = parse(&words("--name a --level control-plane --kubernetes 1.34")).unwrap();
        assert_eq!(
            (wish.name.as_str(), wish.level, wish.kubernetes.minor),
            ("a", Level::ControlPlane, "1.34")
        );
        assert!(given);
        assert!(parse(&words("--level half")).is_err());
        assert!(parse(&words("--nmae a")).is_err());
        assert!(parse(&words("--name")).is_err());
    }
}

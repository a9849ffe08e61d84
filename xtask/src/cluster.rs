//! `cluster`: a local Kubernetes for tests, which starts in seconds and is removed without leftovers.

mod api;
mod build;
mod components;
mod debian;
mod embedded;
mod images;
mod init;
pub(crate) mod keys;
mod needs;
mod node;
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
use crate::shell::print_line;

/// The name without `--name`.
pub(crate) const DEFAULT_NAME: &str = "e2e";

/// How complete a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The embedded API, `pintle cluster serve`: pods change their phases, but no containers run.
    Embedded,
    /// API server and controllers without a node: pods stay pending. Needs no root.
    ControlPlane,
    /// Pods run.
    Node,
}

impl Level {
    /// The value of `--level`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Embedded => "embedded",
            Level::ControlPlane => "control-plane",
            Level::Node => "node",
        }
    }

    /// Parses the value of `--level`.
    pub(crate) fn named(name: &str) -> Result<Level> {
        let found = [Level::Embedded, Level::ControlPlane, Level::Node]
            .into_iter()
            .find(|level| level.name() == name);
        found.with_context(|| {
            format!("there is no level `{name}`; there are embedded, control-plane and node")
        })
    }
}

/// The requested cluster.
#[derive(Clone)]
pub(crate) struct ClusterSpec {
    pub(crate) name: String,
    pub(crate) level: Level,
    pub(crate) kubernetes: Release,
    /// The program for [`Level::Embedded`]; built if `None`.
    pub(crate) program: Option<PathBuf>,
}

/// Runs `cluster COMMAND [--name NAME] [--level LEVEL] [--kubernetes VERSION]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (command, rest) =
        arguments.split_first().context("cluster up, down, status, kubeconfig, or can-run-pods?")?;
    if command == "node-init" {
        return init::run(Path::new(rest.first().context("node-init needs the folder of its cluster")?));
    }
    let (spec, level_is_given) = parse(rest)?;
    match command.as_str() {
        "up" => {
            let level = if level_is_given { spec.level } else { level() };
            up(&ClusterSpec { level, ..spec }).map(drop)
        }
        "down" => down(&spec.name),
        "status" => status(),
        "kubeconfig" => kubeconfig(&spec.name),
        "can-run-pods" => can_run_pods(),
        "guard" => guard(&spec.name),
        other => bail!("cluster knows no `{other}`; it knows up, down, status, kubeconfig and can-run-pods"),
    }
}

fn parse(arguments: &[String]) -> Result<(ClusterSpec, bool)> {
    let [newest, ..] = RELEASES;
    let mut spec =
        ClusterSpec { name: DEFAULT_NAME.to_owned(), level: Level::Node, kubernetes: newest, program: None };
    let mut level_is_given = false;
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("`{flag}` needs a value"))?;
        match flag.as_str() {
            "--name" => value.clone_into(&mut spec.name),
            "--kubernetes" => spec.kubernetes = Release::named(value)?,
            "--level" => {
                spec.level = Level::named(value)?;
                level_is_given = true;
            }
            other => bail!("cluster knows no `{other}`; it knows --name, --level and --kubernetes"),
        }
    }
    Ok((spec, level_is_given))
}

/// The highest level that this machine supports.
pub(crate) fn level() -> Level {
    match needs::check() {
        Ok(()) => Level::Node,
        Err(error) => {
            print_line(&format!("pods cannot run here: {error:#}"));
            Level::ControlPlane
        }
    }
}

/// The name of the context in the cluster's kubeconfig.
pub(crate) fn context(name: &str) -> String {
    if name == DEFAULT_NAME { "pintle-e2e".to_owned() } else { format!("pintle-e2e-{name}") }
}

/// Starts the requested cluster, unless it already runs.
pub(crate) fn up(spec: &ClusterSpec) -> Result<Cluster> {
    if spec.level == Level::Node {
        needs::check()?;
    }
    if let Some(cluster) = Cluster::load(&spec.name)?
        && cluster.ended().is_none()
    {
        return already_up(spec, cluster);
    }
    down(&spec.name)?;
    // Build before the clock starts: the first build takes minutes.
    let program = match spec.level {
        Level::Embedded => spec.program.clone().map_or_else(embedded::program, Ok)?,
        Level::ControlPlane | Level::Node => build::kubernetes(spec.kubernetes)?,
    };
    let start = Instant::now();
    let mut cluster = Cluster::create(&spec.name, spec.level, spec.kubernetes.minor)?;
    let context = context(&spec.name);
    let started = match spec.level {
        Level::Embedded => embedded::up(&mut cluster, &program, &context),
        Level::ControlPlane => plain::up(&mut cluster, &program, &context),
        Level::Node => node::up(&mut cluster, &program, &context),
    };
    if let Err(error) = started {
        // Keep the logs for debugging.
        stop(&cluster)?;
        return Err(error.context(format!("cluster `{}` does not start", cluster.name)));
    }
    print_line(&format!(
        "cluster `{}` is up after {:.1?}: Kubernetes {}, {}, context {context}\nKUBECONFIG={}",
        cluster.name,
        start.elapsed(),
        cluster.kubernetes,
        cluster.level.name(),
        cluster.kubeconfig().display()
    ));
    Ok(cluster)
}

fn already_up(spec: &ClusterSpec, cluster: Cluster) -> Result<Cluster> {
    if (cluster.level, cluster.kubernetes.as_str()) != (spec.level, spec.kubernetes.minor) {
        bail!(
            "cluster `{}` is up with Kubernetes {} and {}; take it down first, or choose another name",
            cluster.name,
            cluster.kubernetes,
            cluster.level.name()
        );
    }
    print_line(&format!(
        "cluster `{}` is up already\nKUBECONFIG={}",
        cluster.name,
        cluster.kubeconfig().display()
    ));
    Ok(cluster)
}

/// Stops a cluster and removes its files; a missing one is fine.
pub(crate) fn down(name: &str) -> Result<()> {
    let start = Instant::now();
    let Some(cluster) = Cluster::load(name)? else {
        let folder = state::folder(name)?;
        // A start that was interrupted before any process was started.
        return if folder.is_dir() { Ok(std::fs::remove_dir_all(folder)?) } else { Ok(()) };
    };
    stop(&cluster)?;
    cluster.remove()?;
    print_line(&format!("cluster `{name}` is down after {:.1?}", start.elapsed()));
    Ok(())
}

fn stop(cluster: &Cluster) -> Result<()> {
    cluster.kill()?;
    if cluster.subnet > 0 { node::clean(cluster.subnet) } else { Ok(()) }
}

fn status() -> Result<()> {
    let names = Cluster::names()?;
    if names.is_empty() {
        print_line("no cluster is up");
    }
    for name in names {
        let Some(cluster) = Cluster::load(&name)? else {
            print_line(&format!("{name}  not started"));
            continue;
        };
        let state = cluster.ended().map_or_else(|| "up".to_owned(), |part| format!("{part} has ended"));
        print_line(&format!(
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
    print_line(&cluster.kubeconfig().display().to_string());
    Ok(())
}

fn can_run_pods() -> Result<()> {
    needs::check()?;
    print_line("pods can run here");
    Ok(())
}

/// Removes a cluster once standard input is closed, which happens however the parent process ends.
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
        let (spec, given) = parse(&words("--name a --level control-plane --kubernetes 1.34")).unwrap();
        assert_eq!(
            (spec.name.as_str(), spec.level, spec.kubernetes.minor),
            ("a", Level::ControlPlane, "1.34")
        );
        assert!(given);
        assert!(parse(&words("--level half")).is_err());
        assert!(parse(&words("--nmae a")).is_err());
        assert!(parse(&words("--name")).is_err());
    }
}

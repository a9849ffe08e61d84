//! `bench controller`: a thousand releases by the controller on a real control plane.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::bench::keep;
use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES};
use crate::e2e::Guard;
use crate::shell::{cargo, output, print_line, program, run as run_command};

/// How many requests are created at once, one batch after the other.
const BATCHES: &str = "100,400,500";

/// Runs `bench controller [--on NAME] [--batches COUNT,…] [--profile NAME]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut on, mut batches, mut profile) = (None, BATCHES.to_owned(), "dist".to_owned());
    for pair in arguments.chunks(2) {
        match pair {
            [flag, value] if flag == "--on" => on = Some(value.clone()),
            [flag, value] if flag == "--batches" => value.clone_into(&mut batches),
            [flag, value] if flag == "--profile" => value.clone_into(&mut profile),
            _ => bail!("bench controller knows --on NAME, --batches COUNT,COUNT and --profile NAME"),
        }
    }
    let build = ["build", "--quiet", "--package", "pintle-controller"];
    run_command(cargo(&build).args(["--profile", &profile, "--bin", "pintle-controller"]))?;
    run_command(cargo(&build).args(["--profile", "ci", "--example", "burst"]))?;
    if let Some(name) = on {
        let cluster = Cluster::load(&name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return measure(&cluster, &batches, &profile);
    }
    let [kubernetes, ..] = RELEASES;
    let name = format!("bench-{}", std::process::id());
    let spec = ClusterSpec { name, level: Level::ControlPlane, kubernetes, program: None };
    let guard = Guard::set(&spec.name)?;
    let measured = cluster::up(&spec).and_then(|cluster| measure(&cluster, &batches, &profile));
    guard.release()?;
    measured
}

fn measure(cluster: &Cluster, batches: &str, profile: &str) -> Result<()> {
    let mut command = Command::new(program("ci/examples/burst")?);
    command.arg(program(&format!("{profile}/pintle-controller"))?).arg(cluster.kubeconfig()).arg(batches);
    let table = String::from_utf8_lossy(&output(&mut command)?).into_owned();
    print_line(&table);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let how = format!(
        "Command: `cargo xtask bench controller`, profile {profile}. One control plane and the controller share the machine; \
         the requests of a batch are created at once, for a chart of four objects. CPU and memory are those of the controller, \
         summed up from its start. Load average at the end: {}.",
        load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
    );
    keep("-controller", &how, &table)
}

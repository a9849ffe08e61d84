//! `clients`: what the real kubectl and the real Helm print, on the embedded cluster and on a real one.

use anyhow::Result;

use crate::cluster::{self, Level};
use crate::helm;
use crate::runner::Suite;
use crate::scenarios::{ScenarioRun, ScenarioSuite};
use crate::steps::Outcome;

const SUITE: ScenarioSuite =
    ScenarioSuite { name: "clients", package: "cli", module: "clients", level: Level::Node, older: &[] };

/// How many scenarios run in parallel; most of the time they wait for the cluster.
const JOBS: usize = 4;

/// Runs `clients [--record] [--on NAME] [SCENARIO]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    if !arguments.iter().any(|word| word == "--on") && cluster::level() != Level::Node {
        return Ok(Outcome::skipped("no pods can run here; see `cargo xtask cluster can-run-pods`"));
    }
    SUITE.run(arguments, run_scenarios)
}

fn run_scenarios(ScenarioRun { cluster, record, .. }: &ScenarioRun, mut suite: Suite) -> Result<()> {
    suite = suite.env("PINTLE_HELM", helm::helm()?).env("PINTLE_HELM3", helm::helm3()?);
    suite = suite.env("PINTLE_CLIENTS_KUBECONFIG", cluster.kubeconfig());
    if *record {
        suite = suite.env("PINTLE_CLIENTS_RECORD", "1");
    }
    // A kubelet that stalls for minutes should not discard a run of CI; what passes only on retry is reported.
    suite.jobs(JOBS).retry(true).run("clients").map(drop)
}

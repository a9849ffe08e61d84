//! `clients`: what the real kubectl and the real Helm print, on the embedded cluster and on a real one.

use anyhow::Result;

use crate::cluster::{self, Level};
use crate::helm;
use crate::runner::Suite;
use crate::steps::Outcome;
use crate::stories::{Stories, Telling};

const STORIES: Stories = Stories { name: "clients", package: "cli", module: "clients", level: Level::Node };

/// How many stories are told at a time; most of it is waiting for the cluster.
const JOBS: usize = 4;

/// Runs `clients [--record] [--on NAME] [STORY]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    if !arguments.iter().any(|word| word == "--on") && cluster::level() != Level::Node {
        return Ok(Outcome::skipped("no pods can run here; see `cargo xtask cluster can-run-pods`"));
    }
    STORIES.run(arguments, tell)
}

fn tell(Telling { cluster, record, .. }: &Telling, mut suite: Suite) -> Result<()> {
    suite = suite.env("PINTLE_HELM", helm::helm()?).env("PINTLE_HELM3", helm::helm3()?);
    suite = suite.env("PINTLE_CLIENTS_KUBECONFIG", cluster.kubeconfig());
    if *record {
        suite = suite.env("PINTLE_CLIENTS_RECORD", "1");
    }
    suite.jobs(JOBS).run("clients").map(drop)
}

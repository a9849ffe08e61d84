//! `contract`: the answers that the embedded API is held to, asked of a real API server.

use anyhow::Result;

use crate::cluster::Level;
use crate::helm;
use crate::runner::Suite;
use crate::steps::Outcome;
use crate::stories::{Stories, Telling};

const STORIES: Stories =
    Stories { name: "contract", package: "embedded", module: "contract", level: Level::ControlPlane };

/// Runs `contract [--record] [--on NAME] [STORY]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    STORIES.run(arguments, tell)
}

fn tell(Telling { cluster, record, only }: &Telling, mut suite: Suite) -> Result<()> {
    suite = suite.env("PINTLE_CONTRACT_CLUSTER", &cluster.folder);
    // All stories are told by one test, which is told which of them are wanted.
    let mut filters = vec!["contract::".to_owned()];
    match only {
        Some(only) => suite = suite.env("PINTLE_CONTRACT_ONLY", only),
        None if *record => {}
        None => {
            // Beside the answers, what the real Helm makes of them.
            filters.push("clients::".to_owned());
            suite = suite.env("PINTLE_HELM", helm::helm()?);
        }
    }
    if *record {
        suite = suite.env("PINTLE_CONTRACT_RECORD", "1");
    }
    suite.filters(&filters).run("contract").map(drop)
}

//! `contract`: checks the responses that the embedded API must give against a real API server, or records them.

use anyhow::Result;

use crate::cluster::Level;
use crate::helm;
use crate::runner::Suite;
use crate::scenarios::{ScenarioRun, ScenarioSuite};
use crate::steps::Outcome;

const SUITE: ScenarioSuite = ScenarioSuite {
    name: "contract",
    package: "embedded",
    module: "contract",
    level: Level::ControlPlane,
    older: &["1.36"],
};

/// Runs `contract [--record] [--on NAME] [--kubernetes VERSION] [SCENARIO]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    SUITE.run(arguments, run_scenarios)
}

fn run_scenarios(ScenarioRun { cluster, record, only }: &ScenarioRun, mut suite: Suite) -> Result<()> {
    suite = suite.env("PINTLE_CONTRACT_CLUSTER", &cluster.folder);
    // All scenarios run in one test, which selects them by an environment variable.
    let mut filters = vec!["contract::".to_owned()];
    match only {
        Some(only) => suite = suite.env("PINTLE_CONTRACT_ONLY", only),
        None if *record => {}
        None => {
            // Also the tests that run the real Helm.
            filters.push("clients::".to_owned());
            suite = suite.env("PINTLE_HELM", helm::helm()?);
        }
    }
    if *record {
        suite = suite.env("PINTLE_CONTRACT_RECORD", "1");
    }
    suite.filters(&filters).retry(true).run("contract").map(drop)
}

//! `contract`: the answers that the embedded API is held to, asked of a real API server.

use anyhow::Result;

use crate::cluster::Level;
use crate::helm;
use crate::shell::{cargo, run as run_command};
use crate::stories::{Stories, Telling};

const STORIES: Stories =
    Stories { name: "contract", package: "pintle-embedded", module: "contract", level: Level::ControlPlane };

/// Runs `contract [--record] [--on NAME] [STORY]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    STORIES.run(arguments, tell)
}

fn tell(Telling { cluster, record, only }: &Telling) -> Result<()> {
    let mut test =
        cargo(&["test", "--quiet", "--package", STORIES.package, "--test", "it", "--", STORIES.module]);
    if only.is_none() && !record {
        // Beside the answers, what the real Helm makes of them.
        test.arg("clients::").env("PINTLE_HELM", helm::helm()?);
    }
    test.env("PINTLE_CONTRACT_CLUSTER", &cluster.folder);
    if *record {
        test.env("PINTLE_CONTRACT_RECORD", "1");
    }
    if let Some(only) = only {
        test.env("PINTLE_CONTRACT_ONLY", only);
    }
    run_command(&mut test)
}

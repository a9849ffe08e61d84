//! `clients`: what the real kubectl and the real Helm print, on the cluster in the box and on a real one.

use anyhow::Result;

use crate::cluster::{self, Level};
use crate::helm;
use crate::shell::{cargo, run as run_command, say};
use crate::stories::{Stories, Telling};

const STORIES: Stories =
    Stories { name: "clients", package: "pintle-cli", test: "clients", level: Level::Node };

/// Runs `clients [--record] [--on NAME] [STORY]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.iter().any(|word| word == "--on") && cluster::level() != Level::Node {
        say("skipped: no pods can run here; see `cargo xtask cluster can-run-pods`");
        return Ok(());
    }
    STORIES.run(arguments, tell)
}

fn tell(Telling { cluster, record, only }: &Telling) -> Result<()> {
    let mut test = cargo(&["test", "--quiet", "--package", STORIES.package, "--test", STORIES.test, "--"]);
    test.arg("--test-threads=4").args(only);
    test.env("PINTLE_CLIENTS_KUBECONFIG", cluster.kubeconfig());
    test.env("PINTLE_HELM", helm::helm()?).env("PINTLE_HELM3", helm::helm3()?);
    if *record {
        test.env("PINTLE_CLIENTS_RECORD", "1");
    }
    run_command(&mut test)
}

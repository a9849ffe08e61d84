//! `clients`: what the real kubectl and the real Helm print, on the cluster in the box and on a real one.

use anyhow::Result;

use crate::cluster::{self, Level};
use crate::helm;
use crate::shell::{cargo, say};
use crate::stories::{Stories, Telling};
use crate::suite;

const STORIES: Stories =
    Stories { name: "clients", package: "pintle-cli", module: "clients::", level: Level::Node };

/// Runs `clients [--record] [--on NAME] [STORY]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.iter().any(|word| word == "--on") && cluster::level() != Level::Node {
        say("skipped: no pods can run here; see `cargo xtask cluster can-run-pods`");
        return Ok(());
    }
    STORIES.run(arguments, tell)
}

fn tell(Telling { cluster, record, only }: &Telling) -> Result<()> {
    let helms = [("PINTLE_HELM", helm::helm()?), ("PINTLE_HELM3", helm::helm3()?)];
    let command = |words: &[String]| {
        let mut test = cargo(&["test", "--quiet", "--package", STORIES.package, "--test", "it", "--"]);
        test.args(words).envs(helms.iter().map(|(name, path)| (name, path)));
        test.env("PINTLE_CLIENTS_KUBECONFIG", cluster.kubeconfig()).env("RUST_TEST_THREADS", "4");
        if *record {
            test.env("PINTLE_CLIENTS_RECORD", "1");
        }
        test
    };
    let filter = format!("{}{}", STORIES.module, only.as_deref().unwrap_or_default());
    suite::run(command, &[filter])
}

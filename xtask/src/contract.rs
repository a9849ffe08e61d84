//! `contract`: the answers that the embedded API is held to, asked of a real API server.

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, Level, RELEASES, Wish};
use crate::e2e::Guard;
use crate::helm;
use crate::shell::{cargo, run as run_command};

/// Runs `contract [--record] [--on NAME] [STORY]`: all stories, or those with that in their names.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut record, mut on, mut story) = (false, None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--record" => record = true,
            "--on" => on = Some(words.next().context("`--on` needs the name of a cluster")?),
            word if word.starts_with('-') => bail!("contract knows no `{word}`; it knows --record and --on"),
            word => story = Some(word.to_owned()),
        }
    }
    // What does not compile should not cost a cluster.
    run_command(&mut cargo(&[
        "test",
        "--quiet",
        "--no-run",
        "--package",
        "pintle-embedded",
        "--test",
        "contract",
    ]))?;
    if let Some(name) = on {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return ask(&cluster, record, story.as_deref());
    }
    let [newest, ..] = RELEASES;
    let name = format!("contract-{}", std::process::id());
    let guard = Guard::set(&name)?;
    let wish = Wish { name, level: Level::ControlPlane, kubernetes: newest, program: None };
    let asked = cluster::up(&wish).and_then(|cluster| ask(&cluster, record, story.as_deref()));
    guard.release()?;
    asked
}

fn ask(cluster: &Cluster, record: bool, story: Option<&str>) -> Result<()> {
    let [newest, ..] = RELEASES;
    if cluster.kubernetes != newest.minor {
        bail!("answers are recorded from Kubernetes {}, and this is {}", newest.minor, cluster.kubernetes);
    }
    let mut test = cargo(&["test", "--quiet", "--package", "pintle-embedded", "--test", "contract"]);
    if story.is_none() && !record {
        // Beside the answers, what the real Helm makes of them.
        test.args(["--test", "clients"]).env("PINTLE_HELM", helm::helm()?);
    }
    test.env("PINTLE_CONTRACT_CLUSTER", &cluster.folder);
    if record {
        test.env("PINTLE_CONTRACT_RECORD", "1");
    }
    if let Some(story) = story {
        test.env("PINTLE_CONTRACT_ONLY", story);
    }
    run_command(&mut test)
}

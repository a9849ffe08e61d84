//! `clients`: what the real kubectl and the real Helm print, on the cluster in the box and on a real one.

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, Level, RELEASES, Wish};
use crate::e2e::Guard;
use crate::helm;
use crate::shell::{cargo, run as run_command, say};

/// Runs `clients [--record] [--on NAME] [STORY]`: all stories, or those with that in their names.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut record, mut on, mut story) = (false, None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--record" => record = true,
            "--on" => on = Some(words.next().context("`--on` needs the name of a cluster")?),
            word if word.starts_with('-') => bail!("clients knows no `{word}`; it knows --record and --on"),
            word => story = Some(word.to_owned()),
        }
    }
    // What does not compile should not cost a cluster.
    run_command(&mut cargo(&[
        "test",
        "--quiet",
        "--no-run",
        "--package",
        "pintle-cli",
        "--test",
        "clients",
    ]))?;
    if let Some(name) = on {
        let cluster = Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?;
        return tell(&cluster, record, story.as_deref());
    }
    if cluster::level() != Level::Node {
        say("skipped: no pods can run here; see `cargo xtask cluster can-run-pods`");
        return Ok(());
    }
    let [newest, ..] = RELEASES;
    let name = format!("clients-{}", std::process::id());
    let guard = Guard::set(&name)?;
    let wish = Wish { name, level: Level::Node, kubernetes: newest, program: None };
    let told = cluster::up(&wish).and_then(|cluster| tell(&cluster, record, story.as_deref()));
    guard.release()?;
    told
}

fn tell(cluster: &Cluster, record: bool, story: Option<&str>) -> Result<()> {
    let [newest, ..] = RELEASES;
    if cluster.kubernetes != newest.minor || cluster.level != Level::Node {
        bail!("stories are recorded from Kubernetes {} with a node", newest.minor);
    }
    let mut test = cargo(&["test", "--quiet", "--package", "pintle-cli", "--test", "clients", "--"]);
    test.arg("--test-threads=4").args(story);
    test.env("PINTLE_CLIENTS_KUBECONFIG", cluster.kubeconfig());
    test.env("PINTLE_HELM", helm::helm()?).env("PINTLE_HELM3", helm::helm3()?);
    if record {
        test.env("PINTLE_CLIENTS_RECORD", "1");
    }
    run_command(&mut test)
}

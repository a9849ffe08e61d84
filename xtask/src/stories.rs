//! Stories that were recorded on a real cluster, told again there: what `contract` and `clients` share.

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, Level, RELEASES, Wish};
use crate::e2e::Guard;
use crate::go;
use crate::runner::Suite;
use crate::steps::Outcome;

/// A test program that tells stories.
pub(crate) struct Stories {
    /// The task, which names its clusters.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// The module of the package's integration tests that tells them.
    pub(crate) module: &'static str,
    /// The cluster that they are told on.
    pub(crate) level: Level,
}

/// What is wanted of the stories.
pub(crate) struct Telling {
    pub(crate) cluster: Cluster,
    /// Whether the answers are kept as those that are right.
    pub(crate) record: bool,
    /// Only those with this in their names.
    pub(crate) only: Option<String>,
}

impl Stories {
    /// Runs `NAME [--record] [--on CLUSTER] [STORY]`: all stories, or those with that in their names.
    ///
    /// # Errors
    /// Whatever went wrong, in the stories or around them.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        tell: impl FnOnce(&Telling, Suite) -> Result<()>,
    ) -> Result<Outcome> {
        if !go::is_here() {
            return Ok(Outcome::skipped(go::MISSING));
        }
        let (mut record, mut on, mut only) = (false, None, None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--record" => record = true,
                "--on" => on = Some(words.next().context("`--on` needs the name of a cluster")?),
                word if word.starts_with('-') => {
                    bail!("{} knows no `{word}`; it knows --record and --on", self.name)
                }
                word => only = Some(word.to_owned()),
            }
        }
        // What does not compile should not cost a cluster.
        let filter = format!("{}::{}", self.module, only.as_deref().unwrap_or_default());
        let suite =
            Suite::build(&["--workspace", "--test", "it"])?.packages(&[self.package]).filters(&[filter]);
        let tell = |cluster| {
            self.check(&cluster)?;
            tell(&Telling { cluster, record, only }, suite)?;
            Ok(Outcome::Passed)
        };
        if let Some(name) = on {
            return tell(Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?);
        }
        let [newest, ..] = RELEASES;
        let name = format!("{}-{}", self.name, std::process::id());
        let guard = Guard::set(&name)?;
        let wish = Wish { name, level: self.level, kubernetes: newest, program: None };
        let told = cluster::up(&wish).and_then(tell);
        guard.release()?;
        told
    }

    /// Answers of another Kubernetes are other answers.
    fn check(&self, cluster: &Cluster) -> Result<()> {
        let [newest, ..] = RELEASES;
        if cluster.kubernetes != newest.minor {
            bail!(
                "stories are recorded from Kubernetes {}, and this is {}",
                newest.minor,
                cluster.kubernetes
            );
        }
        if self.level == Level::Node && cluster.level != Level::Node {
            bail!("stories of {} need a cluster with a node", self.name);
        }
        Ok(())
    }
}

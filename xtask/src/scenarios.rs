//! Runs recorded scenarios again on a real cluster, or records them; shared by `contract` and `clients`.

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, Cluster, ClusterSpec, Level, RELEASES, Release};
use crate::e2e::Guard;
use crate::go;
use crate::runner::Suite;
use crate::steps::Outcome;

/// The integration tests that run scenarios.
pub(crate) struct ScenarioSuite {
    /// The name of the task, and the prefix of its clusters.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// The module of the package's integration tests.
    pub(crate) module: &'static str,
    /// The level of cluster that the scenarios need.
    pub(crate) level: Level,
    /// The minor versions before the newest one whose responses are recorded as well.
    pub(crate) older: &'static [&'static str],
}

/// One run of a suite.
pub(crate) struct ScenarioRun {
    pub(crate) cluster: Cluster,
    /// Whether to write the responses as the expected ones.
    pub(crate) record: bool,
    /// Run only scenarios whose names contain this.
    pub(crate) only: Option<String>,
}

impl ScenarioSuite {
    /// Runs `NAME [--record] [--on CLUSTER] [--kubernetes VERSION] [SCENARIO]`: all scenarios, or those whose names
    /// contain SCENARIO.
    ///
    /// # Errors
    /// Wrong arguments, a cluster that does not start, and scenarios that fail.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        execute: impl FnOnce(&ScenarioRun, Suite) -> Result<()>,
    ) -> Result<Outcome> {
        if !go::is_available() {
            return Ok(Outcome::skipped(go::MISSING));
        }
        let (mut record, mut on, mut only) = (false, None, None);
        let [mut kubernetes, ..] = RELEASES;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--record" => record = true,
                "--on" => on = Some(words.next().context("`--on` needs the name of a cluster")?),
                "--kubernetes" => {
                    kubernetes = Release::named(words.next().context("`--kubernetes` needs a version")?)?;
                    self.check(kubernetes.minor)?;
                }
                word if word.starts_with('-') => {
                    bail!(
                        "{}: unknown flag `{word}`; the flags are --record, --on and --kubernetes",
                        self.name
                    )
                }
                word => only = Some(word.to_owned()),
            }
        }
        // Compile first: a compiler error should not cost the start of a cluster.
        let filter = format!("{}::{}", self.module, only.as_deref().unwrap_or_default());
        let suite =
            Suite::build(&["--workspace", "--test", "it"])?.packages(&[self.package]).filters(&[filter]);
        let execute_on = |cluster: Cluster| {
            self.check(&cluster.kubernetes)?;
            if self.level == Level::Node && cluster.level != Level::Node {
                bail!("the scenarios of {} need a cluster with a node", self.name);
            }
            execute(&ScenarioRun { cluster, record, only }, suite)?;
            Ok(Outcome::Passed)
        };
        if let Some(name) = on {
            return execute_on(Cluster::load(name)?.with_context(|| format!("cluster `{name}` is not up"))?);
        }
        let name = format!("{}-{}", self.name, std::process::id());
        let guard = Guard::set(&name)?;
        let spec = ClusterSpec { name, level: self.level, kubernetes, program: None };
        let result = cluster::up(&spec).and_then(execute_on);
        guard.release()?;
        result
    }

    /// Responses differ between Kubernetes versions, so those of the cluster's version must be recorded.
    fn check(&self, minor: &str) -> Result<()> {
        let [newest, ..] = RELEASES;
        if minor != newest.minor && !self.older.contains(&minor) {
            let recorded: Vec<&str> = std::iter::once(&newest.minor).chain(self.older).copied().collect();
            bail!(
                "scenarios of {} are recorded on Kubernetes {}, and not on {minor}",
                self.name,
                recorded.join(" and ")
            );
        }
        Ok(())
    }
}

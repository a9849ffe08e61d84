//! `ct install`: installs, tests and upgrades one chart, in namespaces of their own.

use std::sync::Arc;

use pintle_semver::Constraint;
use pintle_tree::quote::quote;

use super::charts::{Chart, semantic_version};
use super::{Outcome, Testing};
use crate::failure::Failure;
use crate::flag::names;
use crate::path::{base, join};

/// The longest name of a release or namespace.
const MAX_NAME: usize = 63;

/// A release under test.
struct Trial {
    release: String,
    namespace: String,
    /// Whether the namespace is only for it.
    own_namespace: bool,
}

impl Testing<'_, '_> {
    pub(super) fn install_chart(&mut self, chart: &Chart) -> Outcome {
        if self.config.upgrade {
            if let Err(error) = self.upgrade_from_previous(chart)? {
                return Ok(Err(error));
            }
            if let Err(error) = self.try_upgrades(chart, chart, true)? {
                return Ok(Err(error));
            }
        }
        self.print(&format!("Installing chart {}...\n", chart.quoted()))?;
        for file in values_or_defaults(chart) {
            if !file.is_empty() {
                self.print(&format!(
                    "\nInstalling chart with values file {}...\n\n",
                    quote(file.as_bytes())
                ))?;
            }
            let trial = self.trial(chart);
            let outcome = self.install_and_test(chart, &file, &trial)?;
            self.clean_up(&trial)?;
            if outcome.is_err() {
                return Ok(outcome);
            }
        }
        Ok(Ok(()))
    }

    fn upgrade_from_previous(&mut self, chart: &Chart) -> Outcome {
        let breaking = match self.old_version(chart)? {
            Ok(Some(old)) => breaking_change(&old, &chart.version),
            Ok(None) => Ok(Some("chart has no previous revision".to_owned())),
            Err(error) => Err(error),
        };
        match breaking {
            Err(error) => {
                self.print(&format!("Error comparing chart versions for {}\n", chart.quoted()))?;
                return Ok(Err(error));
            }
            Ok(Some(reason)) => {
                self.print(&format!("Skipping upgrade test of {} because: {reason}\n", chart.quoted()))?;
                return Ok(Ok(()));
            }
            Ok(None) => {}
        }
        let Some(folder) = &self.previous else { return Ok(Ok(())) };
        let path = join(&[&folder.path().join("tree").to_string_lossy(), &chart.path]);
        match Chart::read(&path) {
            Ok(old) => self.try_upgrades(&old, chart, false),
            Err(_) => Ok(Ok(())),
        }
    }

    /// Installs one chart and upgrades to the other, with each values file of the first.
    fn try_upgrades(&mut self, old: &Chart, new: &Chart, old_must_pass: bool) -> Outcome {
        let text = format!("Testing upgrades of chart {} relative to previous revision", new.quoted());
        self.print(&format!("{text} {}...\n", old.quoted()))?;
        for file in values_or_defaults(old) {
            let quoted = quote(file.as_bytes());
            if !file.is_empty() {
                let kept = new.values_files.iter().any(|other| base(other) == base(&file));
                if self.config.skip_missing_values && !kept {
                    let path = &new.path;
                    self.print(&format!(
                        "Upgrade testing for values file {quoted} skipped because a corresponding values file was not found in {path}/ci\n"
                    ))?;
                    continue;
                }
                self.print(&format!("\nInstalling chart {} with values file {quoted}...\n\n", old.quoted()))?;
            }
            let trial = self.trial(old);
            let outcome = self.try_upgrade(old, new, &file, &trial, old_must_pass)?;
            self.clean_up(&trial)?;
            if outcome.is_err() {
                return Ok(outcome);
            }
        }
        Ok(Ok(()))
    }

    fn try_upgrade(
        &mut self,
        old: &Chart,
        new: &Chart,
        file: &str,
        trial: &Trial,
        must_pass: bool,
    ) -> Outcome {
        let (step, outcome) = match self.install(old, file, trial)? {
            Ok(()) => ("testing", self.test(trial)?),
            failed => ("installation", failed),
        };
        if let Err(error) = outcome {
            if must_pass {
                return Ok(Err(error));
            }
            let release = quote(trial.release.as_bytes());
            self.print(&format!(
                "Upgrade testing for release {release} skipped because of previous revision {step} error: {error}\n"
            ))?;
            return Ok(Ok(()));
        }
        let words = self.words("upgrade", Some(&new.path), file, trial);
        match self.helm(words)? {
            Ok(()) => self.test(trial),
            Err(error) => Ok(Err(error)),
        }
    }

    fn install_and_test(&mut self, chart: &Chart, file: &str, trial: &Trial) -> Outcome {
        match self.install(chart, file, trial)? {
            Ok(()) => self.test(trial),
            Err(error) => Ok(Err(error)),
        }
    }

    fn install(&mut self, chart: &Chart, file: &str, trial: &Trial) -> Outcome {
        if trial.own_namespace {
            self.print(&format!("Creating namespace {}...\n", quote(trial.namespace.as_bytes())))?;
        }
        let on_real_cluster = self.config.real_cluster;
        if trial.own_namespace
            && on_real_cluster
            && !self.kubectl(&["create", "namespace", &trial.namespace])?
        {
            return Ok(Err("failed waiting for process: exit status 1".to_owned()));
        }
        let mut words = self.words("install", Some(&chart.path), file, trial);
        if trial.own_namespace && !on_real_cluster {
            words.push("--create-namespace".to_owned());
        }
        self.helm(words)
    }

    fn test(&mut self, trial: &Trial) -> Outcome {
        let words = self.words("test", None, "", trial);
        self.helm(words)
    }

    fn clean_up(&mut self, trial: &Trial) -> Result<(), Failure> {
        if self.config.skip_clean_up {
            return Ok(());
        }
        if self.config.real_cluster {
            let selector = match trial.own_namespace {
                true => String::new(),
                false => format!("{}={}", self.config.release_label, trial.release),
            };
            self.print_details(&trial.namespace, &selector)?;
        }
        self.print(&format!("Deleting release {}...\n", quote(trial.release.as_bytes())))?;
        let words = self.words("uninstall", None, "", trial);
        if let Err(error) = self.helm(words)? {
            self.print(&format!("Error deleting Helm release: {error}\n"))?;
        }
        // The embedded cluster goes away with the run.
        if trial.own_namespace && self.config.real_cluster {
            let namespace = quote(trial.namespace.as_bytes());
            self.print(&format!("Deleting namespace {namespace}...\n"))?;
            match self.kubectl(&["delete", "namespace", &trial.namespace, "--timeout", "180s"])? {
                true => self.print(&format!("Namespace {namespace} terminated.\n"))?,
                false => self.invocation.ui.warn(&format!("the namespace {namespace} was not deleted")),
            }
        }
        Ok(())
    }

    /// The command line of an operation on a release.
    fn words(&mut self, operation: &str, chart: Option<&str>, file: &str, trial: &Trial) -> Vec<String> {
        let config = Arc::clone(&self.config);
        let mut words = vec![operation.to_owned(), trial.release.clone()];
        words.extend(chart.map(str::to_owned));
        words.extend(["--namespace".to_owned(), trial.namespace.clone()]);
        if operation != "test" {
            words.push("--wait".to_owned());
        }
        if !file.is_empty() {
            words.extend(["--values".to_owned(), file.to_owned()]);
        }
        words.extend(config.helm_extra_args.split_whitespace().map(str::to_owned));
        if chart.is_some() {
            words.extend(config.helm_extra_set_args.split_whitespace().map(str::to_owned));
        }
        words.extend(self.cluster_words());
        words
    }

    fn cluster_words(&mut self) -> Vec<String> {
        let given = self.invocation.flags.text(names::CLUSTER).to_owned();
        if self.config.real_cluster {
            return Vec::new();
        }
        if !given.is_empty() {
            return vec!["--cluster".to_owned(), given];
        }
        if self.cluster.is_none() {
            self.cluster = tempfile::tempdir().ok();
        }
        let file = self.cluster.as_ref().map(|folder| folder.path().join("cluster"));
        let cluster = file.map_or("embedded".to_owned(), |file| format!("embedded:{}", file.display()));
        vec!["--cluster".to_owned(), cluster]
    }

    fn trial(&self, chart: &Chart) -> Trial {
        let config = &self.config;
        let mut name = base(&chart.path).to_owned();
        if name == "." || name == "/" {
            name =
                if config.release_name.is_empty() { chart.name.clone() } else { config.release_name.clone() };
        }
        let suffix = random_suffix();
        let own_namespace = config.namespace.is_empty();
        let namespace = match (own_namespace, config.build_id.as_str()) {
            (false, _) => config.namespace.clone(),
            (true, "") => sanitized(&format!("{name}-{suffix}")),
            (true, build) => sanitized(&format!("{name}-{build}-{suffix}")),
        };
        Trial { release: sanitized(&format!("{name}-{suffix}")), namespace, own_namespace }
    }

    /// Checks out the target branch and builds the dependencies of its charts, for upgrades.
    pub(super) fn add_previous(&mut self, charts: &[Chart]) -> Result<(), Failure> {
        if !self.config.upgrade {
            return Ok(());
        }
        let config = Arc::clone(&self.config);
        let commit = self
            .merge_base()
            .map_err(|error| Failure::run_time(format!("failed identifying merge base: {error}")))?;
        let folder = tempfile::tempdir().map_err(|error| {
            Failure::run_time(format!("could not create previous revision directory: {error}"))
        })?;
        let tree = folder.path().join("tree").to_string_lossy().into_owned();
        self.git(&["worktree", "add", "--detach", &tree, &commit]).map_err(|error| {
            Failure::run_time(format!("could not create worktree for previous revision: {error}"))
        })?;
        self.previous = Some(folder);
        for chart in charts.iter().filter(|_| !config.skip_helm_dependencies) {
            let path = join(&[&tree, &chart.path]);
            if !std::path::Path::new(&path).is_dir() {
                continue;
            }
            let mut words = vec!["dependency".to_owned(), "build".to_owned(), path];
            words.extend(config.helm_dependency_extra_args.iter().cloned());
            if let Err(error) = self.helm(words)? {
                let text = "failed building dependencies for previous revision of chart";
                self.print(&format!("{text} {}: {error}\n", chart.quoted()))?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_previous(&mut self) {
        if let Some(folder) = self.previous.take() {
            let tree = folder.path().join("tree").to_string_lossy().into_owned();
            if let Err(error) = self.git(&["worktree", "remove", "--force", &tree]) {
                self.invocation.ui.warn(&format!("cannot remove the working tree {tree}: {error}"));
            }
        }
    }
}

fn values_or_defaults(chart: &Chart) -> Vec<String> {
    if chart.values_files.is_empty() { vec![String::new()] } else { chart.values_files.clone() }
}

/// Why a new version may break what the old one did; `None` if it may not.
fn breaking_change(old: &str, new: &str) -> Result<Option<String>, String> {
    let (old, new) = (semantic_version(old)?, semantic_version(new)?);
    let sign = if old.major == 0 { '~' } else { '^' };
    let constraint = Constraint::parse(&format!("{sign} {old}"))
        .map_err(|error| format!("failed parsing semantic version constraint: {error}"))?;
    let reasons = constraint.validate(&new);
    Ok((!reasons.is_empty()).then(|| reasons.join("; ")))
}

fn random_suffix() -> String {
    const LETTERS: &[u8] = b"1234567890abcdefghijklmnopqrstuvwxyz";
    (0..10).map(|_| char::from(LETTERS[usize::from(rand::random::<u16>()) % LETTERS.len()])).collect()
}

/// The last characters of a name, beginning with a letter or digit.
fn sanitized(name: &str) -> String {
    let start = name.len().saturating_sub(MAX_NAME);
    let tail = name.get(start..).unwrap_or(name);
    tail.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_major_version_may_break() {
        assert_eq!(breaking_change("1.2.0", "1.3.0"), Ok(None));
        assert!(breaking_change("1.2.0", "2.0.0").is_ok_and(|reason| reason.is_some()));
        assert!(breaking_change("0.2.0", "0.3.0").is_ok_and(|reason| reason.is_some()));
        assert!(breaking_change("x", "1.0.0").is_err());
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(sanitized("--a-b"), "a-b");
        assert_eq!(sanitized(&format!("{}-end", "x".repeat(80))).len(), MAX_NAME);
    }
}

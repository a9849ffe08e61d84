//! Finds the chart of `--from`: a path, a version, or the same directory at another commit.

use std::path::{Path, PathBuf};

use pintle_tree::Node;
use tempfile::TempDir;

use crate::chart_reference;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::git::{Git, tree};
use crate::invocation::Invocation;

/// The chart to upgrade from.
pub(in crate::commands) enum PreviousChart {
    /// None: the chart is upgraded from itself.
    Itself,
    /// A chart at a path.
    At(PathBuf),
    /// A chart of a commit, in a temporary directory that is deleted when this is dropped.
    Kept(TempDir),
}

impl PreviousChart {
    /// Finds the chart of `reference` relative to the current chart, given as typed and as a path.
    ///
    /// # Errors
    ///
    /// When there is no such chart.
    pub(in crate::commands) fn find(
        invocation: &mut Invocation<'_>,
        (typed, chart): (&str, &Path),
        reference: &str,
    ) -> Result<PreviousChart, Failure> {
        if reference.is_empty() {
            return Ok(PreviousChart::Itself);
        }
        if let Some(commit) = reference.strip_prefix("git:") {
            return at_commit(chart, commit, invocation.environment);
        }
        let is_path = Path::new(reference).exists();
        if !is_path && is_version(reference) {
            if Path::new(typed).exists() {
                return find_version(chart, reference);
            }
            return Ok(PreviousChart::At(
                chart_reference::locate_version(invocation, typed, reference)?.path,
            ));
        }
        // `--version` applies to the new chart, not to this one.
        Ok(PreviousChart::At(chart_reference::locate_version(invocation, reference, "")?.path))
    }

    /// The path of the chart.
    pub(in crate::commands) fn path(&self) -> Option<PathBuf> {
        match self {
            PreviousChart::Itself => None,
            PreviousChart::At(path) => Some(path.clone()),
            PreviousChart::Kept(folder) => Some(folder.path().to_owned()),
        }
    }
}

fn refused(text: String, hint: &str) -> Failure {
    Failure::new(FailureKind::BadInput, text).hint(hint.to_owned())
}

/// Whether a reference looks like `1.4.0`, unlike paths and references to repositories.
fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.starts_with(|letter: char| letter.is_ascii_digit()) && !digits.contains(['/', '\\', ':'])
}

/// Finds an archive of a version: next to the chart, in its directory, or in the working directory.
fn find_version(chart: &Path, version: &str) -> Result<PreviousChart, Failure> {
    let name = name_of(chart);
    let archive = format!("{name}-{version}.tgz");
    let folders = [chart.parent().unwrap_or(Path::new(".")), chart, Path::new(".")];
    let found = folders.iter().map(|folder| folder.join(&archive)).find(|path| path.is_file());
    found.map(PreviousChart::At).ok_or_else(|| {
        refused(
            format!("there is no {archive} next to the chart, in its directory or in the working directory"),
            "give the path of an archive, or git:REF for a commit",
        )
    })
}

/// The name of the chart; for an archive, the part of its name before the version.
fn name_of(chart: &Path) -> String {
    let text = crate::read::file(chart.join("Chart.yaml"), crate::read::MAX_SETTINGS).unwrap_or_default();
    let metadata = pintle_yaml::read(&text).unwrap_or_default();
    if let Some(name) = metadata.get("name").and_then(Node::as_str) {
        return name.to_owned();
    }
    let file = chart.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = file.match_indices('-').find(|(at, _)| is_version(&file[at + 1..])).map(|(at, _)| at);
    file[..end.unwrap_or(file.len())].to_owned()
}

/// The directory of the chart at a commit.
fn at_commit(chart: &Path, commit: &str, environment: &Environment) -> Result<PreviousChart, Failure> {
    if commit.is_empty() || commit.starts_with('-') || !chart.is_dir() {
        return Err(refused(
            format!("`git:{commit}` cannot be used for this chart"),
            "git:REF needs a commit, branch or tag, and a chart directory in a work tree",
        ));
    }
    let check_out = || {
        let git = Git::new(environment)?;
        let commit = tree::commit(&git, chart, commit)?;
        tree::check_out(&git, chart, (&commit, ""), tree::Links::Skip)
    };
    check_out().map(PreviousChart::Kept).map_err(|why| {
        refused(
            format!("git has no `{commit}` of this chart: {why}"),
            "in CI, fetch the commit first (`git fetch --depth 1 origin REF`)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_paths() {
        assert!(is_version("1.4.0") && is_version("v2") && is_version("0.1.0-rc.1"));
        assert!(!is_version("charts/1.4.0") && !is_version("old") && !is_version("oci://a"));
    }

    #[test]
    fn an_archive_is_called_by_what_is_before_its_version() {
        assert_eq!(name_of(Path::new("/none/my-web-1.2.0-rc.1.tgz")), "my-web");
        assert_eq!(name_of(Path::new("/none/web.tgz")), "web");
    }
}

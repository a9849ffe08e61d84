//! Which older chart `--from` means: a path, a version, or the same folder at another commit.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_tree::Node;
use tempfile::TempDir;

use super::git;
use crate::chart_reference;
use crate::failure::{Failure, FailureKind};
use crate::invocation::Invocation;

/// The chart to upgrade from.
pub(super) enum Older {
    /// None; the chart is upgraded from itself.
    Itself,
    /// What is at a path.
    At(PathBuf),
    /// What a commit has, as a folder that goes away with this.
    Kept(TempDir),
}

impl Older {
    /// Finds what `reference` means for a chart, which was typed in one way and is at a path.
    ///
    /// # Errors
    ///
    /// When there is nothing of the kind.
    pub(super) fn of(
        invocation: &mut Invocation<'_>,
        (typed, chart): (&str, &str),
        reference: &str,
    ) -> Result<Older, Failure> {
        if reference.is_empty() {
            return Ok(Older::Itself);
        }
        if let Some(commit) = reference.strip_prefix("git:") {
            return at_commit(Path::new(chart), commit);
        }
        let is_path = Path::new(reference).exists();
        if !is_path && is_version(reference) {
            if Path::new(typed).exists() {
                return of_version(Path::new(chart), reference);
            }
            return Ok(Older::At(chart_reference::locate_version(invocation, typed, reference)?.into()));
        }
        // What `--version` says is about the chart, not about the one before it.
        Ok(Older::At(chart_reference::locate_version(invocation, reference, "")?.into()))
    }

    /// Where it is.
    pub(super) fn path(&self) -> Option<PathBuf> {
        match self {
            Older::Itself => None,
            Older::At(path) => Some(path.clone()),
            Older::Kept(folder) => Some(folder.path().to_owned()),
        }
    }
}

fn refused(text: String, hint: &str) -> Failure {
    Failure::new(FailureKind::BadInput, text).hint(hint.to_owned())
}

/// Whether a word looks like `1.4.0`; paths and references to repositories do not.
fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.starts_with(|letter: char| letter.is_ascii_digit()) && !digits.contains(['/', '\\', ':'])
}

/// An archive of a version: beside the chart, in its folder, or where the program runs.
fn of_version(chart: &Path, version: &str) -> Result<Older, Failure> {
    let name = name_of(chart);
    let archive = format!("{name}-{version}.tgz");
    let folders = [chart.parent().unwrap_or(Path::new(".")), chart, Path::new(".")];
    let found = folders.iter().map(|folder| folder.join(&archive)).find(|path| path.is_file());
    found.map(Older::At).ok_or_else(|| {
        refused(
            format!("there is no {archive} beside the chart, in its folder or here"),
            "give the path of an archive, or git:REF for what a commit has",
        )
    })
}

/// The name that the chart calls itself by; for an archive, what is before its version.
fn name_of(chart: &Path) -> String {
    let text = fs::read(chart.join("Chart.yaml")).unwrap_or_default();
    let metadata = pintle_yaml::read(&text).unwrap_or_default();
    if let Some(name) = metadata.get("name").and_then(Node::as_str) {
        return name.to_owned();
    }
    let file = chart.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = file.match_indices('-').find(|(at, _)| is_version(&file[at + 1..])).map(|(at, _)| at);
    file[..end.unwrap_or(file.len())].to_owned()
}

/// The folder of the chart as a commit has it.
fn at_commit(chart: &Path, commit: &str) -> Result<Older, Failure> {
    if commit.is_empty() || commit.starts_with('-') || !chart.is_dir() {
        return Err(refused(
            format!("`git:{commit}` cannot be used for this chart"),
            "git:REF wants a commit, branch or tag, and a chart that is a folder in a work tree",
        ));
    }
    git::check_out(chart, commit).map(Older::Kept).map_err(|why| {
        refused(
            format!("git has no `{commit}` of this chart: {why}"),
            "in a CI, fetch the commit first (`git fetch --depth 1 origin REF`)",
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

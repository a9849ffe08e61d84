//! The files that differ from a commit.

use std::path::{Path, PathBuf};

use crate::env::Environment;
use crate::failure::Failure;
use crate::git::Git;

/// The files of the working tree that differ from the merge base with `since`, or from HEAD without it; also untracked ones.
///
/// # Errors
/// When this is no git repository, or there is no such commit.
pub(super) fn files(folder: &Path, since: &str, environment: &Environment) -> Result<Vec<PathBuf>, Failure> {
    let program = Git::new(environment).map_err(|error| failure("--changed needs git", &error))?;
    let git = |folder: &Path, arguments: &[&str]| match program.run(Some(folder), arguments) {
        Ok(captured) => Ok(String::from_utf8_lossy(&captured.stdout).into_owned()),
        Err(error) => Err(error.reason()),
    };
    let root = git(folder, &["rev-parse", "--show-toplevel"])
        .map_err(|error| failure("--changed needs a git repository", &error))?;
    let root = PathBuf::from(root.trim_end_matches(['\n', '\r']));
    let base = match since {
        "" => "HEAD".to_owned(),
        since => git(&root, &["merge-base", "--end-of-options", since, "HEAD"])
            .map_err(|error| failure(&format!("cannot compare with `{since}`"), &error))?
            .trim()
            .to_owned(),
    };
    let changed = ["diff", "--no-renames", "--name-only", "-z", &base, "--"];
    let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
    let mut files = Vec::new();
    for arguments in [&changed[..], &untracked[..]] {
        let listed = git(&root, arguments).map_err(|error| failure("cannot list what changed", &error))?;
        files.extend(listed.split('\0').filter(|name| !name.is_empty()).map(|name| root.join(name)));
    }
    Ok(files)
}

fn failure(what: &str, error: &str) -> Failure {
    Failure::usage(format!("{what}: {error}"))
}

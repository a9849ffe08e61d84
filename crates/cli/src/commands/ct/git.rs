//! What git says about the repository.

use std::process::Command;

/// Runs git and returns what it prints, without white space around it.
///
/// # Errors
/// As chart-testing says it.
pub(super) fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(arguments)
        .output()
        .map_err(|error| format!("failed running process: git: {error}"))?;
    if !output.status.success() {
        let code = output.status.code().unwrap_or(-1);
        return Err(format!("failed running process: exit status {code}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The merge base of the target branch and a commit.
pub(super) fn merge_base(remote: &str, branch: &str, since: &str) -> Result<String, String> {
    git(&["rev-parse", "--is-inside-work-tree"]).map_err(|_| "must be in a git repository".to_owned())?;
    let branch = format!("{remote}/{branch}");
    if git(&["rev-parse", "--verify", &branch]).is_err() {
        return Err(format!("targetBranch '{branch}' does not exist"));
    }
    git(&["merge-base", &branch, since])
}

/// The files that changed since a commit, in some directories.
pub(super) fn changed_files(commit: &str, folders: &[String]) -> Result<Vec<String>, String> {
    let mut arguments = vec!["diff", "--find-renames", "--name-only", commit, "--"];
    arguments.extend(folders.iter().map(String::as_str));
    let failed = |error: String| format!("failed creating diff: failed creating diff: {error}");
    Ok(git(&arguments).map_err(failed)?.lines().map(str::to_owned).collect())
}

/// A file of the target branch, if it has it.
pub(super) fn show(remote: &str, branch: &str, file: &str) -> Option<String> {
    let file = format!("{remote}/{branch}:{file}");
    git(&["cat-file", "-e", &file]).ok()?;
    git(&["show", &file]).ok()
}

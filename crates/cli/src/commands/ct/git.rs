//! What git says about the repository.

use std::process::Command;

use super::{Testing, not_started};

impl Testing<'_, '_> {
    /// Runs git and returns what it prints, without white space around it.
    ///
    /// # Errors
    /// As chart-testing says it.
    pub(super) fn git(&mut self, arguments: &[&str]) -> Result<String, String> {
        self.show_call("git", arguments).map_err(|failure| failure.text.clone())?;
        let output = Command::new("git")
            .args(arguments)
            .output()
            .map_err(|error| format!("failed running process: {}", not_started("git", &error)))?;
        if !output.status.success() {
            let code = output.status.code().unwrap_or(-1);
            return Err(format!("failed running process: exit status {code}"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The merge base of the target branch and the commit that is compared with it.
    pub(super) fn merge_base(&mut self) -> Result<String, String> {
        let config = std::sync::Arc::clone(&self.config);
        self.git(&["rev-parse", "--is-inside-work-tree"])
            .map_err(|_| "must be in a git repository".to_owned())?;
        let branch = format!("{}/{}", config.remote, config.target_branch);
        if self.git(&["rev-parse", "--verify", &branch]).is_err() {
            return Err(format!("targetBranch '{branch}' does not exist"));
        }
        self.git(&["merge-base", &branch, &config.since])
    }

    /// The files that changed since a commit, in some directories.
    pub(super) fn changed_files(&mut self, commit: &str, folders: &[String]) -> Result<Vec<String>, String> {
        let mut arguments = vec!["diff", "--find-renames", "--name-only", commit, "--"];
        arguments.extend(folders.iter().map(String::as_str));
        let failed = |error: String| format!("failed creating diff: failed creating diff: {error}");
        Ok(self.git(&arguments).map_err(failed)?.lines().map(str::to_owned).collect())
    }

    /// A file of the target branch, if it has it.
    pub(super) fn file_on_branch(&mut self, file: &str) -> Option<String> {
        let file = format!("{}/{}:{file}", self.config.remote, self.config.target_branch);
        self.git(&["cat-file", "-e", &file]).ok()?;
        self.git(&["show", &file]).ok()
    }
}

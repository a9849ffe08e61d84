//! What git says about the repository.

use super::Testing;
use crate::git::{Git, GitError};

impl Testing<'_, '_> {
    /// Runs git and returns what it prints, without white space around it.
    ///
    /// # Errors
    /// As chart-testing says it.
    pub(super) fn git(&mut self, arguments: &[&str]) -> Result<String, String> {
        self.show_call("git", arguments).map_err(|failure| failure.text.clone())?;
        let git = Git::new(self.invocation.environment)
            .map_err(|error| format!("failed running process: {error}"))?;
        match git.run(None, arguments) {
            Ok(captured) => Ok(String::from_utf8_lossy(&captured.stdout).trim().to_owned()),
            Err(GitError::NotRun(reason)) => Err(format!("failed running process: {reason}")),
            Err(GitError::Exit(captured)) => {
                let code = captured.status.code().unwrap_or(-1);
                Err(format!("failed running process: exit status {code}"))
            }
        }
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

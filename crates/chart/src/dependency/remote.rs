//! The interface to repositories and registries, which the caller implements: this crate does no network I/O.

use std::path::Path;

use pintle_semver::Constraint;
use pintle_tree::LogLine;

use crate::error::Result;
use crate::metadata::Dependency;

/// Receives progress messages.
pub struct Output<'a> {
    /// Receives each line of output as it happens.
    pub report: &'a mut dyn FnMut(&str),
    /// Receives log lines.
    pub log: &'a mut Vec<LogLine>,
}

/// Fetches one dependency of a list, by its position, into a folder.
pub type Download<'a> = dyn FnMut(usize, &mut Output<'_>) -> Result<()> + 'a;

/// Finds and fetches charts of repositories and registries. The lists passed to it may contain dependencies from
/// folders, which it must ignore.
pub trait Remote {
    /// Replaces the aliases of repositories by their URLs.
    ///
    /// # Errors
    /// Repositories that are neither known by name nor URLs.
    fn replace_aliases(&mut self, dependencies: &mut [Dependency]) -> Result<()>;

    /// Checks that every repository of a lock is known.
    ///
    /// # Errors
    /// Repositories that are not.
    fn check_known(&mut self, locked: &[Dependency]) -> Result<()>;

    /// Updates the cached indexes of the repositories; with `unknown`, also of those that are not configured by name.
    ///
    /// # Errors
    /// When a URL cannot be fetched, because of its scheme. A repository that does not respond is reported, not an error.
    fn refresh(&mut self, dependencies: &[Dependency], unknown: bool, output: &mut Output<'_>) -> Result<()>;

    /// The newest version of `dependency` that satisfies `range`, if there is one; `at` is its index in the last list.
    ///
    /// # Errors
    /// When the chart does not exist, or the index of its repository is not cached.
    fn newest(
        &mut self,
        at: usize,
        dependency: &Dependency,
        range: &Constraint,
        output: &mut Output<'_>,
    ) -> Result<Option<String>>;

    /// Runs `body` with a function that fetches each dependency of `locked` into `folder`. Downloads run in parallel
    /// while `body` requests them in order; once `body` returns, no further download starts.
    ///
    /// # Errors
    /// When fetching is impossible, before `body` runs.
    fn download(
        &mut self,
        locked: &[Dependency],
        folder: &Path,
        output: &mut Output<'_>,
        body: &mut dyn FnMut(&mut Download<'_>, &mut Output<'_>),
    ) -> Result<()>;
}

/// Whether a dependency comes from a repository or a registry.
pub fn is_remote(dependency: &Dependency) -> bool {
    !dependency.repository.is_empty() && !dependency.repository.starts_with("file://")
}

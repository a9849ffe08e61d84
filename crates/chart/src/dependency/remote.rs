//! Charts that are in no folder of this machine: repositories and registries, which this crate does not know.

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

/// Finds and fetches charts of repositories and registries. Dependencies from folders may be in the lists that it gets,
/// and are none of its business.
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

    /// Fetches what repositories say about their charts; `unknown` says that repositories may be unknown.
    ///
    /// # Errors
    /// URLs that nothing can be fetched from. A repository that does not answer is reported, and no error.
    fn refresh(&mut self, dependencies: &[Dependency], unknown: bool, output: &mut Output<'_>) -> Result<()>;

    /// The newest version of the dependency at a position of the last list that satisfies its range, if there is one.
    ///
    /// # Errors
    /// Charts that are not there, and repositories of which nothing is known.
    fn newest(
        &mut self,
        at: usize,
        dependency: &Dependency,
        range: &Constraint,
        output: &mut Output<'_>,
    ) -> Result<Option<String>>;

    /// Runs `body` with something that fetches each dependency of `locked` into `folder`. Fetching goes on side by side
    /// while `body` asks for them in order; when it ends, nothing more is fetched.
    ///
    /// # Errors
    /// What makes fetching impossible, before `body` runs.
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

//! The library charts that a chart requests (`libraries:`): fetched into `library/` and locked in `library.lock`, the way
//! dependencies are fetched into `charts/`. Helm reads neither of them, and its own files are not changed.

use std::io::ErrorKind;

use super::update::{Target, UpdateContext};
use super::{digest, lock};
use crate::Chart;
use crate::error::{Error, Result, file_error};
use crate::metadata::{Dependency, Lock};

/// The lock of libraries.
const LOCK: &str = "library.lock";

impl UpdateContext<'_> {
    /// Resolves the libraries, updates `library/`, and writes the lock if it changed.
    pub(super) fn update_libraries(&mut self, chart: &Chart) -> Result<()> {
        let mut requested = fetched(chart);
        if requested.is_empty() {
            return Ok(());
        }
        let old = self.library_lock()?;
        let mut locked = self.choose(&mut requested)?;
        self.fetch_all(&mut locked, Target::Libraries)?;
        let digest = digest(Some(&requested), &locked)?;
        if old.is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let lock = Lock { generated: self.now.to_string(), digest, dependencies: locked };
        lock::write_named(self.chart_path, &lock, LOCK)
    }

    /// Updates `library/` from the lock; without a lock, like [`UpdateContext::update_libraries`].
    pub(super) fn build_libraries(&mut self, chart: &Chart) -> Result<()> {
        let mut requested = fetched(chart);
        if requested.is_empty() {
            return Ok(());
        }
        let Some(lock) = self.library_lock()? else { return self.update_libraries(chart) };
        self.check_repositories(&mut requested)?;
        if digest(Some(&requested), &lock.dependencies)? != lock.digest {
            return Err(Error::message(
                "the lock file (library.lock) is out of sync with the libraries that the chart asks for. Please \
                 update the dependencies with 'helm dependency update'",
            ));
        }
        self.fetch_locked(lock.dependencies, Target::Libraries)
    }

    fn library_lock(&self) -> Result<Option<Lock>> {
        let path = self.chart_path.join(LOCK);
        match crate::read_limited(&path, crate::MAX_TEXT) {
            Ok(text) => Lock::read(&text, LOCK),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error("open", &path)(error)),
        }
    }
}

/// The libraries that are fetched. One without a repository is expected in `library/` or among the subcharts, which
/// rendering checks.
fn fetched(chart: &Chart) -> Vec<Dependency> {
    chart.metadata.libraries.iter().filter(|library| !library.repository.is_empty()).cloned().collect()
}

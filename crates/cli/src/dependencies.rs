//! Dependencies of charts: the repositories and registries that they come from, as flags and environment describe them.

use std::path::Path;
use std::sync::Arc;

use pintle::chart::package::Times;
use pintle::registry::Client;
use pintle::repo::{DependencySource, Folders, Getter, Verification};

use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::provenance::KeyringFile;
use crate::{clock, provenance, registry_access, remote};

/// What fetches dependencies.
pub(crate) struct Sources {
    folders: Folders,
    getter: Getter,
    registry: Arc<Client>,
    all_repositories: bool,
    skip_refresh: bool,
    /// The keyring to verify signatures with; `None` if they are not verified.
    keyring: Option<KeyringFile>,
    /// Whether charts without a signature are refused.
    must_be_signed: bool,
    times: Times,
}

impl Sources {
    /// What the flags of a command describe.
    pub(crate) fn of_flags(invocation: &Invocation<'_>) -> Result<Sources, Failure> {
        let flags = &invocation.flags;
        let is_dependency = flags.declares(names::SKIP_REFRESH);
        Ok(Sources {
            folders: remote::folders(flags, invocation.environment),
            getter: remote::getter(invocation, remote::TIMEOUT),
            registry: registry_access::client(invocation)?,
            all_repositories: invocation.personality == Personality::Helm,
            skip_refresh: is_dependency && flags.on(names::SKIP_REFRESH),
            keyring: (is_dependency && flags.on(names::VERIFY)).then(|| provenance::keyring_file(invocation)),
            must_be_signed: invocation.command_path.command.name == "update",
            times: times(invocation)?,
        })
    }

    /// Runs something with the source of dependencies.
    pub(crate) fn with<T>(&self, operation: impl FnOnce(&mut DependencySource<'_>) -> T) -> T {
        let verifier = |archive: &Path, signature: &Path| {
            let keyring = self.keyring.as_ref().ok_or_else(|| "there is no keyring".to_owned())?;
            let [archive, signature] = [archive, signature].map(|path| path.to_string_lossy().into_owned());
            let outcome = provenance::verify_archive_with(keyring, &archive, &signature);
            outcome.map(|_| ()).map_err(|failure| failure.text.clone())
        };
        let mut source = DependencySource::new(self.folders.clone(), &self.getter);
        source.registry = Some(Arc::clone(&self.registry));
        source.all_repositories = self.all_repositories;
        source.skip_refresh = self.skip_refresh;
        source.verification = match (&self.keyring, self.must_be_signed) {
            (None, _) => Verification::Never,
            (Some(_), false) => Verification::IfPossible(&verifier),
            (Some(_), true) => Verification::Always(&verifier),
        };
        operation(&mut source)
    }
}

/// Updates the dependencies of the chart at a path, as `dependency update` does.
pub(crate) fn update(
    invocation: &Invocation<'_>,
    chart: &Path,
    reporter: &mut dyn pintle::Reporter,
) -> Result<(), Failure> {
    let sources = Sources::of_flags(invocation)?;
    update_from(&sources, chart, reporter)
}

/// As [`update`], for callers that have already borrowed the invocation.
pub(crate) fn update_from(
    sources: &Sources,
    chart: &Path,
    reporter: &mut dyn pintle::Reporter,
) -> Result<(), Failure> {
    let times = sources.times;
    Ok(sources.with(|source| pintle::ops::dependency::update(chart, times, Some(source), reporter))?)
}

/// The times of a new lock and of archives that are made from folders.
pub(crate) fn times(invocation: &Invocation<'_>) -> Result<Times, Failure> {
    Ok(Times { all: epoch(invocation)?, fallback: clock::now() })
}

/// `SOURCE_DATE_EPOCH`; an invalid one is an error.
pub(crate) fn epoch(invocation: &Invocation<'_>) -> Result<Option<i64>, Failure> {
    invocation.environment.source_date_epoch().map_err(|text| {
        Failure::usage(text).hint("SOURCE_DATE_EPOCH is a number of seconds since 1970, or is not set")
    })
}

/// Checks `SOURCE_DATE_EPOCH` for a chart that has dependencies, whether they are there or not, as Helm does before it renders
/// the chart.
pub(crate) fn check_epoch(invocation: &Invocation<'_>, chart: &Path) -> Result<(), Failure> {
    let Err(failure) = epoch(invocation) else { return Ok(()) };
    // A chart that cannot be loaded is reported by the operation itself.
    match pintle::chart::load(chart, &mut Vec::new()) {
        Ok(chart) if !chart.metadata.dependencies.is_empty() => Err(failure),
        _ => Ok(()),
    }
}

//! Dependencies of charts: the repositories and registries that they come from, as flags and environment describe them.

use std::path::{Path, PathBuf};

use pintle::ops::dependency::BuildTimes;
use pintle::ops::{DependencyRequest, Signatures, update_dependencies};
use pintle::{ChartRef, KeyringFile, Reporter};

use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{clock, provenance, registry_access, remote};

/// The request for the dependencies of a chart that the flags describe, without signatures.
pub(crate) fn request(invocation: &Invocation<'_>, chart: PathBuf) -> Result<DependencyRequest, Failure> {
    let flags = &invocation.flags;
    let client = registry_access::client(invocation)?;
    Ok(DependencyRequest {
        chart,
        recursive: false,
        remote: remote::remote(invocation, remote::TIMEOUT).with_registry(client),
        skip_refresh: flags.declares(names::SKIP_REFRESH) && flags.on(names::SKIP_REFRESH),
        signatures: Signatures::Ignored,
        times: times(invocation)?,
    })
}

/// The keyring of `--verify`.
pub(crate) fn keyring(invocation: &Invocation<'_>) -> Option<KeyringFile> {
    invocation.flags.on(names::VERIFY).then(|| provenance::keyring_file(invocation))
}

/// Updates the dependencies of a chart, as `dependency update` does.
pub(crate) fn update(
    invocation: &Invocation<'_>,
    chart: &Path,
    reporter: &mut dyn Reporter,
) -> Result<(), Failure> {
    let request = request(invocation, chart.to_owned())?;
    Ok(run_offline(update_dependencies(&request, reporter))?)
}

/// The same for callers that show the progress.
pub(crate) fn update_reported(invocation: &mut Invocation<'_>, chart: &ChartRef) -> Result<(), Failure> {
    let request = request(invocation, chart.path().unwrap_or(Path::new("")).to_owned())?;
    Ok(run_offline(update_dependencies(&request, &mut Reporting::new(invocation.ui)))?)
}

/// The times of a new lock and of archives that are made from folders.
pub(crate) fn times(invocation: &Invocation<'_>) -> Result<BuildTimes, Failure> {
    Ok(BuildTimes { now: clock::local_time(), epoch: epoch(invocation)? })
}

/// `SOURCE_DATE_EPOCH`; an invalid one is an error.
pub(crate) fn epoch(invocation: &Invocation<'_>) -> Result<Option<i64>, Failure> {
    invocation.environment.source_date_epoch().map_err(|text| {
        Failure::usage(text).hint("SOURCE_DATE_EPOCH is a number of seconds since 1970, or is not set")
    })
}

/// Checks `SOURCE_DATE_EPOCH` for a chart that has dependencies, whether they are there or not, as Helm does before it renders
/// the chart.
pub(crate) fn check_epoch(invocation: &Invocation<'_>, chart: &ChartRef) -> Result<(), Failure> {
    let Err(failure) = epoch(invocation) else { return Ok(()) };
    // A chart that cannot be loaded is reported by the operation itself.
    match pintle::chart::load(chart.path().unwrap_or(Path::new("")), &mut Vec::new()) {
        Ok(chart) if !chart.metadata.dependencies.is_empty() => Err(failure),
        _ => Ok(()),
    }
}

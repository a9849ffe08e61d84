//! `dependency list|build|update`: the charts that a chart needs.

use std::path::Path;

use pintle_chart::dependency::{self, Listing, Updating};
use pintle_chart::metadata::Timestamp;
use pintle_chart::package::Times;

use crate::{Reporter, Result};

/// Lists what a chart asks for and whether it is there.
///
/// # Errors
/// When the chart cannot be read.
pub fn list(chart: &Path) -> Result<Listing> {
    Ok(dependency::list(chart)?)
}

/// Fills `charts/` with what the lock says; `now` is in seconds since 1970.
///
/// # Errors
/// A lock that does not fit Chart.yaml, charts that cannot be found, and repositories on the network.
pub fn build(chart: &Path, now: i64, reporter: &mut dyn Reporter) -> Result<()> {
    run(chart, now, reporter, dependency::build)
}

/// Resolves the dependencies anew, fills `charts/` and writes the lock.
///
/// # Errors
/// As [`build`], but for the lock.
pub fn update(chart: &Path, now: i64, reporter: &mut dyn Reporter) -> Result<()> {
    run(chart, now, reporter, dependency::update)
}

fn run(
    chart: &Path,
    now: i64,
    reporter: &mut dyn Reporter,
    command: fn(Updating<'_>) -> pintle_chart::Result<()>,
) -> Result<()> {
    let mut log = Vec::new();
    let outcome = command(Updating {
        chart_path: chart,
        now: Timestamp::from_unix(now, 0),
        times: Times { all: None, fallback: now },
        report: &mut |line| reporter.progress(line),
        log: &mut log,
    });
    for line in log {
        reporter.log(line);
    }
    Ok(outcome?)
}

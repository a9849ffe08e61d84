//! `package`: a chart into an archive.

use std::path::PathBuf;

use pintle_chart::package::{Overrides, Times};
use pintle_events::Event;

use super::locate;
use crate::report::forward_log;
use crate::{Lifecycle, Reporter, Result, prepare};

/// What to pack, and how.
#[derive(Clone, Debug, Default)]
pub struct PackageRequest {
    /// The folder of the chart.
    pub chart: PathBuf,
    /// The version to give the chart instead of its own.
    pub version: Option<String>,
    /// The application version to give the chart instead of its own.
    pub app_version: Option<String>,
    /// The folder for the archive.
    pub destination: PathBuf,
    /// The time of every entry, for archives that do not depend on when they were made.
    pub epoch: Option<i64>,
    /// The time of entries whose source has none, in seconds since 1970.
    pub now: i64,
}

/// Packs the chart and returns the path of the archive. The same chart gives the same bytes.
///
/// # Errors
/// A chart that cannot be read, missing dependencies, a bad version, or an archive that cannot be written.
pub fn package(request: &PackageRequest, reporter: &mut dyn Reporter) -> Result<PathBuf> {
    package_with_events(request, &Lifecycle::default(), reporter)
}

/// As [`package`], with handlers of lifecycle events. What they change goes into the archive, never into the folder.
///
/// # Errors
/// As [`package`], or a handler's error, with nothing written.
pub fn package_with_events(
    request: &PackageRequest,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<PathBuf> {
    let mut chart = forward_log(reporter, |log| Ok(pintle_chart::load(&request.chart, log)?))?;
    locate::check_generation(&chart)?;
    let told = events
        .with_scripts_of(&chart)
        .and_then(|events| prepare::emit_for_chart(&mut chart, Event::PrePackage, &events));
    events.report(reporter);
    told?;
    let overrides = Overrides { version: request.version.clone(), app_version: request.app_version.clone() };
    let times = Times { all: request.epoch, fallback: request.now };
    Ok(pintle_chart::package::package(chart, overrides, &request.destination, times)?)
}

//! `package`: package a chart into an archive.

use std::path::PathBuf;

use pintle_chart::package::{Overrides, Times};
use pintle_events::Event;

use super::locate;
use crate::report::forward_log;
use crate::{OfflineSession, Reporter, Result, prepare};

/// What to package, and how.
#[derive(Clone, Debug, Default)]
pub struct PackageRequest {
    /// The folder of the chart.
    pub chart: PathBuf,
    /// Overrides the version of the chart.
    pub version: Option<String>,
    /// Overrides the app version of the chart.
    pub app_version: Option<String>,
    /// The folder of the archive.
    pub destination: PathBuf,
    /// Modification time of every entry, for reproducible archives (`SOURCE_DATE_EPOCH`).
    pub epoch: Option<i64>,
    /// Modification time of generated entries, in Unix seconds.
    pub now: i64,
}

/// Packages the chart and returns the path of the archive. The same input gives the same bytes. What handlers of
/// lifecycle events change goes into the archive, never into the folder.
///
/// # Errors
/// An unreadable chart, missing dependencies, an invalid version, or an archive that cannot be written. When a handler
/// fails, nothing is written.
pub fn package(
    session: &OfflineSession,
    request: &PackageRequest,
    reporter: &mut dyn Reporter,
) -> Result<PathBuf> {
    let events = &session.events;
    // Helm packs folders only, and looks for Chart.yaml below whatever it is given.
    let load = if request.chart.is_file() { pintle_chart::load_dir } else { pintle_chart::load };
    let mut chart = forward_log(reporter, |log| Ok(load(&request.chart, log)?))?;
    locate::check_generation(&chart)?;
    let outcome =
        events.with_scripts_of(&chart, &[Event::ChartLoaded, Event::PrePackage]).and_then(|events| {
            prepare::emit_only_loaded(&chart, &events)?;
            prepare::emit_for_chart(&mut chart, Event::PrePackage, &events)
        });
    events.report(reporter);
    outcome?;
    let overrides = Overrides { version: request.version.clone(), app_version: request.app_version.clone() };
    let times = Times { all: request.epoch, fallback: request.now };
    Ok(pintle_chart::package::package(chart, overrides, &request.destination, times)?)
}

//! `dependency list|build|update`: the dependencies of a chart.

use std::path::Path;

use pintle_chart::Chart;
use pintle_chart::dependency::{self, Listing, Remote, UpdateContext};
use pintle_chart::metadata::{Dependency, Timestamp};
use pintle_chart::package::Times;
use pintle_events::Event;
use pintle_semver::{Constraint, Version};

use crate::report::forward_log;
use crate::{Lifecycle, OfflineSession, Reporter, Result, prepare};

/// The times of what [`build`] and [`update`] write.
#[derive(Clone, Copy, Debug)]
pub struct BuildTimes {
    /// When a new lock is generated.
    pub now: Timestamp,
    /// The time of archives that are made from folders (`SOURCE_DATE_EPOCH`), in Unix seconds; without it, that of the files.
    pub epoch: Option<i64>,
}

/// Lists the dependencies of a chart and whether they are present.
///
/// # Errors
/// When the chart cannot be read.
pub fn list(chart: &Path, reporter: &mut dyn Reporter) -> Result<Listing> {
    forward_log(reporter, |log| Ok(dependency::list(chart, log)?))
}

/// Fills `charts/` from the lock file. Repositories and registries are reached through
/// `remote`, such as `pintle::repo::DependencySource`; without it, charts of theirs are refused.
///
/// # Errors
/// A lock that is out of sync with Chart.yaml, charts that cannot be found, unreachable repositories, or the error of a
/// handler. When a handler before building fails, nothing is fetched.
pub fn build(
    session: &OfflineSession,
    chart: &Path,
    times: BuildTimes,
    remote: Option<&mut dyn Remote>,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let events = &session.events;
    let outcome = emit(chart, Event::PreDependencyBuild, events, |_| {});
    events.report(reporter);
    let others = outcome?;
    match &others {
        None => run(chart, times, remote, reporter, dependency::build)?,
        Some(others) => {
            run(chart, times, remote, reporter, |updating| dependency::build_instead(updating, others))?;
        }
    }
    let outcome = emit(chart, Event::PostDependencyBuild, events, |chart| {
        if let Some(others) = others {
            chart.metadata.dependencies = others;
        }
        resolve(chart);
    });
    events.report(reporter);
    outcome.map(|_| ())
}

/// Emits an event about the chart in its folder, and returns the dependencies that handlers want instead of those of
/// Chart.yaml. A chart that cannot be loaded is reported by the build itself.
fn emit(
    chart: &Path,
    event: Event,
    events: &Lifecycle,
    change: impl FnOnce(&mut Chart),
) -> Result<Option<Vec<Dependency>>> {
    // The chart is loaded once for both events, as far as handlers can see.
    let emitted: &[Event] = match event {
        Event::PreDependencyBuild => &[Event::ChartLoaded, event],
        _ => &[event],
    };
    if !emitted.iter().any(|event| events.listens(*event)) && !events.may_run_scripts() {
        return Ok(None);
    }
    let Ok(mut chart) = pintle_chart::load_any_version(chart, &mut Vec::new()) else { return Ok(None) };
    change(&mut chart);
    let events = events.with_scripts_of(&chart, emitted)?;
    if emitted.contains(&Event::ChartLoaded) {
        prepare::emit_only_loaded(&chart, &events)?;
    }
    prepare::emit_dependencies(&chart, event, &events)
}

/// Sets the dependencies of a chart to the versions that were fetched.
fn resolve(chart: &mut Chart) {
    let fetched: Vec<(String, String)> = chart
        .subcharts
        .iter()
        .map(|chart| (chart.name().to_owned(), chart.metadata.version.clone()))
        .collect();
    for dependency in &mut chart.metadata.dependencies {
        let suits = |version: &str| match (Constraint::parse(&dependency.version), Version::parse(version)) {
            (Ok(range), Ok(version)) => range.check(&version),
            _ => dependency.version == version,
        };
        let found = fetched.iter().find(|(name, version)| *name == dependency.name && suits(version));
        if let Some((_, version)) = found {
            dependency.version.clone_from(version);
        }
    }
}

/// Resolves the dependencies again, fills `charts/` and writes the lock file.
///
/// # Errors
/// As [`build`], except for those about the lock.
pub fn update(
    chart: &Path,
    times: BuildTimes,
    remote: Option<&mut dyn Remote>,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    run(chart, times, remote, reporter, dependency::update)
}

fn run(
    chart: &Path,
    times: BuildTimes,
    remote: Option<&mut dyn Remote>,
    reporter: &mut dyn Reporter,
    command: impl FnOnce(UpdateContext<'_>) -> pintle_chart::Result<()>,
) -> Result<()> {
    let mut log = Vec::new();
    let outcome = command(UpdateContext {
        chart_path: chart,
        now: times.now,
        times: Times { all: times.epoch, fallback: times.now.unix() },
        report: &mut |line| reporter.progress(line),
        log: &mut log,
        remote: remote.map(|remote| remote as &mut dyn Remote),
    });
    for line in log {
        reporter.log(line);
    }
    Ok(outcome?)
}

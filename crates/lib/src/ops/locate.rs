//! Resolves chart references and loads charts.

use std::path::{Path, PathBuf};

use pintle_chart::Chart;
use pintle_chart::metadata::V3;
use pintle_tree::redact::redacted;
use pintle_tree::{LogLine, Map, Node};
use pintle_values::Overrides;

use crate::report::forward_log;
use crate::{Error, Reporter, Result, input};

/// Returns the folder or archive that a reference names.
///
/// # Errors
/// When there is none, or the reference is to a remote chart.
pub(crate) fn locate(reference: &Path) -> Result<PathBuf> {
    let text = reference.to_string_lossy();
    let text = text.trim();
    if Path::new(text).exists() {
        return Ok(PathBuf::from(text));
    }
    if reference.is_absolute() || text.starts_with('.') {
        return Err(Error::ChartNotFound { path: text.to_owned() });
    }
    Err(Error::RemoteChart { reference: redacted(text).into_owned() })
}

/// Loads a chart and reports the warnings of the loader.
///
/// # Errors
/// As [`locate`], or when the chart cannot be read.
pub(crate) fn load(reference: &Path, reporter: &mut dyn Reporter) -> Result<Chart> {
    let path = locate(reference)?;
    read(&path, reporter)
}

fn read(path: &Path, reporter: &mut dyn Reporter) -> Result<Chart> {
    forward_log(reporter, |log| Ok(pintle_chart::load(path, log)?))
}

/// Loads a chart that is to be rendered, and the user's values. A missing chart is reported before unreadable values,
/// and these before an invalid chart, as in Helm.
///
/// # Errors
/// When the chart or the values cannot be read, or the chart cannot be installed.
pub(crate) fn load_with_values(
    chart: &Path,
    values: &Overrides,
    reporter: &mut dyn Reporter,
) -> Result<(Chart, Map<Node>)> {
    let path = locate(chart)?;
    let user = pintle_values::layer(values, &mut input::read_values)?;
    let chart = read(&path, reporter)?;
    check_installable(&chart, reporter)?;
    Ok((chart, user))
}

/// Fails for charts that cannot be installed, and warns about deprecated ones.
///
/// # Errors
/// When the chart is a library, or dependencies are missing in `charts/`.
pub(crate) fn check_installable(chart: &Chart, reporter: &mut dyn Reporter) -> Result<()> {
    if chart.check_installable().is_err() {
        return Err(Error::NotInstallable { kind: chart.metadata.kind.clone() });
    }
    if chart.is_deprecated() {
        reporter.log(LogLine::warn("this chart is deprecated", Vec::new()));
    }
    chart.check_dependencies().map_err(Error::MissingDependencies)?;
    check_generation(chart)
}

/// Fails for charts with `apiVersion: v3`, which Helm supports experimentally and does not install.
///
/// # Errors
/// When the chart has this API version.
pub(crate) fn check_generation(chart: &Chart) -> Result<()> {
    if chart.metadata.api_version == V3 { Err(Error::ExperimentalChart) } else { Ok(()) }
}

//! Resolves chart references and loads charts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_chart::Chart;
use pintle_chart::metadata::V3;
use pintle_tree::redact::redacted;
use pintle_tree::{LogLine, Map, Node};
use pintle_values::ValuesLayer;

use crate::report::forward_log;
use crate::{ChartRef, Error, Reporter, Result, input};

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

/// Fetches a chart that is not on this machine. Returns `None` for others.
///
/// # Errors
/// When it cannot be found, fetched or verified.
pub(crate) async fn fetched(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<Option<ChartRef>> {
    #[cfg(feature = "registry")]
    if let ChartRef::Reference(reference) = chart {
        return Ok(Some(super::locate_chart(reference, reporter).await?.into()));
    }
    let _ = (chart, reporter);
    Ok(None)
}

/// Returns the folder or archive of a chart that is on this machine.
fn path_of(chart: &ChartRef) -> Result<PathBuf> {
    match chart {
        ChartRef::Path(path) => locate(path),
        ChartRef::Located(chart) => Ok(chart.path.clone()),
        ChartRef::Loaded { chart, .. } => Err(Error::RemoteChart { reference: chart.name().to_owned() }),
        #[cfg(feature = "registry")]
        ChartRef::Reference(chart) => {
            Err(Error::RemoteChart { reference: redacted(&chart.query.reference).into_owned() })
        }
    }
}

/// Loads a chart and reports the warnings of the loader.
///
/// # Errors
/// As [`locate`], or when the chart cannot be read.
pub(crate) fn load(reference: &Path, reporter: &mut dyn Reporter) -> Result<Chart> {
    let path = locate(reference)?;
    read(&path, reporter)
}

/// Loads a chart wherever it comes from, without checking that it can be installed.
///
/// # Errors
/// As [`fetched`] and [`load`].
pub(crate) async fn load_any(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<Arc<Chart>> {
    let fetched = fetched(chart, reporter).await?;
    match fetched.as_ref().unwrap_or(chart) {
        ChartRef::Loaded { chart, .. } => Ok(Arc::clone(chart)),
        chart => Ok(Arc::new(read(&path_of(chart)?, reporter)?)),
    }
}

/// The same for a chart that is only looked at, such as one of `apiVersion: v3`.
///
/// # Errors
/// As [`load_any`].
pub(crate) async fn load_any_version(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<Arc<Chart>> {
    let fetched = fetched(chart, reporter).await?;
    match fetched.as_ref().unwrap_or(chart) {
        ChartRef::Loaded { chart, .. } => Ok(Arc::clone(chart)),
        chart => {
            let path = path_of(chart)?;
            forward_log(reporter, |log| Ok(Arc::new(pintle_chart::load_any_version(&path, log)?)))
        }
    }
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
    chart: &ChartRef,
    values: &[ValuesLayer],
    reporter: &mut dyn Reporter,
) -> Result<(Chart, Map<Node>)> {
    if let ChartRef::Loaded { chart, .. } = chart {
        let user = input::user_values(values)?;
        check_installable(chart, reporter)?;
        return Ok((Chart::clone(chart), user));
    }
    let path = path_of(chart)?;
    let user = input::user_values(values)?;
    let chart = read(&path, reporter)?;
    check_installable(&chart, reporter)?;
    Ok((chart, user))
}

/// A chart that is being loaded on another thread, while requests wait for their answers.
#[cfg(feature = "cluster")]
pub(crate) struct LoadingChart(Option<tokio::task::JoinHandle<(Result<Chart>, Vec<LogLine>)>>);

#[cfg(feature = "cluster")]
impl LoadingChart {
    /// Starts loading a chart. [`LoadingChart::with_values`] returns the errors, in the order of [`load_with_values`].
    pub(crate) fn begin(chart: &ChartRef) -> Self {
        let loading = path_of(chart).ok().map(|path| {
            tokio::task::spawn_blocking(move || {
                let mut log = Vec::new();
                (pintle_chart::load(&path, &mut log).map_err(Error::from), log)
            })
        });
        LoadingChart(loading)
    }

    /// A chart that is loaded when it is needed.
    pub(crate) fn later() -> Self {
        LoadingChart(None)
    }

    /// As [`load_with_values`], for the chart that is being loaded.
    ///
    /// # Errors
    /// As [`load_with_values`].
    pub(crate) async fn with_values(
        self,
        chart: &ChartRef,
        values: &[ValuesLayer],
        reporter: &mut dyn Reporter,
    ) -> Result<(Chart, Map<Node>)> {
        let Some(loading) = self.0 else { return load_with_values(chart, values, reporter) };
        let user = input::user_values(values)?;
        let (chart, log) =
            loading.await.map_err(|error| Error::Input(format!("loading the chart failed: {error}")))?;
        log.into_iter().for_each(|line| reporter.log(line));
        let chart = chart?;
        check_installable(&chart, reporter)?;
        Ok((chart, user))
    }
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

//! `show`: show the parts of a chart as its author wrote them.

use super::locate;
use crate::{ChartRef, Reporter, Result};

/// The parts of a chart that can be shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The metadata as YAML.
    pub chart: Vec<u8>,
    /// The text of values.yaml, if there is one.
    pub values: Option<Vec<u8>>,
    /// The text of the README, if there is one.
    pub readme: Option<Vec<u8>>,
    /// The files of `crds/`.
    pub crds: Vec<Vec<u8>>,
    /// Whether it is a library chart.
    pub is_library: bool,
}

/// Loads a chart and returns its parts.
///
/// # Errors
/// When the chart cannot be found or read.
pub async fn show(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<Shown> {
    let chart = locate::load_any_version(chart, reporter).await?;
    Ok(Shown {
        chart: chart.metadata.to_shown_yaml()?,
        values: chart.values_text().map(<[u8]>::to_vec),
        readme: chart.readme().map(|file| file.data.to_vec()),
        crds: chart.crds().iter().map(|crd| crd.file.data.to_vec()).collect(),
        is_library: chart.is_library(),
    })
}

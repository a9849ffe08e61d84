//! The input of operations that only inspect a chart: the loaded chart and the user's values, from files or from a
//! release.

use std::path::Path;

use pintle_chart::Chart;
#[cfg(feature = "cluster")]
use pintle_release::ReleaseVersion;
#[cfg(feature = "cluster")]
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::ValuesLayer;

use super::locate;
#[cfg(feature = "cluster")]
use crate::lifecycle::record_metadata;
use crate::{Reporter, Result, input};

/// A chart and the user's values for it.
#[derive(Clone, Debug, Default)]
pub struct ChartInput {
    /// The chart as loaded.
    pub chart: Chart,
    /// The user's values.
    pub user_values: Map<Node>,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
}

impl ChartInput {
    /// Loads a chart from a folder or an archive.
    ///
    /// # Errors
    /// When the chart or the values cannot be read.
    pub fn from_chart(
        path: &Path,
        values: &[ValuesLayer],
        name: &str,
        namespace: &str,
        reporter: &mut dyn Reporter,
    ) -> Result<Self> {
        let user_values = input::user_values(values)?;
        let chart = locate::load(path, reporter)?;
        Ok(ChartInput { chart, user_values, name: name.to_owned(), namespace: namespace.to_owned() })
    }

    /// Uses the chart and the values of a release, overridden by further values. Records in Helm's format do not hold
    /// subcharts: see [`ChartInput::lacks_subcharts`].
    ///
    /// # Errors
    /// When the values cannot be read.
    #[cfg(feature = "cluster")]
    pub fn from_release(version: &ReleaseVersion, values: &[ValuesLayer]) -> Result<Self> {
        let overrides = input::user_values(values)?;
        let user_values = merge(version.config.clone().unwrap_or_default(), overrides);
        Ok(ChartInput {
            chart: record_metadata::source_chart(&version.chart)
                .unwrap_or_else(|| record_metadata::chart(&version.chart)),
            user_values,
            name: version.name.clone(),
            namespace: version.namespace.clone(),
        })
    }

    /// Whether the record of a release does not hold the subcharts that its chart had, so that the chart is needed from
    /// where it came from.
    #[cfg(feature = "cluster")]
    pub fn lacks_subcharts(version: &ReleaseVersion) -> bool {
        record_metadata::lacks_subcharts(&version.chart)
    }
}

//! The input of operations that only inspect a chart: the loaded chart and the user's values, from files or from a
//! release.

use std::path::Path;

use pintle_chart::Chart;
use pintle_release::ReleaseVersion;
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::Overrides;

use super::locate;
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
        values: &Overrides,
        name: &str,
        namespace: &str,
        reporter: &mut dyn Reporter,
    ) -> Result<Self> {
        let user_values = pintle_values::layer(values, &mut input::read_values)?;
        let chart = locate::load(path, reporter)?;
        Ok(ChartInput { chart, user_values, name: name.to_owned(), namespace: namespace.to_owned() })
    }

    /// Uses the chart and the values of a release, overridden by further values.
    ///
    /// # Errors
    /// When the values cannot be read.
    pub fn from_release(version: &ReleaseVersion, values: &Overrides) -> Result<Self> {
        let overrides = pintle_values::layer(values, &mut input::read_values)?;
        let user_values = merge(version.config.clone().unwrap_or_default(), overrides);
        Ok(ChartInput {
            chart: version.chart.to_chart(),
            user_values,
            name: version.name.clone(),
            namespace: version.namespace.clone(),
        })
    }
}

//! What operations that only look at a chart executor on: the chart in memory, and the values that were user_values for it. Both
//! come from files or from a release.

use std::path::Path;

use pintle_chart::Chart;
use pintle_release::ReleaseVersion;
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::Overrides;

use super::locate;
use crate::{Reporter, Result, input};

/// A chart and the values that were user_values for it.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The chart as it was loaded.
    pub chart: Chart,
    /// The values that were user_values.
    pub user_values: Map<Node>,
    /// The name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

impl Subject {
    /// Reads a chart from a folder or an archive, for a release of this name.
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
        Ok(Subject { chart, user_values, name: name.to_owned(), namespace: namespace.to_owned() })
    }

    /// Takes the chart and the values of a release, with overrides values over the latter.
    ///
    /// # Errors
    /// When the values cannot be read.
    pub fn from_release(version: &ReleaseVersion, values: &Overrides) -> Result<Self> {
        let overrides = pintle_values::layer(values, &mut input::read_values)?;
        let user_values = merge(version.config.clone().unwrap_or_default(), overrides);
        Ok(Subject {
            chart: version.chart.to_chart(),
            user_values,
            name: version.name.clone(),
            namespace: version.namespace.clone(),
        })
    }
}

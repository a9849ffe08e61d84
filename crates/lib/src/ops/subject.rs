//! What operations that only look at a chart executor on: the chart in memory, and the values that were given for it. Both
//! come from files or from a release.

use std::path::Path;

use pintle_chart::Chart;
use pintle_release::ReleaseVersion;
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::Overrides;

use super::locate;
use crate::{Reporter, Result, input};

/// A chart and the values that were given for it.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The chart as it was loaded.
    pub chart: Chart,
    /// The values that were given.
    pub given: Map<Node>,
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
    pub fn of_chart(
        path: &Path,
        values: &Overrides,
        name: &str,
        namespace: &str,
        reporter: &mut dyn Reporter,
    ) -> Result<Self> {
        let given = pintle_values::layer(values, &mut input::read_values)?;
        let chart = locate::load(path, reporter)?;
        Ok(Subject { chart, given, name: name.to_owned(), namespace: namespace.to_owned() })
    }

    /// Takes the chart and the values of a release, with further values over the latter.
    ///
    /// # Errors
    /// When the values cannot be read.
    pub fn of_release(version: &ReleaseVersion, values: &Overrides) -> Result<Self> {
        let further = pintle_values::layer(values, &mut input::read_values)?;
        let given = merge(version.config.clone().unwrap_or_default(), further);
        Ok(Subject {
            chart: version.chart.to_chart(),
            given,
            name: version.name.clone(),
            namespace: version.namespace.clone(),
        })
    }
}

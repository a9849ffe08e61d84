//! `schema derive|check`: schemas for the values of a chart.

use std::sync::Arc;

use pintle_chart::Chart;
use pintle_render::uses::{Segment, uses};
use pintle_tree::Str;
use pintle_values::schema::SchemaFormat;
use pintle_values::{NullRules, SchemaCheck, ValuesLayer};

use super::locate;
use crate::input;
use crate::report::forward_log;
use crate::{ChartRef, Error, OfflineSession, Reporter, Result};

/// Which chart to derive a schema for.
#[derive(Clone, Debug)]
pub struct DeriveRequest {
    /// The chart.
    pub chart: ChartRef,
    /// The schema language.
    pub format: SchemaFormat,
    /// Whether values that templates read, but values.yaml does not have, get properties too.
    pub from_templates: bool,
}

/// Derives a schema from values.yaml: types from the values, descriptions from the comments above them, and what `@schema`
/// comments say.
///
/// # Errors
/// When the chart cannot be read or has no values.yaml.
pub async fn derive_schema(request: &DeriveRequest, reporter: &mut dyn Reporter) -> Result<Vec<u8>> {
    let chart = locate::load_any(&request.chart, reporter).await?;
    let Some(text) = chart.values_text() else {
        return Err(Error::Input(format!(
            "chart {} has no values.yaml to derive a schema from",
            chart.name()
        )));
    };
    let read = if request.from_templates { values_read(&chart)? } else { Vec::new() };
    pintle_values::schema::derive_with(text, &read, request.format).map_err(Error::Input)
}

/// The values that templates read by name, without those of subcharts, which have schemas of their own.
fn values_read(chart: &Chart) -> Result<Vec<Vec<Str>>> {
    let alone = Chart { subcharts: Vec::new(), ..chart.clone() };
    let uses = uses(&alone).map_err(|error| Error::Input(error.to_string()))?;
    let key = |segment: &Segment| match segment {
        Segment::Key(key) => Some(key.clone()),
        Segment::Any => None,
    };
    let paths = uses.uses.iter().map(|found| found.path.iter().map_while(key).collect::<Vec<Str>>());
    let mut paths: Vec<Vec<Str>> = paths.filter(|path| !path.is_empty()).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Validates values against the schemas of a chart and its subcharts, without rendering.
///
/// # Errors
/// All violations, or what prevented the check.
pub async fn check_schema(
    session: &OfflineSession,
    chart: &ChartRef,
    values: &[ValuesLayer],
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let chart = Arc::unwrap_or_clone(locate::load_any(chart, reporter).await?);
    let user = input::user_values(values)?;
    forward_log(reporter, |log| {
        let rules = NullRules::Helm4;
        let chart =
            pintle_values::process_dependencies(chart, &user, rules, log).map_err(Error::Dependencies)?;
        let check = SchemaCheck::Check;
        let load = &mut |location: &str| session.schemas.load(location);
        pintle_values::render_values(&chart, &user, rules, check, load, log)?;
        Ok(())
    })
}

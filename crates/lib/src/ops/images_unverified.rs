//! Image operations without proof by rendering, and a check whether a chart renders at all.

use pintle_images::overrides::{Assignments, assignments, required_extra_values};
use pintle_images::{Policy, Relocation, Scopes, overlay};
use pintle_tree::Map;
use pintle_tree::merge::merge;
use pintle_values::SchemaCheck;

use super::ChartInput;
use super::images::{ImageOptions, Inspected, inspect};
use crate::prepare::{PrepareOptions, Prepared, prepare};
use crate::{Error, Lifecycle, Reporter, Result};

/// Finds value overrides by key names only, without proof that they have the desired effect. The result contains no
/// images of objects.
///
/// # Errors
/// As [`inspect`], and when the policy has no destination for an image.
pub fn relocate_unverified(
    subject: &ChartInput,
    policy: &Policy,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
) -> Result<Inspected> {
    let mut inspected = inspect(subject, options, reporter)?;
    inspected.relocation = Relocation::default();
    let mut texts = Assignments::new();
    for finding in &inspected.detection.images {
        let Some(image) = &finding.reference else { continue };
        let destination = match policy.destination(image) {
            Ok(Some(destination)) => destination,
            Ok(None) | Err(pintle_images::Error::InvalidDestination { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        texts.extend(assignments(finding, &destination).unwrap_or_default());
    }
    if !texts.is_empty() {
        let scopes = Scopes::new(&subject.chart, &inspected.chart);
        let extra_values = if options.disable_rules { Map::new() } else { required_extra_values(&scopes) };
        let over = overlay(&inspected.values, texts.iter().map(|(path, text)| (path, text.as_str())));
        inspected.relocation.overrides = merge(extra_values, over);
    }
    Ok(inspected)
}

/// Renders a chart to check that it works. With `show_missing`, missing values appear as `<no value>` in the output.
///
/// # Errors
/// The first stage that fails.
pub fn validate(
    subject: &ChartInput,
    options: &ImageOptions,
    show_missing: bool,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    subject.chart.check_dependencies().map_err(Error::MissingDependencies)?;
    let mut target = options.target(subject);
    target.repeatable = false;
    target.show_missing = show_missing;
    let rules =
        PrepareOptions { nulls: options.nulls, schema: SchemaCheck::Check, ..PrepareOptions::default() };
    let (chart, given) = (subject.chart.clone(), subject.user_values.clone());
    let prepared = prepare(chart, given, &target, rules, &Lifecycle::default(), reporter)?;
    if !show_missing {
        prepared.objects()?;
    }
    Ok(prepared)
}

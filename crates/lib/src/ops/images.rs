//! `images`: which images a chart uses, which values they come from, and value overrides that move them to another
//! registry.

use std::collections::BTreeSet;

use pintle_chart::Chart;
use pintle_images::overrides::required_extra_values;
use pintle_images::{Detection, PathFilter, Policy, RelocateOptions, Relocation, Rendering, Scopes, detect};
use pintle_release::ReleaseVersion;
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::{NullRules, SchemaCheck};

use super::ChartInput;
pub use super::images_unverified::{relocate_unverified, validate};
use crate::prepare::{PrepareOptions, process};
use crate::report::forward_log;
use crate::{Error, Reporter, Result};

/// How images are searched and moved.
#[derive(Clone, Debug, Default)]
pub struct ImageOptions {
    /// Which values may be read and changed.
    pub filter: PathFilter,
    /// Leaves out extra values that some charts need when their images move, such as `allowInsecureImages`.
    pub disable_rules: bool,
    /// The Kubernetes version to render for.
    pub kube_version: Option<KubeVersion>,
    /// API versions in addition to the built-in ones.
    pub api_versions: Vec<String>,
    /// Whether nulls in values follow the rules of Helm 3 or Helm 4.
    pub nulls: NullRules,
}

impl ImageOptions {
    pub(crate) fn target(&self, subject: &ChartInput) -> Target {
        let mut capabilities = Capabilities::default().with_api_versions(&self.api_versions);
        if let Some(version) = &self.kube_version {
            capabilities.kube_version = version.clone();
        }
        let (name, namespace) = (subject.name.clone(), subject.namespace.clone());
        let release = Release { name, namespace, revision: 1, is_upgrade: false };
        // Renderings are compared with each other, so random functions must return the same values each time.
        Target { repeatable: true, ..Target::offline(release, capabilities) }
    }
}

/// The images of a chart.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The chart after dependency processing.
    pub chart: Chart,
    /// The final values.
    pub values: Map<Node>,
    /// Candidates that were found in the values by key names.
    pub detection: Detection,
    /// What rendering proves: the images of objects and the values that they come from; for [`relocate`] also the
    /// overrides.
    pub relocation: Relocation,
    /// Why the chart could not be rendered. Only `detection` is meaningful then.
    pub unrendered: Option<String>,
}

/// Finds the images of a chart and the values that they come from. A chart that does not render is still searched by
/// key names.
///
/// # Errors
/// When the dependencies or the values of the chart are invalid.
pub fn inspect(
    subject: &ChartInput,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
) -> Result<Inspected> {
    let policy = Policy::default();
    analyze(subject, options, reporter, |rendering, relocate_options| {
        match pintle_images::relocate(rendering, &policy, relocate_options) {
            Ok(relocation) => Ok((relocation, None)),
            Err(pintle_images::Error::Render(error)) => Ok((Relocation::default(), Some(error))),
            Err(error) => Err(error.into()),
        }
    })
}

/// Finds value overrides that move the images of a chart as the policy demands, and proves by rendering that they
/// change nothing else.
///
/// # Errors
/// As [`inspect`]; also when the chart does not render, or the policy has no destination for an image.
pub fn relocate(
    subject: &ChartInput,
    policy: &Policy,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
) -> Result<Inspected> {
    analyze(subject, options, reporter, |rendering, relocate_options| {
        Ok((pintle_images::relocate(rendering, policy, relocate_options)?, None))
    })
}

/// Finds the images in the stored objects and hooks of a release that its chart does not render with the values of the
/// release: whatever is said about the images of the chart does not hold for these.
///
/// # Errors
/// When the dependencies or the values of the chart are invalid.
pub fn unaccounted(
    version: &ReleaseVersion,
    chart: &Chart,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
) -> Result<Vec<pintle_images::Field>> {
    let hooks = version.hooks.iter().map(|hook| (hook.path.clone(), hook.manifest.clone().into_bytes()));
    let stored: Vec<(String, Vec<u8>)> =
        [("manifest".to_owned(), version.manifest.clone().into_bytes())].into_iter().chain(hooks).collect();
    let mut fields = pintle_images::fields(&stored);
    let subject = ChartInput {
        chart: chart.clone(),
        user_values: version.config.clone().unwrap_or_default(),
        name: version.name.clone(),
        namespace: version.namespace.clone(),
    };
    let rules =
        PrepareOptions { nulls: options.nulls, schema: SchemaCheck::Skip, ..PrepareOptions::default() };
    // A chart may have other images after an upgrade than after an install, or in another revision.
    for (revision, is_upgrade) in [(1, false), (i64::try_from(version.number).unwrap_or(i64::MAX), true)] {
        if fields.is_empty() {
            break;
        }
        let mut target = options.target(&subject);
        (target.release.revision, target.release.is_upgrade) = (revision, is_upgrade);
        let chart = process(chart.clone(), &subject.user_values, &rules, reporter)?;
        let rendered = Rendering::new(&chart, &subject.user_values, &target, options.nulls)
            .map_err(Error::Render)?
            .render(&Map::new())
            // A chart that does not render accounts for nothing.
            .unwrap_or_default();
        let known: BTreeSet<String> =
            pintle_images::fields(&rendered).into_iter().map(|field| field.image).collect();
        fields.retain(|field| !known.contains(&field.image));
    }
    Ok(fields)
}

fn analyze(
    subject: &ChartInput,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
    analysis: impl FnOnce(&mut Rendering<'_>, &RelocateOptions<'_>) -> Result<(Relocation, Option<String>)>,
) -> Result<Inspected> {
    let (given, nulls) = (&subject.user_values, options.nulls);
    let rules = PrepareOptions { nulls, schema: SchemaCheck::Skip, ..PrepareOptions::default() };
    let chart = process(subject.chart.clone(), given, &rules, reporter)?;
    let values = forward_log(reporter, |log| Ok(pintle_values::coalesce(&chart, given, nulls, log)?))?;
    let scopes = Scopes::new(&subject.chart, &chart);
    let detection = detect(&scopes, given, &values, &options.filter);
    let extra_values = if options.disable_rules { Map::new() } else { required_extra_values(&scopes) };
    let relocate_options =
        RelocateOptions { filter: options.filter.clone(), detection: Some(&detection), extra_values };
    let target = options.target(subject);
    let (relocation, unrendered) = {
        let mut rendering = Rendering::new(&chart, given, &target, nulls).map_err(Error::Render)?;
        analysis(&mut rendering, &relocate_options)?
    };
    Ok(Inspected { chart, values, detection, relocation, unrendered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use pintle_chart::{File, load_files};
    use pintle_images::{Outcome, Source};

    fn subject(template: &str, values: &str) -> ChartInput {
        let files = vec![
            File::new("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            File::new("values.yaml", values.to_owned()),
            File::new("templates/pod.yaml", template.to_owned()),
        ];
        ChartInput { chart: load_files(files).unwrap(), ..ChartInput::default() }
    }

    #[test]
    fn images_are_found_and_moved_by_the_values_they_come_from() {
        let pod = "kind: Pod\nspec: {containers: [{image: '{{ .Values.image }}'}]}\n";
        let subject = subject(pod, "image: nginx:1\n");
        let options = ImageOptions::default();
        let inspected = inspect(&subject, &options, &mut Silent).unwrap();
        assert_eq!(inspected.relocation.images[0].values[0].to_string(), "image");
        assert!(inspected.relocation.overrides.is_empty());
        let policy = Policy {
            sources: Some(vec![Source::parse("docker.io").unwrap()]),
            target: Some(pintle_images::Target::parse("hub.corp").unwrap()),
            ..Policy::default()
        };
        let moved = relocate(&subject, &policy, &options, &mut Silent).unwrap().relocation;
        assert_eq!(moved.images[0].outcome, Outcome::ByValues);
        let text = pintle_yaml::write(&Node::Map(moved.overrides)).unwrap();
        assert_eq!(text, b"image: hub.corp/dockerio/library/nginx:1\n");
    }

    #[test]
    fn a_chart_that_does_not_render_is_looked_at_all_the_same() {
        let subject = subject("{{ fail \"no\" }}", "image: nginx:1\n");
        let inspected = inspect(&subject, &ImageOptions::default(), &mut Silent).unwrap();
        assert!(inspected.unrendered.is_some_and(|error| error.contains("no")));
        assert_eq!(inspected.detection.images.len(), 1);
        assert!(relocate(&subject, &Policy::default(), &ImageOptions::default(), &mut Silent).is_err());
    }
}

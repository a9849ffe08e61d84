//! `images`: which images a chart uses, which values they come from, and values that point them elsewhere.

use std::path::Path;

use pintle_chart::Chart;
use pintle_images::overrides::needed_beside;
use pintle_images::{Detection, PathFilter, Policy, Rendering, Scopes, Wishes, detect};
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::{NullRules, Overrides};

use super::locate;
use crate::prepare::{Rules, process};
use crate::report::with_log;
use crate::{Error, Reporter, Result, input};

pub use pintle_images::Relocation;

/// A chart with the values that a user gave, as it is rendered to look at its images.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The chart as it was loaded.
    pub chart: Chart,
    /// The values that the user gave.
    pub values: Map<Node>,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The Kubernetes version to render for.
    pub kube_version: Option<KubeVersion>,
    /// API versions to assume besides the built-in ones.
    pub api_versions: Vec<String>,
    /// Which generation's rules hold for nulls.
    pub nulls: NullRules,
}

impl Subject {
    /// A chart with values, for a release of which nothing is known.
    pub fn new(chart: Chart, values: Map<Node>) -> Self {
        Subject {
            chart,
            values,
            name: "release-name".to_owned(),
            namespace: "default".to_owned(),
            kube_version: None,
            api_versions: Vec::new(),
            nulls: NullRules::Helm4,
        }
    }

    /// Reads a chart and value flags.
    ///
    /// # Errors
    /// When there is no chart, it cannot be read or installed, or the values cannot be read.
    pub fn read(chart: &Path, values: &Overrides, reporter: &mut dyn Reporter) -> Result<Self> {
        let path = locate::locate(chart)?;
        let values = pintle_values::layer(values, &mut input::read_values)?;
        let chart = locate::load(&path, reporter)?;
        locate::check_installable(&chart, reporter)?;
        Ok(Subject::new(chart, values))
    }

    fn target(&self) -> Target {
        let mut capabilities = Capabilities::default().with_api_versions(&self.api_versions);
        if let Some(version) = &self.kube_version {
            capabilities.kube_version = version.clone();
        }
        let (name, namespace) = (self.name.clone(), self.namespace.clone());
        let mut target =
            Target::offline(Release { name, namespace, revision: 1, is_upgrade: false }, capabilities);
        // What is compared must not differ by chance.
        target.repeatable = true;
        target
    }
}

/// What may be changed, and what is assumed.
#[derive(Clone, Debug, Default)]
pub struct ImageOptions {
    /// Which values may be looked at and changed.
    pub filter: PathFilter,
    /// Whether values that charts need beside the images are left out.
    pub disable_rules: bool,
}

/// What is known about the images of a chart.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The chart after dependency processing.
    pub chart: Chart,
    /// The final values.
    pub values: Map<Node>,
    /// What was found in the values by the names of keys.
    pub detection: Detection,
    /// What rendering proves: the images of objects, with the values that they come from. For [`relocate`] also the
    /// overrides.
    pub relocation: Relocation,
    /// Why the chart could not be rendered. Then nothing is proved, and only `detection` counts.
    pub unrendered: Option<String>,
}

/// Finds the images of a chart and the values that they come from. A chart that cannot be rendered is looked at all the
/// same.
///
/// # Errors
/// When the dependencies or the values of the chart make no sense.
pub fn inspect(subject: &Subject, options: &ImageOptions, reporter: &mut dyn Reporter) -> Result<Inspected> {
    let policy = Policy::default();
    look(subject, options, reporter, |rendering, wishes| {
        match pintle_images::relocate(rendering, &policy, wishes) {
            Ok(relocation) => Ok((relocation, None)),
            Err(pintle_images::Error::Render(error)) => Ok((Relocation::default(), Some(error))),
            Err(error) => Err(error.into()),
        }
    })
}

/// Finds values that point the images of a chart where the policy says, and proves that they change that and nothing
/// else.
///
/// # Errors
/// As [`inspect`]; also when the chart cannot be rendered, or the policy does not know where an image should go.
pub fn relocate(
    subject: &Subject,
    policy: &Policy,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
) -> Result<Inspected> {
    look(subject, options, reporter, |rendering, wishes| {
        Ok((pintle_images::relocate(rendering, policy, wishes)?, None))
    })
}

fn look(
    subject: &Subject,
    options: &ImageOptions,
    reporter: &mut dyn Reporter,
    work: impl FnOnce(&mut Rendering<'_>, &Wishes<'_>) -> Result<(Relocation, Option<String>)>,
) -> Result<Inspected> {
    let rules = Rules {
        nulls: subject.nulls,
        schema: pintle_values::SchemaCheck::Skip,
        subchart_notes: false,
        images: None,
    };
    let chart = process(subject.chart.clone(), &subject.values, &rules, reporter)?;
    let values =
        with_log(reporter, |log| Ok(pintle_values::coalesce(&chart, &subject.values, subject.nulls, log)?))?;
    let scopes = Scopes::of(&subject.chart, &chart);
    let detection = detect(&scopes, &subject.values, &values, &options.filter);
    let beside = if options.disable_rules { Map::new() } else { needed_beside(&scopes) };
    let wishes = Wishes { filter: options.filter.clone(), detection: Some(&detection), beside };
    let target = subject.target();
    let mut rendering =
        Rendering::new(&chart, &subject.values, &target, subject.nulls).map_err(Error::Render)?;
    let (relocation, unrendered) = work(&mut rendering, &wishes)?;
    drop(rendering);
    Ok(Inspected { chart, values, detection, relocation, unrendered })
}

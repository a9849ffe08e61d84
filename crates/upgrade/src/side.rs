//! One of the two charts: its defaults, what its templates read, and how to render it with any values.

use std::cell::Cell;

use pintle_chart::Chart;
use pintle_render::uses::{Segment, Uses, ValueUse, uses};
use pintle_render::{LintMessage, Mode, ParsedTemplates, Target, TemplateCache};
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node, ValuePath};
use pintle_values::{DependencyCache, NullRules};

use crate::error::Error;
use crate::guard;
use crate::value_tree::set_at;

/// A chart, before or after the upgrade.
pub(crate) struct Side<'c> {
    /// The chart as loaded.
    pub(crate) chart: &'c Chart,
    /// The chart with all subcharts enabled.
    pub(crate) all: Chart,
    /// The defaults of the chart and of all its subcharts.
    pub(crate) defaults: Map<Node>,
    /// What the templates of all subcharts read, whether they are enabled or not.
    pub(crate) uses: Uses,
    /// Reads that only check a value: in the notes, or to fail if it is set.
    pub(crate) checks: Vec<ValueUse>,
    /// Values that templates name as text.
    named: Uses,
    dependencies: DependencyCache,
    templates: TemplateCache,
    target: Target,
    nulls: NullRules,
    renders: Cell<usize>,
}

/// Rendered files by path, without notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Render {
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// What `required` and `fail` said.
    pub(crate) messages: Vec<LintMessage>,
    /// The namespace of the release: an object in it may name it or not.
    pub(crate) namespace: String,
}

impl<'c> Side<'c> {
    /// Reads a chart whose dependencies have not been processed. Templates in the user's values are followed like those in
    /// values.yaml.
    pub(crate) fn new(
        chart: &'c Chart,
        user: &Map<Node>,
        target: &Target,
        nulls: NullRules,
    ) -> Result<Self, Error> {
        let target = lenient(target);
        let dependencies = DependencyCache::new(chart.clone(), nulls);
        let enabling = merge(user.clone(), conditions(chart));
        let mut all = pintle_values::process_dependencies(chart.clone(), &enabling, nulls, &mut Vec::new())?;
        let defaults = pintle_values::coalesce(&all, &Map::new(), nulls, &mut Vec::new())?;
        let own = std::mem::take(&mut all.values);
        all.values = merge(own.clone(), user.clone());
        let mut found = uses(&all).map_err(Box::new)?;
        all.values = own;
        let special = guard::take_special(&all, &mut found);
        Ok(Side {
            chart,
            all,
            defaults,
            uses: found,
            checks: special.checks,
            named: Uses { uses: special.named, ..Uses::default() },
            dependencies,
            templates: TemplateCache::new(&target),
            target,
            nulls,
            renders: Cell::new(0),
        })
    }

    /// How often the chart has been rendered.
    pub(crate) fn renders(&self) -> usize {
        self.renders.get()
    }

    /// Renders with a user's values. `required` and `fail` do not stop it.
    pub(crate) fn render(&self, user: &Map<Node>) -> Result<Render, String> {
        self.renders.set(self.renders.get() + 1);
        let text = |error: pintle_values::Error| error.to_string();
        let chart = self.dependencies.process(user, &mut Vec::new()).map_err(text)?;
        let values = pintle_values::coalesce(&chart, user, self.nulls, &mut Vec::new()).map_err(text)?;
        let parsed = ParsedTemplates::select(&chart, &|_| true, &self.templates);
        let rendered = parsed
            .and_then(|parsed| parsed.of(&chart).render(&values, &self.target))
            .map_err(|error| error.to_string())?;
        let files = rendered.files.into_iter().filter(|file| !file.path.ends_with("NOTES.txt"));
        let mut files: Vec<(String, Vec<u8>)> = files.map(|file| (file.path, file.text)).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let namespace = self.target.release.namespace.clone();
        Ok(Render { files, messages: rendered.lint_messages, namespace })
    }

    /// Whether templates read the value at a path, something below it, or something above it as a whole.
    pub(crate) fn reads(&self, path: &ValuePath) -> bool {
        let path = segments(path);
        self.uses.reads(&path) || self.named.reads(&path)
    }

    /// The value at a path by default.
    pub(crate) fn default_at(&self, path: &ValuePath) -> Option<&Node> {
        path.find(&self.defaults)
    }
}

/// A path as the analysis of templates writes it.
pub(crate) fn segments(path: &ValuePath) -> Vec<Segment> {
    let segment = |step: &pintle_tree::Segment| match step {
        pintle_tree::Segment::Key(key) => Segment::Key(key.clone()),
        pintle_tree::Segment::Index(_) => Segment::Any,
    };
    path.segments().iter().map(segment).collect()
}

fn lenient(target: &Target) -> Target {
    let mut lenient = Target::offline(target.release.clone(), target.capabilities.clone());
    lenient.lookup = std::sync::Arc::clone(&target.lookup);
    lenient.limits = target.limits;
    lenient.mode = Mode::Lint;
    lenient.repeatable = true;
    lenient
}

/// The values that enable all subcharts: all conditions and tags.
fn conditions(chart: &Chart) -> Map<Node> {
    let mut values = Map::new();
    add_conditions(chart, &ValuePath::root(), &mut values);
    values
}

fn add_conditions(chart: &Chart, at: &ValuePath, values: &mut Map<Node>) {
    for dependency in &chart.metadata.dependencies {
        for condition in dependency.condition.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let path = condition.split('.').fold(at.clone(), |path, key| path.key(key));
            set_at(values, path.segments(), Node::Bool(true));
        }
        for tag in &dependency.tags {
            set_at(values, ValuePath::root().key("tags").key(tag.as_str()).segments(), Node::Bool(true));
        }
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        if let Some(subchart) = chart.subcharts.iter().find(|subchart| subchart.name() == dependency.name) {
            add_conditions(subchart, &at.key(name.as_str()), values);
        }
    }
}

//! The chart tree as values address it: subcharts by alias, disabled subcharts left out.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str};

use crate::shape::Origin;
use crate::value_path::{Segment, ValuePath};

/// A chart with its enabled subcharts, keyed by the name (or alias) that its values use.
#[derive(Debug)]
pub struct Scopes<'c> {
    /// The chart after dependency processing.
    pub chart: &'c Chart,
    /// The chart as loaded, with its own defaults only.
    loaded: &'c Chart,
    /// The chart path, as in `parent/charts/child`.
    pub chart_path: String,
    subscopes: BTreeMap<Str, Scopes<'c>>,
    disabled: BTreeSet<Str>,
}

impl<'c> Scopes<'c> {
    /// Builds the scopes of `chart`; `loaded` is the same chart before dependency processing.
    pub fn new(loaded: &'c Chart, chart: &'c Chart) -> Self {
        Self::with_parent(loaded, chart, None)
    }

    fn with_parent(loaded: &'c Chart, chart: &'c Chart, parent: Option<&str>) -> Self {
        let chart_path = chart.full_path(parent);
        let mut named: BTreeMap<&str, &str> = BTreeMap::new();
        for dependency in &loaded.metadata.dependencies {
            let alias = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
            named.insert(alias, &dependency.name);
        }
        let subscopes = chart.subcharts.iter().map(|subchart| {
            let original = named.get(subchart.name()).copied().unwrap_or(subchart.name());
            let loaded = loaded.subcharts.iter().find(|loaded| loaded.name() == original);
            (
                Str::from(subchart.name()),
                Self::with_parent(loaded.unwrap_or(subchart), subchart, Some(&chart_path)),
            )
        });
        let subscopes: BTreeMap<Str, Scopes<'c>> = subscopes.collect();
        let disabled = named.keys().map(|name| Str::from(*name)).filter(|name| !subscopes.contains_key(name));
        let disabled = disabled.collect();
        Scopes { chart, loaded, chart_path, subscopes, disabled }
    }

    /// The subchart whose values are under `key`.
    pub fn subscope(&self, key: &Str) -> Option<&Scopes<'c>> {
        self.subscopes.get(key)
    }

    /// Whether the values under `key` belong to a disabled subchart.
    pub fn is_disabled(&self, key: &Str) -> bool {
        self.disabled.contains(key)
    }

    /// All charts of the tree, parents first.
    pub fn charts(&self) -> Vec<&'c Chart> {
        let mut charts = vec![self.chart];
        for subscope in self.subscopes.values() {
            charts.extend(subscope.charts());
        }
        charts
    }

    /// Returns where the value at `path` was set: by the user, or in the topmost chart whose defaults have it.
    pub fn origin(&self, user: &Map<Node>, path: &ValuePath) -> Origin {
        if path.find(user).is_some() {
            return Origin::User;
        }
        self.chart_origin(path.segments()).unwrap_or_else(|| Origin::Chart(self.chart_path.clone()))
    }

    fn chart_origin(&self, segments: &[Segment]) -> Option<Origin> {
        let path = ValuePath::from(segments.to_vec());
        if path.find(&self.loaded.values).is_some() {
            return Some(Origin::Chart(self.chart_path.clone()));
        }
        let (Segment::Key(first), rest) = segments.split_first()? else { return None };
        self.subscope(first)?.chart_origin(rest)
    }
}

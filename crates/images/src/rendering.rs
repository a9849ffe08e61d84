//! A chart that is rendered repeatedly with different overrides, for comparison.

use pintle_chart::Chart;
use pintle_render::{Target, Templates};
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::{NullRules, SchemaCheck};

/// Rendered files by template path, sorted, without NOTES.txt.
pub type Files = Vec<(String, Vec<u8>)>;

/// A chart with everything needed to render it, except the overrides.
pub struct Rendering<'a> {
    chart: &'a Chart,
    templates: Templates<'a>,
    user: &'a Map<Node>,
    target: &'a Target,
    nulls: NullRules,
    renders: usize,
}

impl<'a> Rendering<'a> {
    /// Parses the templates of a chart whose dependencies have been processed with the user's values.
    ///
    /// The target should be [repeatable](Target::repeatable); otherwise random values show up as differences.
    ///
    /// # Errors
    /// When a template does not parse.
    pub fn new(
        chart: &'a Chart,
        user: &'a Map<Node>,
        target: &'a Target,
        nulls: NullRules,
    ) -> Result<Self, Box<pintle_render::Error>> {
        let templates = Templates::parse(chart, target).map_err(Box::new)?;
        Ok(Rendering { chart, templates, user, target, nulls, renders: 0 })
    }

    /// The chart.
    pub fn chart(&self) -> &'a Chart {
        self.chart
    }

    /// How often the chart has been rendered.
    pub fn renders(&self) -> usize {
        self.renders
    }

    /// The coalesced values with overrides merged over the user's.
    ///
    /// # Errors
    /// When the values of a subchart are not a map.
    pub fn values(&self, overrides: &Map<Node>) -> Result<Map<Node>, pintle_values::Error> {
        let user = merge(self.user.clone(), overrides.clone());
        // Dependency processing has already put `import-values` into the parents' defaults.
        pintle_values::coalesce(self.chart, &user, self.nulls, &mut Vec::new())
    }

    /// Validates the coalesced values with these overrides against the schemas.
    ///
    /// # Errors
    /// The schema violations.
    pub fn check(&self, overrides: &Map<Node>) -> Result<(), pintle_values::Error> {
        let user = merge(self.user.clone(), overrides.clone());
        let log = &mut Vec::new();
        let read = &mut |_: &str| Err("files are not read".to_owned());
        pintle_values::render_values(self.chart, &user, self.nulls, SchemaCheck::Check, read, log).map(drop)
    }

    /// Renders with overrides merged over the user's values.
    ///
    /// # Errors
    /// The render error as text.
    pub fn render(&mut self, overrides: &Map<Node>) -> Result<Files, String> {
        let values = self.values(overrides).map_err(|error| error.to_string())?;
        self.render_values(&values)
    }

    /// Renders with coalesced values.
    ///
    /// # Errors
    /// The render error as text.
    pub fn render_values(&mut self, values: &Map<Node>) -> Result<Files, String> {
        self.renders += 1;
        let rendered = self.templates.render(values, self.target).map_err(|error| error.to_string())?;
        // Notes are for people; an image in them is no side effect.
        let files = rendered.files.into_iter().filter(|file| !file.path.ends_with("NOTES.txt"));
        let mut files: Files = files.map(|file| (file.path, file.text)).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(files)
    }
}

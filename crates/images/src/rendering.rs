//! A chart that is rendered again and again with other values, so that the results can be compared.

use pintle_chart::Chart;
use pintle_render::{Target, Templates};
use pintle_tree::merge::merge;
use pintle_tree::{Map, Node};
use pintle_values::{NullRules, SchemaCheck};

/// Rendered files with the paths of their templates, in order of those, notes left out.
pub type Files = Vec<(String, Vec<u8>)>;

/// A chart with everything it takes to render it, but for the overrides.
pub struct Rendering<'a> {
    chart: &'a Chart,
    templates: Templates<'a>,
    user: &'a Map<Node>,
    target: &'a Target,
    nulls: NullRules,
    renders: usize,
}

impl<'a> Rendering<'a> {
    /// Prepares a chart whose dependencies have been processed with the values that the user gave.
    ///
    /// The target should be [repeatable](Target::repeatable), or chance will show up as differences.
    ///
    /// # Errors
    /// A template that cannot be parsed.
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

    /// The final values with some overrides laid over those of the user.
    ///
    /// # Errors
    /// When the values of a subchart are no map.
    pub fn values(&self, overrides: &Map<Node>) -> Result<Map<Node>, pintle_values::Error> {
        let user = merge(self.user.clone(), overrides.clone());
        // What parents import from subcharts is among their defaults by now, whatever the user says.
        pintle_values::coalesce(self.chart, &user, self.nulls, &mut Vec::new())
    }

    /// Whether the final values with these overrides fit the schemas.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, overrides: &Map<Node>) -> Result<(), pintle_values::Error> {
        let user = merge(self.user.clone(), overrides.clone());
        let log = &mut Vec::new();
        let read = &mut |_: &str| Err("files are not read".to_owned());
        pintle_values::render_values(self.chart, &user, self.nulls, SchemaCheck::Check, read, log).map(drop)
    }

    /// Renders with some overrides laid over the values of the user.
    ///
    /// # Errors
    /// What stops the render, in words.
    pub fn render(&mut self, overrides: &Map<Node>) -> Result<Files, String> {
        let values = self.values(overrides).map_err(|error| error.to_string())?;
        self.render_values(&values)
    }

    /// Renders with final values.
    ///
    /// # Errors
    /// What stops the render, in words.
    pub fn render_values(&mut self, values: &Map<Node>) -> Result<Files, String> {
        self.renders += 1;
        let rendered = self.templates.render(values, self.target).map_err(|error| error.to_string())?;
        let files = rendered.files.into_iter().filter(|file| !file.path.ends_with("NOTES.txt"));
        let mut files: Files = files.map(|file| (file.path, file.text)).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(files)
    }
}

//! Where values come from: all sources that set a value, by precedence.
//!
//! [`coalesce`](crate::coalesce) computes the values; this module looks up a path in the same sources, one at a time.

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Segment, Str, ValuePath};
use pintle_yaml::outline::Outline;

use crate::layer::parse;
use crate::{Error, ReadFile, Result, ValuesLayer};

/// The kind of a source of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// values.yaml of the chart.
    ChartDefault,
    /// values.yaml of a chart that contains the subchart whose value it is.
    ParentChart,
    /// values.yaml of the subchart whose value it is.
    SubchartDefault,
    /// A file given with `--values`.
    ValuesFile,
    /// A flag such as `--set`; the name has no dashes.
    Flag(&'static str),
    /// The values that a release was installed with, whose files and flags are not recorded.
    Release,
    /// Values that a program has passed on as a tree.
    Tree,
}

impl Layer {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::ChartDefault => "chart-default",
            Layer::ParentChart => "parent-chart",
            Layer::SubchartDefault => "subchart-default",
            Layer::ValuesFile => "values-file",
            Layer::Flag(name) => name,
            Layer::Release => "release",
            Layer::Tree => "tree",
        }
    }
}

/// A source that sets a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The kind of the source.
    pub layer: Layer,
    /// The file, as in `web/charts/db/values.yaml`, the text of the flag, or the name of the release.
    pub source: String,
    /// The line in the file, counted from one.
    pub line: Option<usize>,
    /// The path in the source, which differs from the value's path for subcharts, globals and imports.
    pub path: ValuePath,
    /// How the value gets to another path.
    pub via: Via,
    /// The value in this source.
    pub value: Node,
}

/// How a value of a source gets to its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// By its path.
    #[default]
    Path,
    /// As a global of a parent chart.
    Global,
    /// By `import-values` from this subchart.
    Import(String),
}

/// The sources of the values of a chart.
pub struct Origins<'a> {
    chart: &'a Chart,
    /// By precedence, lowest first.
    user: Vec<UserSource>,
}

struct UserSource {
    layer: Layer,
    name: String,
    values: Map<Node>,
    text: Vec<u8>,
}

impl UserSource {
    fn new(layer: &ValuesLayer, read: &mut ReadFile<'_>) -> Result<Self> {
        let (kind, name) = match layer {
            ValuesLayer::File(path) => {
                let (name, text) =
                    (path.to_string_lossy().into_owned(), read(path).map_err(Error::Unreadable)?);
                return UserSource::file(name, text);
            }
            ValuesLayer::Bytes { name, content } => return UserSource::file(name.clone(), content.clone()),
            ValuesLayer::Tree(_) => (Layer::Tree, "values"),
            ValuesLayer::SetJson(text) => (Layer::Flag("set-json"), text.as_str()),
            ValuesLayer::Set(text) => (Layer::Flag("set"), text.as_str()),
            ValuesLayer::SetString(text) => (Layer::Flag("set-string"), text.as_str()),
            ValuesLayer::SetFile { text, .. } => (Layer::Flag("set-file"), text.as_str()),
            ValuesLayer::SetLiteral(text) => (Layer::Flag("set-literal"), text.as_str()),
        };
        let mut values = Map::new();
        // Flags that depend on others, or are malformed, are reported when values are merged.
        let _ = layer.merge_into(&mut values, read);
        Ok(UserSource { layer: kind, name: name.to_owned(), values, text: Vec::new() })
    }

    fn file(name: String, text: Vec<u8>) -> Result<Self> {
        let values = parse(&name, &text)?;
        Ok(UserSource { layer: Layer::ValuesFile, name, values, text })
    }
}

/// The key of the values shared by all charts of a tree.
const GLOBAL: &str = "global";
/// How many imports are followed from one value. Imports can be cyclic.
const MAX_IMPORTS: usize = 8;

impl<'a> Origins<'a> {
    /// The sources of a chart whose dependencies have been processed, rendered with layers of values.
    ///
    /// # Errors
    /// As [`layer`](crate::layer).
    pub fn new(chart: &'a Chart, layers: &[ValuesLayer], read: &mut ReadFile<'_>) -> Result<Self> {
        let user = layers.iter().map(|layer| UserSource::new(layer, read)).collect::<Result<_>>()?;
        Ok(Origins { chart, user })
    }

    /// The sources of a release: its recorded chart, and the values that the user set.
    pub fn of_release(chart: &'a Chart, release: &str, config: &Map<Node>) -> Self {
        let source = UserSource {
            layer: Layer::Release,
            name: release.to_owned(),
            values: config.clone(),
            text: Vec::new(),
        };
        Origins { chart, user: vec![source] }
    }

    /// All sources that set the value at `path`, highest precedence first. A null removes what is below it.
    pub fn of(&self, path: &ValuePath) -> Vec<Origin> {
        let segments = path.segments();
        let mut found = Vec::new();
        let global = self.global_depth(segments).unwrap_or(0);
        // Globals of outer charts win, so the outermost is collected first.
        for depth in 0..global {
            let above = [&segments[..depth], &segments[global..]].concat();
            self.collect(&above, Via::Global, &mut found);
        }
        self.collect(segments, Via::Path, &mut found);
        found
    }

    /// The number of subcharts before `global` in a path.
    fn global_depth(&self, segments: &[Segment]) -> Option<usize> {
        let mut chart = self.chart;
        for (depth, segment) in segments.iter().enumerate() {
            let Segment::Key(key) = segment else { return None };
            if *key == GLOBAL {
                return Some(depth);
            }
            chart = subchart(chart, key)?;
        }
        None
    }

    fn collect(&self, segments: &[Segment], via: Via, found: &mut Vec<Origin>) {
        let path = ValuePath::from(segments.to_vec());
        for source in self.user.iter().rev() {
            if let Some(value) = path.find(&source.values) {
                found.push(Origin {
                    layer: source.layer,
                    source: source.name.clone(),
                    line: line_of(&source.text, &path),
                    path: path.clone(),
                    via: via.clone(),
                    value: value.clone(),
                });
            }
        }
        let root = ChartNode { chart: self.chart, folder: self.chart.name().to_owned(), depth: 0 };
        root.collect(segments, &via, MAX_IMPORTS, found);
    }
}

/// A chart of the tree.
struct ChartNode<'c> {
    chart: &'c Chart,
    /// Its path, as in `web/charts/db`.
    folder: String,
    depth: usize,
}

impl ChartNode<'_> {
    /// Adds the defaults of this chart and of its subcharts, parents first, as they take precedence.
    fn collect(&self, segments: &[Segment], via: &Via, imports: usize, found: &mut Vec<Origin>) {
        let inside = match segments.first() {
            Some(Segment::Key(key)) if segments.len() > 1 => subchart(self.chart, key),
            _ => None,
        };
        let layer = match (self.depth, inside) {
            (_, Some(_)) => Layer::ParentChart,
            (0, None) => Layer::ChartDefault,
            (_, None) => Layer::SubchartDefault,
        };
        found.extend(self.default(segments, layer, via));
        if imports > 0 {
            self.collect_imports(segments, imports - 1, found);
        }
        if let Some(chart) = inside {
            let folder = format!("{}/charts/{}", self.folder, chart.name());
            ChartNode { chart, folder, depth: self.depth + 1 }.collect(&segments[1..], via, imports, found);
        }
    }

    /// What values.yaml sets.
    fn default(&self, segments: &[Segment], layer: Layer, via: &Via) -> Option<Origin> {
        let path = ValuePath::from(segments.to_vec());
        let source = format!("{}/values.yaml", self.folder);
        let origin = |value: &Node, line| Origin {
            layer,
            source: source.clone(),
            line,
            path: path.clone(),
            via: via.clone(),
            value: value.clone(),
        };
        // Processing the dependencies adds values to those of the file, so the file is read again.
        match self.chart.values_text() {
            Some(text) => {
                let values = pintle_yaml::read_values(text).ok()?;
                path.find(&values).map(|value| origin(value, line_of(text, &path)))
            }
            None => path.find(&self.chart.values).map(|value| origin(value, None)),
        }
    }

    /// What `import-values` brings to this path.
    fn collect_imports(&self, segments: &[Segment], imports: usize, found: &mut Vec<Origin>) {
        for dependency in &self.chart.metadata.dependencies {
            for import in &dependency.import_values {
                let Node::Map(pair) = import else { continue };
                let text = |key: &str| pair.get(key).and_then(Node::as_str);
                let (Some(child), Some(parent)) = (text("child"), text("parent")) else { continue };
                let target = keys(if parent == "." { "" } else { parent });
                if !segments.starts_with(&target) || segments.len() == target.len() {
                    continue;
                }
                let own = [Segment::Key(dependency.name.as_str().into())];
                let source = [&own[..], &keys(child), &segments[target.len()..]].concat();
                let via = Via::Import(dependency.name.clone());
                self.collect(&source, &via, imports, found);
            }
        }
    }
}

fn keys(path: &str) -> Vec<Segment> {
    path.split('.').filter(|key| !key.is_empty()).map(|key| Segment::Key(key.into())).collect()
}

fn subchart<'c>(chart: &'c Chart, name: &Str) -> Option<&'c Chart> {
    chart.subcharts.iter().find(|subchart| *name == subchart.name())
}

/// The line of a value in a text.
fn line_of(text: &[u8], path: &ValuePath) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    Outline::read_first(text).ok()?.line_of(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;
    use pintle_chart::metadata::Dependency;

    fn chart(name: &str, values: &str, subcharts: Vec<Chart>) -> Chart {
        let mut chart = Chart::default();
        chart.metadata.name = name.to_owned();
        chart.metadata.version = "1.0.0".to_owned();
        chart.values = pintle_yaml::read_values(values.as_bytes()).expect("values");
        chart.raw.push(File::new("values.yaml", values));
        chart.subcharts = subcharts;
        chart
    }

    /// Each source of a value as `layer source:line path`.
    fn origins(chart: &Chart, layers: &[ValuesLayer], path: &str) -> Vec<String> {
        let files = |path: &std::path::Path| match path.to_str() {
            Some("a.yaml") => Ok(b"# first\nimage:\n  tag: '2'\ndb: {size: 3}\n".to_vec()),
            _ => Ok(b"image: {tag: '3'}\n".to_vec()),
        };
        let origins = Origins::new(chart, layers, &mut { files }).expect("sources");
        let shown = |origin: Origin| {
            let line = origin.line.map(|line| format!(":{line}")).unwrap_or_default();
            let via = match origin.via {
                Via::Path => String::new(),
                Via::Global => " global".to_owned(),
                Via::Import(chart) => format!(" from {chart}"),
            };
            format!("{} {}{line} {}{via}", origin.layer.name(), origin.source, origin.path)
        };
        origins.of(&path.parse().expect("a path")).into_iter().map(shown).collect()
    }

    #[test]
    fn flags_come_before_files_and_files_before_defaults() {
        let chart = chart("web", "image:\n  name: web\n  tag: '1'\n", vec![]);
        let layers = [
            ValuesLayer::File("a.yaml".into()),
            ValuesLayer::File("b.yaml".into()),
            ValuesLayer::Set("image.tag=4,x=1".to_owned()),
        ];
        let wanted = [
            "set image.tag=4,x=1 image.tag",
            "values-file b.yaml:1 image.tag",
            "values-file a.yaml:3 image.tag",
            "chart-default web/values.yaml:3 image.tag",
        ];
        assert_eq!(origins(&chart, &layers, "image.tag"), wanted);
        assert_eq!(origins(&chart, &layers, "image.name"), ["chart-default web/values.yaml:2 image.name"]);
        assert!(origins(&chart, &layers, "image.no").is_empty());
    }

    #[test]
    fn values_of_subcharts_come_from_parents_first() {
        let db = chart("db", "size: 1\nglobal:\n  zone: c\n", vec![]);
        let web = chart("web", "db:\n  size: 2\n  global: {zone: b}\nglobal:\n  zone: a\n", vec![db]);
        let layers = [ValuesLayer::File("a.yaml".into())];
        let wanted = [
            "values-file a.yaml:4 db.size",
            "parent-chart web/values.yaml:2 db.size",
            "subchart-default web/charts/db/values.yaml:1 size",
        ];
        assert_eq!(origins(&web, &layers, "db.size"), wanted);
        let wanted = [
            "chart-default web/values.yaml:5 global.zone global",
            "parent-chart web/values.yaml:3 db.global.zone",
            "subchart-default web/charts/db/values.yaml:3 global.zone",
        ];
        assert_eq!(origins(&web, &layers, "db.global.zone"), wanted);
    }

    #[test]
    fn imported_values_name_the_subchart() {
        let db = chart("db", "exports:\n  data:\n    port: 1\n", vec![]);
        let mut web = chart("web", "a: 1\n", vec![db]);
        let pair = [("child".into(), Node::from("exports.data")), ("parent".into(), Node::from("."))];
        web.metadata.dependencies.push(Dependency {
            name: "db".to_owned(),
            import_values: vec![Node::Map(pair.into_iter().collect())],
            ..Dependency::default()
        });
        let wanted = ["subchart-default web/charts/db/values.yaml:3 exports.data.port from db"];
        assert_eq!(origins(&web, &[], "port"), wanted);
    }
}

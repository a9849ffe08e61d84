//! `values --explain`: where values come from, who reads them, and what a rendered line came from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use pintle_chart::Chart;
use pintle_events::Event;
use pintle_objects::{Order, Sorted};
#[cfg(feature = "cluster")]
use pintle_release::ReleaseVersion;
#[cfg(feature = "cluster")]
use pintle_render::{Capabilities, Release};
use pintle_render::{LineExplanation, Reads, RenderTrace, RenderedFile, Target, TemplateLine, Templates};
use pintle_tree::{Map, Node, ValuePath};
use pintle_values::{Origin, Origins, ValuesLayer};
use pintle_yaml::outline::Outline;

use super::locate;
use super::template::TemplateRequest;
use crate::lifecycle::context;
use crate::prepare::{self, push_document};
use crate::report::forward_log;
use crate::{Error, OfflineSession, Reporter, Result, input, unread};

/// A value and its sources.
#[derive(Clone, Debug)]
pub struct ExplainedValue {
    /// The path from the root chart.
    pub path: ValuePath,
    /// The value that templates see.
    pub value: Node,
    /// The source that set it; `None` if no source has this value, as after a script changed it.
    pub origin: Option<Origin>,
    /// The other sources that set it, highest precedence first.
    pub overridden: Vec<Origin>,
    /// The template lines that read it, the maps that contain it, or parts of it.
    pub readers: Vec<ValueReader>,
}

/// A template line that reads a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueReader {
    /// The line.
    pub at: TemplateLine,
    /// The path that it reads: the value, a map that contains it, or a part of it.
    pub path: ValuePath,
}

/// A line of the rendered chart.
#[derive(Clone, Debug)]
pub struct ExplainedLine {
    /// The rendered file.
    pub file: String,
    /// The line in it, as `template --show-only` prints it, counted from one.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The template lines, from the rendered file to the definition that wrote the text.
    pub templates: Vec<TemplateLine>,
    /// The values that were read to write it.
    pub values: Vec<ExplainedValue>,
    /// Other fields that were read, such as `.Release.Name`.
    pub fields: Vec<String>,
    /// The blocks around it, outermost first.
    pub conditions: Vec<ExplainedCondition>,
}

/// An object or hook of the rendered chart, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedDocument {
    /// The rendered file.
    pub file: String,
    /// The line of its first line as [`Explanation::explain_line`] counts them.
    pub line: usize,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// An `if`, `with` or `range` around a line.
#[derive(Clone, Debug)]
pub struct ExplainedCondition {
    /// Where it begins.
    pub at: TemplateLine,
    /// The values that it depends on.
    pub values: Vec<ExplainedValue>,
    /// Other fields that it depends on.
    pub fields: Vec<String>,
}

/// Selects a line of the rendered chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedLine {
    /// A line of what `template --show-only` prints for a template.
    Line {
        /// The template, with or without its chart's name.
        file: String,
        /// The line, counted from one.
        line: usize,
    },
    /// A field of an object.
    Field {
        /// The kind.
        kind: String,
        /// The name.
        name: String,
        /// The field.
        path: ValuePath,
    },
}

impl FromStr for RenderedLine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad =
            |reason: &str| Error::Input(format!("{text}: {reason}; it may be FILE:LINE or KIND/NAME:PATH"));
        // At the first colon, because keys in a path may have one.
        let (first, last) = text.split_once(':').ok_or_else(|| bad("there is no colon"))?;
        if let Ok(line) = last.parse() {
            return Ok(RenderedLine::Line { file: first.to_owned(), line });
        }
        let (kind, name) = first.split_once('/').ok_or_else(|| bad("the object has no name"))?;
        let path = last.parse().map_err(|reason: String| bad(&reason))?;
        Ok(RenderedLine::Field { kind: kind.to_owned(), name: name.to_owned(), path })
    }
}

impl fmt::Display for RenderedLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderedLine::Line { file, line } => write!(formatter, "{file}:{line}"),
            RenderedLine::Field { kind, name, path } => write!(formatter, "{kind}/{name}:{path}"),
        }
    }
}

/// A chart or release whose values can be explained.
pub struct Explanation {
    chart: Chart,
    values: Map<Node>,
    sources: Sources,
    render: Option<Render>,
    /// Why templates could not be rendered, so that readers are not known.
    pub problem: Option<String>,
}

/// Where values that are not defaults come from.
enum Sources {
    Layers(Vec<ValuesLayer>),
    #[cfg(feature = "cluster")]
    Release {
        name: String,
        config: Map<Node>,
    },
}

struct Render {
    trace: RenderTrace,
    /// By path, without notes.
    files: Vec<(String, Vec<u8>)>,
    reads: BTreeMap<ValuePath, BTreeSet<TemplateLine>>,
}

/// Renders a chart to explain its values.
///
/// # Errors
/// As [`template`](super::template). A chart whose templates fail is explained without readers.
pub async fn explain_chart(
    session: &OfflineSession,
    request: &TemplateRequest,
    reporter: &mut dyn Reporter,
) -> Result<Explanation> {
    let request = &*request.fetched(reporter).await?;
    let (chart, user) = locate::load_with_values(&request.chart, &request.values, reporter)?;
    let rules = request.render_options().rules(&session.schemas);
    let chart = prepare::process(chart, &user, &rules, reporter)?;
    let events = session.events.with_scripts_of(&chart, &[Event::ChartLoaded, Event::PreRender])?;
    let target = request.target();
    let capabilities = context::capability_info(&target.capabilities);
    let (mut chart, user) =
        forward_log(reporter, |log| prepare::emit_chart_loaded(chart, user, capabilities, &events, log))?;
    let (values, _) = prepare::final_values(&mut chart, &user, &target, &rules, &events, reporter)?;
    events.report(reporter);
    if !rules.unread.is_empty() {
        unread::report(&chart, &user, &rules.unread, reporter);
    }
    let sources = Sources::Layers(request.values.clone());
    Ok(Explanation::new(chart, values, sources, &target))
}

/// Renders the recorded chart of a release to explain its values. Records have no templates of subcharts, no lines of
/// values.yaml, and not the names of files that values came from.
///
/// # Errors
/// When the values cannot be merged.
#[cfg(feature = "cluster")]
pub fn explain_release(version: &ReleaseVersion, reporter: &mut dyn Reporter) -> Result<Explanation> {
    let values = forward_log(reporter, |log| super::computed_values(version, log))?;
    let release = Release {
        name: version.name.clone(),
        namespace: version.namespace.clone(),
        revision: i64::try_from(version.number).unwrap_or(i64::MAX),
        is_upgrade: version.number > 1,
    };
    let target = Target::offline(release, Capabilities::default());
    let config = version.config.clone().unwrap_or_default();
    let sources = Sources::Release { name: version.name.clone(), config };
    Ok(Explanation::new(version.chart.to_chart(), values, sources, &target))
}

impl Explanation {
    fn new(chart: Chart, values: Map<Node>, sources: Sources, target: &Target) -> Self {
        let (render, problem) = match render(&chart, &values, target) {
            Ok(render) => (Some(render), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Explanation { chart, values, sources, render, problem }
    }

    /// The values that templates see.
    pub fn values(&self) -> &Map<Node> {
        &self.values
    }

    /// Explains the value at a path, or all values below it.
    ///
    /// # Errors
    /// When there is no such value, or a source cannot be read.
    pub fn explain(&self, path: &ValuePath) -> Result<Vec<ExplainedValue>> {
        let origins = self.origins()?;
        let top = Node::Map(self.values.clone());
        let node = match path.segments().is_empty() {
            true => Some(&top),
            false => path.find(&self.values),
        };
        let node = node.ok_or_else(|| self.no_value(path))?;
        let mut found = Vec::new();
        self.explain_node(&origins, path, node, &mut found);
        Ok(found)
    }

    /// The chart, after its dependencies were processed.
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// The text of a rendered file, which need not be valid YAML; `None` if templates failed or there is no such file.
    pub fn rendered(&self, file: &str) -> Option<&[u8]> {
        let files = &self.render.as_ref()?.files;
        files.iter().find(|(path, _)| path == file).map(|(_, text)| text.as_slice())
    }

    /// The rendered files, by path; none if templates failed.
    pub fn rendered_files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.render.iter().flat_map(|render| &render.files);
        files.map(|(path, text)| (path.as_str(), text.as_slice()))
    }

    /// The template lines that wrote a line of a rendered file, and the values that they read. Unlike with
    /// [`Explanation::explain_line`], the file need not be valid YAML.
    pub fn explain_text_line(
        &self,
        file: &str,
        line: usize,
    ) -> Option<(Vec<TemplateLine>, Vec<ExplainedValue>)> {
        let explained = self.render.as_ref()?.trace.line(file, line)?;
        let origins = self.origins().ok()?;
        let (values, _) = self.explain_reads(&origins, explained.reads);
        Some((explained.templates, values))
    }

    fn no_value(&self, path: &ValuePath) -> Error {
        let chart = self.chart.name();
        let known: Vec<String> = self.values.keys().map(|key| key.to_string()).collect();
        let text = path.to_string();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let similar = pintle_tree::suggest::suggest(&text, &known);
        let hint = similar.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        Error::Input(format!("chart {chart} has no value {text}{hint}"))
    }

    fn origins(&self) -> Result<Origins<'_>> {
        Ok(match &self.sources {
            Sources::Layers(layers) => Origins::new(&self.chart, layers, &mut input::read_values)?,
            #[cfg(feature = "cluster")]
            Sources::Release { name, config } => Origins::of_release(&self.chart, name, config),
        })
    }

    fn explain_node(
        &self,
        origins: &Origins<'_>,
        path: &ValuePath,
        node: &Node,
        found: &mut Vec<ExplainedValue>,
    ) {
        match node {
            Node::Map(map) if !map.is_empty() => {
                for (key, node) in map.iter() {
                    self.explain_node(origins, &path.key(key.clone()), node, found);
                }
            }
            Node::List(items) if !items.is_empty() => {
                // Sources replace lists as a whole, except for flags that set single items.
                let explained = self.explain_leaf(origins, path, node);
                if explained.origin.is_some() {
                    return found.push(explained);
                }
                for (index, node) in items.iter().enumerate() {
                    self.explain_node(origins, &path.index(index), node, found);
                }
            }
            _ => found.push(self.explain_leaf(origins, path, node)),
        }
    }

    fn explain_leaf(&self, origins: &Origins<'_>, path: &ValuePath, node: &Node) -> ExplainedValue {
        let mut sources = origins.of(path);
        // By value: after a script has changed it, no source is its origin.
        let chosen = sources.iter().position(|origin| origin.value == *node);
        let origin = chosen.map(|index| sources.remove(index));
        ExplainedValue {
            path: path.clone(),
            value: node.clone(),
            origin,
            overridden: sources,
            readers: self.readers(path),
        }
    }

    fn readers(&self, path: &ValuePath) -> Vec<ValueReader> {
        let Some(render) = &self.render else { return Vec::new() };
        let reads = render.reads.iter();
        // In both directions: `toYaml .Values.resources` reads all that is below, and `.Values.a.b` is a part of `a`.
        let related = reads.filter(|(read, _)| path.is_within(read) || read.is_within(path));
        let mut readers: Vec<ValueReader> = related
            .flat_map(|(read, lines)| {
                lines.iter().map(|at| ValueReader { at: at.clone(), path: read.clone() })
            })
            .collect();
        readers.sort();
        readers
    }

    /// Explains a line of the rendered chart.
    ///
    /// # Errors
    /// When there is no such line, or the templates fail.
    pub fn explain_line(&self, wanted: &RenderedLine) -> Result<ExplainedLine> {
        let render = self.render.as_ref().ok_or_else(|| {
            Error::Input(self.problem.clone().unwrap_or_else(|| "the chart was not rendered".to_owned()))
        })?;
        let sorted = self.sorted(render)?;
        let found = render.find(self.chart.name(), wanted, &sorted)?;
        let explained = render.trace.line(&found.file, found.file_line).unwrap_or_default();
        let LineExplanation { templates, reads, conditions } = explained;
        let origins = self.origins()?;
        let conditions = conditions.into_iter().map(|(at, reads)| {
            let (values, fields) = self.explain_reads(&origins, reads);
            ExplainedCondition { at, values, fields }
        });
        let conditions = conditions.collect();
        let (values, fields) = self.explain_reads(&origins, reads);
        let FoundLine { file, line, text, .. } = found;
        Ok(ExplainedLine { file, line, text, templates, values, fields, conditions })
    }

    /// The objects and hooks whose lines can be explained; none if the templates failed.
    ///
    /// # Errors
    /// When the rendered files are no valid YAML.
    pub fn documents(&self) -> Result<Vec<ExplainedDocument>> {
        let Some(render) = &self.render else { return Ok(Vec::new()) };
        let sorted = self.sorted(render)?;
        let mut printed: BTreeMap<&str, usize> = BTreeMap::new();
        let found = documents(&sorted);
        let explained = found.iter().map(|document| {
            let before = printed.entry(document.path).or_default();
            let line = *before + HEADER + 1;
            let mut text = Vec::new();
            push_document(&mut text, document.path, document.content);
            *before += memchr::memchr_iter(b'\n', &text).count();
            ExplainedDocument {
                file: document.path.to_owned(),
                line,
                kind: document.kind.clone(),
                name: document.name.clone(),
                text: String::from_utf8_lossy(document.content).into_owned(),
            }
        });
        Ok(explained.collect())
    }

    /// The lines of a document that a value has reached, counted as in [`ExplainedDocument`]: those whose templates read the
    /// value, a map that contains it, or a part of it.
    pub fn lines_of(&self, document: &ExplainedDocument, value: &ValuePath) -> Vec<usize> {
        let Some(render) = &self.render else { return Vec::new() };
        let Some(text) = self.rendered(&document.file) else { return Vec::new() };
        let text = String::from_utf8_lossy(text);
        // A file may have the same text twice; the first one counts.
        let Some(start) = text.find(document.text.trim_end()) else { return Vec::new() };
        let first = text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
        let reads = |line: &usize| {
            let explained = render.trace.line(&document.file, first + line);
            explained.is_some_and(|explained| {
                explained.reads.values.iter().any(|read| value.is_within(read) || read.is_within(value))
            })
        };
        let lines = 0..document.text.trim_end().split('\n').count();
        lines.filter(reads).map(|line| document.line + line).collect()
    }

    fn sorted<'r>(&self, render: &'r Render) -> Result<Sorted<'r>> {
        pintle_objects::sort(&render.files, Order::Install)
            .map_err(|source| Error::Objects { cause: Box::new(source), rendered: Vec::new() })
    }

    /// What was read; a map is one value here.
    fn explain_reads(&self, origins: &Origins<'_>, reads: Reads) -> (Vec<ExplainedValue>, Vec<String>) {
        let values = reads.values.iter().map(|path| {
            let node = path.find(&self.values).unwrap_or(&Node::Nil);
            self.explain_leaf(origins, path, node)
        });
        (values.collect(), reads.fields.into_iter().collect())
    }
}

fn render(chart: &Chart, values: &Map<Node>, target: &Target) -> Result<Render> {
    let templates = Templates::parse(chart, target).map_err(Box::new)?;
    let (rendered, trace) = templates.render_explained(values, target).map_err(Box::new)?;
    let is_notes = |file: &RenderedFile| file.path.ends_with("NOTES.txt");
    let files = rendered.files.into_iter().filter(|file| !is_notes(file));
    let mut files: Vec<(String, Vec<u8>)> = files.map(|file| (file.path, file.text)).collect();
    // The order in which `template` prints depends on the order of files for objects of the same kind.
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let reads = trace.reads();
    Ok(Render { trace, files, reads })
}

/// A line of a rendered file.
struct FoundLine {
    file: String,
    /// The line as it is printed.
    line: usize,
    /// The line in the rendered file, which has no headers and may have more documents.
    file_line: usize,
    text: String,
}

/// The lines before the content of a printed document: `---` and `# Source:`.
const HEADER: usize = 2;

impl Render {
    fn find(&self, chart: &str, wanted: &RenderedLine, sorted: &Sorted<'_>) -> Result<FoundLine> {
        let documents = documents(sorted);
        match wanted {
            RenderedLine::Line { file, line } => {
                let full = format!("{chart}/{file}");
                let of_file = |path: &str| path == file || path == full;
                let mut before = 0;
                let mut found = false;
                for document in documents.iter().filter(|document| of_file(document.path)) {
                    found = true;
                    let mut printed = Vec::new();
                    push_document(&mut printed, document.path, document.content);
                    let lines = memchr::memchr_iter(b'\n', &printed).count();
                    if (before + HEADER + 1..=before + lines).contains(line) {
                        return self.found_line(document, line - before - HEADER, *line);
                    }
                    before += lines;
                }
                Err(match found {
                    false => Error::NoSuchTemplate { pattern: file.clone() },
                    true => Error::Input(format!(
                        "line {line} of {file} is not part of an object; it has {before} lines, headers included"
                    )),
                })
            }
            RenderedLine::Field { kind, name, path } => {
                let mut printed: BTreeMap<&str, usize> = BTreeMap::new();
                for document in &documents {
                    let before = printed.entry(document.path).or_default();
                    if document.kind.eq_ignore_ascii_case(kind) && document.name == *name {
                        let outline = Outline::read_first(document.content)
                            .map_err(|error| Error::Input(error.to_string()))?;
                        let line = outline
                            .line_of(path)
                            .ok_or_else(|| Error::Input(format!("{kind} {name} has no field {path}")))?;
                        return self.found_line(document, line, *before + HEADER + line);
                    }
                    *before += HEADER + 1 + memchr::memchr_iter(b'\n', document.content).count();
                }
                Err(Error::Input(format!("the chart renders no {kind} named {name}")))
            }
        }
    }

    /// A line of a document, as a line of its file.
    fn found_line(&self, document: &Document<'_>, line_in_document: usize, line: usize) -> Result<FoundLine> {
        let text = self.files.iter().find(|(path, _)| path == document.path).map(|(_, text)| text.as_slice());
        let text = text.unwrap_or_default();
        // Documents are slices of the file.
        let start = document.content.as_ptr().addr().saturating_sub(text.as_ptr().addr()).min(text.len());
        let before = memchr::memchr_iter(b'\n', &text[..start]).count();
        let content = document.content.split(|byte| *byte == b'\n').nth(line_in_document - 1);
        Ok(FoundLine {
            file: document.path.to_owned(),
            line,
            file_line: before + line_in_document,
            text: String::from_utf8_lossy(content.unwrap_or_default()).into_owned(),
        })
    }
}

/// A rendered document.
struct Document<'s> {
    path: &'s str,
    content: &'s [u8],
    kind: String,
    name: String,
}

/// Objects in the order in which they are printed, then hooks.
fn documents<'s>(sorted: &'s Sorted<'_>) -> Vec<Document<'s>> {
    let objects = sorted.manifests.iter().map(|manifest| Document {
        path: manifest.path,
        content: manifest.content,
        kind: manifest.head.kind.to_string(),
        name: manifest.head.metadata.as_ref().map(|metadata| metadata.name.to_string()).unwrap_or_default(),
    });
    let hooks = sorted.hooks.iter().map(|hook| Document {
        path: hook.path,
        content: hook.manifest,
        kind: hook.kind.to_string(),
        name: hook.name.to_string(),
    });
    objects.chain(hooks).collect()
}

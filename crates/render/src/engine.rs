//! The engine: parses all templates of a chart tree into one set and renders them in Helm's order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pintle_chart::{Chart, File, library};
use pintle_gotmpl::trace::{Coverage, Origin, Region, Trace};
use pintle_gotmpl::{Exec, MapRef, MapType, Set, SourceCache, Value};
use pintle_tree::{Map, Node, Str, json};

use crate::builtins::{self, LintMessage, State, remove_no_value};
use crate::context::{Scope, scopes};
use crate::explain::{KnownMaps, RenderTrace};
use crate::values_methods::VALUES;
use crate::{Error, Target};

/// A rendered template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFile {
    /// The template path including its chart, as in `root/charts/sub/templates/x.yaml`.
    pub path: String,
    /// The text.
    pub text: Vec<u8>,
}

/// The result of rendering a chart.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The files in rendering order, notes included.
    pub files: Vec<RenderedFile>,
    /// Messages of lint mode.
    pub lint_messages: Vec<LintMessage>,
    /// The values as the templates left them, if [`Target::keep_values`] is set.
    pub values: Option<Map<Node>>,
    /// The origins of the lines of each file, in the order of the files, if a trace records them.
    pub origins: Vec<Vec<Option<Origin>>>,
}

/// A template as far as it could be rendered.
#[derive(Debug)]
pub struct PartialFile {
    /// What it wrote until it ended or failed.
    pub file: RenderedFile,
    /// Why it failed.
    pub error: Option<Error>,
}

/// Renders a chart whose dependencies have been processed, with its coalesced values.
///
/// # Errors
/// The first template that does not parse or fails, with Helm's text and the location.
pub fn render(chart: &Chart, values: &Map<Node>, target: &Target) -> Result<Rendered, Error> {
    Templates::parse(chart, target)?.render(values, target)
}

/// The parsed templates of a chart, for repeated rendering.
pub struct Templates<'a> {
    chart: &'a Chart,
    parsed: ParsedTemplates,
}

/// Parsed templates without their chart. Clones share them.
#[derive(Clone)]
pub struct ParsedTemplates {
    set: Rc<Set>,
    /// In rendering order, partials included.
    templates: Rc<Vec<Template>>,
}

impl ParsedTemplates {
    /// Parses those templates of a chart whose path is selected, by the sources in `cache`. The dependencies of the
    /// chart have been processed. Library charts that the tree requests are always there.
    ///
    /// # Errors
    /// The first template that does not parse.
    pub fn select(
        chart: &Chart,
        selected: &dyn Fn(&str) -> bool,
        cache: &TemplateCache,
    ) -> Result<Self, Error> {
        let charts = charts(chart);
        let mut sources = ordered_templates(&charts);
        sources.retain(|(template, _)| selected(&template.path));
        let set = cache.set(chart, &sources)?;
        Ok(ParsedTemplates::new(set, sources))
    }

    fn new(set: Rc<Set>, sources: Vec<(Template, &File)>) -> Self {
        ParsedTemplates {
            set,
            templates: Rc::new(sources.into_iter().map(|(template, _)| template).collect()),
        }
    }

    /// The templates with their chart, or with one that differs from it in its metadata and values only.
    pub fn of(self, chart: &Chart) -> Templates<'_> {
        Templates { chart, parsed: self }
    }
}

impl<'a> Templates<'a> {
    /// Parses the templates of a chart whose dependencies have been processed. The target's mode, DNS and
    /// repeatability settings apply to all renders.
    ///
    /// # Errors
    /// The first template that does not parse.
    pub fn parse(chart: &'a Chart, target: &Target) -> Result<Self, Error> {
        let charts = charts(chart);
        let sources = ordered_templates(&charts);
        let mut set = Set::new(builtins::functions(target)).with_values_methods(VALUES);
        parse_libraries(chart, &mut set)?;
        let texts: Vec<(Str, Str)> = sources
            .iter()
            .map(|(template, file)| (template.path.as_str().into(), file.data.text()))
            .collect();
        set.parse_all(&texts).map_err(|(index, error)| Error::parse(&sources[index].0.path, error))?;
        Ok(ParsedTemplates::new(Rc::new(set), sources).of(chart))
    }

    /// The templates that are rendered, by the index of their chart in [`charts`].
    pub(crate) fn rendered(&self, chart: usize) -> impl Iterator<Item = &str> {
        let templates = self.parsed.templates.iter().filter(move |template| template.scope == chart);
        templates.map(|template| template.path.as_str()).filter(|path| !is_partial(path))
    }

    pub(crate) fn set(&self) -> &Set {
        &self.parsed.set
    }

    /// Renders the chart with coalesced values.
    ///
    /// # Errors
    /// The first template that fails.
    pub fn render(&self, values: &Map<Node>, target: &Target) -> Result<Rendered, Error> {
        let mut trace = target.trace_origins.then(Trace::of_origins);
        self.render_with(&scopes(self.chart, values, target), target, trace.as_mut())
    }

    /// Like [`Templates::render`], and records what happens, also up to an error.
    ///
    /// # Errors
    /// The first template that fails.
    pub fn render_traced(
        &self,
        values: &Map<Node>,
        target: &Target,
        trace: &mut Trace,
    ) -> Result<Rendered, Error> {
        self.render_with(&scopes(self.chart, values, target), target, Some(trace))
    }

    /// Like [`Templates::render`], and records what explains its output.
    ///
    /// # Errors
    /// The first template that fails.
    pub fn render_explained(
        &self,
        values: &Map<Node>,
        target: &Target,
    ) -> Result<(Rendered, RenderTrace), Error> {
        let scopes = scopes(self.chart, values, target);
        let maps = KnownMaps::of(&scopes);
        let mut trace = Trace::of_events();
        let rendered = self.render_with(&scopes, target, Some(&mut trace))?;
        let explained = RenderTrace::new(trace, &rendered.files, maps);
        Ok((rendered, explained))
    }

    /// Like [`Templates::render_explained`], and goes on after a template has failed, as editors need it.
    pub fn preview(&self, values: &Map<Node>, target: &Target) -> (Vec<PartialFile>, RenderTrace) {
        let scopes = scopes(self.chart, values, target);
        let maps = KnownMaps::of(&scopes);
        let mut trace = Trace::of_preview();
        let state = Rc::new(State::new(target));
        let mut exec = Exec::new(&self.parsed.set, target.limits).with_host(&state).with_trace(&mut trace);
        let mut files = Vec::new();
        for template in self.parsed.templates.iter().filter(|template| !is_partial(&template.path)) {
            if let Some(trace) = exec.trace() {
                trace.begin();
            }
            let (file, error) = template.render_partly(&scopes[template.scope], &mut exec);
            if let Some(trace) = exec.trace() {
                match &error {
                    Some(_) => trace.end_failed(&file.text),
                    None => drop(trace.end(&file.text)),
                }
            }
            files.push(PartialFile { file, error });
        }
        drop(exec);
        let rendered: Vec<RenderedFile> = files.iter().map(|partial| partial.file.clone()).collect();
        let explained = RenderTrace::new(trace, &rendered, maps);
        (files, explained)
    }

    /// The parts of all templates with what a trace has recorded about them, by the path of the template. Partials
    /// count with their definitions only.
    pub fn regions(&self, coverage: &Coverage) -> Map<Vec<Region>> {
        coverage.regions(&self.parsed.set, &|path| !is_partial(path))
    }

    fn render_with(
        &self,
        scopes: &[Scope],
        target: &Target,
        mut trace: Option<&mut Trace>,
    ) -> Result<Rendered, Error> {
        let state = Rc::new(State::new(target));
        if let (Some(trace), Some(root)) = (&mut trace, scopes.last())
            && let Some(Value::Map(values)) = root.root.get("Values")
        {
            trace.watch(&values);
        }
        let mut exec = Exec::new(&self.parsed.set, target.limits).with_host(&state);
        if let Some(trace) = trace {
            exec = exec.with_trace(trace);
        }
        let mut rendered = Rendered::default();
        for template in self.parsed.templates.iter().filter(|template| !is_partial(&template.path)) {
            if let Some(trace) = exec.trace() {
                trace.begin();
            }
            let mut file = template.render(&scopes[template.scope], &mut exec)?;
            if let Some(trace) = exec.trace() {
                // Before `<no value>` is removed: the trace counts bytes of the text as written.
                rendered.origins.push(trace.end(&file.text));
            }
            // Helm drops "<no value>" after rendering (`pkg/engine`); charts rely on it.
            if !target.show_missing
                && let Some(clean) = remove_no_value(&file.text)
            {
                file.text = clean;
            }
            // The capacity was a guess, and a large chart keeps hundreds of files.
            file.text.shrink_to_fit();
            rendered.files.push(file);
        }
        rendered.lint_messages = state.lint_messages.take();
        if target.keep_values {
            rendered.values = scopes.last().and_then(|root| final_values(&root.root));
        }
        Ok(rendered)
    }
}

/// Parsed templates for many renders of charts that share their files. It belongs to one thread.
pub struct TemplateCache {
    sources: SourceCache,
    sets: RefCell<BTreeMap<SetKey, Rc<Set>>>,
}

/// The templates of a set, by their paths and the addresses of their texts.
type SetKey = Vec<(String, usize)>;

/// The number of different sets that are kept.
const MAX_SETS: usize = 64;

impl TemplateCache {
    /// Returns an empty cache. The target's mode, DNS and repeatability settings apply to all renders.
    pub fn new(target: &Target) -> Self {
        TemplateCache { sources: SourceCache::new(builtins::functions(target)), sets: RefCell::default() }
    }

    fn set(&self, chart: &Chart, sources: &[(Template, &File)]) -> Result<Rc<Set>, Error> {
        let texts: Vec<Str> = sources.iter().map(|(_, file)| file.data.text()).collect();
        // Texts of shared files have the same address, which is much cheaper to compare. The source cache
        // keeps them alive, so an address is not reused.
        let address = |text: &Str| text.as_bytes().as_ptr().addr();
        let key: SetKey = sources
            .iter()
            .zip(&texts)
            .map(|((template, _), text)| (template.path.clone(), address(text)))
            .collect();
        let libraries = library::resolve(chart).map_err(Error::Libraries)?;
        // The key does not contain the library charts, so a chart with some does not use the cache.
        if libraries.is_empty()
            && let Some(set) = self.sets.borrow().get(&key)
        {
            return Ok(Rc::clone(set));
        }
        let mut set = self.sources.set().with_values_methods(VALUES);
        parse_libraries(chart, &mut set)?;
        for ((template, _), text) in sources.iter().zip(&texts) {
            set.add_cached(&template.path.as_str().into(), text, &self.sources)
                .map_err(|error| Error::parse(&template.path, error))?;
        }
        let set = Rc::new(set);
        let mut sets = self.sets.borrow_mut();
        // Dropping all is enough: the number of sets is small unless every render selects differently.
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.insert(key, Rc::clone(&set));
        Ok(set)
    }
}

/// The charts of a tree with their paths, in the order of [`scopes`].
pub(crate) fn charts(chart: &Chart) -> Vec<(&Chart, String)> {
    let mut charts = Vec::new();
    collect(chart, chart.name().to_owned(), &mut charts);
    charts
}

fn collect<'a>(chart: &'a Chart, path: String, into: &mut Vec<(&'a Chart, String)>) {
    for child in &chart.subcharts {
        collect(child, format!("{path}/charts/{}", child.name()), into);
    }
    into.push((chart, path));
}

/// The current values of the root chart; `None` if templates stored something in them that is not data.
fn final_values(root: &MapRef) -> Option<Map<Node>> {
    let values = root.get("Values")?;
    // First, because encoding a map that contains itself would not end.
    pintle_gotmpl::encode_check(&values).ok()?;
    let text = json::write(&values).ok()?;
    json::read_map(&text).ok()
}

/// A template to render.
struct Template {
    path: String,
    /// The length of its text.
    length: usize,
    /// The index of the chart's scope.
    scope: usize,
}

impl Template {
    fn render(&self, scope: &Scope, exec: &mut Exec<'_>) -> Result<RenderedFile, Error> {
        match self.render_partly(scope, exec) {
            (file, None) => Ok(file),
            (_, Some(error)) => Err(error),
        }
    }

    fn render_partly(&self, scope: &Scope, exec: &mut Exec<'_>) -> (RenderedFile, Option<Error>) {
        let location = [("BasePath", format!("{}/templates", scope.path)), ("Name", self.path.clone())];
        let location = location.into_iter().map(|(name, path)| (name.into(), Value::from(path))).collect();
        scope.root.insert("Template".into(), Value::Map(MapRef::of(MapType::Values, location)));
        // Rendered text is mostly the template's own text.
        let mut text = Vec::with_capacity(self.length);
        let root = Value::Map(scope.root.retyped(MapType::Values));
        let error = exec.execute(&self.path, &root, &mut text).map_err(Error::exec).err();
        (RenderedFile { path: self.path.clone(), text }, error)
    }
}

/// Whether a template is a partial, whose base name starts with an underscore; it is not rendered itself.
fn is_partial(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|base| base.starts_with('_'))
}

/// All templates in the order of parsing and rendering: deepest first, and by descending name within a depth, so that
/// definitions of parents and of files that sort first win (Helm's `sortTemplates`).
fn ordered_templates<'a>(charts: &[(&'a Chart, String)]) -> Vec<(Template, &'a File)> {
    let mut templates: Vec<(usize, Template, &File)> = Vec::new();
    for (scope, (chart, path)) in charts.iter().enumerate() {
        let files = chart.templates.iter();
        // Only partials of library charts are used.
        let files = files.filter(|file| !chart.is_library() || is_partial(&file.name));
        templates.extend(files.map(|file| {
            let path = format!("{path}/{}", file.name);
            let depth = path.bytes().filter(|byte| *byte == b'/').count();
            (depth, Template { path, length: file.data.len(), scope }, file)
        }));
    }
    templates.sort_by(|(depth_a, a, _), (depth_b, b, _)| (depth_b, &b.path).cmp(&(depth_a, &a.path)));
    templates.into_iter().map(|(_, template, file)| (template, file)).collect()
}

/// Adds the definitions of the library charts that the tree requests, with the lowest precedence.
fn parse_libraries(chart: &Chart, set: &mut Set) -> Result<(), Error> {
    for chosen in library::resolve(chart).map_err(Error::Libraries)? {
        for file in library::templates(chosen) {
            let path = format!("{}/library/{}/{}", chart.name(), chosen.name(), file.name);
            set.parse(path.as_str(), file.data.text()).map_err(|error| Error::parse(&path, error))?;
        }
    }
    Ok(())
}

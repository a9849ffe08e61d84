//! The engine: all templates of a chart tree, parsed into one set and rendered in Helm's order.

use std::cmp::Reverse;
use std::rc::Rc;

use pintle_chart::{Chart, File, library};
use pintle_gotmpl::{Exec, MapRef, MapType, Set, Value};
use pintle_tree::{Map, Node, Str, json};

use crate::builtins::{self, LintMessage, State, remove_no_value};
use crate::context::{Scope, scopes};
use crate::values_methods::VALUES;
use crate::{Error, Target};

/// A file that a template became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFile {
    /// The path of the template with that of its chart, as in `root/charts/sub/templates/x.yaml`.
    pub path: String,
    /// The text.
    pub text: Vec<u8>,
}

/// What a chart rendered to.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The files in the order in which they were rendered, notes included.
    pub files: Vec<RenderedFile>,
    /// What templates had to say in lint mode.
    pub lint_messages: Vec<LintMessage>,
    /// The values as the templates left them, where [`Target::keep_values`] asks for them.
    pub values: Option<Map<Node>>,
}

/// Renders a chart whose dependencies have been processed, with its final values.
///
/// # Errors
/// The first template that cannot be parsed or that fails, with Helm's text and the place.
pub fn render(chart: &Chart, values: &Map<Node>, target: &Target) -> Result<Rendered, Error> {
    Templates::parse(chart, target)?.render(values, target)
}

/// The parsed templates of a chart, for rendering it more than once.
pub struct Templates<'a> {
    chart: &'a Chart,
    set: Set,
    /// In the order of rendering, partials included.
    templates: Vec<Template<'a>>,
}

impl<'a> Templates<'a> {
    /// Parses the templates of a chart whose dependencies have been processed. What the target says about modes, name
    /// service and repeatability holds for all renders.
    ///
    /// # Errors
    /// The first template that cannot be parsed.
    pub fn parse(chart: &'a Chart, target: &Target) -> Result<Self, Error> {
        let mut charts = Vec::new();
        collect(chart, chart.name().to_owned(), &mut charts);
        let templates = ordered_templates(&charts);
        let mut set = Set::new(builtins::functions(target)).with_values_methods(VALUES);
        parse_libraries(chart, &mut set)?;
        let sources: Vec<(Str, Str)> = templates
            .iter()
            .map(|template| (template.path.as_str().into(), template.file.data.text()))
            .collect();
        set.parse_all(&sources).map_err(|(index, error)| Error::parse(&templates[index].path, error))?;
        Ok(Templates { chart, set, templates })
    }

    /// Renders the chart with final values.
    ///
    /// # Errors
    /// The first template that fails.
    pub fn render(&self, values: &Map<Node>, target: &Target) -> Result<Rendered, Error> {
        let scopes = scopes(self.chart, values, target);
        let state = Rc::new(State::new(target));
        let mut exec = Exec::new(&self.set, target.limits).with_host(&state);
        let mut rendered = Rendered::default();
        for template in self.templates.iter().filter(|template| !is_partial(&template.path)) {
            let mut file = template.render(&scopes[template.scope], &mut exec)?;
            // What has no value prints as `<no value>`; charts rely on it not being there.
            if !target.show_missing
                && let Some(clean) = remove_no_value(&file.text)
            {
                file.text = clean;
            }
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

/// The charts of a tree with their paths, in the order of [`scopes`].
fn collect<'a>(chart: &'a Chart, path: String, into: &mut Vec<(&'a Chart, String)>) {
    for child in &chart.subcharts {
        collect(child, format!("{path}/charts/{}", child.name()), into);
    }
    into.push((chart, path));
}

/// The values of the root chart as they are now; `None` when templates made something of them that is no data.
fn final_values(root: &MapRef) -> Option<Map<Node>> {
    let values = root.get("Values")?;
    pintle_gotmpl::encode_check(&values).ok()?;
    let text = json::write(&values).ok()?;
    json::read_map(&text).ok()
}

/// A template on its way.
struct Template<'a> {
    path: String,
    file: &'a File,
    /// The number of the chart among the scopes.
    scope: usize,
}

impl Template<'_> {
    fn render(&self, scope: &Scope, exec: &mut Exec<'_>) -> Result<RenderedFile, Error> {
        let place = [("BasePath", format!("{}/templates", scope.path)), ("Name", self.path.clone())];
        let place = place.into_iter().map(|(name, path)| (name.into(), Value::from(path))).collect();
        scope.root.insert("Template".into(), Value::Map(MapRef::of(MapType::Values, place)));
        // Rendered text is mostly the template's own text.
        let mut text = Vec::with_capacity(self.file.data.len());
        let root = Value::Map(scope.root.retyped(MapType::Values));
        exec.execute(&self.path, &root, &mut text).map_err(Error::exec)?;
        Ok(RenderedFile { path: self.path.clone(), text })
    }
}

/// The base name of a partial begins with an underscore; it only lends its definitions.
fn is_partial(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|base| base.starts_with('_'))
}

/// All templates in the order of parsing and rendering: deepest first, and backwards by name within a depth, so that
/// definitions of parents and of files that sort first win.
fn ordered_templates<'a>(charts: &[(&'a Chart, String)]) -> Vec<Template<'a>> {
    let mut templates: Vec<Template<'_>> = Vec::new();
    for (scope, (chart, path)) in charts.iter().enumerate() {
        let files = chart.templates.iter();
        // Of a library chart only partials count.
        let files = files.filter(|file| !chart.is_library() || is_partial(&file.name));
        templates.extend(files.map(|file| Template { path: format!("{path}/{}", file.name), file, scope }));
    }
    templates
        .sort_by_cached_key(|template| Reverse((template.path.matches('/').count(), template.path.clone())));
    templates
}

/// Adds the definitions of the library charts that the tree asks for, below everything else.
fn parse_libraries(chart: &Chart, set: &mut Set) -> Result<(), Error> {
    for chosen in library::resolve(chart).map_err(Error::Libraries)? {
        for file in library::templates(chosen) {
            let path = format!("{}/library/{}/{}", chart.name(), chosen.name(), file.name);
            set.parse(path.as_str(), file.data.text()).map_err(|error| Error::parse(&path, error))?;
        }
    }
    Ok(())
}

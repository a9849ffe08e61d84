//! The first half of the flow: chart → values → render → objects. Every operation that needs objects comes here, and
//! so do those that take a chart elsewhere, because the lifecycle events of a chart fire from here.

use std::borrow::Cow;
use std::sync::Arc;

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_events::{Context, Event};
use pintle_images::Policy;
use pintle_lua::Permissions;
use pintle_objects::{Manifest, Order, Sorted};
use pintle_render::{Rendered, RenderedFile, Target};
use pintle_semver::{Constraint, Version};
use pintle_tree::{LogLine, Map, Node};
use pintle_values::{NullRules, SchemaCheck};

use crate::lifecycle::discarded::{self, ValuesSnapshot};
use crate::lifecycle::objects::Documents;
use crate::lifecycle::{Lifecycle, context, sources};
use crate::lint::{Findings, Severity};
use crate::report::forward_log;
use crate::{Error, RecordObjects, Reporter, Result, input, lint};

/// How values and schemas are treated, and where images are taken from.
#[derive(Clone, Debug, Default)]
pub struct PrepareOptions {
    /// Which generation's rules hold for nulls.
    pub nulls: NullRules,
    /// Whether schemas are looked at.
    pub schema: SchemaCheck,
    /// Whether the notes of subcharts count.
    pub subchart_notes: bool,
    /// Where images go that rendered objects name.
    pub images: Option<Arc<Policy>>,
    /// What becomes of objects that look like records of releases.
    pub record_objects: RecordObjects,
}

/// A chart on its way to the cluster: processed, with final values and rendered files.
pub struct Prepared {
    /// The chart after dependency processing.
    pub chart: Chart,
    /// The values that the user gave.
    pub user: Map<Node>,
    /// The rendered files without notes, in order of their paths. A file that handlers have changed is there once for
    /// each of its documents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The text of NOTES.txt.
    pub notes: Vec<u8>,
    /// What handlers of later events are told, but for the objects; nothing but the final values when there are no
    /// handlers.
    pub(crate) context: Context,
    /// Whether handlers had the values for changing them, so that they are not what the chart and the user gave.
    values_changed: bool,
    /// Who is told of events: the program's handlers and those of the chart's scripts.
    events: Lifecycle,
    /// Where images go that rendered objects name.
    images: Option<Arc<Policy>>,
    /// What becomes of objects that look like records of releases.
    pub(crate) record_objects: RecordObjects,
}

impl Prepared {
    /// The final values.
    pub fn values(&self) -> &Map<Node> {
        self.context.all_values()
    }

    /// The final values, if the chart and the values that the user gave do not tell them.
    pub(crate) fn changed_values(&self) -> Option<&Map<Node>> {
        self.values_changed.then(|| self.values())
    }

    /// The objects and hooks of the rendered files.
    ///
    /// # Errors
    /// When a document is not YAML or no object; the error brings the rendered text along.
    pub fn objects(&self) -> Result<Sorted<'_>> {
        pintle_objects::sort(&self.files, Order::Install)
            .map_err(|source| Error::Objects { source: Box::new(source), rendered: join_files(&self.files) })
    }

    /// Tells an event about the objects, and takes them back where handlers may change them.
    ///
    /// # Errors
    /// When a document is no object, or a handler fails.
    pub(crate) fn emit(&mut self, event: Event) -> Result<()> {
        if !self.events.listens(event) {
            return Ok(());
        }
        let documents = Documents::from_files(&self.files);
        if !documents.are_plain() {
            self.objects()?;
        }
        // Values can be large, and nobody may change them any more, so that they are lent instead of copied.
        let mut context = std::mem::take(&mut self.context).with_objects(documents.objects());
        let outcome = self.events.emit(event, &mut context);
        let objects = context.take_objects();
        self.context = context;
        outcome?;
        if let Some(mut files) = documents.with_changes(objects, event, self.chart.name())? {
            files.sort_by(|a, b| a.0.cmp(&b.0));
            self.files = files;
            self.rewrite_images()?;
        }
        Ok(())
    }

    /// Whether the scripts of the chart may have handlers for lists.
    pub(crate) fn listens_to_list_events(&self) -> bool {
        self.events.listens_to_list_events()
    }

    /// What the scripts of the chart may do.
    pub(crate) fn granted(&self) -> &Permissions {
        self.events.granted()
    }

    /// Points images at other registries, if that is wanted: those of hooks, too, and whoever put them there.
    fn rewrite_images(&mut self) -> Result<()> {
        let Some(policy) = &self.images else { return Ok(()) };
        for (_, text) in &mut self.files {
            let moved = match pintle_images::rewrite(text, policy) {
                Ok((Cow::Owned(moved), _)) => Some(moved),
                Ok((Cow::Borrowed(_), _)) => None,
                // What is no YAML is told about where objects are read.
                Err(pintle_images::Error::Rewrite { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(moved) = moved {
                *text = moved;
            }
        }
        Ok(())
    }
}

/// The text in place of a Secret that must not be seen.
const HIDDEN: &[u8] = b"# HIDDEN: The Secret output has been suppressed";

/// What a document shows: itself, unless it is a Secret that must not be seen.
pub(crate) fn displayed_content<'a>(manifest: &'a Manifest<'_>, hide_secrets: bool) -> &'a [u8] {
    let hidden = hide_secrets && manifest.head.kind == "Secret" && manifest.head.api_version == "v1";
    if hidden { HIDDEN } else { manifest.content }
}

/// Adds a document to a manifest, under the name of its source.
pub(crate) fn push_document(text: &mut Vec<u8>, path: &str, content: &[u8]) {
    text.extend_from_slice(b"---\n# Source: ");
    text.extend_from_slice(path.as_bytes());
    text.push(b'\n');
    text.extend_from_slice(content);
    text.push(b'\n');
}

/// Takes a emit_chart_loaded chart and the user's values all the way to rendered files.
///
/// # Errors
/// The first stage that fails.
pub fn prepare(
    chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: PrepareOptions,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let chart = process(chart, &user, &rules, reporter)?;
    let outcome = events.with_scripts_of(&chart).and_then(|events| {
        let (chart, user) = forward_log(reporter, |log| emit_chart_loaded(chart, user, &events, log))?;
        finish(chart, user, target, rules, &events, reporter)
    });
    events.report(reporter);
    outcome
}

/// Settles which subcharts take part.
///
/// # Errors
/// When a dependency's description makes no sense.
pub(crate) fn process(
    chart: Chart,
    user: &Map<Node>,
    rules: &PrepareOptions,
    reporter: &mut dyn Reporter,
) -> Result<Chart> {
    forward_log(reporter, |log| {
        pintle_values::process_dependencies(chart, user, rules.nulls, log).map_err(Error::Dependencies)
    })
}

/// Tells that a chart is emit_chart_loaded, once it is settled which subcharts take part and by which names. Handlers may change
/// the files and the values that the user gave.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_chart_loaded(
    mut chart: Chart,
    user: Map<Node>,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<(Chart, Map<Node>)> {
    let event = Event::ChartLoaded;
    if !events.listens(event) {
        return Ok((chart, user));
    }
    let watched = ValuesSnapshot::new(&chart, &user);
    let mut context = context::for_chart(&chart, user);
    events.emit(event, &mut context)?;
    sources::apply_file_changes(&mut chart, &mut context, event)?;
    let user = context.take_values();
    log.extend(watched.late_condition_changes(&user, event));
    Ok((chart, user))
}

/// Tells an event at which there is no chart yet.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_without_chart(event: Event, events: &Lifecycle) -> Result<()> {
    if events.listens(event) { events.emit(event, &mut Context::default()) } else { Ok(()) }
}

/// Tells an event around fetching the charts that a chart needs. Gives those that handlers want instead, if they do.
///
/// # Errors
/// When a handler fails, or wants other charts for a subchart, whose charts are not fetched.
pub(crate) fn emit_dependencies(
    chart: &Chart,
    event: Event,
    events: &Lifecycle,
) -> Result<Option<Vec<Dependency>>> {
    let events = events.with_scripts_of(chart)?;
    if !events.listens(event) {
        return Ok(None);
    }
    let mut context = context::for_chart(chart, chart.values.clone());
    let before: Vec<_> = context.all_charts().iter().map(|part| part.dependencies.clone()).collect();
    events.emit(event, &mut context)?;
    let mut after: Vec<_> = context.take_charts().into_iter().map(|part| part.dependencies).collect();
    if after == before {
        return Ok(None);
    }
    // The topmost chart is the first.
    if after.get(1..) != before.get(1..) {
        return Err(Error::Input(format!(
            "a handler of `{event}` changes the dependencies of a subchart; only those of the topmost chart are built"
        )));
    }
    let wanted = if after.is_empty() { Vec::new() } else { after.swap_remove(0) };
    Ok(Some(sources::dependencies(chart, wanted)))
}

/// Tells an event about a chart at rest, whose values are its defaults. Handlers may change the files and the defaults.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_for_chart(chart: &mut Chart, event: Event, events: &Lifecycle) -> Result<()> {
    if !events.listens(event) {
        return Ok(());
    }
    let mut context = context::for_chart(chart, chart.values.clone());
    events.emit(event, &mut context)?;
    sources::apply_file_changes(chart, &mut context, event)?;
    let values = context.take_values();
    if values == chart.values { Ok(()) } else { sources::set_defaults(chart, values, event) }
}

/// Takes a processed chart to rendered files. What the cluster can do may be found out in between, because a chart's
/// custom resource definitions come first.
///
/// # Errors
/// The first stage that fails.
pub(crate) fn finish(
    mut chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: PrepareOptions,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let mut values = forward_log(reporter, |log| {
        let read = &mut input::read_referenced;
        Ok(pintle_values::render_values(&chart, &user, rules.nulls, rules.schema, read, log)?)
    })?;
    check_kubernetes(&chart, target)?;
    let mut values_changed = false;
    if events.listens(Event::PreRender) {
        forward_log(reporter, |log| {
            (values, values_changed) =
                before_rendering(&mut chart, std::mem::take(&mut values), target, rules.schema, events, log)?;
            Ok(())
        })?;
    }
    let mut rendered = pintle_render::render(&chart, &values, target).map_err(Box::new)?;
    let notes = pintle_render::notes(&mut rendered, chart.name(), rules.subchart_notes);
    let mut files: Vec<(String, Vec<u8>)> =
        rendered.files.into_iter().map(|file| (file.path, file.text)).collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let context = match events.is_empty() {
        true => Context::default().with_values(values),
        false => context::for_render(&chart, values, target),
    };
    let (events, images, record_objects) = (events.clone(), rules.images, rules.record_objects);
    let mut prepared =
        Prepared { chart, user, files, notes, context, values_changed, events, images, record_objects };
    prepared.emit(Event::PostRender)?;
    prepared.rewrite_images()?;
    Ok(prepared)
}

/// Tells that rendering comes next. Handlers may change the values, which must fit the schemas again afterwards, and
/// the files of the chart. Tells whether they had the values for changing them.
fn before_rendering(
    chart: &mut Chart,
    values: Map<Node>,
    target: &Target,
    check: SchemaCheck,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<(Map<Node>, bool)> {
    let event = Event::PreRender;
    let watched = ValuesSnapshot::new(chart, &values);
    // Values can be large: they are lent to the handlers, and come back.
    let mut context = context::for_render(chart, values, target);
    events.emit(event, &mut context)?;
    sources::apply_file_changes(chart, &mut context, event)?;
    let values = context.take_values();
    if !context.values_changed() {
        return Ok((values, false));
    }
    log.extend(watched.late_condition_changes(&values, event));
    let globals = watched.changed_globals(&values);
    let shared = sources::share_globals(chart, values)?;
    log.extend(discarded::lost_globals(&globals, &shared, event));
    let changed = Node::Map(shared);
    if check == SchemaCheck::Check {
        pintle_values::schema::check(chart, &changed, &mut input::read_referenced, log)?;
    }
    match changed {
        Node::Map(changed) => Ok((changed, true)),
        _ => Ok((Map::new(), true)),
    }
}

fn check_kubernetes(chart: &Chart, target: &Target) -> Result<()> {
    let wanted = &chart.metadata.kube_version;
    let kubernetes = &target.capabilities.kube_version;
    if wanted.is_empty() || is_compatible(wanted, &kubernetes.normalized) {
        return Ok(());
    }
    Err(Error::IncompatibleKubernetes { wanted: wanted.clone(), version: kubernetes.version.clone() })
}

/// Whether a version is in a range; a range or version that cannot be read is never met.
fn is_compatible(range: &str, version: &str) -> bool {
    match (Constraint::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

/// All rendered files as one text, for looking at what is not YAML.
fn join_files(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, content) in files {
        if !content.trim_ascii().is_empty() {
            text.extend_from_slice(format!("---\n# Source: {path}\n").as_bytes());
            text.extend_from_slice(content);
            text.push(b'\n');
        }
    }
    text
}

/// The same way for lint, which notes problems instead of stopping and keeps silent about dependencies.
pub(crate) fn render_for_lint(
    chart: Chart,
    options: &lint::Options,
    target: &Target,
    events: &Lifecycle,
    findings: &mut Findings,
) -> Option<Rendered> {
    let nulls = NullRules::Helm4;
    let chart = pintle_values::process_dependencies(chart, &options.values, nulls, &mut findings.log).ok()?;
    let events = &add_finding_on_error(events.with_scripts_of(&chart), findings)?;
    let mut log = Vec::new();
    let told = emit_chart_loaded(chart, options.values.clone(), events, &mut log);
    findings.log.extend(log);
    let (chart, user) = add_finding_on_error(told, findings)?;
    // Helm merges twice here; the second time changes nothing but repeats the warnings.
    let once = pintle_values::coalesce(&chart, &user, nulls, &mut findings.log).ok()?;
    let schema = if options.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check };
    let outcome = finish_for_lint(chart, &once, target, schema, events, &mut findings.log);
    add_finding_on_error(outcome, findings)
}

/// The outcome of a stage, or a finding that says why there is none.
fn add_finding_on_error<T>(outcome: Result<T>, findings: &mut Findings) -> Option<T> {
    let note = |error: Error| {
        let (severity, path, text) = (Severity::Error, "templates/".to_owned(), error.to_string());
        findings.messages.push(lint::Message { severity, path, text });
    };
    outcome.map_err(note).ok()
}

fn finish_for_lint(
    mut chart: Chart,
    user: &Map<Node>,
    target: &Target,
    schema: SchemaCheck,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<Rendered> {
    let read = &mut input::read_referenced;
    let mut values = pintle_values::render_values(&chart, user, NullRules::Helm4, schema, read, log)?;
    if events.listens(Event::PreRender) {
        (values, _) = before_rendering(&mut chart, values, target, schema, events, log)?;
    }
    let rendered = pintle_render::render(&chart, &values, target).map_err(Box::new)?;
    if events.listens(Event::PostRender) || events.listens(Event::PreLint) {
        return emit_lint(chart, values, rendered, target, events);
    }
    Ok(rendered)
}

/// Tells the events that lint has after rendering. When something is no object there is nothing to tell, and the rules
/// of lint will say what is wrong.
fn emit_lint(
    chart: Chart,
    values: Map<Node>,
    mut rendered: Rendered,
    target: &Target,
    events: &Lifecycle,
) -> Result<Rendered> {
    let (notes, files): (Vec<RenderedFile>, Vec<RenderedFile>) =
        rendered.files.into_iter().partition(|file| file.path.ends_with("NOTES.txt"));
    let files = files.into_iter().map(|file| (file.path, file.text)).collect();
    let context = context::for_render(&chart, values, target);
    let mut prepared = Prepared {
        chart,
        user: Map::new(),
        files,
        notes: Vec::new(),
        context,
        values_changed: false,
        events: events.clone(),
        images: None,
        record_objects: RecordObjects::Allow,
    };
    if prepared.objects().is_ok() {
        prepared.emit(Event::PostRender)?;
        prepared.emit(Event::PreLint)?;
    }
    rendered.files = notes;
    for (path, text) in prepared.files {
        // Lint looks at one text for each template.
        match rendered.files.last_mut().filter(|file| file.path == path) {
            Some(file) => {
                file.text.extend_from_slice(b"\n---\n");
                file.text.extend_from_slice(&text);
            }
            None => rendered.files.push(RenderedFile { path, text }),
        }
    }
    Ok(rendered)
}

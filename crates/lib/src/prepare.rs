//! The first half of the flow: chart → values → render → objects. Every operation that needs rendered objects runs
//! it. `create`, `package` and `dependency` use parts of it, because all events about a chart are emitted here.

#[cfg(feature = "images")]
use std::borrow::Cow;
use std::sync::Arc;

use pintle_chart::Chart;
use pintle_chart::metadata::Dependency;
use pintle_events::{CapabilityInfo, Context, Event};
#[cfg(feature = "images")]
use pintle_images::Policy;
use pintle_objects::{Manifest, Order, Sorted};
use pintle_render::{Rendered, RenderedFile, Target};
use pintle_semver::{Constraint, Version};
use pintle_tree::{LogLine, Map, Node};
use pintle_values::{NullRules, SchemaCheck, ValuesLayer};

use crate::lifecycle::discarded::{self, ValuesSnapshot};
use crate::lifecycle::objects::Documents;
use crate::lifecycle::{Lifecycle, context, sources};
use crate::lint::{Findings, Severity};
use crate::origins::Origins;
use crate::post_render::{self, PostRenderOptions};
use crate::report::forward_log;
use crate::{Error, RecordObjects, Reporter, Result, SchemaLoader, lint, unread};

/// How values, schemas, notes and images are treated while a chart is rendered.
#[derive(Clone, Debug, Default)]
pub struct PrepareOptions {
    /// Whether nulls in values follow the rules of Helm 3 or Helm 4.
    pub nulls: NullRules,
    /// Whether values are validated against `values.schema.json`.
    pub schema: SchemaCheck,
    /// Loads the schemas that it refers to.
    pub schemas: SchemaLoader,
    /// Appends the notes of subcharts to those of the chart.
    pub subchart_notes: bool,
    /// Rewrites the images of rendered objects to other registries.
    #[cfg(feature = "images")]
    pub images: Option<Arc<Policy>>,
    /// Whether charts may contain objects that a release store would mistake for its own records.
    pub record_objects: RecordObjects,
    /// Programs that change the rendered objects.
    pub post_render: PostRenderOptions,
    /// The layers of the user's values, to warn of those that no template reads; empty to check nothing.
    pub unread: Arc<[ValuesLayer]>,
}

/// A rendered chart: processed dependencies, final values and rendered files.
pub struct Prepared {
    /// The chart after dependency processing.
    pub chart: Chart,
    /// The values that the user supplied.
    pub user: Map<Node>,
    /// The rendered files without notes, sorted by path. A file that handlers have changed occurs once per document.
    pub files: Vec<(String, Vec<u8>)>,
    /// The rendered NOTES.txt.
    pub notes: Vec<u8>,
    /// Where the lines of rendered files come from, if the target asks for it.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only checks read it"))]
    pub(crate) origins: Origins,
    /// The context for handlers of later events, without the objects. Contains only the final values when no event
    /// has handlers, because building the rest is expensive.
    pub(crate) context: Context,
    /// Whether handlers borrowed the values mutably, so that the final values cannot be computed from the chart and
    /// the user's values again.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "only releases record it"))]
    values_changed: bool,
    /// The handlers of the program and of the chart's scripts.
    events: Lifecycle,
    /// Rewrites the images of rendered objects to other registries.
    #[cfg(feature = "images")]
    images: Option<Arc<Policy>>,
    /// Whether the chart may contain objects that look like release records.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "only releases record it"))]
    pub(crate) record_objects: RecordObjects,
}

impl Prepared {
    /// Returns the final values.
    pub fn values(&self) -> &Map<Node> {
        self.context.all_values()
    }

    /// Returns the final values if they cannot be computed from the chart and the user's values again.
    #[cfg(feature = "cluster")]
    pub(crate) fn changed_values(&self) -> Option<&Map<Node>> {
        self.values_changed.then(|| self.values())
    }

    /// Parses and sorts the objects and hooks of the rendered files.
    ///
    /// # Errors
    /// When a document is not YAML or not an object. The error contains the rendered text for `--debug`.
    pub fn objects(&self) -> Result<Sorted<'_>> {
        pintle_objects::sort(&self.files, Order::Install)
            .map_err(|source| Error::Objects { cause: Box::new(source), rendered: join_files(&self.files) })
    }

    /// Emits an event about the objects, and applies what handlers changed.
    ///
    /// # Errors
    /// When a document is not an object, or a handler fails.
    pub(crate) fn emit(&mut self, event: Event) -> Result<()> {
        if !self.events.listens(event) {
            return Ok(());
        }
        let documents = Documents::from_files(&self.files);
        if !documents.are_plain() {
            self.objects()?;
        }
        // Values can be large and are read-only from here on, so the context is moved instead of cloned.
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

    /// Returns the handlers of the program and of the chart's scripts.
    pub(crate) fn events(&self) -> &Lifecycle {
        &self.events
    }

    /// Rewrites images if a policy is set, also those of hooks and of objects that handlers added.
    #[cfg(feature = "images")]
    fn rewrite_images(&mut self) -> Result<()> {
        let Some(policy) = &self.images else { return Ok(()) };
        for (_, text) in &mut self.files {
            let moved = match pintle_images::rewrite(text, policy) {
                Ok((Cow::Owned(moved), _)) => Some(moved),
                Ok((Cow::Borrowed(_), _)) => None,
                // Parsing the objects reports invalid YAML later, with a better message.
                Err(pintle_images::Error::Rewrite { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(moved) = moved {
                *text = moved;
            }
        }
        Ok(())
    }

    #[cfg(not(feature = "images"))]
    fn rewrite_images(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Helm's replacement for hidden Secrets.
const HIDDEN: &[u8] = b"# HIDDEN: The Secret output has been suppressed";

/// Returns the content of a document, or the replacement for a Secret that must not be shown.
pub(crate) fn displayed_content<'a>(manifest: &'a Manifest<'_>, hide_secrets: bool) -> &'a [u8] {
    let hidden = hide_secrets && manifest.head.kind == "Secret" && manifest.head.api_version == "v1";
    if hidden { HIDDEN } else { manifest.content }
}

/// Appends a document to a manifest, with the comment that names its template.
pub(crate) fn push_document(text: &mut Vec<u8>, path: &str, content: &[u8]) {
    text.extend_from_slice(b"---\n# Source: ");
    text.extend_from_slice(path.as_bytes());
    text.push(b'\n');
    text.extend_from_slice(content);
    text.push(b'\n');
}

/// Runs all stages from a loaded chart and the user's values to rendered files.
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
    prepare_for(chart, user, target, rules, (events, &RENDER_EVENTS), reporter)
}

/// The events that rendering a chart without a cluster may emit.
pub(crate) const RENDER_EVENTS: [Event; 3] = [Event::ChartLoaded, Event::PreRender, Event::PostRender];

/// As [`prepare`], for an operation that may emit these events.
pub(crate) fn prepare_for(
    chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: PrepareOptions,
    (events, emitted): (&Lifecycle, &[Event]),
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let chart = process(chart, &user, &rules, reporter)?;
    let capabilities = context::capability_info(&target.capabilities);
    let outcome = events.with_scripts_of(&chart, emitted).and_then(|events| {
        let (chart, user) =
            forward_log(reporter, |log| emit_chart_loaded(chart, user, capabilities, &events, log))?;
        finish(chart, user, target, rules, &events, reporter)
    });
    events.report(reporter);
    outcome
}

/// Enables and disables subcharts by their conditions and tags, and imports their values.
///
/// # Errors
/// When a dependency in Chart.yaml is malformed.
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

/// Emits `chart-loaded`, after dependencies are processed and aliases applied. Handlers may change the files and the
/// user's values.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_chart_loaded(
    mut chart: Chart,
    user: Map<Node>,
    capabilities: CapabilityInfo,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<(Chart, Map<Node>)> {
    let event = Event::ChartLoaded;
    if !events.listens(event) {
        return Ok((chart, user));
    }
    let watched = ValuesSnapshot::new(&chart, &user);
    let mut context = context::for_chart(&chart, user).with_capabilities(capabilities);
    events.emit(event, &mut context)?;
    sources::apply_file_changes(&mut chart, &mut context, event)?;
    let user = context.take_values();
    log.extend(watched.late_condition_changes(&user, event));
    Ok((chart, user))
}

/// Emits an event for which there is no chart yet.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_without_chart(event: Event, events: &Lifecycle) -> Result<()> {
    if !events.listens(event) {
        return Ok(());
    }
    events.emit(event, &mut context::with_default_capabilities(Context::default()))
}

/// Emits an event before or after the dependencies of a chart are fetched. Returns the dependencies that handlers
/// want instead, if they changed them.
///
/// # Errors
/// When a handler fails, or changes the dependencies of a subchart, which are never fetched.
pub(crate) fn emit_dependencies(
    chart: &Chart,
    event: Event,
    events: &Lifecycle,
) -> Result<Option<Vec<Dependency>>> {
    if !events.listens(event) {
        return Ok(None);
    }
    let mut context = context::with_default_capabilities(context::for_chart(chart, chart.values.clone()));
    let before: Vec<_> = context.all_charts().iter().map(|part| part.dependencies.clone()).collect();
    events.emit(event, &mut context)?;
    let mut after: Vec<_> = context.take_charts().into_iter().map(|part| part.dependencies).collect();
    if after == before {
        return Ok(None);
    }
    // The root chart is the first.
    if after.get(1..) != before.get(1..) {
        return Err(Error::Input(format!(
            "a handler of `{event}` changes the dependencies of a subchart; only those of the root chart are built"
        )));
    }
    let wanted = if after.is_empty() { Vec::new() } else { after.swap_remove(0) };
    Ok(Some(sources::dependencies(chart, wanted)))
}

/// Emits `chart-loaded` for a chart that is neither rendered nor deployed. Handlers see no values of a user, because there
/// are none, and nothing of what they change is kept: it would be changed again whenever the chart is loaded from what
/// the operation writes.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_only_loaded(chart: &Chart, events: &Lifecycle) -> Result<()> {
    if !events.listens(Event::ChartLoaded) {
        return Ok(());
    }
    events.emit(
        Event::ChartLoaded,
        &mut context::with_default_capabilities(context::for_chart(chart, Map::new())),
    )
}

/// Emits an event about a chart that is not rendered, such as for `package`. Handlers may change the files and the
/// default values.
///
/// # Errors
/// When a handler fails.
pub(crate) fn emit_for_chart(chart: &mut Chart, event: Event, events: &Lifecycle) -> Result<()> {
    if !events.listens(event) {
        return Ok(());
    }
    let mut context = context::with_default_capabilities(context::for_chart(chart, chart.values.clone()));
    events.emit(event, &mut context)?;
    sources::apply_file_changes(chart, &mut context, event)?;
    let values = context.take_values();
    if values == chart.values { Ok(()) } else { sources::set_defaults(chart, values, event) }
}

/// Renders a chart whose dependencies are processed. It is separate from [`prepare`] because an install applies the
/// CRDs in between, which changes the capabilities of the cluster.
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
    let (values, values_changed) = final_values(&mut chart, &user, target, &rules, events, reporter)?;
    let mut rendered = pintle_render::render(&chart, &values, target).map_err(Box::new)?;
    if !rules.unread.is_empty() {
        unread::report(&chart, &user, &rules.unread, reporter);
    }
    let origins = Origins::take(&mut rendered);
    // Taken out before files are sorted and post-rendered: notes are not objects.
    let notes = pintle_render::notes(&mut rendered, chart.name(), rules.subchart_notes);
    let mut files: Vec<(String, Vec<u8>)> =
        rendered.files.into_iter().map(|file| (file.path, file.text)).collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let context = match events.is_empty() {
        true => Context::default().with_values(values),
        false => context::for_render(&chart, values, target),
    };
    let post_render = rules.post_render;
    let mut prepared = Prepared {
        chart,
        user,
        files,
        notes,
        origins,
        context,
        values_changed,
        events: events.clone(),
        #[cfg(feature = "images")]
        images: rules.images,
        record_objects: rules.record_objects,
    };
    prepared.emit(Event::PostRender)?;
    prepared.rewrite_images()?;
    // After handlers and image rewriting: the user's programs see and may change the result of both.
    prepared.files = post_render::run(std::mem::take(&mut prepared.files), &post_render)?;
    Ok(prepared)
}

/// Returns the values that the templates of a chart see, and whether handlers borrowed them mutably.
///
/// # Errors
/// When the values cannot be merged or violate a schema, the chart does not support the Kubernetes version, or a handler
/// fails.
pub(crate) fn final_values(
    chart: &mut Chart,
    user: &Map<Node>,
    target: &Target,
    rules: &PrepareOptions,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<(Map<Node>, bool)> {
    let values = forward_log(reporter, |log| {
        let load = &mut |location: &str| rules.schemas.load(location);
        Ok(pintle_values::render_values(chart, user, rules.nulls, rules.schema, load, log)?)
    })?;
    // After the values, as in Helm, which reports invalid values before an unsupported Kubernetes version.
    check_kubernetes(chart, target)?;
    if !events.listens(Event::PreRender) {
        return Ok((values, false));
    }
    forward_log(reporter, |log| before_rendering(chart, values, target, rules, events, log))
}

/// Emits `pre-render`. Handlers may change the files of the chart and the values, which are validated against the
/// schemas again. Returns the values, and whether handlers borrowed them mutably.
fn before_rendering(
    chart: &mut Chart,
    values: Map<Node>,
    target: &Target,
    rules: &PrepareOptions,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<(Map<Node>, bool)> {
    let event = Event::PreRender;
    let watched = ValuesSnapshot::new(chart, &values);
    // Values can be large, so they are moved into the context and back.
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
    if rules.schema == SchemaCheck::Check {
        pintle_values::schema::check(chart, &changed, &mut |location| rules.schemas.load(location), log)?;
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

/// Returns whether a version satisfies a constraint. A malformed constraint or version never does, as in Helm.
fn is_compatible(range: &str, version: &str) -> bool {
    match (Constraint::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

/// Concatenates all rendered files, so that users can inspect output that is not valid YAML.
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

/// Renders a chart for lint: errors become findings, and those of dependency processing are dropped, as in Helm.
pub(crate) fn render_for_lint(
    chart: Chart,
    options: &lint::Options,
    target: &Target,
    events: &Lifecycle,
    findings: &mut Findings,
) -> Option<Rendered> {
    let nulls = NullRules::Helm4;
    let chart = pintle_values::process_dependencies(chart, &options.values, nulls, &mut findings.log).ok()?;
    let [loaded, before, after] = RENDER_EVENTS;
    let events = events.with_scripts_of(&chart, &[loaded, before, after, Event::PreLint]);
    let events = &add_finding_on_error(events, findings)?;
    let mut log = Vec::new();
    let capabilities = context::capability_info(&target.capabilities);
    let outcome = emit_chart_loaded(chart, options.values.clone(), capabilities, events, &mut log);
    findings.log.extend(log);
    let (chart, user) = add_finding_on_error(outcome, findings)?;
    // Helm coalesces twice here; the second pass only repeats the warnings.
    let once = pintle_values::coalesce(&chart, &user, nulls, &mut findings.log).ok()?;
    let rules = PrepareOptions {
        schema: if options.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check },
        schemas: options.schemas.clone(),
        nulls,
        ..PrepareOptions::default()
    };
    let outcome = finish_for_lint(chart, &once, target, &rules, events, &mut findings.log);
    add_finding_on_error(outcome, findings)
}

/// Returns the value, or adds the error as a finding.
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
    rules: &PrepareOptions,
    events: &Lifecycle,
    log: &mut Vec<LogLine>,
) -> Result<Rendered> {
    let load = &mut |location: &str| rules.schemas.load(location);
    let mut values = pintle_values::render_values(&chart, user, rules.nulls, rules.schema, load, log)?;
    if events.listens(Event::PreRender) {
        (values, _) = before_rendering(&mut chart, values, target, rules, events, log)?;
    }
    let rendered = pintle_render::render(&chart, &values, target).map_err(Box::new)?;
    if events.listens(Event::PostRender) || events.listens(Event::PreLint) {
        return emit_lint(chart, values, rendered, target, events);
    }
    Ok(rendered)
}

/// Emits the events of lint after rendering. They are skipped when a document is not an object; the lint rules report
/// that.
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
        origins: Origins::default(),
        context,
        values_changed: false,
        events: events.clone(),
        #[cfg(feature = "images")]
        images: None,
        record_objects: RecordObjects::Allow,
    };
    if prepared.objects().is_ok() {
        prepared.emit(Event::PostRender)?;
        prepared.emit(Event::PreLint)?;
    }
    rendered.files = notes;
    for (path, text) in prepared.files {
        // The lint rules expect one text per template.
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

//! `show permissions` and `lua check|run`: inspect and try out the scripts of a chart.

use std::sync::Arc;

use pintle_chart::Chart;
use pintle_events::{ChartContext, Context, Event, ReadinessInfo, SourceFile};
use pintle_lua::{Finding, PermissionRequests};
use pintle_objects::Object;
use pintle_render::{Capabilities, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::ValuesLayer;

use super::locate;
use crate::lifecycle::context;
use crate::lifecycle::objects::Documents;
use crate::prepare::{PrepareOptions, finish, process};
use crate::{ChartRef, Lifecycle, OfflineSession, Reporter, Result, input};

/// Returns the permissions that a chart and its subcharts request.
///
/// # Errors
/// When the chart cannot be read, or an `ext/permissions.yaml` is invalid.
pub async fn permissions(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<PermissionRequests> {
    Ok(pintle_lua::requested_permissions(&*locate::load_any(chart, reporter).await?)?)
}

/// Checks the scripts of a chart without running them.
///
/// # Errors
/// When the chart cannot be read, or an `ext/permissions.yaml` is invalid.
pub async fn check_scripts(chart: &ChartRef, reporter: &mut dyn Reporter) -> Result<Vec<Finding>> {
    Ok(pintle_lua::check(&*locate::load_any(chart, reporter).await?)?)
}

/// Which event to try out, and on what.
#[derive(Clone, Debug)]
pub struct TryEventRequest {
    /// The chart.
    pub chart: ChartRef,
    /// The event to emit.
    pub event: Event,
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Whether the release is upgraded instead of installed.
    pub is_upgrade: bool,
}

/// The context of an event before and after its handlers ran.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedEvent {
    /// The context before.
    pub before: Node,
    /// The context after.
    pub after: Node,
    /// Whether the event has handlers.
    pub has_handlers: bool,
}

/// Calls the handlers of a chart for one event only. For events after rendering, the chart is rendered without
/// calling handlers. Nothing is written, and no cluster is contacted.
///
/// # Errors
/// The first stage or handler that fails.
pub async fn try_event(
    session: &OfflineSession,
    request: &TryEventRequest,
    reporter: &mut dyn Reporter,
) -> Result<TriedEvent> {
    let user = input::user_values(&request.values)?;
    let chart = Arc::unwrap_or_clone(locate::load_any(&request.chart, reporter).await?);
    let rules = PrepareOptions { schemas: session.schemas.clone(), ..PrepareOptions::default() };
    let chart = process(chart, &user, &rules, reporter)?;
    let events = session.events.with_scripts_of(&chart, &[request.event])?;
    let mut context = event_context(request, chart, user, rules, reporter)?;
    let before = context_to_node(&context);
    let outcome = events.emit(request.event, &mut context);
    events.report(reporter);
    outcome?;
    Ok(TriedEvent { before, after: context_to_node(&context), has_handlers: events.listens(request.event) })
}

/// Returns the context of the event.
fn event_context(
    request: &TryEventRequest,
    chart: Chart,
    user: Map<Node>,
    rules: PrepareOptions,
    reporter: &mut dyn Reporter,
) -> Result<Context> {
    let release = Release {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        revision: if request.is_upgrade { 2 } else { 1 },
        is_upgrade: request.is_upgrade,
    };
    let target = Target::offline(release, Capabilities::default());
    match request.event {
        Event::PreCreate => Ok(context::with_default_capabilities(Context::default())),
        Event::PreList | Event::PostList => {
            let context = Context::default().with_release(context::release_for_target(&target));
            Ok(context::with_default_capabilities(context))
        }
        Event::ChartLoaded => Ok(context::with_default_capabilities(context::for_chart(&chart, user))),
        Event::PostCreate | Event::PrePackage | Event::PreDependencyBuild | Event::PostDependencyBuild => {
            let values = chart.values.clone();
            Ok(context::with_default_capabilities(context::for_chart(&chart, values)))
        }
        Event::PreRender => {
            let load = &mut |location: &str| rules.schemas.load(location);
            let (nulls, schema) = (rules.nulls, rules.schema);
            let values = pintle_values::render_values(&chart, &user, nulls, schema, load, &mut Vec::new())?;
            Ok(context::for_render(&chart, values, &target))
        }
        event => rendered_context(event, chart, user, &target, rules, reporter),
    }
}

/// Returns the context of an event with objects, with the parts that the real operation would provide.
fn rendered_context(
    event: Event,
    chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: PrepareOptions,
    reporter: &mut dyn Reporter,
) -> Result<Context> {
    let mut prepared = finish(chart, user, target, rules, &Lifecycle::default(), reporter)?;
    prepared.objects()?;
    let objects = Documents::from_files(&prepared.files).objects();
    let values = prepared.context.take_values();
    let context = match event {
        // An uninstall has no chart.
        Event::PreDelete | Event::PostDelete => {
            let context = Context::default().with_release(context::release_for_target(target));
            context::with_default_capabilities(context)
        }
        Event::Watch => context::for_render(&prepared.chart, values, target)
            .with_readiness(objects.first().map(|first| ready(&first.object)).unwrap_or_default()),
        _ => context::for_render(&prepared.chart, values, target),
    };
    Ok(context.with_objects(objects))
}

/// Returns the readiness of an object that is ready.
fn ready(object: &Object) -> ReadinessInfo {
    ReadinessInfo {
        api_version: object.api_version().to_owned(),
        kind: object.kind().to_owned(),
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        state: "Current".to_owned(),
        message: String::new(),
        ready: true,
    }
}

/// Returns the parts of a context that handlers may change, as one tree.
fn context_to_node(context: &Context) -> Node {
    let mut map = Map::new();
    map.insert("values".into(), Node::Map(context.all_values().clone()));
    if let Some(top) = context.all_charts().first() {
        add_sources(top, &mut map);
    }
    if !context.objects().is_empty() {
        let objects = context.objects().iter().map(|rendered| Node::Map(rendered.object.body().clone()));
        map.insert("objects".into(), Node::List(objects.collect()));
    }
    Node::Map(map)
}

fn add_sources(chart: &ChartContext, map: &mut Map<Node>) {
    let names = |files: &[SourceFile]| {
        Node::List(files.iter().map(|file| Node::from(file.name.as_str())).collect::<Vec<Node>>())
    };
    map.insert("files".into(), names(&chart.files));
    map.insert("templates".into(), names(&chart.templates));
    let dependencies = chart.dependencies.iter().map(|dependency| {
        let fields = [("name", &dependency.name), ("version", &dependency.version)];
        Node::Map(fields.into_iter().map(|(key, text)| (key.into(), Node::from(text.as_str()))).collect())
    });
    map.insert("dependencies".into(), Node::List(dependencies.collect()));
}

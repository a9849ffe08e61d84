//! Small charts with scripts, and a recording listener.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_chart::metadata::Dependency;
use pintle_chart::{Chart, File, load_files};
use pintle_events::{
    CapabilityInfo, ChartContext, ChartInfo, ChartPath, Context, Emitter, Event, ReleaseInfo, RenderedObject,
    SourceFile,
};
use pintle_lua::{Level, Limits, Listener, Permissions, Scripts, Services};
use pintle_objects::Object;
use pintle_tree::{Map, Node};

/// A chart with scripts: pairs of file name and text.
pub(crate) fn chart(name: &str, files: &[(&str, &str)]) -> Chart {
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    let mut all = vec![File::new("Chart.yaml", metadata.as_bytes())];
    all.extend(files.iter().map(|(name, text)| File::new(*name, text.as_bytes())));
    load_files(all).expect("a good chart")
}

/// A chart whose `ext/lua/chart.lua` is this text.
pub(crate) fn scripted(name: &str, script: &str) -> Chart {
    chart(name, &[("ext/lua/chart.lua", script)])
}

/// A library chart.
pub(crate) fn library(name: &str, files: &[(&str, &str)]) -> Chart {
    let mut chart = chart(name, files);
    chart.metadata.kind = "library".to_owned();
    chart
}

/// Adds a library to a chart, with the dependency on it.
pub(crate) fn give_library(chart: &mut Chart, library: Chart) {
    chart.metadata.libraries.push(Dependency { name: library.name().to_owned(), ..Dependency::default() });
    chart.libraries.push(library);
}

/// Records what scripts log and change.
#[derive(Default)]
pub(crate) struct RecordingListener {
    pub(crate) lines: Mutex<Vec<String>>,
    pub(crate) changes: Mutex<Vec<String>>,
}

impl RecordingListener {
    pub(crate) fn text(&self) -> String {
        self.lines.lock().expect("nobody panics while holding it").join("\n")
    }
}

impl Listener for RecordingListener {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        self.lines
            .lock()
            .expect("nobody panics while holding it")
            .push(format!("{}: {level:?}: {text}", chart.names().join("/")));
    }

    fn wants_changes(&self) -> bool {
        true
    }

    fn changed(&self, chart: &ChartPath, event: Event, place: &str, paths: &[String]) {
        let chart = chart.names().join("/");
        self.changes
            .lock()
            .expect("nobody panics while holding it")
            .push(format!("{chart} {event} {place} {}", paths.join(" ")));
    }
}

/// Everything that a run needs.
pub(crate) struct TestEnv {
    pub(crate) emitter: Emitter,
    pub(crate) listener: Arc<RecordingListener>,
}

/// Services with a recording listener.
pub(crate) fn services(listener: &Arc<RecordingListener>) -> Services {
    let listener: Arc<dyn Listener> = listener.clone();
    Services { listener: Some(listener), ..Services::default() }
}

/// Low limits on work and memory. Time limits are out of reach on any machine, unless a test sets them.
pub(crate) fn limits() -> Limits {
    Limits {
        memory: 24 << 20,
        steps: 2_000_000,
        time: Duration::from_secs(600),
        text: 4 << 20,
        nodes: 50_000,
        wait: Duration::from_secs(600),
        pause: Duration::from_millis(20),
        ..Limits::default()
    }
}

/// Loads the scripts of a chart.
pub(crate) fn test_env(chart: &Chart) -> TestEnv {
    try_test_env(chart, &Permissions::none(), |_| ())
        .unwrap_or_else(|error| panic!("{}", error_chain(&error)))
}

/// Loads the scripts of a chart, or returns the error.
pub(crate) fn try_test_env(
    chart: &Chart,
    granted: &Permissions,
    with: impl FnOnce(&mut Services),
) -> Result<TestEnv, pintle_lua::Error> {
    let listener = Arc::new(RecordingListener::default());
    let mut services = services(&listener);
    with(&mut services);
    let mut emitter = Emitter::new();
    Scripts::load(chart, granted, &limits(), &services)?.register(&mut emitter)?;
    Ok(TestEnv { emitter, listener })
}

/// Loads the scripts of a chart with custom limits.
pub(crate) fn limited_test_env(chart: &Chart, limits: &Limits) -> TestEnv {
    let listener = Arc::new(RecordingListener::default());
    let mut emitter = Emitter::new();
    Scripts::load(chart, &Permissions::none(), limits, &services(&listener))
        .and_then(|scripts| scripts.register(&mut emitter))
        .unwrap_or_else(|error| panic!("{}", error_chain(&error)));
    TestEnv { emitter, listener }
}

/// An error with its causes.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}\n{error}");
        source = error.source();
    }
    text
}

/// A tree of YAML.
pub(crate) fn tree(yaml: &str) -> Map<Node> {
    match pintle_yaml::read_exact(yaml.as_bytes()).expect("good YAML") {
        Node::Map(map) => map,
        _ => Map::new(),
    }
}

/// Text of a tree.
pub(crate) fn yaml(map: &Map<Node>) -> String {
    String::from_utf8(pintle_yaml::write(&Node::Map(map.clone())).expect("it can be written")).expect("UTF-8")
}

/// A context for the chart `web`, whose subchart is `db`.
pub(crate) fn context(values: &str, objects: &[&str]) -> Context {
    let top = ChartPath::top("web");
    let part = |path: ChartPath, name: &str| ChartContext {
        path,
        facts: ChartInfo {
            api_version: "v2".into(),
            name: name.into(),
            version: "1.2.3".into(),
            description: "A chart.".into(),
            keywords: vec!["one".into(), "two".into()],
            app_version: "9".into(),
            ..ChartInfo::default()
        },
        files: vec![SourceFile { name: "notes.txt".into(), data: "hello".into() }],
        templates: vec![SourceFile { name: "templates/a.yaml".into(), data: "a: {{ .Values.a }}".into() }],
        dependencies: Vec::new(),
    };
    let objects = objects.iter().enumerate().map(|(index, text)| RenderedObject {
        template: Some(format!("web/templates/{index}.yaml")),
        object: Object::new(tree(text)),
    });
    Context::default()
        .with_chart(part(top.child("db"), "db"))
        .with_chart(part(top, "web"))
        .with_values(tree(values))
        .with_release(ReleaseInfo {
            name: "prod".into(),
            namespace: "apps".into(),
            number: 7,
            is_install: false,
            is_upgrade: true,
        })
        .with_capabilities(CapabilityInfo {
            helm_version: "v4.2.4".into(),
            kubernetes_version: "v1.36.3".into(),
            api_versions: vec!["v1".into(), "apps/v1".into()],
        })
        .with_objects(objects.collect())
}

impl TestEnv {
    /// Emits an event; panics on failure.
    pub(crate) fn emit(&mut self, event: Event, context: &mut Context) {
        if let Err(error) = self.emitter.emit(event, context) {
            panic!("{}", error_chain(&error));
        }
    }

    /// Emits an event that must fail. Returns the error.
    pub(crate) fn refused(&mut self, event: Event, context: &mut Context) -> String {
        error_chain(&self.emitter.emit(event, context).expect_err("the handler must fail"))
    }
}

/// Runs the body of a `pre-render` handler with values. Returns the resulting values.
pub(crate) fn values_after(values: &str, body: &str) -> String {
    let script = format!("events.on('pre-render', function(ctx)\n{body}\nend)");
    let mut test_env = test_env(&scripted("web", &script));
    let mut context = context(values, &[]);
    test_env.emit(Event::PreRender, &mut context);
    yaml(context.all_values())
}

/// The same for the objects of `post-render`, as one string.
pub(crate) fn objects_after(objects: &[&str], body: &str) -> String {
    let script = format!("events.on('post-render', function(ctx)\n{body}\nend)");
    let mut test_env = test_env(&scripted("web", &script));
    let mut context = context("a: 1", objects);
    test_env.emit(Event::PostRender, &mut context);
    let texts: Vec<String> = context
        .take_objects()
        .into_iter()
        .map(|rendered| format!("# {:?}\n{}", rendered.template, yaml(rendered.object.body())))
        .collect();
    texts.join("---\n")
}

/// Runs the body of a `pre-render` handler that must fail. Returns the error.
pub(crate) fn refusal(body: &str) -> String {
    let script = format!("events.on('pre-render', function(ctx)\n{body}\nend)");
    let mut test_env = test_env(&scripted("web", &script));
    test_env.refused(Event::PreRender, &mut context("a: 1\nm: {x: 1}\nl: [1, 2]", &[]))
}

/// What the body of a `pre-render` handler prints.
pub(crate) fn said(body: &str) -> String {
    let script = format!("events.on('pre-render', function(ctx)\n{body}\nend)");
    let mut test_env = test_env(&scripted("web", &script));
    test_env
        .emit(Event::PreRender, &mut context("a: 1\nm: {x: 1, z: 2}\nl: [1, 2]\nnothing: null\ne: []", &[]));
    let lines = test_env.listener.lines.lock().expect("nobody panics while holding it");
    let plain = lines.iter().map(|line| line.trim_start_matches("web: Info: ").to_owned());
    plain.collect::<Vec<_>>().join("\n")
}

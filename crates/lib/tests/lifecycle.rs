//! Lifecycle events of operations without a cluster: when they are emitted, in which order, and what handlers may
//! change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use pintle::events::{ChartPath, Context, HandlerError, Registration, RenderedObject, SourceFile};
use pintle::lua::{Limits, Services};
use pintle::objects::{Object, ObjectId};
use pintle::ops::dependency::BuildTimes;
use pintle::ops::{
    CreateRequest, Layout, LintRequest, PackageRequest, TemplateRequest, Templated, create, dependency, lint,
    package, template,
};
use pintle::release::Timestamp;
use pintle::{Error, Granted, Lifecycle, OfflineSession, Reporter, Scripting, Session, Silent};
use pintle_tree::Node;
use tempfile::TempDir;

const TIMES: BuildTimes = BuildTimes { now: Timestamp::ZERO, epoch: None };

const CONFIG: &str = "kind:   ConfigMap # as it was written\napiVersion: v1\nmetadata: {name: web}\n\
                      data: {size: \"{{ .Values.size }}\"}\n";

/// A chart with a subchart that has an alias.
fn chart() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let chart = folder.path().join("web");
    for (name, text) in [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: postgres, version: 1.x, alias: db}\n",
        ),
        ("values.yaml", "size: 1\nname: default\n"),
        ("values.schema.json", r#"{"properties": {"size": {"type": "number", "maximum": 10}}}"#),
        ("templates/config.yaml", CONFIG),
        ("templates/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Values.name }}}\n"),
        ("charts/postgres/Chart.yaml", "apiVersion: v2\nname: postgres\nversion: 1.2.3\n"),
        (
            "charts/postgres/templates/claim.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Values.claim | default \"claim\" }}}\n\
             shared: {{ .Values.global | toJson }}\n",
        ),
    ] {
        let path = chart.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("can be made");
        fs::write(path, text).expect("can be written");
    }
    (folder, chart)
}

fn request(chart: &Path) -> TemplateRequest {
    TemplateRequest { chart: chart.into(), name: "demo".to_owned(), ..TemplateRequest::default() }
}

fn on(
    lifecycle: &Lifecycle,
    (event, weight, chart): (&str, f64, ChartPath),
    handler: impl FnMut(&mut Context) -> Result<(), HandlerError> + Send + 'static,
) {
    let location = "tests/lifecycle.rs:1".to_owned();
    lifecycle
        .on(Registration { event, weight, chart, location }, Box::new(handler))
        .expect("a good registration");
}

fn program(event: &str) -> (&str, f64, ChartPath) {
    (event, 0.5, ChartPath::program())
}

fn offline(events: &Lifecycle) -> OfflineSession {
    Session::offline().with_events(events.clone())
}

/// Renders without an async runtime, because offline operations never wait.
fn rendered_with(
    request: &TemplateRequest,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> pintle::Result<Templated> {
    let session = offline(events);
    template(&session, request, reporter).now_or_never().expect("no cluster to wait for")
}

fn text(chart: &Path, lifecycle: &Lifecycle) -> String {
    let rendered = rendered_with(&request(chart), lifecycle, &mut Silent).expect("it renders");
    String::from_utf8(rendered.text).expect("text")
}

/// The calls in order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().expect("nobody panics").push(text.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics").clone()
    }

    /// Records every event, with the number of objects at that time.
    fn everything(&self) -> Lifecycle {
        let lifecycle = Lifecycle::default();
        for entry in pintle::events::TABLE.iter().filter(|entry| !entry.core) {
            let calls = self.clone();
            on(&lifecycle, program(entry.name), move |context| {
                calls.note(format!("{} {}", entry.name, context.objects().len()));
                Ok(())
            });
        }
        lifecycle
    }
}

#[test]
fn template_fires_its_events_in_order_and_handlers_that_only_look_change_nothing() {
    let (_folder, chart) = chart();
    let calls = Calls::default();
    let plain = rendered_with(&request(&chart), &Lifecycle::default(), &mut Silent).expect("it renders");
    assert_eq!(text(&chart, &calls.everything()).as_bytes(), plain.text);
    assert_eq!(calls.all(), ["chart-loaded 0", "pre-render 0", "post-render 3", "post-template 3"]);
}

#[test]
fn a_chart_without_scripts_makes_no_state_for_them() {
    // No Lua state fits into one byte.
    let limits = Limits { memory: 1, ..Limits::default() };
    let scripting = Scripting { limits, ..Scripting::new(Services::default(), Granted::default()) };
    let lifecycle = Lifecycle::default().with_scripting(scripting);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["charts/web", "charts/umbrella", "charts/library-user"] {
        let request = request(&examples.join(name));
        let plain = rendered_with(&request, &Lifecycle::default(), &mut Silent).expect("it renders").text;
        let listened = rendered_with(&request, &lifecycle, &mut Silent).expect("nothing is loaded").text;
        assert!(listened == plain, "{name}");
    }
    let acting = request(&examples.join("scripts/labels"));
    let refused = rendered_with(&acting, &lifecycle, &mut Silent).expect_err("it needs a state");
    assert!(refused.to_string().contains("memory"), "{refused}");
}

#[test]
fn handlers_run_by_weight_and_children_before_parents() {
    let (_folder, chart) = chart();
    let (calls, lifecycle, top) = (Calls::default(), Lifecycle::default(), ChartPath::top("web"));
    for (name, weight, path) in [
        ("program", 0.5, ChartPath::program()),
        ("web", 0.5, top.clone()),
        ("last", 1.0, top.child("db")),
        ("db", 0.5, top.child("db")),
        ("first", 0.0, top.clone()),
    ] {
        let calls = calls.clone();
        on(&lifecycle, ("pre-render", weight, path), move |context| {
            let chart = context.chart().map(|chart| chart.name.clone()).unwrap_or_default();
            calls.note(format!("{name} {chart} {}", context.templates().len()));
            Ok(())
        });
    }
    text(&chart, &lifecycle);
    assert_eq!(calls.all(), ["first web 2", "db db 1", "web web 2", "program web 2", "last db 1"]);
}

#[test]
fn before_rendering_values_files_and_templates_can_change() {
    let (_folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-render"), |context| {
        let release = context.release().expect("there is one").name.clone();
        let values = context.values_mut()?;
        values.insert("size".into(), 7.into());
        values.remove("name");
        values.insert(
            "global".into(),
            Node::Map([("from".into(), release.as_str().into())].into_iter().collect()),
        );
        let templates = context.templates_mut()?;
        templates.retain(|template| template.name != "templates/service.yaml");
        let data =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Files.Get \"n\" }}{{ .Values.name }}}\n";
        templates.push(SourceFile { name: "templates/new.yaml".into(), data: data.into() });
        context.files_mut()?.push(SourceFile { name: "n".into(), data: "from-a-file".into() });
        Ok(())
    });
    on(&lifecycle, ("pre-render", 0.1, ChartPath::top("web").child("db")), |context| {
        context.values_mut()?.insert("claim".into(), "scripted".into());
        Ok(())
    });
    let text = text(&chart, &lifecycle);
    assert!(text.contains("data: {size: \"7\"}"), "{text}");
    assert!(!text.contains("Service"), "{text}");
    // The default of the name was removed by a handler and must not come back.
    assert!(
        text.contains(
            "# Source: web/templates/new.yaml\napiVersion: v1\nkind: Secret\nmetadata: {name: from-a-file}"
        ),
        "{text}"
    );
    assert!(text.contains("metadata: {name: scripted}\nshared: {\"from\":\"demo\"}"), "{text}");
}

#[test]
fn changed_values_must_fit_the_schema_again() {
    let (_folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-render"), |context| {
        context.values_mut()?.insert("size".into(), 11.into());
        Ok(())
    });
    let error = rendered_with(&request(&chart), &lifecycle, &mut Silent).expect_err("too large");
    assert!(matches!(error, Error::Values(_)) && error.to_string().contains("size"), "{error}");
    let request = TemplateRequest { skip_schema: true, ..request(&chart) };
    assert!(rendered_with(&request, &lifecycle, &mut Silent).is_ok());
}

#[test]
fn after_rendering_objects_change_and_the_others_keep_their_bytes() {
    let (_folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("post-render"), |context| {
        let objects = context.objects_mut()?;
        for rendered in objects.iter_mut().filter(|rendered| rendered.object.kind() == "Service") {
            rendered.object.set_label("team", "blue");
        }
        objects.retain(|rendered| rendered.object.kind() != "PersistentVolumeClaim");
        let mut hook = Object::from_id(&ObjectId::new("batch/v1", "Job", "", "hook"));
        hook.set_annotation("helm.sh/hook", "pre-install");
        objects.push(RenderedObject { template: None, object: hook });
        let space = Object::from_id(&ObjectId::new("v1", "Namespace", "", "space"));
        objects.push(RenderedObject { template: None, object: space });
        Ok(())
    });
    let config = CONFIG.replace("{{ .Values.size }}", "1");
    let expected = format!(
        "---\n# Source: web/post-render.yaml\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: space\n\n\
         ---\n# Source: web/templates/config.yaml\n{config}\n\
         ---\n# Source: web/templates/service.yaml\napiVersion: v1\nkind: Service\nmetadata:\n  labels:\n    team: blue\n  name: default\n\
         ---\n# Source: web/post-render.yaml\napiVersion: batch/v1\nkind: Job\nmetadata:\n  annotations:\n    helm.sh/hook: pre-install\n  name: hook\n\n"
    );
    assert_eq!(text(&chart, &lifecycle), expected);
    let without_hooks = TemplateRequest { no_hooks: true, ..request(&chart) };
    let text = rendered_with(&without_hooks, &lifecycle, &mut Silent).expect("it renders").text;
    assert!(!String::from_utf8_lossy(&text).contains("Job"));
}

#[test]
fn a_chart_of_another_engine_needs_no_templates() {
    let (_folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    for path in [ChartPath::top("web"), ChartPath::top("web").child("db")] {
        on(&lifecycle, ("pre-render", 0.5, path), |context| {
            context.templates_mut()?.clear();
            Ok(())
        });
    }
    on(&lifecycle, program("post-render"), |context| {
        assert!(context.objects().is_empty());
        let object = Object::from_id(&ObjectId::new("v1", "ConfigMap", "", "made"));
        context.objects_mut()?.push(RenderedObject { template: None, object });
        Ok(())
    });
    assert_eq!(
        text(&chart, &lifecycle),
        "---\n# Source: web/post-render.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\n"
    );
}

#[test]
fn the_error_of_a_handler_stops_everything_and_says_whose_it_is() {
    let (folder, chart) = chart();
    let out = folder.path().join("out");
    for event in ["chart-loaded", "pre-render", "post-render", "post-template"] {
        let (calls, lifecycle) = (Calls::default(), Lifecycle::default());
        on(&lifecycle, (event, 0.5, ChartPath::top("web")), |_| Err(HandlerError::new("no")));
        let noted = calls.clone();
        on(&lifecycle, (event, 0.6, ChartPath::top("web")), move |_| {
            noted.note("never");
            Ok(())
        });
        let request = TemplateRequest { layout: Layout::Folder(out.clone()), ..request(&chart) };
        let error = rendered_with(&request, &lifecycle, &mut Silent).expect_err("a handler fails");
        assert!(matches!(error, Error::Event(_)));
        assert_eq!(
            error.to_string(),
            format!("the `{event}` handler of chart web at tests/lifecycle.rs:1 failed: no")
        );
        assert!(!out.exists() && calls.all().is_empty());
    }
}

#[test]
fn a_handler_cannot_write_outside_of_the_output() {
    let (folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-render"), |context| {
        let file = SourceFile { name: "../../../escaped.yaml".into(), data: "kind: X\n".into() };
        context.templates_mut()?.push(file);
        Ok(())
    });
    let layout = Layout::Folder(folder.path().join("a/b/c"));
    let request = TemplateRequest { layout, ..request(&chart) };
    let error = rendered_with(&request, &lifecycle, &mut Silent).expect_err("it leads out");
    assert!(error.to_string().contains("not a path inside the chart"), "{error}");
}

#[test]
fn when_a_chart_is_loaded_the_values_are_those_of_the_user() {
    let (_folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("chart-loaded"), |context| {
        assert_eq!(context.values().map(|values| values.len()), Some(0));
        context.values_mut()?.insert("name".into(), "given".into());
        Ok(())
    });
    assert!(text(&chart, &lifecycle).contains("kind: Service\nmetadata: {name: given}"));
}

#[test]
fn lint_fires_its_events_and_errors_are_findings() {
    let (_folder, chart) = chart();
    let calls = Calls::default();
    let lint = |lifecycle: &Lifecycle| {
        let linted = lint(&offline(lifecycle), &chart, &LintRequest::default(), &mut Silent);
        linted.expect("the values can be read").findings.messages
    };
    let plain = lint(&Lifecycle::default());
    assert_eq!(lint(&calls.everything()), plain);
    assert_eq!(calls.all(), ["chart-loaded 0", "pre-render 0", "post-render 3", "pre-lint 3"]);

    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-lint"), |_| Err(HandlerError::new("not good enough")));
    let texts: Vec<String> = lint(&lifecycle).into_iter().map(|message| message.text).collect();
    assert!(texts.iter().any(|text| text.ends_with("failed: not good enough")), "{texts:?}");

    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("post-render"), |context| {
        let objects = context.objects_mut()?.iter_mut();
        for rendered in objects.filter(|rendered| rendered.object.kind() == "Service") {
            rendered.object.metadata_mut().insert("name".into(), "NOT a name".into());
        }
        Ok(())
    });
    assert!(lint(&lifecycle).len() > plain.len());
}

#[test]
fn what_is_packed_can_change_and_the_folder_does_not() {
    let (folder, chart) = chart();
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-package"), |context| {
        context.values_mut()?.insert("size".into(), 3.into());
        context.files_mut()?.push(SourceFile { name: "BUILD".into(), data: "42".into() });
        Ok(())
    });
    let request = PackageRequest {
        chart: chart.clone(),
        destination: folder.path().to_owned(),
        ..PackageRequest::default()
    };
    // Without dependencies, the chart is complete.
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
        .expect("can be written");
    let archive = package(&offline(&lifecycle), &request, &mut Silent).expect("can be packed");
    let packed = pintle_chart::load(&archive, &mut Vec::new()).expect("can be read");
    assert_eq!(packed.values_text(), Some(&b"size: 3\nname: default\n"[..]));
    assert!(packed.files.iter().any(|file| file.name == "BUILD"));
    assert!(!chart.join("BUILD").exists());
    assert_eq!(fs::read(chart.join("values.yaml")).expect("is there"), b"size: 1\nname: default\n");
}

#[test]
fn a_new_chart_can_change_before_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (calls, request) = (Calls::default(), CreateRequest::new(folder.path(), "mine"));
    let lifecycle = calls.everything();
    on(&lifecycle, ("post-create", 0.9, ChartPath::program()), |context| {
        context.values_mut()?.insert("replicaCount".into(), 3.into());
        context.templates_mut()?.retain(|template| !template.name.contains("tests/"));
        context.files_mut()?.push(SourceFile { name: "docs/TEAM".into(), data: "blue".into() });
        Ok(())
    });
    let chart = create(&offline(&lifecycle), &request, &mut Silent).expect("can be made");
    assert_eq!(calls.all(), ["pre-create 0", "post-create 0"]);
    assert_eq!(fs::read(chart.join("docs/TEAM")).expect("was written"), b"blue");
    assert!(!chart.join("templates/tests/test-connection.yaml").exists());
    assert!(text(&chart, &Lifecycle::default()).contains("replicas: 3"));

    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("post-create"), |_| Err(HandlerError::new("no")));
    let request = CreateRequest::new(folder.path(), "other");
    assert!(create(&offline(&lifecycle), &request, &mut Silent).is_err());
    assert!(!folder.path().join("other").exists());
}

#[test]
fn building_dependencies_is_told_before_and_after() {
    let (folder, chart) = chart();
    fs::rename(chart.join("charts/postgres"), folder.path().join("postgres")).expect("can be moved");
    let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n\
                    - {name: postgres, version: 1.x, repository: file://../postgres}\n";
    fs::write(chart.join("Chart.yaml"), metadata).expect("can be written");
    let lifecycle = Lifecycle::default();
    on(&lifecycle, program("pre-dependency-build"), |context| {
        context.dependencies_mut()?[0].version = "2.x".to_owned();
        Ok(())
    });
    let error = dependency::build(&offline(&lifecycle), &chart, TIMES, None, &mut Silent)
        .expect_err("there is no such");
    assert!(error.to_string().contains("2.x"), "{error}");
    assert!(!chart.join("Chart.lock").exists() && !chart.join("charts/postgres-1.2.3.tgz").exists());
    on(&lifecycle, ("pre-dependency-build", 0.9, ChartPath::program()), |context| {
        context.dependencies_mut()?.clear();
        Ok(())
    });
    dependency::build(&offline(&lifecycle), &chart, TIMES, None, &mut Silent)
        .expect("there is nothing to fetch");
    assert!(!chart.join("Chart.lock").exists() && !chart.join("charts/postgres-1.2.3.tgz").exists());

    let calls = Calls::default();
    dependency::build(&offline(&calls.everything()), &chart, TIMES, None, &mut Silent).expect("can be built");
    assert_eq!(calls.all(), ["chart-loaded 0", "pre-dependency-build 0", "post-dependency-build 0"]);
    assert!(chart.join("charts/postgres-1.2.3.tgz").exists());
}

/// Records log lines.
#[derive(Default)]
struct LogReporter(Vec<String>);

impl pintle::Reporter for LogReporter {
    fn report(&mut self, progress: pintle::Progress) {
        if let pintle::Progress::Message(message) = progress {
            self.0.push(message.line.to_string());
        }
    }
}

#[test]
fn what_scripts_log_goes_to_the_reporter_even_if_they_fail() {
    let (folder, chart) = chart();
    let lifecycle =
        Lifecycle::default().with_scripting(Scripting::new(Services::default(), Granted::default()));
    let script =
        "for _, name in {'chart-loaded', 'pre-render', 'post-template', 'pre-lint', 'pre-package'} do
        events.on(name, function(ctx) log.warn('at ' .. ctx.event) end)
    end
    events.on('post-render', function(ctx) if ctx.values.size == 2 then error('stop', 0) end end)";
    fs::create_dir_all(chart.join("ext/lua")).expect("can be made");
    fs::write(chart.join("ext/lua/chart.lua"), script).expect("can be written");
    let events = |reporter: LogReporter| -> Vec<String> {
        let at = reporter.0.iter().filter_map(|line| line.split("msg=\"at ").nth(1)?.split('"').next());
        assert!(reporter.0.iter().filter(|line| line.contains("at ")).all(|line| line.contains("chart=web")));
        at.map(str::to_owned).collect()
    };
    let mut reporter = LogReporter::default();
    rendered_with(&request(&chart), &lifecycle, &mut reporter).expect("it renders");
    assert_eq!(events(reporter), ["chart-loaded", "pre-render", "post-template"]);
    let mut reporter = LogReporter::default();
    lint(&offline(&lifecycle), &chart, &LintRequest::default(), &mut reporter).expect("it is linted");
    assert_eq!(events(reporter), ["chart-loaded", "pre-render", "pre-lint"]);
    let mut reporter = LogReporter::default();
    let values = vec![pintle::ValuesLayer::Set("size=2".to_owned())];
    let failing = TemplateRequest { values, ..request(&chart) };
    assert!(rendered_with(&failing, &lifecycle, &mut reporter).is_err());
    assert_eq!(events(reporter), ["chart-loaded", "pre-render"]);
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
        .expect("can be written");
    let mut reporter = LogReporter::default();
    let packing = PackageRequest {
        chart: chart.clone(),
        destination: folder.path().to_owned(),
        ..PackageRequest::default()
    };
    package(&offline(&lifecycle), &packing, &mut reporter).expect("it is packed");
    assert_eq!(events(reporter), ["chart-loaded", "pre-package"]);
}

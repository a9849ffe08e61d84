//! Lifecycle events of operations on a cluster, which here is a small HTTP server that stores what it receives.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pintle::ValuesLayer;
use pintle::cluster::{Cluster, Settings};
use pintle::events::{ChartPath, Context, HandlerError, Registration, RenderedObject};
use pintle::objects::{Object, ObjectId};
use pintle::ops::{
    InstallRequest, ListRequest, RollbackRequest, TestRequest, UninstallRequest, UpgradeRequest, install,
    list, rollback, test, uninstall, upgrade,
};
use pintle::release::{MemoryStore, Query, Status, Timestamp};
use pintle::{Cancel, Clock, DeployOptions, DryRun, Error, LeaseHolder, Session, Silent, WaitStrategy};
use tempfile::TempDir;

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
    {"metadata":{"name":""},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"configmaps","responseKind":{"group":"","version":"v1","kind":"ConfigMap"},"scope":"Namespaced"}]}]}]}"#;
const GROUPS: &str = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}"#;
const VERSION: &str = r#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#;
const MISSING: &str =
    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;

/// The objects of the server by path, the write requests, and what to cancel when an object named `cancel` is
/// requested.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<BTreeMap<String, String>>>, Arc<Mutex<Vec<String>>>, Arc<Mutex<Option<Cancel>>>);

impl Server {
    /// Starts the server and returns its address. It stops with the test.
    fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let server = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                // A client may disconnect in the middle of a request.
                std::thread::spawn(move || server.serve(stream).ok());
            }
        });
        format!("http://{address}")
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            match header.trim().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap_or(0),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (code, text) = self.answer(method, path, String::from_utf8_lossy(&body).into_owned());
        write!(
            reader.get_mut(),
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        )
    }

    fn answer(&self, method: &str, path: &str, body: String) -> (u16, String) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if method != "GET" {
            self.1.lock().expect("no panic").push(format!("{method} {path}"));
        }
        if path.ends_with("/cancel")
            && let Some(cancel) = self.2.lock().expect("no panic").take()
        {
            cancel.cancel();
        }
        let mut objects = self.0.lock().expect("no panic");
        match (method, path) {
            (_, "/version") => (200, VERSION.to_owned()),
            (_, "/api") => (200, CORE.to_owned()),
            (_, "/apis") => (200, GROUPS.to_owned()),
            ("GET", path) if path.ends_with("/configmaps") && query.contains("watch=") => {
                (200, String::new())
            }
            ("GET", path) if path.ends_with("/configmaps") => {
                let items: Vec<&str> = objects.values().map(String::as_str).collect();
                (
                    200,
                    format!(
                        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#,
                        items.join(",")
                    ),
                )
            }
            ("PATCH", path) => {
                let known = objects.insert(path.to_owned(), body.clone()).is_some();
                (if known { 200 } else { 201 }, body)
            }
            ("POST", path) => {
                let name = Object::read_json(body.as_bytes()).map(|object| object.name().to_owned());
                objects.insert(format!("{path}/{}", name.expect("an object")), body.clone());
                (201, body)
            }
            ("DELETE", path) if objects.remove(path).is_some() => (200, "{}".to_owned()),
            (_, path) => objects.get(path).map_or((404, MISSING.to_owned()), |body| (200, body.clone())),
        }
    }

    /// Returns the write requests so far.
    fn changes(&self) -> Vec<String> {
        std::mem::take(&mut *self.1.lock().expect("no panic"))
    }

    /// Returns the names of all objects, with the label that handlers set in these tests.
    fn objects(&self) -> Vec<String> {
        let objects = self.0.lock().expect("no panic");
        let object = |body: &String| {
            let object = Object::read_json(body.as_bytes()).expect("an object");
            format!("{} {}", object.name(), object.label("by").unwrap_or("-"))
        };
        objects.values().map(object).collect()
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix(1_800_000_000, 0)
    }

    fn random(&self) -> u128 {
        7
    }
}

/// A session on a server of its own, a chart, and what handlers recorded.
struct Stage {
    server: Server,
    session: Session,
    chart: PathBuf,
    notes: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

impl Stage {
    async fn new() -> Stage {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let chart = folder.path().join("web");
        fs::create_dir_all(chart.join("templates")).expect("can be made");
        fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
            .expect("can be written");
        fs::write(
            chart.join("templates/all.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: {{ .Values.a | quote }}}\n\
             ---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
        )
        .expect("can be written");
        let server = Server::default();
        let settings = Settings { server: server.start(), ..Settings::default() };
        let cluster = Cluster::connect(&settings).await.expect("the server is there");
        let session = Session::new(cluster, Arc::new(MemoryStore::new()))
            .with_clock(Arc::new(Still))
            .with_holder(LeaseHolder::new("the test"));
        Stage { server, session, chart, notes: Arc::default(), _folder: folder }
    }

    fn on(
        &self,
        event: &str,
        handler: impl FnMut(&mut Context) -> Result<(), HandlerError> + Send + 'static,
    ) {
        let (chart, location) = (ChartPath::program(), "here".to_owned());
        let registration = Registration { event, weight: 0.9, chart, location };
        self.session.events.on(registration, Box::new(handler)).expect("a known event");
    }

    /// Records every event from now on: its name, the release version, the chart and the objects.
    fn note_all(&self) {
        for entry in pintle::events::TABLE.iter().filter(|entry| !entry.core) {
            let notes = Arc::clone(&self.notes);
            self.on(entry.name, move |context| {
                let number = context.release().map(|release| release.number.to_string());
                let chart = context.chart().map(|chart| chart.name.clone());
                let names: Vec<&str> = context.objects().iter().map(|object| object.object.name()).collect();
                let mut note = vec![entry.name.to_owned()];
                note.extend(number.into_iter().chain(chart));
                note.extend(names.into_iter().map(str::to_owned));
                notes.lock().expect("no panic").push(note.join(" "));
                Ok(())
            });
        }
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().expect("no panic"))
    }

    fn request(&self) -> InstallRequest {
        InstallRequest {
            chart: self.chart.clone().into(),
            name: "demo".to_owned(),
            namespace: "default".to_owned(),
            deploy: DeployOptions { wait: WaitStrategy::Watcher, ..DeployOptions::default() },
            ..InstallRequest::default()
        }
    }

    fn upgrade_request(&self) -> UpgradeRequest {
        let values = vec![ValuesLayer::Set("a=2".to_owned())];
        UpgradeRequest { target: InstallRequest { values, ..self.request() }, ..UpgradeRequest::default() }
    }

    async fn records(&self) -> Vec<(u64, Status, String)> {
        let found = self.session.store.list(&Query::default()).await.expect("memory answers");
        let mut records: Vec<(u64, Status, String)> =
            found.into_iter().map(|one| (one.number, one.status, one.description)).collect();
        records.sort_by_key(|(number, ..)| *number);
        records
    }
}

#[tokio::test]
async fn every_operation_fires_its_events_in_order() {
    let stage = Stage::new().await;
    stage.note_all();
    let session = &stage.session;
    install(session, &stage.request(), &mut Silent).await.expect("can be installed");
    let rendering =
        ["chart-loaded web", "pre-render 1 web", "post-render 1 web one test", "pre-validate 1 web one test"];
    let mut expected: Vec<&str> = rendering.to_vec();
    expected.extend([
        "post-validate 1 web one test",
        "pre-install 1 web one test",
        "post-install 1 web one test",
        "wait 1 web one test",
        "watch 1 web one test",
        "ready 1 web one test",
    ]);
    assert_eq!(stage.notes(), expected);

    upgrade(session, &stage.upgrade_request(), &mut Silent).await.expect("can be upgraded");
    let events: Vec<String> = stage.notes();
    assert_eq!(events[..2], ["chart-loaded web", "pre-render 2 web"]);
    assert_eq!(events[5..7], ["pre-upgrade 2 web one test", "post-upgrade 2 web one test"]);
    assert_eq!(events.len(), 10);

    let tested = TestRequest { name: "demo".into(), namespace: "default".into(), ..TestRequest::default() };
    let outcome = test(session, &tested, &mut Silent).await.expect("can be tested");
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!(stage.notes(), ["pre-test 2 web one test", "post-test 2 web one test"]);

    let back =
        RollbackRequest { name: "demo".into(), namespace: "default".into(), ..RollbackRequest::default() };
    rollback(session, &back, &mut Silent).await.expect("can be rolled back");
    assert_eq!(stage.notes(), ["pre-rollback 3 web one test", "post-rollback 3 web one test"]);

    list(session, &ListRequest::default(), &mut Silent).await.expect("can be listed");
    assert_eq!(stage.notes(), ["pre-list", "post-list"]);

    let gone =
        UninstallRequest { name: "demo".into(), namespace: "default".into(), ..UninstallRequest::default() };
    uninstall(session, &gone, &mut Silent).await.expect("can be uninstalled");
    assert_eq!(stage.notes(), ["pre-delete 3 one test", "post-delete 3 one test"]);
}

#[tokio::test]
async fn an_error_before_installing_leaves_no_trace() {
    for event in ["chart-loaded", "pre-render", "post-render", "pre-validate", "post-validate", "pre-install"]
    {
        let stage = Stage::new().await;
        stage.on(event, |_| Err(HandlerError::new("no")));
        let request = InstallRequest { create_namespace: true, ..stage.request() };
        let error = install(&stage.session, &request, &mut Silent).await.expect_err("a handler fails");
        assert!(matches!(error, Error::Event(_)), "{event}: {error}");
        assert!(stage.records().await.is_empty() && stage.server.objects().is_empty(), "{event}");
        assert_eq!(stage.server.changes(), Vec::<String>::new(), "{event}");
    }
}

#[tokio::test]
async fn an_error_before_the_next_version_leaves_the_last_one_alone() {
    let stage = Stage::new().await;
    install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    let before = stage.records().await;
    stage.server.changes();
    for event in ["pre-upgrade", "pre-rollback", "pre-delete", "pre-test", "pre-list"] {
        stage.on(event, |_| Err(HandlerError::new("no")));
    }
    let tested = TestRequest { name: "demo".into(), namespace: "default".into(), ..TestRequest::default() };
    assert!(test(&stage.session, &tested, &mut Silent).await.is_err());
    assert!(list(&stage.session, &ListRequest::default(), &mut Silent).await.is_err());
    let upgraded = upgrade(&stage.session, &stage.upgrade_request(), &mut Silent).await;
    assert!(matches!(upgraded.expect_err("a handler fails"), Error::Event(_)));
    let back = RollbackRequest {
        name: "demo".into(),
        namespace: "default".into(),
        to: pintle::release::VersionRef::Number(1),
        ..RollbackRequest::default()
    };
    assert!(rollback(&stage.session, &back, &mut Silent).await.is_err());
    let gone =
        UninstallRequest { name: "demo".into(), namespace: "default".into(), ..UninstallRequest::default() };
    assert!(uninstall(&stage.session, &gone, &mut Silent).await.is_err());
    assert_eq!(stage.records().await, before);
    assert_eq!(stage.server.objects(), ["one -"]);
    assert_eq!(stage.server.changes(), Vec::<String>::new());
}

#[tokio::test]
async fn later_operations_record_an_error_after_something_was_applied() {
    let stage = Stage::new().await;
    install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    for event in ["post-upgrade", "post-rollback", "post-delete"] {
        stage.on(event, |_| Err(HandlerError::new("too late")));
    }
    let reporter = |event: &str| format!("the `{event}` handler of the program at here failed: too late");
    let last = || async { stage.records().await.pop().expect("there is one") };

    assert!(upgrade(&stage.session, &stage.upgrade_request(), &mut Silent).await.is_err());
    let (number, status, text) = last().await;
    assert_eq!((number, status), (2, Status::Failed));
    assert_eq!(text, format!("Upgrade \"demo\" failed: {}", reporter("post-upgrade")));

    let back = RollbackRequest {
        name: "demo".into(),
        namespace: "default".into(),
        to: pintle::release::VersionRef::Number(1),
        ..RollbackRequest::default()
    };
    assert!(rollback(&stage.session, &back, &mut Silent).await.is_err());
    let (number, status, text) = last().await;
    assert_eq!((number, status), (3, Status::Failed));
    assert!(text.contains(&reporter("post-rollback")), "{text}");

    let gone = UninstallRequest {
        name: "demo".into(),
        namespace: "default".into(),
        keep_history: true,
        ..UninstallRequest::default()
    };
    assert!(uninstall(&stage.session, &gone, &mut Silent).await.is_err());
    let (number, status, text) = last().await;
    assert_eq!((number, status), (3, Status::Uninstalled));
    assert_eq!(text, format!("Uninstallation complete, but {}", reporter("post-delete")));
}

/// Returns the object that is a test.
fn test_of(objects: &mut [RenderedObject]) -> &mut Object {
    let is_test = |object: &Object| object.annotation("helm.sh/hook") == Some("test");
    &mut objects.iter_mut().find(|rendered| is_test(&rendered.object)).expect("there is a test").object
}

#[tokio::test]
async fn a_test_that_fails_is_told_after_the_end_of_tests() {
    let stage = Stage::new().await;
    install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    stage.note_all();
    // A test of a kind that the cluster does not know fails.
    stage.on("pre-test", |context| {
        test_of(context.objects_mut()?).body_mut().insert("kind".into(), "Nothing".into());
        Ok(())
    });
    let request = TestRequest { name: "demo".into(), namespace: "default".into(), ..TestRequest::default() };
    let outcome = test(&stage.session, &request, &mut Silent).await;
    let failed = outcome.map_or(true, |tested| tested.failure.is_some());
    assert!(failed);
    assert_eq!(
        stage.notes(),
        ["pre-test 1 web one test", "post-test 1 web one test", "failed-test 1 web one test"]
    );
}

#[tokio::test]
async fn previews_of_the_other_operations_tell_as_much_as_they_do() {
    let stage = Stage::new().await;
    install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    stage.note_all();
    stage.server.changes();
    for dry_run in [DryRun::Client, DryRun::Server] {
        let mut request = stage.upgrade_request();
        request.target.dry_run = dry_run;
        upgrade(&stage.session, &request, &mut Silent).await.expect("can be previewed");
        let events: Vec<String> =
            stage.notes().iter().map(|note| note.split(' ').next().unwrap_or_default().to_owned()).collect();
        let expected = ["chart-loaded", "pre-render", "post-render", "pre-validate", "post-validate"];
        assert_eq!(events, expected);
        let back = RollbackRequest {
            name: "demo".into(),
            namespace: "default".into(),
            to: pintle::release::VersionRef::Number(1),
            dry_run,
            ..RollbackRequest::default()
        };
        rollback(&stage.session, &back, &mut Silent).await.expect("can be previewed");
        assert_eq!(stage.notes(), Vec::<String>::new());
    }
    assert_eq!(stage.server.changes(), Vec::<String>::new());
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

#[tokio::test]
async fn a_script_that_loops_is_stopped_by_the_user() {
    for event in ["pre-render", "pre-install", "post-install", "ready"] {
        let mut stage = Stage::new().await;
        let scripting = pintle::Scripting::new(pintle::lua::Services::default(), pintle::Granted::default());
        stage.session.events = stage.session.events.with_scripting(scripting);
        fs::create_dir_all(stage.chart.join("ext/lua")).expect("can be made");
        let body = if event == "ready" { "return false" } else { "while true do pcall(error) end" };
        let ask = "pcall(kubernetes.get, 'v1', 'ConfigMap', 'cancel')";
        let script = format!("events.on('{event}', function() log.info('here') {ask} {body} end)");
        fs::write(stage.chart.join("ext/lua/chart.lua"), script).expect("can be written");
        let cancel = Cancel::default();
        let session = Session { cancel: cancel.clone(), ..stage.session.clone() };
        *stage.server.2.lock().expect("no panic") = Some(cancel);
        let request = InstallRequest { name: event.to_owned(), ..stage.request() };
        let mut reporter = LogReporter::default();
        let error = install(&session, &request, &mut reporter).await.expect_err("it is stopped");
        assert!(matches!(error, Error::Cancelled), "{event}: {error}");
        // A handler that waits is called again, and its log so far is reported.
        assert!(reporter.0.first().is_some_and(|line| line.contains("here")), "{event}: {:?}", reporter.0);
    }
}

#[tokio::test]
async fn the_record_tells_of_an_error_after_something_was_applied() {
    for event in ["post-install", "wait", "ready"] {
        let stage = Stage::new().await;
        stage.on(event, |_| Err(HandlerError::new("too late")));
        let error =
            install(&stage.session, &stage.request(), &mut Silent).await.expect_err("a handler fails");
        let text = format!("the `{event}` handler of the program at here failed: too late");
        assert_eq!(error.to_string(), text);
        let reporter = format!("Release \"demo\" failed: {text}");
        assert_eq!(stage.records().await, [(1, Status::Failed, reporter)]);
        assert_eq!(stage.server.objects(), ["one -"]);
    }
}

#[tokio::test]
async fn what_is_about_to_be_sent_can_change_and_is_recorded() {
    let stage = Stage::new().await;
    stage.on("pre-install", |context| {
        let objects = context.objects_mut()?;
        for rendered in objects.iter_mut() {
            rendered.object.set_label("by", "handler");
        }
        let object = Object::from_id(&ObjectId::new("v1", "ConfigMap", "", "two"));
        objects.push(RenderedObject { template: None, object });
        Ok(())
    });
    let version = install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    assert_eq!(stage.server.objects(), ["one handler", "two -"]);
    assert!(version.manifest.contains("# Source: web/pre-install.yaml\n"), "{}", version.manifest);
    assert_eq!(version.hooks.len(), 1);
    assert!(version.hooks[0].manifest.contains("by: handler"));
    // The next version is compared with what is recorded.
    upgrade(&stage.session, &stage.upgrade_request(), &mut Silent).await.expect("can be upgraded");
    assert_eq!(stage.server.objects(), ["one -"]);
}

#[tokio::test]
async fn a_preview_stops_before_the_operation_itself() {
    let stage = Stage::new().await;
    stage.note_all();
    let request = InstallRequest { dry_run: DryRun::Server, ..stage.request() };
    install(&stage.session, &request, &mut Silent).await.expect("can be previewed");
    assert_eq!(stage.notes().last().map(String::as_str), Some("post-validate 1 web one test"));
    assert!(stage.server.objects().is_empty());
}

#[tokio::test]
async fn tests_can_change_for_a_run_and_their_record_does_not() {
    let stage = Stage::new().await;
    install(&stage.session, &stage.request(), &mut Silent).await.expect("can be installed");
    stage.on("pre-test", |context| {
        test_of(context.objects_mut()?).set_label("by", "handler");
        Ok(())
    });
    let request = TestRequest { name: "demo".into(), namespace: "default".into(), ..TestRequest::default() };
    let mut reporter = LogReporter::default();
    let tested = test(&stage.session, &request, &mut reporter).await.expect("can be tested");
    assert!(tested.failure.is_none() && reporter.0.is_empty(), "{:?} {:?}", tested.failure, reporter.0);
    assert_eq!(stage.server.objects(), ["one -", "test handler"]);
    let hook = &tested.version.hooks[0];
    assert!(!hook.manifest.contains("handler") && hook.last_run.completed.is_some());
    // Other objects are read-only at this event: a change is ignored with a warning.
    stage.on("pre-test", |context| {
        context.objects_mut()?.iter_mut().for_each(|rendered| rendered.object.set_label("by", "nobody"));
        Ok(())
    });
    test(&stage.session, &request, &mut reporter).await.expect("can be tested");
    assert!(
        reporter.0.iter().any(|line| line.contains("changed objects that are not tests")),
        "{:?}",
        reporter.0
    );
    assert_eq!(stage.server.objects(), ["one -", "test nobody"]);
}

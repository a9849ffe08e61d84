//! The embedded API under stress: kills, many clients, many objects, garbage input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Precondition, Store, key};
use pintle_embedded::{Api, Clock, Options, Pace, SystemClock, serve};
use pintle_tree::{Node, json};

async fn api(store: Store) -> Api {
    let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 7 };
    Api::start(options).await.unwrap()
}

async fn ask(api: &Api, method: Method, path: &str, body: impl Into<Bytes>) -> (u16, Node) {
    let request = Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    let response = api.call(request.body(body.into()).unwrap()).await;
    let code = response.status().as_u16();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    (code, json::read_exact(&text).unwrap_or_default())
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn config_map(name: &str, value: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"v":"{value}"}}}}"#
    )
}

async fn with_controllers(store: Store) -> Api {
    let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 7 };
    Api::start_with_controllers(options, Pace::Fast).await.unwrap()
}

/// Runs this test binary again, with one of its tests.
fn this_binary(test: &str) -> Command {
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::{test}"), "--nocapture", "--test-threads=1"]);
    command
}

const FILE: &str = "PINTLE_TEST_FILE";
const CONTROLLERS: &str = "PINTLE_TEST_CONTROLLERS";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment(name: &str, replicas: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"app":"{name}"}}}},
            "template":{{"metadata":{{"labels":{{"app":"{name}"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    )
}

fn at<'n>(node: &'n Node, path: &[&str]) -> &'n Node {
    path.iter().try_fold(node, |node, step| node.get(step)).unwrap_or(&Node::Nil)
}

/// A child process like the writer below, with controllers, so that it is killed in the middle of a rollout.
#[tokio::test]
async fn child_with_controllers_to_be_killed() {
    let Some(file) = std::env::var_os(FILE).filter(|_| std::env::var_os(CONTROLLERS).is_some()) else {
        return;
    };
    let store = Store::in_file(Path::new(&file), HistoryWindow::default()).unwrap();
    let begin = store.revision();
    let api = with_controllers(store).await;
    for index in begin.. {
        let (code, made) = ask(&api, Method::POST, DEPLOYMENTS, deployment(&format!("d{index}"), 2)).await;
        assert_eq!(code, 201, "{made:?}");
        println!("acknowledged {index} {}", at(&made, &["metadata", "resourceVersion"]).as_str().unwrap());
    }
}

/// The child process that is killed: writes objects and prints which are acknowledged.
#[tokio::test]
async fn child_writer_to_be_killed() {
    let Some(file) = std::env::var_os(FILE).filter(|_| std::env::var_os(CONTROLLERS).is_none()) else {
        return;
    };
    let store = Store::in_file(Path::new(&file), HistoryWindow::default()).unwrap();
    for index in store.revision().. {
        let object = json::read_exact(config_map(&format!("o{index}"), "x").as_bytes()).unwrap();
        let stored = store
            .put(key("configmaps", "a", &format!("o{index}")), Precondition::Absent, object)
            .await
            .unwrap();
        println!("acknowledged {index} {}", stored.revision);
    }
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.db");
    let mut last = None;
    for round in 0..number("PINTLE_TEST_KILLS", 12) {
        let mut child =
            this_binary("child_writer_to_be_killed").env(FILE, &file).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Each round kills at a different point: after another number of writes, during the next one or before it.
        let wanted = 1 + round % 7;
        let mut acknowledged = lines.filter_map(|line| {
            let mut words = line.split("acknowledged ").nth(1)?.split(' ');
            Some((words.next()?.parse::<u64>().ok()?, words.next()?.parse::<u64>().ok()?))
        });
        last = acknowledged.by_ref().take(wanted).last().or(last);
        child.kill().unwrap();
        last = acknowledged.last().or(last);
        child.wait().unwrap();
        let store = Store::in_file(&file, HistoryWindow::default()).unwrap();
        let (index, revision) = last.unwrap();
        assert!(store.revision() >= revision, "round {round}: {} is before {revision}", store.revision());
        for index in 0..=index {
            let there = store.get(&key("configmaps", "a", &format!("o{index}")));
            assert!(there.is_some(), "round {round}: o{index} is lost");
        }
    }
}

#[test]
fn an_interrupted_rollout_continues_when_the_file_is_reopened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for round in 0..number("PINTLE_TEST_KILLS", 12).div_ceil(4) {
        let mut child = this_binary("child_with_controllers_to_be_killed")
            .env(FILE, &file)
            .env(CONTROLLERS, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut indexes = lines
            .filter_map(|line| line.split("acknowledged ").nth(1)?.split(' ').next()?.parse::<u64>().ok());
        let mut acknowledged: Vec<u64> = indexes.by_ref().take(1 + round).collect();
        assert_eq!(acknowledged.len(), 1 + round, "it ended by itself");
        child.kill().unwrap();
        acknowledged.extend(indexes);
        child.wait().unwrap();
        runtime.block_on(async {
            let api = with_controllers(Store::in_file(&file, HistoryWindow::default()).unwrap()).await;
            for index in acknowledged {
                let path = format!("{DEPLOYMENTS}/d{index}");
                let (code, there) = ask(&api, Method::GET, &path, "").await;
                assert_eq!(code, 200, "round {round}: d{index} is lost");
                assert_eq!(
                    at(&there, &["status", "readyReplicas"]),
                    &Node::Int(2),
                    "round {round}: {there:?}"
                );
            }
        });
    }
}

/// Follows a watch until an object `zz-end` appears; returns the objects and the revision at that time.
async fn replay(api: Api, path: String) -> (BTreeMap<String, String>, String) {
    let request = Request::get(path).body(Bytes::new()).unwrap();
    let mut body = api.call(request).await.into_body();
    let (mut there, mut last, mut rest) = (BTreeMap::new(), 0, Vec::new());
    loop {
        rest.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event = json::read_exact(&line).unwrap();
            let text = |path: &[&str]| at(&event, path).as_str().unwrap_or_default().to_owned();
            let (name, version) =
                (text(&["object", "metadata", "name"]), text(&["object", "metadata", "resourceVersion"]));
            let revision: u64 = version.parse().unwrap();
            assert!(revision > last, "{revision} after {last}");
            last = revision;
            let before = there.get(&name).cloned();
            match text(&["type"]).as_str() {
                "ADDED" => assert_eq!(before, None, "{name} is added twice"),
                "MODIFIED" | "DELETED" => assert!(before.is_some(), "{name} was not there"),
                other => panic!("{other}: {event:?}"),
            }
            if text(&["type"]) == "DELETED" {
                there.remove(&name);
            } else {
                there.insert(name.clone(), version.clone());
            }
            if name == "zz-end" {
                return (there, version);
            }
        }
    }
}

/// A hundred clients watch pods while workloads are rolled out, scaled and deleted: replaying the events gives each
/// of them exactly the result of a list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_watchers_of_running_workloads_see_what_a_list_returns() {
    let api = with_controllers(Store::in_memory(HistoryWindow::default())).await;
    let pods = "/api/v1/namespaces/default/pods";
    let (_, before) = ask(&api, Method::GET, pods, "").await;
    let start = at(&before, &["metadata", "resourceVersion"]).as_str().unwrap().to_owned();
    let watchers: Vec<_> = (0..100)
        .map(|_| {
            let path = format!("{pods}?watch=1&resourceVersion={start}&timeoutSeconds=600");
            tokio::spawn(replay(api.clone(), path))
        })
        .collect();
    let writers: Vec<_> = (0..number("PINTLE_TEST_WRITERS", 4))
        .map(|index| {
            let api = api.clone();
            tokio::spawn(async move {
                let name = format!("w{index}");
                let path = format!("{DEPLOYMENTS}/{name}");
                assert_eq!(ask(&api, Method::POST, DEPLOYMENTS, deployment(&name, 3)).await.0, 201);
                assert_eq!(ask(&api, Method::DELETE, &path, "").await.0, 200);
                assert_eq!(ask(&api, Method::POST, DEPLOYMENTS, deployment(&name, 1)).await.0, 201);
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let last = r#"{"metadata":{"name":"zz-end"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    assert_eq!(ask(&api, Method::POST, pods, last).await.0, 201);
    for watcher in watchers {
        let (there, version) = watcher.await.unwrap();
        let exactly = format!("{pods}?resourceVersion={version}&resourceVersionMatch=Exact");
        let (code, list) = ask(&api, Method::GET, &exactly, "").await;
        assert_eq!(code, 200);
        let text = |item: &Node, field| at(item, &["metadata", field]).as_str().unwrap().to_owned();
        let items = at(&list, &["items"]).as_list().unwrap();
        let listed: BTreeMap<String, String> =
            items.iter().map(|item| (text(item, "name"), text(item, "resourceVersion"))).collect();
        assert_eq!(there, listed);
        assert!(listed.len() > number("PINTLE_TEST_WRITERS", 4), "{}", listed.len());
    }
}

/// `replicas: 1000000000` must not exhaust memory.
#[tokio::test]
async fn the_number_of_pods_per_owner_is_limited() {
    let api = with_controllers(Store::in_memory(HistoryWindow::default())).await;
    let body = r#"{"metadata":{"name":"j"},"spec":{"parallelism":2000000000,"completions":2000000000,"completionMode":"Indexed",
        "template":{"spec":{"restartPolicy":"Never","schedulingGates":[{"name":"a.b/c"}],"containers":[{"name":"c","image":"i"}]}}}}"#;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let (code, answer) = ask(&api, Method::POST, jobs, body).await;
    assert_eq!(code, 201, "{answer:?}");
    let (_, pods) = ask(&api, Method::GET, "/api/v1/namespaces/default/pods", "").await;
    assert_eq!(at(&pods, &["items"]).as_list().unwrap().len(), 1_000);
    let (_, event) = ask(&api, Method::GET, "/api/v1/events?fieldSelector=reason=FailedCreate", "").await;
    let message = at(&at(&event, &["items"]).as_list().unwrap()[0], &["message"]).as_str().unwrap();
    assert!(message.contains("an owner can have at most 1000 pods"), "{message}");
}

const FILLED: &str = "PINTLE_TEST_FILLED";

/// The child process that is measured: many objects, and one that is overwritten again and again.
#[tokio::test]
async fn child_that_fills_a_cluster() {
    let Some(count) = std::env::var(FILLED).ok().and_then(|text| text.parse::<usize>().ok()) else { return };
    let api = api(Store::in_memory(HistoryWindow::default())).await;
    let all = "/api/v1/namespaces/default/configmaps";
    let high = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().to_owned();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let empty = high();
    for index in 0..count {
        let body = config_map(&format!("o{index:06}"), &"x".repeat(500));
        assert_eq!(ask(&api, Method::POST, all, body).await.0, 201);
    }
    let full = high();
    for index in 0..count {
        let value = format!("{index}{}", "x".repeat(500));
        let (code, _) =
            ask(&api, Method::PUT, &format!("{all}/o000000"), config_map("o000000", &value)).await;
        assert_eq!(code, 200);
    }
    println!("measured {empty} {full} {}", high());
}

/// An object takes a few times its size, and overwritten states are dropped.
#[test]
fn memory_is_bounded_by_the_stored_objects() {
    if !Path::new("/proc/self/status").exists() {
        return println!("skipped: this system does not tell");
    }
    let count = number("PINTLE_TEST_OBJECTS", 2_000);
    let output = this_binary("child_that_fills_a_cluster").env(FILLED, count.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures = said.split("measured ").nth(1).unwrap_or_else(|| panic!("{said}"));
    let figures: Vec<usize> =
        figures.lines().next().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    let (empty, full, after) = (figures[0], figures[1], figures[2]);
    println!("{count} objects: {empty} kB before, {full} kB with them, {after} kB after as many changes");
    // The history holds at most 64 MiB of JSON and may fill up only now.
    let (window, slack) = (64 << 10, 16 << 10);
    assert!(full - empty <= count * 4 + window + slack, "{full} kB");
    assert!(after <= full + window + slack, "{after} kB after {full} kB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_concurrent_clients_lose_no_update() {
    let api = api(Store::in_memory(HistoryWindow::default())).await;
    ask(&api, Method::POST, "/api/v1/namespaces/default/configmaps", config_map("counter", "0")).await;
    let wins = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..100)
        .map(|_| {
            let (api, wins) = (api.clone(), Arc::clone(&wins));
            tokio::spawn(async move {
                for _ in 0..5 {
                    let path = "/api/v1/namespaces/default/configmaps/counter";
                    let (_, object) = ask(&api, Method::GET, path, "").await;
                    let count: u64 =
                        object.get("data").unwrap().get("v").unwrap().as_str().unwrap().parse().unwrap();
                    let text = String::from_utf8(json::write(&object).unwrap()).unwrap();
                    let text = text.replace(&format!(r#""v":"{count}""#), &format!(r#""v":"{}""#, count + 1));
                    let (code, _) = ask(&api, Method::PUT, path, text).await;
                    assert!(matches!(code, 200 | 409), "{code}");
                    wins.fetch_add(u64::from(code == 200), Ordering::SeqCst);
                    ask(&api, Method::GET, "/api/v1/configmaps?limit=2", "").await;
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let (_, object) = ask(&api, Method::GET, "/api/v1/namespaces/default/configmaps/counter", "").await;
    let counted = object.get("data").unwrap().get("v").unwrap().as_str().unwrap().to_owned();
    assert_eq!(counted, wins.load(Ordering::SeqCst).to_string());
}

#[tokio::test]
async fn lists_and_watches_are_consistent_with_many_objects() {
    let count = number("PINTLE_TEST_OBJECTS", 2_000);
    let api = api(Store::in_memory(HistoryWindow { events: 1_000, bytes: 1 << 30 })).await;
    let all = "/api/v1/namespaces/default/configmaps";
    let (_, before) = ask(&api, Method::GET, all, "").await;
    let start = before.get("metadata").unwrap().get("resourceVersion").unwrap().as_str().unwrap().to_owned();
    for index in 0..count {
        let (code, _) =
            ask(&api, Method::POST, all, config_map(&format!("o{index:06}"), &"x".repeat(500))).await;
        assert_eq!(code, 201);
    }
    let (mut path, mut names) = (format!("{all}?limit=300"), Vec::new());
    loop {
        let (code, page) = ask(&api, Method::GET, &path, "").await;
        assert_eq!(code, 200);
        for item in page.get("items").unwrap().as_list().unwrap() {
            names.push(item.get("metadata").unwrap().get("name").unwrap().as_str().unwrap().to_owned());
        }
        match page.get("metadata").unwrap().get("continue").and_then(Node::as_str) {
            Some(token) => path = format!("{all}?limit=300&continue={token}"),
            None => break,
        }
    }
    assert_eq!(names.len(), count + 1, "the certificate is there too");
    assert!(names.is_sorted());
    let (_, event) =
        ask(&api, Method::GET, &format!("{all}?watch=1&timeoutSeconds=1&resourceVersion={start}"), "").await;
    let gone = event.get("object").unwrap();
    assert_eq!(gone.get("code"), Some(&Node::Int(410)), "what left the window is too old");
    assert!(gone.get("message").unwrap().as_str().unwrap().starts_with("too old resource version: "));
}

/// A deterministic sequence of pseudorandom numbers.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

#[tokio::test]
async fn garbage_requests_are_answered_without_a_panic() {
    let api = with_controllers(Store::in_memory(HistoryWindow::default())).await;
    let mut random = Random(42);
    let paths = [
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/pods/x/status",
        "/apis/apps/v1/deployments",
        "/api/v1/namespaces/default/services/x/scale",
        "/openapi/v3/api/v1",
        "/apis/apps/v1/namespaces/default/deployments/d",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/api/v1/watch/pods",
        "/api/v1/namespaces/default/pods/p/log",
    ];
    let queries = [
        "",
        "?limit=-1",
        "?watch=1&timeoutSeconds=1&resourceVersion=99",
        "?labelSelector=a%ff",
        "?fieldSelector==",
        "?continue=e30",
        "?dryRun=All&fieldManager=%00",
        "?resourceVersion=18446744073709551616",
    ];
    let bodies = [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":1}}}"#,
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{},"template":[]}}"#,
        r#"[{"op":"add","path":"/metadata/labels/a~2","value":{}}]"#,
        r#"{"metadata":{"finalizers":[null,1,"a"],"ownerReferences":[{}],"managedFields":[{"fieldsV1":{"f:":1}}]}}"#,
        r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":[]}}}],"names":null},"metadata":{"name":"a.b"}}"#,
        "k8s\0\u{1}\u{2}\u{3}",
        "",
        "null",
        "[[[[",
        "a: &a [*a, *a]",
    ];
    let types = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/apply-patch+yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "text/x",
    ];
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"];
    for _ in 0..number("PINTLE_TEST_NONSENSE", 3_000) {
        let mut body = bodies[random.next(bodies.len())].as_bytes().to_vec();
        for _ in 0..random.next(3) {
            let at = random.next(body.len());
            if let Some(byte) = body.get_mut(at) {
                *byte = random.next(256) as u8;
            }
        }
        let mut query = queries[random.next(queries.len())];
        if query.contains("watch") && random.next(20) > 0 {
            query = "";
        }
        let method = methods[random.next(methods.len())];
        let uri = format!("{}{query}", paths[random.next(paths.len())]);
        let request = Request::builder()
            .method(method)
            .uri(&uri)
            .header("Content-Type", types[random.next(types.len())])
            .header(
                "Accept",
                ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", "*/*", ";;,;"]
                    [random.next(4)],
            );
        let response = api.call(request.body(Bytes::from(body)).unwrap()).await;
        let code = response.status().as_u16();
        let is_json = response.headers().get("Content-Type").is_some_and(|it| it == "application/json");
        // An accepted request may be a watch, which does not end; only errors are read.
        if code >= 400 && is_json {
            let body = response.into_body().collect().await.unwrap();
            let status = json::read_exact(&body.to_bytes()).unwrap();
            assert_eq!(at(&status, &["kind"]), &Node::from("Status"), "{status:?}");
            assert_eq!(at(&status, &["code"]), &Node::Int(i64::from(code)), "{status:?}");
        }
    }
    assert_eq!(ask(&api, Method::GET, "/api/v1/namespaces", "").await.0, 200);
}

#[tokio::test]
async fn a_port_survives_garbage_and_large_bodies() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let api = api(Store::in_memory(HistoryWindow::default())).await;
    let server = tokio::spawn(async move {
        serve::serve(api, listener, &serve::Settings::default(), std::future::pending()).await
    });
    let say = |text: Vec<u8>, is_all: bool| async move {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let all_said = stream.write_all(&text).await.is_ok();
        if is_all {
            // The server would wait for the rest. It may have closed the connection already.
            let _ = stream.shutdown().await;
        }
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        // The connection may be reset, but it must not stay open.
        let _ = tokio::time::timeout(Duration::from_secs(120), read).await.expect("the connection ends");
        (all_said, String::from_utf8_lossy(&answer).into_owned())
    };
    for nonsense in [
        &b"\0\0\0"[..],
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ] {
        say(nonsense.to_vec(), true).await;
    }
    let large = vec![b'x'; 20 << 20];
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        large.len()
    );
    let (all_said, answer) = say([head.into_bytes(), large].concat(), false).await;
    assert!(all_said, "the connection breaks before the client reads why");
    assert!(
        answer.contains("413") && answer.contains("Request entity too large: limit is 3145728"),
        "{answer:.300}"
    );
    let (_, answer) =
        say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec(), false).await;
    assert!(answer.ends_with("ok"), "{answer}");
    server.abort();
}

#[tokio::test]
async fn an_edit_that_removes_the_last_finalizer_deletes_the_object() {
    let api = api(Store::in_memory(HistoryWindow::default())).await;
    let all = "/api/v1/namespaces/default/configmaps";
    let body = r#"{"metadata":{"name":"held","finalizers":["example.com/keep"]}}"#;
    assert_eq!(ask(&api, Method::POST, all, body).await.0, 201);
    assert_eq!(ask(&api, Method::DELETE, &format!("{all}/held"), "").await.0, 200);
    let release = |object: &mut Node| {
        let metadata = object.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
        metadata.is_some_and(|metadata| metadata.remove("finalizers").is_some())
    };
    api.edit(&key("configmaps", "default", "held"), release).await.unwrap();
    assert_eq!(ask(&api, Method::GET, &format!("{all}/held"), "").await.0, 404);
    api.edit(&key("configmaps", "default", "held"), release).await.unwrap();
}

/// A clock that blocks one thread when it asks for the time, until the gate is opened.
struct Gate {
    /// The thread to block, and how many calls it may make before that.
    armed: Mutex<Option<(ThreadId, usize)>>,
    reached: Mutex<Sender<()>>,
    open: Mutex<Receiver<()>>,
}

impl Clock for Gate {
    fn now(&self) -> Duration {
        let stops = {
            let mut armed = self.armed.lock().unwrap();
            match armed.as_mut() {
                Some((thread, 0)) if *thread == thread::current().id() => armed.take().is_some(),
                Some((thread, left)) if *thread == thread::current().id() => {
                    *left -= 1;
                    false
                }
                _ => false,
            }
        };
        if stops {
            self.reached.lock().unwrap().send(()).unwrap();
            self.open.lock().unwrap().recv().unwrap();
        }
        SystemClock.now()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_apply_that_is_overtaken_wherever_it_stands_is_laid_over_what_came_first() {
    const MOST: usize = 20;
    let (reached, at_gate) = channel();
    let (opener, open) = channel();
    let gate =
        Arc::new(Gate { armed: Mutex::new(None), reached: Mutex::new(reached), open: Mutex::new(open) });
    let store = Store::in_memory(HistoryWindow::default());
    let options = Options { catalog: ApiCatalog::newest(), store, clock: gate.clone(), seed: 7 };
    let api = Api::start(options).await.unwrap();
    let mut overtaken = 0;
    for times in 0..MOST {
        let name = format!("a{times}");
        let applying = {
            let (api, gate, name) = (api.clone(), gate.clone(), name.clone());
            thread::spawn(move || {
                *gate.armed.lock().unwrap() = Some((thread::current().id(), times));
                let path = format!("/api/v1/namespaces/default/configmaps/{name}?fieldManager=slow");
                let body = format!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"slow":"1"}}}}"#
                );
                let request = Request::patch(path)
                    .header("Content-Type", "application/apply-patch+yaml")
                    .body(body.into());
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let code = runtime.block_on(api.call(request.unwrap())).status().as_u16();
                // The request ended before it made enough calls to be blocked.
                if gate.armed.lock().unwrap().take().is_some() {
                    gate.reached.lock().unwrap().send(()).unwrap();
                    return (code, false);
                }
                (code, true)
            })
        };
        tokio::task::block_in_place(|| at_gate.recv().unwrap());
        if !applying.is_finished() {
            // Either it waits at the gate, or it is about to end.
            let path = "/api/v1/namespaces/default/configmaps?fieldManager=quick";
            let (code, _) = ask(&api, Method::POST, path, config_map(&name, "quick")).await;
            assert!(code == 201 || code == 409, "{code}");
            opener.send(()).unwrap();
        }
        let (code, stopped) = tokio::task::block_in_place(|| applying.join().unwrap());
        assert!(code == 200 || code == 201, "stopped after {times}: {code}");
        if !stopped {
            break;
        }
        overtaken += usize::from(code == 200);
        let path = format!("/api/v1/namespaces/default/configmaps/{name}");
        let (_, object) = ask(&api, Method::GET, &path, "").await;
        let data = object.get("data").cloned().unwrap_or_default();
        assert_eq!(data.get("slow").and_then(Node::as_str), Some("1"), "stopped after {times}");
        if code == 200 {
            assert_eq!(data.get("v").and_then(Node::as_str), Some("quick"), "stopped after {times}");
        }
    }
    assert!(overtaken > 0, "nobody was ever overtaken");
}

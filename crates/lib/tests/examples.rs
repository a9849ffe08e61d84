//! Runs the examples of the library.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle::cluster::store::NativeStore;
use pintle::{Session, embedded};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/events.rs"]
mod events;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/install.rs"]
mod install;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/list.rs"]
mod list;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/on_event.rs"]
mod on_event;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/rehearse.rs"]
mod rehearse;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/relocate.rs"]
mod relocate;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/render.rs"]
mod render;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/scripts.rs"]
mod scripts;
#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../../../examples/library/server.rs"]
mod server;

fn examples(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

#[tokio::test]
async fn handlers_of_a_program_set_values_refuse_and_label() {
    let text = events::rendered(examples("charts/web"), 4).await.expect("it renders");
    assert!(text.contains("replicas: 4\n"), "{text}");
    let (objects, labels) =
        (text.matches("\nkind: ").count(), text.matches("example.com/team: blue").count());
    assert!(objects > 1 && labels == objects, "{labels} of {objects}:\n{text}");
    let refused = events::rendered(examples("charts/web"), 6).await.expect_err("too many").to_string();
    assert!(refused.contains("6 replicas are more than 5"), "{refused}");
}

#[tokio::test]
async fn scripts_of_a_chart_run_beside_handlers_of_a_program() {
    let text = scripts::rendered(examples("scripts/labels")).await.expect("it renders");
    let notes: Vec<&str> = text.lines().take_while(|line| line.starts_with("# ")).collect();
    assert_eq!(
        notes,
        [
            "# chart labels changed objects[1].metadata.labels at post-render (ext/lua/chart.lua:3)",
            "# 1 objects after the scripts",
        ]
    );
    assert!(text.contains("example.com/team: blue"), "{text}");
    let refused =
        scripts::rendered(examples("scripts/permissions")).await.expect_err("it asks for more").to_string();
    assert!(refused.contains("asks for permissions that were not granted: filesystem, os"), "{refused}");
}

#[tokio::test]
async fn a_chart_is_rendered() {
    let text = render::rendered(examples("charts/web")).await.expect("it renders");
    assert!(text.contains("kind: Deployment") && text.contains("name: demo"), "{text}");
}

#[tokio::test]
async fn a_release_is_installed_and_listed() {
    let api = embedded::Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster.clone())));
    let version = install::installed(&session, examples("charts/web")).await.expect("it becomes ready");
    assert_eq!(version.info.status.as_str(), "deployed");
    assert_eq!(list::releases(cluster).await.expect("they are listed"), ["default/demo"]);
}

#[tokio::test]
async fn a_handler_in_rust_labels_every_object() {
    let text = on_event::labelled(examples("charts/web")).await.expect("it renders");
    let objects = text.matches("\nkind: ").count();
    assert!(objects > 1 && text.matches("team: blue").count() == objects, "{text}");
}

#[tokio::test]
async fn a_chart_is_rehearsed() {
    let report = rehearse::rehearsed(examples("charts/web")).await.expect("it runs");
    let stages: Vec<&str> = report.stages.iter().map(|stage| stage.name).collect();
    assert!(stages.contains(&"install") && stages.contains(&"uninstall"), "{stages:?}");
    assert!(report.stages.iter().all(|stage| stage.error.is_empty()), "no stage fails");
}

#[test]
fn images_are_pointed_at_another_registry() {
    let text = relocate::overrides(&examples("charts/web"), "registry.example.com").expect("it renders");
    assert!(text.contains("registry.example.com"), "{text}");
}

/// Sends a request, and returns the connection.
async fn request(address: SocketAddr, line: &str, body: &str) -> BufReader<TcpStream> {
    let mut connection = TcpStream::connect(address).await.expect("it listens");
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    connection.write_all(format!("{head}{body}").as_bytes()).await.expect("it reads");
    BufReader::new(connection)
}

async fn answer(address: SocketAddr, line: &str, body: &str) -> String {
    let mut text = String::new();
    request(address, line, body).await.read_to_string(&mut text).await.expect("it answers");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_lists_watches_plans_and_upgrades_releases() {
    let api = embedded::Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let serving = tokio::spawn(server::serve(listener, session, examples("charts")));
    let mut watched = request(address, "GET /watch", "").await.lines();
    let mut until = async |part: &str| {
        while let Some(line) = watched.next_line().await.expect("the watch goes on") {
            if line.contains(part) {
                return line;
            }
        }
        panic!("the watch has ended before {part:?}");
    };
    until("Synced").await;
    let planned = answer(address, "POST /plan/default/demo/web", "replicaCount: 2").await;
    assert!(planned.contains("200 OK") && planned.contains("create "), "{planned}");
    assert!(!answer(address, "GET /releases", "").await.contains("demo"), "a plan changes nothing");
    // Several at once, on several threads.
    let [one, two] = ["demo", "other"].map(|name| format!("POST /upgrade/default/{name}/web"));
    let answers = futures::join!(answer(address, &one, ""), answer(address, &two, "replicaCount: 2"));
    assert!(answers.0.contains("version 1") && answers.1.contains("version 1"), "{answers:?}");
    assert!(answer(address, &one, "replicaCount: 3").await.contains("version 2"));
    let line = until("number: 2").await;
    assert!(line.contains("Applied") && line.contains("\"demo\""), "{line}");
    let listed = answer(address, "GET /releases", "").await;
    assert!(listed.contains("demo deployed\nother deployed\n"), "{listed}");
    for wrong in
        ["POST /upgrade/default/demo/..", "POST /plan/default/demo/none", "POST /plan/default/demo/web"]
    {
        let refused = answer(address, wrong, "{").await;
        assert!(refused.contains("400 Bad Request"), "{wrong}: {refused}");
    }
    serving.abort();
}

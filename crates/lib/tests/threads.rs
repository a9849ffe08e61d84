//! Charts, requests and results are `Send`, so that a server can render many charts at once.

use std::path::PathBuf;
use std::thread;

use futures::FutureExt as _;
use pintle::ops::{InstallRequest, LintRequest, TemplateRequest, Templated, install, template};
use pintle::{Error, Session, Silent, ValuesLayer};
use pintle_chart::Chart;
use pintle_render::{Rendered, Target};
use pintle_tree::{Map, Node};

fn sendable<T: Send + 'static>() {}

#[test]
fn what_a_server_holds_can_be_sent() {
    sendable::<Chart>();
    sendable::<Map<Node>>();
    sendable::<TemplateRequest>();
    sendable::<LintRequest>();
    sendable::<Target>();
    sendable::<Rendered>();
    sendable::<Templated>();
    sendable::<Error>();
}

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/charts")
}

fn rendered(chart: &str) -> Vec<u8> {
    let request = TemplateRequest {
        chart: examples().join(chart).into(),
        name: "demo".to_owned(),
        ..TemplateRequest::default()
    };
    let rendered = template(&Session::offline(), &request, &mut Silent).now_or_never();
    rendered.expect("no cluster to wait for").expect("the examples render").text
}

#[test]
fn many_threads_render_the_same_bytes() {
    let charts = ["web", "umbrella", "library-user"];
    let wanted: Vec<Vec<u8>> = charts.iter().map(|chart| rendered(chart)).collect();
    assert!(wanted.iter().all(|text| text.starts_with(b"---\n# Source: ")));
    let workers: Vec<_> = (0..8)
        .map(|_| thread::spawn(move || (0..5).map(|_| charts.map(rendered)).collect::<Vec<_>>()))
        .collect();
    for worker in workers {
        for round in worker.join().expect("a thread renders to its end") {
            assert_eq!(round.as_slice(), wanted);
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn other_tasks_run_while_a_chart_and_its_values_are_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let values = folder.path().join("values.yaml");
    let made = std::process::Command::new("mkfifo").arg(&values).status().expect("`mkfifo` runs");
    assert!(made.success());
    let api = pintle::embedded::Embedded::default().open().await.expect("it opens");
    let cluster = pintle::embedded::cluster(&api, "default");
    let session = Session::new(cluster, std::sync::Arc::new(pintle::release::MemoryStore::new()));
    let request = InstallRequest {
        chart: examples().join("web").into(),
        name: "demo".to_owned(),
        namespace: "default".to_owned(),
        values: vec![ValuesLayer::File(values.clone())],
        ..InstallRequest::default()
    };
    let mut reporter = Silent;
    let mut installing = std::pin::pin!(install(&session, &request, &mut reporter));
    // The values can be read only after this thread, the only one of the runtime, has come back from the operation.
    assert!((&mut installing).now_or_never().is_none());
    let written = tokio::task::spawn_blocking(move || std::fs::write(values, "replicas: 3"));
    let version = installing.await.expect("it is installed");
    assert_eq!(version.info.status.as_str(), "deployed");
    written.await.expect("no panic").expect("they are written");
}

//! Charts, requests and results are `Send`, so that a server can render many charts at once.

use std::path::PathBuf;
use std::thread;

use futures::FutureExt as _;
use pintle::ops::{LintRequest, TemplateRequest, Templated, template};
use pintle::{Error, Session, Silent};
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
        chart: examples().join(chart),
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

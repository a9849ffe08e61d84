//! An embedded cluster with controllers, and helpers for requests.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::Arc;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, Pace, SystemClock};
use pintle_tree::{Node, json};

pub(crate) async fn cluster_over(store: Store) -> Api {
    let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 7 };
    Api::start_with_controllers(options, Pace::Fast).await.unwrap()
}

pub(crate) async fn cluster() -> Api {
    cluster_over(Store::in_memory(HistoryWindow::default())).await
}

pub(crate) async fn raw(api: &Api, method: Method, path: &str, body: &str) -> (u16, String) {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/yaml" };
    let request = Request::builder().method(method).uri(path).header("Content-Type", kind);
    let response = api.call(request.body(body.to_owned().into()).unwrap()).await;
    let code = response.status().as_u16();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(text.to_vec()).unwrap())
}

pub(crate) async fn ask(api: &Api, method: Method, path: &str, body: &str) -> Node {
    let (code, text) = raw(api, method, path, body).await;
    assert!(code < 300, "{path}: {code} {text}");
    json::read_exact(text.as_bytes()).unwrap()
}

pub(crate) async fn get(api: &Api, path: &str) -> Node {
    ask(api, Method::GET, path, "").await
}

pub(crate) fn text(node: &Node, path: &str) -> String {
    let mut node = node.clone();
    for step in path.split('.') {
        node = match step.parse::<usize>() {
            Ok(index) => node.as_list().and_then(|list| list.get(index)).cloned().unwrap_or_default(),
            Err(_) => node.get(step).cloned().unwrap_or_default(),
        };
    }
    match node {
        Node::Str(text) => text.to_string(),
        Node::Int(number) => number.to_string(),
        Node::Nil => String::new(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn items(list: &Node) -> Vec<Node> {
    list.get("items").and_then(Node::as_list).unwrap_or_default().to_vec()
}

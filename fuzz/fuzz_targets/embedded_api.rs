//! Any text as requests to the embedded API: each is answered, every rejection is a `Status`, and stored objects can
//! still be listed and read.
//!
//! Requests are separated by lines of `%%`. The first line of one is its method, its address, and letters for its
//! `Content-Type` and `Accept`; the rest is its body.
#![no_main]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use libfuzzer_sys::fuzz_target;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Body, Clock, Options, Pace};
use pintle_tree::{Node, json};

/// The most requests of one input; more find nothing that fewer do not.
const MOST_REQUESTS: usize = 8;
/// The most frames of a watch that are read.
const MOST_PIECES: usize = 200;

/// The kinds that are listed in the end.
const LISTS: [&str; 10] = [
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/pods",
    "/api/v1/services",
    "/api/v1/events",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/jobs",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
];

/// A fixed clock, so that runs are reproducible.
struct Still;

impl Clock for Still {
    fn now(&self) -> Duration {
        Duration::from_secs(1_800_000_000)
    }
}

fn sent_as(letter: &str) -> &'static str {
    match letter {
        "y" => "application/yaml",
        "a" => "application/apply-patch+yaml",
        "m" => "application/merge-patch+json",
        "p" => "application/json-patch+json",
        "s" => "application/strategic-merge-patch+json",
        "b" => "application/vnd.kubernetes.protobuf",
        _ => "application/json",
    }
}

fn wanted_as(letter: &str) -> &'static str {
    match letter {
        "y" => "application/yaml",
        "t" => "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "m" => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
        "l" => "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
        "d" => "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io,application/json",
        _ => "application/json",
    }
}

fn request(text: &[u8]) -> Option<Request<Bytes>> {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let head = std::str::from_utf8(&text[..end]).ok()?;
    let body = text.get(end + 1..).unwrap_or_default();
    let mut words = head.split(' ');
    let (method, address) = (words.next()?, words.next()?);
    let (sent, wanted) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Request::builder()
        .method(method)
        .uri(address)
        .header("Content-Type", sent_as(sent))
        .header("Accept", wanted_as(wanted))
        .header("User-Agent", "fuzz/1")
        .body(Bytes::copy_from_slice(body))
        .ok()
}

/// The part of a response that is available without waiting.
fn read(response: Response<Body>) -> Vec<u8> {
    let (mut text, mut body) = (Vec::new(), response.into_body());
    for _ in 0..MOST_PIECES {
        // A watch has no more events for now.
        let Some(Some(Ok(frame))) = body.frame().now_or_never() else { break };
        text.extend(frame.into_data().unwrap_or_default());
    }
    text
}

fn check(response: Response<Body>) {
    let code = response.status().as_u16();
    assert!((200..600).contains(&code), "{code}");
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let kind = header("Content-Type").unwrap_or_default().to_owned();
    let text = read(response);
    if !kind.starts_with("application/json") {
        return;
    }
    // A watch response has one JSON document per line.
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let node = json::read_exact(line).expect("an answer is JSON");
        if code >= 400 {
            assert_eq!(node.get("kind").and_then(Node::as_str), Some("Status"), "{code}: {node:?}");
            assert_eq!(node.get("code"), Some(&Node::Int(i64::from(code))), "{node:?}");
            assert_eq!(node.get("status").and_then(Node::as_str), Some("Failure"), "{node:?}");
        }
    }
}

async fn ask(api: &Api, path: &str) -> Node {
    let request = Request::get(path).body(Bytes::new()).expect("a request");
    let response = api.call(request).await;
    assert_eq!(response.status(), 200, "{path}");
    json::read_exact(&read(response)).expect("a list is JSON")
}

/// Checks that stored objects can be listed, and listed ones read.
async fn check_lists(api: &Api) {
    let all = api.store().list("", None, usize::MAX, None, &|_| true).expect("now is not too old");
    for object in &all.objects {
        let node = json::read_exact(&object.text).expect("what is kept is JSON");
        let revision = node.get("metadata").and_then(|it| it.get("resourceVersion")).and_then(Node::as_str);
        assert_eq!(revision, Some(object.revision.to_string().as_str()));
        assert!(object.revision <= all.revision);
    }
    for path in LISTS {
        let list = ask(api, path).await;
        let items = list.get("items").and_then(Node::as_list).expect("a list has items");
        let first = items.first().and_then(|item| item.get("metadata"));
        let text = |name: &str| first.and_then(|it| it.get(name)).and_then(Node::as_str).unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        if name.is_empty() {
            assert!(items.is_empty(), "{path}: an object without a name");
            continue;
        }
        let (group, plural) = path.rsplit_once('/').expect("paths have parts");
        let path = match namespace {
            "" => format!("{path}/{name}"),
            namespace => format!("{group}/namespaces/{namespace}/{plural}/{name}"),
        };
        ask(api, &path).await;
    }
}

async fn run(text: &[u8]) {
    let window = HistoryWindow { events: 5_000, bytes: 16 << 20 };
    let store = Store::in_memory(window);
    let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(Still), seed: 1 };
    let api = Api::start_with_controllers(options, Pace::Fast).await.expect("an empty cluster starts");
    let mut rest = text;
    for _ in 0..MOST_REQUESTS {
        let end = rest.windows(4).position(|part| part == b"\n%%\n");
        let (this, next) = match end {
            Some(end) => (&rest[..end], &rest[end + 4..]),
            None => (rest, &b""[..]),
        };
        if let Some(request) = request(this) {
            check(api.call(request).await);
        }
        rest = next;
        if rest.is_empty() {
            break;
        }
    }
    check_lists(&api).await;
}

fuzz_target!(|text: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime needs little").block_on(run(text));
});

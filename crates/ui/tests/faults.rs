//! What goes wrong in a cluster: it is away, it forbids, its records are broken or huge.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Bytes;
use pintle::cluster::store::{HelmSecrets, NativeStore};
use pintle::cluster::{Cluster, WriteParams};
use pintle::objects::Object;
use pintle::release::{ReleaseVersion, Status};
use pintle::{Session, embedded};
use serde_json::{Value, json};

use crate::support::Running;

const FINE: u8 = 0;
const AWAY: u8 = 1;
const NAMESPACES_ONLY: u8 = 2;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

fn refused(code: u16, reason: &str) -> http::Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": reason, "message": format!("{reason} for this test")});
    let body = Full::from(status.to_string()).map_err(|never| match never {}).boxed_unsync();
    http::Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
}

/// A list over all namespaces of something that has namespaces.
fn is_cluster_wide(path: &str) -> bool {
    !path.contains("/namespaces/")
        && (path.ends_with("/secrets")
            || path.ends_with("/releases")
            || path.ends_with("/releaseversions")
            || path.ends_with("/namespaces"))
}

/// A session whose cluster has a fault.
async fn session(fault: &Arc<AtomicU8>) -> Session {
    let api = embedded::Embedded::default().open().await.unwrap();
    let fault = Arc::clone(fault);
    let answer = move |request: http::Request<_>| {
        let (api, fault) = (api.clone(), fault.load(Ordering::SeqCst));
        async move {
            match fault {
                AWAY => refused(503, "ServiceUnavailable"),
                NAMESPACES_ONLY if is_cluster_wide(request.uri().path()) => refused(403, "Forbidden"),
                _ => api.handle(request).await.map(|body| body.map_err(Into::into).boxed_unsync()),
            }
        }
    };
    let cluster = Cluster::from_service_fn(answer, "default");
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster.clone())));
    pintle::ops::init(&session).await.unwrap();
    session.with_other_stores(vec![Arc::new(HelmSecrets::new(cluster))])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_forbidden_is_made_of_the_namespaces_that_are_known() {
    let fault = Arc::new(AtomicU8::new(FINE));
    let server = Running::of(session(&fault).await, |_| {}).await;
    server.install("default", "web", "").await;
    server.install("shop", "web", "").await;
    fault.store(NAMESPACES_ONLY, Ordering::SeqCst);
    let listed = server.get("/api/v1/releases").await;
    assert_eq!((&listed["total"], &listed["namespaces"]), (&json!(1), &json!(["default"])));
    let listed = server.get("/api/v1/releases?namespaces=shop").await;
    assert_eq!((&listed["total"], &listed["namespaces"]), (&json!(2), &json!(["default", "shop"])));
    let mut events = server.events("/api/v1/releases/watch?namespaces=shop").await;
    assert_eq!(events.until("synced").await, json!({"total": 2}));
    let namespaces = server.get("/api/v1/namespaces").await;
    assert_eq!((&namespaces["complete"], &namespaces["namespaces"]), (&json!(false), &json!(["default"])));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_is_said_and_comes_back() {
    let fault = Arc::new(AtomicU8::new(FINE));
    let server = Running::of(session(&fault).await, |_| {}).await;
    server.install("default", "web", "").await;
    fault.store(AWAY, Ordering::SeqCst);
    let away = server.page("GET", "/api/v1/releases/default/web/objects", &Value::Null).await;
    assert!(away.status >= 500, "{} {}", away.status, away.body);
    assert!(!away.json()["error"]["message"].as_str().unwrap().is_empty());
    fault.store(FINE, Ordering::SeqCst);
    assert_eq!(server.get("/api/v1/releases/default/web/objects").await["total"], 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_decoded_hides_no_other_release() {
    let fault = Arc::new(AtomicU8::new(FINE));
    let server = Running::of(session(&fault).await, |_| {}).await;
    server.install("default", "web", "").await;
    let broken = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": {
        "name": "sh.helm.release.v1.broken.v1", "namespace": "default",
        "labels": {"owner": "helm", "name": "broken", "version": "1", "status": "deployed"}},
        "data": {"release": "bm90aGluZw=="}});
    let object = Object::read_json(broken.to_string().as_bytes()).unwrap();
    server.session.cluster.create(&object, &WriteParams::default()).await.unwrap();
    let listed = server.get("/api/v1/releases").await;
    assert!(listed["releases"].to_string().contains("\"web\""), "{listed}");
    let answer = server.page("GET", "/api/v1/releases/default/broken", &Value::Null).await;
    assert!((400..=500).contains(&answer.status), "{} {}", answer.status, answer.body);
    let mut events = server.events("/api/v1/releases/watch").await;
    events.until("synced").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_manifests_and_comparisons_are_cut_and_said_so() {
    let fault = Arc::new(AtomicU8::new(FINE));
    let server = Running::of(session(&fault).await, |settings| settings.limits.diff_lines = 1000).await;
    let manifest = |word: &str, bytes: usize| {
        let line = format!("  {word}: {}\n", "x".repeat(60));
        let data: String =
            (0..bytes / line.len()).map(|at| line.replacen(word, &format!("{word}{at}"), 1)).collect();
        format!(
            "---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n{data}"
        )
    };
    let store = pintle::release::MemoryStore::new();
    for (number, word, bytes) in [(1, "a", 200_000), (2, "b", 20 << 20)] {
        let mut version = ReleaseVersion {
            name: "big".to_owned(),
            namespace: "default".to_owned(),
            number,
            manifest: manifest(word, bytes),
            ..ReleaseVersion::default()
        };
        version.info.status = if number == 2 { Status::Deployed } else { Status::Superseded };
        pintle::release::Store::create(&store, &version, None, None).await.unwrap();
    }
    let mut session = server.session.clone();
    server.stop().await;
    session.store = Arc::new(store);
    session.other_stores.clear();
    let server = Running::of(session, |settings| settings.limits.diff_lines = 1000).await;
    let manifest = server.get("/api/v1/releases/default/big/manifest").await;
    assert_eq!((&manifest["truncated"], &manifest["documents"][0]["yaml"]), (&json!(true), &Value::Null));
    let one = server.get("/api/v1/releases/default/big/manifest?revision=1&key=v1/ConfigMap/default/a").await;
    assert!(one["documents"][0]["yaml"].as_str().unwrap().len() > 100_000);
    let compared = server.get("/api/v1/releases/default/big/compare?from=1&to=2").await;
    assert_eq!((&compared["truncated"], &compared["objects"][0]["lines"]), (&json!(true), &Value::Null));
    assert!(compared.to_string().len() < 64 << 20);
    server.stop().await;
}

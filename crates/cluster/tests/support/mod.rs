//! A scripted server under the real client.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use pintle_cluster::Cluster;

/// A request as the server saw it.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "not every test file looks at everything")]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) body: Vec<u8>,
}

/// A response: status, extra header, body. Status 0 breaks the connection instead.
pub(crate) struct StubResponse(
    pub(crate) u16,
    pub(crate) Option<(&'static str, &'static str)>,
    pub(crate) String,
);

pub(crate) fn ok(body: impl Into<String>) -> StubResponse {
    StubResponse(200, None, body.into())
}

pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> StubResponse {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    );
    StubResponse(code, None, body)
}

/// The discovery documents of a small API server.
#[allow(dead_code, reason = "not every test file discovers")]
pub(crate) fn discovery(path: &str) -> Option<StubResponse> {
    match path {
        "/api" => {
            Some(ok(r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
            {"metadata":{"name":""},"versions":[{"version":"v1","freshness":"Current","resources":[
            {"resource":"services","responseKind":{"group":"","version":"v1","kind":"Service"},"scope":"Namespaced"},
            {"resource":"nodes","responseKind":{"group":"","version":"v1","kind":"Node"},"scope":"Cluster",
             "subresources":[{"subresource":"proxy","responseKind":{"group":"","version":"v1","kind":"NodeProxyOptions"}}]}]}]}]}"#))
        }
        "/apis" => {
            Some(ok(r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
            {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[
            {"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced"}]}]},
            {"metadata":{"name":"gone.io"},"versions":[{"version":"v1","freshness":"Stale","resources":[]}]}]}"#))
        }
        _ => None,
    }
}

/// Returns a cluster served by `answer`, and the list of the requests it got.
pub(crate) fn cluster(
    answer: impl Fn(&Seen, usize) -> StubResponse + Send + Sync + 'static,
) -> (Cluster, Arc<Mutex<Vec<Seen>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (kept, answer) = (log.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (kept, answer) = (kept.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let header = |name: &str| {
                head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
            };
            let seen = Seen {
                method: head.method.to_string(),
                path: head.uri.to_string(),
                content_type: header("content-type"),
                accept: header("accept"),
                body: body.collect().await.expect("a body").to_bytes().to_vec(),
            };
            let times = {
                let mut kept = kept.lock().expect("no panic");
                kept.push(seen.clone());
                kept.iter().filter(|one: &&Seen| one.method == seen.method && one.path == seen.path).count()
            };
            let StubResponse(code, extra, text) = answer(&seen, times);
            if code == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            }
            let mut builder = http::Response::builder().status(code);
            if let Some((name, value)) = extra {
                builder = builder.header(name, value);
            }
            Ok(builder.body(Full::<Bytes>::from(text)).unwrap_or_else(|error| panic!("{error}")))
        }
    });
    (Cluster::from_client(kube::Client::new(service, "default"), "default"), log)
}

#[allow(dead_code, reason = "not every test file counts")]
pub(crate) fn paths(log: &Mutex<Vec<Seen>>) -> Vec<String> {
    log.lock().expect("no panic").iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
}

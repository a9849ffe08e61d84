//! For tests: a scripted server under the real client that answers list, watch and get requests.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use kube::client::Body;

use crate::cluster::Cluster;

/// What the server does with a request.
pub(crate) enum Reply {
    /// Responds at once and closes the stream.
    Body(u16, String),
    /// Never responds.
    Hang,
}

/// The kinds that the server serves: group, plural, kind.
const KINDS: [(&str, &str, &str); 5] = [
    ("apps", "deployments", "Deployment"),
    ("apps", "replicasets", "ReplicaSet"),
    ("apps", "statefulsets", "StatefulSet"),
    ("batch", "jobs", "Job"),
    ("x.io", "things", "Thing"),
];

/// A list of objects, each given as JSON.
pub(crate) fn list(items: &[&str]) -> Reply {
    let items = items.join(",");
    Reply::Body(200, format!(r#"{{"kind":"List","metadata":{{"resourceVersion":"5"}},"items":[{items}]}}"#))
}

/// One object, given as JSON.
pub(crate) fn one(object: &str) -> Reply {
    Reply::Body(200, object.to_owned())
}

/// The events of a watch: type and object.
pub(crate) fn events(events: &[(&str, &str)]) -> Reply {
    let lines = events.iter().map(|(kind, object)| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"));
    Reply::Body(200, lines.collect())
}

/// An error response.
pub(crate) fn refuse(code: u16, reason: &str, message: &str) -> Reply {
    let text = format!(r#"{{"kind":"Status","message":"{message}","reason":"{reason}","code":{code}}}"#);
    Reply::Body(code, text)
}

fn discovery(path: &str) -> Option<Reply> {
    if path == "/api" {
        return Some(one(r#"{"kind":"APIGroupDiscoveryList","items":[]}"#));
    }
    let groups: Vec<String> = ["apps", "batch", "x.io"]
        .iter()
        .map(|group| {
            let kinds: Vec<String> = KINDS
                .iter()
                .filter(|kind| kind.0 == *group)
                .map(|(_, plural, kind)| format!(r#"{{"resource":"{plural}","responseKind":{{"group":"{group}","version":"v1","kind":"{kind}"}},"scope":"Namespaced"}}"#))
                .collect();
            format!(r#"{{"metadata":{{"name":"{group}"}},"versions":[{{"version":"v1","freshness":"Current","resources":[{}]}}]}}"#, kinds.join(","))
        })
        .collect();
    (path == "/apis")
        .then(|| one(&format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{}]}}"#, groups.join(","))))
}

/// Returns a cluster served by `answer`, which gets the request (`list pods`, `watch jobs`, `get pods/p`, `log
/// p/container`) and how often it was sent; and the list of all requests.
pub(crate) fn cluster(
    answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
) -> (Cluster, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (kept, answer) = (requests.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (kept, answer) = (kept.clone(), answer.clone());
        async move {
            let path = request.uri().path().to_owned();
            let reply = discovery(&path).unwrap_or_else(|| {
                let name = name(&path, request.uri().query().unwrap_or_default());
                let mut kept = kept.lock().expect("no panic");
                kept.push(name.clone());
                let times = kept.iter().filter(|other| **other == name).count();
                answer(&name, times)
            });
            match reply {
                Reply::Hang => std::future::pending().await,
                Reply::Body(code, text) => {
                    http::Response::builder().status(code).body(Full::<Bytes>::from(text))
                }
            }
        }
    });
    (Cluster::from_client(kube::Client::new(service, "n"), "n"), requests)
}

fn name(path: &str, query: &str) -> String {
    let tail = path.split("/namespaces/n/").nth(1).unwrap_or(path);
    match tail.split('/').collect::<Vec<_>>()[..] {
        ["pods", pod, "log"] => {
            let container = query.split('&').find_map(|part| part.strip_prefix("container="));
            format!("log {pod}/{}", container.unwrap_or_default())
        }
        [plural] if query.contains("watch=true") => format!("watch {plural}"),
        [plural] => format!("list {plural}"),
        _ => format!("get {tail}"),
    }
}

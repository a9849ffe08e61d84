//! Services under the client that need no server, for drivers that need none (`HELM_DRIVER=memory`).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;

use crate::cluster::Cluster;

const VERSION: &[u8] = br#"{"major":"1","minor":"37","gitVersion":"v1.37.0"}"#;
const REFUSED: &[u8] = br#"{"kind":"Status","status":"Failure","reason":"MethodNotAllowed","code":405,"message":"there is no cluster: releases are stored in memory"}"#;
const NO_OBJECTS: &[u8] = br#"{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}"#;
const NOT_FOUND: &[u8] =
    br#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"not found"}"#;

impl Cluster {
    /// A connection that answers `/version` and rejects everything else. Combine it with
    /// [`Cluster::discarding_writes`] to accept writes.
    pub fn offline(default_namespace: impl Into<String>) -> Self {
        let namespace = default_namespace.into();
        Cluster::from_client(kube::Client::new(OfflineService, namespace.clone()), namespace)
    }
}

/// Rejects every request but `/version`.
#[derive(Clone, Copy, Debug)]
struct OfflineService;

impl tower::Service<Request<Body>> for OfflineService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        ready(Ok(match request.uri().path() {
            "/version" => response(StatusCode::OK, VERSION),
            _ => response(StatusCode::METHOD_NOT_ALLOWED, REFUSED),
        }))
    }
}

/// Accepts every write and keeps nothing: an object that was just written is not found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscardService;

impl tower::Service<Request<Body>> for DiscardService {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, kube::Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        async move {
            Ok(match *request.method() {
                Method::GET if request.uri().path() == "/version" => response(StatusCode::OK, VERSION),
                Method::POST | Method::PUT | Method::PATCH => {
                    response(StatusCode::OK, request.into_body().collect().await?.to_bytes())
                }
                Method::GET if is_collection(request.uri().path()) => response(StatusCode::OK, NO_OBJECTS),
                _ => response(StatusCode::NOT_FOUND, NOT_FOUND),
            })
        }
        .boxed()
    }
}

/// Whether a path names a list of objects. Below the group version, names and plurals alternate, starting with a plural
/// (`pods`, `namespaces/shop/pods`).
fn is_collection(path: &str) -> bool {
    let group_version = if path.starts_with("/apis/") { 3 } else { 2 };
    path.split('/').skip(1 + group_version).count() % 2 == 1
}

fn response(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::snapshot::Detail;
    use crate::wait::{Strategy, WaitFor, WaitOptions, Waiter};
    use crate::write::{PropagationPolicy, WriteParams};
    use pintle_objects::{Object, ObjectId};

    #[tokio::test]
    async fn it_returns_a_version_and_rejects_everything_else() {
        let cluster = Cluster::offline("shop");
        assert!(cluster.check_reachable().await.is_ok());
        let refused = cluster.get(&ObjectId::new("v1", "Secret", "shop", "a")).await;
        assert!(refused.is_err());
    }

    #[tokio::test]
    async fn discarded_writes_succeed_and_leave_no_object() {
        let cluster = Cluster::offline("shop").discarding_writes();
        let mut object = Object::from_id(&ObjectId::new("example.com/v1", "Widget", "", "a"));
        cluster.scope(&mut object, "shop").await.expect("every kind is known");
        assert_eq!(object.namespace(), "shop");
        let id = object.id();
        let written = cluster.apply_object(&object, false, &WriteParams::strict()).await.expect("accepted");
        assert_eq!(written.object().expect("the object as it was sent").id(), id);
        assert!(cluster.create_object(&object, &WriteParams::default()).await.is_ok());
        let (wait_for, strategy) = (WaitFor::Ready, Strategy::Watcher);
        let options = WaitOptions {
            wait_for,
            strategy,
            timeout: Duration::from_secs(60),
            fail_fast: None,
            readiness_annotations: false,
        };
        Waiter::new(&cluster, options)
            .wait(std::slice::from_ref(&id), &mut |_| {})
            .await
            .expect("nothing is waited for");
        assert!(!cluster.delete_object(&id, PropagationPolicy::Background).await.expect("fine"));
        assert!(cluster.snapshot([&id], Detail::MetadataOnly).await.expect("fine").is_empty());
        let job = ObjectId::new("batch/v1", "Job", "shop", "a");
        assert!(crate::logs::hook_pods(&cluster, &job).await.expect("fine").is_empty());
        assert!(cluster.lookup("v1", "Secret", "shop", "a").await.is_err(), "`lookup` asks the real cluster");
    }
}

//! A cluster that does not exist, for drivers that need none (`HELM_DRIVER=memory`).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use kube::client::Body;

use crate::cluster::Cluster;

impl Cluster {
    /// A connection that answers `/version` and rejects everything else. Combine it with [`Cluster::noop`] to accept
    /// writes.
    pub fn offline(default_namespace: impl Into<String>) -> Self {
        let namespace = default_namespace.into();
        Cluster::from_client(kube::Client::new(OfflineService, namespace.clone()), namespace)
    }
}

/// Answers without any server.
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
        let (status, body): (StatusCode, &[u8]) = match request.uri().path() {
            "/version" => (StatusCode::OK, br#"{"major":"1","minor":"36","gitVersion":"v1.36.0"}"#),
            _ => (
                StatusCode::METHOD_NOT_ALLOWED,
                br#"{"kind":"Status","status":"Failure","reason":"MethodNotAllowed","code":405,"message":"there is no cluster: releases are stored in memory"}"#,
            ),
        };
        let mut response = Response::new(Body::from(body.to_vec()));
        *response.status_mut() = status;
        ready(Ok(response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Detail;
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
    async fn a_noop_connection_accepts_writes() {
        let cluster = Cluster::offline("shop").noop();
        let mut object = Object::from_id(&ObjectId::new("v1", "Secret", "", "a"));
        cluster.scope(&mut object, "shop").await.expect("every kind is known");
        assert_eq!(object.namespace(), "shop");
        assert!(cluster.apply_object(&object, false, &WriteParams::strict()).await.is_ok());
        assert!(!cluster.delete_object(&object.id(), PropagationPolicy::Background).await.expect("fine"));
        assert!(cluster.snapshot([&object.id()], Detail::MetadataOnly).await.expect("fine").is_empty());
    }
}

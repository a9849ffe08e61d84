//! The client that controllers use. Creates and deletes go through the API, so that admission, validation and quotas
//! apply to controllers as on a real cluster; status updates are written to the store directly.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use pintle_tree::{Node, Str, json};

use crate::api::Api;
use crate::api::meta::{map, set, text_at};
use crate::status::Status;
use crate::store::prefix;

/// The URL of a resource without namespace and name: the path of its group and version, and the plural.
pub(super) type ResourcePath = (&'static str, &'static str);

pub(super) const PODS: ResourcePath = ("/api/v1", "pods");
pub(super) const CLAIMS: ResourcePath = ("/api/v1", "persistentvolumeclaims");
pub(super) const VOLUMES: ResourcePath = ("/api/v1", "persistentvolumes");
pub(super) const NODES: ResourcePath = ("/api/v1", "nodes");
pub(super) const ENDPOINTS: ResourcePath = ("/api/v1", "endpoints");
pub(super) const SLICES: ResourcePath = ("/apis/discovery.k8s.io/v1", "endpointslices");
pub(super) const REPLICA_SETS: ResourcePath = ("/apis/apps/v1", "replicasets");
pub(super) const REVISIONS: ResourcePath = ("/apis/apps/v1", "controllerrevisions");
pub(super) const JOBS: ResourcePath = ("/apis/batch/v1", "jobs");

/// The error of a request that the API rejected.
#[derive(Debug)]
pub(super) struct ApiError {
    pub(super) code: u16,
    pub(super) message: String,
}

impl From<ApiError> for Status {
    fn from(error: ApiError) -> Status {
        Status::new(error.code, "", error.message)
    }
}

/// Requests to the API in the name of `kube-controller-manager`.
#[derive(Clone, Copy)]
pub(super) struct Client<'a> {
    pub(super) api: &'a Api,
}

impl<'a> Client<'a> {
    pub(super) fn new(api: &'a Api) -> Client<'a> {
        Client { api }
    }

    /// Returns the dependents of a kind, by the uid of their owner and in the order of their keys.
    pub(super) fn owned(&self, uid: &str, kind: &str) -> Vec<Node> {
        let key_prefix = prefix(kind, None);
        let all = self.api.store().dependents(&Str::from(uid));
        let mut found: Vec<_> =
            all.iter().filter(|object| object.key.starts_with(key_prefix.as_bytes())).collect();
        // The order in which controllers see pods decides what they delete first.
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.into_iter().map(|object| object.node()).collect()
    }

    pub(super) fn list(&self, kind: &str, namespace: &str) -> Vec<Node> {
        let listing =
            self.api.store().list(&prefix(kind, Some(namespace)), None, usize::MAX, None, &|_| true);
        let objects = listing.map(|listing| listing.objects).unwrap_or_default();
        objects.iter().map(|object| object.node()).collect()
    }

    pub(super) fn get(&self, key: &Str) -> Option<Node> {
        self.api.store().get(key).map(|object| object.node())
    }

    pub(super) async fn create(
        &self,
        resource: ResourcePath,
        namespace: &str,
        object: &Node,
    ) -> Result<Node, ApiError> {
        let body = json::write_raw(object).unwrap_or_default();
        self.send(Method::POST, &path(resource, namespace, ""), body).await
    }

    /// Deletes an object with background propagation, as controllers do. The uid is a precondition, so that an object
    /// which was recreated under the same name is not deleted.
    pub(super) async fn delete(
        &self,
        resource: ResourcePath,
        object: &Node,
        immediately: bool,
    ) -> Result<(), ApiError> {
        let namespace = text_at(object, &["metadata", "namespace"]);
        let path = path(resource, namespace, text_at(object, &["metadata", "name"]));
        let mut options = map([
            ("apiVersion", "v1".into()),
            ("kind", "DeleteOptions".into()),
            ("propagationPolicy", "Background".into()),
        ]);
        if immediately {
            set(&mut options, &["gracePeriodSeconds"], Node::Int(0));
        }
        set(&mut options, &["preconditions", "uid"], text_at(object, &["metadata", "uid"]));
        let body = json::write_raw(&options).unwrap_or_default();
        match self.send(Method::DELETE, &path, body).await {
            // Already deleted, or recreated: either way there is nothing left to delete.
            Ok(_) | Err(ApiError { code: 404 | 409, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Node, ApiError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            // The user agent becomes the field manager, as it does on a real cluster.
            .header(http::header::USER_AGENT, "kube-controller-manager")
            .body(Bytes::from(body));
        let internal = |message: String| ApiError { code: 500, message };
        let request = request.map_err(|error| internal(error.to_string()))?;
        let response = self.api.call_without_controllers(request).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let node = json::read_exact(&body.unwrap_or_default()).unwrap_or_default();
        if code < 300 {
            return Ok(node);
        }
        Err(ApiError { code, message: text_at(&node, &["message"]).to_owned() })
    }

    /// Updates an object, retrying on conflicts. Writes nothing if `edit` changes nothing: an unchanged object would
    /// get a new resourceVersion, wake its watchers and never let the work queue drain.
    pub(super) async fn update(&self, key: &Str, edit: impl Fn(&mut Node)) -> Result<(), Status> {
        let changed = |node: &mut Node| {
            let before = node.clone();
            edit(node);
            *node != before
        };
        self.api.edit(key, changed).await
    }
}

fn path((group, plural): ResourcePath, namespace: &str, name: &str) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    let name = if name.is_empty() { String::new() } else { format!("/{name}") };
    format!("{group}{namespace}/{plural}{name}")
}

//! Requests for resources that are known in advance, so that storing releases needs no discovery; errors become
//! [`StoreError`]s.

use http::Method;
use pintle_objects::Object;
use pintle_release::StoreError;
use pintle_tree::{Map, Node, json};

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::request::Request;
use crate::write::PropagationPolicy;

/// The field manager of records.
const FIELD_MANAGER: &str = "helm";

fn with_manager(mut path: String) -> String {
    api_path::parameter(&mut path, "fieldManager", FIELD_MANAGER);
    path
}

async fn send(cluster: &Cluster, request: &Request) -> Result<Object> {
    let response = cluster.send(request).await?;
    let shown = || format!("{} {}", request.method, request.path);
    Object::read_json(&response.body).map_err(|error| Error::invalid_response(shown(), error))
}

/// Creates an object.
pub(super) async fn create(cluster: &Cluster, resource: &Resource, object: &Object) -> Result<Object> {
    let path = with_manager(api_path::collection(resource, object.namespace())?);
    let body = object.to_json().into();
    send(cluster, &Request::with_body(Method::POST, path, "application/json", body)).await
}

/// Replaces an object; with a resource version, only if no other writer changed it.
pub(super) async fn replace(cluster: &Cluster, resource: &Resource, object: &Object) -> Result<Object> {
    // A retried update with a resource version would conflict with its first attempt.
    put(cluster, resource, object, object.resource_version().is_empty()).await
}

/// As [`replace`], for callers that handle conflicts, even one with their own first attempt.
pub(super) async fn replace_retryable(
    cluster: &Cluster,
    resource: &Resource,
    object: &Object,
) -> Result<Object> {
    put(cluster, resource, object, true).await
}

async fn put(cluster: &Cluster, resource: &Resource, object: &Object, idempotent: bool) -> Result<Object> {
    let path = with_manager(api_path::object(resource, object.namespace(), object.name())?);
    let mut request = Request::with_body(Method::PUT, path, "application/json", object.to_json().into());
    request.idempotent = idempotent;
    send(cluster, &request).await
}

/// Applies a JSON merge patch.
pub(super) async fn merge_patch(
    cluster: &Cluster,
    resource: &Resource,
    (namespace, name): (&str, &str),
    patch: &Map<Node>,
) -> Result<Object> {
    let path = with_manager(api_path::object(resource, namespace, name)?);
    let body = json::write_raw(patch).unwrap_or_default().into();
    let mut request = Request::with_body(Method::PATCH, path, "application/merge-patch+json", body);
    request.idempotent = true;
    send(cluster, &request).await
}

/// Applies a JSON patch that begins with `test` operations. `None` when a test fails.
pub(super) async fn json_patch(
    cluster: &Cluster,
    resource: &Resource,
    (namespace, name): (&str, &str),
    operations: Vec<Node>,
) -> Result<Option<Object>> {
    let path = with_manager(api_path::object(resource, namespace, name)?);
    let body = json::write_raw(&Node::List(operations)).unwrap_or_default().into();
    let mut request = Request::with_body(Method::PATCH, path, "application/json-patch+json", body);
    // The operations set fields and append nothing, so repeating them after a lost response is harmless. If the first
    // attempt removed what `test` checks, the callers read the object and compare.
    request.idempotent = true;
    match send(cluster, &request).await {
        Ok(object) => Ok(Some(object)),
        // The API server answers a failed `test` with 422, as it answers an invalid object.
        Err(error) if error.is_invalid() => Ok(None),
        Err(error) => Err(error),
    }
}

/// One operation of a JSON patch.
pub(super) fn json_patch_op(operation: &str, path: &str, value: impl Into<Node>) -> Node {
    Node::Map(Map::from_entries(vec![
        ("op".into(), operation.into()),
        ("path".into(), path.into()),
        ("value".into(), value.into()),
    ]))
}

/// Deletes an object and its dependents, and returns whether it existed. With a resource version, only in that state.
pub(super) async fn delete(
    cluster: &Cluster,
    resource: &Resource,
    at: (&str, &str),
    resource_version: &str,
) -> Result<bool> {
    delete_with(cluster, resource, at, resource_version, PropagationPolicy::Background).await
}

/// Deletes an object and leaves its dependents, which lose their owner. Otherwise as [`delete`].
pub(super) async fn delete_and_orphan(
    cluster: &Cluster,
    resource: &Resource,
    at: (&str, &str),
    resource_version: &str,
) -> Result<bool> {
    delete_with(cluster, resource, at, resource_version, PropagationPolicy::Orphan).await
}

async fn delete_with(
    cluster: &Cluster,
    resource: &Resource,
    (namespace, name): (&str, &str),
    resource_version: &str,
    propagation: PropagationPolicy,
) -> Result<bool> {
    let path = api_path::object(resource, namespace, name)?;
    let mut options = Map::new();
    options.insert("apiVersion".into(), "v1".into());
    options.insert("kind".into(), "DeleteOptions".into());
    options.insert("propagationPolicy".into(), propagation.as_str().into());
    if !resource_version.is_empty() {
        let state = Map::from_entries(vec![("resourceVersion".into(), resource_version.into())]);
        options.insert("preconditions".into(), Node::Map(state));
    }
    let body = json::write_raw(&options).unwrap_or_default().into();
    match cluster.send(&Request::with_body(Method::DELETE, path, "application/json", body)).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds the store's operation to an error, in Helm's wording.
pub(super) fn backend_error(action: impl Into<String>) -> impl FnOnce(Error) -> StoreError {
    |error| StoreError::Backend {
        action: action.into(),
        forbidden: error.is_forbidden(),
        source: Box::new(error),
    }
}

/// String pairs as a map node.
pub(super) fn texts<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value.as_str().into())).collect())
}

/// The string pairs of a map node.
pub(super) fn text_map(node: Option<&Node>) -> std::collections::BTreeMap<String, String> {
    let entries = node.and_then(Node::as_map).into_iter().flat_map(Map::iter);
    entries.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned()))).collect()
}

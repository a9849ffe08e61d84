//! Write requests: create, replace, apply, patch, delete.

use bytes::Bytes;
use http::Method;
use pintle_objects::{Object, ObjectId};
use pintle_plan::FieldConflict;
use pintle_tree::{Map, Node, json};

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::request::Request;

/// Helm's field manager. Sharing it lets either tool continue with the releases of the other.
const FIELD_MANAGER: &str = "helm";

/// The `fieldValidation` parameter: what the server does about unknown fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// The server's default.
    #[default]
    Unset,
    /// Reject the object.
    Strict,
    /// Return a warning header.
    Warn,
    /// Drop them silently.
    Ignore,
}

/// The parameters of a write, as kube-rs' `PostParams` and `PatchParams`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteParams {
    /// Whether to send `dryRun=All`.
    pub dry_run: bool,
    /// What the server does about unknown fields.
    pub validation: FieldValidation,
    /// The field manager.
    pub field_manager: &'static str,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: &'static str,
}

impl Default for WriteParams {
    fn default() -> Self {
        WriteParams {
            dry_run: false,
            validation: FieldValidation::Unset,
            field_manager: FIELD_MANAGER,
            subresource: "",
        }
    }
}

impl WriteParams {
    /// Parameters that reject unknown fields.
    pub fn strict() -> Self {
        WriteParams { validation: FieldValidation::Strict, ..WriteParams::default() }
    }

    /// Parameters for the status subresource.
    pub fn status() -> Self {
        WriteParams { subresource: "status", ..WriteParams::default() }
    }

    fn append_query(&self, path: &mut String) {
        if self.dry_run {
            api_path::parameter(path, "dryRun", "All");
        }
        if !self.field_manager.is_empty() {
            api_path::parameter(path, "fieldManager", self.field_manager);
        }
        let validation = match self.validation {
            FieldValidation::Unset => return,
            FieldValidation::Strict => "Strict",
            FieldValidation::Warn => "Warn",
            FieldValidation::Ignore => "Ignore",
        };
        api_path::parameter(path, "fieldValidation", validation);
    }
}

/// The format of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// A JSON patch: a list of operations (RFC 6902).
    Json,
    /// A JSON merge patch (RFC 7386).
    Merge,
    /// A strategic merge patch: lists are merged by key.
    Strategic,
}

impl PatchType {
    fn content_type(self) -> &'static str {
        match self {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// The deletion propagation policy: what happens to dependents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// Dependents are deleted by the garbage collector afterwards.
    #[default]
    Background,
    /// Dependents are deleted first.
    Foreground,
    /// Dependents are kept.
    Orphan,
}

impl PropagationPolicy {
    /// The value in `DeleteOptions`.
    pub fn as_str(self) -> &'static str {
        match self {
            PropagationPolicy::Background => "Background",
            PropagationPolicy::Foreground => "Foreground",
            PropagationPolicy::Orphan => "Orphan",
        }
    }
}

/// The preconditions of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The required uid; empty for any.
    pub uid: String,
    /// The required resource version; empty for any.
    pub resource_version: String,
}

/// The response to a write.
#[derive(Clone, Debug)]
pub struct WrittenObject {
    /// Whether the object was created.
    pub created: bool,
    /// The object as JSON.
    pub body: Bytes,
    /// The fields that were left to other managers.
    pub yielded: Vec<FieldConflict>,
}

impl WrittenObject {
    /// Parses the object.
    ///
    /// # Errors
    /// When the response is not an object.
    pub fn object(&self) -> Result<Object> {
        Object::read_json(&self.body).map_err(|error| Error::invalid_response("a change", error))
    }
}

impl Cluster {
    /// Creates an object. Its namespace must be set if its kind is namespaced.
    ///
    /// # Errors
    /// [`Error::is_already_exists`] when it exists, or when the server rejects the request or does not answer.
    pub async fn create(&self, object: &Object, params: &WriteParams) -> Result<WrittenObject> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        if resource.namespaced && object.namespace().is_empty() {
            // client-go's check and its words. The server would take the path for one of all namespaces and answer
            // 405.
            return Err(Error::InvalidRequest("an empty namespace may not be set during creation".into()));
        }
        let mut path = api_path::collection(&resource, object.namespace())?;
        params.append_query(&mut path);
        let request = Request::with_body(Method::POST, path, "application/json", object.to_json().into());
        self.send_write(&request).await
    }

    /// Replaces an object as a whole. With a resource version, only if no other writer changed it.
    ///
    /// # Errors
    /// [`Error::is_conflict`], or when the server refuses or does not answer.
    pub async fn replace(&self, object: &Object, params: &WriteParams) -> Result<WrittenObject> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        let path = self.object_path(&resource, object.namespace(), object.name(), params)?;
        let body = object.to_json().into();
        let mut request = Request::with_body(Method::PUT, path, "application/json", body);
        // A retried update with a resource version would conflict with its first attempt.
        request.idempotent = object.resource_version().is_empty();
        self.send_write(&request).await
    }

    /// Server-side apply. `force` takes over fields that other managers own.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when other managers own fields, or when the server rejects the request or does not
    /// answer.
    pub async fn apply(&self, object: &Object, force: bool, params: &WriteParams) -> Result<WrittenObject> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        let mut path = self.object_path(&resource, object.namespace(), object.name(), params)?;
        api_path::parameter(&mut path, "force", if force { "true" } else { "false" });
        let body = object.to_json().into();
        let mut request = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", body);
        request.idempotent = true;
        self.send_write(&request).await
    }

    /// Patches an object.
    ///
    /// # Errors
    /// [`Error::is_not_found`] when it does not exist, or when the server rejects the request or does not answer.
    pub async fn patch(
        &self,
        id: &ObjectId,
        kind: PatchType,
        patch: impl Into<Bytes>,
        params: &WriteParams,
    ) -> Result<WrittenObject> {
        let resource = self.resource(&id.api_version(), &id.kind).await?;
        let path = self.object_path(&resource, &id.namespace, &id.name, params)?;
        let mut request = Request::with_body(Method::PATCH, path, kind.content_type(), patch.into());
        // Merge patches are idempotent; the list operations of a JSON patch are not.
        request.idempotent = kind != PatchType::Json;
        self.send_write(&request).await
    }

    /// Deletes an object, and returns whether it existed.
    ///
    /// # Errors
    /// [`Error::is_conflict`] when a precondition does not hold, or when the server rejects the request or does not
    /// answer.
    pub async fn delete(
        &self,
        id: &ObjectId,
        propagation: PropagationPolicy,
        preconditions: &Preconditions,
    ) -> Result<bool> {
        let resource = self.resource(&id.api_version(), &id.kind).await?;
        let path = api_path::object(&resource, &id.namespace, &id.name)?;
        let body = delete_options(propagation, preconditions).into();
        let request = Request::with_body(Method::DELETE, path, "application/json", body);
        match self.send(&request).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn object_path(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        params: &WriteParams,
    ) -> Result<String> {
        let mut path = api_path::object(resource, namespace, name)?;
        if !params.subresource.is_empty() {
            path.push('/');
            path.push_str(params.subresource);
        }
        params.append_query(&mut path);
        Ok(path)
    }

    async fn send_write(&self, request: &Request) -> Result<WrittenObject> {
        let response = self.send(request).await?;
        Ok(WrittenObject { created: response.code == 201, body: response.body, yielded: Vec::new() })
    }
}

fn delete_options(propagation: PropagationPolicy, preconditions: &Preconditions) -> Vec<u8> {
    let mut options = Map::new();
    options.insert("apiVersion".into(), "v1".into());
    options.insert("kind".into(), "DeleteOptions".into());
    options.insert("propagationPolicy".into(), propagation.as_str().into());
    let mut conditions = Map::new();
    for (key, value) in [("uid", &preconditions.uid), ("resourceVersion", &preconditions.resource_version)] {
        if !value.is_empty() {
            conditions.insert(key.into(), value.as_str().into());
        }
    }
    if !conditions.is_empty() {
        options.insert("preconditions".into(), Node::Map(conditions));
    }
    json::write_raw(&options).unwrap_or_default()
}

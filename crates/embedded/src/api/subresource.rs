//! Subresources: status, scale, binding, eviction, log and the like.

use http::Method;
use pintle_tree::Node;

use super::meta::{at, copy_field, list_at, map, meta, number_at, set, text_at};
use super::query::WriteOptions;
use super::reply::Reply;
use super::request_body::decode_untyped;
use super::update::UpdateSource;
use super::{Api, Call, method_not_allowed, no_such_resource, not_found};
use crate::patch;
use crate::schema::Resource;
use crate::status::{Status, StatusCause, StatusDetails};

impl Api {
    pub(super) async fn subresource(&self, method: &Method, call: &Call<'_>) -> Result<Reply, Status> {
        let name = call.target.subresource.as_deref().unwrap_or_default();
        let resource = call.served.resource();
        let part = resource.subresource(name).ok_or_else(no_such_resource)?;
        if call.target.namespace.is_some() != resource.namespaced {
            return Err(no_such_resource());
        }
        let verb = match *method {
            Method::GET => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::POST => "create",
            _ => return Err(method_not_allowed()),
        };
        if !part.verbs.iter().any(|served| *served == *verb) {
            return Err(method_not_allowed());
        }
        match (name, verb) {
            ("status" | "resize" | "ephemeralcontainers" | "approval", "get") => self.get(call),
            ("status" | "approval", "update") => self.replace(call).await,
            ("status" | "approval", "patch") => self.patch(call).await,
            ("scale", "get") => self.read_scale_subresource(call),
            ("scale", _) => self.scale(method, call).await,
            ("finalize", "update") => self.finalize(call).await,
            ("eviction", "create") => self.evict(call).await,
            ("binding", "create") => self.bind(call).await,
            ("log", "get") if self.0.controllers.is_some() => self.log(call),
            (part, _) if self.0.controllers.is_some() => {
                self.live_object(call).and_then(|_| Err(unsupported_subresource(part)))
            }
            // Without a node there are no containers, and the subresources that reach into them do not exist.
            _ => self.live_object(call).and_then(|_| Err(no_such_resource())),
        }
    }

    pub(super) fn live_object(&self, call: &Call<'_>) -> Result<Node, Status> {
        let existing = self.0.store.get(&call.key());
        let mut node = existing.ok_or_else(|| not_found(call.served.resource(), call.name()))?.node();
        call.served.convert_from_storage(&mut node);
        Ok(node)
    }

    fn read_scale_subresource(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let object = self.live_object(call)?;
        let path = call.served.scale_paths().spec_replicas;
        let steps: Vec<&str> = path.iter().map(String::as_str).collect();
        // The real server answers so; built-in kinds have a default.
        if call.served.is_custom() && at(&object, &steps).is_none() {
            let problem = format!("the spec replicas field \".{}\" does not exist", path.join("."));
            let cause = StatusCause { reason: "", message: problem.clone(), field: String::new() };
            let details = StatusDetails { causes: vec![cause], ..StatusDetails::default() };
            let message = format!("Internal error occurred: {problem}");
            return Err(Status::new(500, "InternalError", message).with_details(details));
        }
        Ok(Reply::tree(200, self.scale_of(call, &object)))
    }

    /// The `autoscaling/v1 Scale` of an object.
    pub(super) fn scale_of(&self, call: &Call<'_>, object: &Node) -> Node {
        let paths = call.served.scale_paths();
        let mut scale = map([("apiVersion", "autoscaling/v1".into()), ("kind", "Scale".into())]);
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            copy_field(&mut scale, object, &["metadata", field]);
        }
        let number = |path: &[String]| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            number_at(object, &path)
        };
        set(&mut scale, &["spec"], Node::empty_map());
        // `omitempty`: zero is not written.
        if let Some(replicas) = number(&paths.spec_replicas).filter(|replicas| *replicas != 0) {
            set(&mut scale, &["spec", "replicas"], Node::Int(replicas));
        }
        set(&mut scale, &["status", "replicas"], Node::Int(number(&paths.status_replicas).unwrap_or(0)));
        let selector: Vec<&str> = paths.selector.iter().map(String::as_str).collect();
        let selector = match at(object, &selector).filter(|_| !selector.is_empty()) {
            Some(Node::Str(text)) => text.to_string(),
            Some(selector @ Node::Map(_)) => selector_text(selector),
            _ => String::new(),
        };
        if !selector.is_empty() {
            set(&mut scale, &["status", "selector"], selector);
        }
        scale
    }

    async fn scale(&self, method: &Method, call: &Call<'_>) -> Result<Reply, Status> {
        let kind = if *method == Method::PUT { "UpdateOptions" } else { "PatchOptions" };
        let options = WriteOptions::parse(call.query, kind)?;
        let paths = call.served.scale_paths();
        let path: Vec<&str> = paths.spec_replicas.iter().map(String::as_str).collect();
        let put = *method == Method::PUT;
        let act = |object: &mut Node| {
            // Inside the update, so that a retry starts from the newest state.
            let before = self.scale_of(call, object);
            let scale = if put { read_scale(call)? } else { patched_scale(call, &before)? };
            let revision = meta(&scale, "resourceVersion");
            if !revision.is_empty() && revision != meta(&before, "resourceVersion") {
                let why = "the object has been modified; please apply your changes to the latest version and try again";
                return Err(super::conflict(call.served.resource(), call.name(), why));
            }
            let replicas = number_at(&scale, &["spec", "replicas"]).unwrap_or(0);
            if replicas < 0 {
                let cause = StatusCause::invalid(
                    "spec.replicas",
                    &Node::Int(replicas),
                    "must be greater than or equal to 0",
                );
                return Err(Status::invalid("autoscaling", "Scale", call.name(), vec![cause]));
            }
            set(object, &path, Node::Int(replicas));
            Ok(())
        };
        self.update(call, &options, &UpdateSource::With(&act)).await
    }

    /// Replaces the finalizers in the spec of a namespace.
    async fn finalize(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::parse(call.query, "UpdateOptions")?;
        let sent = self.decode_body(call, options.validation)?;
        let act = |object: &mut Node| {
            copy_field(object, &sent, &["spec", "finalizers"]);
            Ok(())
        };
        self.update(call, &options, &UpdateSource::With(&act)).await
    }

    /// Evicts a pod. No disruption budget is enforced; it is deleted.
    async fn evict(&self, call: &Call<'_>) -> Result<Reply, Status> {
        self.live_object(call)?;
        self.delete(call).await?;
        Ok(Reply::tree(201, success(Some(201), None)))
    }

    /// Binds a pod to a node, as schedulers do.
    async fn bind(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::parse(call.query, "CreateOptions")?;
        let binding = decode_untyped(call)?;
        let node = text_at(&binding, &["target", "name"]).to_owned();
        let act = |object: &mut Node| {
            if !text_at(object, &["spec", "nodeName"]).is_empty() {
                let existing = text_at(object, &["spec", "nodeName"]);
                let why = format!("pod {} is already assigned to node {existing:?}", call.name());
                // The server names the subresource here, unlike in other conflicts.
                let resource = Resource { plural: "pods/binding".into(), ..Resource::default() };
                return Err(super::conflict(&resource, call.name(), &why));
            }
            set(object, &["spec", "nodeName"], node.as_str());
            Ok(())
        };
        self.update(call, &options, &UpdateSource::With(&act)).await?;
        Ok(Reply::tree(201, success(Some(201), None)))
    }
}

/// 501 for subresources that need running containers or authentication.
fn unsupported_subresource(part: &str) -> Status {
    let why = match part {
        "token" => "the embedded cluster has no users and issues no tokens",
        _ => "the embedded cluster runs no containers",
    };
    Status::new(501, "NotImplemented", format!("{part} is not supported: {why}"))
        .with_details(StatusDetails::default())
}

fn read_scale(call: &Call<'_>) -> Result<Node, Status> {
    let scale = decode_untyped(call)?;
    if text_at(&scale, &["kind"]) != "Scale" && !text_at(&scale, &["kind"]).is_empty() {
        return Err(Status::bad_request(format!("expected a Scale, not {}", text_at(&scale, &["kind"]))));
    }
    Ok(scale)
}

fn patched_scale(call: &Call<'_>, scale: &Node) -> Result<Node, Status> {
    let patched = match super::negotiation::content_type(call.headers).as_str() {
        "application/json-patch+json" => patch::json_patch(scale, call.body)?,
        _ => patch::merge_patch(scale, call.body)?,
    };
    Ok(patched.object)
}

/// A selector as text: labels by name, then expressions.
pub(super) fn selector_text(selector: &Node) -> String {
    // ReplicationControllers have a plain map of labels.
    let plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    let labels = if plain { selector.as_map() } else { selector.get("matchLabels").and_then(Node::as_map) };
    let labels = labels.into_iter().flat_map(pintle_tree::Map::iter);
    let mut parts: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    for expression in list_at(selector, &["matchExpressions"]) {
        let key = text_at(expression, &["key"]);
        let mut values: Vec<&str> =
            list_at(expression, &["values"]).iter().filter_map(Node::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match text_at(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.sort();
    parts.join(",")
}

/// The `Status` of a successful operation without a result.
pub(super) fn success(code: Option<i64>, details: Option<Node>) -> Node {
    let mut status = map([
        ("apiVersion", "v1".into()),
        ("kind", "Status".into()),
        ("metadata", Node::empty_map()),
        ("status", "Success".into()),
    ]);
    if let Some(code) = code {
        set(&mut status, &["code"], Node::Int(code));
    }
    if let Some(details) = details {
        set(&mut status, &["details"], details);
    }
    status
}

//! The requests of the controller, and approvals.

use std::sync::Arc;

use pintle::Session;
use pintle::cluster::{ListParams, PatchType, Resource, WriteParams};
use pintle::objects::{Object, ObjectId};
use pintle_tree::{Map, Node, json as tree_json};
use serde_json::{Value, json};

use crate::answer::{Answered, Request};
use crate::app::App;
use crate::command_line::command;
use crate::error::{Failure, Result};
use crate::json::node;
use crate::query;

const API_VERSION: &str = "helm.sh/v3";
const KIND: &str = "HelmRequest";
/// The annotation that approves a plan, by its digest.
const APPROVE: &str = "helm.sh/approve";

fn resource() -> Resource {
    Resource::new("helm.sh", "v3", KIND, "helmrequests")
}

pub(crate) async fn list(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let namespace = request.query.text("namespace");
    let listed = session.cluster.list(&resource(), namespace, &ListParams::default()).await;
    match listed {
        Ok(objects) => {
            let requests: Vec<Value> = objects.iter().map(shown).collect();
            Ok(Answered::json(json!({"installed": true, "requests": requests})))
        }
        Err(error) if is_unknown(&error) => Ok(Answered::json(json!({"installed": false, "requests": []}))),
        Err(error) => Err(app.failure(&error.into())),
    }
}

fn is_unknown(error: &pintle::cluster::Error) -> bool {
    error.is_not_found() || matches!(error, pintle::cluster::Error::NoSuchKind { .. })
}

pub(crate) async fn one(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let mut found = read(&app, &session, &request).await?;
    let mut answer = shown(&found);
    found.metadata_mut().remove("managedFields");
    let yaml = pintle_yaml::write(found.body()).unwrap_or_default();
    answer["yaml"] = String::from_utf8_lossy(&yaml).into();
    Ok(Answered::json(answer))
}

async fn read(app: &App, session: &Session, request: &Request) -> Result<Object> {
    let (namespace, name) = (request.part(0), request.part(1));
    let missing = || Failure::not_found(format!("there is no HelmRequest {name} in namespace {namespace}"));
    match session.cluster.get_by_name(&resource(), namespace, name).await {
        Ok(found) => found.ok_or_else(missing),
        Err(error) if is_unknown(&error) => Err(missing()),
        Err(error) => Err(app.failure(&error.into())),
    }
}

pub(crate) async fn approve(app: Arc<App>, request: Request) -> Result<Answered> {
    let body = query::body(&request.body)?;
    let wanted = query::text(&body, "plan")?.to_owned();
    let session = app.session(&request).await?;
    let found = read(&app, &session, &request).await?;
    let waiting = found.text(&["status", "planDigest"]);
    if waiting.is_empty() {
        return Err(Failure::new(409, "conflict", "this request does not wait for an approval"));
    }
    if wanted != waiting {
        return Err(Failure::new(409, "stale-plan", format!("another plan waits by now: {waiting}"))
            .hint("look at what it does before you approve it"));
    }
    let (namespace, name) = (request.part(0), request.part(1));
    let annotation = Map::from_entries(vec![(APPROVE.into(), waiting.into())]);
    let metadata = Map::from_entries(vec![("annotations".into(), Node::Map(annotation))]);
    let patch = Map::from_entries(vec![("metadata".into(), Node::Map(metadata))]);
    let id = ObjectId::new(API_VERSION, KIND, namespace, name);
    let params = WriteParams { field_manager: "pintle", ..WriteParams::default() };
    let patch = tree_json::write_raw(&patch).unwrap_or_default();
    let patched = session.cluster.patch(&id, PatchType::Merge, patch, &params).await;
    patched.map_err(|error| app.failure(&error.into()))?;
    let mut answer = shown(&read(&app, &session, &request).await?);
    let context = app.context(&request)?;
    let words = ["request", "approve", name, "--namespace", namespace];
    answer["command"] = command(&app, &context, &words).into();
    Ok(Answered::json(answer))
}

fn shown(request: &Object) -> Value {
    let conditions = request.at(&["status", "conditions"]).and_then(Node::as_list).unwrap_or_default();
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let ready = conditions.iter().find(|condition| text(condition, "type") == "Ready");
    let ready_text = |key: &str| ready.map(|ready| text(ready, key)).unwrap_or_default();
    let is_ready = match ready_text("status").as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    };
    let conditions = conditions.iter().map(|condition| {
        json!({"type": text(condition, "type"), "status": text(condition, "status"),
            "reason": text(condition, "reason"), "message": text(condition, "message"),
            "since": text(condition, "lastTransitionTime")})
    });
    let digest = request.text(&["status", "planDigest"]);
    let at = |path: &[&str]| request.at(path).map(node).unwrap_or(Value::Null);
    let plan = (!digest.is_empty()).then(|| {
        json!({"digest": digest, "summary": request.text(&["status", "planSummary"]),
            "objects": at(&["status", "planObjects"])})
    });
    let or = |first: &str, second: &str| if first.is_empty() { second.to_owned() } else { first.to_owned() };
    let chart = or(request.text(&["spec", "chart", "name"]), request.text(&["spec", "chart", "url"]));
    let wanted = request.text(&["spec", "chart", "version"]);
    json!({
        "namespace": request.namespace(),
        "name": request.name(),
        "release": {
            "namespace": or(request.text(&["spec", "targetNamespace"]), request.namespace()),
            "name": or(request.text(&["spec", "releaseName"]), request.name()),
        },
        "chart": chart,
        "version": or(request.text(&["status", "chartVersion"]), wanted),
        "suspended": request.at(&["spec", "suspend"]).and_then(Node::as_bool).unwrap_or(false),
        "ready": is_ready,
        "reason": ready_text("reason"),
        "message": ready_text("message"),
        "conditions": conditions.collect::<Vec<Value>>(),
        "awaitsApproval": ready_text("reason") == "AwaitingApproval",
        "plan": plan,
        "generation": request.int(&["metadata", "generation"]),
        "observedGeneration": request.int(&["status", "observedGeneration"]),
        "history": at(&["status", "history"]),
    })
}

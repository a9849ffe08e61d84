//! The objects of a release: readiness, events, and what controllers made of them.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use pintle::Session;
use pintle::cluster::wait::{Readiness, Status};
use pintle::ops::{self, ObjectEvent, ObjectStatus, OwnedObject, hide_object, owned_objects};
use pintle::release::VersionRef;
use pintle_tree::Node;
use serde_json::{Value, json};

use crate::access::reveals;
use crate::answer::{Answered, Event, Request};
use crate::app::App;
use crate::error::{Failure, Result};
use crate::json::{read_key, time, with_identity};
use crate::records::version_of;
use crate::releases::stream_slot;

/// How often objects are read again while something is not ready, and otherwise.
const SOON: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(10);

pub(crate) async fn list(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = version_of(&request, "revision")?;
    let objects = read(&session, request.part(0), request.part(1), &version).await;
    objects.map(Answered::json).map_err(|error| app.failure(&error))
}

async fn read(session: &Session, namespace: &str, name: &str, version: &VersionRef) -> pintle::Result<Value> {
    let objects = ops::objects(session, namespace, name, version).await?;
    let owned = owned_objects(session, &objects).await;
    let ready = objects.iter().filter(|object| is_ready(&object.readiness)).count();
    let shown: Vec<Value> = objects.iter().zip(&owned).map(|(object, owned)| status(object, owned)).collect();
    Ok(json!({"ready": ready, "total": objects.len(), "objects": shown}))
}

fn is_ready(readiness: &Readiness) -> bool {
    readiness.status == Status::Current
}

fn word(readiness: &Readiness) -> String {
    match readiness.status {
        Status::InProgress => "progressing".to_owned(),
        other => other.as_str().to_lowercase(),
    }
}

fn status(object: &ObjectStatus, owned: &[OwnedObject]) -> Value {
    let reason = object.pods.iter().find_map(|pod| pod.reason.clone());
    let pods = object.pods.iter().map(|pod| {
        json!({"name": pod.name, "containers": pod.containers, "reason": pod.reason, "events": events(&pod.events)})
    });
    with_identity(
        &object.id,
        json!({
            "ready": is_ready(&object.readiness),
            "state": word(&object.readiness),
            "message": object.readiness.message,
            "detail": object.readiness.detail,
            "reason": reason,
            "exists": object.live.is_some(),
            "created": object.live.as_ref().map(|live| live.text(&["metadata", "creationTimestamp"])),
            "events": events(&object.events),
            "pods": pods.collect::<Vec<Value>>(),
            "children": children(owned),
        }),
    )
}

fn children(owned: &[OwnedObject]) -> Vec<Value> {
    let child = |object: &OwnedObject| {
        with_identity(
            &object.id,
            json!({"ready": is_ready(&object.readiness), "state": word(&object.readiness),
                "message": object.readiness.message, "exists": true, "children": children(&object.children)}),
        )
    };
    owned.iter().map(child).collect()
}

fn events(events: &[ObjectEvent]) -> Vec<Value> {
    let event = |event: &ObjectEvent| {
        json!({"warning": event.is_warning, "reason": event.reason, "message": event.message, "count": event.count,
            "lastSeen": time(Some(event.last_seen))})
    };
    events.iter().map(event).collect()
}

/// What a stream of states is at.
struct Watched {
    app: Arc<App>,
    session: Session,
    request: Request,
    version: VersionRef,
    last: Value,
    pause: Duration,
    has_problem: bool,
    _slot: tokio::sync::OwnedSemaphorePermit,
}

pub(crate) async fn watch(app: Arc<App>, request: Request) -> Result<Answered> {
    let slot = stream_slot(&app)?;
    let session = app.session(&request).await?;
    let version = version_of(&request, "revision")?;
    let watched = Watched {
        app,
        session,
        request,
        version,
        last: Value::Null,
        pause: Duration::ZERO,
        has_problem: false,
        _slot: slot,
    };
    Ok(Answered::Events(stream::unfold(watched, Watched::next).boxed()))
}

impl Watched {
    async fn next(mut self) -> Option<(Event, Watched)> {
        loop {
            tokio::time::sleep(self.pause).await;
            let (namespace, name) = (self.request.part(0), self.request.part(1));
            match read(&self.session, namespace, name, &self.version).await {
                Ok(objects) => {
                    self.pause = if objects["ready"] == objects["total"] { LATER } else { SOON };
                    let recovered = std::mem::take(&mut self.has_problem);
                    if objects != self.last || recovered {
                        self.last = objects.clone();
                        return Some((Event::new("objects", objects), self));
                    }
                }
                Err(error) => {
                    self.pause = LATER;
                    if !std::mem::replace(&mut self.has_problem, true) {
                        let problem = self.app.failure(&error).json();
                        return Some((Event::new("problem", problem), self));
                    }
                }
            }
        }
    }
}

pub(crate) async fn one(app: Arc<App>, request: Request) -> Result<Answered> {
    let key = request.query.text("key");
    let id = read_key(key).ok_or_else(|| {
        Failure::input(format!("`{key}` names no object")).hint("a key is apiVersion/Kind/namespace/name")
    })?;
    let session = app.session(&request).await?;
    let is_secret = id.kind == "Secret" && id.group.is_empty();
    let reveal = is_secret && reveals(&app, &request, &id.namespace).await?;
    let found = session.cluster.get(&id).await.map_err(|error| app.failure(&error.into()))?;
    let mut object = found.ok_or_else(|| Failure::not_found(format!("there is no {id}")))?;
    let managers = managers(&object);
    object.metadata_mut().remove("managedFields");
    let hidden = if reveal { 0 } else { hide_object(&mut object) };
    let yaml = String::from_utf8_lossy(&pintle_yaml::write(object.body()).unwrap_or_default()).into_owned();
    Ok(Answered::json(json!({"key": key, "yaml": yaml, "managers": managers, "hidden": hidden})))
}

/// Who has written fields of an object, and when.
fn managers(object: &pintle::objects::Object) -> Vec<Value> {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Node::as_list).unwrap_or_default();
    let text = |entry: &Node, key: &str| entry.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let manager = |entry: &Node| {
        json!({"manager": text(entry, "manager"), "operation": text(entry, "operation"),
            "time": text(entry, "time"), "subresource": text(entry, "subresource")})
    };
    entries.iter().map(manager).collect()
}

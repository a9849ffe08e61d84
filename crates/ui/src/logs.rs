//! The logs of a release's pods, and of its hooks and tests, as they are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use pintle::cluster::logs::{LogRange, LogSource};
use pintle::objects::{Object, ObjectId};
use pintle::ops::{self, LogsRequest};
use pintle::release::VersionRef;
use pintle::{Error, Session};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::answer::{Answered, Event, Request};
use crate::app::App;
use crate::error::{Failure, Result};
use crate::json::read_key;
use crate::releases::stream_slot;

/// The most lines of a log from its end.
const MAX_TAIL: u64 = 10_000;
/// How much of the logs waits for a browser that reads slowly; what comes on top is left out.
const MAX_WAITING: usize = 4 << 20;
/// The longest line that is kept together.
const MAX_LINE: usize = 64 << 10;

pub(crate) async fn follow(app: Arc<App>, request: Request) -> Result<Answered> {
    let slot = stream_slot(&app)?;
    let session = app.session(&request).await?;
    let wanted = logs_request(&app, &session, &request).await?;
    let (sender, receiver) = unbounded_channel();
    let waiting = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let reading = read(Arc::clone(&app), session, wanted, sender, Arc::clone(&waiting));
    // The reading is part of the stream, so that it ends with it.
    let state = (receiver, Box::pin(reading), slot, waiting, false);
    let events =
        stream::unfold(state, |(mut receiver, mut reading, slot, waiting, mut is_read)| async move {
            let event: Option<Event> = loop {
                if is_read {
                    break receiver.recv().await;
                }
                tokio::select! {
                    biased;
                    event = receiver.recv() => break event,
                    () = &mut reading => is_read = true,
                }
            };
            let event = event?;
            waiting.fetch_sub(size(&event).min(waiting.load(RELAXED)), RELAXED);
            Some((event, (receiver, reading, slot, waiting, is_read)))
        });
    Ok(Answered::Events(events.boxed()))
}

const RELAXED: std::sync::atomic::Ordering = std::sync::atomic::Ordering::Relaxed;

fn size(event: &Event) -> usize {
    event.data.get("text").and_then(Value::as_str).map_or(0, str::len)
}

async fn logs_request(app: &App, session: &Session, request: &Request) -> Result<LogsRequest> {
    let query = &request.query;
    let (namespace, name) = (request.part(0).to_owned(), request.part(1).to_owned());
    let object = match (query.given("key"), query.given("hook")) {
        (Some(key), _) => {
            Some(read_key(key).ok_or_else(|| Failure::input(format!("`{key}` names no object")))?)
        }
        (None, Some(hook)) => Some(hook_object(app, session, &namespace, &name, hook).await?),
        (None, None) => None,
    };
    let tail = query.number("tail")?.unwrap_or(500).min(MAX_TAIL);
    let range = LogRange {
        follow: query.on("follow"),
        last_lines: u32::try_from(tail).ok(),
        previous: query.on("previous"),
    };
    Ok(LogsRequest { namespace, name, object, container: query.given("container").map(str::to_owned), range })
}

/// The object of a hook.
async fn hook_object(
    app: &App,
    session: &Session,
    namespace: &str,
    name: &str,
    hook: &str,
) -> Result<ObjectId> {
    let version = ops::get(session, namespace, name, &VersionRef::Current).await;
    let version = version.map_err(|error| app.failure(&error))?;
    let found = version.hooks.iter().find(|known| known.name == hook);
    let found = found.ok_or_else(|| Failure::not_found(format!("release {name} has no hook {hook}")))?;
    let object = Object::read_readable(found.manifest.as_bytes()).into_iter().next();
    let mut object = object.ok_or_else(|| Failure::input(format!("the hook {hook} cannot be read")))?;
    if object.namespace().is_empty() {
        object.set_namespace(namespace);
    }
    Ok(object.id())
}

/// Reads the logs and sends whole lines.
async fn read(
    app: Arc<App>,
    session: Session,
    request: LogsRequest,
    sender: UnboundedSender<Event>,
    waiting: Arc<std::sync::atomic::AtomicUsize>,
) {
    let mut open: BTreeMap<LogSource, Vec<u8>> = BTreeMap::new();
    let send = |source: &LogSource, bytes: &[u8]| {
        if waiting.load(RELAXED) > MAX_WAITING {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let event = Event::new(
            "log",
            json!({"namespace": source.namespace, "pod": source.pod, "container": source.container, "text": text}),
        );
        waiting.fetch_add(size(&event), RELAXED);
        let _ = sender.send(event);
    };
    let outcome = {
        let mut sink = |source: &LogSource, bytes: &[u8]| {
            let rest = open.entry(source.clone()).or_default();
            rest.extend_from_slice(bytes);
            let end = rest.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = end.or((rest.len() > MAX_LINE).then_some(rest.len()));
            if let Some(end) = end {
                let lines: Vec<u8> = rest.drain(..end).collect();
                send(source, &lines);
            }
        };
        ops::logs(&session, &request, &mut sink).await
    };
    for (source, rest) in open.iter().filter(|(_, rest)| !rest.is_empty()) {
        send(source, rest);
    }
    match outcome {
        Ok(unread) => {
            for (source, reason) in unread {
                let problem = Failure::new(500, "other", reason).json();
                let problem =
                    json!({"pod": source.pod, "container": source.container, "error": problem["error"]});
                let _ = sender.send(Event::new("problem", problem));
            }
        }
        Err(Error::Cancelled) => {}
        Err(error) => {
            let _ = sender.send(Event::new("problem", app.failure(&error).json()));
        }
    }
    let _ = sender.send(Event::new("end", json!({})));
}

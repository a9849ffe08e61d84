//! Watches: a stream of events of one kind, from the history of the store and then from its changes.
//!
//! A watch holds no lock and no queue of its own in the store. It remembers a revision and reads on from
//! there whenever the store has changed, so a slow client uses no memory, but may fall behind the history.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use pintle_tree::{Node, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::meta::{map, set};
use super::negotiation::View;
use super::reply::Reply;
use super::selector::Selector;
use super::served_kind::ServedKind;
use super::{Api, Call, read, table};
use crate::status::{Status, StatusCause};
use crate::store::{Event, IndexHint, Object, prefix};

/// The timeout of a watch that does not set one (`--min-request-timeout`). The real server chooses at random between
/// this and twice this.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);
/// How often an idle watch gets a bookmark.
/// As `defaultBookmarkFrequency` of the real server's watch cache.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

struct Watch {
    api: Api,
    served: ServedKind,
    view: View,
    with_columns: bool,
    include: String,
    selector: Selector,
    prefix: String,
    /// The revision up to which events have been sent.
    revision: u64,
    updates: Receiver<u64>,
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    ended: bool,
}

impl Api {
    pub(super) fn watch(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let mut selector = self.selector(call)?;
        if let Some(name) = &call.target.name {
            selector = selector.and_name(name);
        }
        let initial = call.query.is_set("sendInitialEvents");
        if let Some(cause) = initial_events_error(call) {
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause]));
        }
        let requested = call.query.get("resourceVersion");
        let revision = parse_revision(requested)?;
        let seconds = call.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let timeout = seconds.filter(|seconds| *seconds > 0).map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let now = Instant::now();
        let mut watch = Watch {
            api: self.clone(),
            served: call.served.clone(),
            view: call.negotiated.view,
            with_columns: true,
            include: call.query.get("includeObject").to_owned(),
            selector,
            prefix: prefix(&call.served.storage_prefix(), call.target.namespace.as_deref()),
            revision,
            // Subscribed before the first read, so that no change in between is missed.
            updates: self.0.store.subscribe(),
            ready: VecDeque::new(),
            bookmarks: call.query.is_set("allowWatchBookmarks"),
            next_bookmark: now + BOOKMARK_INTERVAL,
            // A timeout that overflows the clock is replaced by the default.
            end: now.checked_add(timeout).unwrap_or(now + DEFAULT_TIMEOUT),
            ended: false,
        };
        // Without a resourceVersion, or with 0, a watch begins with synthetic `ADDED` events for the existing
        // objects.
        let from_now = !call.query.has("sendInitialEvents") && (requested.is_empty() || requested == "0");
        if from_now || initial {
            let index_hint = watch.selector.index_hint(&call.scope());
            watch.send_initial_events(initial, &index_hint);
        // With `sendInitialEvents=false` and no revision the watch starts now.
        } else if call.query.has("sendInitialEvents") && revision == 0 {
            watch.revision = self.0.store.revision();
        }
        let chunks =
            stream::unfold(watch, |mut watch| async move { watch.next().await.map(|chunk| (chunk, watch)) });
        Ok(Reply::stream(Box::pin(chunks)))
    }
}

fn initial_events_error(call: &Call<'_>) -> Option<StatusCause> {
    let field = "resourceVersionMatch";
    let wanted = call.query.get(field);
    if !call.query.has("sendInitialEvents") {
        return (!wanted.is_empty()).then(|| {
            StatusCause::forbidden(
                field,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        });
    }
    if wanted.is_empty() {
        return Some(StatusCause::forbidden(
            field,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    (wanted != "NotOlderThan").then(|| StatusCause::not_supported(field, &wanted.into(), &["NotOlderThan"]))
}

fn parse_revision(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let problem = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        Status::new(500, "", format!("resourceVersion: Invalid value: {text:?}: {problem}"))
    })
}

impl Watch {
    /// Queues the existing objects as `ADDED` events, and the bookmark that ends them.
    fn send_initial_events(&mut self, bookmark: bool, index_hint: &IndexHint) {
        let selector = self.selector.clone();
        let matches = move |object: &Object| selector.matches(object);
        let Ok(listing) = self.api.0.store.find(&self.prefix, None, usize::MAX, None, (index_hint, &matches))
        else {
            return;
        };
        self.revision = listing.revision;
        for object in &listing.objects {
            let chunk = self.encode_stored("ADDED", object);
            self.ready.push_back(chunk);
        }
        if bookmark && self.bookmarks {
            let chunk = self.bookmark(true);
            self.ready.push_back(chunk);
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if self.ended {
                return None;
            }
            // Before reading: a change after this point ends the wait below, and one before it is read now.
            self.updates.mark_unchanged();
            self.catch_up();
            // Reconciles that the last request has left over continue while a client waits for their events.
            if !self.ready.is_empty() || self.api.resume_controllers().await {
                continue;
            }
            let wake = if self.bookmarks { self.next_bookmark.min(self.end) } else { self.end };
            tokio::select! {
                changed = self.updates.changed() => self.ended |= changed.is_err(),
                () = sleep_until(wake) => self.on_timer(),
            }
        }
    }

    fn on_timer(&mut self) {
        let now = Instant::now();
        self.ended |= now >= self.end;
        if self.bookmarks && now >= self.next_bookmark {
            self.next_bookmark = now + BOOKMARK_INTERVAL;
            let chunk = self.bookmark(false);
            self.ready.push_back(chunk);
        }
    }

    /// Queues the events since the last call.
    fn catch_up(&mut self) {
        match self.api.0.store.changes(&self.prefix, self.revision) {
            Ok((events, revision)) => {
                // A watch may start at a revision that does not exist yet; it waits for it.
                self.revision = self.revision.max(revision);
                for event in events {
                    let chunk = self.event_for(&event);
                    self.ready.extend(chunk);
                }
            }
            Err(too_old) => {
                let message = format!("too old resource version: {} ({})", too_old.asked, too_old.oldest);
                let status = Status::new(410, "Expired", message);
                self.ready.push_back(event("ERROR", status.to_object()));
                self.ended = true;
            }
        }
    }

    /// Filters an event by the selector: an object that stops matching is `DELETED`, one that starts matching is
    /// `ADDED`.
    fn event_for(&mut self, change: &Arc<Event>) -> Option<Bytes> {
        let was_in = change.previous.as_ref().is_some_and(|previous| self.selector.matches(previous));
        let is_in = !change.removed && self.selector.matches(&change.object);
        match (was_in, is_in) {
            (false, false) => None,
            (false, true) => Some(self.encode_stored("ADDED", &change.object)),
            (true, true) => Some(self.encode_stored("MODIFIED", &change.object)),
            (true, false) if change.removed => Some(self.encode_stored("DELETED", &change.object)),
            (true, false) => {
                // The last matching state, with the revision of the change that made it not match.
                let mut node = change.previous.as_ref()?.node();
                set(&mut node, &["metadata", "resourceVersion"], change.object.revision.to_string());
                Some(self.encode("DELETED", node))
            }
        }
    }

    /// Encodes an event. An object that is served as stored is embedded as text, which spares each watcher the
    /// parsing.
    fn encode_stored(&mut self, kind: &str, object: &Object) -> Bytes {
        if self.view == View::Whole && self.served.is_served_as_stored() {
            return event_of_text(kind, &object.text);
        }
        self.encode(kind, object.node())
    }

    fn encode(&mut self, kind: &str, mut object: Node) -> Bytes {
        self.served.convert_from_storage(&mut object);
        let shown = match self.view {
            View::Metadata => read::metadata_only(object),
            View::Table => {
                // Only the first table of a watch has column definitions, as in the real server.
                let with_columns = std::mem::take(&mut self.with_columns);
                table::from_event(&self.api, &self.served, &self.include, object, with_columns)
            }
            _ => object,
        };
        event(kind, shown)
    }

    fn bookmark(&self, first: bool) -> Bytes {
        let resource = self.served.resource();
        let mut metadata = map([("resourceVersion", self.revision.to_string().into())]);
        if !self.served.is_custom() {
            set(&mut metadata, &["creationTimestamp"], Node::Nil);
        }
        if first {
            set(&mut metadata, &["annotations", "k8s.io/initial-events-end"], "true");
        }
        let object = map([
            ("apiVersion", resource.api_version().into()),
            ("kind", resource.kind.clone().into()),
            ("metadata", metadata),
        ]);
        event("BOOKMARK", object)
    }
}

fn event(kind: &str, object: Node) -> Bytes {
    event_of_text(kind, &json::write_raw(&object).unwrap_or_default())
}

/// The type comes first, as in the real server: clients decide by it how to decode the object.
fn event_of_text(kind: &str, object: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [b"{\"type\":\"", kind.as_bytes(), b"\",\"object\":", object, b"}\n"];
    parts.concat().into()
}

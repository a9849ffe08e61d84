//! Kubernetes Events about requests. They are for people, so one that cannot be written is no failure.

use pintle::cluster::{Cluster, WriteParams};
use pintle::objects::{Object, ObjectId};
use pintle::release::Timestamp;
use pintle_tree::{Map, Node};

use crate::FIELD_MANAGER;
use crate::conditions::truncated;
use crate::request::HelmRequest;

/// The limit of the API server for messages.
const MAX_MESSAGE: usize = 1000;

/// The limit of the API server for names.
const MAX_NAME: usize = 253;

/// The type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something succeeded.
    Normal,
    /// Something failed.
    Warning,
}

/// An Event that is not published yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingEvent {
    /// The type.
    pub(crate) kind: Kind,
    /// Why, in one word.
    pub(crate) reason: &'static str,
    /// What was being done.
    pub(crate) action: &'static str,
    /// What happened, as a sentence.
    pub(crate) message: String,
    /// When it happened.
    pub(crate) now: Timestamp,
    /// Makes the name of the Event unique.
    pub(crate) unique: u128,
}

impl PendingEvent {
    /// The Event about a request.
    pub(crate) fn object(&self, request: &HelmRequest) -> Object {
        let PendingEvent { kind, reason, action, message, now, unique } = self;
        let name = event_name(request.name(), *unique as u64);
        let mut event = Object::from_id(&ObjectId::new("v1", "Event", request.namespace(), &name));
        let text = |text: &str| Node::from(text);
        let regarding = Map::from_entries(vec![
            ("apiVersion".into(), text("helm.sh/v3")),
            ("kind".into(), text("HelmRequest")),
            ("name".into(), text(request.name())),
            ("namespace".into(), text(request.namespace())),
            ("uid".into(), text(request.uid())),
        ]);
        let stamp = Timestamp::from_unix(now.unix(), 0).to_string();
        let entries = [
            ("involvedObject", Node::Map(regarding)),
            ("reason", text(reason)),
            ("action", text(action)),
            ("message", text(&truncated(message, MAX_MESSAGE))),
            ("type", text(if *kind == Kind::Normal { "Normal" } else { "Warning" })),
            ("firstTimestamp", text(&stamp)),
            ("lastTimestamp", text(&stamp)),
            ("count", Node::Int(1)),
            ("reportingComponent", text(FIELD_MANAGER)),
            ("reportingInstance", text(FIELD_MANAGER)),
            ("source", Node::Map(Map::from_entries(vec![("component".into(), text(FIELD_MANAGER))]))),
        ];
        for (key, value) in entries {
            event.body_mut().insert(key.into(), value);
        }
        event
    }
}

/// The name of an Event: that of the request, shortened if it is too long, and a unique suffix.
fn event_name(request: &str, unique: u64) -> String {
    let suffix = format!(".{unique:016x}");
    let (end, _) = request.char_indices().nth(MAX_NAME - suffix.len()).unwrap_or((request.len(), ' '));
    // A label must not end with these.
    format!("{}{suffix}", request[..end].trim_end_matches(['-', '.']))
}

/// Writes an Event with the controller's own rights.
pub(crate) async fn publish(cluster: &Cluster, event: &Object) {
    let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::default() };
    let _ = cluster.create(event, &params).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_is_valid_for_every_name_of_a_request() {
        assert_eq!(event_name("web", 10), "web.000000000000000a");
        assert_eq!(event_name(&"a".repeat(253), 0).len(), MAX_NAME);
        let cut_at_a_dash = format!("{}-{}", "a".repeat(235), "b".repeat(17));
        assert_eq!(event_name(&cut_at_a_dash, 0), format!("{}.0000000000000000", "a".repeat(235)));
    }
}

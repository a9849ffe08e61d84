//! Recording Kubernetes Events (`kubectl describe` and `kubectl get events` show them).

use pintle_tree::{Node, Str};

use super::client::Client;
use crate::api::meta::{map, number_at, set, text_at};
use crate::status::Status;
use crate::store::{Precondition, WriteError, key, prefix};

/// The reporting components of pods.
pub(super) const KUBELET: &str = "kubelet";
pub(super) const SCHEDULER: &str = "default-scheduler";

impl Client<'_> {
    /// Records an event about an object. If the same event exists, its count is increased, as client-go's event
    /// correlator does.
    pub(super) async fn record_event(
        &self,
        involved_object: &Node,
        source: &str,
        reason: (&str, &str),
        message: &str,
    ) -> Result<(), Status> {
        self.record_container_event(involved_object, "", source, reason, message).await
    }

    /// The same about one container: `field_path` is such as `spec.containers{web}`.
    pub(super) async fn record_container_event(
        &self,
        involved_object: &Node,
        field_path: &str,
        source: &str,
        (kind, reason): (&str, &str),
        message: &str,
    ) -> Result<(), Status> {
        let name = text_at(involved_object, &["metadata", "name"]);
        let namespace = match text_at(involved_object, &["metadata", "namespace"]) {
            // Events about cluster-scoped objects are in the namespace `default`, as client-go puts them.
            "" => "default",
            namespace => namespace,
        };
        let uid = text_at(involved_object, &["metadata", "uid"]);
        let now = self.api.timestamp();
        let is_it = |event: &Node| {
            text_at(event, &["reason"]) == reason
                && text_at(event, &["message"]) == message
                && text_at(event, &["involvedObject", "uid"]) == uid
                && text_at(event, &["involvedObject", "fieldPath"]) == field_path
        };
        let name_prefix = format!("{}{name}.", prefix("events", Some(namespace)));
        let existing = self.api.store().list(&name_prefix, None, usize::MAX, None, &|_| true);
        let existing = existing.map(|listing| listing.objects).unwrap_or_default();
        if let Some(existing) = existing.iter().find(|event| is_it(&event.node())) {
            let increment = |event: &mut Node| {
                let count = number_at(event, &["count"]).unwrap_or(1);
                set(event, &["count"], Node::Int(count.saturating_add(1)));
                set(event, &["lastTimestamp"], now.as_str());
            };
            return self.update(&existing.key, increment).await;
        }
        // Names end in a growing number, so that listing by name gives the order in which events occurred.
        let nanos = self.api.now().as_nanos() + u128::from(self.api.store().revision());
        let name = format!("{name}.{nanos:016x}");
        let mut event = self.event(involved_object, (namespace, &name), (source, kind, reason), message);
        if !field_path.is_empty() {
            set(&mut event, &["involvedObject", "fieldPath"], field_path);
        }
        match self.api.store().put(key("events", namespace, &name), Precondition::Absent, event).await {
            Err(WriteError::Broken(why)) => Err(Status::new(500, "InternalError", why.to_string())),
            _ => Ok(()),
        }
    }

    fn event(
        &self,
        involved_object: &Node,
        (namespace, name): (&str, &str),
        (source, kind, reason): (&str, &str, &str),
        message: &str,
    ) -> Node {
        let now = Node::from(self.api.timestamp());
        let text = |path: &[&str]| Node::from(text_at(involved_object, path));
        let mut involved = map([
            ("apiVersion", text(&["apiVersion"])),
            ("kind", text(&["kind"])),
            ("name", text(&["metadata", "name"])),
            ("resourceVersion", text(&["metadata", "resourceVersion"])),
            ("uid", text(&["metadata", "uid"])),
        ]);
        let namespace_of_object = text_at(involved_object, &["metadata", "namespace"]);
        if !namespace_of_object.is_empty() {
            set(&mut involved, &["namespace"], namespace_of_object);
        }
        let mut from = map([("component", source.into())]);
        if source == KUBELET {
            set(&mut from, &["host"], super::node::NAME);
        }
        map([
            ("apiVersion", "v1".into()),
            ("kind", "Event".into()),
            (
                "metadata",
                map([
                    ("creationTimestamp", now.clone()),
                    ("name", name.into()),
                    ("namespace", namespace.into()),
                    ("uid", Str::from(self.api.new_uid()).into()),
                ]),
            ),
            ("involvedObject", involved),
            ("reason", reason.into()),
            ("message", message.into()),
            ("source", from),
            ("firstTimestamp", now.clone()),
            ("lastTimestamp", now),
            ("count", Node::Int(1)),
            ("type", kind.into()),
            ("eventTime", Node::Nil),
            ("reportingComponent", source.into()),
            ("reportingInstance", if source == KUBELET { super::node::NAME.into() } else { "".into() }),
        ])
    }
}

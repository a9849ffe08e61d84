//! Events: what controllers tell people about what they did.

use pintle_tree::{Node, Str};

use super::hand::Hand;
use super::template::hash_text;
use crate::api::meta::{map, number_at, set, text_at};
use crate::status::Status;
use crate::store::{Expect, Refusal, key};

/// Who tells something.
pub(super) const KUBELET: &str = "kubelet";
pub(super) const SCHEDULER: &str = "default-scheduler";

impl Hand<'_> {
    /// Tells something about an object; what was told before is counted.
    pub(super) async fn tell(
        &self,
        about: &Node,
        source: &str,
        (kind, reason): (&str, &str),
        message: &str,
    ) -> Result<(), Status> {
        let name = text_at(about, &["metadata", "name"]);
        let namespace = match text_at(about, &["metadata", "namespace"]) {
            "" => "default",
            namespace => namespace,
        };
        let uid = text_at(about, &["metadata", "uid"]);
        let mark = hash_text(&format!("{uid}/{reason}/{message}"));
        let key = key("events", namespace, &format!("{name}.{mark:016x}"));
        let now = self.api.now();
        let again = |event: &mut Node| {
            let count = number_at(event, &["count"]).unwrap_or(1);
            set(event, &["count"], Node::Int(count.saturating_add(1)));
            set(event, &["lastTimestamp"], now.as_str());
        };
        let event =
            self.event(about, (namespace, &format!("{name}.{mark:016x}")), (source, kind, reason), message);
        match self.api.store().put(key.clone(), Expect::Absent, event).await {
            Ok(_) => Ok(()),
            Err(Refusal::Broken(why)) => Err(Status::new(500, "InternalError", why.to_string())),
            Err(_) => self.edit(&key, again).await,
        }
    }

    fn event(
        &self,
        about: &Node,
        (namespace, name): (&str, &str),
        (source, kind, reason): (&str, &str, &str),
        message: &str,
    ) -> Node {
        let now = Node::from(self.api.now());
        let text = |path: &[&str]| Node::from(text_at(about, path));
        let mut involved = map([
            ("apiVersion", text(&["apiVersion"])),
            ("kind", text(&["kind"])),
            ("name", text(&["metadata", "name"])),
            ("resourceVersion", text(&["metadata", "resourceVersion"])),
            ("uid", text(&["metadata", "uid"])),
        ]);
        let home = text_at(about, &["metadata", "namespace"]);
        if !home.is_empty() {
            set(&mut involved, &["namespace"], home);
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

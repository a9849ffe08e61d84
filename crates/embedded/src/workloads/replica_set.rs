//! ReplicaSets and replication controllers: so many pods of one template.

use std::time::Duration;

use pintle_tree::Node;

use super::engine::{Look, Wake};
use super::scale::{self, drop_pod, make_pod};
use super::status::{count, drop_condition, observe, set_condition, set_count};
use super::template::{condition, is_active, ready_since};
use crate::api::meta::{at, is_deleted, number_at, set, text_at};
use crate::status::Status;

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    let source = match look.text(&["kind"]) {
        "ReplicaSet" => "replicaset-controller",
        _ => "replication-controller",
    };
    let (mut pods, others): (Vec<Node>, Vec<Node>) = look.owned("pods").into_iter().partition(is_active);
    let leaving = count(&others, is_deleted);
    let wanted = number_at(&look.object, &["spec", "replicas"]).unwrap_or(1).max(0);
    let wanted = usize::try_from(wanted).unwrap_or(0);
    let held = held_back(look);
    let mut refusal = held.as_ref().map(|(why, _)| why.clone());
    while pods.len() < wanted && refusal.is_none() {
        match make_pod(look, source, &format!("{}-", look.name()), |_| {}).await? {
            Ok(pod) => pods.push(pod),
            Err(refused) => refusal = Some(refused.message),
        }
    }
    if pods.len() > wanted {
        // Those that are not ready go first, then the youngest.
        pods.sort_by_key(|pod| ready_since(pod).unwrap_or(Duration::MAX));
        for pod in pods.split_off(wanted) {
            drop_pod(look, source, &pod).await?;
        }
    }
    let counted = scale::count(look, &pods);
    let now = look.hand.api.now();
    let labels = at(&look.object, &["spec", "template", "metadata", "labels"]).and_then(Node::as_map);
    let is_labelled = |pod: &Node| {
        labels.is_none_or(|labels| {
            labels.iter().all(|(name, value)| {
                at(pod, &["metadata", "labels"]).and_then(|it| it.get(name)) == Some(value)
            })
        })
    };
    let act = |set_: &mut Node| {
        set(set_, &["status", "replicas"], Node::Int(i64::try_from(pods.len()).unwrap_or(0)));
        set_count(set_, "fullyLabeledReplicas", count(&pods, is_labelled));
        set_count(set_, "readyReplicas", counted.ready);
        set_count(set_, "availableReplicas", counted.available);
        if look.hand.api.table().minor() >= 35 {
            set(set_, &["status", "terminatingReplicas"], Node::Int(leaving));
        }
        observe(set_);
        match &refusal {
            Some(why) => set_condition(set_, ("ReplicaFailure", true, "FailedCreate", why), &now),
            None => drop_condition(set_, "ReplicaFailure"),
        }
    };
    look.hand.edit(look.key, act).await?;
    let later = refusal.and_then(|_| held.map_or_else(|| scale::again(look), |(_, wake)| Some(wake)));
    Ok(counted.next.or(later))
}

/// Why the set does not try to make pods now, and when it will: it was refused a moment ago, and is as it was then.
fn held_back(look: &Look<'_>) -> Option<(String, Wake)> {
    let refused = condition(&look.object, "ReplicaFailure")?;
    let seen = number_at(&look.object, &["status", "observedGeneration"]);
    let wake = look.pending.filter(|_| seen == number_at(&look.object, &["metadata", "generation"]))?;
    Some((text_at(refused, &["message"]).to_owned(), wake))
}

/// The pods of a set in words, for whoever owns it.
pub(super) fn numbers(set: &Node) -> Numbers {
    let number = |path: &[&str]| number_at(set, path).unwrap_or(0);
    Numbers {
        wanted: number_at(set, &["spec", "replicas"]).unwrap_or(1),
        there: number(&["status", "replicas"]),
        ready: number(&["status", "readyReplicas"]),
        available: number(&["status", "availableReplicas"]),
        leaving: number(&["status", "terminatingReplicas"]),
        name: text_at(set, &["metadata", "name"]).to_owned(),
    }
}

/// See [`numbers`].
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) wanted: i64,
    pub(super) there: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) leaving: i64,
    pub(super) name: String,
}

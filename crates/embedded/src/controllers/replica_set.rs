//! The controller of ReplicaSets and ReplicationControllers.

use std::time::Duration;

use pintle_tree::Node;

use super::reconcile::{Request, Requeue};
use super::scale::{self, create_pod, delete_pod};
use super::status::{count, observe, remove_condition, set_condition, set_count};
use super::template::{condition, is_active, ready_since};
use crate::api::meta::{at, is_deleted, number_at, set, text_at};
use crate::status::Status;

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let source = match request.text(&["kind"]) {
        "ReplicaSet" => "replicaset-controller",
        _ => "replication-controller",
    };
    let (mut pods, others): (Vec<Node>, Vec<Node>) = request.owned("pods").into_iter().partition(is_active);
    let terminating = count(&others, is_deleted);
    let desired = number_at(&request.object, &["spec", "replicas"]).unwrap_or(1).max(0);
    let desired = usize::try_from(desired).unwrap_or(0);
    // Every event of a pod reconciles its owner. Without the backoff each would try the rejected create again.
    let held = backing_off(request);
    let mut refusal = held.as_ref().map(|(why, _)| why.clone());
    while pods.len() < desired && refusal.is_none() {
        match create_pod(request, source, &format!("{}-", request.name()), |_| {}).await? {
            Ok(pod) => pods.push(pod),
            Err(error) => refusal = Some(error.message),
        }
    }
    if pods.len() > desired {
        // Pods that are not ready are deleted first, then the youngest, as the real controller ranks them.
        pods.sort_by_key(|pod| ready_since(pod).unwrap_or(Duration::MAX));
        for pod in pods.split_off(desired) {
            delete_pod(request, source, &pod).await?;
        }
    }
    let counted = scale::count(request, &pods);
    let now = request.client.api.timestamp();
    let labels = at(&request.object, &["spec", "template", "metadata", "labels"]).and_then(Node::as_map);
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
        if request.client.api.catalog().minor() >= 35 {
            set(set_, &["status", "terminatingReplicas"], Node::Int(terminating));
        }
        observe(set_, &request.object);
        match &refusal {
            Some(why) => set_condition(set_, ("ReplicaFailure", true, "FailedCreate", why), &now),
            None => remove_condition(set_, "ReplicaFailure"),
        }
    };
    request.client.update(request.key, act).await?;
    let later =
        refusal.and_then(|_| held.map_or_else(|| scale::backoff(request), |(_, requeue)| Some(requeue)));
    Ok(counted.next.or(later))
}

/// Returns the message of the last failed create while its backoff has not expired and the spec has not changed.
fn backing_off(request: &Request<'_>) -> Option<(String, Requeue)> {
    let error = condition(&request.object, "ReplicaFailure")?;
    let seen = number_at(&request.object, &["status", "observedGeneration"]);
    let requeue =
        request.pending.filter(|_| seen == number_at(&request.object, &["metadata", "generation"]))?;
    Some((text_at(error, &["message"]).to_owned(), requeue))
}

/// Reads the counts of a ReplicaSet.
pub(super) fn replica_counts(set: &Node) -> ReplicaCounts {
    let number = |path: &[&str]| number_at(set, path).unwrap_or(0);
    ReplicaCounts {
        desired: number_at(set, &["spec", "replicas"]).unwrap_or(1),
        current: number(&["status", "replicas"]),
        ready: number(&["status", "readyReplicas"]),
        available: number(&["status", "availableReplicas"]),
        terminating: number(&["status", "terminatingReplicas"]),
        name: text_at(set, &["metadata", "name"]).to_owned(),
    }
}

#[derive(Clone, Debug)]
pub(super) struct ReplicaCounts {
    pub(super) desired: i64,
    pub(super) current: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) terminating: i64,
    pub(super) name: String,
}

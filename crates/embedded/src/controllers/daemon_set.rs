//! The DaemonSet controller: one pod, on the one node.

use pintle_tree::Node;

use super::node;
use super::reconcile::{Request, Requeue};
use super::revision::{self, Label};
use super::scale::{self, create_pod, delete_pod};
use super::status::{count, observe, set_count};
use super::template::{hash, is_active, label};
use crate::api::meta::{at, is_deleted, set};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "daemonset-controller";
const HASH: &str = "controller-revision-hash";

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let nothing = Node::Nil;
    let hash = hash(at(&request.object, &["spec", "template"]).unwrap_or(&nothing));
    let (mut pods, inactive): (Vec<Node>, Vec<Node>) = request.owned("pods").into_iter().partition(is_active);
    let is_used = |revision: &Node| pods.iter().any(|pod| label(pod, HASH) == label(revision, HASH));
    revision::record(request, Label(HASH), &hash, is_used).await?;
    let desired = usize::from(matches_node(request));
    let rolls = request.text(&["spec", "updateStrategy", "type"]) != "OnDelete";
    let (keep, mut surplus): (Vec<Node>, Vec<Node>) =
        pods.drain(..).partition(|pod| !rolls || label(pod, HASH) == hash);
    pods = keep;
    surplus.extend(pods.split_off(desired.min(pods.len())));
    for pod in &surplus {
        delete_pod(request, SOURCE, pod).await?;
    }
    // Without a surge the new pod comes when the old one is gone; its deletion reconciles the DaemonSet again.
    let waits = !has_surge(request) && (!surplus.is_empty() || inactive.iter().any(is_deleted));
    let mut later = None;
    while !waits && pods.len() < desired && later.is_none() {
        let adjust = |pod: &mut Node| set(pod, &["metadata", "labels", HASH], hash.as_str());
        match create_pod(request, SOURCE, &format!("{}-", request.name()), adjust).await? {
            Ok(pod) => pods.push(pod),
            Err(_) => later = scale::backoff(request),
        }
    }
    let counted = scale::count(request, &pods);
    let desired = i64::from(matches_node(request));
    let act = |it: &mut Node| {
        let counts = [
            ("currentNumberScheduled", i64::try_from(pods.len()).unwrap_or(0)),
            ("desiredNumberScheduled", desired),
            ("numberMisscheduled", 0),
            ("numberReady", counted.ready),
        ];
        for (field, number) in counts {
            set(it, &["status", field], Node::Int(number));
        }
        set_count(it, "numberAvailable", counted.available);
        set_count(it, "numberUnavailable", desired - counted.available);
        set_count(it, "updatedNumberScheduled", count(&pods, |pod| label(pod, HASH) == hash));
        observe(it, &request.object);
    };
    request.client.update(request.key, act).await?;
    Ok(counted.next.or(later))
}

fn has_surge(request: &Request<'_>) -> bool {
    let surge = at(&request.object, &["spec", "updateStrategy", "rollingUpdate", "maxSurge"]);
    surge.is_some_and(|surge| !matches!(surge, Node::Int(0)) && surge.as_str() != Some("0%"))
}

/// Whether the node selector of the pod template matches the node.
fn matches_node(request: &Request<'_>) -> bool {
    let labels = request.client.get(&key("nodes", "", node::NAME)).unwrap_or_default();
    let desired = at(&request.object, &["spec", "template", "spec", "nodeSelector"]).and_then(Node::as_map);
    desired.is_none_or(|desired| {
        desired.iter().all(|(name, value)| {
            at(&labels, &["metadata", "labels"]).and_then(|labels| labels.get(name)) == Some(value)
        })
    })
}

//! The StatefulSet controller: pods with ordinals and their claims, created and updated one by one.

use pintle_tree::Node;

use super::client::CLAIMS;
use super::reconcile::{Request, Requeue};
use super::revision::{self, Label};
use super::scale::{self, backoff, create_pod, delete_pod, verb};
use super::status::{count, observe, set_count};
use super::template::{hash, is_finished, label, owner_reference, ready_since};
use crate::api::meta::{at, copy_field, is_deleted, list_at, map, number_at, set, text_at};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "statefulset-controller";
const HASH: &str = "controller-revision-hash";

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let nothing = Node::Nil;
    let hash = hash(at(&request.object, &["spec", "template"]).unwrap_or(&nothing));
    let revision = format!("{}-{hash}", request.name());
    let pods = request.owned("pods");
    let status = ["currentRevision", "updateRevision"].map(|field| request.text(&["status", field]));
    let is_used = |revision: &Node| {
        let name = text_at(revision, &["metadata", "name"]);
        status.contains(&name) || pods.iter().any(|pod| label(pod, HASH) == name)
    };
    revision::record(request, Label("controller.kubernetes.io/hash"), &hash, is_used).await?;
    let later = step(request, &pods, &revision).await?;
    let pods: Vec<Node> = request.owned("pods").into_iter().filter(|pod| !is_deleted(pod)).collect();
    let counted = scale::count(request, &pods);
    let updated = count(&pods, |pod| label(pod, HASH) == revision);
    let desired = desired_replicas(request);
    let all = i64::try_from(pods.len()).unwrap_or(0);
    let done = updated == all && all == desired && counted.ready == desired;
    // `currentRevision` follows only when the rollout is complete: `kubectl rollout status` compares the two.
    let current = match request.text(&["status", "currentRevision"]) {
        current if !done && !current.is_empty() => current.to_owned(),
        _ => revision.clone(),
    };
    let act = |it: &mut Node| {
        set(it, &["status", "replicas"], Node::Int(all));
        set(it, &["status", "availableReplicas"], Node::Int(counted.available));
        set_count(it, "readyReplicas", counted.ready);
        set_count(it, "currentReplicas", count(&pods, |pod| label(pod, HASH) == current));
        set_count(it, "updatedReplicas", updated);
        set(it, &["status", "currentRevision"], current.as_str());
        set(it, &["status", "updateRevision"], revision.as_str());
        set(it, &["status", "collisionCount"], Node::Int(0));
        observe(it, &request.object);
    };
    request.client.update(request.key, act).await?;
    Ok(counted.next.or(later))
}

fn desired_replicas(request: &Request<'_>) -> i64 {
    number_at(&request.object, &["spec", "replicas"]).unwrap_or(1).max(0)
}

fn number(pod: &Node) -> i64 {
    // Without an ordinal a pod is not ours by name, and -1 is below every range.
    text_at(pod, &["metadata", "name"]).rsplit('-').next().and_then(|end| end.parse().ok()).unwrap_or(-1)
}

/// Takes the next step: creates a missing pod, deletes a surplus one, or replaces one of an old revision.
async fn step(request: &Request<'_>, pods: &[Node], revision: &str) -> Result<Option<Requeue>, Status> {
    let first = number_at(&request.object, &["spec", "ordinals", "start"]).unwrap_or(0);
    // Otherwise each ordinal waits until all before it are ready.
    let at_once = request.text(&["spec", "podManagementPolicy"]) == "Parallel";
    let mut is_created = false;
    for ordinal in first..first.saturating_add(desired_replicas(request)) {
        match pods.iter().find(|pod| number(pod) == ordinal) {
            None => {
                if let Some(later) = create(request, ordinal, revision).await? {
                    return Ok(Some(later));
                }
                is_created = true;
                if !at_once {
                    return Ok(None);
                }
            }
            Some(pod) if is_finished(pod) && !is_deleted(pod) => {
                delete_pod(request, SOURCE, pod).await?;
                return Ok(None);
            }
            Some(pod) if ready_since(pod).is_none() && !at_once => {
                // The rollout is stuck on a pod that never became ready; a newer revision may replace it.
                let stale = label(pod, HASH) != revision && !is_deleted(pod);
                return if stale { update(request, pods, revision).await } else { Ok(None) };
            }
            Some(_) => {}
        }
    }
    let last = first.saturating_add(desired_replicas(request));
    // `ordinals.start` may have moved up, which leaves pods below the range.
    let is_surplus =
        |pod: &&Node| number(pod) >= 0 && !(first..last).contains(&number(pod)) && !is_deleted(pod);
    let mut surplus: Vec<&Node> = pods.iter().filter(is_surplus).collect();
    surplus.sort_by_key(|pod| number(pod));
    if let Some(pod) = surplus.last() {
        delete_pod(request, SOURCE, pod).await?;
        return Ok(None);
    }
    // What was created is not ready yet, so nothing may be replaced; the new pods reconcile the set again.
    if is_created { Ok(None) } else { update(request, pods, revision).await }
}

/// Deletes the pod of an old revision with the highest ordinal; the next reconcile creates its successor. Each pod is
/// replaced when those above it are ready, whatever `podManagementPolicy` says about creating them.
async fn update(request: &Request<'_>, pods: &[Node], revision: &str) -> Result<Option<Requeue>, Status> {
    if request.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Ok(None);
    }
    let partition =
        number_at(&request.object, &["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or(0);
    let mut from_highest: Vec<&Node> = pods.iter().filter(|pod| number(pod) >= partition).collect();
    from_highest.sort_by_key(|pod| std::cmp::Reverse(number(pod)));
    for pod in from_highest {
        if label(pod, HASH) != revision && !is_deleted(pod) {
            delete_pod(request, SOURCE, pod).await?;
            break;
        }
        if is_deleted(pod) || ready_since(pod).is_none() {
            break;
        }
    }
    Ok(None)
}

/// Creates the claims of an ordinal, then its pod.
async fn create(request: &Request<'_>, ordinal: i64, revision: &str) -> Result<Option<Requeue>, Status> {
    let name = format!("{}-{ordinal}", request.name());
    for template in list_at(&request.object, &["spec", "volumeClaimTemplates"]) {
        create_claim(request, template, &name).await?;
    }
    let adjust = |pod: &mut Node| {
        set(pod, &["metadata", "labels", HASH], revision);
        set(pod, &["metadata", "labels", "statefulset.kubernetes.io/pod-name"], name.as_str());
        set(pod, &["metadata", "labels", "apps.kubernetes.io/pod-index"], ordinal.to_string());
        set(pod, &["spec", "hostname"], name.as_str());
        if !request.text(&["spec", "serviceName"]).is_empty() {
            set(pod, &["spec", "subdomain"], request.text(&["spec", "serviceName"]));
        }
        add_claims(request, pod, &name);
    };
    Ok(match create_pod(request, SOURCE, &name, adjust).await? {
        Ok(_) => None,
        Err(_) => backoff(request),
    })
}

fn claim_name(template: &Node, pod: &str) -> String {
    format!("{}-{pod}", text_at(template, &["metadata", "name"]))
}

fn add_claims(request: &Request<'_>, pod: &mut Node, name: &str) {
    let mut volumes = list_at(pod, &["spec", "volumes"]).to_vec();
    for template in list_at(&request.object, &["spec", "volumeClaimTemplates"]) {
        let volume = text_at(template, &["metadata", "name"]);
        // A claim template takes precedence over a volume of the same name in the pod template.
        volumes.retain(|it| text_at(it, &["name"]) != volume);
        let claim = map([("claimName", claim_name(template, name).into())]);
        volumes.push(map([("name", volume.into()), ("persistentVolumeClaim", claim)]));
    }
    if !volumes.is_empty() {
        set(pod, &["spec", "volumes"], volumes);
    }
}

async fn create_claim(request: &Request<'_>, template: &Node, pod: &str) -> Result<(), Status> {
    let name = claim_name(template, pod);
    // Claims outlive their pods: a pod that is created again gets the data of its predecessor.
    if request.client.get(&key("persistentvolumeclaims", request.namespace(), &name)).is_some() {
        return Ok(());
    }
    let mut claim = map([("apiVersion", "v1".into()), ("kind", "PersistentVolumeClaim".into())]);
    for field in ["labels", "annotations"] {
        if at(template, &["metadata", field]).is_some() {
            copy_field(&mut claim, template, &["metadata", field]);
        }
    }
    // The labels of the selector are added, so that `kubectl delete pvc -l` finds the claims of a set.
    let labels = at(&request.object, &["spec", "selector", "matchLabels"]).and_then(Node::as_map);
    for (label, value) in labels.into_iter().flat_map(pintle_tree::Map::iter) {
        set(&mut claim, &["metadata", "labels", &label.to_str_lossy()], value.clone());
    }
    set(&mut claim, &["metadata", "name"], name.as_str());
    set(&mut claim, &["metadata", "namespace"], request.namespace());
    let retention = ["spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"];
    if request.text(&retention) == "Delete" {
        set(&mut claim, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    }
    copy_field(&mut claim, template, &["spec"]);
    let created = request.client.create(CLAIMS, request.namespace(), &claim).await;
    let (kind, text) = match &created {
        Ok(_) => {
            let verb = verb(request, "Create");
            let text = format!("{verb} Claim {name} Pod {pod} in StatefulSet {} success", request.name());
            (("Normal", "SuccessfulCreate"), text)
        }
        Err(error) => {
            let text = format!(
                "{} Claim {name} for Pod {pod} in StatefulSet {} failed error: {}",
                verb(request, "Create"),
                request.name(),
                error.message
            );
            (("Warning", "FailedCreate"), text)
        }
    };
    request.client.record_event(&request.object, SOURCE, kind, &text).await?;
    created.map(drop).map_err(Status::from)
}

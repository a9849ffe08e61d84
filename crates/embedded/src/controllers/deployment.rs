//! The Deployment controller: one ReplicaSet per pod template; a rolling update scales the new one up and the old
//! ones down within `maxSurge` and `maxUnavailable`.

use std::time::Duration;

use pintle_tree::{Map, Node, Str};

use super::client::REPLICA_SETS;
use super::reconcile::{Request, Requeue};
use super::replica_set::{ReplicaCounts, replica_counts};
use super::scale::scaled_value;
use super::status::{observe, remove_condition, set_condition, set_count};
use super::template::{condition, hash, label, owner_reference, time};
use crate::api::meta::{at, copy_field, list_at, map, number_at, set, text_at};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "deployment-controller";
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
/// The value of `progressDeadlineSeconds` that means no deadline.
/// As `HasProgressDeadline` of the real controller.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let nothing = Node::Nil;
    let hash = hash(at(&request.object, &["spec", "template"]).unwrap_or(&nothing));
    let sets = request.owned("replicasets.apps");
    // The real controller compares templates (`EqualIgnoreHash`), as its hash has changed between versions. Here the
    // hash identifies a template.
    let (new, old): (Vec<Node>, Vec<Node>) = sets.into_iter().partition(|it| label(it, HASH) == hash);
    let paused =
        request.object.get("spec").and_then(|it| it.get("paused")).and_then(Node::as_bool) == Some(true);
    let new = match new.into_iter().next() {
        Some(new) => Some(new),
        None if paused => None,
        None => Some(create_replica_set(request, &hash, &old).await?),
    };
    if let (Some(new), false) = (&new, paused) {
        adopt_revision(request, new, &old).await?;
        roll_out(request, new, &old).await?;
        prune_history(request, &old).await?;
    }
    let requeue = update_status(request, new.as_ref(), &old).await?;
    Ok(requeue)
}

fn revision(set: &Node) -> i64 {
    text_at(set, &["metadata", "annotations", REVISION]).parse().unwrap_or(0)
}

fn desired_replicas(request: &Request<'_>) -> i64 {
    number_at(&request.object, &["spec", "replicas"]).unwrap_or(1).max(0)
}

/// Returns `maxSurge` and `maxUnavailable` as numbers of pods. Both being zero would block the rollout, so that the
/// controller then assumes one unavailable pod, as the real one does.
fn rollout_limits(request: &Request<'_>) -> (i64, i64) {
    let rule = |field| at(&request.object, &["spec", "strategy", "rollingUpdate", field]);
    let surge = scaled_value(rule("maxSurge"), desired_replicas(request), true);
    let unavailable = scaled_value(rule("maxUnavailable"), desired_replicas(request), false);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

async fn create_replica_set(request: &Request<'_>, hash: &str, old: &[Node]) -> Result<Node, Status> {
    let name = format!("{}-{hash}", request.name());
    let mut replica_set = map([("apiVersion", "apps/v1".into()), ("kind", "ReplicaSet".into())]);
    set(&mut replica_set, &["metadata", "name"], name.as_str());
    set(&mut replica_set, &["metadata", "namespace"], request.namespace());
    if let Some(labels) = at(&request.object, &["spec", "template", "metadata", "labels"]) {
        set(&mut replica_set, &["metadata", "labels"], labels.clone());
    }
    set(&mut replica_set, &["metadata", "labels", HASH], hash);
    set(&mut replica_set, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    set(&mut replica_set, &["metadata", "annotations"], Node::Map(inherited_annotations(&request.object)));
    let next = old.iter().map(revision).max().unwrap_or(0) + 1;
    set(&mut replica_set, &["metadata", "annotations", REVISION], next.to_string());
    // The real controller uses these annotations to scale ReplicaSets in proportion during a rollout.
    let (surge, _) = rollout_limits(request);
    let most = (desired_replicas(request) + surge).to_string();
    set(
        &mut replica_set,
        &["metadata", "annotations", "deployment.kubernetes.io/desired-replicas"],
        desired_replicas(request).to_string(),
    );
    set(&mut replica_set, &["metadata", "annotations", "deployment.kubernetes.io/max-replicas"], most);
    for field in ["selector", "template", "minReadySeconds"] {
        if at(&request.object, &["spec", field]).is_some() {
            copy_field(&mut replica_set, &request.object, &["spec", field]);
        }
    }
    set(&mut replica_set, &["spec", "selector", "matchLabels", HASH], hash);
    set(&mut replica_set, &["spec", "template", "metadata", "labels", HASH], hash);
    // `roll_out` scales it up within the limits of the strategy.
    set(&mut replica_set, &["spec", "replicas"], Node::Int(0));
    match request.client.create(REPLICA_SETS, request.namespace(), &replica_set).await {
        Ok(created) => Ok(created),
        Err(error) => {
            let text = format!("Failed to create new replica set {name:?}: {}", error.message);
            request
                .client
                .record_event(&request.object, SOURCE, ("Warning", "ReplicaSetCreateError"), &text)
                .await?;
            let now = request.client.api.timestamp();
            let act = |it: &mut Node| {
                set_condition(it, ("Progressing", false, "ReplicaSetCreateError", &text), &now);
                observe(it, &request.object);
            };
            request.client.update(request.key, act).await?;
            // The error requeues the Deployment.
            Err(error.into())
        }
    }
}

/// The annotations that are copied to ReplicaSets: all but those that describe the Deployment itself.
fn inherited_annotations(deployment: &Node) -> Map<Node> {
    const OWN: [&str; 6] = [
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    ];
    let all = at(deployment, &["metadata", "annotations"]).and_then(Node::as_map);
    let all = all.into_iter().flat_map(Map::iter);
    all.filter(|(name, _)| !OWN.iter().any(|own| **name == **own))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Makes the revision of the current ReplicaSet the newest. After a rollback an old ReplicaSet becomes current again
/// and gets a new number.
async fn adopt_revision(request: &Request<'_>, new: &Node, old: &[Node]) -> Result<(), Status> {
    let newest = old.iter().map(revision).max().unwrap_or(0);
    let number = if revision(new) > newest { revision(new) } else { newest + 1 };
    let text = number.to_string();
    let annotations = inherited_annotations(&request.object);
    let act = |it: &mut Node| {
        for (name, value) in annotations.iter() {
            set(it, &["metadata", "annotations", &name.to_str_lossy()], value.clone());
        }
        set(it, &["metadata", "annotations", REVISION], text.as_str());
    };
    request.client.update(&set_key(request, new), act).await?;
    request
        .client
        .update(request.key, |it| set(it, &["metadata", "annotations", REVISION], text.as_str()))
        .await
}

fn set_key(request: &Request<'_>, set: &Node) -> Str {
    key("replicasets.apps", request.namespace(), text_at(set, &["metadata", "name"]))
}

/// Takes the next step of the rollout.
async fn roll_out(request: &Request<'_>, new: &Node, old: &[Node]) -> Result<(), Status> {
    let desired = desired_replicas(request);
    let new_counts = replica_counts(new);
    let old_desired: i64 = old.iter().map(|it| replica_counts(it).desired).sum();
    // All old pods must be gone before the first new one is created.
    if request.text(&["spec", "strategy", "type"]) == "Recreate" {
        for it in old.iter().filter(|it| replica_counts(it).desired > 0) {
            scale_replica_set(request, it, 0).await?;
        }
        let gone = old.iter().all(|it| replica_counts(it).desired == 0 && replica_counts(it).current == 0);
        return if gone { scale_replica_set(request, new, desired).await } else { Ok(()) };
    }
    let (surge, unavailable) = rollout_limits(request);
    // As `NewRSNewReplicas`: never more pods in total than desired plus surge.
    if new_counts.desired != desired {
        let available_surge = (desired + surge - new_counts.desired - old_desired).max(0);
        let next = if new_counts.desired > desired {
            desired
        } else {
            (new_counts.desired + available_surge).min(desired)
        };
        // One step per reconcile: the change enqueues the Deployment again.
        if next != new_counts.desired {
            return scale_replica_set(request, new, next).await;
        }
    }
    scale_down_old(request, &new_counts, old, desired - unavailable, old_desired).await
}

/// Scales old ReplicaSets down, unavailable pods first, while at least `least` pods stay available.
async fn scale_down_old(
    request: &Request<'_>,
    new: &ReplicaCounts,
    old: &[Node],
    least: i64,
    old_desired: i64,
) -> Result<(), Status> {
    // As `reconcileOldReplicaSets`: new pods that are not available yet cannot replace old ones.
    let unready = new.desired - new.available;
    let mut most = (old_desired + new.desired - least - unready).max(0);
    let mut sorted: Vec<&Node> = old.iter().filter(|it| replica_counts(it).desired > 0).collect();
    sorted.sort_by_key(|it| revision(it));
    for it in &sorted {
        let current = replica_counts(it);
        // As `cleanupUnhealthyReplicas`: removing unavailable pods does not reduce the availability.
        let idle = (current.desired - current.available).clamp(0, most);
        let mut drop = idle;
        most -= idle;
        let available: i64 =
            sorted.iter().map(|it| replica_counts(it).available).sum::<i64>() + new.available;
        let spare = (available - least).clamp(0, most).min(current.desired - drop);
        drop += spare;
        most -= spare;
        if drop > 0 {
            return scale_replica_set(request, it, current.desired - drop).await;
        }
    }
    Ok(())
}

async fn scale_replica_set(request: &Request<'_>, replica_set: &Node, to: i64) -> Result<(), Status> {
    let before = replica_counts(replica_set);
    if before.desired == to {
        return Ok(());
    }
    // Updates by controllers bypass the API, which would increment the generation.
    let act = |it: &mut Node| {
        set(it, &["spec", "replicas"], Node::Int(to));
        let generation = number_at(it, &["metadata", "generation"]).unwrap_or(1);
        set(it, &["metadata", "generation"], Node::Int(generation + 1));
    };
    request.client.update(&set_key(request, replica_set), act).await?;
    let direction = if to > before.desired { "up" } else { "down" };
    let text = format!("Scaled {direction} replica set {} from {} to {to}", before.name, before.desired);
    request.client.record_event(&request.object, SOURCE, ("Normal", "ScalingReplicaSet"), &text).await
}

/// Deletes old empty ReplicaSets beyond `revisionHistoryLimit`.
async fn prune_history(request: &Request<'_>, old: &[Node]) -> Result<(), Status> {
    let limit = number_at(&request.object, &["spec", "revisionHistoryLimit"]).unwrap_or(10);
    let mut empty: Vec<&Node> =
        old.iter().filter(|it| replica_counts(it).desired == 0 && replica_counts(it).current == 0).collect();
    empty.sort_by_key(|it| revision(it));
    let surplus = empty.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for it in &empty[..surplus] {
        request.client.delete(REPLICA_SETS, it, false).await?;
    }
    Ok(())
}

/// Writes the status, and requeues for the progress deadline while the rollout is incomplete.
async fn update_status(
    request: &Request<'_>,
    new: Option<&Node>,
    old: &[Node],
) -> Result<Option<Requeue>, Status> {
    // This reconcile has just scaled them, so their counts are read again.
    let fresh = |it: &Node| replica_counts(&request.client.get(&set_key(request, it)).unwrap_or_default());
    let now_new = new.map(&fresh);
    let all: Vec<ReplicaCounts> = old.iter().map(fresh).chain(now_new.clone()).collect();
    let sum = |of: fn(&ReplicaCounts) -> i64| all.iter().map(of).sum::<i64>();
    let (desired, (_, unavailable)) = (desired_replicas(request), rollout_limits(request));
    let (current, ready, available) = (sum(|it| it.current), sum(|it| it.ready), sum(|it| it.available));
    let updated = now_new.as_ref().map_or(0, |it| it.current);
    let done = updated == desired && current == desired && available == desired;
    let refusal = new.iter().copied().chain(old).find_map(|it| {
        let it = request.client.get(&set_key(request, it))?;
        condition(&it, "ReplicaFailure").map(|it| text_at(it, &["message"]).to_owned())
    });
    let name = now_new.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    let deadline = number_at(&request.object, &["spec", "progressDeadlineSeconds"]).unwrap_or(600);
    let late = !done
        && deadline != NO_DEADLINE
        && progress_deadline(request, deadline).is_some_and(|due| request.now >= due);
    // Progress is any change of these counts; it restarts the deadline, so that a slow rollout does not fail.
    let moved = updated != number_at(&request.object, &["status", "updatedReplicas"]).unwrap_or(0)
        || available != number_at(&request.object, &["status", "availableReplicas"]).unwrap_or(0);
    let progress = format!("ReplicaSet {name:?} is progressing.");
    let progressed = format!("ReplicaSet {name:?} has successfully progressed.");
    let timed_out = format!("ReplicaSet {name:?} has timed out progressing.");
    let now = request.client.api.timestamp();
    let act = |it: &mut Node| {
        set_count(it, "replicas", current);
        set_count(it, "updatedReplicas", updated);
        set_count(it, "readyReplicas", ready);
        set_count(it, "availableReplicas", available);
        set_count(it, "unavailableReplicas", (desired.max(current) - available).max(0));
        if request.client.api.catalog().minor() >= 35 {
            set(it, &["status", "terminatingReplicas"], Node::Int(sum(|it| it.terminating)));
        }
        if available >= desired - unavailable {
            let message = "Deployment has minimum availability.";
            set_condition(it, ("Available", true, "MinimumReplicasAvailable", message), &now);
        } else {
            let message = "Deployment does not have minimum availability.";
            set_condition(it, ("Available", false, "MinimumReplicasUnavailable", message), &now);
        }
        match &refusal {
            Some(why) => set_condition(it, ("ReplicaFailure", true, "FailedCreate", why), &now),
            None => remove_condition(it, "ReplicaFailure"),
        }
        if deadline != NO_DEADLINE {
            let progressing = condition(it, "Progressing").map(|it| text_at(it, &["reason"]).to_owned());
            match progressing.as_deref() {
                _ if done => {
                    set_condition(it, ("Progressing", true, "NewReplicaSetAvailable", &progressed), &now);
                }
                _ if late => {
                    set_condition(it, ("Progressing", false, "ProgressDeadlineExceeded", &timed_out), &now);
                }
                // A rollout that has timed out stays so until it makes progress: `kubectl rollout status` fails because of this
                // condition.
                Some("ProgressDeadlineExceeded") if !moved => {}
                _ => set_condition(it, ("Progressing", true, "ReplicaSetUpdated", &progress), &now),
            }
            if moved && !done && !late {
                record_progress(it, &now);
            }
        }
        observe(it, &request.object);
    };
    request.client.update(request.key, act).await?;
    let progressing = request.client.get(request.key).unwrap_or_default();
    let given_up = condition(&progressing, "Progressing")
        .is_some_and(|it| text_at(it, &["reason"]) == "ProgressDeadlineExceeded");
    let waits = !done && !given_up && deadline != NO_DEADLINE;
    let seconds = Duration::from_secs(u64::try_from(deadline).unwrap_or(0));
    Ok(waits
        .then(|| progress_deadline(request, deadline).unwrap_or(request.now + seconds))
        .and_then(Requeue::at))
}

/// Restarts the progress deadline: it counts from `lastUpdateTime` of the condition `Progressing`.
fn record_progress(deployment: &mut Node, now: &str) {
    let mut all = list_at(deployment, &["status", "conditions"]).to_vec();
    for it in all.iter_mut().filter(|it| text_at(it, &["type"]) == "Progressing") {
        set(it, &["lastUpdateTime"], now);
    }
    set(deployment, &["status", "conditions"], all);
}

/// When the rollout exceeds its progress deadline. `None` if it is complete, or if the template is new and its time
/// has not started to count.
fn progress_deadline(request: &Request<'_>, deadline: i64) -> Option<Duration> {
    let seen = number_at(&request.object, &["status", "observedGeneration"]);
    if seen != number_at(&request.object, &["metadata", "generation"]) {
        return None;
    }
    let progressing = condition(&request.object, "Progressing")?;
    if text_at(progressing, &["reason"]) == "NewReplicaSetAvailable" {
        return None;
    }
    let since = time(text_at(progressing, &["lastUpdateTime"]))?;
    Some(since + Duration::from_secs(u64::try_from(deadline).unwrap_or(0)))
}

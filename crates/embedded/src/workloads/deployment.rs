//! Deployments: a ReplicaSet per template, of which the new one grows while the old ones shrink.

use std::time::Duration;

use pintle_tree::{Map, Node, Str};

use super::engine::{Look, Wake};
use super::hand::REPLICA_SETS;
use super::replica_set::{Numbers, numbers};
use super::scale::share;
use super::status::{drop_condition, observe, set_condition, set_count};
use super::template::{condition, label, mark, owner_reference, time};
use crate::api::meta::{at, list_at, map, number_at, set, take_over, text_at};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "deployment-controller";
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
/// The deadline that means none.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    let nothing = Node::Nil;
    let mark = mark(at(&look.object, &["spec", "template"]).unwrap_or(&nothing));
    let sets = look.owned("replicasets.apps");
    let (new, old): (Vec<Node>, Vec<Node>) = sets.into_iter().partition(|it| label(it, HASH) == mark);
    let paused =
        look.object.get("spec").and_then(|it| it.get("paused")).and_then(Node::as_bool) == Some(true);
    let new = match new.into_iter().next() {
        Some(new) => Some(new),
        None if paused => None,
        None => Some(make_set(look, &mark, &old).await?),
    };
    if let (Some(new), false) = (&new, paused) {
        adopt_revision(look, new, &old).await?;
        roll(look, new, &old).await?;
        forget(look, &old).await?;
    }
    let wake = report(look, new.as_ref(), &old).await?;
    Ok(wake)
}

fn revision(set: &Node) -> i64 {
    text_at(set, &["metadata", "annotations", REVISION]).parse().unwrap_or(0)
}

fn wanted(look: &Look<'_>) -> i64 {
    number_at(&look.object, &["spec", "replicas"]).unwrap_or(1).max(0)
}

/// How many pods there may be too many, and how many too few.
fn room(look: &Look<'_>) -> (i64, i64) {
    let rule = |field| at(&look.object, &["spec", "strategy", "rollingUpdate", field]);
    let surge = share(rule("maxSurge"), wanted(look), true);
    let unavailable = share(rule("maxUnavailable"), wanted(look), false);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

async fn make_set(look: &Look<'_>, mark: &str, old: &[Node]) -> Result<Node, Status> {
    let name = format!("{}-{mark}", look.name());
    let mut replica_set = map([("apiVersion", "apps/v1".into()), ("kind", "ReplicaSet".into())]);
    set(&mut replica_set, &["metadata", "name"], name.as_str());
    set(&mut replica_set, &["metadata", "namespace"], look.namespace());
    if let Some(labels) = at(&look.object, &["spec", "template", "metadata", "labels"]) {
        set(&mut replica_set, &["metadata", "labels"], labels.clone());
    }
    set(&mut replica_set, &["metadata", "labels", HASH], mark);
    set(&mut replica_set, &["metadata", "ownerReferences"], vec![owner_reference(&look.object)]);
    set(&mut replica_set, &["metadata", "annotations"], Node::Map(handed_on(&look.object)));
    let next = old.iter().map(revision).max().unwrap_or(0) + 1;
    set(&mut replica_set, &["metadata", "annotations", REVISION], next.to_string());
    let (surge, _) = room(look);
    let most = (wanted(look) + surge).to_string();
    set(
        &mut replica_set,
        &["metadata", "annotations", "deployment.kubernetes.io/desired-replicas"],
        wanted(look).to_string(),
    );
    set(&mut replica_set, &["metadata", "annotations", "deployment.kubernetes.io/max-replicas"], most);
    for field in ["selector", "template", "minReadySeconds"] {
        if at(&look.object, &["spec", field]).is_some() {
            take_over(&mut replica_set, &look.object, &["spec", field]);
        }
    }
    set(&mut replica_set, &["spec", "selector", "matchLabels", HASH], mark);
    set(&mut replica_set, &["spec", "template", "metadata", "labels", HASH], mark);
    set(&mut replica_set, &["spec", "replicas"], Node::Int(0));
    match look.hand.make(REPLICA_SETS, look.namespace(), &replica_set).await {
        Ok(made) => Ok(made),
        Err(refused) => {
            let text = format!("Failed to create new replica set {name:?}: {}", refused.message);
            look.hand.tell(&look.object, SOURCE, ("Warning", "ReplicaSetCreateError"), &text).await?;
            let now = look.hand.api.now();
            let act = |it: &mut Node| {
                set_condition(it, ("Progressing", false, "ReplicaSetCreateError", &text), &now);
                observe(it);
            };
            look.hand.edit(look.key, act).await?;
            Err(refused.into())
        }
    }
}

/// The annotations of a deployment that its sets get, too: those that say nothing of the deployment alone.
fn handed_on(deployment: &Node) -> Map<Node> {
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

/// A set that is taken up again counts as the newest.
async fn adopt_revision(look: &Look<'_>, new: &Node, old: &[Node]) -> Result<(), Status> {
    let newest = old.iter().map(revision).max().unwrap_or(0);
    let number = if revision(new) > newest { revision(new) } else { newest + 1 };
    let text = number.to_string();
    let annotations = handed_on(&look.object);
    let act = |it: &mut Node| {
        for (name, value) in annotations.iter() {
            set(it, &["metadata", "annotations", &name.to_str_lossy()], value.clone());
        }
        set(it, &["metadata", "annotations", REVISION], text.as_str());
    };
    look.hand.edit(&set_key(look, new), act).await?;
    look.hand.edit(look.key, |it| set(it, &["metadata", "annotations", REVISION], text.as_str())).await
}

fn set_key(look: &Look<'_>, set: &Node) -> Str {
    key("replicasets.apps", look.namespace(), text_at(set, &["metadata", "name"]))
}

/// Takes the next step from the old sets to the new one.
async fn roll(look: &Look<'_>, new: &Node, old: &[Node]) -> Result<(), Status> {
    let wanted = wanted(look);
    let numbers_of_new = numbers(new);
    let old_wanted: i64 = old.iter().map(|it| numbers(it).wanted).sum();
    if look.text(&["spec", "strategy", "type"]) == "Recreate" {
        for it in old.iter().filter(|it| numbers(it).wanted > 0) {
            resize(look, it, 0).await?;
        }
        let gone = old.iter().all(|it| numbers(it).wanted == 0 && numbers(it).there == 0);
        return if gone { resize(look, new, wanted).await } else { Ok(()) };
    }
    let (surge, unavailable) = room(look);
    if numbers_of_new.wanted != wanted {
        let free = (wanted + surge - numbers_of_new.wanted - old_wanted).max(0);
        let next =
            if numbers_of_new.wanted > wanted { wanted } else { (numbers_of_new.wanted + free).min(wanted) };
        if next != numbers_of_new.wanted {
            return resize(look, new, next).await;
        }
    }
    shrink(look, &numbers_of_new, old, wanted - unavailable, old_wanted).await
}

/// Takes pods from old sets, those first that are not available, as long as enough are left.
async fn shrink(
    look: &Look<'_>,
    new: &Numbers,
    old: &[Node],
    least: i64,
    old_wanted: i64,
) -> Result<(), Status> {
    let unready = new.wanted - new.available;
    let mut most = (old_wanted + new.wanted - least - unready).max(0);
    let mut sorted: Vec<&Node> = old.iter().filter(|it| numbers(it).wanted > 0).collect();
    sorted.sort_by_key(|it| revision(it));
    for it in &sorted {
        let there = numbers(it);
        let idle = (there.wanted - there.available).clamp(0, most);
        let mut drop = idle;
        most -= idle;
        let available: i64 = sorted.iter().map(|it| numbers(it).available).sum::<i64>() + new.available;
        let spare = (available - least).clamp(0, most).min(there.wanted - drop);
        drop += spare;
        most -= spare;
        if drop > 0 {
            return resize(look, it, there.wanted - drop).await;
        }
    }
    Ok(())
}

async fn resize(look: &Look<'_>, replica_set: &Node, to: i64) -> Result<(), Status> {
    let before = numbers(replica_set);
    if before.wanted == to {
        return Ok(());
    }
    let act = |it: &mut Node| {
        set(it, &["spec", "replicas"], Node::Int(to));
        let generation = number_at(it, &["metadata", "generation"]).unwrap_or(1);
        set(it, &["metadata", "generation"], Node::Int(generation + 1));
    };
    look.hand.edit(&set_key(look, replica_set), act).await?;
    let way = if to > before.wanted { "up" } else { "down" };
    let text = format!("Scaled {way} replica set {} from {} to {to}", before.name, before.wanted);
    look.hand.tell(&look.object, SOURCE, ("Normal", "ScalingReplicaSet"), &text).await
}

/// Old sets without pods are kept only so many.
async fn forget(look: &Look<'_>, old: &[Node]) -> Result<(), Status> {
    let limit = number_at(&look.object, &["spec", "revisionHistoryLimit"]).unwrap_or(10);
    let mut empty: Vec<&Node> =
        old.iter().filter(|it| numbers(it).wanted == 0 && numbers(it).there == 0).collect();
    empty.sort_by_key(|it| revision(it));
    let surplus = empty.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for it in &empty[..surplus] {
        look.hand.delete(REPLICA_SETS, it, false).await?;
    }
    Ok(())
}

/// Tells where the deployment stands.
async fn report(look: &Look<'_>, new: Option<&Node>, old: &[Node]) -> Result<Option<Wake>, Status> {
    // The sets have changed since they were looked at.
    let fresh = |it: &Node| numbers(&look.hand.get(&set_key(look, it)).unwrap_or_default());
    let now_new = new.map(&fresh);
    let all: Vec<Numbers> = old.iter().map(fresh).chain(now_new.clone()).collect();
    let sum = |of: fn(&Numbers) -> i64| all.iter().map(of).sum::<i64>();
    let (wanted, (_, unavailable)) = (wanted(look), room(look));
    let (there, ready, available) = (sum(|it| it.there), sum(|it| it.ready), sum(|it| it.available));
    let updated = now_new.as_ref().map_or(0, |it| it.there);
    let done = updated == wanted && there == wanted && available == wanted;
    let refusal = new.iter().copied().chain(old).find_map(|it| {
        let it = look.hand.get(&set_key(look, it))?;
        condition(&it, "ReplicaFailure").map(|it| text_at(it, &["message"]).to_owned())
    });
    let name = now_new.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    let deadline = number_at(&look.object, &["spec", "progressDeadlineSeconds"]).unwrap_or(600);
    let late = !done && deadline != NO_DEADLINE && due(look, deadline).is_some_and(|due| look.now >= due);
    let moved = updated != number_at(&look.object, &["status", "updatedReplicas"]).unwrap_or(0)
        || available != number_at(&look.object, &["status", "availableReplicas"]).unwrap_or(0);
    let progress = format!("ReplicaSet {name:?} is progressing.");
    let progressed = format!("ReplicaSet {name:?} has successfully progressed.");
    let timed_out = format!("ReplicaSet {name:?} has timed out progressing.");
    let now = look.hand.api.now();
    let act = |it: &mut Node| {
        set_count(it, "replicas", there);
        set_count(it, "updatedReplicas", updated);
        set_count(it, "readyReplicas", ready);
        set_count(it, "availableReplicas", available);
        set_count(it, "unavailableReplicas", (wanted.max(there) - available).max(0));
        if look.hand.api.table().minor() >= 35 {
            set(it, &["status", "terminatingReplicas"], Node::Int(sum(|it| it.leaving)));
        }
        if available >= wanted - unavailable {
            let message = "Deployment has minimum availability.";
            set_condition(it, ("Available", true, "MinimumReplicasAvailable", message), &now);
        } else {
            let message = "Deployment does not have minimum availability.";
            set_condition(it, ("Available", false, "MinimumReplicasUnavailable", message), &now);
        }
        match &refusal {
            Some(why) => set_condition(it, ("ReplicaFailure", true, "FailedCreate", why), &now),
            None => drop_condition(it, "ReplicaFailure"),
        }
        if deadline != NO_DEADLINE {
            let told = condition(it, "Progressing").map(|it| text_at(it, &["reason"]).to_owned());
            match told.as_deref() {
                _ if done => {
                    set_condition(it, ("Progressing", true, "NewReplicaSetAvailable", &progressed), &now);
                }
                _ if late => {
                    set_condition(it, ("Progressing", false, "ProgressDeadlineExceeded", &timed_out), &now);
                }
                Some("ProgressDeadlineExceeded") if !moved => {}
                _ => set_condition(it, ("Progressing", true, "ReplicaSetUpdated", &progress), &now),
            }
            if moved && !done && !late {
                touch(it, &now);
            }
        }
        observe(it);
    };
    look.hand.edit(look.key, act).await?;
    let told = look.hand.get(look.key).unwrap_or_default();
    let given_up = condition(&told, "Progressing")
        .is_some_and(|it| text_at(it, &["reason"]) == "ProgressDeadlineExceeded");
    let waits = !done && !given_up && deadline != NO_DEADLINE;
    let seconds = Duration::from_secs(u64::try_from(deadline).unwrap_or(0));
    Ok(waits.then(|| due(look, deadline).unwrap_or(look.now + seconds)).and_then(Wake::at))
}

/// Notes that there was progress.
fn touch(deployment: &mut Node, now: &str) {
    let mut all = list_at(deployment, &["status", "conditions"]).to_vec();
    for it in all.iter_mut().filter(|it| text_at(it, &["type"]) == "Progressing") {
        set(it, &["lastUpdateTime"], now);
    }
    set(deployment, &["status", "conditions"], all);
}

/// When there has been no progress for too long. A new template has its time from when it was first looked at.
fn due(look: &Look<'_>, deadline: i64) -> Option<Duration> {
    let seen = number_at(&look.object, &["status", "observedGeneration"]);
    if seen != number_at(&look.object, &["metadata", "generation"]) {
        return None;
    }
    let told = condition(&look.object, "Progressing")?;
    if text_at(told, &["reason"]) == "NewReplicaSetAvailable" {
        return None;
    }
    let since = time(text_at(told, &["lastUpdateTime"]))?;
    Some(since + Duration::from_secs(u64::try_from(deadline).unwrap_or(0)))
}

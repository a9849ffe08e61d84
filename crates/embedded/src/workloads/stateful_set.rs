//! StatefulSets: pods with numbers, one after another, each with its claims.

use pintle_tree::Node;

use super::engine::{Look, Wake};
use super::hand::CLAIMS;
use super::revision::{self, Label};
use super::scale::{self, again, drop_pod, make_pod, verb};
use super::status::{count, observe, set_count};
use super::template::{has_ended, label, mark, owner_reference, ready_since};
use crate::api::meta::{at, is_deleted, list_at, map, number_at, set, take_over, text_at};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "statefulset-controller";
const HASH: &str = "controller-revision-hash";

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    let nothing = Node::Nil;
    let mark = mark(at(&look.object, &["spec", "template"]).unwrap_or(&nothing));
    let revision = format!("{}-{mark}", look.name());
    let pods = look.owned("pods");
    let status = ["currentRevision", "updateRevision"].map(|field| look.text(&["status", field]));
    let is_used = |revision: &Node| {
        let name = text_at(revision, &["metadata", "name"]);
        status.contains(&name) || pods.iter().any(|pod| label(pod, HASH) == name)
    };
    revision::keep(look, Label("controller.kubernetes.io/hash"), &mark, is_used).await?;
    let later = step(look, &pods, &revision).await?;
    let pods: Vec<Node> = look.owned("pods").into_iter().filter(|pod| !is_deleted(pod)).collect();
    let counted = scale::count(look, &pods);
    let updated = count(&pods, |pod| label(pod, HASH) == revision);
    let wanted = wanted(look);
    let all = i64::try_from(pods.len()).unwrap_or(0);
    let done = updated == all && all == wanted && counted.ready == wanted;
    let current = match look.text(&["status", "currentRevision"]) {
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
        observe(it);
    };
    look.hand.edit(look.key, act).await?;
    Ok(counted.next.or(later))
}

fn wanted(look: &Look<'_>) -> i64 {
    number_at(&look.object, &["spec", "replicas"]).unwrap_or(1).max(0)
}

fn number(pod: &Node) -> i64 {
    text_at(pod, &["metadata", "name"]).rsplit('-').next().and_then(|end| end.parse().ok()).unwrap_or(-1)
}

/// Takes the next step: a pod that is missing, one too many, or one of an old revision.
async fn step(look: &Look<'_>, pods: &[Node], revision: &str) -> Result<Option<Wake>, Status> {
    let first = number_at(&look.object, &["spec", "ordinals", "start"]).unwrap_or(0);
    let at_once = look.text(&["spec", "podManagementPolicy"]) == "Parallel";
    for ordinal in first..first.saturating_add(wanted(look)) {
        match pods.iter().find(|pod| number(pod) == ordinal) {
            None => {
                if let Some(later) = make(look, ordinal, revision).await? {
                    return Ok(Some(later));
                }
                if !at_once {
                    return Ok(None);
                }
            }
            Some(pod) if has_ended(pod) && !is_deleted(pod) => {
                drop_pod(look, SOURCE, pod).await?;
                return Ok(None);
            }
            Some(pod) if ready_since(pod).is_none() && !at_once => {
                // A pod that never got ready may be replaced by a newer one.
                let stale = label(pod, HASH) != revision && !is_deleted(pod);
                return if stale { update(look, pods, revision).await } else { Ok(None) };
            }
            Some(_) => {}
        }
    }
    let last = first.saturating_add(wanted(look));
    let mut surplus: Vec<&Node> = pods.iter().filter(|pod| number(pod) >= last && !is_deleted(pod)).collect();
    surplus.sort_by_key(|pod| number(pod));
    if let Some(pod) = surplus.last() {
        drop_pod(look, SOURCE, pod).await?;
        return Ok(None);
    }
    update(look, pods, revision).await
}

/// Replaces the pod with the highest number that is not of the revision.
async fn update(look: &Look<'_>, pods: &[Node], revision: &str) -> Result<Option<Wake>, Status> {
    if look.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Ok(None);
    }
    let partition =
        number_at(&look.object, &["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or(0);
    let mut old: Vec<&Node> = pods
        .iter()
        .filter(|pod| number(pod) >= partition && label(pod, HASH) != revision && !is_deleted(pod))
        .collect();
    old.sort_by_key(|pod| number(pod));
    if let Some(pod) = old.last() {
        drop_pod(look, SOURCE, pod).await?;
    }
    Ok(None)
}

/// Makes a pod and its claims.
async fn make(look: &Look<'_>, ordinal: i64, revision: &str) -> Result<Option<Wake>, Status> {
    let name = format!("{}-{ordinal}", look.name());
    for template in list_at(&look.object, &["spec", "volumeClaimTemplates"]) {
        make_claim(look, template, &name).await?;
    }
    let adjust = |pod: &mut Node| {
        set(pod, &["metadata", "labels", HASH], revision);
        set(pod, &["metadata", "labels", "statefulset.kubernetes.io/pod-name"], name.as_str());
        set(pod, &["metadata", "labels", "apps.kubernetes.io/pod-index"], ordinal.to_string());
        set(pod, &["spec", "hostname"], name.as_str());
        if !look.text(&["spec", "serviceName"]).is_empty() {
            set(pod, &["spec", "subdomain"], look.text(&["spec", "serviceName"]));
        }
        add_claims(look, pod, &name);
    };
    Ok(match make_pod(look, SOURCE, &name, adjust).await? {
        Ok(_) => None,
        Err(_) => again(look),
    })
}

fn claim_name(template: &Node, pod: &str) -> String {
    format!("{}-{pod}", text_at(template, &["metadata", "name"]))
}

fn add_claims(look: &Look<'_>, pod: &mut Node, name: &str) {
    let mut volumes = list_at(pod, &["spec", "volumes"]).to_vec();
    for template in list_at(&look.object, &["spec", "volumeClaimTemplates"]) {
        let volume = text_at(template, &["metadata", "name"]);
        volumes.retain(|it| text_at(it, &["name"]) != volume);
        let claim = map([("claimName", claim_name(template, name).into())]);
        volumes.push(map([("name", volume.into()), ("persistentVolumeClaim", claim)]));
    }
    if !volumes.is_empty() {
        set(pod, &["spec", "volumes"], volumes);
    }
}

async fn make_claim(look: &Look<'_>, template: &Node, pod: &str) -> Result<(), Status> {
    let name = claim_name(template, pod);
    if look.hand.get(&key("persistentvolumeclaims", look.namespace(), &name)).is_some() {
        return Ok(());
    }
    let mut claim = map([("apiVersion", "v1".into()), ("kind", "PersistentVolumeClaim".into())]);
    for field in ["labels", "annotations"] {
        if at(template, &["metadata", field]).is_some() {
            take_over(&mut claim, template, &["metadata", field]);
        }
    }
    let labels = at(&look.object, &["spec", "selector", "matchLabels"]).and_then(Node::as_map);
    for (label, value) in labels.into_iter().flat_map(pintle_tree::Map::iter) {
        set(&mut claim, &["metadata", "labels", &label.to_str_lossy()], value.clone());
    }
    set(&mut claim, &["metadata", "name"], name.as_str());
    set(&mut claim, &["metadata", "namespace"], look.namespace());
    let retention = ["spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"];
    if look.text(&retention) == "Delete" {
        set(&mut claim, &["metadata", "ownerReferences"], vec![owner_reference(&look.object)]);
    }
    take_over(&mut claim, template, &["spec"]);
    let made = look.hand.make(CLAIMS, look.namespace(), &claim).await;
    let (kind, text) = match &made {
        Ok(_) => {
            let verb = verb(look, "Create");
            let text = format!("{verb} Claim {name} Pod {pod} in StatefulSet {} success", look.name());
            (("Normal", "SuccessfulCreate"), text)
        }
        Err(refused) => {
            let text = format!(
                "{} Claim {name} for Pod {pod} in StatefulSet {} failed error: {}",
                verb(look, "Create"),
                look.name(),
                refused.message
            );
            (("Warning", "FailedCreate"), text)
        }
    };
    look.hand.tell(&look.object, SOURCE, kind, &text).await?;
    made.map(drop).map_err(Status::from)
}

//! DaemonSets: one pod on the one node.

use pintle_tree::Node;

use super::engine::{Look, Wake};
use super::node;
use super::revision::{self, Label};
use super::scale::{self, drop_pod, make_pod};
use super::status::{count, observe, set_count};
use super::template::{is_active, label, mark};
use crate::api::meta::{at, set};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "daemonset-controller";
const HASH: &str = "controller-revision-hash";

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    let nothing = Node::Nil;
    let mark = mark(at(&look.object, &["spec", "template"]).unwrap_or(&nothing));
    let mut pods: Vec<Node> = look.owned("pods").into_iter().filter(is_active).collect();
    let is_used = |revision: &Node| pods.iter().any(|pod| label(pod, HASH) == label(revision, HASH));
    revision::keep(look, Label(HASH), &mark, is_used).await?;
    let wanted = usize::from(fits(look));
    let rolls = look.text(&["spec", "updateStrategy", "type"]) != "OnDelete";
    let (keep, mut surplus): (Vec<Node>, Vec<Node>) =
        pods.drain(..).partition(|pod| !rolls || label(pod, HASH) == mark);
    pods = keep;
    surplus.extend(pods.split_off(wanted.min(pods.len())));
    for pod in &surplus {
        drop_pod(look, SOURCE, pod).await?;
    }
    let mut later = None;
    while pods.len() < wanted && later.is_none() {
        let adjust = |pod: &mut Node| set(pod, &["metadata", "labels", HASH], mark.as_str());
        match make_pod(look, SOURCE, &format!("{}-", look.name()), adjust).await? {
            Ok(pod) => pods.push(pod),
            Err(_) => later = scale::again(look),
        }
    }
    let counted = scale::count(look, &pods);
    let wanted = i64::from(fits(look));
    let act = |it: &mut Node| {
        let numbers = [
            ("currentNumberScheduled", i64::try_from(pods.len()).unwrap_or(0)),
            ("desiredNumberScheduled", wanted),
            ("numberMisscheduled", 0),
            ("numberReady", counted.ready),
        ];
        for (field, number) in numbers {
            set(it, &["status", field], Node::Int(number));
        }
        set_count(it, "numberAvailable", counted.available);
        set_count(it, "numberUnavailable", wanted - counted.available);
        set_count(it, "updatedNumberScheduled", count(&pods, |pod| label(pod, HASH) == mark));
        observe(it);
    };
    look.hand.edit(look.key, act).await?;
    Ok(counted.next.or(later))
}

/// Whether the node is one that the set wants.
fn fits(look: &Look<'_>) -> bool {
    let labels = look.hand.get(&key("nodes", "", node::NAME)).unwrap_or_default();
    let wanted = at(&look.object, &["spec", "template", "spec", "nodeSelector"]).and_then(Node::as_map);
    wanted.is_none_or(|wanted| {
        wanted.iter().all(|(name, value)| {
            at(&labels, &["metadata", "labels"]).and_then(|labels| labels.get(name)) == Some(value)
        })
    })
}

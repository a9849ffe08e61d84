//! `owned_objects`: what controllers made of the objects of a release: ReplicaSets, Jobs, pods.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::wait::{Readiness, ready};
use pintle_cluster::{ListParams, Resource};
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use super::objects::ObjectStatus;
use crate::Session;

/// How many objects of a kind are read in a namespace.
const MAX_LISTED: u32 = 1000;
/// The longest chain of owners: CronJob, Job, pod.
const MAX_DEPTH: usize = 8;

/// An object that another one owns.
#[derive(Clone, Debug)]
pub struct OwnedObject {
    /// The object.
    pub id: ObjectId,
    /// Whether it is ready.
    pub readiness: Readiness,
    /// What it owns itself.
    pub children: Vec<OwnedObject>,
}

/// The objects below each object of a release, by their owner references, in the order of `objects`. Kinds and namespaces that
/// the user may not list are left out, and of more than a thousand objects of a kind the first count.
pub async fn owned_objects(session: &Session, objects: &[ObjectStatus]) -> Vec<Vec<OwnedObject>> {
    let namespaces: BTreeSet<&str> = objects
        .iter()
        .filter(|object| {
            matches!(object.id.group.as_str(), "apps" | "batch") || !is_built_in(&object.id.group)
        })
        .map(|object| object.id.namespace.as_str())
        .filter(|namespace| !namespace.is_empty())
        .collect();
    let kinds = [
        Resource::new("apps", "v1", "ReplicaSet", "replicasets"),
        Resource::new("apps", "v1", "StatefulSet", "statefulsets"),
        Resource::new("apps", "v1", "Deployment", "deployments"),
        Resource::new("batch", "v1", "Job", "jobs"),
        Resource::new("", "v1", "Pod", "pods"),
    ];
    let lists: Vec<(&str, &Resource)> =
        namespaces.iter().flat_map(|namespace| kinds.iter().map(|kind| (*namespace, kind))).collect();
    let params = ListParams { limit: MAX_LISTED, ..ListParams::default() };
    let found = run_concurrently(&lists, |(namespace, kind)| {
        session.cluster.page(kind, namespace, &params, "").boxed()
    })
    .await;
    let mut by_owner: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for object in found.into_iter().flatten().flat_map(|page| page.objects) {
        for owner in owners(&object) {
            by_owner.entry(owner).or_default().push(object.clone());
        }
    }
    let uid = |object: &ObjectStatus| object.live.as_ref().map(|live| live.uid().to_owned());
    objects.iter().map(|object| uid(object).map_or_else(Vec::new, |uid| below(&uid, &by_owner, 0))).collect()
}

/// Whether Kubernetes itself has the group; objects of others may own anything.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

fn owners(object: &Object) -> Vec<String> {
    let references = object.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    let uid = |reference: &Node| reference.get("uid").and_then(Node::as_str).map(str::to_owned);
    references.iter().filter_map(uid).collect()
}

fn below(uid: &str, by_owner: &BTreeMap<String, Vec<Object>>, depth: usize) -> Vec<OwnedObject> {
    let children = by_owner.get(uid).map(Vec::as_slice).unwrap_or_default();
    let children = children.iter().filter(|child| !uid.is_empty() && depth < MAX_DEPTH && !is_old(child));
    children
        .map(|child| OwnedObject {
            id: child.id(),
            readiness: ready(child),
            children: below(child.uid(), by_owner, depth + 1),
        })
        .collect()
}

/// A ReplicaSet of an earlier version, which is kept for a rollback.
fn is_old(object: &Object) -> bool {
    object.kind() == "ReplicaSet"
        && object.int(&["spec", "replicas"]) == Some(0)
        && object.int(&["status", "replicas"]).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Object::read_json(text.as_bytes()).expect("an object")
    }

    #[test]
    fn owners_form_a_tree_without_old_replica_sets_and_without_end() {
        let set = |name: &str, uid: &str, replicas: u8| {
            object(&format!(
                r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{name}","uid":"{uid}"}},"spec":{{"replicas":{replicas}}}}}"#
            ))
        };
        let pod = object(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u"}}"#);
        // The pod owns itself, which a server does not forbid.
        let by_owner = BTreeMap::from([
            ("d".to_owned(), vec![set("new", "n", 1), set("old", "o", 0)]),
            ("n".to_owned(), vec![pod.clone()]),
            ("u".to_owned(), vec![pod]),
        ]);
        let tree = below("d", &by_owner, 0);
        assert_eq!(tree.len(), 1);
        assert_eq!((tree[0].id.name.as_str(), tree[0].children[0].id.name.as_str()), ("new", "p"));
        let mut depth = 0;
        let mut level = &tree;
        while let Some(first) = level.first() {
            (depth, level) = (depth + 1, &first.children);
        }
        assert_eq!(depth, MAX_DEPTH);
    }
}

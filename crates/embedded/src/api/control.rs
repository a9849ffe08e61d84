//! What follows from a change: namespaces are furnished and emptied, what nobody owns any longer is collected, and new
//! kinds are served.
//!
//! On a real cluster controllers do this a moment later. Here it is done before the answer is sent, one thing after
//! another, so that the same requests always lead to the same state.

use std::collections::VecDeque;
use std::sync::Arc;

use pintle_tree::{Node, Str, json};

use super::delete::{DeleteOptions, FOREGROUND, ORPHAN, Policy};
use super::kinds::Known;
use super::meta::{
    at, finalizers, has_finalizer, is_deleted, list_at, map, set, set_finalizers, text_at, unset,
};
use super::write::{broken, is_let_go};
use super::{Api, custom};
use crate::status::Status;
use crate::store::{Expect, Object, Refusal, key, prefix};

/// A change that was made.
pub(super) struct Happened {
    pub(super) known: Known,
    pub(super) object: Arc<Object>,
    pub(super) removed: bool,
}

type Queue = VecDeque<Happened>;

/// What every cluster has from the start beside namespaces: group, kind, namespace, name and the rest.
const FIRST: [(&str, &str, &str, &str, &str); 4] = [
    (
        "storage.k8s.io",
        "StorageClass",
        "",
        "standard",
        r#"{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
            "provisioner":"pintle.dev/embedded","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}"#,
    ),
    (
        "scheduling.k8s.io",
        "PriorityClass",
        "",
        "system-cluster-critical",
        r#"{"metadata":{"generation":1},"value":2000000000,"preemptionPolicy":"PreemptLowerPriority",
            "description":"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."}"#,
    ),
    (
        "scheduling.k8s.io",
        "PriorityClass",
        "",
        "system-node-critical",
        r#"{"metadata":{"generation":1},"value":2000001000,"preemptionPolicy":"PreemptLowerPriority",
            "description":"Used for system critical pods that must not be moved from their current node."}"#,
    ),
    (
        "",
        "Service",
        "default",
        "kubernetes",
        r#"{"metadata":{"labels":{"component":"apiserver","provider":"kubernetes"}},
            "spec":{"clusterIP":"10.96.0.1","clusterIPs":["10.96.0.1"],"internalTrafficPolicy":"Cluster",
            "ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None","type":"ClusterIP",
            "ports":[{"name":"https","port":443,"protocol":"TCP","targetPort":6443}]},
            "status":{"loadBalancer":{}}}"#,
    ),
];

/// The finalizer of a definition whose objects are still there.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

impl Api {
    /// Does what follows from a change, and what follows from that.
    pub(super) async fn follow(
        &self,
        known: &Known,
        object: &Arc<Object>,
        removed: bool,
    ) -> Result<(), Status> {
        let first = Happened { known: known.clone(), object: Arc::clone(object), removed };
        let mut queue = VecDeque::from([first]);
        while let Some(happened) = queue.pop_front() {
            self.react(&happened, &mut queue).await?;
        }
        Ok(())
    }

    async fn react(&self, happened: &Happened, queue: &mut Queue) -> Result<(), Status> {
        let Happened { known, object, removed } = happened;
        if known.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.definition_changed(happened, queue).await?;
        }
        if known.is("", "Namespace") && !removed {
            self.namespace_changed(object, queue).await?;
        }
        if *removed {
            for dependent in self.0.store.dependents(&object.head.uid) {
                self.collect(&dependent.key, queue).await?;
            }
            for owner in &object.head.owners {
                self.owned_is_gone(owner, queue).await?;
            }
            self.namespace_is_emptier(object, queue).await?;
            self.furnish_again(known, object, queue).await?;
        } else if !object.head.owners.is_empty() {
            self.collect(&object.key, queue).await?;
        }
        if !removed && self.0.store.get(&object.key).is_some_and(|there| there.revision == object.revision) {
            self.hold(object, queue).await?;
        }
        Ok(())
    }

    /// Changes what is there, however often somebody else is quicker. `act` says whether there is anything to change.
    async fn rewrite(
        &self,
        key: &Str,
        queue: &mut Queue,
        act: impl Fn(&mut Node) -> bool,
    ) -> Result<(), Status> {
        let Some(known) = self.known_by_key(key) else { return Ok(()) };
        loop {
            let Some(there) = self.0.store.get(key) else { return Ok(()) };
            let mut node = there.node();
            if !act(&mut node) {
                return Ok(());
            }
            let removed = is_let_go(&node);
            let expect = Expect::Revision(there.revision);
            let written = if removed {
                self.0.store.remove(key.clone(), expect).await
            } else {
                self.0.store.put(key.clone(), expect, node).await
            };
            match written {
                Ok(object) => {
                    queue.push_back(Happened { known, object, removed });
                    return Ok(());
                }
                Err(Refusal::Broken(why)) => return Err(broken(&why)),
                Err(_) => {}
            }
        }
    }

    fn known_by_key(&self, key: &Str) -> Option<Known> {
        let text = key.to_str_lossy();
        let name = text.split('/').next()?;
        self.all_kinds().into_iter().find(|known| known.store_name() == name)
    }

    /// Deletes something on behalf of nobody.
    async fn discard(&self, key: &Str, policy: Option<Policy>, queue: &mut Queue) -> Result<(), Status> {
        let Some(known) = self.known_by_key(key) else { return Ok(()) };
        let options = DeleteOptions { policy, ..DeleteOptions::default() };
        match self.delete_once(&known, key, &options).await {
            Ok((_, happened)) => {
                queue.extend(happened);
                Ok(())
            }
            Err(status) if matches!(status.code, 404 | 409) => Ok(()),
            Err(status) => Err(status),
        }
    }

    // Owners.

    /// Deletes an object if none of its owners is there any longer, and takes those out of it that are not.
    async fn collect(&self, key: &Str, queue: &mut Queue) -> Result<(), Status> {
        let Some(object) = self.0.store.get(key) else { return Ok(()) };
        let node = object.node();
        let references = list_at(&node, &["metadata", "ownerReferences"]);
        let (mut solid, mut gone, mut waiting) = (0, Vec::new(), 0);
        for reference in references {
            let uid = Str::from(text_at(reference, &["uid"]));
            match self.0.store.by_uid(&uid) {
                None => gone.push(uid),
                Some(owner) if is_waiting(&owner.node()) => {
                    waiting += 1;
                    gone.push(uid);
                }
                Some(_) => solid += 1,
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        if solid > 0 {
            return self.disown(key, &gone, queue).await;
        }
        if is_deleted(&node) {
            return Ok(());
        }
        let has_dependents = !self.0.store.dependents(&object.head.uid).is_empty();
        let policy = if waiting > 0 && has_dependents { Policy::Foreground } else { Policy::Background };
        self.discard(key, Some(policy), queue).await
    }

    /// Takes owners out of an object.
    async fn disown(&self, key: &Str, owners: &[Str], queue: &mut Queue) -> Result<(), Status> {
        let act = |node: &mut Node| {
            let references = list_at(node, &["metadata", "ownerReferences"]);
            let stays = |reference: &&Node| {
                !owners.iter().any(|uid| **uid == *text_at(reference, &["uid"]).as_bytes())
            };
            let left: Vec<Node> = references.iter().filter(stays).cloned().collect();
            if left.len() == references.len() {
                return false;
            }
            if left.is_empty() {
                unset(node, &["metadata", "ownerReferences"]);
            } else {
                set(node, &["metadata", "ownerReferences"], left);
            }
            true
        };
        self.rewrite(key, queue, act).await?;
        for owner in owners {
            self.owned_is_gone(owner, queue).await?;
        }
        Ok(())
    }

    /// Something that an object owned is gone: it may have waited for that.
    async fn owned_is_gone(&self, owner: &Str, queue: &mut Queue) -> Result<(), Status> {
        match self.0.store.by_uid(owner) {
            Some(owner) if is_deleted(&owner.node()) => self.hold(&owner, queue).await,
            _ => Ok(()),
        }
    }

    /// Does what an object that is on its way out waits for.
    async fn hold(&self, object: &Arc<Object>, queue: &mut Queue) -> Result<(), Status> {
        let node = object.node();
        if !is_deleted(&node) || finalizers(&node).is_empty() {
            return Ok(());
        }
        if has_finalizer(&node, ORPHAN) {
            for dependent in self.0.store.dependents(&object.head.uid) {
                Box::pin(self.disown(&dependent.key, std::slice::from_ref(&object.head.uid), queue)).await?;
            }
            return self.let_go(&object.key, ORPHAN, queue).await;
        }
        if has_finalizer(&node, FOREGROUND) {
            let uid = &object.head.uid;
            for dependent in self.0.store.dependents(uid) {
                Box::pin(self.collect(&dependent.key, queue)).await?;
            }
            let blocks = |dependent: &Arc<Object>| blocks(&dependent.node(), uid);
            if !self.0.store.dependents(uid).iter().any(blocks) {
                return self.let_go(&object.key, FOREGROUND, queue).await;
            }
        }
        Ok(())
    }

    async fn let_go(&self, key: &Str, finalizer: &str, queue: &mut Queue) -> Result<(), Status> {
        let act = |node: &mut Node| {
            let left: Vec<Node> =
                finalizers(node).iter().filter(|name| name.as_str() != Some(finalizer)).cloned().collect();
            let changes = left.len() != finalizers(node).len();
            set_finalizers(node, left);
            changes
        };
        self.rewrite(key, queue, act).await
    }

    // Namespaces.

    async fn namespace_changed(&self, object: &Arc<Object>, queue: &mut Queue) -> Result<(), Status> {
        let node = object.node();
        let name = text_at(&node, &["metadata", "name"]).to_owned();
        if is_deleted(&node) {
            return self.empty_namespace(&name, queue).await;
        }
        self.furnish(&name, queue).await
    }

    /// Every namespace has an account and the certificate of the server.
    async fn furnish(&self, namespace: &str, queue: &mut Queue) -> Result<(), Status> {
        let account = map([]);
        self.make_plain("ServiceAccount", namespace, "default", account, queue).await?;
        let mut certificate = map([("data", map([("ca.crt", "".into())]))]);
        let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        set(&mut certificate, &["metadata", "annotations", "kubernetes.io/description"], description);
        self.make_plain("ConfigMap", namespace, "kube-root-ca.crt", certificate, queue).await
    }

    /// What every namespace has comes back when it is deleted.
    async fn furnish_again(&self, known: &Known, object: &Object, queue: &mut Queue) -> Result<(), Status> {
        let text = object.key.to_str_lossy();
        let mut words = text.split('/').skip(1);
        let (namespace, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let standing = (known.is("", "ServiceAccount") && name == "default")
            || (known.is("", "ConfigMap") && name == "kube-root-ca.crt");
        let there = self.0.store.get(&key("namespaces", "", namespace));
        if !standing || there.is_none_or(|there| is_deleted(&there.node())) {
            return Ok(());
        }
        self.furnish(namespace, queue).await
    }

    /// Makes an object of the core that controllers would have made, if it is not there.
    pub(super) async fn make_plain(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        object: Node,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        self.make_plain_of(("", kind), namespace, name, object, queue).await
    }

    /// The same for an object of any group.
    async fn make_plain_of(
        &self,
        (group, kind): (&str, &str),
        namespace: &str,
        name: &str,
        mut object: Node,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let Some(resource) = self.0.table.kind(group, "v1", kind) else { return Ok(()) };
        let known = Known::BuiltIn(resource);
        set(&mut object, &["apiVersion"], resource.api_version());
        set(&mut object, &["kind"], kind);
        set(&mut object, &["metadata", "name"], name);
        if !namespace.is_empty() {
            set(&mut object, &["metadata", "namespace"], namespace);
        }
        set(&mut object, &["metadata", "uid"], self.0.names.uid());
        set(&mut object, &["metadata", "creationTimestamp"], self.now());
        let key = key(&known.store_name(), namespace, name);
        match self.0.store.put(key, Expect::Absent, object).await {
            Ok(object) => queue.push_back(Happened { known, object, removed: false }),
            Err(Refusal::Broken(why)) => return Err(broken(&why)),
            Err(_) => {}
        }
        Ok(())
    }

    /// Deletes everything in a namespace, and then the namespace, unless something stays.
    async fn empty_namespace(&self, name: &str, queue: &mut Queue) -> Result<(), Status> {
        let mut left: Vec<(String, usize, Vec<Node>)> = Vec::new();
        for known in self.all_kinds().into_iter().filter(|known| known.resource().namespaced) {
            let prefix = prefix(&known.store_name(), Some(name));
            let Ok(listing) = self.0.store.list(&prefix, None, usize::MAX, None, &|_| true) else { continue };
            for object in &listing.objects {
                if !is_deleted(&object.node()) {
                    self.discard(&object.key, Some(Policy::Background), queue).await?;
                }
            }
            let Ok(still) = self.0.store.list(&prefix, None, usize::MAX, None, &|_| true) else { continue };
            if !still.objects.is_empty() {
                let held =
                    still.objects.iter().flat_map(|object| finalizers(&object.node()).to_vec()).collect();
                left.push((known.resource().qualified_with_dot(), still.objects.len(), held));
            }
        }
        let now = self.now();
        let act = |node: &mut Node| {
            if left.is_empty() {
                return unset(node, &["spec", "finalizers"]).is_some();
            }
            let conditions = remaining(&left, &now, list_at(node, &["status", "conditions"]));
            let changes = at(node, &["status", "conditions"]) != Some(&conditions);
            set(node, &["status", "conditions"], conditions);
            changes
        };
        self.rewrite(&key("namespaces", "", name), queue, act).await
    }

    /// Something is gone: if its namespace waits for that, it may go too.
    async fn namespace_is_emptier(&self, object: &Object, queue: &mut Queue) -> Result<(), Status> {
        let text = object.key.to_str_lossy();
        let namespace = text.split('/').nth(1).unwrap_or_default();
        if namespace.is_empty() {
            return Ok(());
        }
        let there = self.0.store.get(&key("namespaces", "", namespace));
        // While it is being emptied, each object that goes would ask again; the last one does.
        let is_last = || {
            let kinds = self.all_kinds();
            kinds.iter().all(|known| !self.0.store.has(&prefix(&known.store_name(), Some(namespace))))
        };
        match there {
            Some(there) if is_deleted(&there.node()) && is_last() => {
                Box::pin(self.empty_namespace(namespace, queue)).await
            }
            _ => Ok(()),
        }
    }

    // Definitions.

    async fn definition_changed(&self, happened: &Happened, queue: &mut Queue) -> Result<(), Status> {
        let node = happened.object.node();
        if !happened.removed && !is_deleted(&node) {
            let now = self.now();
            let act = |node: &mut Node| {
                let names = at(node, &["spec", "names"]);
                let is_done = names == at(node, &["status", "acceptedNames"])
                    && !list_at(node, &["status", "conditions"]).is_empty();
                if is_done {
                    return false;
                }
                let status = custom::established(node, &now);
                set(node, &["status"], status);
                true
            };
            self.rewrite(&happened.object.key, queue, act).await?;
        }
        if is_deleted(&node) && has_finalizer(&node, CLEANUP) {
            let kind = format!(
                "{}.{}",
                text_at(&node, &["spec", "names", "plural"]),
                text_at(&node, &["spec", "group"])
            );
            let all = prefix(&kind, None);
            if let Ok(listing) = self.0.store.list(&all, None, usize::MAX, None, &|_| true) {
                for object in &listing.objects {
                    self.discard(&object.key, Some(Policy::Background), queue).await?;
                }
            }
            if !self.0.store.has(&all) {
                self.let_go(&happened.object.key, CLEANUP, queue).await?;
            }
        }
        self.read_customs_again();
        Ok(())
    }

    /// What every cluster has from the start.
    pub(super) async fn make_first_objects(&self) -> Result<(), Status> {
        let mut queue = VecDeque::new();
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let mut namespace = map([]);
            set(&mut namespace, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
            set(&mut namespace, &["spec", "finalizers"], vec!["kubernetes".into()]);
            set(&mut namespace, &["status", "phase"], "Active");
            self.make_plain("Namespace", "", name, namespace, &mut queue).await?;
        }
        for (group, kind, namespace, name, text) in FIRST {
            let object = json::read_exact(text.as_bytes()).unwrap_or_default();
            self.make_plain_of((group, kind), namespace, name, object, &mut queue).await?;
        }
        while let Some(happened) = queue.pop_front() {
            self.react(&happened, &mut queue).await?;
        }
        Ok(())
    }
}

/// Whether an owner waits for this object to go first.
fn is_waiting(owner: &Node) -> bool {
    is_deleted(owner) && has_finalizer(owner, FOREGROUND)
}

/// Whether an object stands in the way of its owner.
fn blocks(object: &Node, owner: &Str) -> bool {
    list_at(object, &["metadata", "ownerReferences"]).iter().any(|reference| {
        **owner == *text_at(reference, &["uid"]).as_bytes()
            && reference.get("blockOwnerDeletion").and_then(Node::as_bool) == Some(true)
    })
}

/// What a namespace says about what is still in it.
fn remaining(left: &[(String, usize, Vec<Node>)], now: &str, before: &[Node]) -> Node {
    let contents: Vec<String> =
        left.iter().map(|(kind, count, _)| format!("{kind} has {count} resource instances")).collect();
    let mut held: Vec<(String, usize)> = Vec::new();
    for name in left.iter().flat_map(|(_, _, held)| held).filter_map(Node::as_str) {
        match held.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => held.push((name.to_owned(), 1)),
        }
    }
    held.sort();
    let held_text: Vec<String> =
        held.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
    let is_held = !held.is_empty();
    let (held_reason, held_message) = if is_held {
        (
            "SomeFinalizersRemain",
            format!("Some content in the namespace has finalizers remaining: {}", held_text.join(", ")),
        )
    } else {
        ("ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned())
    };
    let content = format!("Some resources are remaining: {}", contents.join(", "));
    let rows = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain", content),
        ("NamespaceFinalizersRemaining", if is_held { "True" } else { "False" }, held_reason, held_message),
    ];
    let condition = |(kind, status, reason, message): (&str, &str, &str, String)| {
        let same = |it: &&Node| text_at(it, &["type"]) == kind && text_at(it, &["status"]) == status;
        let since = before.iter().find(same).map_or(now, |it| text_at(it, &["lastTransitionTime"]));
        map([
            ("type", kind.into()),
            ("status", status.into()),
            ("lastTransitionTime", since.into()),
            ("reason", reason.into()),
            ("message", message.into()),
        ])
    };
    Node::List(rows.into_iter().map(condition).collect())
}

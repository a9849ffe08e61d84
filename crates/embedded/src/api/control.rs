//! What follows from a change: namespaces are furnished and emptied, what nobody owns any longer is collected, and new
//! kinds are served.
//!
//! On a real cluster controllers do this a moment later. Here it is done before the answer is sent, one thing after
//! another, so that the same requests always lead to the same state.

use std::collections::VecDeque;
use std::sync::Arc;

use pintle_tree::{Node, Str, json};

use super::change::{broken, is_let_go};
use super::delete::{DeleteOptions, Policy};
use super::kinds::Known;
use super::meta::{at, has_finalizer, is_deleted, list_at, map, set, text_at};
use super::{Api, custom};
use crate::status::Status;
use crate::store::{Expect, Object, Refusal, key, prefix};

/// A change that was made.
pub(super) struct Happened {
    pub(super) known: Known,
    pub(super) object: Arc<Object>,
    pub(super) removed: bool,
}

pub(super) type Queue = VecDeque<Happened>;

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
        self.follow_all(VecDeque::from([first])).await
    }

    async fn follow_all(&self, mut queue: Queue) -> Result<(), Status> {
        while let Some(happened) = queue.pop_front() {
            self.react(&happened, &mut queue).await?;
        }
        Ok(())
    }

    /// Changes an object from inside, as controllers do: no rules, no bookkeeping, and its generation stays. `act` says
    /// whether there is anything to change; it is asked again when somebody else was quicker.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn edit(&self, key: &Str, act: impl Fn(&mut Node) -> bool) -> Result<(), Status> {
        let mut queue = VecDeque::new();
        self.rewrite(key, &mut queue, act).await?;
        self.follow_all(queue).await
    }

    async fn react(&self, happened: &Happened, queue: &mut Queue) -> Result<(), Status> {
        let Happened { known, object, removed } = happened;
        if known.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.definition_changed(happened, queue).await?;
        }
        if known.is("", "Namespace") && !removed {
            self.namespace_changed(object, queue).await?;
        }
        self.count_for_quotas(object, queue).await?;
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
    pub(super) async fn rewrite(
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
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let is_it = |it: &&crate::schema::Resource| {
            it.plural == *plural && it.group == *group && it.can("create") && it.can("delete")
        };
        match self.0.table.resources().iter().find(is_it) {
            Some(resource) => Some(Known::BuiltIn(resource)),
            None => self.all_kinds().into_iter().find(|known| known.store_name() == name),
        }
    }

    /// Deletes something on behalf of nobody.
    pub(super) async fn discard(
        &self,
        key: &Str,
        policy: Option<Policy>,
        queue: &mut Queue,
    ) -> Result<(), Status> {
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
        set(&mut object, &["metadata", "creationTimestamp"], self.timestamp());
        let key = key(&known.store_name(), namespace, name);
        match self.0.store.put(key, Expect::Absent, object).await {
            Ok(object) => queue.push_back(Happened { known, object, removed: false }),
            Err(Refusal::Broken(why)) => return Err(broken(&why)),
            Err(_) => {}
        }
        Ok(())
    }

    async fn definition_changed(&self, happened: &Happened, queue: &mut Queue) -> Result<(), Status> {
        let node = happened.object.node();
        if !happened.removed && !is_deleted(&node) {
            let now = self.timestamp();
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
        self.follow_all(queue).await
    }
}

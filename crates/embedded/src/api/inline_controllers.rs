//! Controllers that run inside the request: namespace lifecycle, garbage collection, quota usage and
//! CustomResourceDefinitions.
//!
//! On a real cluster these run asynchronously. Here they run to completion before the answer is sent, in one order,
//! so that the same requests always lead to the same state.

use std::collections::VecDeque;
use std::sync::Arc;

use pintle_tree::{Node, Str, json};

use super::delete::{DeleteOptions, PropagationPolicy};
use super::meta::{at, has_finalizer, is_deleted, list_at, map, set, text_at};
use super::served_kind::ServedKind;
use super::update::{should_delete, storage_error};
use super::{Api, custom_resources};
use crate::status::Status;
use crate::store::{Object, Precondition, WriteError, key, prefix};

/// A change in the store, for the controllers.
pub(super) struct ObjectChange {
    pub(super) served: ServedKind,
    pub(super) object: Arc<Object>,
    pub(super) removed: bool,
}

pub(super) type Queue = VecDeque<ObjectChange>;

/// The objects that every cluster has, besides namespaces: group, kind, namespace, name and the rest as JSON.
const BOOTSTRAP_OBJECTS: [(&str, &str, &str, &str, &str); 4] = [
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

/// The finalizer of a CustomResourceDefinition that still has custom resources.
pub(super) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

impl Api {
    /// Runs the controllers for a change, and for the changes that they make.
    pub(super) async fn reconcile_change(
        &self,
        served: &ServedKind,
        object: &Arc<Object>,
        removed: bool,
    ) -> Result<(), Status> {
        let first = ObjectChange { served: served.clone(), object: Arc::clone(object), removed };
        self.drain(VecDeque::from([first])).await
    }

    async fn drain(&self, mut queue: Queue) -> Result<(), Status> {
        // A queue instead of recursion: owners, dependents and namespaces can form chains of any length.
        while let Some(change) = queue.pop_front() {
            self.reconcile_one(&change, &mut queue).await?;
        }
        Ok(())
    }

    /// Updates an object as controllers do: without validation, admission and managed fields, and without a new
    /// generation. `act` returns whether it has changed anything; on a conflict it is called again.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn edit(&self, key: &Str, act: impl Fn(&mut Node) -> bool) -> Result<(), Status> {
        let mut queue = VecDeque::new();
        self.update_with_retry(key, &mut queue, act).await?;
        self.drain(queue).await
    }

    async fn reconcile_one(&self, change: &ObjectChange, queue: &mut Queue) -> Result<(), Status> {
        let ObjectChange { served, object, removed } = change;
        if served.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.reconcile_definition(change, queue).await?;
        }
        if served.is("", "Namespace") && !removed {
            self.reconcile_namespace(object, queue).await?;
        }
        self.update_quota_usage(object, queue).await?;
        if *removed {
            for dependent in self.0.store.dependents(&object.meta.uid) {
                self.collect_garbage(&dependent.key, queue).await?;
            }
            for owner in &object.meta.owners {
                self.dependent_deleted(owner, queue).await?;
            }
            self.continue_namespace_deletion(object, queue).await?;
            self.restore_namespace_defaults(served, object, queue).await?;
        } else if !object.meta.owners.is_empty() {
            self.collect_garbage(&object.key, queue).await?;
        }
        // If a controller has changed the object since, that change is in the queue and will be processed.
        if !removed
            && self.0.store.get(&object.key).is_some_and(|existing| existing.revision == object.revision)
        {
            self.process_gc_finalizers(object, queue).await?;
        }
        Ok(())
    }

    /// Updates an object until there is no conflict, as client-go's `RetryOnConflict` without a limit: the store is
    /// local, and each conflict means that another write has succeeded. `act` returns whether anything has changed.
    pub(super) async fn update_with_retry(
        &self,
        key: &Str,
        queue: &mut Queue,
        act: impl Fn(&mut Node) -> bool,
    ) -> Result<(), Status> {
        let Some(served) = self.served_by_key(key) else { return Ok(()) };
        loop {
            let Some(existing) = self.0.store.get(key) else { return Ok(()) };
            let mut node = existing.node();
            if !act(&mut node) {
                return Ok(());
            }
            // The edit may have removed the last finalizer.
            let removed = should_delete(&node);
            let precondition = Precondition::Revision(existing.revision);
            let written = if removed {
                self.0.store.remove(key.clone(), precondition).await
            } else {
                self.0.store.put(key.clone(), precondition, node).await
            };
            match written {
                Ok(object) => {
                    queue.push_back(ObjectChange { served, object, removed });
                    return Ok(());
                }
                Err(WriteError::Broken(why)) => return Err(storage_error(&why)),
                // A conflict: retry on the new state.
                Err(_) => {}
            }
        }
    }

    fn served_by_key(&self, key: &Str) -> Option<ServedKind> {
        let text = key.to_str_lossy();
        let name = text.split('/').next()?;
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let is_it = |it: &&crate::schema::Resource| {
            it.plural == *plural && it.group == *group && it.can("create") && it.can("delete")
        };
        match self.0.catalog.resources().iter().find(is_it) {
            // Keys do not have a version, and any version of a kind leads to the same key.
            Some(resource) => Some(ServedKind::BuiltIn(resource)),
            None => self.all_kinds().into_iter().find(|served| served.storage_prefix() == name),
        }
    }

    /// Deletes an object without preconditions and queues the change.
    pub(super) async fn delete_as_controller(
        &self,
        key: &Str,
        policy: Option<PropagationPolicy>,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let Some(served) = self.served_by_key(key) else { return Ok(()) };
        let options = DeleteOptions { policy, ..DeleteOptions::default() };
        match self.delete_without_reconcile(&served, key, &options).await {
            Ok((_, change)) => {
                queue.extend(change);
                Ok(())
            }
            // Already gone, or already terminating (the 409 of a namespace).
            Err(status) if matches!(status.code, 404 | 409) => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// Creates an object of the core group, if it does not exist.
    pub(super) async fn ensure_core_object(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        object: Node,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        self.ensure_object(("", kind), namespace, name, object, queue).await
    }

    /// The same for any group.
    async fn ensure_object(
        &self,
        (group, kind): (&str, &str),
        namespace: &str,
        name: &str,
        mut object: Node,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let Some(resource) = self.0.catalog.kind(group, "v1", kind) else { return Ok(()) };
        let served = ServedKind::BuiltIn(resource);
        set(&mut object, &["apiVersion"], resource.api_version());
        set(&mut object, &["kind"], kind);
        set(&mut object, &["metadata", "name"], name);
        if !namespace.is_empty() {
            set(&mut object, &["metadata", "namespace"], namespace);
        }
        // These objects bypass defaulting and admission, as the real server creates them below its own API.
        set(&mut object, &["metadata", "uid"], self.0.names.uid());
        set(&mut object, &["metadata", "creationTimestamp"], self.timestamp());
        let key = key(&served.storage_prefix(), namespace, name);
        match self.0.store.put(key, Precondition::Absent, object).await {
            Ok(object) => queue.push_back(ObjectChange { served, object, removed: false }),
            Err(WriteError::Broken(why)) => return Err(storage_error(&why)),
            Err(_) => {}
        }
        Ok(())
    }

    async fn reconcile_definition(&self, change: &ObjectChange, queue: &mut Queue) -> Result<(), Status> {
        let node = change.object.node();
        if !change.removed && !is_deleted(&node) {
            let now = self.timestamp();
            let act = |node: &mut Node| {
                let names = at(node, &["spec", "names"]);
                // Writing an unchanged status would enqueue the definition again, and the queue would never
                // drain.
                let is_done = names == at(node, &["status", "acceptedNames"])
                    && !list_at(node, &["status", "conditions"]).is_empty();
                if is_done {
                    return false;
                }
                let status = custom_resources::established(node, &now);
                set(node, &["status"], status);
                true
            };
            self.update_with_retry(&change.object.key, queue, act).await?;
        }
        if is_deleted(&node) && has_finalizer(&node, CLEANUP_FINALIZER) {
            let kind = format!(
                "{}.{}",
                text_at(&node, &["spec", "names", "plural"]),
                text_at(&node, &["spec", "group"])
            );
            let all = prefix(&kind, None);
            if let Ok(listing) = self.0.store.list(&all, None, usize::MAX, None, &|_| true) {
                for object in &listing.objects {
                    self.delete_as_controller(&object.key, Some(PropagationPolicy::Background), queue)
                        .await?;
                }
            }
            if !self.0.store.has(&all) {
                self.remove_finalizer(&change.object.key, CLEANUP_FINALIZER, queue).await?;
            }
        }
        // Before the answer is sent: charts create custom resources right after their definitions.
        self.reload_custom_resources();
        Ok(())
    }

    /// Creates the namespaces and objects that every cluster has.
    pub(super) async fn create_bootstrap_objects(&self) -> Result<(), Status> {
        let mut queue = VecDeque::new();
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let mut namespace = map([]);
            set(&mut namespace, &["metadata", "labels", "kubernetes.io/metadata.name"], name);
            set(&mut namespace, &["spec", "finalizers"], vec!["kubernetes".into()]);
            set(&mut namespace, &["status", "phase"], "Active");
            self.ensure_core_object("Namespace", "", name, namespace, &mut queue).await?;
        }
        for (group, kind, namespace, name, text) in BOOTSTRAP_OBJECTS {
            let object = json::read_exact(text.as_bytes()).unwrap_or_default();
            self.ensure_object((group, kind), namespace, name, object, &mut queue).await?;
        }
        self.drain(queue).await?;
        self.resume_namespaces().await
    }

    /// Continues with namespaces that were left unfinished. A full disk or a killed process may have left a file after a namespace
    /// was created and before its default objects were, without which no pod can be created in it, or while it was being
    /// deleted.
    async fn resume_namespaces(&self) -> Result<(), Status> {
        let listing = self.0.store.list(&prefix("namespaces", None), None, usize::MAX, None, &|_| true);
        let mut queue = VecDeque::new();
        for namespace in listing.iter().flat_map(|listing| &listing.objects) {
            let is_missing = |kind: &str, name: &str| {
                let namespace = text_at(&namespace.node(), &["metadata", "name"]).to_owned();
                self.0.store.get(&key(kind, &namespace, name)).is_none()
            };
            if namespace.meta.deleting
                || is_missing("serviceaccounts", "default")
                || is_missing("configmaps", "kube-root-ca.crt")
            {
                self.reconcile_namespace(namespace, &mut queue).await?;
            }
        }
        self.drain(queue).await
    }
}

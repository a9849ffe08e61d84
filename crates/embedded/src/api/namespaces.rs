//! The namespace lifecycle controller: default objects of a new namespace, and deletion of all content of a deleted
//! one.

use std::sync::Arc;

use pintle_tree::Node;

use super::Api;
use super::delete::PropagationPolicy;
use super::inline_controllers::Queue;
use super::meta::{at, finalizers, is_deleted, list_at, map, set, text_at, unset};
use super::served_kind::ServedKind;
use crate::status::Status;
use crate::store::{Object, key, prefix};

impl Api {
    pub(super) async fn reconcile_namespace(
        &self,
        object: &Arc<Object>,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let node = object.node();
        let name = text_at(&node, &["metadata", "name"]).to_owned();
        if is_deleted(&node) {
            return self.delete_namespace_content(&name, queue).await;
        }
        self.ensure_namespace_defaults(&name, queue).await
    }

    /// The objects that the service account and root CA controllers create in every namespace.
    pub(super) async fn ensure_namespace_defaults(
        &self,
        namespace: &str,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let account = map([]);
        self.ensure_core_object("ServiceAccount", namespace, "default", account, queue).await?;
        let mut certificate = map([("data", map([("ca.crt", "".into())]))]);
        let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        set(&mut certificate, &["metadata", "annotations", "kubernetes.io/description"], description);
        self.ensure_core_object("ConfigMap", namespace, "kube-root-ca.crt", certificate, queue).await
    }

    /// Recreates these objects when they are deleted.
    pub(super) async fn restore_namespace_defaults(
        &self,
        served: &ServedKind,
        object: &Object,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let text = object.key.to_str_lossy();
        let mut words = text.split('/').skip(1);
        let (namespace, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_namespace_default = (served.is("", "ServiceAccount") && name == "default")
            || (served.is("", "ConfigMap") && name == "kube-root-ca.crt");
        let existing = self.0.store.get(&key("namespaces", "", namespace));
        if !is_namespace_default || existing.is_none_or(|existing| existing.meta.deleting) {
            return Ok(());
        }
        self.ensure_namespace_defaults(namespace, queue).await
    }

    /// Deletes all objects in a namespace. Removes its finalizer when none is left, and otherwise reports the
    /// remaining ones in its conditions.
    pub(super) async fn delete_namespace_content(&self, name: &str, queue: &mut Queue) -> Result<(), Status> {
        let mut left: Vec<(String, usize, Vec<Node>)> = Vec::new();
        for served in self.all_kinds().into_iter().filter(|served| served.resource().namespaced) {
            let prefix = prefix(&served.storage_prefix(), Some(name));
            let Ok(listing) = self.0.store.list(&prefix, None, usize::MAX, None, &|_| true) else { continue };
            for object in &listing.objects {
                if !object.meta.deleting {
                    self.delete_as_controller(&object.key, Some(PropagationPolicy::Background), queue)
                        .await?;
                }
            }
            // Listed again: objects with finalizers remain.
            let Ok(still) = self.0.store.list(&prefix, None, usize::MAX, None, &|_| true) else { continue };
            if !still.objects.is_empty() {
                let held =
                    still.objects.iter().flat_map(|object| finalizers(&object.node()).to_vec()).collect();
                left.push((served.resource().qualified_name_with_dot(), still.objects.len(), held));
            }
        }
        let now = self.timestamp();
        let act = |node: &mut Node| {
            if left.is_empty() {
                // Without finalizers the update removes the namespace itself.
                return unset(node, &["spec", "finalizers"]).is_some();
            }
            let conditions = deletion_conditions(&left, &now, list_at(node, &["status", "conditions"]));
            // Unchanged conditions are not written, or the change would lead here again.
            let changes = at(node, &["status", "conditions"]) != Some(&conditions);
            set(node, &["status", "conditions"], conditions);
            changes
        };
        self.update_with_retry(&key("namespaces", "", name), queue, act).await
    }

    /// An object is gone: if it was the last one of a terminating namespace, finishes the deletion.
    pub(super) async fn continue_namespace_deletion(
        &self,
        object: &Object,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let text = object.key.to_str_lossy();
        let namespace = text.split('/').nth(1).unwrap_or_default();
        if namespace.is_empty() {
            return Ok(());
        }
        let existing = self.0.store.get(&key("namespaces", "", namespace));
        // Each deleted object leads here; only the last one may continue, or emptying a namespace would take
        // quadratic time.
        let is_last = || {
            let kinds = self.all_kinds();
            kinds.iter().all(|served| !self.0.store.has(&prefix(&served.storage_prefix(), Some(namespace))))
        };
        match existing {
            // `Box::pin`, as the two functions call each other.
            Some(existing) if existing.meta.deleting && is_last() => {
                Box::pin(self.delete_namespace_content(namespace, queue)).await
            }
            _ => Ok(()),
        }
    }
}

/// The conditions of a terminating namespace, with the real controller's types, reasons and messages.
fn deletion_conditions(left: &[(String, usize, Vec<Node>)], now: &str, before: &[Node]) -> Node {
    let contents: Vec<String> =
        left.iter().map(|(kind, count, _)| format!("{kind} has {count} resource instances")).collect();
    let mut held: Vec<(String, usize)> = Vec::new();
    for name in left.iter().flat_map(|(_, _, held)| held).filter_map(Node::as_str) {
        match held.iter_mut().find(|(finalizer, _)| finalizer == name) {
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

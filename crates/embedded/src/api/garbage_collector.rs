//! The garbage collector: deletes objects whose owners are gone, and processes the finalizers `foregroundDeletion`
//! and `orphan`.

use std::sync::Arc;

use pintle_tree::{Node, Str};

use super::Api;
use super::delete::{FOREGROUND, ORPHAN, PropagationPolicy};
use super::inline_controllers::Queue;
use super::meta::{finalizers, has_finalizer, is_deleted, list_at, set, set_finalizers, text_at, unset};
use crate::status::Status;
use crate::store::Object;

impl Api {
    /// Deletes an object that has no owner left, or removes the references to owners that are gone. Owners in
    /// foreground deletion count as gone. Follows `attemptToDeleteItem` of kube-controller-manager.
    pub(super) async fn collect_garbage(&self, key: &Str, queue: &mut Queue) -> Result<(), Status> {
        let Some(object) = self.0.store.get(key) else { return Ok(()) };
        // Answered from the index: most objects have living owners and need not be parsed.
        let stays = |owner: &Str| self.0.store.by_uid(owner).is_some_and(|owner| !owner.meta.deleting);
        if object.meta.owners.iter().all(stays) {
            return Ok(());
        }
        let node = object.node();
        let references = list_at(&node, &["metadata", "ownerReferences"]);
        let (mut solid, mut gone, mut waiting) = (0, Vec::new(), 0);
        for reference in references {
            let uid = Str::from(text_at(reference, &["uid"]));
            match self.0.store.by_uid(&uid) {
                None => gone.push(uid),
                Some(owner) if is_deleting_dependents(&owner.node()) => {
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
            return self.remove_owner_references(key, &gone, queue).await;
        }
        if is_deleted(&node) {
            return Ok(());
        }
        let has_dependents = !self.0.store.dependents(&object.meta.uid).is_empty();
        // The owner in foreground deletion waits for this object. Deleted in the background, it would be gone
        // before its own dependents, and so would the owner.
        let policy = if waiting > 0 && has_dependents {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        };
        self.delete_as_controller(key, Some(policy), queue).await
    }

    pub(super) async fn remove_owner_references(
        &self,
        key: &Str,
        owners: &[Str],
        queue: &mut Queue,
    ) -> Result<(), Status> {
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
        self.update_with_retry(key, queue, act).await?;
        for owner in owners {
            self.dependent_deleted(owner, queue).await?;
        }
        Ok(())
    }

    /// A dependent is gone: an owner in foreground deletion may have waited for it.
    pub(super) async fn dependent_deleted(&self, owner: &Str, queue: &mut Queue) -> Result<(), Status> {
        match self.0.store.by_uid(owner) {
            Some(owner) if owner.meta.deleting => self.process_gc_finalizers(&owner, queue).await,
            _ => Ok(()),
        }
    }

    /// Processes the garbage collector's finalizers of an object that is being deleted.
    pub(super) async fn process_gc_finalizers(
        &self,
        object: &Arc<Object>,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        if !object.meta.deleting {
            return Ok(());
        }
        let node = object.node();
        if finalizers(&node).is_empty() {
            return Ok(());
        }
        if has_finalizer(&node, ORPHAN) {
            for dependent in self.0.store.dependents(&object.meta.uid) {
                // These functions call each other; a recursive future needs a known size.
                Box::pin(self.remove_owner_references(
                    &dependent.key,
                    std::slice::from_ref(&object.meta.uid),
                    queue,
                ))
                .await?;
            }
            return self.remove_finalizer(&object.key, ORPHAN, queue).await;
        }
        if has_finalizer(&node, FOREGROUND) {
            let uid = &object.meta.uid;
            for dependent in self.0.store.dependents(uid) {
                Box::pin(self.collect_garbage(&dependent.key, queue)).await?;
            }
            let blocks = |dependent: &Arc<Object>| blocks_owner_deletion(&dependent.node(), uid);
            if !self.0.store.dependents(uid).iter().any(blocks) {
                return self.remove_finalizer(&object.key, FOREGROUND, queue).await;
            }
        }
        Ok(())
    }

    pub(super) async fn remove_finalizer(
        &self,
        key: &Str,
        finalizer: &str,
        queue: &mut Queue,
    ) -> Result<(), Status> {
        let act = |node: &mut Node| {
            let left: Vec<Node> =
                finalizers(node).iter().filter(|name| name.as_str() != Some(finalizer)).cloned().collect();
            let changes = left.len() != finalizers(node).len();
            set_finalizers(node, left);
            changes
        };
        self.update_with_retry(key, queue, act).await
    }
}

/// Whether an owner is in foreground deletion.
fn is_deleting_dependents(owner: &Node) -> bool {
    is_deleted(owner) && has_finalizer(owner, FOREGROUND)
}

/// Whether a dependent blocks the foreground deletion of its owner (`blockOwnerDeletion`).
fn blocks_owner_deletion(object: &Node, owner: &Str) -> bool {
    list_at(object, &["metadata", "ownerReferences"]).iter().any(|reference| {
        **owner == *text_at(reference, &["uid"]).as_bytes()
            && reference.get("blockOwnerDeletion").and_then(Node::as_bool) == Some(true)
    })
}

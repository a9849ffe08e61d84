//! Delete: grace periods, finalizers and propagation policies. An object is removed when neither is left.

use pintle_tree::{Map, Node, Str};

use super::inline_controllers::{CLEANUP_FINALIZER, ObjectChange};
use super::meta::{
    finalizers, has_finalizer, is_deleted, map, meta, number_at, set, set_finalizers, text_at,
};
use super::query::{Query, dry_run};
use super::reply::Reply;
use super::request_body::decode_untyped;
use super::served_kind::ServedKind;
use super::update::storage_error;
use super::{Api, Call, not_found, read, subresource};
use crate::status::{Status, StatusCause, StatusDetails};
use crate::store::{Object, Precondition, WriteError, prefix};

/// The finalizer of foreground deletion: dependents are deleted first.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of orphaning: dependents lose their owner reference first.
pub(super) const ORPHAN: &str = "orphan";

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PropagationPolicy {
    Background,
    Foreground,
    Orphan,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) dry_run: bool,
    pub(super) policy: Option<PropagationPolicy>,
    pub(super) grace: Option<i64>,
    pub(super) uid: Option<String>,
    pub(super) revision: Option<String>,
}

/// The result of a delete.
pub(super) enum Deleted {
    /// The object was removed; this was its last state.
    Gone(Node),
    /// Finalizers or the grace period hold it; this is its new state.
    Held(Node),
}

impl Deleted {
    fn new(object: Node, removed: bool) -> Deleted {
        if removed { Deleted::Gone(object) } else { Deleted::Held(object) }
    }
}

impl Api {
    pub(super) async fn delete(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = DeleteOptions::parse(call)?;
        let existing =
            self.0.store.get(&call.key()).ok_or_else(|| not_found(call.served.resource(), call.name()))?;
        self.check_deletable(call)?;
        // Read before the removal: the answer names the uid of an object that is gone.
        let uid = existing.meta.uid.clone();
        match self.delete_object(&call.served, &call.key(), &options).await? {
            Deleted::Held(object) => Ok(self.object_reply(call, 200, object)),
            Deleted::Gone(object) if call.served.returns_deleted_object() => {
                Ok(self.object_reply(call, 200, object))
            }
            Deleted::Gone(_) => {
                let resource = call.served.resource();
                let mut details = Map::new();
                let texts = [
                    ("name", call.name().into()),
                    ("group", resource.group.clone()),
                    ("kind", resource.plural.clone()),
                    ("uid", uid),
                ];
                for (key, text) in texts.into_iter().filter(|(_, text): &(&str, Str)| !text.is_empty()) {
                    details.insert(key.into(), text.into());
                }
                Ok(Reply::tree(200, subresource::success(None, Some(Node::Map(details)))))
            }
        }
    }

    pub(super) async fn delete_collection(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = DeleteOptions::parse(call)?;
        let selector = self.selector(call)?;
        let prefix = prefix(&call.served.storage_prefix(), call.target.namespace.as_deref());
        let matches = |object: &Object| selector.matches(object);
        let index_hint = selector.index_hint(&call.scope());
        let listing = self.0.store.find(&prefix, None, usize::MAX, None, (&index_hint, &matches));
        let listing = listing.map_err(|_| Status::new(410, "Expired", "the list is too old"))?;
        let mut items = Vec::new();
        for object in &listing.objects {
            match self.delete_object(&call.served, &object.key, &options).await {
                Ok(_) => items.push(object.node()),
                // Deleted by another request in the meantime.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        // Items of built-in lists have neither `apiVersion` nor `kind`, as in lists that are read.
        for item in &mut items {
            call.served.convert_from_storage(item);
            if let (false, Node::Map(map)) = (call.served.is_custom(), item) {
                map.remove("apiVersion");
                map.remove("kind");
            }
        }
        let resource = call.served.resource();
        let metadata = map([("resourceVersion", listing.revision.to_string().into())]);
        Ok(Reply::tree(
            200,
            read::list_of(&resource.api_version(), &resource.list_kind.to_str_lossy(), metadata, items),
        ))
    }

    /// The built-in namespaces cannot be deleted.
    fn check_deletable(&self, call: &Call<'_>) -> Result<(), Status> {
        // As the admission plugin `NamespaceLifecycle`; `kube-node-lease` is not among them.
        let forever = ["default", "kube-system", "kube-public"];
        if !call.served.is("", "Namespace") || !forever.contains(&call.name()) {
            return Ok(());
        }
        let message = format!("namespaces {:?} is forbidden: this namespace may not be deleted", call.name());
        let details = StatusDetails {
            name: call.name().to_owned(),
            kind: "namespaces".to_owned(),
            ..StatusDetails::default()
        };
        Err(Status::new(403, "Forbidden", message).with_details(details))
    }

    /// Deletes an object, or marks it as deleted while finalizers hold it, and runs the inline controllers.
    pub(super) async fn delete_object(
        &self,
        served: &ServedKind,
        key: &Str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let (deleted, change) = self.delete_without_reconcile(served, key, options).await?;
        if let Some(ObjectChange { served, object, removed }) = change {
            self.reconcile_change(&served, &object, removed).await?;
        }
        Ok(deleted)
    }

    /// The same without running the controllers: callers that are controllers themselves queue the change.
    pub(super) async fn delete_without_reconcile(
        &self,
        served: &ServedKind,
        key: &Str,
        options: &DeleteOptions,
    ) -> Result<(Deleted, Option<ObjectChange>), Status> {
        let name = key.to_str_lossy().rsplit('/').next().unwrap_or_default().to_owned();
        loop {
            let existing = self.0.store.get(key).ok_or_else(|| not_found(served.resource(), &name))?;
            let live = existing.node();
            options.check(served.resource(), &name, &existing)?;
            let marked = self.mark_deleted(served, &live, options)?;
            let removed = super::update::should_delete(&marked);
            let shown =
                if removed { deleted_response(served, live.clone(), marked.clone()) } else { marked.clone() };
            // A second delete of an object that is held changes nothing, and must not write a new revision.
            if options.dry_run || (!removed && marked == live) {
                return Ok((Deleted::new(shown, removed), None));
            }
            let precondition = Precondition::Revision(existing.revision);
            let written = if removed {
                self.0.store.remove(key.clone(), precondition).await
            } else {
                self.0.store.put(key.clone(), precondition, marked).await
            };
            match written {
                Ok(object) => {
                    let shown = if removed { shown } else { object.node() };
                    let change = ObjectChange { served: served.clone(), object, removed };
                    return Ok((Deleted::new(shown, removed), Some(change)));
                }
                Err(WriteError::Broken(why)) => return Err(storage_error(&why)),
                // A conflicting write came first; retry on the new state.
                Err(_) => {}
            }
        }
    }

    /// Sets the deletion timestamp and the finalizers of the propagation policy.
    fn mark_deleted(
        &self,
        served: &ServedKind,
        live: &Node,
        options: &DeleteOptions,
    ) -> Result<Node, Status> {
        let mut object = live.clone();
        let mut finalizers: Vec<Node> = finalizers(live).to_vec();
        // A second delete of a pod only shortens its grace period.
        if !(is_deleted(live) && served.is("", "Pod")) {
            let others = |name: &Node| !matches!(name.as_str(), Some(FOREGROUND | ORPHAN));
            match options.policy {
                Some(PropagationPolicy::Foreground) if !has_finalizer(live, FOREGROUND) => {
                    finalizers.retain(others);
                    finalizers.push(FOREGROUND.into());
                }
                Some(PropagationPolicy::Orphan) if !has_finalizer(live, ORPHAN) => {
                    finalizers.retain(others);
                    finalizers.push(ORPHAN.into());
                }
                // An explicit policy replaces an earlier one: a background delete ends a foreground deletion that is
                // under way.
                Some(PropagationPolicy::Background) => finalizers.retain(others),
                _ => {}
            }
            set_finalizers(&mut object, finalizers);
        }
        let grace = grace(served, live, options);
        if served.is("", "Namespace") {
            if is_deleted(live) {
                return self.delete_terminating_namespace(live, object);
            }
            set(&mut object, &["metadata", "deletionTimestamp"], self.timestamp());
            set(&mut object, &["status", "phase"], "Terminating");
            return Ok(object);
        }
        if served.is("apiextensions.k8s.io", "CustomResourceDefinition") && !is_deleted(live) {
            return Ok(self.mark_definition_deleted(object));
        }
        if is_deleted(live) {
            let before = number_at(live, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0);
            // A grace period can be shortened only.
            if grace < before {
                set(&mut object, &["metadata", "deletionGracePeriodSeconds"], Node::Int(grace));
            }
            return Ok(object);
        }
        let seconds = u64::try_from(grace).unwrap_or(0);
        // The deletion timestamp is the end of the grace period, not its start.
        let when = super::clock::format_time(self.0.clock.now() + std::time::Duration::from_secs(seconds));
        set(&mut object, &["metadata", "deletionTimestamp"], when);
        set(&mut object, &["metadata", "deletionGracePeriodSeconds"], Node::Int(grace));
        // Deletion changes what controllers do, so the server increments the generation (`rest.BeforeDelete`).
        if let Some(generation) = number_at(live, &["metadata", "generation"]) {
            set(&mut object, &["metadata", "generation"], Node::Int(generation + 1));
        }
        Ok(object)
    }

    /// A CustomResourceDefinition is held until all custom resources are deleted.
    fn mark_definition_deleted(&self, mut object: Node) -> Node {
        let mut all = finalizers(&object).to_vec();
        if !has_finalizer(&object, CLEANUP_FINALIZER) {
            all.push(CLEANUP_FINALIZER.into());
        }
        set_finalizers(&mut object, all);
        set(&mut object, &["metadata", "deletionTimestamp"], self.timestamp());
        let condition = map([
            ("type", "Terminating".into()),
            ("status", "True".into()),
            ("lastTransitionTime", self.timestamp().into()),
            ("reason", "InstanceDeletionPending".into()),
            (
                "message",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
                    .into(),
            ),
        ]);
        let mut conditions = super::meta::list_at(&object, &["status", "conditions"]).to_vec();
        conditions.push(condition);
        set(&mut object, &["status", "conditions"], conditions);
        object
    }

    /// The server answers 409 to a second delete of a namespace while its content is being deleted.
    fn delete_terminating_namespace(&self, live: &Node, object: Node) -> Result<Node, Status> {
        if super::meta::list_at(live, &["spec", "finalizers"]).is_empty() {
            return Ok(object);
        }
        let Some(resource) = self.0.catalog.kind("", "v1", "Namespace") else { return Ok(object) };
        let why = "The system is ensuring all content is removed from this namespace.  Upon completion, this namespace will automatically be purged by the system.";
        Err(super::conflict(resource, meta(live, "name"), why))
    }
}

/// The answer to a delete: pods show the deletion timestamp, other objects are shown as they were.
fn deleted_response(served: &ServedKind, live: Node, marked: Node) -> Node {
    if served.is("", "Pod") { marked } else { live }
}

/// The grace period. Only pods that are bound to a node have one.
fn grace(served: &ServedKind, live: &Node, options: &DeleteOptions) -> i64 {
    let ended = matches!(text_at(live, &["status", "phase"]), "Succeeded" | "Failed");
    if !served.is("", "Pod") || ended || text_at(live, &["spec", "nodeName"]).is_empty() {
        return 0;
    }
    let own = number_at(live, &["spec", "terminationGracePeriodSeconds"]).unwrap_or(30);
    // A negative grace period is one second in the pod strategy of the real server.
    options.grace.map_or(own, |grace| if grace < 0 { 1 } else { grace })
}

impl DeleteOptions {
    fn parse(call: &Call<'_>) -> Result<DeleteOptions, Status> {
        let subresource = call.target.subresource.as_deref();
        let body = match subresource {
            _ if call.body.is_empty() => None,
            None => Some(read_options(call)?),
            // `kubectl drain --dry-run=server` asks for the dry run in this field.
            Some("eviction") => decode_untyped(call)?.get("deleteOptions").cloned(),
            Some(_) => None,
        };
        // Options in the body take precedence over the query, as in the real server. The query of an eviction has the
        // options for creating the Eviction, so both apply.
        let nothing = Query::default();
        let query = if body.is_some() && subresource.is_none() { &nothing } else { call.query };
        let body = body.unwrap_or_else(Node::empty_map);
        let word = |key: &str| {
            let sent = text_at(&body, &[key]);
            if sent.is_empty() { query.get(key).to_owned() } else { sent.to_owned() }
        };
        let mut causes = Vec::new();
        let policy_word = word("propagationPolicy");
        let orphans = body.get("orphanDependents").and_then(Node::as_bool);
        let orphans =
            orphans.or_else(|| query.has("orphanDependents").then(|| query.is_set("orphanDependents")));
        if orphans.is_some() && !policy_word.is_empty() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(StatusCause::invalid("propagationPolicy", &policy_word.as_str().into(), detail));
        }
        let policy =
            match policy_word.as_str() {
                "" => orphans.map(|orphans| {
                    if orphans { PropagationPolicy::Orphan } else { PropagationPolicy::Background }
                }),
                "Background" => Some(PropagationPolicy::Background),
                "Foreground" => Some(PropagationPolicy::Foreground),
                "Orphan" => Some(PropagationPolicy::Orphan),
                other => {
                    let supported = ["Foreground", "Background", "Orphan", "nil"];
                    causes.push(StatusCause::not_supported("propagationPolicy", &other.into(), &supported));
                    None
                }
            };
        let sent: Vec<&str> =
            super::meta::list_at(&body, &["dryRun"]).iter().filter_map(Node::as_str).collect();
        let requested: Vec<&str> = if sent.is_empty() { query.all("dryRun").collect() } else { sent };
        let dry_run = dry_run(&requested, &mut causes);
        if !causes.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", causes));
        }
        let text = |key: &str| {
            let text = text_at(&body, &["preconditions", key]);
            (!text.is_empty()).then(|| text.to_owned())
        };
        let grace = number_at(&body, &["gracePeriodSeconds"]);
        let grace = if grace.is_some() { grace } else { query.number("gracePeriodSeconds")? };
        Ok(DeleteOptions { dry_run, policy, grace, uid: text("uid"), revision: text("resourceVersion") })
    }

    /// Checks the preconditions.
    fn check(&self, resource: &crate::schema::Resource, name: &str, existing: &Object) -> Result<(), Status> {
        let refused = |why: String| {
            let kind = &resource.kind;
            let qualified = if resource.group.is_empty() {
                kind.to_string()
            } else {
                format!("{kind}.{}", resource.group)
            };
            let details = StatusDetails {
                name: name.to_owned(),
                group: resource.group.to_string(),
                kind: kind.to_string(),
                ..StatusDetails::default()
            };
            let message = format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}");
            Err(Status::new(409, "Conflict", message).with_details(details))
        };
        if let Some(uid) = self.uid.as_ref().filter(|uid| *existing.meta.uid != *uid.as_bytes()) {
            return refused(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                existing.meta.uid
            ));
        }
        if let Some(revision) =
            self.revision.as_ref().filter(|revision| **revision != existing.revision.to_string())
        {
            return refused(format!(
                "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record ({}). The object might have been modified",
                existing.revision
            ));
        }
        Ok(())
    }
}

fn read_options(call: &Call<'_>) -> Result<Node, Status> {
    let body = super::request_body::decode_untyped(call)?;
    let kind = text_at(&body, &["kind"]);
    if !kind.is_empty() && kind != "DeleteOptions" {
        let version = text_at(&body, &["apiVersion"]);
        let scheme = "pkg/runtime/scheme.go:111";
        return Err(Status::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme {scheme:?}"
        )));
    }
    Ok(body)
}

//! Update and patch, with optimistic concurrency.

use std::sync::Arc;

use pintle_tree::{Node, json};

use super::meta::{copy_field, finalizers, is_deleted, meta, number_at, set};
use super::query::{FieldValidation, WriteOptions};
use super::reply::Reply;
use super::{Api, Call, conflict, negotiation, not_found};
use crate::admission;
use crate::apply::{self, FieldManager};
use crate::decoding::{BuiltIn, Source};
use crate::patch;
use crate::status::{Status, StatusCause, StatusDetails};
use crate::store::{Object, Precondition, WriteError};

/// How often a patch is retried on a conflict, as in the real server (`MaxRetryWhenPatchConflicts`).
const MAX_RETRIES: usize = 5;

/// Where the new state of an object comes from.
pub(super) enum UpdateSource<'e> {
    /// A PUT with the whole object.
    Replace(&'e Node),
    /// A patch of this media type.
    Patch(&'e str),
    /// A server-side apply configuration.
    Apply(&'e Node),
    /// A modification by a subresource, such as scale.
    With(&'e (dyn Fn(&mut Node) -> Result<(), Status> + Sync)),
}

impl Api {
    pub(super) async fn replace(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::parse(call.query, "UpdateOptions")?;
        let mut sent = self.decode_body(call, options.validation)?;
        check_name(call, &sent, false)?;
        self.default_namespace(call, &mut sent)?;
        if self.0.store.get(&call.key()).is_none()
            && call.target.subresource.is_none()
            && call.served.allows_create_on_update()
        {
            let created = self.create_object(call, sent, &options, false).await?;
            return Ok(self.object_reply(call, 201, created));
        }
        self.update(call, &options, &UpdateSource::Replace(&sent)).await
    }

    pub(super) async fn patch(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::parse(call.query, "PatchOptions")?;
        let kind = negotiation::content_type(call.headers);
        if kind != "application/apply-patch+yaml" && call.query.has("force") {
            let cause = StatusCause::forbidden("force", "may not be specified for non-apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        match kind.as_str() {
            "application/apply-patch+yaml" => self.apply(call, &options).await,
            "application/json-patch+json" | "application/merge-patch+json" => {
                self.update(call, &options, &UpdateSource::Patch(&kind)).await
            }
            "application/strategic-merge-patch+json" if !call.served.is_custom() => {
                self.update(call, &options, &UpdateSource::Patch(&kind)).await
            }
            _ => Err(unknown_patch(call, &kind)),
        }
    }

    /// Updates an existing object. Conflicts are retried unless the client has named a resourceVersion.
    pub(super) async fn update(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        edit: &UpdateSource<'_>,
    ) -> Result<Reply, Status> {
        // Everything is computed again on each attempt, as the new state depends on the live object.
        for tries in 1.. {
            let existing = self.0.store.get(&call.key());
            let existing = existing.ok_or_else(|| not_found(call.served.resource(), call.name()))?;
            let mut live = existing.node();
            call.served.convert_from_storage(&mut live);
            let (mut changed, has_revision) = self.updated_object(call, options, edit, &live, &existing)?;
            self.prepare_for_update(call, &live, &mut changed)?;
            self.validate_update(call, &live, &changed)?;
            self.check_limits(call, Some(&live), &changed)?;
            self.check_pod_security(call, Some(&live), &changed)?;
            match self.store_update(call, options, &existing, &live, changed).await {
                // The client's resourceVersion no longer matches after a conflict, so only requests without one are
                // retried.
                Err(WriteError::Changed(_)) if !has_revision && tries < MAX_RETRIES => {}
                Err(WriteError::Broken(why)) => return Err(storage_error(&why)),
                Err(WriteError::Missing) => return Err(not_found(call.served.resource(), call.name())),
                Err(_) => return Err(modified_conflict(call)),
                Ok(object) => return Ok(self.respond_updated(call, object?)),
            }
        }
        Err(modified_conflict(call))
    }

    fn respond_updated(&self, call: &Call<'_>, object: Node) -> Reply {
        match call.target.subresource.as_deref() {
            Some("scale") => Reply::tree(200, self.scale_of(call, &object)),
            _ => self.object_reply(call, 200, object),
        }
    }

    /// Returns the new state before admission and validation, and whether the client has named a resourceVersion.
    fn updated_object(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        edit: &UpdateSource<'_>,
        live: &Node,
        existing: &Arc<Object>,
    ) -> Result<(Node, bool), Status> {
        let mut object = match edit {
            UpdateSource::Replace(sent) => (*sent).clone(),
            UpdateSource::Patch(kind) => self.apply_patch(call, options, kind, live)?,
            // Merged below, as it needs the field manager.
            UpdateSource::Apply(_) => live.clone(),
            UpdateSource::With(act) => {
                let mut object = live.clone();
                act(&mut object)?;
                object
            }
        };
        let replaced = matches!(edit, UpdateSource::Replace(_));
        let named = self.check_preconditions(call, &object, existing, replaced)?;
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.served.resource().api_version();
        let part = call.target.subresource.as_deref().unwrap_or_default();
        let reset_fields = self.reset_fields(call, part);
        let field_manager = FieldManager {
            name: &manager,
            api_version: &version,
            subresource: part,
            now: &now,
            reset_fields: &reset_fields,
        };
        let schema = call.served.schema(self.0.catalog);
        if let UpdateSource::Apply(applied) = edit {
            let applied_object = apply::apply(schema, live, applied, &field_manager, options.force, false)?;
            // Again, as the applied configuration may name a uid or a resourceVersion.
            let named = self.check_preconditions(call, &applied_object.object, existing, false)? || named;
            let text = json::write_raw(&applied_object.object)
                .map_err(|error| Status::bad_request(error.to_string()))?;
            // The merge works on trees; decoding gives the result the form that the server's Go types have.
            let mut read = self.decode(
                call,
                &text,
                FieldValidation::Ignore,
                &version,
                &call.served.resource().kind.to_string(),
            )?;
            copy_field(&mut read, &applied_object.object, &["metadata", "managedFields"]);
            return Ok((read, named));
        }
        keep_immutable_metadata(&mut object, live);
        apply::update_managed_fields(schema, live, &mut object, &field_manager, false);
        Ok((object, named))
    }

    /// Applies a patch and decodes the result as an object of the kind.
    fn apply_patch(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        kind: &str,
        live: &Node,
    ) -> Result<Node, Status> {
        let resource = call.served.resource();
        let (version, name) = (resource.api_version(), resource.kind.to_string());
        let schema = call.served.schema(self.0.catalog);
        if self.0.catalog.minor() >= 37 && json::read_exact(call.body).is_err() {
            return Err(Status::bad_request("invalid JSON patch".to_owned()));
        }
        let patched = match kind {
            "application/json-patch+json" => patch::json_patch(live, call.body)?,
            "application/merge-patch+json" => patch::merge_patch(live, call.body)?,
            _ => patch::strategic_patch(schema, live, call.body)?,
        };
        let strategic = kind == "application/strategic-merge-patch+json";
        let built_in = BuiltIn::find(&version, &name, schema).filter(|_| strategic);
        let text =
            json::write_raw(&patched.object).map_err(|error| Status::bad_request(error.to_string()))?;
        // The server reports the patch for a strategic merge, and the patched object for the other types.
        let invalid_patch = |problem: &str| {
            let shown = if strategic {
                json::read_exact(call.body)
                    .map(|patch| crate::go_format::go_value(&patch))
                    .unwrap_or_default()
            } else {
                String::from_utf8_lossy(&text).into_owned()
            };
            Status::invalid("", "", "", vec![StatusCause::invalid("patch", &shown.into(), problem)])
        };
        let read = match built_in {
            Some(built_in) => built_in
                .decode_tree(&patched.object, Source::Tree)
                .map_err(|problem| invalid_patch(&problem))?,
            None => {
                self.check_same_kind(call, &patched.object).map_err(|problem| invalid_patch(&problem))?;
                self.decode_strict(call, &text, &version, &name)
                    .map_err(|status| invalid_patch(&status.message))?
            }
        };
        let mut strict = patched.strict;
        strict.extend(read.strict);
        if options.validation == FieldValidation::Strict && !strict.is_empty() {
            return Err(invalid_patch(&format!("strict decoding error: {}", strict.join(", "))));
        }
        let object = self.apply_field_validation(call, read.object, strict, options.validation)?;
        check_name(call, &object, true)?;
        check_same_namespace(call, &object)?;
        Ok(object)
    }

    /// A patch cannot change the kind.
    fn check_same_kind(&self, call: &Call<'_>, object: &Node) -> Result<(), String> {
        let resource = call.served.resource();
        let word = |key: &str| super::meta::text_at(object, &[key]).to_owned();
        let (version, kind) = (word("apiVersion"), word("kind"));
        let fits = |sent: &str, own: &str| sent.is_empty() || sent == own;
        if fits(&version, &resource.api_version()) && fits(&kind, &resource.kind.to_str_lossy()) {
            return Ok(());
        }
        Err(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        ))
    }

    /// Checks uid and resourceVersion. Returns whether a resourceVersion was named.
    fn check_preconditions(
        &self,
        call: &Call<'_>,
        object: &Node,
        existing: &Arc<Object>,
        replaced: bool,
    ) -> Result<bool, Status> {
        let resource = call.served.resource();
        let uid = meta(object, "uid");
        if !uid.is_empty() && !replaced && *existing.meta.uid != *uid.as_bytes() {
            let cause = StatusCause::invalid("metadata.uid", &uid.into(), "field is immutable");
            let (group, kind) = (resource.group.to_str_lossy(), resource.kind.to_str_lossy());
            // The real server validates this twice.
            let once = call.served.kind(self.0.catalog).is_validated_declaratively();
            let causes = vec![cause; if once { 1 } else { 2 }];
            return Err(Status::invalid(&group, &kind, call.name(), causes));
        }
        if !uid.is_empty() && *existing.meta.uid != *uid.as_bytes() {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                existing.key, existing.meta.uid
            );
            return Err(conflict(resource, call.name(), &why));
        }
        let revision = meta(object, "resourceVersion");
        if revision.is_empty() || revision == "0" {
            if replaced && !call.served.allows_unconditional_update() {
                let detail = "must be specified for an update";
                let cause = StatusCause::invalid("metadata.resourceVersion", &Node::Int(0), detail);
                let (group, kind) = (resource.group.to_str_lossy(), resource.plural.to_str_lossy());
                return Err(Status::invalid(&group, &kind, call.name(), vec![cause]));
            }
            return Ok(false);
        }
        let number: u64 = revision.parse().map_err(|_| {
            Status::new(500, "", format!("strconv.ParseUint: parsing {revision:?}: invalid syntax"))
        })?;
        if number != existing.revision {
            return Err(modified_conflict(call));
        }
        // A patched object has the live resourceVersion even if the patch names none, so only a PUT counts as
        // naming one. A patch that names an old one has failed above.
        Ok(replaced)
    }

    /// Stores the new state, or removes the object if its last finalizer was removed (`ShouldDeleteDuringUpdate`).
    async fn store_update(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        existing: &Arc<Object>,
        live: &Node,
        mut changed: Node,
    ) -> Result<Result<Node, Status>, WriteError> {
        // As etcd3's `GuaranteedUpdate`: without a change there is no new resourceVersion and no event.
        if changed == *live {
            return Ok(Ok(changed));
        }
        if options.dry_run {
            return Ok(Ok(changed));
        }
        let precondition = Precondition::Revision(existing.revision);
        if should_delete(&changed) {
            let removed = self.0.store.remove(existing.key.clone(), precondition).await?;
            // The answer shows the object as of before the removal.
            set(&mut changed, &["metadata", "resourceVersion"], meta(live, "resourceVersion"));
            return Ok(self.reconcile_change(&call.served, &removed, true).await.map(|()| changed));
        }
        let mut storage_shape = changed;
        admission::normalize_for_storage(call.served.kind(self.0.catalog), &mut storage_shape);
        call.served.convert_to_storage(&mut storage_shape, self.0.catalog);
        let stored = self.0.store.put(existing.key.clone(), precondition, storage_shape).await?;
        if let Err(status) = self.reconcile_change(&call.served, &stored, false).await {
            return Ok(Err(status));
        }
        let mut node = stored.node();
        call.served.convert_from_storage(&mut node);
        Ok(Ok(node))
    }
}

/// Whether a deleted object has neither finalizers nor a grace period left.
pub(super) fn should_delete(object: &Node) -> bool {
    let waits = number_at(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) > 0;
    // Namespaces have finalizers in their spec as well, which only the `finalize` subresource removes.
    let held = !super::meta::list_at(object, &["spec", "finalizers"]).is_empty()
        && object.get("kind").and_then(Node::as_str) == Some("Namespace");
    is_deleted(object) && finalizers(object).is_empty() && !waits && !held
}

/// Restores the metadata that clients cannot change.
fn keep_immutable_metadata(object: &mut Node, live: &Node) {
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
        "resourceVersion",
    ] {
        copy_field(object, live, &["metadata", field]);
    }
}

/// 415 for an unknown patch type.
fn unknown_patch(call: &Call<'_>, kind: &str) -> Status {
    if !kind.contains("patch") {
        return Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
            .with_details(StatusDetails::default());
    }
    let strategic = if call.served.is_custom() { "" } else { ", application/strategic-merge-patch+json" };
    negotiation::unsupported(&format!(
        "application/json-patch+json, application/merge-patch+json{strategic}, application/apply-patch+yaml"
    ))
}

/// The name in the body must match the URL.
pub(super) fn check_name(call: &Call<'_>, object: &Node, based_on_address: bool) -> Result<(), Status> {
    let (name, wanted) = (meta(object, "name"), call.name());
    if name == wanted {
        return Ok(());
    }
    Err(Status::bad_request(if name.is_empty() && based_on_address {
        format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided")
    } else if name.is_empty() {
        "name must be provided".to_owned()
    } else {
        format!("the name of the object ({name}) does not match the name on the URL ({wanted})")
    }))
}

/// The namespace in the body, if any, must match the URL.
pub(super) fn check_same_namespace(call: &Call<'_>, object: &Node) -> Result<(), Status> {
    let namespace = meta(object, "namespace");
    if namespace.is_empty() || call.namespace().is_empty() || namespace == call.namespace() {
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Status::bad_request(message))
}

fn modified_conflict(call: &Call<'_>) -> Status {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    conflict(call.served.resource(), call.name(), why)
}

pub(super) fn storage_error(why: &str) -> Status {
    Status::new(500, "InternalError", format!("Internal error occurred: the store cannot be written: {why}"))
}

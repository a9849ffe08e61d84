//! Changing objects: they are replaced and patched, unless somebody else was quicker.

use std::sync::Arc;

use pintle_tree::{Node, json};

use super::meta::{finalizers, is_deleted, meta, number_at, set, take_over};
use super::query::{FieldValidation, WriteOptions};
use super::reply::Reply;
use super::{Api, Call, accept, conflict, not_found};
use crate::admission;
use crate::apply::{self, Writer};
use crate::decoding::{BuiltIn, Source};
use crate::patch;
use crate::status::{Cause, Details, Status};
use crate::store::{Expect, Object, Refusal};

/// How often a patch is tried again when somebody else was quicker.
const TRIES: usize = 5;

/// How a new state of an object comes about.
pub(super) enum Edit<'e> {
    /// The whole object was sent.
    Replace(&'e Node),
    /// A patch was sent, of this kind.
    Patch(&'e str),
    /// What one manager wants was sent.
    Apply(&'e Node),
    /// Something else that is done to the object, such as scaling.
    With(&'e (dyn Fn(&mut Node) -> Result<(), Status> + Sync)),
}

impl Api {
    pub(super) async fn replace(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::read(call.query, "UpdateOptions")?;
        let mut sent = self.read_body(call, options.validation)?;
        check_name(call, &sent, false)?;
        self.put_in_namespace(call, &mut sent)?;
        if self.0.store.get(&call.key()).is_none()
            && call.target.part.is_none()
            && call.known.is_made_by_replacing()
        {
            let made = self.make(call, sent, &options, false).await?;
            return Ok(self.show(call, 201, made));
        }
        self.change(call, &options, &Edit::Replace(&sent)).await
    }

    pub(super) async fn patch(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::read(call.query, "PatchOptions")?;
        let kind = accept::content_type(call.headers);
        if kind != "application/apply-patch+yaml" && call.query.has("force") {
            let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        match kind.as_str() {
            "application/apply-patch+yaml" => self.apply(call, &options).await,
            "application/json-patch+json" | "application/merge-patch+json" => {
                self.change(call, &options, &Edit::Patch(&kind)).await
            }
            "application/strategic-merge-patch+json" if !call.known.is_custom() => {
                self.change(call, &options, &Edit::Patch(&kind)).await
            }
            _ => Err(unknown_patch(call, &kind)),
        }
    }

    /// Changes an object that is there, again when somebody was quicker and the sender did not name a revision.
    pub(super) async fn change(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        edit: &Edit<'_>,
    ) -> Result<Reply, Status> {
        for tries in 1.. {
            let there = self.0.store.get(&call.key());
            let there = there.ok_or_else(|| not_found(call.known.resource(), call.name()))?;
            let mut live = there.node();
            call.known.show(&mut live);
            let (mut changed, named_revision) = self.edited(call, options, edit, &live, &there)?;
            self.prepare_change(call, &live, &mut changed)?;
            self.check_change(call, &live, &changed)?;
            self.check_limits(call, Some(&live), &changed)?;
            self.check_security(call, Some(&live), &changed)?;
            match self.store_change(call, options, &there, &live, changed).await {
                Err(Refusal::Changed(_)) if !named_revision && tries < TRIES => {}
                Err(Refusal::Broken(why)) => return Err(broken(&why)),
                Err(Refusal::Missing) => return Err(not_found(call.known.resource(), call.name())),
                Err(_) => return Err(modified(call)),
                Ok(object) => return Ok(self.show_change(call, object?)),
            }
        }
        Err(modified(call))
    }

    fn show_change(&self, call: &Call<'_>, object: Node) -> Reply {
        match call.target.part.as_deref() {
            Some("scale") => Reply::tree(200, self.scale_of(call, &object)),
            _ => self.show(call, 200, object),
        }
    }

    /// The new state, before the rules of its kind, and whether the sender named the revision to change.
    fn edited(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        edit: &Edit<'_>,
        live: &Node,
        there: &Arc<Object>,
    ) -> Result<(Node, bool), Status> {
        let mut object = match edit {
            Edit::Replace(sent) => (*sent).clone(),
            Edit::Patch(kind) => self.patched(call, options, kind, live)?,
            Edit::Apply(_) => live.clone(),
            Edit::With(act) => {
                let mut object = live.clone();
                act(&mut object)?;
                object
            }
        };
        let replaced = matches!(edit, Edit::Replace(_));
        let named = self.check_conditions(call, &object, there, replaced)?;
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.known.resource().api_version();
        let part = call.target.part.as_deref().unwrap_or_default();
        let reset = self.untouched(call, part);
        let writer =
            Writer { manager: &manager, api_version: &version, subresource: part, now: &now, reset: &reset };
        let schema = call.known.schema(self.0.table);
        if let Edit::Apply(applied) = edit {
            let laid = apply::apply(schema, live, applied, &writer, options.force, false)?;
            let named = self.check_conditions(call, &laid.object, there, false)? || named;
            let text =
                json::write_raw(&laid.object).map_err(|error| Status::bad_request(error.to_string()))?;
            let mut read = self.read_text(
                call,
                &text,
                FieldValidation::Ignore,
                &version,
                &call.known.resource().kind.to_string(),
            )?;
            take_over(&mut read, &laid.object, &["metadata", "managedFields"]);
            return Ok((read, named));
        }
        keep_identity(&mut object, live);
        apply::track(schema, live, &mut object, &writer, false);
        Ok((object, named))
    }

    /// Carries a patch out, and reads what comes of it as an object of the kind.
    fn patched(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        kind: &str,
        live: &Node,
    ) -> Result<Node, Status> {
        let resource = call.known.resource();
        let (version, name) = (resource.api_version(), resource.kind.to_string());
        let schema = call.known.schema(self.0.table);
        let patched = match kind {
            "application/json-patch+json" => patch::json_patch(live, call.body)?,
            "application/merge-patch+json" => patch::merge_patch(live, call.body)?,
            _ => patch::strategic_patch(schema, live, call.body)?,
        };
        let strategic = kind == "application/strategic-merge-patch+json";
        let built_in = BuiltIn::find(&version, &name, schema).filter(|_| strategic);
        let text =
            json::write_raw(&patched.object).map_err(|error| Status::bad_request(error.to_string()))?;
        let refused = |fault: &str| {
            let shown = if strategic {
                json::read_exact(call.body)
                    .map(|patch| crate::go_format::go_value(&patch))
                    .unwrap_or_default()
            } else {
                String::from_utf8_lossy(&text).into_owned()
            };
            Status::invalid("", "", "", vec![Cause::invalid("patch", &shown.into(), fault)])
        };
        let read = match built_in {
            Some(built_in) => {
                built_in.decode_tree(&patched.object, Source::Tree).map_err(|fault| refused(&fault))?
            }
            None => {
                self.check_same_kind(call, &patched.object).map_err(|fault| refused(&fault))?;
                self.read_strictly(call, &text, &version, &name).map_err(|status| refused(&status.message))?
            }
        };
        let mut strict = patched.strict;
        strict.extend(read.strict);
        if options.validation == FieldValidation::Strict && !strict.is_empty() {
            return Err(refused(&format!("strict decoding error: {}", strict.join(", "))));
        }
        let object = self.judge(call, read.object, strict, options.validation)?;
        check_name(call, &object, true)?;
        check_same_namespace(call, &object)?;
        Ok(object)
    }

    /// A patch cannot make an object one of another kind.
    fn check_same_kind(&self, call: &Call<'_>, object: &Node) -> Result<(), String> {
        let resource = call.known.resource();
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

    /// The sender's idea of which object this is, and of its revision. Returns whether a revision was named.
    fn check_conditions(
        &self,
        call: &Call<'_>,
        object: &Node,
        there: &Arc<Object>,
        replaced: bool,
    ) -> Result<bool, Status> {
        let resource = call.known.resource();
        let uid = meta(object, "uid");
        if !uid.is_empty() && !replaced && *there.head.uid != *uid.as_bytes() {
            let cause = Cause::invalid("metadata.uid", &uid.into(), "field is immutable");
            let (group, kind) = (resource.group.to_str_lossy(), resource.kind.to_str_lossy());
            // The real server looks twice and says so twice.
            return Err(Status::invalid(&group, &kind, call.name(), vec![cause.clone(), cause]));
        }
        if !uid.is_empty() && *there.head.uid != *uid.as_bytes() {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                there.key, there.head.uid
            );
            return Err(conflict(resource, call.name(), &why));
        }
        let revision = meta(object, "resourceVersion");
        if revision.is_empty() || revision == "0" {
            if replaced && !call.known.may_replace_blindly() {
                let detail = "must be specified for an update";
                let cause = Cause::invalid("metadata.resourceVersion", &Node::Int(0), detail);
                let (group, kind) = (resource.group.to_str_lossy(), resource.plural.to_str_lossy());
                return Err(Status::invalid(&group, &kind, call.name(), vec![cause]));
            }
            return Ok(false);
        }
        let number: u64 = revision.parse().map_err(|_| {
            Status::new(500, "", format!("strconv.ParseUint: parsing {revision:?}: invalid syntax"))
        })?;
        if number != there.revision {
            return Err(modified(call));
        }
        Ok(replaced)
    }

    /// Stores a new state; one that nothing holds any longer is removed instead.
    async fn store_change(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        there: &Arc<Object>,
        live: &Node,
        mut changed: Node,
    ) -> Result<Result<Node, Status>, Refusal> {
        if changed == *live {
            return Ok(Ok(changed));
        }
        if options.dry_run {
            return Ok(Ok(changed));
        }
        let expect = Expect::Revision(there.revision);
        if is_let_go(&changed) {
            let removed = self.0.store.remove(there.key.clone(), expect).await?;
            set(&mut changed, &["metadata", "resourceVersion"], meta(live, "resourceVersion"));
            return Ok(self.follow(&call.known, &removed, true).await.map(|()| changed));
        }
        let mut kept = changed;
        admission::normalize_for_storage(call.known.kind(self.0.table), &mut kept);
        call.known.keep(&mut kept, self.0.table);
        let stored = self.0.store.put(there.key.clone(), expect, kept).await?;
        if let Err(status) = self.follow(&call.known, &stored, false).await {
            return Ok(Err(status));
        }
        let mut node = stored.node();
        call.known.show(&mut node);
        Ok(Ok(node))
    }
}

/// Whether an object is deleted and nothing holds it any longer.
pub(super) fn is_let_go(object: &Node) -> bool {
    let waits = number_at(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) > 0;
    let held = !super::meta::list_at(object, &["spec", "finalizers"]).is_empty()
        && object.get("kind").and_then(Node::as_str) == Some("Namespace");
    is_deleted(object) && finalizers(object).is_empty() && !waits && !held
}

/// What no sender can change.
fn keep_identity(object: &mut Node, live: &Node) {
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
        take_over(object, live, &["metadata", field]);
    }
}

/// A patch in a language that nobody here speaks.
fn unknown_patch(call: &Call<'_>, kind: &str) -> Status {
    if !kind.contains("patch") {
        return Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
            .about(Details::default());
    }
    let strategic = if call.known.is_custom() { "" } else { ", application/strategic-merge-patch+json" };
    accept::unsupported(&format!(
        "application/json-patch+json, application/merge-patch+json{strategic}, application/apply-patch+yaml"
    ))
}

/// The name of the object must be that of the address.
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

/// The namespace of the object must be that of the address, if it is said.
pub(super) fn check_same_namespace(call: &Call<'_>, object: &Node) -> Result<(), Status> {
    let namespace = meta(object, "namespace");
    if namespace.is_empty() || call.namespace().is_empty() || namespace == call.namespace() {
        return Ok(());
    }
    let message = "the namespace of the provided object does not match the namespace sent on the request";
    Err(Status::bad_request(message))
}

fn modified(call: &Call<'_>) -> Status {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    conflict(call.known.resource(), call.name(), why)
}

/// The store cannot be written.
pub(super) fn broken(why: &str) -> Status {
    Status::new(500, "InternalError", format!("Internal error occurred: the store cannot be written: {why}"))
}

//! Create: namespace, name, managed fields, then the pipeline of admission, validation and quota before the write.

use pintle_tree::Node;

use super::meta::{meta, set, unset};
use super::query::WriteOptions;
use super::reply::Reply;
use super::update::{check_same_namespace, storage_error};
use super::{Api, Call, no_such_resource, not_found};
use crate::admission;
use crate::apply::{self, FieldManager, FieldSet};
use crate::decoding::BuiltIn;
use crate::status::{Status, StatusCause, StatusDetails};
use crate::store::{Object, Precondition, WriteError, key};

/// How often `generateName` is tried, as `maxNameGenerationCreateAttempts` in the real server.
const MAX_NAME_ATTEMPTS: usize = 8;

impl Api {
    pub(super) async fn create(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::parse(call.query, "CreateOptions")?;
        let sent = self.decode_body(call, options.validation)?;
        let created = self.create_object(call, sent, &options, false).await?;
        Ok(self.object_reply(call, 201, created))
    }

    /// Creates an object that was posted, or applied; an applied one already has its managed fields.
    pub(super) async fn create_object(
        &self,
        call: &Call<'_>,
        mut object: Node,
        options: &WriteOptions,
        applied: bool,
    ) -> Result<Node, Status> {
        self.default_namespace(call, &mut object)?;
        // System fields that clients cannot set.
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            unset(&mut object, &["metadata", field]);
        }
        // Before admission: the client does not own what the server sets.
        if !applied {
            self.track_create(call, &mut object, options);
        }
        self.check_namespace(call, &object)?;
        let sent_revision = meta(&object, "resourceVersion").to_owned();
        unset(&mut object, &["metadata", "resourceVersion"]);
        let generated = meta(&object, "name").is_empty() && !meta(&object, "generateName").is_empty();
        for tries in 1.. {
            // Each attempt starts over, as admission and validation may depend on the name.
            let mut attempt = object.clone();
            if generated {
                let name = self.generate_name(meta(&object, "generateName"));
                set(&mut attempt, &["metadata", "name"], name);
            }
            self.prepare_for_create(call, &mut attempt)?;
            self.validate_create(call, &attempt)?;
            // The real server rejects a resourceVersion in its storage layer, which a dry run does not reach.
            if options.dry_run && !sent_revision.is_empty() {
                set(&mut attempt, &["metadata", "resourceVersion"], sent_revision.as_str());
            } else if !sent_revision.is_empty() && sent_revision != "0" {
                return Err(Status::new(
                    500,
                    "",
                    "resourceVersion should not be set on objects to be created",
                ));
            }
            self.check_limits(call, None, &attempt)?;
            self.check_pod_security(call, None, &attempt)?;
            // Last, so that the lock is held only for objects that are otherwise valid.
            let _quota_guard = self.check_quotas(call, &attempt).await?;
            match self.store_new(call, attempt, options.dry_run).await {
                Err(status) if generated && status.reason == "AlreadyExists" && tries < MAX_NAME_ATTEMPTS => {
                }
                other => return other,
            }
        }
        Err(Status::new(500, "InternalError", "no unused name could be generated"))
    }

    pub(super) async fn store_new(
        &self,
        call: &Call<'_>,
        mut object: Node,
        dry_run: bool,
    ) -> Result<Node, Status> {
        admission::normalize_for_storage(call.served.kind(self.0.catalog), &mut object);
        let name = meta(&object, "name").to_owned();
        let key = key(&call.served.storage_prefix(), call.namespace(), &name);
        if dry_run {
            return match self.0.store.get(&key) {
                Some(existing) => Err(already_exists(call, &name, &existing)),
                None => Ok(object),
            };
        }
        // A dry run returns above, so that it shows the version that the client sent.
        call.served.convert_to_storage(&mut object, self.0.catalog);
        match self.0.store.put(key.clone(), Precondition::Absent, object).await {
            Ok(stored) => {
                self.reconcile_change(&call.served, &stored, false).await?;
                let mut node = stored.node();
                call.served.convert_from_storage(&mut node);
                Ok(node)
            }
            Err(WriteError::Broken(why)) => Err(storage_error(&why)),
            Err(_) => match self.0.store.get(&key) {
                Some(existing) => Err(already_exists(call, &name, &existing)),
                None => {
                    Err(Status::new(500, "InternalError", "the object was created and deleted concurrently"))
                }
            },
        }
    }

    pub(super) fn generate_name(&self, base: &str) -> String {
        // As `maxGeneratedNameLength`: 63, the longest DNS label, less the random suffix. Longer bases are
        // cut off without an error.
        const MAX_BASE_LENGTH: usize = 63 - 5;
        let base: String = base.chars().take(MAX_BASE_LENGTH).collect();
        format!("{base}{}", self.0.names.suffix())
    }

    /// Sets the namespace of the URL, which a body may omit but not contradict.
    pub(super) fn default_namespace(&self, call: &Call<'_>, object: &mut Node) -> Result<(), Status> {
        check_same_namespace(call, object)?;
        let wanted = call.namespace();
        if wanted.is_empty() {
            unset(object, &["metadata", "namespace"]);
        } else {
            set(object, &["metadata", "namespace"], wanted);
        }
        Ok(())
    }

    /// The NamespaceLifecycle admission plugin: nothing is created in a namespace that does not exist or is
    /// terminating.
    pub(super) fn check_namespace(&self, call: &Call<'_>, object: &Node) -> Result<(), Status> {
        let namespace = call.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let namespaces = self.0.catalog.kind("", "v1", "Namespace").ok_or_else(no_such_resource)?;
        let existing = self.0.store.get(&key("namespaces", "", namespace));
        let existing = existing.ok_or_else(|| not_found(namespaces, namespace))?;
        if !existing.meta.deleting {
            return Ok(());
        }
        let resource = call.served.resource();
        let name = meta(object, "name");
        let message = format!(
            "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
            resource.qualified_name()
        );
        let cause = StatusCause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let details = StatusDetails {
            name: name.to_owned(),
            group: resource.group.to_string(),
            kind: resource.plural.to_string(),
            causes: vec![cause],
            ..StatusDetails::default()
        };
        Err(Status::new(403, "Forbidden", message).with_details(details))
    }

    /// Records the field manager of a create.
    pub(super) fn track_create(&self, call: &Call<'_>, object: &mut Node, options: &WriteOptions) {
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.served.resource().api_version();
        let reset_fields = self.reset_fields(call, "");
        let field_manager = FieldManager {
            name: &manager,
            api_version: &version,
            subresource: "",
            now: &now,
            reset_fields: &reset_fields,
        };
        let schema = call.served.schema(self.0.catalog);
        apply::update_managed_fields(schema, &self.empty(call), object, &field_manager, true);
    }

    /// The object of a kind with no fields set. Comparing with it shows which fields a new object sets.
    pub(super) fn empty(&self, call: &Call<'_>) -> Node {
        let resource = call.served.resource();
        let (version, kind) = (resource.api_version(), resource.kind.to_string());
        let schema = call.served.schema(self.0.catalog);
        let built_in = BuiltIn::find(&version, &kind, schema).filter(|_| !call.served.is_custom());
        let mut empty = built_in.map_or_else(Node::empty_map, |built_in| built_in.empty());
        set(&mut empty, &["apiVersion"], version);
        set(&mut empty, &["kind"], kind);
        empty
    }

    /// The fields that a write to this subresource resets, and therefore does not own (`GetResetFields` in the
    /// registry's strategies).
    pub(super) fn reset_fields(&self, call: &Call<'_>, part: &str) -> FieldSet {
        let has_status = call.served.resource().subresource("status").is_some();
        match part {
            // The strategies of the real server differ here: the status of a Deployment also resets labels,
            // as `reset_all_but_status` does.
            "status" if call.served.is("apps", "Deployment") => {
                FieldSet::from_paths(&[&["spec"], &["metadata", "labels"]])
            }
            "status" if call.served.is_custom() => FieldSet::from_paths(&[&["spec"], &["metadata"]]),
            "status" => FieldSet::from_paths(&[&["spec"]]),
            "" if has_status => FieldSet::from_paths(&[&["status"]]),
            _ => FieldSet::from_paths(&[]),
        }
    }
}

fn already_exists(call: &Call<'_>, name: &str, existing: &Object) -> Status {
    let resource = call.served.resource();
    let details = StatusDetails {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..StatusDetails::default()
    };
    let deleting = if existing.meta.deleting { "object is being deleted: " } else { "" };
    let message = format!("{deleting}{} {name:?} already exists", resource.qualified_name());
    Status::new(409, "AlreadyExists", message).with_details(details)
}

//! Making objects: their namespace, their name, who made which fields.

use pintle_tree::Node;

use super::change::{broken, check_same_namespace};
use super::meta::{meta, set, unset};
use super::query::WriteOptions;
use super::reply::Reply;
use super::{Api, Call, no_such_resource, not_found};
use crate::admission;
use crate::apply::{self, FieldSet, Writer};
use crate::decoding::BuiltIn;
use crate::status::{Cause, Details, Status};
use crate::store::{Expect, Object, Refusal, key};

/// How often a name is made up anew when it is taken.
const NAMES: usize = 8;

impl Api {
    pub(super) async fn create(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let options = WriteOptions::read(call.query, "CreateOptions")?;
        let sent = self.read_body(call, options.validation)?;
        let made = self.make(call, sent, &options, false).await?;
        Ok(self.show(call, 201, made))
    }

    /// Makes an object that was sent, or applied, in which case it says already who owns what.
    pub(super) async fn make(
        &self,
        call: &Call<'_>,
        mut object: Node,
        options: &WriteOptions,
        applied: bool,
    ) -> Result<Node, Status> {
        self.put_in_namespace(call, &mut object)?;
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            unset(&mut object, &["metadata", field]);
        }
        if !applied {
            self.track_new(call, &mut object, options);
        }
        self.check_namespace(call, &object)?;
        let given = meta(&object, "resourceVersion").to_owned();
        unset(&mut object, &["metadata", "resourceVersion"]);
        let made_up = meta(&object, "name").is_empty() && !meta(&object, "generateName").is_empty();
        for tries in 1.. {
            let mut attempt = object.clone();
            if made_up {
                let name = self.make_up(meta(&object, "generateName"));
                set(&mut attempt, &["metadata", "name"], name);
            }
            self.prepare_new(call, &mut attempt)?;
            self.check_new(call, &attempt)?;
            if options.dry_run && !given.is_empty() {
                set(&mut attempt, &["metadata", "resourceVersion"], given.as_str());
            } else if !given.is_empty() && given != "0" {
                return Err(Status::new(
                    500,
                    "",
                    "resourceVersion should not be set on objects to be created",
                ));
            }
            self.check_limits(call, None, &attempt)?;
            self.check_security(call, None, &attempt)?;
            let _turn = self.check_quotas(call, &attempt).await?;
            match self.store_new(call, attempt, options.dry_run).await {
                Err(status) if made_up && status.reason == "AlreadyExists" && tries < NAMES => {}
                other => return other,
            }
        }
        Err(Status::new(500, "InternalError", "no name could be made up"))
    }

    pub(super) async fn store_new(
        &self,
        call: &Call<'_>,
        mut object: Node,
        dry_run: bool,
    ) -> Result<Node, Status> {
        admission::normalize_for_storage(call.known.kind(self.0.table), &mut object);
        let name = meta(&object, "name").to_owned();
        let key = key(&call.known.store_name(), call.namespace(), &name);
        if dry_run {
            return match self.0.store.get(&key) {
                Some(there) => Err(already_exists(call, &name, &there)),
                None => Ok(object),
            };
        }
        call.known.keep(&mut object, self.0.table);
        match self.0.store.put(key.clone(), Expect::Absent, object).await {
            Ok(stored) => {
                self.follow(&call.known, &stored, false).await?;
                let mut node = stored.node();
                call.known.show(&mut node);
                Ok(node)
            }
            Err(Refusal::Broken(why)) => Err(broken(&why)),
            Err(_) => match self.0.store.get(&key) {
                Some(there) => Err(already_exists(call, &name, &there)),
                None => Err(Status::new(500, "InternalError", "the object came and went")),
            },
        }
    }

    pub(super) fn make_up(&self, beginning: &str) -> String {
        const MOST: usize = 63 - 5;
        let beginning: String = beginning.chars().take(MOST).collect();
        format!("{beginning}{}", self.0.names.suffix())
    }

    /// The namespace of the address becomes that of the object, unless the object says another.
    pub(super) fn put_in_namespace(&self, call: &Call<'_>, object: &mut Node) -> Result<(), Status> {
        check_same_namespace(call, object)?;
        let wanted = call.namespace();
        if wanted.is_empty() {
            unset(object, &["metadata", "namespace"]);
        } else {
            set(object, &["metadata", "namespace"], wanted);
        }
        Ok(())
    }

    /// Nothing new comes into a namespace that is not there, or that is on its way out.
    pub(super) fn check_namespace(&self, call: &Call<'_>, object: &Node) -> Result<(), Status> {
        let namespace = call.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let namespaces = self.0.table.kind("", "v1", "Namespace").ok_or_else(no_such_resource)?;
        let there = self.0.store.get(&key("namespaces", "", namespace));
        let there = there.ok_or_else(|| not_found(namespaces, namespace))?;
        if !there.head.leaving {
            return Ok(());
        }
        let resource = call.known.resource();
        let name = meta(object, "name");
        let message = format!(
            "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
            resource.qualified()
        );
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let details = Details {
            name: name.to_owned(),
            group: resource.group.to_string(),
            kind: resource.plural.to_string(),
            causes: vec![cause],
            ..Details::default()
        };
        Err(Status::new(403, "Forbidden", message).about(details))
    }

    /// Notes who made which fields.
    pub(super) fn track_new(&self, call: &Call<'_>, object: &mut Node, options: &WriteOptions) {
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.known.resource().api_version();
        let reset = self.untouched(call, "");
        let writer =
            Writer { manager: &manager, api_version: &version, subresource: "", now: &now, reset: &reset };
        let schema = call.known.schema(self.0.table);
        apply::track(schema, &self.empty(call), object, &writer, true);
    }

    /// The empty object of a kind.
    pub(super) fn empty(&self, call: &Call<'_>) -> Node {
        let resource = call.known.resource();
        let (version, kind) = (resource.api_version(), resource.kind.to_string());
        let schema = call.known.schema(self.0.table);
        let built_in = BuiltIn::find(&version, &kind, schema).filter(|_| !call.known.is_custom());
        let mut empty = built_in.map_or_else(Node::empty_map, |built_in| built_in.empty());
        set(&mut empty, &["apiVersion"], version);
        set(&mut empty, &["kind"], kind);
        empty
    }

    /// The fields that a write at this address cannot change.
    pub(super) fn untouched(&self, call: &Call<'_>, part: &str) -> FieldSet {
        let has_status = call.known.resource().subresource("status").is_some();
        match part {
            "status" if call.known.is("apps", "Deployment") => {
                FieldSet::of(&[&["spec"], &["metadata", "labels"]])
            }
            "status" if call.known.is_custom() => FieldSet::of(&[&["spec"], &["metadata"]]),
            "status" => FieldSet::of(&[&["spec"]]),
            "" if has_status => FieldSet::of(&[&["status"]]),
            _ => FieldSet::of(&[]),
        }
    }
}

fn already_exists(call: &Call<'_>, name: &str, there: &Object) -> Status {
    let resource = call.known.resource();
    let details = Details {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..Details::default()
    };
    let deleting = if there.head.leaving { "object is being deleted: " } else { "" };
    let message = format!("{deleting}{} {name:?} already exists", resource.qualified());
    Status::new(409, "AlreadyExists", message).about(details)
}

//! What happens between decoding and storage: the strategies' `PrepareForCreate` and `PrepareForUpdate`, mutating
//! admission, and validation.

use pintle_tree::{Node, Str};

use super::meta::{
    at, copy_field, finalizers, is_deleted, list_at, map_at, meta, number_at, set, text_at, unset,
};
use super::{Api, Call, custom_resources};
use crate::admission::{self, AdmissionContext};
use crate::schema::Kind;
use crate::status::{Status, StatusCause};
use crate::store::key;
use crate::validation;

impl Api {
    /// Sets the system fields of a new object and runs mutating admission.
    pub(super) fn prepare_for_create(&self, call: &Call<'_>, object: &mut Node) -> Result<(), Status> {
        set(object, &["metadata", "uid"], self.0.names.uid());
        set(object, &["metadata", "creationTimestamp"], self.timestamp());
        if call.served.has_generation(self.0.catalog.minor()) {
            set(object, &["metadata", "generation"], Node::Int(1));
        }
        // Nodes register themselves with their status.
        if call.served.resource().subresource("status").is_some() && !call.served.is("", "Node") {
            self.reset_status(call, object);
        }
        if call.served.is("", "Namespace") {
            prepare_namespace(object);
        }
        if call.served.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            custom_resources::default_definition(object);
            let status = custom_resources::initial_status(object);
            set(object, &["status"], status);
        }
        // LimitRanger comes before the checks, which see the defaults that it sets.
        self.apply_limit_defaults(call, object);
        let kind = call.served.kind(self.0.catalog);
        admission::validate_references(kind, object, &mut ApiContext(self, call))?;
        admission::mutate_create(kind, object, &mut ApiContext(self, call));
        Ok(())
    }

    /// Status is only writable through its subresource.
    fn reset_status(&self, call: &Call<'_>, object: &mut Node) {
        let empty = if call.served.is_custom() { Node::Nil } else { self.empty(call) };
        copy_field(object, &empty, &["status"]);
    }

    /// Resets the fields that this subresource cannot change, runs mutating admission and increments the generation
    /// if the spec has changed.
    pub(super) fn prepare_for_update(
        &self,
        call: &Call<'_>,
        live: &Node,
        changed: &mut Node,
    ) -> Result<(), Status> {
        let has_status = call.served.resource().subresource("status").is_some();
        match call.target.subresource.as_deref() {
            Some("status") => reset_all_but_status(call, live, changed),
            None if has_status => copy_field(changed, live, &["status"]),
            _ => {}
        }
        if call.served.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            custom_resources::default_definition(changed);
        }
        let subresource = call.target.subresource.as_deref().unwrap_or_default();
        admission::mutate_update(
            call.served.kind(self.0.catalog),
            live,
            changed,
            subresource,
            &mut ApiContext(self, call),
        );
        // A binding sets `spec.nodeName` without a new generation, as in the real server.
        if subresource != "binding"
            && spec_changed(live, changed, call.served.is_custom(), has_status)
            && call.served.has_generation(self.0.catalog.minor())
        {
            let generation = number_at(live, &["metadata", "generation"]).unwrap_or(0) + 1;
            set(changed, &["metadata", "generation"], Node::Int(generation));
        }
        Ok(())
    }

    pub(super) fn validate_create(&self, call: &Call<'_>, object: &Node) -> Result<(), Status> {
        if call.served.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            reject_invalid(call, object, custom_resources::validate_definition(object))?;
        }
        let kind = call.served.kind(self.0.catalog);
        reject_invalid(call, object, validation::validate_create(kind, object))?;
        validation::warnings(kind, object).into_iter().for_each(|text| call.warn(text));
        let uses_external_ips =
            call.served.is("", "Service") && !list_at(object, &["spec", "externalIPs"]).is_empty();
        if uses_external_ips && self.0.catalog.version().as_bytes() >= b"1.36".as_slice() {
            let text = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
            call.warn(text.to_owned());
        }
        Ok(())
    }

    pub(super) fn validate_update(&self, call: &Call<'_>, live: &Node, changed: &Node) -> Result<(), Status> {
        // Binding sets `spec.nodeName`, which is immutable for all other writes.
        if call.target.subresource.as_deref() == Some("binding") {
            return Ok(());
        }
        let kind = call.served.kind(self.0.catalog);
        let mut causes = new_finalizers(live, changed, kind);
        causes.extend(validation::validate_update(kind, live, changed));
        reject_invalid(call, changed, causes)?;
        // Warnings about an unchanged spec were given when it was created.
        let spec_changed = ["spec", "template"].iter().any(|field| live.get(field) != changed.get(field));
        if (spec_changed || call.served.is("", "PodTemplate")) && call.target.subresource.is_none() {
            let mut warnings = validation::warnings(kind, changed);
            if call.served.is("apiextensions.k8s.io", "CustomResourceDefinition") {
                let before = validation::warnings(kind, live);
                warnings.retain(|text| !before.contains(text));
            }
            warnings.into_iter().for_each(|text| call.warn(text));
        }
        Ok(())
    }
}

/// The cluster state that admission reads, from the API.
struct ApiContext<'a>(&'a Api, &'a Call<'a>);

/// Cluster IPs are from 10.96.0.0/16, without network and broadcast address.
fn address(number: u64) -> String {
    // Leaves out the lowest addresses: 10.96.0.1 is the Service `kubernetes`.
    let number = number + 10;
    format!("10.96.{}.{}", number >> 8, number & 255)
}

impl AdmissionContext for ApiContext<'_> {
    fn suffix(&mut self) -> String {
        self.0.0.names.suffix()
    }

    fn cluster_ip(&mut self) -> String {
        let inner = &self.0.0;
        // The highest address, with the offset of `address`, must stay below the broadcast address.
        address(inner.service_allocator.allocate(&inner.store, 65_500, address))
    }

    fn node_port(&mut self) -> u16 {
        let inner = &self.0.0;
        let number =
            // The default of `--service-node-port-range` is 30000-32767.
            inner.service_allocator.allocate(&inner.store, 2_767, |number| (30_000 + number).to_string());
        u16::try_from(30_000 + number).unwrap_or(30_000)
    }

    fn default_storage_class(&mut self) -> Option<Str> {
        let mark = ["metadata", "annotations", "storageclass.kubernetes.io/is-default-class"];
        let classes =
            self.0.0.store.list("storageclasses.storage.k8s.io/", None, usize::MAX, None, &|_| true).ok()?;
        let nodes = classes.objects.iter().map(|object| object.node());
        let mut defaults = nodes.filter(|node| text_at(node, &mark) == "true");
        defaults.next().map(|node| Str::from(meta(&node, "name")))
    }

    fn priority(&mut self, class: &str) -> Option<(i64, Str)> {
        let class = self.0.0.store.get(&key("priorityclasses.scheduling.k8s.io", "", class))?.node();
        let policy = text_at(&class, &["preemptionPolicy"]);
        let policy = if policy.is_empty() { "PreemptLowerPriority" } else { policy };
        Some((number_at(&class, &["value"]).unwrap_or(0), policy.into()))
    }

    fn now(&mut self) -> Str {
        self.0.timestamp().into()
    }

    fn has_account(&mut self, namespace: &str, name: &str) -> bool {
        self.0.0.store.get(&key("serviceaccounts", namespace, name)).is_some()
    }

    fn warn(&mut self, text: String) {
        self.1.warn(text);
    }
}

fn reject_invalid(call: &Call<'_>, object: &Node, causes: Vec<StatusCause>) -> Result<(), Status> {
    if causes.is_empty() {
        return Ok(());
    }
    let resource = call.served.resource();
    let (group, kind) = (resource.group.to_str_lossy(), resource.kind.to_str_lossy());
    Err(Status::invalid(&group, &kind, meta(object, "name"), causes))
}

/// No finalizer can be added to an object that is being deleted.
fn new_finalizers(live: &Node, changed: &Node, kind: Kind<'_>) -> Vec<StatusCause> {
    if !is_deleted(live) {
        return Vec::new();
    }
    let new = finalizers(changed).iter().filter(|name| !finalizers(live).contains(name));
    let new: Vec<String> = new.filter_map(|name| name.as_str().map(|name| format!("{name:?}"))).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        new.join(", ")
    );
    let cause = StatusCause::forbidden("metadata.finalizers", &detail);
    // The real server validates this twice.
    let times = if kind.is_validated_declaratively() { 1 } else { 2 };
    if new.is_empty() { Vec::new() } else { vec![cause; times] }
}

fn prepare_namespace(object: &mut Node) {
    let finalizers =
        map_at(object, &["spec"]).entry_or_insert_with(&"finalizers".into(), || Node::List(Vec::new()));
    if let Node::List(list) = finalizers
        && !list.iter().any(|name| name.as_str() == Some("kubernetes"))
    {
        list.push("kubernetes".into());
    }
    set(object, &["status"], super::meta::map([("phase", "Active".into())]));
}

/// A status update changes nothing else, except annotations and finalizers of built-in kinds.
fn reset_all_but_status(call: &Call<'_>, live: &Node, changed: &mut Node) {
    let status = at(changed, &["status"]).cloned();
    let metadata = at(changed, &["metadata"]).cloned();
    let mut object = live.clone();
    match status {
        Some(status) => set(&mut object, &["status"], status),
        None => drop(unset(&mut object, &["status"])),
    }
    // `copy_field` copies between objects, so the metadata is put back into one.
    let metadata = metadata.map(|metadata| super::meta::map([("metadata", metadata)])).unwrap_or_default();
    copy_field(&mut object, &metadata, &["metadata", "managedFields"]);
    if !call.served.is_custom() {
        // The status strategy of Deployments restores the labels as well.
        let labels = if call.served.is("apps", "Deployment") { None } else { Some("labels") };
        for field in ["annotations", "finalizers", "ownerReferences"].into_iter().chain(labels) {
            copy_field(&mut object, &metadata, &["metadata", field]);
        }
    }
    *changed = object;
}

/// Whether anything has changed that increments the generation.
fn spec_changed(live: &Node, changed: &Node, custom: bool, has_status: bool) -> bool {
    if !custom && changed.get("spec").is_some() {
        // For Deployments annotations count as well, as the controller copies them to ReplicaSets.
        let annotations = |node: &Node| at(node, &["metadata", "annotations"]).cloned();
        let deployment = changed.get("kind").and_then(Node::as_str) == Some("Deployment");
        return live.get("spec") != changed.get("spec")
            || (deployment && annotations(live) != annotations(changed));
    }
    let (Some(live), Some(changed)) = (live.as_map(), changed.as_map()) else { return false };
    let counts = |key: &Str| *key != *"metadata" && !(has_status && *key == *"status");
    let rest = |map: &pintle_tree::Map<Node>| {
        map.iter()
            .filter(|(key, _)| counts(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    rest(live) != rest(changed)
}

//! What the server fills in: defaults that schemas tell, and those that only its code knows.

mod other;
mod pod;
mod service;
mod workload;

pub(crate) use pod::container_names;

use pintle_tree::{Map, Node, with_stack};

use crate::schema::{Resource, Schema, Type};

/// Fills in the defaults of an object of a built-in kind, of all that its code and its schema know.
pub(super) fn built_in(resource: &Resource, schema: Schema<'_>, object: &mut Node) {
    let Some(map) = object.as_map_mut() else { return };
    declared(schema, map, false);
    match (resource.group.as_str().unwrap_or_default(), resource.kind.as_str().unwrap_or_default()) {
        ("", "Pod") => pod::pod(map),
        ("", "PodTemplate") => pod::template(map, "template"),
        ("", "ReplicationController") => workload::replication_controller(map),
        ("", "Service") => service::service(map),
        ("apps", kind) => workload::apps(kind, map),
        ("batch", "Job") => workload::job(map),
        ("batch", "CronJob") => workload::cron_job(map),
        (group, kind) => other::other(group, kind, resource.version.as_str().unwrap_or_default(), map),
    }
}

/// Fills in the defaults of a custom resource.
pub(super) fn custom(schema: Schema<'_>, object: &mut Node) {
    if let Some(map) = object.as_map_mut() {
        declared(schema, map, true);
    }
}

/// Fills in what schemas declare. Those of built-in kinds also declare the zeros of Go, which are written already.
fn declared(schema: Schema<'_>, map: &mut Map<Node>, zeros: bool) {
    for (name, field) in schema.fields() {
        if let Some(default) = field.default().filter(|default| zeros || !is_zero(default)) {
            let absent = match map.get(name) {
                None => true,
                Some(value) => value.is_nil() && !(zeros && field.is_nullable()),
            };
            if absent {
                map.insert(name.clone(), default.clone());
            }
        }
        // Null is nothing where it may not be.
        if zeros && map.get(name).is_some_and(Node::is_nil) && !field.is_nullable() {
            map.remove(name);
        }
        if let Some(value) = map.get_mut(name) {
            with_stack(|| below(field, value, zeros));
        }
    }
    if let Some(additional) = schema.additional() {
        let others = map.iter_mut().filter(|(name, _)| schema.field(name).is_none());
        others.for_each(|(_, value)| with_stack(|| below(additional, value, zeros)));
    }
}

fn below(schema: Schema<'_>, value: &mut Node, zeros: bool) {
    match value {
        Node::Map(map) if matches!(schema.kind(), Type::Object | Type::Any) => declared(schema, map, zeros),
        Node::List(list) => {
            if let Some(items) = schema.items() {
                list.iter_mut().for_each(|item| below(items, item, zeros));
            }
        }
        _ => {}
    }
}

fn is_zero(default: &Node) -> bool {
    match default {
        Node::Nil => true,
        Node::Bool(value) => !value,
        Node::Int(value) => *value == 0,
        Node::Float(value) => *value == 0.0,
        Node::Str(text) => text.is_empty(),
        Node::List(list) => list.is_empty(),
        Node::Map(map) => map.is_empty(),
    }
}

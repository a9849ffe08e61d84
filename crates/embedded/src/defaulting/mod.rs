//! Defaulting: the defaults that schemas declare, and those of the server's `SetDefaults_*` functions, which no
//! schema has.

mod other;
mod pod;
mod service;
mod workload;

pub(crate) use pod::container_names;

use pintle_tree::{Map, Node, Str, with_stack};

use crate::schema::{Kind, Resource, Schema, Type};

/// Applies the defaults of a kind.
pub fn apply_defaults(kind: Kind<'_>, object: &mut Node) {
    let Some(schema) = kind.schema else { return };
    if kind.custom {
        custom(schema, object);
    } else {
        built_in(kind.resource, kind.minor, schema, object);
    }
}

fn built_in(resource: &Resource, minor: u16, schema: Schema<'_>, object: &mut Node) {
    let Some(map) = object.as_map_mut() else { return };
    declared(schema, map, false);
    match (resource.group.as_str().unwrap_or_default(), resource.kind.as_str().unwrap_or_default()) {
        ("", "Pod") => pod::pod(map),
        ("", "PodTemplate") => pod::template(map, "template"),
        ("", "ReplicationController") => workload::replication_controller(map),
        ("", "Service") => service::service(map),
        ("apps", kind) => workload::apps(kind, minor, map),
        ("batch", "Job") => workload::job(map),
        ("batch", "CronJob") => workload::cron_job(map),
        ("storage.k8s.io", kind) => other::storage(kind, minor, map),
        (group, kind) => other::other(group, kind, resource.version.as_str().unwrap_or_default(), map),
    }
}

fn custom(schema: Schema<'_>, object: &mut Node) {
    if let Some(map) = object.as_map_mut() {
        declared(schema, map, true);
    }
}

/// Applies the defaults of a schema. The schemas of built-in kinds also declare the zero values of Go, which decoding
/// has already written; `zeros` is false for these.
fn declared(schema: Schema<'_>, map: &mut Map<Node>, zeros: bool) {
    for (name, usage) in schema.shape().fields.iter() {
        if !map.contains_key(name) {
            // Most fields are absent and have no default, so the cheap test comes first.
            if let Some(default) = usage.default.as_ref().filter(|default| zeros || !is_zero(default)) {
                map.insert(name.clone(), default.clone());
            } else {
                continue;
            }
        }
        let Some(field) = schema.field(name) else { continue };
        drop_invalid_null(field, name, map, zeros);
        if let Some(value) = map.get_mut(name) {
            with_stack(|| below(field, value, zeros));
        }
    }
    // Values of maps with free keys are defaulted, too.
    if let Some(additional) = schema.additional() {
        let others = map.iter_mut().filter(|(name, _)| schema.field(name).is_none());
        others.for_each(|(_, value)| with_stack(|| below(additional, value, zeros)));
    }
}

/// A null in a field that is not nullable is dropped, and defaulted.
fn drop_invalid_null(field: Schema<'_>, name: &Str, map: &mut Map<Node>, zeros: bool) {
    if !map.get(name).is_some_and(Node::is_nil) || (zeros && field.is_nullable()) {
        return;
    }
    match field.default().filter(|default| zeros || !is_zero(default)) {
        Some(default) => drop(map.insert(name.clone(), default.clone())),
        // Built-in kinds keep the null: decoding has already decided how it is written.
        None if zeros => drop(map.remove(name)),
        None => {}
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

//! `meta.k8s.io/v1 Table`: server-side printing for `kubectl get`.

use pintle_tree::Node;

use super::custom_resources::Column;
use super::meta::{map, meta, set};
use super::served_kind::ServedKind;
use super::{Api, Call, print, read};
use crate::store::Listing;

pub(super) fn from_object(api: &Api, call: &Call<'_>, object: Node) -> Node {
    let metadata = match meta(&object, "resourceVersion") {
        "" => Node::empty_map(),
        revision => map([("resourceVersion", revision.into())]),
    };
    let include = call.query.get("includeObject");
    table(metadata, columns(api, &call.served), vec![row(api, &call.served, include, object)].into())
}

pub(super) fn from_list(api: &Api, call: &Call<'_>, listing: &Listing, metadata: Node) -> Node {
    let include = call.query.get("includeObject");
    let nodes = listing.objects.iter().map(|object| {
        let mut node = object.node();
        call.served.convert_from_storage(&mut node);
        node
    });
    let nodes: Vec<Node> = nodes.collect();
    let marks_default = call.served.is("storage.k8s.io", "StorageClass") && api.0.catalog.minor() >= 37;
    let default = if marks_default { print::default_storage_class(&nodes) } else { None };
    let rows = nodes.into_iter().enumerate().map(|(index, node)| {
        let mut row = row(api, &call.served, include, node);
        if default == Some(index)
            && let Some(Node::List(cells)) = row.as_map_mut().and_then(|row| row.get_mut("cells"))
            && let Some(Node::Str(name)) = cells.first_mut()
        {
            *name = format!("{name} (default)").into();
        }
        row
    });
    let rows: Vec<Node> = rows.collect();
    // The real server sends `rows: null` for an empty list of built-in kinds.
    let rows = if rows.is_empty() && !call.served.is_custom() { Node::Nil } else { rows.into() };
    table(metadata, columns(api, &call.served), rows)
}

/// The table of a watch event; only the first event of a watch has the column definitions.
pub(super) fn from_event(
    api: &Api,
    served: &ServedKind,
    include: &str,
    object: Node,
    with_columns: bool,
) -> Node {
    let metadata = map([("resourceVersion", meta(&object, "resourceVersion").into())]);
    let columns = if with_columns { columns(api, served) } else { Node::Nil };
    table(metadata, columns, vec![row(api, served, include, object)].into())
}

fn table(metadata: Node, columns: Node, rows: Node) -> Node {
    map([
        ("apiVersion", "meta.k8s.io/v1".into()),
        ("kind", "Table".into()),
        ("metadata", metadata),
        ("columnDefinitions", columns),
        ("rows", rows),
    ])
}

fn row(api: &Api, served: &ServedKind, include: &str, object: Node) -> Node {
    let now = api.0.clock.now();
    let cells = match served {
        ServedKind::BuiltIn(resource) => print::cells(resource, api.0.catalog.minor(), &object, now),
        ServedKind::Custom(kind) => {
            let mut cells = vec![Node::from(meta(&object, "name"))];
            cells.extend(
                custom_columns(&kind.columns).iter().map(|column| print::by_path(&object, column, now)),
            );
            cells
        }
    };
    let shown = match include {
        "None" => Node::Nil,
        "Object" => object.clone(),
        _ => read::metadata_only(object.clone()),
    };
    let mut row = map([("cells", cells.into()), ("object", shown)]);
    if let Some(condition) = finished(served, &object) {
        set(&mut row, &["conditions"], vec![condition]);
    }
    row
}

/// Rows of finished pods have the condition `Completed`, by which clients can hide them.
fn finished(served: &ServedKind, object: &Node) -> Option<Node> {
    let phase = super::meta::text_at(object, &["status", "phase"]);
    if !served.is("", "Pod") || !matches!(phase, "Succeeded" | "Failed") {
        return None;
    }
    let message =
        if phase == "Succeeded" { "The pod has completed successfully." } else { "The pod failed." };
    Some(map([
        ("type", "Completed".into()),
        ("status", "True".into()),
        ("reason", phase.into()),
        ("message", message.into()),
    ]))
}

/// The columns of a custom resource; `Age` if none are defined.
fn custom_columns(columns: &[Column]) -> Vec<Column> {
    if !columns.is_empty() {
        return columns.to_vec();
    }
    vec![Column {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        path: ".metadata.creationTimestamp".to_owned(),
    }]
}

fn columns(api: &Api, served: &ServedKind) -> Node {
    let catalog = api.0.catalog;
    match served {
        ServedKind::BuiltIn(resource) => Node::List(catalog.columns(resource).unwrap_or_default().to_vec()),
        ServedKind::Custom(kind) => {
            // The first column is the same for all kinds, and so is `Age`.
            let config_map =
                catalog.kind("", "v1", "ConfigMap").and_then(|resource| catalog.columns(resource));
            let common = config_map.unwrap_or_default();
            let mut columns: Vec<Node> = common.first().into_iter().cloned().collect();
            if kind.columns.is_empty() {
                columns.extend(common.last().cloned().map(|mut age| {
                    set(&mut age, &["type"], "date");
                    age
                }));
            }
            columns.extend(kind.columns.iter().map(column));
            Node::List(columns)
        }
    }
}

fn column(column: &Column) -> Node {
    let description = if column.description.is_empty() {
        format!("Custom resource definition column (in JSONPath format): {}", column.path)
    } else {
        column.description.clone()
    };
    map([
        ("name", column.name.as_str().into()),
        ("type", column.kind.as_str().into()),
        ("format", column.format.as_str().into()),
        ("description", description.into()),
        ("priority", Node::Int(column.priority)),
    ])
}

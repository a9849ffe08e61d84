//! OpenAPI documents, for `kubectl explain` and for clients that look up schemas before they patch.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node, Str, json};

use super::Api;
use super::custom_resources::{self, DEFINITIONS};
use super::meta::{at, map, set};
use super::reply::Reply;
use crate::schema::Resource;

const REFERENCE: &str = "#/components/schemas/";
/// Any built-in kind: all have the same `apiVersion`, `kind` and `metadata`.
const EXAMPLE: &str = "io.k8s.api.apps.v1.Deployment";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// The media types of OpenAPI v2 as protobuf, in requests and in responses.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const PROTOBUF_CONTENT_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(super) fn accepts_protobuf(headers: &http::HeaderMap) -> bool {
    headers.get(http::header::ACCEPT).and_then(|it| it.to_str().ok()).is_some_and(|it| it.contains(PROTOBUF))
}

impl Api {
    pub(super) fn openapi_v3_index(&self) -> Node {
        let mut paths = Map::new();
        for (group, version) in self.group_versions() {
            let path =
                if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            let address = format!("/openapi/v3/{path}?hash={:016X}", self.content_hash(&path));
            paths.insert(path.into(), map([("serverRelativeURL", address.into())]));
        }
        map([("paths", Node::Map(paths))])
    }

    fn group_versions(&self) -> BTreeSet<(Str, Str)> {
        let built_in = self.0.catalog.resources().iter().map(|it| (it.group.clone(), it.version.clone()));
        let custom_resources = self.custom_resources();
        let custom = custom_resources
            .served()
            .map(|kind| (kind.resource.group.clone(), kind.resource.version.clone()));
        built_in.chain(custom).collect()
    }

    /// Changes whenever the document may have changed: clients cache documents by this hash in the URL.
    fn content_hash(&self, path: &str) -> u64 {
        let definitions = self.0.store.list(DEFINITIONS, None, usize::MAX, None, &|_| true);
        let revision =
            definitions.map_or(0, |listing| listing.objects.iter().map(|it| it.revision).max().unwrap_or(0));
        let is_custom = self
            .custom_resources()
            .served()
            .any(|kind| path == format!("apis/{}", kind.resource.api_version()));
        // Built-in documents never change; those of custom resources may with any definition.
        let text = format!("{path} {} {}", self.0.catalog.version(), if is_custom { revision } else { 0 });
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// One document: `api/v1`, `apis/apps/v1` …
    pub(super) fn openapi_v3(&self, path: &str) -> Option<Node> {
        let words: Vec<&str> = path.split('/').collect();
        let (group, version) = match words[..] {
            ["api", version] => ("", version),
            ["apis", group, version] => (group, version),
            _ => return None,
        };
        let resources = self.resources_of(group, version);
        if resources.is_empty() {
            return None;
        }
        let mut schemas = Map::new();
        let mut wanted: Vec<Str> = ["DeleteOptions", "Status", "WatchEvent", "Patch", "ListMeta"]
            .iter()
            .map(|name| Str::from(format!("{META}{name}")))
            .collect();
        wanted.extend(resources.iter().map(|resource| resource.definition.clone()));
        wanted.push(Str::from(format!("{META}ObjectMeta")));
        let lists = resources.iter().filter(|resource| !resource.definition.is_empty());
        wanted.extend(lists.map(|resource| Str::from(format!("{}List", resource.definition))));
        self.add_definitions(wanted, &mut schemas);
        for resource in resources.iter().filter(|resource| resource.definition.is_empty()) {
            if let Some((name, schema)) = self.custom_schema(resource) {
                schemas.insert(name, schema);
            }
        }
        let mut paths = Map::new();
        resources.iter().for_each(|resource| add_paths(resource, &mut paths));
        Some(map([
            ("openapi", "3.0.0".into()),
            ("info", self.info()),
            ("paths", Node::Map(paths)),
            ("components", map([("schemas", Node::Map(schemas))])),
        ]))
    }

    fn info(&self) -> Node {
        map([("title", "Kubernetes".into()), ("version", format!("v{}", self.0.catalog.version()).into())])
    }

    /// Adds definitions and everything they refer to.
    fn add_definitions(&self, mut wanted: Vec<Str>, schemas: &mut Map<Node>) {
        while let Some(name) = wanted.pop() {
            if schemas.contains_key(&name) {
                continue;
            }
            // References to types without a definition are left as they are.
            let Some(mut schema) = self.0.catalog.definitions().source(&name) else { continue };
            let mut descriptions = self.0.catalog.descriptions(&name).unwrap_or_default().iter();
            describe(&mut schema, &mut descriptions);
            references(&schema, &mut wanted);
            schemas.insert(name, schema);
        }
    }

    /// The schema of a custom resource and its definition name.
    fn custom_schema(&self, resource: &Resource) -> Option<(Str, Node)> {
        // Two slashes with the one of the prefix: cluster-scoped objects have an empty namespace in their key.
        let key = Str::from(format!("{DEFINITIONS}/{}", resource.qualified_name()));
        let definition = self.0.store.get(&key)?.node();
        let mut schema = custom_resources::schema_of(&definition, &resource.version.to_str_lossy())?;
        // The fields that all objects have are described as for built-in kinds.
        let mut built_in = Map::new();
        self.add_definitions(vec![Str::from(EXAMPLE)], &mut built_in);
        for field in ["apiVersion", "kind", "metadata"] {
            let shared = built_in.get(EXAMPLE).and_then(|it| at(it, &["properties", field]).cloned());
            set(&mut schema, &["properties", field], shared.unwrap_or_default());
        }
        set(&mut schema, &["x-kubernetes-group-version-kind"], vec![kind_of(resource)]);
        Some((custom_name(resource), schema))
    }

    /// OpenAPI v2 as protobuf. `kubectl` asks for it when it meets a kind that v3 does not describe. Such a kind
    /// would not be in v2 either, so a document without definitions is enough.
    pub(super) fn openapi_v2_protobuf(&self) -> Reply {
        let field = |number: u8, text: &str| {
            // Lengths below 128 take one byte.
            let length = u8::try_from(text.len()).unwrap_or(0).min(0x7f);
            format!("{}{}{text}", char::from(number << 3 | 2), char::from(length))
        };
        let info = field(1, "Kubernetes") + &field(2, &format!("v{}", self.0.catalog.version()));
        Reply::text(200, field(1, "2.0") + &field(2, &info), PROTOBUF_CONTENT_TYPE)
    }

    pub(super) fn openapi_v2(&self) -> Reply {
        let mut schemas = Map::new();
        let names: Vec<Str> = self.0.catalog.definitions().names().cloned().collect();
        self.add_definitions(names, &mut schemas);
        for kind in self.custom_resources().served() {
            if let Some((name, schema)) = self.custom_schema(&kind.resource) {
                schemas.insert(name, schema);
            }
        }
        let document = map([
            ("swagger", "2.0".into()),
            ("info", self.info()),
            // Clients read only the definitions of v2.
            ("paths", Node::empty_map()),
            ("definitions", Node::Map(schemas)),
        ]);
        let text = String::from_utf8(json::write_raw(&document).unwrap_or_default()).unwrap_or_default();
        // The definitions are stored with references of v3.
        // On the text, as references can be anywhere in a schema.
        Reply::text(200, text.replace(REFERENCE, "#/definitions/"), "application/json")
    }
}

/// `custom.example.com` and `Gadget` of `v1` are `com.example.custom.v1.Gadget`.
fn custom_name(resource: &Resource) -> Str {
    let group = resource.group.to_str_lossy();
    let parts: Vec<&str> = group.split('.').rev().collect();
    Str::from(format!("{}.{}.{}", parts.join("."), resource.version, resource.kind))
}

/// Puts descriptions back into a schema; they are stored apart, in the order of a walk through it.
fn describe<'d>(schema: &mut Node, descriptions: &mut impl Iterator<Item = &'d Node>) {
    let Node::Map(map) = schema else { return };
    if let Some(text @ Node::Str(_)) = descriptions.next() {
        map.insert("description".into(), text.clone());
    }
    if let Some(Node::Map(properties)) = map.get_mut("properties") {
        properties.iter_mut().for_each(|(_, property)| describe(property, descriptions));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child @ Node::Map(_)) = map.get_mut(key) {
            describe(child, descriptions);
        }
    }
}

fn references(schema: &Node, found: &mut Vec<Str>) {
    match schema {
        Node::Map(map) => {
            for (key, value) in map.iter() {
                match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)).filter(|_| *key == *"$ref")
                {
                    Some(name) => found.push(Str::from(name)),
                    None => references(value, found),
                }
            }
        }
        Node::List(list) => list.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn kind_of(resource: &Resource) -> Node {
    map([
        ("group", resource.group.clone().into()),
        ("version", resource.version.clone().into()),
        ("kind", resource.kind.clone().into()),
    ])
}

/// The paths of a resource, with what clients read from them: the kind, and the supported query options.
fn add_paths(resource: &Resource, paths: &mut Map<Node>) {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let namespace = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let list = format!("{root}/{}{namespace}/{}", resource.api_version(), resource.plural);
    let mut collection = Map::new();
    let mut object = Map::new();
    let verbs = [
        ("list", "get", true),
        ("create", "post", true),
        ("deletecollection", "delete", true),
        ("get", "get", false),
        ("update", "put", false),
        ("patch", "patch", false),
        ("delete", "delete", false),
    ];
    for (verb, method, on_collection) in verbs.into_iter().filter(|(verb, _, _)| resource.can(verb)) {
        let operations = if on_collection { &mut collection } else { &mut object };
        operations.insert(method.into(), operation(resource, verb));
    }
    if !object.is_empty() {
        paths.insert(format!("{list}/{{name}}").into(), Node::Map(object));
    }
    if !collection.is_empty() {
        paths.insert(list.into(), Node::Map(collection));
    }
}

fn operation(resource: &Resource, verb: &str) -> Node {
    let action = match verb {
        "create" => "post",
        "update" => "put",
        other => other,
    };
    let options: &[&str] = match verb {
        "create" | "update" => &["dryRun", "fieldManager", "fieldValidation"],
        "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
        "delete" => &["dryRun", "gracePeriodSeconds", "propagationPolicy"],
        "list" => &["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"],
        _ => &[],
    };
    let parameter = |name: &&str| {
        map([
            ("name", (*name).into()),
            ("in", "query".into()),
            ("schema", map([("type", "string".into()), ("uniqueItems", true.into())])),
        ])
    };
    let parameters: Vec<Node> = options.iter().map(parameter).collect();
    let mut operation = map([
        ("parameters", parameters.into()),
        ("responses", map([("200", map([("description", "OK".into())]))])),
        ("x-kubernetes-action", action.into()),
        ("x-kubernetes-group-version-kind", kind_of(resource)),
    ]);
    if !resource.definition.is_empty() || !resource.group.is_empty() {
        let name =
            if resource.definition.is_empty() { custom_name(resource) } else { resource.definition.clone() };
        let schema = map([("$ref", format!("{REFERENCE}{name}").into())]);
        let content = map([("application/json", map([("schema", schema)]))]);
        set(&mut operation, &["responses", "200", "content"], content);
    }
    operation
}

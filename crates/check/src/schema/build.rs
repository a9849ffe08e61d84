//! JSON schemas from OpenAPI definitions, in the form of `kubernetes-json-schema`: optional fields may be null, and strict
//! schemas allow only declared fields.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Map, Node, Str, with_stack};

use super::custom::CustomKind;
use super::{Catalog, Gvk};

/// A document with the schemas of some kinds as definitions.
pub(super) struct SchemaSet {
    pub(super) document: Map<Node>,
    /// The definition of each kind.
    pub(super) kinds: BTreeMap<Gvk, String>,
}

/// The suffix of definitions that may be null.
const NULLABLE: &str = ".nullable";

/// The definition of `metadata`.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Builds the schemas of all kinds that the catalog or the chart defines.
pub(super) fn schemas(
    catalog: &dyn Catalog,
    kinds: &BTreeSet<Gvk>,
    custom: &BTreeMap<Gvk, CustomKind>,
    strict: bool,
) -> SchemaSet {
    let mut builder = Builder { catalog, strict, definitions: BTreeMap::new(), waiting: Vec::new() };
    let mut entries = BTreeMap::new();
    for kind in kinds {
        let name = if let Some(custom) = custom.get(kind) {
            let name = format!("custom.{}.{}.{}", kind.group, kind.version, kind.kind);
            let schema = builder.custom(custom);
            builder.definitions.insert(name.clone(), schema);
            name
        } else if let Some(name) = catalog.definition_of(kind) {
            builder.refer(&name, false);
            name
        } else {
            continue;
        };
        entries.insert(kind.clone(), name);
    }
    builder.finish();
    let definitions = builder.definitions.into_iter().map(|(name, schema)| (Str::from(name), schema));
    let definitions = Node::Map(definitions.collect());
    SchemaSet { document: Map::from_entries(vec![("definitions".into(), definitions)]), kinds: entries }
}

/// The JSON schema of one built-in kind as a document of its own, for other validators.
pub fn json_schema(catalog: &dyn Catalog, kind: &Gvk, strict: bool) -> Option<Node> {
    let kinds = BTreeSet::from([kind.clone()]);
    let SchemaSet { mut document, kinds } = schemas(catalog, &kinds, &BTreeMap::new(), strict);
    let definition = kinds.get(kind)?;
    let reference = Node::from(format!("#/definitions/{definition}"));
    document.insert("allOf".into(), Node::List(vec![map([("$ref", reference)])]));
    Some(Node::Map(document))
}

struct Builder<'c> {
    catalog: &'c dyn Catalog,
    strict: bool,
    definitions: BTreeMap<String, Node>,
    /// Definitions that are referred to and not built yet.
    waiting: Vec<(String, bool)>,
}

/// How a schema is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Built-in kinds: fields that are not required may be null.
    BuiltIn,
    /// CRDs: only fields with `nullable` may be null.
    Structural,
}

impl Builder<'_> {
    fn finish(&mut self) {
        while let Some((name, nullable)) = self.waiting.pop() {
            let key = definition_key(&name, nullable);
            if self.definitions.contains_key(&key) {
                continue;
            }
            // A definition that is missing accepts anything.
            let source = self.catalog.definition(&name).unwrap_or_default();
            self.definitions.insert(key.clone(), Node::empty_map());
            let schema = self.convert(&source, Dialect::BuiltIn, nullable);
            self.definitions.insert(key, schema);
        }
    }

    fn refer(&mut self, name: &str, nullable: bool) -> Node {
        self.waiting.push((name.to_owned(), nullable));
        map([("$ref", Node::from(format!("#/definitions/{}", definition_key(name, nullable))))])
    }

    /// The schema of a custom resource. Its metadata are those of all objects.
    fn custom(&mut self, kind: &CustomKind) -> Node {
        let mut schema = self.convert(&kind.schema, Dialect::Structural, false);
        let metadata = self.refer(OBJECT_META, true);
        if let Some(map) = schema.as_map_mut() {
            let properties = map.entry_or_insert_with(&"properties".into(), Node::empty_map);
            if let Some(properties) = properties.as_map_mut() {
                properties.insert("metadata".into(), metadata);
                for field in ["apiVersion", "kind"] {
                    properties.insert(field.into(), map_of_type("string"));
                }
            }
        }
        schema
    }

    fn convert(&mut self, schema: &Node, dialect: Dialect, nullable: bool) -> Node {
        let Some(source) = schema.as_map() else { return Node::empty_map() };
        let nullable = nullable || source.get("nullable").and_then(Node::as_bool) == Some(true);
        if let Some(name) = reference(source) {
            return self.refer(&name, nullable);
        }
        with_stack(|| Node::Map(self.keywords(source, dialect, nullable)))
    }

    fn keywords(&mut self, source: &Map<Node>, dialect: Dialect, nullable: bool) -> Map<Node> {
        let mut schema = Map::new();
        let flag = |key: &str| source.get(key).and_then(Node::as_bool) == Some(true);
        for (key, value) in source.iter() {
            let Some(word) = key.as_str() else { continue };
            let converted = match word {
                "type" => types(value, nullable),
                "enum" if nullable => with_null(value),
                "format" | "enum" | "pattern" | "minimum" | "maximum" | "exclusiveMinimum"
                | "exclusiveMaximum" | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems"
                | "uniqueItems" | "minProperties" | "maxProperties" => value.clone(),
                "required" if value.as_list().is_some_and(|list| !list.is_empty()) => value.clone(),
                "properties" => self.properties(source, value, dialect),
                "additionalProperties" if value.as_bool().is_some() => value.clone(),
                "additionalProperties" => self.convert(value, dialect, dialect == Dialect::BuiltIn),
                "items" | "not" => self.convert(value, dialect, false),
                "oneOf" | "anyOf" | "allOf" => self.alternatives(word, value, dialect, nullable),
                _ => continue,
            };
            schema.insert(key.clone(), converted);
        }
        if flag("x-kubernetes-int-or-string")
            && !schema.contains_key("anyOf")
            && !schema.contains_key("oneOf")
        {
            let types = ["integer", "string"].map(map_of_type).to_vec();
            schema.insert("anyOf".into(), Node::List(types));
            schema.remove("type");
        }
        let is_open =
            flag("x-kubernetes-preserve-unknown-fields") || schema.contains_key("additionalProperties");
        if self.strict && schema.contains_key("properties") && !is_open {
            schema.insert("additionalProperties".into(), Node::Bool(false));
        }
        schema
    }

    fn properties(&mut self, parent: &Map<Node>, properties: &Node, dialect: Dialect) -> Node {
        let required = parent.get("required").and_then(Node::as_list).unwrap_or_default();
        let properties = properties.as_map().into_iter().flat_map(Map::iter);
        let converted = properties.map(|(name, schema)| {
            let is_required = required.iter().any(|it| it.as_text() == Some(name));
            let nullable = dialect == Dialect::BuiltIn && !is_required;
            (name.clone(), self.convert(schema, dialect, nullable))
        });
        Node::Map(converted.collect())
    }

    /// Alternatives of a CRD only restrict what the schema beside them declares, so they are never strict.
    fn alternatives(&mut self, word: &str, list: &Node, dialect: Dialect, nullable: bool) -> Node {
        let strict = std::mem::replace(&mut self.strict, false);
        let list = list.as_list().unwrap_or_default();
        let mut list: Vec<Node> = list.iter().map(|schema| self.convert(schema, dialect, false)).collect();
        self.strict = strict;
        if nullable && word != "allOf" {
            list.push(map_of_type("null"));
        }
        Node::List(list)
    }
}

fn definition_key(name: &str, nullable: bool) -> String {
    format!("{name}{}", if nullable { NULLABLE } else { "" })
}

/// The definition that a schema refers to, directly or as the only member of `allOf`.
fn reference(schema: &Map<Node>) -> Option<String> {
    let direct = |schema: &Map<Node>| {
        let target = schema.get("$ref")?.as_str()?;
        target.rsplit('/').next().map(str::to_owned)
    };
    direct(schema).or_else(|| match schema.get("allOf")?.as_list()? {
        [only] => direct(only.as_map()?),
        _ => None,
    })
}

fn types(declared: &Node, nullable: bool) -> Node {
    if nullable { Node::List(vec![declared.clone(), Node::from("null")]) } else { declared.clone() }
}

fn with_null(choices: &Node) -> Node {
    let mut choices = choices.as_list().unwrap_or_default().to_vec();
    if !choices.contains(&Node::Nil) {
        choices.push(Node::Nil);
    }
    Node::List(choices)
}

fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (Str::from(key), value)).collect())
}

fn map_of_type(name: &str) -> Node {
    map([("type", Node::from(name))])
}

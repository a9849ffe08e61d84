//! A node of an OpenAPI or structural schema.

use pintle_tree::{Map, Node, Str, with_stack};

/// The limit of nesting. The real server limits only the size of a definition, which allows far deeper nesting.
const MAX_DEPTH: usize = 256;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Anything.
    Any,
    /// A boolean.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Text.
    String,
    /// An integer or a string (`x-kubernetes-int-or-string`).
    IntOrString,
    /// A resource quantity such as `100m`.
    Quantity,
    /// A list.
    List,
    /// A map: with declared fields, with values of one type, or free-form.
    Object,
}

/// How list elements are identified (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// They are not: the list is one value.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By these key fields (`x-kubernetes-list-map-keys`).
    Map(Vec<Str>),
}

/// The strategy of strategic merge patches (`x-kubernetes-patch-strategy`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists are merged by `merge_key`, or by value without one.
    pub merge: bool,
    /// The whole value is replaced.
    pub replace: bool,
    /// `$retainKeys` is supported.
    pub retain_keys: bool,
    /// The key field of list elements.
    pub merge_key: Option<Str>,
}

/// `additionalProperties`.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Not allowed.
    #[default]
    None,
    /// Allowed, of any type.
    Any,
    /// Allowed, with this schema.
    Shape(Box<Shape>),
}

/// A validation rule in CEL. Rules are kept and not evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The CEL expression.
    pub rule: Str,
    /// The whole entry of `x-kubernetes-validations`.
    pub entry: Node,
}

/// Value validations, which only custom resources have.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`.
    pub min_length: Option<u64>,
    /// `maxLength`.
    pub max_length: Option<u64>,
    /// `pattern`.
    pub pattern: Option<Str>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `allOf`.
    pub all_of: Vec<Shape>,
    /// `anyOf`.
    pub any_of: Vec<Shape>,
    /// `oneOf`.
    pub one_of: Vec<Shape>,
    /// `not`.
    pub not: Option<Box<Shape>>,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

/// A node of a schema: of a definition or a property.
#[derive(Clone, Debug)]
pub struct Shape {
    /// `$ref`; the other fields then override those of the definition.
    pub reference: Option<Str>,
    /// `type`.
    pub kind: Type,
    /// Whether `type` is set.
    pub typed: bool,
    /// `int32`, `date-time`, `byte` …
    pub format: Option<Str>,
    /// `nullable`.
    pub nullable: bool,
    /// `default`.
    pub default: Option<Node>,
    /// `enum`; empty if any value is allowed.
    pub one_of_values: Vec<Node>,
    /// `required`.
    pub required: Vec<Str>,
    /// `properties`.
    pub fields: Map<Shape>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `items`.
    pub items: Option<Box<Shape>>,
    /// How list elements are identified.
    pub list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// The strategy of strategic merge patches.
    pub patch: Option<PatchStrategy>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// Whether an object without declared fields allows none: custom resources, and built-in types without fields.
    pub closed: bool,
    /// `x-kubernetes-embedded-resource`: an object with `apiVersion`, `kind` and `metadata`.
    pub embedded: bool,
    /// Value validations.
    pub limits: Option<Box<Limits>>,
}

/// Why a schema cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A schema must be a map.
    #[error("a schema is a map, not {0}")]
    NotAMap(&'static str),
    /// The nesting exceeds the limit.
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Shape {
    /// Parses a schema as in OpenAPI v3 and in CustomResourceDefinitions.
    ///
    /// # Errors
    ///
    /// If it is not a map, or nests too deep.
    pub fn parse(schema: &Node) -> Result<Shape, ShapeError> {
        Shape::parse_at(schema, 0)
    }

    fn parse_at(schema: &Node, depth: usize) -> Result<Shape, ShapeError> {
        if depth > MAX_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        let map = schema.as_map().ok_or_else(|| ShapeError::NotAMap(schema.json_type()))?;
        with_stack(|| Shape::from_map(map, depth))
    }

    fn from_map(map: &Map<Node>, depth: usize) -> Result<Shape, ShapeError> {
        let child = |key: &str| map.get(key).map(|schema| Shape::parse_at(schema, depth + 1)).transpose();
        let mut fields = Map::new();
        for (name, schema) in map.get("properties").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
            fields.insert(name.clone(), Shape::parse_at(schema, depth + 1)?);
        }
        let additional = match map.get("additionalProperties") {
            Some(Node::Bool(true)) => Additional::Any,
            Some(schema @ Node::Map(_)) => Additional::Shape(Box::new(Shape::parse_at(schema, depth + 1)?)),
            _ => Additional::None,
        };
        Ok(Shape {
            reference: reference(map),
            kind: kind(map),
            typed: map.contains_key("type"),
            format: text(map, "format"),
            nullable: flag(map, "nullable"),
            default: map.get("default").cloned(),
            one_of_values: map.get("enum").and_then(Node::as_list).unwrap_or_default().to_vec(),
            required: texts(map, "required"),
            fields,
            additional,
            items: child("items")?.map(Box::new),
            list: list_type(map),
            atomic_map: text(map, "x-kubernetes-map-type").is_some_and(|word| word == "atomic"),
            patch: patch_strategy(map),
            preserve_unknown: flag(map, "x-kubernetes-preserve-unknown-fields"),
            closed: flag(map, "x-pintle-closed"),
            embedded: flag(map, "x-kubernetes-embedded-resource"),
            limits: limits(map, depth)?.map(Box::new),
        })
    }
}

fn text(map: &Map<Node>, key: &str) -> Option<Str> {
    map.get(key).and_then(Node::as_text).cloned()
}

fn texts(map: &Map<Node>, key: &str) -> Vec<Str> {
    let list = map.get(key).and_then(Node::as_list).unwrap_or_default();
    list.iter().filter_map(|item| item.as_text().cloned()).collect()
}

fn flag(map: &Map<Node>, key: &str) -> bool {
    map.get(key).and_then(Node::as_bool).unwrap_or(false)
}

/// A property that is a reference is written as `allOf` with one element, so that it can have a default.
fn reference(map: &Map<Node>) -> Option<Str> {
    let name = |map: &Map<Node>| {
        let target = text(map, "$ref")?;
        let name = target.as_str()?.rsplit('/').next()?;
        Some(Str::from(name))
    };
    let only = |node: &Node| match node.as_list() {
        Some([only]) => only.as_map().and_then(name),
        _ => None,
    };
    name(map).or_else(|| map.get("allOf").and_then(only))
}

fn kind(map: &Map<Node>) -> Type {
    let declared = text(map, "type");
    if flag(map, "x-kubernetes-int-or-string")
        || text(map, "format").is_some_and(|word| word == "int-or-string")
    {
        return Type::IntOrString;
    }
    match declared.as_ref().and_then(Str::as_str) {
        Some("boolean") => Type::Boolean,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("string") => Type::String,
        Some("array") => Type::List,
        Some("object") => Type::Object,
        // Last: a schema with a `type` is what it says, whatever its alternatives.
        _ if is_quantity(map) => Type::Quantity,
        _ => Type::Any,
    }
}

/// Quantities have no type of their own in OpenAPI; the server describes them as a string or a number.
fn is_quantity(map: &Map<Node>) -> bool {
    let types = map.get("oneOf").and_then(Node::as_list).unwrap_or_default().iter();
    let types: Vec<&str> = types.filter_map(|node| node.get("type").and_then(Node::as_str)).collect();
    types == ["string", "number"]
}

fn list_type(map: &Map<Node>) -> ListType {
    match text(map, "x-kubernetes-list-type").as_ref().and_then(Str::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(texts(map, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

fn patch_strategy(map: &Map<Node>) -> Option<PatchStrategy> {
    let words = text(map, "x-kubernetes-patch-strategy")?;
    let words: Vec<&str> = words.as_str()?.split(',').collect();
    Some(PatchStrategy {
        merge: words.contains(&"merge"),
        replace: words.contains(&"replace"),
        retain_keys: words.contains(&"retainKeys"),
        merge_key: text(map, "x-kubernetes-patch-merge-key"),
    })
}

fn limits(map: &Map<Node>, depth: usize) -> Result<Option<Limits>, ShapeError> {
    let shapes = |key: &str| -> Result<Vec<Shape>, ShapeError> {
        let list = map.get(key).and_then(Node::as_list).unwrap_or_default();
        list.iter()
            // An `allOf` with one reference is a reference and not a validation, see `reference`.
            .filter(|item| item.get("$ref").is_none())
            .map(|item| Shape::parse_at(item, depth + 1))
            .collect()
    };
    let rules = map.get("x-kubernetes-validations").and_then(Node::as_list).unwrap_or_default();
    const KEYWORDS: [&str; 17] = [
        "minimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ];
    if rules.is_empty() && !KEYWORDS.iter().any(|word| map.contains_key(word)) {
        return Ok(None);
    }
    let built_in = is_quantity(map) || text(map, "format").is_some_and(|word| word == "int-or-string");
    let whole = |key: &str| number(map, key).map(|value| value.max(0.0) as u64);
    Ok(Some(Limits {
        minimum: number(map, "minimum"),
        maximum: number(map, "maximum"),
        exclusive_minimum: flag(map, "exclusiveMinimum"),
        exclusive_maximum: flag(map, "exclusiveMaximum"),
        multiple_of: number(map, "multipleOf"),
        min_length: whole("minLength"),
        max_length: whole("maxLength"),
        pattern: text(map, "pattern"),
        min_items: whole("minItems"),
        max_items: whole("maxItems"),
        unique_items: flag(map, "uniqueItems"),
        min_properties: whole("minProperties"),
        max_properties: whole("maxProperties"),
        all_of: shapes("allOf")?,
        any_of: shapes("anyOf")?,
        // The `oneOf` of these only describes their types; their decoders accept both.
        one_of: if built_in { Vec::new() } else { shapes("oneOf")? },
        not: map.get("not").map(|schema| Shape::parse_at(schema, depth + 1)).transpose()?.map(Box::new),
        rules: rules.iter().filter_map(rule).collect(),
    }))
}

fn rule(entry: &Node) -> Option<Rule> {
    Some(Rule { rule: entry.get("rule")?.as_text()?.clone(), entry: entry.clone() })
}

fn number(map: &Map<Node>, key: &str) -> Option<f64> {
    match map.get(key)? {
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;

    fn shape(text: &str) -> Shape {
        Shape::parse(&json::read_exact(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_reference_keeps_its_default_and_its_patch_strategy() {
        let shape = shape(
            r##"{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],"default":{},
               "x-kubernetes-patch-strategy":"retainKeys"}"##,
        );
        assert_eq!(shape.reference.as_ref().unwrap(), "io.k8s.api.apps.v1.DeploymentStrategy");
        assert_eq!(shape.default, Some(Node::empty_map()));
        assert!(shape.patch.unwrap().retain_keys);
    }

    #[test]
    fn list_types_and_keys_are_parsed() {
        let ports = shape(
            r#"{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map",
               "x-kubernetes-list-map-keys":["port","protocol"]}"#,
        );
        assert_eq!(ports.list, ListType::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(shape(r#"{"type":"array"}"#).list, ListType::Atomic);
    }

    #[test]
    fn quantities_and_int_or_string_have_types_of_their_own() {
        assert_eq!(shape(r#"{"oneOf":[{"type":"string"},{"type":"number"}]}"#).kind, Type::Quantity);
        let port = shape(r#"{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}"#);
        assert_eq!((port.kind, port.limits.unwrap().one_of.len()), (Type::IntOrString, 0));
        assert_eq!(shape(r#"{"x-kubernetes-int-or-string":true}"#).kind, Type::IntOrString);
    }

    #[test]
    fn a_schema_that_nests_too_deep_is_rejected() {
        let text = format!("{}{{}}{}", r#"{"items":"#.repeat(3_000), "}".repeat(3_000));
        assert_eq!(
            Shape::parse(&json::read_exact(text.as_bytes()).unwrap()).unwrap_err(),
            ShapeError::TooDeep
        );
    }
}

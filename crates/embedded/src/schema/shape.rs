//! The shape of one place in an object, read from OpenAPI: what a definition or a property says about itself.

use pintle_tree::{Map, Node, Str, with_stack};

/// Schemas that nest deeper are refused: the real server's own limit on their size ends far above this.
const MAX_DEPTH: usize = 256;

/// What a place may hold.
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
    /// A whole number or text.
    IntOrString,
    /// Text or a number that means an amount, such as `100m`.
    Quantity,
    /// A list.
    List,
    /// A map, with known fields, with fields of one type, or free.
    Object,
}

/// How the elements of a list are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// They are not: the list is one value.
    #[default]
    Atomic,
    /// By their values.
    Set,
    /// By these of their fields.
    Map(Vec<Str>),
}

/// How strategic merge patches treat a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists are merged by `merge_key`, or by values if there is none.
    pub merge: bool,
    /// The whole is replaced.
    pub replace: bool,
    /// `$retainKeys` is understood.
    pub retain_keys: bool,
    /// The field that tells elements apart.
    pub merge_key: Option<Str>,
}

/// What fields of a map that are not named in `fields` may hold.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// There may be none.
    #[default]
    None,
    /// Whatever they like.
    Any,
    /// This.
    Shape(Box<Shape>),
}

/// A rule in the Common Expression Language.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The expression.
    pub rule: Str,
    /// The whole entry of `x-kubernetes-validations`, for its message, reason and path.
    pub entry: Node,
}

/// Limits on values, which only custom resources have.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The least number.
    pub minimum: Option<f64>,
    /// The greatest number.
    pub maximum: Option<f64>,
    /// Whether the least number itself is too small.
    pub exclusive_minimum: bool,
    /// Whether the greatest number itself is too great.
    pub exclusive_maximum: bool,
    /// What numbers are multiples of.
    pub multiple_of: Option<f64>,
    /// The least length of text.
    pub min_length: Option<u64>,
    /// The greatest length of text.
    pub max_length: Option<u64>,
    /// The regular expression that text matches.
    pub pattern: Option<Str>,
    /// The least number of elements.
    pub min_items: Option<u64>,
    /// The greatest number of elements.
    pub max_items: Option<u64>,
    /// Whether no two elements are equal.
    pub unique_items: bool,
    /// The least number of fields.
    pub min_properties: Option<u64>,
    /// The greatest number of fields.
    pub max_properties: Option<u64>,
    /// All of these must hold.
    pub all_of: Vec<Shape>,
    /// At least one of these must hold.
    pub any_of: Vec<Shape>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Shape>,
    /// This must not hold.
    pub not: Option<Box<Shape>>,
    /// Rules in the Common Expression Language.
    pub rules: Vec<Rule>,
}

/// What a definition or a property says about itself.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The definition that this place is of; the rest of the shape then says what is special here.
    pub reference: Option<Str>,
    /// What it may hold.
    pub kind: Type,
    /// Whether `type` was said at all.
    pub typed: bool,
    /// `int32`, `date-time`, `byte` …
    pub format: Option<Str>,
    /// Whether null is a value.
    pub nullable: bool,
    /// What is set where nothing is.
    pub default: Option<Node>,
    /// The only values there may be, if not empty.
    pub one_of_values: Vec<Node>,
    /// The fields that must be there.
    pub required: Vec<Str>,
    /// The known fields.
    pub fields: Map<Shape>,
    /// The other fields.
    pub additional: Additional,
    /// The elements of a list.
    pub items: Option<Box<Shape>>,
    /// How elements are told apart.
    pub list: ListType,
    /// Whether a map is one value.
    pub atomic_map: bool,
    /// How strategic merge patches treat it.
    pub patch: Option<PatchStrategy>,
    /// Whether unknown fields are kept.
    pub preserve_unknown: bool,
    /// Whether an object without known fields may have none at all: those of custom resources, and built-in types
    /// that have no fields.
    pub closed: bool,
    /// Whether this is an object of its own, with `apiVersion`, `kind` and `metadata`.
    pub embedded: bool,
    /// Limits on its values.
    pub limits: Option<Box<Limits>>,
}

/// Why something is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A schema is a map.
    #[error("a schema is a map, not {0}")]
    NotAMap(&'static str),
    /// The nesting has a limit.
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Shape {
    /// Reads a schema as OpenAPI v3 and custom resource definitions write it.
    ///
    /// # Errors
    /// If it is no map, or nests too deep.
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

/// A property of a defined type is `allOf` with one reference, so that a default can stand beside it.
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
    let said = text(map, "type");
    if flag(map, "x-kubernetes-int-or-string")
        || text(map, "format").is_some_and(|word| word == "int-or-string")
    {
        return Type::IntOrString;
    }
    match said.as_ref().and_then(Str::as_str) {
        Some("boolean") => Type::Boolean,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("string") => Type::String,
        Some("array") => Type::List,
        Some("object") => Type::Object,
        _ if is_quantity(map) => Type::Quantity,
        _ => Type::Any,
    }
}

/// OpenAPI has no word for quantities; the server describes its type as text or a number.
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
    fn a_property_of_a_defined_type_keeps_its_default_and_its_patch_strategy() {
        let shape = shape(
            r##"{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],"default":{},
               "x-kubernetes-patch-strategy":"retainKeys"}"##,
        );
        assert_eq!(shape.reference.as_ref().unwrap(), "io.k8s.api.apps.v1.DeploymentStrategy");
        assert_eq!(shape.default, Some(Node::empty_map()));
        assert!(shape.patch.unwrap().retain_keys);
    }

    #[test]
    fn lists_know_how_their_elements_are_told_apart() {
        let ports = shape(
            r#"{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map",
               "x-kubernetes-list-map-keys":["port","protocol"]}"#,
        );
        assert_eq!(ports.list, ListType::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(shape(r#"{"type":"array"}"#).list, ListType::Atomic);
    }

    #[test]
    fn amounts_and_ports_have_types_of_their_own() {
        assert_eq!(shape(r#"{"oneOf":[{"type":"string"},{"type":"number"}]}"#).kind, Type::Quantity);
        let port = shape(r#"{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}"#);
        assert_eq!((port.kind, port.limits.unwrap().one_of.len()), (Type::IntOrString, 0));
        assert_eq!(shape(r#"{"x-kubernetes-int-or-string":true}"#).kind, Type::IntOrString);
    }

    #[test]
    fn a_schema_that_nests_without_end_is_refused() {
        let text = format!("{}{{}}{}", r#"{"items":"#.repeat(3_000), "}".repeat(3_000));
        assert_eq!(
            Shape::parse(&json::read_exact(text.as_bytes()).unwrap()).unwrap_err(),
            ShapeError::TooDeep
        );
    }
}

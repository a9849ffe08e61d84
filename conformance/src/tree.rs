//! Conversions between the JSON of cases and the program's `Node`.

use pintle_tree::{Map, Node};
use serde_json::Value;

/// Converts JSON to a tree. Numbers are floats, as in Helm after decoding, unless `integers` is set and they are whole.
pub(crate) fn node(value: &Value, integers: bool) -> Node {
    match value {
        Value::Null => Node::Nil,
        Value::Bool(value) => Node::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if integers => Node::Int(whole),
            _ => Node::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Node::from(text.as_str()),
        Value::Array(items) => Node::List(items.iter().map(|item| node(item, integers)).collect()),
        Value::Object(entries) => Node::Map(
            entries.iter().map(|(key, value)| (key.as_str().into(), node(value, integers))).collect(),
        ),
    }
}

/// Converts a JSON object to a map; any other value is an empty map.
pub(crate) fn map(value: &Value) -> Map<Node> {
    match node(value, false) {
        Node::Map(map) => map,
        _ => Map::new(),
    }
}

/// Converts a tree to JSON. Integers become floats, as in the cases.
pub(crate) fn json(node: &Node) -> Value {
    match node {
        Node::Nil => Value::Null,
        Node::Bool(value) => Value::Bool(*value),
        Node::Int(value) => number(*value as f64),
        Node::Float(value) => number(*value),
        Node::Str(text) => Value::String(text.to_string()),
        Node::List(items) => Value::Array(items.iter().map(json).collect()),
        Node::Map(map) => json_map(map),
    }
}

/// Converts a map to a JSON object.
pub(crate) fn json_map(map: &Map<Node>) -> Value {
    Value::Object(map.iter().map(|(key, value)| (key.to_string(), json(value))).collect())
}

fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Converts every number to a float, so that `1` and `1.0` compare equal.
pub(crate) fn normalize(value: &Value) -> Value {
    json(&node(value, false))
}

/// The JSON pointers of all integers of a tree, sorted.
pub(crate) fn integers(root: &Node) -> Vec<String> {
    let mut found = Vec::new();
    collect_integers(root, String::new(), &mut found);
    found.sort();
    found
}

fn collect_integers(node: &Node, pointer: String, found: &mut Vec<String>) {
    match node {
        Node::Int(_) => found.push(pointer),
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_integers(item, format!("{pointer}/{index}"), found);
            }
        }
        Node::Map(map) => {
            for (key, value) in map.iter() {
                let key = key.to_string().replace('~', "~0").replace('/', "~1");
                collect_integers(value, format!("{pointer}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// The nesting depth of a tree.
pub(crate) fn depth(node: &Node) -> usize {
    match node {
        Node::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Node::Map(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

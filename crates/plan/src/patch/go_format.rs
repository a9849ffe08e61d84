//! Trees in Go's `%v` format, by which apimachinery sorts lists and which its errors contain.

use pintle_tree::{Map, Node, number, with_stack};

/// Formats a node as Go's `%v`.
pub(super) fn format_value(node: &Node) -> String {
    let mut text = String::new();
    push(node, &mut text);
    text
}

/// Formats a map as Go's `%v`.
pub(super) fn format_map(map: &Map<Node>) -> String {
    let mut text = String::new();
    push_map(map, &mut text);
    text
}

/// Formats a list as Go's `%v`.
pub(super) fn format_list(list: &[Node]) -> String {
    let mut text = String::new();
    push_list(list, &mut text);
    text
}

fn push(node: &Node, text: &mut String) {
    match node {
        Node::Nil => text.push_str("<nil>"),
        Node::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Node::Int(value) => text.push_str(&value.to_string()),
        Node::Float(value) => text.push_str(&number::format_value(*value)),
        Node::Str(value) => text.push_str(&value.to_str_lossy()),
        Node::List(list) => with_stack(|| push_list(list, text)),
        Node::Map(map) => with_stack(|| push_map(map, text)),
    }
}

fn push_list(list: &[Node], text: &mut String) {
    text.push('[');
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        push(item, text);
    }
    text.push(']');
}

fn push_map(map: &Map<Node>, text: &mut String) {
    text.push_str("map[");
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(&key.to_str_lossy());
        text.push(':');
        push(value, text);
    }
    text.push(']');
}

/// The Go type that `encoding/json` decodes a node to.
pub(super) fn go_type(node: &Node) -> &'static str {
    match node {
        Node::Nil => "%!s(<nil>)",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::Str(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Map(_) => "map[string]interface {}",
    }
}

//! Go's formatting of decoded JSON, which the real server uses for values in its errors.

use pintle_tree::{Node, Str, number, quote, with_stack};

/// Formats a value as Go's `%v`.
pub(crate) fn go_value(value: &Node) -> String {
    let joined = |items: Vec<String>| items.join(" ");
    match value {
        Node::Nil => "<nil>".into(),
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Float(value) => number::format_value(*value),
        Node::Str(text) => text.to_string(),
        Node::List(list) => with_stack(|| format!("[{}]", joined(list.iter().map(go_value).collect()))),
        Node::Map(map) => {
            let entry = |(name, value): (&Str, &Node)| format!("{name}:{}", go_value(value));
            with_stack(|| format!("map[{}]", joined(map.iter().map(entry).collect())))
        }
    }
}

/// Formats a value as Go's `%#v`.
pub(crate) fn go_syntax(value: &Node) -> String {
    match value {
        Node::Str(text) => quote::quote(text),
        Node::List(list) => {
            let items: Vec<String> = list.iter().map(|item| with_stack(|| go_syntax(item))).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Node::Map(map) => {
            let entry = |(name, value): (&Str, &Node)| {
                format!("{}:{}", quote::quote(name), with_stack(|| go_syntax(value)))
            };
            format!("map[string]interface {{}}{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => go_value(other),
    }
}

/// The Go type that encoding/json decodes a value into.
pub(crate) fn go_type(value: &Node) -> &'static str {
    match value {
        Node::Nil => "<nil>",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::Str(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Map(_) => "map[string]interface {}",
    }
}

//! Nodes as Go's `fmt` prints them, for messages.

use pintle_tree::{Map, Node, number};

/// Go's `%v`. With `without_nil`, nil entries of maps are left out.
pub(crate) fn format_v(node: &Node, without_nil: bool) -> String {
    let mut out = String::new();
    push_value(&mut out, node, without_nil);
    out
}

fn push_value(out: &mut String, node: &Node, without_nil: bool) {
    match node {
        Node::List(list) => push_list(out, list, |out, item| push_value(out, item, without_nil)),
        Node::Map(map) => push_map(out, map, without_nil, |out, item| push_value(out, item, without_nil)),
        Node::Nil => out.push_str("<nil>"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Int(value) => out.push_str(&value.to_string()),
        Node::Float(value) => out.push_str(&number::format_value(*value)),
        Node::Str(text) => out.push_str(&text.to_str_lossy()),
    }
}

/// Go's `%t`, a verb for booleans, given anything.
pub(crate) fn format_t(node: &Node) -> String {
    let mut out = String::new();
    match node {
        Node::Nil => out.push_str("%!t(<nil>)"),
        _ => push_format_t(&mut out, node),
    }
    out
}

fn push_format_t(out: &mut String, node: &Node) {
    match node {
        Node::List(list) => push_list(out, list, push_format_t),
        Node::Map(map) => push_map(out, map, false, push_format_t),
        // Inside of a list or map Go prints nil as `<nil>` for any verb.
        Node::Nil | Node::Bool(_) => push_value(out, node, false),
        Node::Int(_) | Node::Float(_) | Node::Str(_) => {
            out.push_str("%!t(");
            out.push_str(go_type(node));
            out.push('=');
            push_value(out, node, false);
            out.push(')');
        }
    }
}

fn push_list(out: &mut String, list: &[Node], mut push: impl FnMut(&mut String, &Node)) {
    out.push('[');
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        push(out, item);
    }
    out.push(']');
}

fn push_map(out: &mut String, map: &Map<Node>, without_nil: bool, mut push: impl FnMut(&mut String, &Node)) {
    out.push_str("map[");
    let shown = map.iter().filter(|(_, item)| !without_nil || !item.is_nil());
    for (index, (key, item)) in shown.enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(&key.to_str_lossy());
        out.push(':');
        push(out, item);
    }
    out.push(']');
}

/// Go's `%T`.
pub(crate) fn go_type(node: &Node) -> &'static str {
    match node {
        Node::Nil => "<nil>",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::Str(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Map(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_verbs_make_the_same_noise() {
        let node = Node::List(vec![Node::Float(1.0), Node::Nil, Node::from("x"), Node::Bool(true)]);
        assert_eq!(format_t(&node), "[%!t(float64=1) <nil> %!t(string=x) true]");
        assert_eq!(format_t(&Node::Nil), "%!t(<nil>)");
        assert_eq!(format_v(&node, false), "[1 <nil> x true]");
    }
}

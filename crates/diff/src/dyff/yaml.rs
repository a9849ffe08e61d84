//! Nodes as YAML for people: well-known keys first, shallow values before deep ones, and no more quotes than needed.

use pintle_tree::quote::quote;
use pintle_yaml::commented::Kind;

use super::compare::Content;
use super::node::NodeRef;

/// The usual orders of keys. A map is sorted by the one that has the most of its keys.
const KEY_ORDERS: [&[&str]; 7] = [
    &["name"],
    &["name", "url", "version", "sha1"],
    &["resources"],
    &["name", "type", "source"],
    &["apiVersion", "kind", "metadata", "spec", "status"],
    &["key"],
    &["id"],
];

const INDENT: &str = "  ";

/// Writes what was added or removed.
pub(super) fn content(content: &Content<'_>) -> String {
    let mut out = String::new();
    match content {
        Content::Document(node) => block(*node, "", false, &mut out),
        Content::Entries(entries) => map(entries, "", false, &mut out),
        Content::Items(items) => list(items, "", false, &mut out),
    }
    out
}

/// Writes a single value; nil as Go prints it.
pub(super) fn value(node: NodeRef<'_>) -> String {
    if node.is_nil() {
        return "<nil>".to_owned();
    }
    let mut out = String::new();
    block(node, "", false, &mut out);
    out.trim_end_matches('\n').to_owned()
}

/// An entry of a list whose order has changed.
pub(super) fn on_one_line(node: &NodeRef<'_>) -> String {
    match node.value() {
        "" => value(*node),
        text => text.to_owned(),
    }
}

fn block(node: NodeRef<'_>, prefix: &str, is_begun: bool, out: &mut String) {
    match node.kind() {
        Kind::Mapping => pintle_tree::with_stack(|| map(&node.entries(), prefix, is_begun, out)),
        Kind::Sequence => {
            let items: Vec<NodeRef<'_>> = node.children().collect();
            pintle_tree::with_stack(|| list(&items, prefix, is_begun, out));
        }
        Kind::Scalar | Kind::Alias(_) => scalar(node, prefix, out),
    }
}

/// Writes a list; its first line is begun already if it is in another list.
fn list(items: &[NodeRef<'_>], prefix: &str, is_begun: bool, out: &mut String) {
    let inner = format!("{prefix}{INDENT}");
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !is_begun {
            out.push_str(prefix);
        }
        out.push_str("- ");
        block(*item, &inner, true, out);
    }
}

fn map(entries: &[(NodeRef<'_>, NodeRef<'_>)], prefix: &str, is_begun: bool, out: &mut String) {
    let inner = format!("{prefix}{INDENT}");
    for (index, (key, value)) in in_reading_order(entries).into_iter().enumerate() {
        if index > 0 || !is_begun {
            out.push_str(prefix);
        }
        if !key.head_comment().is_empty() {
            out.push_str(key.head_comment());
            out.push('\n');
        }
        out.push_str(key.value());
        out.push(':');
        match (value.kind(), value.children().len()) {
            (Kind::Mapping, 0) => out.push_str(" {}\n"),
            (Kind::Sequence, 0) => out.push_str(" []\n"),
            (Kind::Mapping, _) => {
                out.push('\n');
                block(value, &inner, false, out);
            }
            (Kind::Sequence, _) => {
                out.push('\n');
                block(value, prefix, false, out);
            }
            _ => {
                out.push(' ');
                scalar(value, &inner, out);
            }
        }
    }
}

/// Puts well-known keys first, and then those with less nested values. Maps without a well-known key are left as they are.
fn in_reading_order<'d>(entries: &[(NodeRef<'d>, NodeRef<'d>)]) -> Vec<(NodeRef<'d>, NodeRef<'d>)> {
    let known = |order: &[&str]| entries.iter().filter(|(key, _)| order.contains(&key.value())).count();
    let mut best: (&[&str], usize) = (&[], 0);
    for order in KEY_ORDERS {
        let count = known(order);
        if count > best.1 {
            best = (order, count);
        }
    }
    let mut sorted = entries.to_vec();
    if best.1 > 0 {
        sorted.sort_by_key(|(key, value)| match best.0.iter().position(|known| *known == key.value()) {
            Some(position) => (0, position),
            None => (1, depth(*value)),
        });
    }
    sorted
}

fn depth(node: NodeRef<'_>) -> usize {
    let values: Vec<NodeRef<'_>> = match node.kind() {
        Kind::Mapping => node.entries().into_iter().map(|(_, value)| value).collect(),
        _ => node.children().collect(),
    };
    values.into_iter().map(|child| 1 + pintle_tree::with_stack(|| depth(child))).max().unwrap_or(0)
}

fn scalar(node: NodeRef<'_>, prefix: &str, out: &mut String) {
    let text = node.value();
    match text.contains('\n') {
        false if needs_quotes(node) => out.push_str(&quote(text.as_bytes())),
        false => out.push_str(text),
        true => {
            out.push_str("|\n");
            let lines: Vec<String> = text.split('\n').map(|line| format!("{prefix}{line}")).collect();
            out.push_str(&lines.join("\n"));
        }
    }
    if !node.line_comment().is_empty() {
        out.push(' ');
        out.push_str(node.line_comment());
    }
    out.push('\n');
}

/// Whether a text would be taken for something else, or is hard to read, without quotes.
fn needs_quotes(node: NodeRef<'_>) -> bool {
    let text = node.value();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number =
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || b".e+".contains(&byte));
    node.tag() == "!!str"
        && (["true", "false", "null", ".nan", ".inf", "-.inf", "+.inf"].contains(&text)
            || text.starts_with('-')
            || is_number
            || text.contains([' ', '*', '&', ':', ',']))
}

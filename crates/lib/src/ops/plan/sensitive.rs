//! Values that a plan does not show: those at paths that the user or the chart marks as sensitive.

use std::collections::BTreeSet;

use pintle_objects::Object;
use pintle_tree::{Map, Node, json};

/// The annotations of werf with sensitive paths, and for an object that is sensitive as a whole.
const PATHS_ANNOTATION: &str = "werf.io/sensitive-paths";
const OBJECT_ANNOTATION: &str = "werf.io/sensitive";

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Key(String),
    Index(usize),
    /// All keys or items.
    Any,
}

/// The path of values that are not shown, such as `$.spec.template.spec.containers[*].env[0].value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensitivePath {
    text: String,
    parts: Vec<Part>,
}

impl SensitivePath {
    /// Parses a path: keys after dots or in brackets with quotes, numbers and `*` in brackets; a leading `$` may be left
    /// out.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut parts = Vec::new();
        while !rest.is_empty() {
            rest = match rest.strip_prefix('[') {
                Some(inner) => {
                    let quote = inner.chars().next().filter(|quote| matches!(quote, '"' | '\''));
                    let end = match quote {
                        Some(quote) => inner[1..].find(quote)? + 2,
                        None => inner.find(']')?,
                    };
                    parts.push(bracket(&inner[..end])?);
                    inner[end..].strip_prefix(']')?
                }
                None => {
                    let key = rest.strip_prefix('.').unwrap_or(rest);
                    let end = key.find(['.', '[']).unwrap_or(key.len());
                    match &key[..end] {
                        "" => return None,
                        "*" => parts.push(Part::Any),
                        name => parts.push(Part::Key(name.to_owned())),
                    }
                    &key[end..]
                }
            };
        }
        (!parts.is_empty()).then(|| SensitivePath { text: text.to_owned(), parts })
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn bracket(text: &str) -> Option<Part> {
    if text == "*" {
        return Some(Part::Any);
    }
    let quoted = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    match quoted {
        Some(key) => Some(Part::Key(key.to_owned())),
        None => text.parse().ok().map(Part::Index),
    }
}

/// The paths that hide all content of an object.
fn whole_object() -> impl Iterator<Item = SensitivePath> {
    ["data", "stringData", "binaryData", "spec"].into_iter().filter_map(SensitivePath::parse)
}

/// Returns the sensitive paths of an object: those of the user, and those of its annotations on either side.
pub(super) fn paths(given: &[SensitivePath], sides: [Option<&Object>; 2]) -> Vec<SensitivePath> {
    let mut paths = given.to_vec();
    for object in sides.into_iter().flatten() {
        if object.annotation(OBJECT_ANNOTATION) == Some("true") {
            paths.extend(whole_object());
        }
        // On either side: when a version drops the annotation, the old value is as secret as before.
        let list = object.annotation(PATHS_ANNOTATION).unwrap_or_default();
        for path in list.split(',').filter(|path| !path.trim().is_empty()) {
            match SensitivePath::parse(path) {
                Some(path) => paths.push(path),
                // A path that does not parse hides the whole object: a typo must not reveal a secret.
                None => paths.extend(whole_object()),
            }
        }
    }
    paths
}

/// Replaces the values at sensitive paths, on both sides, by their length and whether they change. Returns whether there
/// were any.
pub(super) fn hide(
    mut before: Option<&mut Object>,
    mut after: Option<&mut Object>,
    paths: &[SensitivePath],
) -> bool {
    let mut is_hidden = false;
    for path in paths {
        let before = before.as_mut().map(|object| object.body_mut());
        let after = after.as_mut().map(|object| object.body_mut());
        is_hidden |= hide_in_maps(before, after, &path.parts);
    }
    is_hidden
}

fn hide_in_maps(before: Option<&mut Map<Node>>, after: Option<&mut Map<Node>>, path: &[Part]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    // A set: a value that is replaced twice would have the length of its replacement.
    let keys: BTreeSet<String> = match first {
        Part::Key(key) => BTreeSet::from([key.clone()]),
        Part::Index(_) => BTreeSet::new(),
        Part::Any => {
            let sides = [&before, &after].into_iter().flatten();
            sides.flat_map(|map| map.keys().map(ToString::to_string)).collect()
        }
    };
    let (mut before, mut after) = (before, after);
    let mut is_hidden = false;
    for key in keys {
        let old = before.as_mut().and_then(|map| map.get_mut(key.as_str()));
        let new = after.as_mut().and_then(|map| map.get_mut(key.as_str()));
        is_hidden |= hide_in_nodes(old, new, rest);
    }
    is_hidden
}

fn hide_in_nodes(before: Option<&mut Node>, after: Option<&mut Node>, path: &[Part]) -> bool {
    let Some(first) = path.first() else { return replace(before, after) };
    match (before, after) {
        (Some(Node::List(old)), Some(Node::List(new))) => {
            hide_in_lists(Some(old), Some(new), first, &path[1..])
        }
        // The type changes: each side is hidden by itself.
        (Some(old), Some(new)) if [&*old, &*new].iter().any(|node| node.as_list().is_some()) => {
            hide_in_nodes(Some(old), None, path) | hide_in_nodes(None, Some(new), path)
        }
        (Some(Node::List(old)), None) => hide_in_lists(Some(old), None, first, &path[1..]),
        (None, Some(Node::List(new))) => hide_in_lists(None, Some(new), first, &path[1..]),
        (old, new) => {
            let old = old.and_then(as_map_mut);
            let new = new.and_then(as_map_mut);
            hide_in_maps(old, new, path)
        }
    }
}

fn as_map_mut(node: &mut Node) -> Option<&mut Map<Node>> {
    match node {
        Node::Map(map) => Some(map),
        _ => None,
    }
}

fn hide_in_lists(
    mut before: Option<&mut Vec<Node>>,
    mut after: Option<&mut Vec<Node>>,
    first: &Part,
    rest: &[Part],
) -> bool {
    let length = |list: &Option<&mut Vec<Node>>| list.as_ref().map_or(0, |list| list.len());
    let indexes = match first {
        Part::Key(_) => 0..0,
        Part::Index(index) => *index..index.saturating_add(1),
        Part::Any => 0..length(&before).max(length(&after)),
    };
    let mut is_hidden = false;
    for index in indexes {
        let old = before.as_mut().and_then(|list| list.get_mut(index));
        let new = after.as_mut().and_then(|list| list.get_mut(index));
        is_hidden |= hide_in_nodes(old, new, rest);
    }
    is_hidden
}

/// Redacts a value like those of Secrets.
fn replace(before: Option<&mut Node>, after: Option<&mut Node>) -> bool {
    let length = |node: &Node| match node {
        Node::Str(text) => text.len(),
        other => json::write(other).map_or(0, |text| text.len()),
    };
    let mark =
        |node: &mut Node, sign: &str| *node = format!("{sign} ({} bytes)", length(node)).as_str().into();
    match (before, after) {
        (None, None) => return false,
        (Some(old), Some(new)) if old == new => {
            mark(old, "REDACTED");
            mark(new, "REDACTED");
        }
        (old, new) => {
            old.into_iter().for_each(|node| mark(node, "--------"));
            new.into_iter().for_each(|node| mark(node, "++++++++"));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Object::read_json(text.as_bytes()).expect("an object")
    }

    fn hidden(path: &str, before: &str, after: &str) -> (String, String) {
        let (mut before, mut after) = (object(before), object(after));
        let paths = paths(&[SensitivePath::parse(path).expect("a path")], [Some(&before), Some(&after)]);
        hide(Some(&mut before), Some(&mut after), &paths);
        let text = |object: &Object| String::from_utf8_lossy(&object.to_json()).into_owned();
        (text(&before), text(&after))
    }

    #[test]
    fn values_at_sensitive_paths_are_replaced_on_both_sides() {
        let before = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"env":[{"name":"X","value":"one"},{"name":"Y","value":"same"}]}}"#;
        let after = before.replace("one", "three");
        let (old, new) = hidden("$.spec.env[*].value", before, &after);
        assert!(old.contains("-------- (3 bytes)") && new.contains("++++++++ (5 bytes)"), "{old}{new}");
        assert!(old.contains("REDACTED (4 bytes)") && !old.contains("same") && !new.contains("same"));
        assert!(new.contains("\"name\":\"X\""));
        let (old, _) = hidden("spec.env[1].value", before, &after);
        assert!(old.contains("one") && !old.contains("same"));
    }

    #[test]
    fn the_annotation_of_the_chart_counts_on_either_side() {
        let before =
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"data":{"tls.key":"secret","b":"c"}}"#;
        let after = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a","annotations":{"werf.io/sensitive-paths":"$.other, $.data[\"tls.key\"]"}},"data":{"tls.key":"secret2","b":"c"}}"#;
        let (old, new) = hidden("nothing", before, after);
        assert!(
            !old.contains("secret\"") && !new.contains("secret2") && new.contains("\"b\":\"c\""),
            "{old}{new}"
        );
    }

    #[test]
    fn values_are_hidden_though_their_type_changes() {
        let before = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":[{"token":"one"}]}"#;
        for now in ["null", r#"{"token":"two"}"#] {
            let after = before.replace(r#"[{"token":"one"}]"#, now);
            let (old, new) = hidden("spec[*].token", before, &after);
            assert!(!old.contains("one") && !old.contains("REDACTED (0"), "{old}");
            let (new, old) = (hidden("spec[*].token", &after, before).1, new);
            assert!(!new.contains("one"), "{old}{new}");
        }
    }

    #[test]
    fn all_keys_are_hidden_once() {
        let before = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"data":{"a":"one"}}"#;
        let (old, new) = hidden("data.*", before, &before.replace("one", "three"));
        assert!(old.contains("(3 bytes)") && new.contains("(5 bytes)"), "{old}{new}");
    }

    #[test]
    fn an_annotation_that_is_no_path_hides_everything() {
        let before = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a","annotations":{"werf.io/sensitive-paths":"data[x"}},"data":{"x":"secret"}}"#;
        let (old, new) = hidden("nothing", before, before);
        assert!(!old.contains("secret") && !new.contains("secret"), "{old}{new}");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "$", "a..b", "a[", "a[x]", "a['b", "a[1"] {
            assert_eq!(SensitivePath::parse(text), None, "{text}");
        }
        let path = SensitivePath::parse("$.a['b.c'][*].*[2]").expect("a path");
        assert_eq!(
            path.parts,
            [Part::Key("a".to_owned()), Part::Key("b.c".to_owned()), Part::Any, Part::Any, Part::Index(2)]
        );
    }
}

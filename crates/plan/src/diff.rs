//! The fields that differ between two trees, by path.

use std::fmt::Write;

use pintle_tree::{Map, Node, Str, quote::quote, with_stack};

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'n> {
    /// The path, such as `spec.containers[0].image` or `metadata.labels["example.com/x"]`.
    pub path: String,
    /// The value in the first tree, if any.
    pub before: Option<&'n Node>,
    /// The value in the second tree, if any.
    pub after: Option<&'n Node>,
}

/// Returns all fields that differ, sorted by path. List elements are compared by index.
pub fn differences<'n>(before: &'n Map<Node>, after: &'n Map<Node>) -> Vec<Difference<'n>> {
    let mut found = Vec::new();
    compare_maps(before, after, &mut String::new(), &mut found);
    found
}

/// Returns the fields of `desired` that `live` lacks or has with another value. Fields that only `live` has are
/// ignored, because of defaulting.
pub fn missing_or_changed<'n>(live: &'n Map<Node>, desired: &'n Map<Node>) -> Vec<Difference<'n>> {
    let mut found = differences(live, desired);
    found.retain(|difference| difference.after.is_some());
    found
}

/// Makes nulls equal to the empty lists and maps at the same place in the other tree. The API server does not store these, and
/// writes null when it reads the object again, but not in its answer to a dry run.
pub fn equate_nulls(one: &mut Map<Node>, other: &mut Map<Node>) {
    for (key, node) in one.iter_mut() {
        if let Some(counterpart) = other.get_mut(key) {
            equate_nodes(node, counterpart);
        }
    }
}

fn equate_nodes(one: &mut Node, other: &mut Node) {
    let is_empty = |node: &Node| match node {
        Node::List(items) => items.is_empty(),
        Node::Map(map) => map.is_empty(),
        _ => false,
    };
    match (one, other) {
        (one @ Node::Nil, other) if is_empty(other) => *one = other.clone(),
        (one, other @ Node::Nil) if is_empty(one) => *other = one.clone(),
        (Node::Map(one), Node::Map(other)) => with_stack(|| equate_nulls(one, other)),
        (Node::List(one), Node::List(other)) => {
            with_stack(|| one.iter_mut().zip(other).for_each(|(one, other)| equate_nodes(one, other)));
        }
        _ => {}
    }
}

/// A segment of the path of a [`Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A key of a map.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// Splits the path of a [`Difference`].
pub fn segments(path: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("[\"") {
            let (key, length) = unquoted(inner);
            found.push(Segment::Key(key));
            rest = inner[length..].strip_prefix(']').unwrap_or_default();
        } else if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').unwrap_or(inner.len());
            found.push(Segment::Index(inner[..end].parse().unwrap_or(0)));
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            let text = rest.strip_prefix('.').unwrap_or(rest);
            let end = text.find(['.', '[']).unwrap_or(text.len());
            found.push(Segment::Key(text[..end].to_owned()));
            rest = &text[end..];
        }
    }
    found
}

/// Unescapes a key that [`push_key`] quoted, from after the opening quote, and returns the position after the closing one.
fn unquoted(text: &str) -> (String, usize) {
    let mut key = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => break,
            '\\' => key.extend(escaped(&mut rest)),
            other => key.push(other),
        }
    }
    (key, text.len() - rest.as_str().len())
}

/// Decodes a Go escape sequence, after its backslash.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let width = match rest.next()? {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'a' => return Some('\u{07}'),
        'b' => return Some('\u{08}'),
        'f' => return Some('\u{0c}'),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'v' => return Some('\u{0b}'),
        other => return Some(other),
    };
    let digits: String = rest.by_ref().take(width).collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

/// The path of a [`Difference`] as a JSON pointer (RFC 6901).
pub fn pointer(path: &str) -> String {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let part = |segment: &Segment| match segment {
        Segment::Key(key) => format!("/{}", escaped(key)),
        Segment::Index(index) => format!("/{index}"),
    };
    segments(path).iter().map(part).collect()
}

fn compare_maps<'n>(
    before: &'n Map<Node>,
    after: &'n Map<Node>,
    path: &mut String,
    found: &mut Vec<Difference<'n>>,
) {
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        // Both iterate in key order, so one pass visits each key once.
        let key = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (Some((left, _)), Some((right, _))) => (*left).min(*right),
        };
        let before = old.next_if(|(other, _)| *other == key).map(|(_, node)| node);
        let after = new.next_if(|(other, _)| *other == key).map(|(_, node)| node);
        let length = path.len();
        push_key(path, key);
        compare(before, after, path, found);
        path.truncate(length);
    }
}

fn compare<'n>(
    before: Option<&'n Node>,
    after: Option<&'n Node>,
    path: &mut String,
    found: &mut Vec<Difference<'n>>,
) {
    match (before, after) {
        (Some(Node::Map(before)), Some(Node::Map(after))) => {
            with_stack(|| compare_maps(before, after, path, found));
        }
        (Some(Node::List(before)), Some(Node::List(after))) => {
            with_stack(|| compare_lists(before, after, path, found));
        }
        _ if before == after => {}
        _ => found.push(Difference { path: path.clone(), before, after }),
    }
}

fn compare_lists<'n>(
    before: &'n [Node],
    after: &'n [Node],
    path: &mut String,
    found: &mut Vec<Difference<'n>>,
) {
    for index in 0..before.len().max(after.len()) {
        let length = path.len();
        // Writing to a string cannot fail.
        let _ = write!(path, "[{index}]");
        compare(before.get(index), after.get(index), path, found);
        path.truncate(length);
    }
}

/// Appends a key to a path, in brackets if it would be ambiguous.
pub(crate) fn push_key(path: &mut String, key: &Str) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$');
    match key.as_str() {
        Some(text) if !text.is_empty() && text.as_bytes().iter().all(plain) => {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(text);
        }
        _ => {
            path.push('[');
            path.push_str(&quote(key));
            path.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_objects::Object;

    use super::*;

    fn object(text: &str) -> Object {
        Object::read_json(text.as_bytes()).expect("good JSON")
    }

    #[test]
    fn paths_name_every_field_that_differs_once() {
        let before = object(r#"{"a":{"b":[1,{"c":2}],"gone":{"x":1}},"m":{"e.x/y":"1"},"same":[1]}"#);
        let after = object(r#"{"a":{"b":[1,{"c":3},4]},"m":{"e.x/y":"2"},"new":null,"same":[1]}"#);
        let paths: Vec<String> =
            differences(before.body(), after.body()).into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["a.b[1].c", "a.b[2]", "a.gone", r#"m["e.x/y"]"#, "new"]);
        let pointers: Vec<String> = paths.iter().map(|path| pointer(path)).collect();
        assert_eq!(pointers, ["/a/b/1/c", "/a/b/2", "/a/gone", "/m/e.x~1y", "/new"]);
    }

    #[test]
    fn paths_of_unusual_keys_are_read_as_they_were_written() {
        for key in ["a.b/c", "x\"]y", "back\\slash", "[0]", "", "line\nend", "é\u{0}\u{2028}", "a~b"] {
            let map = |value: Node| {
                let inner = Map::from_entries(vec![(key.into(), value)]);
                Map::from_entries(vec![("m".into(), Node::Map(inner))])
            };
            let (before, after) = (map(1.into()), map(2.into()));
            let path = &differences(&before, &after)[0].path;
            let keys = [Segment::Key("m".to_owned()), Segment::Key(key.to_owned())];
            assert_eq!(segments(path), keys, "{path}");
            let below = segments(&format!("{path}[3].x"));
            assert_eq!(below[2..], [Segment::Index(3), Segment::Key("x".to_owned())], "{path}");
        }
        for damaged in ["[\"", "a[\"b", "a[\"b\"", "[\"\\", "[\"\\u12", "[", "a[1"] {
            assert!(!segments(damaged).is_empty(), "{damaged}");
        }
    }

    #[test]
    fn defaulted_fields_are_not_differences() {
        let live = object(r#"{"spec":{"replicas":1,"image":"a","list":[1,2]},"status":{}}"#);
        let desired = object(r#"{"spec":{"image":"b","list":[1]}}"#);
        let paths: Vec<String> =
            missing_or_changed(live.body(), desired.body()).into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["spec.image"]);
    }

    #[test]
    fn nulls_are_what_is_empty_on_the_other_side() {
        let read = |text: &str| {
            pintle_tree::json::read(text.as_bytes()).expect("JSON").as_map().expect("a map").clone()
        };
        let mut live = read(r#"{"rules":null,"a":[{"b":null,"c":1}],"d":{},"e":null}"#);
        let mut restored = read(r#"{"rules":[],"a":[{"b":{},"c":1}],"d":null,"e":1}"#);
        equate_nulls(&mut live, &mut restored);
        let paths: Vec<String> =
            differences(&live, &restored).into_iter().map(|difference| difference.path).collect();
        assert_eq!(paths, ["e"]);
    }
}

//! The JSONPath of `additionalPrinterColumns`.

use std::time::Duration;

use pintle_tree::{Node, json};

use super::since;
use crate::api::custom_resources::Column;

/// The cell of a column: the value at its path, formatted for the column's type.
pub(in crate::api) fn by_path(object: &Node, column: &Column, now: Duration) -> Node {
    let found = find(object, &column.path);
    match column.kind.as_str() {
        "date" => match found.first() {
            Some(Node::Str(text)) => since(&text.to_str_lossy(), now).into(),
            _ => "<unknown>".into(),
        },
        "string" => match &found[..] {
            [] => Node::Nil,
            found => found.iter().map(|node| text(node)).collect::<Vec<_>>().join(",").into(),
        },
        "integer" => match found.first() {
            Some(Node::Int(value)) => Node::Int(*value),
            Some(Node::Float(value)) => Node::Int(*value as i64),
            _ => Node::Nil,
        },
        "number" => match found.first() {
            Some(value @ (Node::Int(_) | Node::Float(_))) => (*value).clone(),
            _ => Node::Nil,
        },
        "boolean" => match found.first() {
            Some(Node::Bool(value)) => Node::Bool(*value),
            _ => Node::Nil,
        },
        _ => Node::Nil,
    }
}

fn text(node: &Node) -> String {
    match node {
        Node::Str(text) => text.to_string(),
        other => String::from_utf8(json::write_raw(other).unwrap_or_default()).unwrap_or_default(),
    }
}

/// Evaluates a path such as `.spec.parts[*].name`. Supports names, indexes, `*` and filters that compare one field
/// with a string: the subset that definitions use in practice.
fn find<'n>(object: &'n Node, path: &str) -> Vec<&'n Node> {
    let mut found = vec![object];
    for segment in segments(path) {
        let next = found.into_iter().flat_map(|node| take(node, &segment));
        found = next.collect();
    }
    found
}

enum Segment {
    Name(String),
    Index(i64),
    All,
    Filter(String, String),
}

fn segments(path: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut rest = path.trim_start_matches(['{', '$']).trim_end_matches('}');
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').unwrap_or(inside.len());
            segments.push(bracket(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or_default();
            continue;
        }
        let name = rest.trim_start_matches('.');
        // A backslash escapes a dot in a name.
        let mut word = String::new();
        let mut letters = name.char_indices();
        let mut end = name.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                // As in `.metadata.annotations.example\.com/name`.
                '\\' => word.extend(letters.next().map(|(_, letter)| letter)),
                '.' | '[' => {
                    end = at;
                    break;
                }
                other => word.push(other),
            }
        }
        rest = &name[end..];
        if !word.is_empty() {
            segments.push(if word == "*" { Segment::All } else { Segment::Name(word) });
        } else if end == name.len() {
            break;
        }
    }
    segments
}

fn bracket(text: &str) -> Segment {
    let unquoted = |text: &str| text.trim().trim_matches(['\'', '"']).to_owned();
    if text == "*" {
        return Segment::All;
    }
    if let Ok(index) = text.parse() {
        return Segment::Index(index);
    }
    let filter = text.strip_prefix("?(@.").and_then(|text| text.strip_suffix(')'));
    match filter.and_then(|filter| filter.split_once("==")) {
        Some((field, value)) => Segment::Filter(field.trim().to_owned(), unquoted(value)),
        None => Segment::Name(unquoted(text)),
    }
}

fn take<'n>(node: &'n Node, segment: &Segment) -> Vec<&'n Node> {
    match (segment, node) {
        (Segment::Name(name), node) => node.get(name).into_iter().collect(),
        (Segment::All, Node::List(list)) => list.iter().collect(),
        (Segment::All, Node::Map(map)) => map.values().collect(),
        (Segment::Index(index), Node::List(list)) => {
            let index = if *index < 0 { index + list.len() as i64 } else { *index };
            usize::try_from(index).ok().and_then(|index| list.get(index)).into_iter().collect()
        }
        (Segment::Filter(field, value), Node::List(list)) => {
            list.iter().filter(|item| item.get(field).map(text).as_ref() == Some(value)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_paths_find_names_indexes_wildcards_and_filters() {
        let object =
            json::read_exact(br#"{"a":{"b.c":1,"list":[{"type":"x","v":"1"},{"type":"y","v":"2"}]}}"#)
                .unwrap();
        let texts = |path: &str| find(&object, path).into_iter().map(text).collect::<Vec<_>>().join(",");
        assert_eq!(texts(".a.list[*].v"), "1,2");
        assert_eq!(texts(".a.list[0].v"), "1");
        assert_eq!(texts(".a.list[-1].v"), "2");
        assert_eq!(texts(r#".a.list[?(@.type=="y")].v"#), "2");
        assert_eq!(texts(r"{.a.b\.c}"), "1");
        assert_eq!(texts(".a['b.c']"), "1");
        for odd in ["", ".", "..", "[", "[]", ".a[", ".zzz[*].x", "[?(@.]"] {
            let _ = find(&object, odd);
        }
    }
}

//! Rendered documents as go-yaml 3 decodes them: whole numbers and fractions are different types.

use pintle_tree::Node;
use pintle_tree::number::format_value;
use pintle_yaml::Fractions;
use pintle_yaml::outline::Outline;

use crate::splitter;

/// Reads one document. Numbers have the types that they have after a write and a second read, because helm-unittest does
/// such a round trip before it looks a path up.
///
/// # Errors
/// go-yaml's text.
pub(crate) fn read(text: &[u8]) -> Result<Node, pintle_yaml::Error> {
    pintle_yaml::read_typed(text, Fractions::Rewritten)
}

/// Reads the documents of a rendered file; those without content are left out.
///
/// # Errors
/// The first document that is not YAML or not a map.
pub(crate) fn documents(text: &[u8]) -> Result<Vec<Node>, String> {
    let text = String::from_utf8_lossy(text);
    let mut documents = Vec::new();
    let parts = splitter::parts(&text);
    for (index, part) in parts.iter().enumerate() {
        // helm-unittest reads a text whose separators stand between line feeds; errors have its lines.
        let above = || parts[..index].iter().map(|part| part.matches('\n').count() + 2).sum::<usize>();
        match read(part.as_bytes()) {
            Ok(Node::Map(map)) if map.is_empty() => {}
            Ok(Node::Nil) => {}
            Ok(document @ Node::Map(_)) => documents.push(document),
            Ok(other) => return Err(no_map(&other, above() + first_line(part))),
            Err(_) => {
                let padded = "\n".repeat(above()) + part;
                return Err(read(padded.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default());
            }
        }
    }
    Ok(documents)
}

/// The line on which the content of a document begins.
fn first_line(text: &str) -> usize {
    let outline = Outline::read_first(text.as_bytes()).ok();
    outline.and_then(|outline| outline.roots().next().map(|root| root.line())).unwrap_or(1)
}

fn no_map(node: &Node, line: usize) -> String {
    let (tag, shown) = match node {
        Node::List(_) => ("!!seq", String::new()),
        Node::Bool(value) => ("!!bool", format!(" `{value}`")),
        Node::Int(value) => ("!!int", format!(" `{value}`")),
        Node::Float(value) => ("!!float", format!(" `{}`", format_value(*value))),
        other => ("!!str", format!(" `{}`", shortened(other.as_str().unwrap_or_default()))),
    };
    format!(
        "yaml: unmarshal errors:\n  line {line}: cannot unmarshal {tag}{shown} into map[string]interface {{}}"
    )
}

/// The first characters of a scalar, as go-yaml's errors show it.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(7) {
        Some((at, _)) if text.chars().count() > 10 => format!("{}...", &text[..at]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_those_of_go_yaml_3() {
        let node = read(b"{a: yes, b: on, c: true, d: 1, e: 1.0, f: 1.5, g: 1e6, h: ~, i: 010}").unwrap();
        for (key, expected) in [
            ("a", Node::from("yes")),
            ("b", Node::from("on")),
            ("c", Node::Bool(true)),
            ("d", Node::Int(1)),
            ("e", Node::Int(1)),
            ("f", Node::Float(1.5)),
            ("g", Node::Float(1e6)),
            ("h", Node::Nil),
            ("i", Node::Int(8)),
        ] {
            assert_eq!(node.get(key), Some(&expected), "{key}");
        }
    }

    #[test]
    fn own_keys_win_over_merged_ones_and_keys_occur_once() {
        let node = read(b"a: &a {x: 1, y: 1}\nb: {x: 2, <<: *a}\n").unwrap();
        assert_eq!(node.get("b"), Some(&read(b"{x: 2, y: 1}").unwrap()));
        let error = read(b"a: 1\nb: 2\na: 3\n").unwrap_err().to_string();
        assert_eq!(error, "yaml: unmarshal errors:\n  line 3: mapping key \"a\" already defined at line 1");
    }

    #[test]
    fn documents_without_content_do_not_count() {
        let found = documents(b"# a\n---\na: 1\n---\n\n---\n# b\n--- \nb: 2\n").unwrap();
        assert_eq!(found.len(), 2);
        assert!(documents(b"a: 1\n---\ntext\n").unwrap_err().contains("cannot unmarshal !!str `text` into"));
        assert!(documents(b"\n# a\n- 1\n").unwrap_err().contains("\n  line 3: cannot unmarshal !!seq into"));
    }
}

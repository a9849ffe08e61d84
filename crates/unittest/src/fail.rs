//! How failed assertions are explained, line by line.

use pintle_tree::{Map, Node, Str};

/// The lines that explain why an assertion failed.
pub(crate) type Info = Vec<String>;

/// The format of errors.
pub(crate) const ERROR: &str = "Error:\n%s";

/// Returns the format of a failed expectation: with the path, what was found and the difference, if wanted.
pub(crate) fn format(negative: bool, path: bool, actual: bool, diff: bool, text: &str) -> String {
    let not = if negative { " NOT" } else { "" };
    let path = if path { "Path:%s" } else { "" };
    let actual = if actual { "\nActual:\n%s" } else { "" };
    let diff = if diff { "\nDiff:\n%s" } else { "" };
    format!("{path}\nExpected{not}{text}:\n%s{actual}{diff}")
}

/// Fills a format, indents what is filled in, and puts the indices of document and value before it.
pub(crate) fn lines(format: &str, document: Option<usize>, value: Option<usize>, texts: &[&str]) -> Info {
    let mut texts = texts.iter();
    let mut filled = String::new();
    let mut parts = format.trim_matches(['\t', '\n', ' ']).split("%s");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        if let Some(text) = texts.next() {
            filled.push('\t');
            filled.push_str(text.replace('\n', "\n\t").trim_matches(['\n', '\t', ' ']));
        }
        filled.push_str(part);
    }
    let mut lines = Vec::new();
    lines.extend(document.map(|index| format!("DocumentIndex:\t{index}")));
    lines.extend(value.map(|index| format!("ValuesIndex:\t{index}")));
    lines.extend(filled.split('\n').map(str::to_owned));
    lines
}

/// The lines of an error.
pub(crate) fn error(document: Option<usize>, value: Option<usize>, text: &str) -> Info {
    lines(ERROR, document, value, &[text])
}

/// A node as YAML in the style of snapshots.
pub(crate) fn yaml(node: &Node) -> String {
    let text = pintle_yaml::write_pretty(&without_leading_line_feeds(node));
    String::from_utf8_lossy(&text).into_owned()
}

/// The node with line feeds removed from the start of all strings; go-yaml writes those in a way that it does not read.
fn without_leading_line_feeds(node: &Node) -> Node {
    match node {
        Node::Str(text) if text.as_bytes().first() == Some(&b'\n') => {
            let start = text.as_bytes().iter().take_while(|byte| **byte == b'\n').count();
            Node::Str(Str::new(&text.as_bytes()[start..]))
        }
        Node::List(items) => Node::List(items.iter().map(without_leading_line_feeds).collect()),
        Node::Map(map) => Node::Map(
            map.iter()
                .map(|(key, node)| (key.clone(), without_leading_line_feeds(node)))
                .collect::<Map<Node>>(),
        ),
        other => other.clone(),
    }
}

/// The text without blanks at the ends of lines and without line feeds at its start.
pub(crate) fn uniform(text: &str) -> String {
    let mut uniform = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let without_return = body.strip_suffix('\r').unwrap_or(body);
        let trimmed = without_return.trim_end_matches(' ');
        // Only blanks before the end of a line go, with the carriage return after them.
        uniform.push_str(if end.is_empty() || trimmed.len() == without_return.len() {
            body
        } else {
            trimmed
        });
        uniform.push_str(end);
    }
    uniform.trim_start_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_filled_and_indented() {
        let format = format(true, true, true, false, " to equal");
        assert_eq!(
            lines(&format, Some(0), Some(1), &["a.b", "x\ny\n", "z\n"]),
            [
                "DocumentIndex:\t0",
                "ValuesIndex:\t1",
                "Path:\ta.b",
                "Expected NOT to equal:",
                "\tx",
                "\ty",
                "Actual:",
                "\tz"
            ]
        );
    }

    #[test]
    fn blanks_before_line_ends_do_not_count() {
        for (text, expected) in
            [("\n\na  \nb \r\nc\r\nd ", "a\nb\nc\r\nd "), ("a", "a"), ("", ""), ("  \n x", " x")]
        {
            assert_eq!(uniform(text), expected, "{text:?}");
        }
    }
}

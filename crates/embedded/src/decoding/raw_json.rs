//! JSON with the order of fields, duplicate fields and the digits of numbers. The real server reports errors in the
//! order of the text, which a tree does not have.

use std::collections::BTreeSet;

use pintle_tree::json::{self, Assemble, ErrorKind};
use pintle_tree::{Map, Node, Str, with_stack};

#[derive(Debug)]
pub(crate) enum RawJson {
    /// `null`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A number with its digits as written.
    Number(Str),
    /// Text.
    Str(Str),
    List(Vec<RawJson>),
    /// A map with duplicate keys.
    Map(Vec<(Str, RawJson)>),
}

struct Reader;

impl Assemble for Reader {
    type Value = RawJson;

    fn nil(&mut self) -> RawJson {
        RawJson::Nil
    }

    fn bool(&mut self, value: bool) -> RawJson {
        RawJson::Bool(value)
    }

    fn number(&mut self, text: &str, _: usize) -> RawJson {
        RawJson::Number(Str::from(text))
    }

    fn str(&mut self, text: Str) -> RawJson {
        RawJson::Str(text)
    }

    fn list(&mut self, items: Vec<RawJson>) -> RawJson {
        RawJson::List(items)
    }

    fn map(&mut self, entries: Vec<(Str, RawJson)>) -> RawJson {
        RawJson::Map(entries)
    }
}

impl RawJson {
    /// Parses one JSON value.
    ///
    /// # Errors
    ///
    /// With Go's messages.
    pub(crate) fn parse(text: &[u8]) -> Result<RawJson, json::Error> {
        let end = || json::Error::new(ErrorKind::Syntax, "unexpected end of JSON input", text.len());
        let (raw, length) =
            json::read_prefix_with(text, &mut Reader).map_err(|error| match error.kind() {
                ErrorKind::Empty => end(),
                // The message of `json.Decoder`; the server uses `json.Unmarshal`, which has another one for the same error.
                _ if error.to_string() == "unexpected EOF" => end(),
                _ => error,
            })?;
        if text[length..].iter().any(|byte| !byte.is_ascii_whitespace()) {
            // Only to get Go's message about what follows the value.
            json::read_exact(text)?;
        }
        Ok(raw)
    }

    /// Converts to a tree; the last of duplicate fields wins.
    pub(crate) fn node(&self) -> Node {
        match self {
            RawJson::Nil => Node::Nil,
            RawJson::Bool(value) => Node::Bool(*value),
            RawJson::Number(digits) => number(digits),
            RawJson::Str(text) => Node::Str(text.clone()),
            RawJson::List(items) => with_stack(|| Node::List(items.iter().map(RawJson::node).collect())),
            RawJson::Map(entries) => with_stack(|| {
                Node::Map(
                    entries.iter().map(|(key, value)| (key.clone(), value.node())).collect::<Map<Node>>(),
                )
            }),
        }
    }

    /// Converts from a tree; fields are in the order of their names.
    pub(crate) fn from_node(node: &Node) -> RawJson {
        match node {
            Node::Nil => RawJson::Nil,
            Node::Bool(value) => RawJson::Bool(*value),
            Node::Int(value) => RawJson::Number(Str::from(value.to_string())),
            Node::Float(value) => RawJson::Number(Str::from(
                pintle_tree::number::format_json(*value).unwrap_or_else(|| "0".into()),
            )),
            Node::Str(text) => RawJson::Str(text.clone()),
            Node::List(list) => with_stack(|| RawJson::List(list.iter().map(RawJson::from_node).collect())),
            Node::Map(map) => with_stack(|| {
                RawJson::Map(
                    map.iter().map(|(key, value)| (key.clone(), RawJson::from_node(value))).collect(),
                )
            }),
        }
    }

    /// The name of the type in Go's errors.
    pub(crate) fn json_type(&self) -> &'static str {
        match self {
            RawJson::Nil => "null",
            RawJson::Bool(_) => "bool",
            RawJson::Number(_) => "number",
            RawJson::Str(_) => "string",
            RawJson::List(_) => "array",
            RawJson::Map(_) => "object",
        }
    }

    /// Duplicate fields in order, as `duplicate field "a.b[0].c"`.
    pub(crate) fn duplicates(&self) -> Vec<String> {
        let mut found = UniqueList::default();
        self.find_duplicates(&mut String::new(), &mut found);
        found.list
    }

    fn find_duplicates(&self, path: &mut String, found: &mut UniqueList) {
        let length = path.len();
        match self {
            RawJson::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push_str(&format!("[{at}]"));
                    with_stack(|| item.find_duplicates(path, found));
                    path.truncate(length);
                }
            }
            RawJson::Map(entries) => {
                let mut seen: BTreeSet<&Str> = BTreeSet::new();
                for (key, value) in entries {
                    push_field(path, key);
                    if !seen.insert(key) {
                        found.push(format!("duplicate field \"{path}\""));
                    }
                    with_stack(|| value.find_duplicates(path, found));
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

impl Drop for RawJson {
    fn drop(&mut self) {
        match self {
            // The derived drop recurses without growing the stack, and the text of a client may nest deeply.
            RawJson::List(items) if !items.is_empty() => with_stack(|| items.clear()),
            RawJson::Map(entries) if !entries.is_empty() => with_stack(|| entries.clear()),
            _ => {}
        }
    }
}

/// Strings in order of insertion, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct UniqueList {
    pub(crate) list: Vec<String>,
    known: BTreeSet<String>,
}

impl UniqueList {
    pub(crate) fn push(&mut self, text: String) {
        if self.known.insert(text.clone()) {
            self.list.push(text);
        }
    }
}

/// Appends a field name to a path.
pub(crate) fn push_field(path: &mut String, name: &Str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&name.to_str_lossy());
}

/// Parses a number as apimachinery's JSON does: integers stay integers.
fn number(digits: &Str) -> Node {
    let text = digits.as_str().unwrap_or_default();
    match text.parse::<i64>() {
        Ok(whole) => Node::Int(whole),
        Err(_) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Node::Float(value),
            _ => Node::Nil,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_fields_are_found_in_order_and_the_last_wins() {
        let raw = RawJson::parse(br#"{"b":1,"a":[{"x":1,"x":2}],"b":2}"#).unwrap();
        assert_eq!(raw.duplicates(), [r#"duplicate field "a[0].x""#, r#"duplicate field "b""#]);
        assert_eq!(raw.node(), json::read_exact(br#"{"a":[{"x":2}],"b":2}"#).unwrap());
    }

    #[test]
    fn invalid_json_is_rejected_with_gos_messages() {
        for text in ["", "{", " ", "[1,"] {
            assert_eq!(
                RawJson::parse(text.as_bytes()).unwrap_err().to_string(),
                "unexpected end of JSON input"
            );
        }
        let trailing = RawJson::parse(b"{} x").unwrap_err().to_string();
        assert_eq!(trailing, "invalid character 'x' after top-level value");
    }

    #[test]
    fn deeply_nested_json_does_not_overflow_the_stack() {
        let text = format!("{}{}", "[".repeat(9_999), "]".repeat(9_999));
        assert!(RawJson::parse(text.as_bytes()).unwrap().duplicates().is_empty());
        assert!(RawJson::parse(format!("{}{}", "[".repeat(10_001), "]".repeat(10_001)).as_bytes()).is_err());
    }
}

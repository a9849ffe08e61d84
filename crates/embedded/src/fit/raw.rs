//! JSON as it was written: fields in their order, those that are there twice, numbers by their digits. The real server
//! tells faults in this order, and a tree has lost it.

use std::collections::BTreeSet;

use pintle_tree::json::{self, Assemble, ErrorKind};
use pintle_tree::{Map, Node, Str, with_stack};

/// A value as it was written.
#[derive(Debug)]
pub(crate) enum Raw {
    /// `null`.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A number by its digits.
    Number(Str),
    /// Text.
    Str(Str),
    /// A list.
    List(Vec<Raw>),
    /// A map; keys may repeat.
    Map(Vec<(Str, Raw)>),
}

struct Reader;

impl Assemble for Reader {
    type Value = Raw;

    fn nil(&mut self) -> Raw {
        Raw::Nil
    }

    fn bool(&mut self, value: bool) -> Raw {
        Raw::Bool(value)
    }

    fn number(&mut self, text: &str, _: usize) -> Raw {
        Raw::Number(Str::from(text))
    }

    fn str(&mut self, text: Str) -> Raw {
        Raw::Str(text)
    }

    fn list(&mut self, items: Vec<Raw>) -> Raw {
        Raw::List(items)
    }

    fn map(&mut self, entries: Vec<(Str, Raw)>) -> Raw {
        Raw::Map(entries)
    }
}

impl Raw {
    /// Reads one JSON value.
    ///
    /// # Errors
    /// Go's error texts.
    pub(crate) fn read(text: &[u8]) -> Result<Raw, json::Error> {
        let end = || json::Error::new(ErrorKind::Syntax, "unexpected end of JSON input", text.len());
        let (raw, length) =
            json::read_prefix_with(text, &mut Reader).map_err(|error| match error.kind() {
                ErrorKind::Empty => end(),
                _ if error.to_string() == "unexpected EOF" => end(),
                _ => error,
            })?;
        if text[length..].iter().any(|byte| !byte.is_ascii_whitespace()) {
            json::read_exact(text)?;
        }
        Ok(raw)
    }

    /// The value as a tree; of fields that are there twice, the last counts.
    pub(crate) fn node(&self) -> Node {
        match self {
            Raw::Nil => Node::Nil,
            Raw::Bool(value) => Node::Bool(*value),
            Raw::Number(digits) => number(digits),
            Raw::Str(text) => Node::Str(text.clone()),
            Raw::List(items) => with_stack(|| Node::List(items.iter().map(Raw::node).collect())),
            Raw::Map(entries) => with_stack(|| {
                Node::Map(
                    entries.iter().map(|(key, value)| (key.clone(), value.node())).collect::<Map<Node>>(),
                )
            }),
        }
    }

    /// A tree as if it had been written in the order of its names.
    pub(crate) fn of(node: &Node) -> Raw {
        match node {
            Node::Nil => Raw::Nil,
            Node::Bool(value) => Raw::Bool(*value),
            Node::Int(value) => Raw::Number(Str::from(value.to_string())),
            Node::Float(value) => {
                Raw::Number(Str::from(pintle_tree::number::format_json(*value).unwrap_or_else(|| "0".into())))
            }
            Node::Str(text) => Raw::Str(text.clone()),
            Node::List(list) => with_stack(|| Raw::List(list.iter().map(Raw::of).collect())),
            Node::Map(map) => with_stack(|| {
                Raw::Map(map.iter().map(|(key, value)| (key.clone(), Raw::of(value))).collect())
            }),
        }
    }

    /// What Go calls the type of the value in errors.
    pub(crate) fn json_type(&self) -> &'static str {
        match self {
            Raw::Nil => "null",
            Raw::Bool(_) => "bool",
            Raw::Number(_) => "number",
            Raw::Str(_) => "string",
            Raw::List(_) => "array",
            Raw::Map(_) => "object",
        }
    }

    /// The fields that are there twice, in order, as `duplicate field "a.b[0].c"`.
    pub(crate) fn duplicates(&self) -> Vec<String> {
        let mut found = Told::default();
        self.find_duplicates(&mut String::new(), &mut found);
        found.list
    }

    fn find_duplicates(&self, path: &mut String, found: &mut Told) {
        let length = path.len();
        match self {
            Raw::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push_str(&format!("[{at}]"));
                    with_stack(|| item.find_duplicates(path, found));
                    path.truncate(length);
                }
            }
            Raw::Map(entries) => {
                let mut seen: BTreeSet<&Str> = BTreeSet::new();
                for (key, value) in entries {
                    push_field(path, key);
                    if !seen.insert(key) {
                        found.tell(format!("duplicate field \"{path}\""));
                    }
                    with_stack(|| value.find_duplicates(path, found));
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        match self {
            Raw::List(items) if !items.is_empty() => with_stack(|| items.clear()),
            Raw::Map(entries) if !entries.is_empty() => with_stack(|| entries.clear()),
            _ => {}
        }
    }
}

/// What is told once each, in order.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) list: Vec<String>,
    known: BTreeSet<String>,
}

impl Told {
    /// Tells a text unless it was told before.
    pub(crate) fn tell(&mut self, text: String) {
        if self.known.insert(text.clone()) {
            self.list.push(text);
        }
    }
}

/// Puts a field behind the way to it.
pub(crate) fn push_field(path: &mut String, name: &Str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&name.to_str_lossy());
}

/// A number as Kubernetes' own tools read it: whole ones stay whole.
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
    fn fields_that_are_there_twice_are_found_in_order_and_the_last_counts() {
        let raw = Raw::read(br#"{"b":1,"a":[{"x":1,"x":2}],"b":2}"#).unwrap();
        assert_eq!(raw.duplicates(), [r#"duplicate field "a[0].x""#, r#"duplicate field "b""#]);
        assert_eq!(raw.node(), json::read_exact(br#"{"a":[{"x":2}],"b":2}"#).unwrap());
    }

    #[test]
    fn broken_text_is_refused_in_gos_words() {
        for text in ["", "{", " ", "[1,"] {
            assert_eq!(Raw::read(text.as_bytes()).unwrap_err().to_string(), "unexpected end of JSON input");
        }
        let trailing = Raw::read(b"{} x").unwrap_err().to_string();
        assert_eq!(trailing, "invalid character 'x' after top-level value");
    }

    #[test]
    fn deep_text_costs_no_stack() {
        let text = format!("{}{}", "[".repeat(9_999), "]".repeat(9_999));
        assert!(Raw::read(text.as_bytes()).unwrap().duplicates().is_empty());
        assert!(Raw::read(format!("{}{}", "[".repeat(10_001), "]".repeat(10_001)).as_bytes()).is_err());
    }
}

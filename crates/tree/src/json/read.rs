//! Parses JSON without recursion, so that depth costs no stack.

use super::scan::Scanner;
use super::type_error::{path_at, type_error};
use super::{Error, ErrorKind, MAX_DEPTH};
use crate::{Map, Node, Str};

/// Builds what [`read_prefix_with`] reads.
pub trait Assemble {
    /// What is built.
    type Value;

    /// Builds nil.
    fn nil(&mut self) -> Self::Value;
    /// Builds a boolean.
    fn bool(&mut self, value: bool) -> Self::Value;
    /// Builds a number from its text, which ends at byte `end`.
    fn number(&mut self, text: &str, end: usize) -> Self::Value;
    /// Builds a string.
    fn str(&mut self, text: Str) -> Self::Value;
    /// Builds a list.
    fn list(&mut self, items: Vec<Self::Value>) -> Self::Value;
    /// Builds a map from its entries as written; keys may repeat.
    fn map(&mut self, entries: Vec<(Str, Self::Value)>) -> Self::Value;
}

/// Builds nodes. As in Go, a number that is too large becomes zero, and the first one is reported.
#[derive(Default)]
struct Nodes {
    /// The first number that is too large, and where it ends.
    too_large: Option<(String, usize)>,
    /// Whether integers are kept.
    exact: bool,
}

impl Assemble for Nodes {
    type Value = Node;

    fn nil(&mut self) -> Node {
        Node::Nil
    }

    fn bool(&mut self, value: bool) -> Node {
        Node::Bool(value)
    }

    fn number(&mut self, text: &str, end: usize) -> Node {
        if self.exact
            && let Ok(whole) = text.parse::<i64>()
        {
            return Node::Int(whole);
        }
        // Rust's parser returns an infinity where Go's returns a range error.
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Node::Float(value),
            _ => {
                self.too_large.get_or_insert_with(|| (text.to_owned(), end));
                Node::Float(0.0)
            }
        }
    }

    fn str(&mut self, text: Str) -> Node {
        Node::Str(text)
    }

    fn list(&mut self, items: Vec<Node>) -> Node {
        Node::List(items)
    }

    fn map(&mut self, entries: Vec<(Str, Node)>) -> Node {
        Node::Map(Map::from_entries(entries))
    }
}

impl Nodes {
    /// The error about the first number that is too large.
    fn error(self, text: &[u8]) -> Option<Error> {
        let (number, end) = self.too_large?;
        let wrong = |path: &str| type_error(&format!("number {number}"), "", path, "float64");
        // The decoder of older Go does not know the path of an untyped value.
        Some(Error::new(ErrorKind::Type, wrong(&path_at(text, end)), end).with_kubernetes(wrong("")))
    }
}

/// Reads one JSON value, as Go's `json.Unmarshal` into an untyped value does. Numbers become [`Node::Float`].
///
/// # Errors
/// Go's texts, for invalid syntax and for numbers that are too large.
pub fn read(text: &[u8]) -> Result<Node, Error> {
    match read_partly(text)? {
        (node, None) => Ok(node),
        (_, Some(error)) => Err(error),
    }
}

/// Parses one JSON value with integers as [`Node::Int`], as Kubernetes' own tools do.
///
/// # Errors
/// Like [`read`].
pub fn read_exact(text: &[u8]) -> Result<Node, Error> {
    match read_all(text, Nodes { exact: true, ..Nodes::default() })? {
        (node, None) => Ok(node),
        (_, Some(error)) => Err(error),
    }
}

/// Parses one JSON value, and returns it even if a number is too large: Go continues with zero in its place.
///
/// # Errors
/// For invalid syntax only.
pub fn read_partly(text: &[u8]) -> Result<(Node, Option<Error>), Error> {
    read_all(text, Nodes::default())
}

fn read_all(text: &[u8], mut nodes: Nodes) -> Result<(Node, Option<Error>), Error> {
    let mut reader = Reader::new(text, false, &mut nodes);
    let node = reader.value()?;
    if reader.scanner.peek().is_some() {
        return Err(reader.scanner.unexpected("after top-level value"));
    }
    Ok((node, nodes.error(text)))
}

/// Parses a JSON object, as Go's `json.Unmarshal` into a map; `null` gives an empty map.
///
/// # Errors
/// Like [`read`], and if the value is not an object.
pub fn read_map(text: &[u8]) -> Result<Map<Node>, Error> {
    match read(text)? {
        Node::Map(map) => Ok(map),
        // Go leaves the map nil, which templates and values treat as empty.
        Node::Nil => Ok(Map::new()),
        other => {
            let message = type_error(other.json_type(), "", "", "map[string]interface {}");
            Err(Error::new(ErrorKind::Type, message, text.len()))
        }
    }
}

/// Parses one JSON value at the start of a longer text, as one step of Go's `json.Decoder`. Returns it with its
/// length in bytes.
///
/// # Errors
/// Like [`read`]; [`ErrorKind::Empty`] if there is nothing but white space.
pub fn read_prefix(text: &[u8]) -> Result<(Node, usize), Error> {
    let mut nodes = Nodes::default();
    let result = read_prefix_with(text, &mut nodes)?;
    match nodes.error(text) {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Like [`read_prefix`], for anything that can be built.
///
/// # Errors
/// Invalid syntax; [`ErrorKind::Empty`] if there is nothing but white space.
pub fn read_prefix_with<A: Assemble>(text: &[u8], assembler: &mut A) -> Result<(A::Value, usize), Error> {
    let mut reader = Reader::new(text, true, assembler);
    if reader.scanner.peek().is_none() {
        return Err(Error::new(ErrorKind::Empty, "EOF", text.len()));
    }
    let value = reader.value()?;
    Ok((value, reader.scanner.at))
}

/// A list or map that is not closed yet.
enum Open<V> {
    List(Vec<V>),
    Map(Vec<(Str, V)>, Str),
}

struct Reader<'t, 'a, A> {
    scanner: Scanner<'t>,
    assembler: &'a mut A,
}

impl<'t, 'a, A: Assemble> Reader<'t, 'a, A> {
    fn new(text: &'t [u8], stream: bool, assembler: &'a mut A) -> Self {
        Reader { scanner: Scanner { text, at: 0, stream }, assembler }
    }

    /// Parses one value. The enclosing lists and maps are kept in `open`.
    fn value(&mut self) -> Result<A::Value, Error> {
        let mut open: Vec<Open<A::Value>> = Vec::new();
        loop {
            let mut value = match self.scanner.peek() {
                Some(b'{') => {
                    self.descend(open.len(), '{')?;
                    if self.scanner.peek() != Some(b'}') {
                        let key = self.key()?;
                        open.push(Open::Map(Vec::new(), key));
                        continue;
                    }
                    self.scanner.at += 1;
                    self.assembler.map(Vec::new())
                }
                Some(b'[') => {
                    self.descend(open.len(), '[')?;
                    if self.scanner.peek() != Some(b']') {
                        open.push(Open::List(Vec::new()));
                        continue;
                    }
                    self.scanner.at += 1;
                    self.assembler.list(Vec::new())
                }
                _ => self.scalar()?,
            };
            // The value may complete the lists and maps around it.
            loop {
                let Some(mut top) = open.pop() else { return Ok(value) };
                if !self.append(&mut top, value)? {
                    open.push(top);
                    break;
                }
                value = match top {
                    Open::List(items) => self.assembler.list(items),
                    Open::Map(entries, _) => self.assembler.map(entries),
                };
            }
        }
    }

    /// Consumes an opening bracket, unless that is too deep.
    fn descend(&mut self, depth: usize, bracket: char) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            return Err(self.scanner.too_deep(bracket));
        }
        self.scanner.at += 1;
        Ok(())
    }

    /// Adds `value` to `top`. Returns whether `top` is complete.
    fn append(&mut self, top: &mut Open<A::Value>, value: A::Value) -> Result<bool, Error> {
        let next = self.scanner.peek();
        let complete = match top {
            Open::List(items) => {
                items.push(value);
                match next {
                    Some(b',') => false,
                    Some(b']') => true,
                    _ => return Err(self.scanner.unexpected("after array element")),
                }
            }
            Open::Map(entries, key) => {
                entries.push((std::mem::take(key), value));
                match next {
                    Some(b',') => false,
                    Some(b'}') => true,
                    _ => return Err(self.scanner.unexpected("after object key:value pair")),
                }
            }
        };
        self.scanner.at += 1;
        if let (false, Open::Map(_, key)) = (complete, top) {
            *key = self.key()?;
        }
        Ok(complete)
    }

    /// Consumes a key and its colon.
    fn key(&mut self) -> Result<Str, Error> {
        if self.scanner.peek() != Some(b'"') {
            return Err(self.scanner.unexpected("looking for beginning of object key string"));
        }
        let key = self.scanner.string()?;
        if self.scanner.peek() != Some(b':') {
            return Err(self.scanner.unexpected("after object key"));
        }
        self.scanner.at += 1;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<A::Value, Error> {
        match self.scanner.peek() {
            Some(b'"') => self.scanner.string().map(|text| self.assembler.str(text)),
            Some(b't') => self.scanner.word("true").map(|()| self.assembler.bool(true)),
            Some(b'f') => self.scanner.word("false").map(|()| self.assembler.bool(false)),
            Some(b'n') => self.scanner.word("null").map(|()| self.assembler.nil()),
            Some(b'-' | b'0'..=b'9') => {
                let text = self.scanner.number()?;
                Ok(self.assembler.number(text, self.scanner.at))
            }
            _ => Err(self.scanner.unexpected("looking for beginning of value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_with_the_last_of_equal_keys() {
        let node = read(br#" {"b":[1,-2.5e1,true,null,{}],"a":"x","b2":[],"a":"y"} "#).unwrap();
        assert_eq!(node.get("a"), Some(&Node::from("y")));
        let list = vec![Node::Float(1.0), Node::Float(-25.0), Node::Bool(true), Node::Nil, Node::empty_map()];
        assert_eq!(node.get("b"), Some(&Node::List(list)));
    }

    #[test]
    fn strings_lose_escapes_and_invalid_bytes() {
        let node = read(b"\"a\\n\\u00e9\\ud83d\\ude00\\ud83dx\\/\xe4\xb8\"").unwrap();
        assert_eq!(node.as_str(), Some("a\né😀\u{fffd}x/\u{fffd}\u{fffd}"));
    }

    #[test]
    fn complaints_are_worded_as_go_words_them() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            ("-", "unexpected end of JSON input"),
            ("1e+", "unexpected end of JSON input"),
            ("tru", "unexpected end of JSON input"),
            ("t ", "invalid character ' ' in literal true (expecting 'r')"),
            ("tré", "invalid character 'é' in literal true (expecting 'u')"),
            ("01", "invalid character '1' after top-level value"),
            ("1.x", "invalid character 'x' in numeric literal"),
            ("1ex", "invalid character 'x' in numeric literal"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("'", "invalid character '\\'' looking for beginning of value"),
            ("\"\n\"", "invalid character '\\n' in string"),
            ("\"\\x\"", "invalid escape sequence `\\x` in string"),
            ("\"\\é\"", "invalid escape sequence \"\\\\\\xc3\" in string"),
            ("\"\\`\"", "invalid escape sequence \"\\\\`\" in string"),
            ("\"\\u12\"", "invalid escape sequence `\\u12\"` in string"),
            ("\"\\u12zz34", "invalid escape sequence `\\u12zz` in string"),
            ("\"\\u12", "unexpected end of JSON input"),
            ("\"\\", "unexpected end of JSON input"),
            ("é", "invalid character 'é' looking for beginning of value"),
            ("\u{feff}{}", "invalid character '\\ufeff' looking for beginning of value"),
            ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        let invalid = read(b"[\xe4\xb8]").unwrap_err();
        assert_eq!(invalid.to_string(), "invalid character '\\xe4' looking for beginning of value");
        let offset = |text: &str| read(text.as_bytes()).unwrap_err().offset();
        assert_eq!((offset("[1 2]"), offset("[1,é]"), offset("\"\\u12zz34")), (4, 5, 7));
    }

    #[test]
    fn a_number_that_is_too_large_is_zero_and_the_first_is_named_by_its_path() {
        let text = br#"{"a":1,"b":{"x/y":[0,{"c\u0064":1E400}]},"c":-1e999}"#;
        let (node, problem) = read_partly(text).unwrap();
        assert_eq!(node.get("c"), Some(&Node::Float(0.0)));
        let problem = problem.unwrap();
        assert_eq!(
            problem.to_string(),
            "json: cannot unmarshal number 1E400 into Go struct field .b.x~1y.1.cd of type float64"
        );
        assert_eq!(
            problem.kubernetes_text(),
            "json: cannot unmarshal number 1E400 into Go value of type float64"
        );
        assert_eq!(error("[1,1e400]"), "json: cannot unmarshal number 1e400 into .1 of type float64");
    }

    #[test]
    fn kubernetes_keeps_the_texts_of_older_go() {
        for (text, message) in [
            ("-", "invalid character ' ' in numeric literal"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("[1 2]", "invalid character '2' after array element"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u12\"", "invalid character '\"' in \\u hexadecimal character escape"),
            ("\"\\", "invalid character ' ' in string escape code"),
            ("é", "invalid character 'Ã' looking for beginning of value"),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err().kubernetes_text(), message, "{text}");
        }
    }

    #[test]
    fn a_prefix_ends_where_its_value_ends() {
        assert_eq!(read_prefix(b"[1],b=2").unwrap().1, 3);
        assert_eq!(read_prefix(b" 12abc").unwrap(), (Node::Float(12.0), 3));
        assert_eq!(read_prefix(b"{\"a\":1").unwrap_err().to_string(), "unexpected EOF");
        assert_eq!(read_prefix(b"  ").unwrap_err().kind(), ErrorKind::Empty);
    }

    #[test]
    fn depth_is_limited_and_the_limit_is_survived() {
        let nested = |depth| ["{\"a\":[".repeat(depth / 2), "]}".repeat(depth / 2)].concat();
        // Without optimization, copying and dropping a tree take several times the stack.
        let stack = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };
        let thread = std::thread::Builder::new().stack_size(stack).spawn(move || {
            let node = read(nested(MAX_DEPTH).as_bytes()).unwrap();
            let copy = node.clone();
            assert!(copy == node);
            assert_eq!(crate::json::write(&node).unwrap(), nested(MAX_DEPTH).as_bytes());
        });
        thread.unwrap().join().unwrap();
        let too_deep = "[".repeat(MAX_DEPTH + 1);
        assert_eq!(error(&too_deep), "exceeded max depth");
    }
}

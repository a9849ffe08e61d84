//! Paths, queries and bodies of requests.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::{Failure, Result};

/// The parameters of a query. Of repeated ones the first counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn read(text: &str) -> Result<Query> {
        let mut parameters = HashMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(&value.replace('+', " "))?;
            parameters.entry(decoded(key)?).or_insert(value);
        }
        Ok(Query(parameters))
    }

    /// A query that only chooses a context.
    pub(crate) fn for_context(name: &str) -> Query {
        Query(HashMap::from([("context".to_owned(), name.to_owned())]))
    }

    /// A parameter; empty when it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    pub(crate) fn on(&self, name: &str) -> bool {
        matches!(self.text(name), "true" | "1")
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>> {
        self.given(name)
            .map(|text| {
                text.parse().map_err(|_| Failure::input(format!("`{name}` is `{text}`, and not a number")))
            })
            .transpose()
    }

    /// A parameter with words between commas.
    pub(crate) fn words(&self, name: &str) -> Vec<&str> {
        self.text(name).split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
    }
}

/// Decodes `%41`. Control characters are refused: no name has them, and texts of errors quote names.
pub(crate) fn decoded(text: &str) -> Result<String> {
    let bad = || Failure::input("the address is not encoded as URLs are");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else { return Err(bad()) };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    if bytes.iter().any(u8::is_ascii_control) {
        return Err(bad());
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// The deepest body.
const MAX_DEPTH: usize = 64;

/// The body of a request: a JSON object.
pub(crate) fn body(bytes: &[u8]) -> Result<Value> {
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Failure::input(format!("the body of the request is not JSON: {error}")))?;
    match &value {
        Value::Object(_) if depth(&value) <= MAX_DEPTH => Ok(value),
        Value::Object(_) => Err(Failure::input(format!("the body is nested deeper than {MAX_DEPTH} levels"))),
        _ => Err(Failure::input("the body of the request is not an object")),
    }
}

/// `serde_json` has read it, so that it has 128 levels at most.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

/// A field of a body that is a string; empty when it is missing.
pub(crate) fn text<'b>(body: &'b Value, name: &str) -> Result<&'b str> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Failure::input(format!("`{name}` is not a string"))),
    }
}

/// A field of a body that is true or false.
pub(crate) fn flag(body: &Value, name: &str, default: bool) -> Result<bool> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(Failure::input(format!("`{name}` is neither true nor false"))),
    }
}

/// A field of a body that is a number.
pub(crate) fn number(body: &Value, name: &str) -> Result<Option<u64>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_u64().map(Some).ok_or_else(|| Failure::input(format!("`{name}` is not a number")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_and_control_characters_refused() {
        let query = Query::read("a=%2Fb+c&a=second&empty=&flag=true").expect("a query");
        assert_eq!((query.text("a"), query.text("none"), query.given("empty")), ("/b c", "", None));
        assert!(query.on("flag") && !query.on("a"));
        for text in ["a=%", "a=%zz", "a=%0a", "a=%ff", "%00=b"] {
            assert!(Query::read(text).is_err(), "{text}");
        }
        assert!(query.number("a").is_err());
    }

    #[test]
    fn bodies_are_objects_of_limited_depth() {
        assert!(body(b"[]").is_err() && body(b"{").is_err() && body(b"").is_ok());
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        let failure = body(deep.as_bytes()).expect_err("too deep");
        assert!(failure.message.contains("64 levels"), "{}", failure.message);
    }
}

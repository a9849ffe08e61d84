//! The full reader: reads every text that go-yaml reads, with the same result, and reports every error with its text.
//! It is go-yaml's pipeline: `input` decodes characters, `scan` makes tokens, `parse` events, `compose` a
//! flat document and `decode` passes it to the builder. Each stage keeps go-yaml's order of work, because
//! which of several mistakes is reported depends on it.

mod comments;
mod compose;
mod cursor;
mod decode;
mod input;
mod key;
mod parse;
mod scalar;
mod scan;
mod spell;
mod tag;
mod token;

use crate::builder::{Assembler, Builder};
use crate::error::Error;
use crate::value::Value;
pub(crate) use comments::Comments;
pub(crate) use compose::{Document, Shape};
pub(crate) use decode::{Budget, scalar_meaning};
use decode::{Failure, decode};
pub(crate) use key::key_text;
pub(crate) use parse::{EventKind, Parser};
pub(crate) use scalar::{escaped, scalar_text};
pub(crate) use scan::Scanner;
pub(crate) use token::{Token, Word};

/// Options of the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether a duplicate key is an error.
    pub(crate) strict: bool,
}

/// Reads the first document of `text` with go-yaml's own semantics, before the conversion to JSON.
pub(crate) fn read_yaml<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Node, Error> {
    let document = Document::read(text)?;
    match decode(&document, builder, false) {
        Ok(()) | Err(Failure::Number) => Ok(builder.finish()),
        Err(Failure::Yaml(error)) => Err(error),
        Err(Failure::Depth(_)) => Err(Error::new("yaml: exceeded max depth of 10000")),
    }
}

/// Reads the first document of `text` as it is after its conversion to JSON. Errors name the step that failed.
pub(crate) fn read<B: Builder>(text: &[u8], builder: &mut B, rules: Rules) -> Result<B::Node, Error> {
    const CONVERTING: &str = "error converting YAML to JSON";
    let document = Document::read(text).map_err(|error| error.within(CONVERTING))?;
    decode(&document, builder, rules.strict).map_err(|failure| match failure {
        Failure::Yaml(error) => error.within(CONVERTING),
        Failure::Number => unsupported_number(&document).within(CONVERTING),
        Failure::Depth(bracket) => Error::new(format!("invalid character '{bracket}' exceeded max depth"))
            .within("error unmarshaling JSON: while decoding JSON"),
    })?;
    Ok(builder.finish())
}

/// The error about the first number that JSON cannot represent.
fn unsupported_number(document: &Document) -> Error {
    let mut assembler = Assembler::<Value>::default();
    // Decoding fails, but still passes the whole tree to the builder.
    let _ = decode(document, &mut assembler, false);
    let number = assembler.finish().first_unsupported().unwrap_or(f64::NAN);
    Error::new(format!("json: unsupported value: {}", pintle_tree::number::format_value(number)))
}

#[cfg(test)]
mod tests {
    fn json(text: &str) -> String {
        let json = crate::to_json(text.as_bytes()).unwrap();
        String::from_utf8(json).unwrap()
    }

    fn error(text: &str) -> String {
        crate::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn merges_apply_in_the_order_of_the_document() {
        let text = "a: &a {x: 1, w: 1}\nb: &b {x: 2, z: 2}\nc: {x: 0, <<: [*a, *b], z: 3}";
        assert_eq!(json(text), r#"{"a":{"w":1,"x":1},"b":{"x":2,"z":2},"c":{"w":1,"x":1,"z":3}}"#);
        assert_eq!(
            error("<<: 1"),
            "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value"
        );
    }

    #[test]
    fn keys_become_text() {
        assert_eq!(
            json("{1: a, 0x10: b, 1.5: c, yes: d, 'x': e}"),
            r#"{"1":"a","1.5":"c","16":"b","true":"d","x":"e"}"#
        );
        assert_eq!(
            error("a: {null: [1, {b: ~}]}"),
            "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: \
             []interface {}{1, map[interface {}]interface {}{\"b\":interface {}(nil)}}"
        );
    }

    #[test]
    fn errors_name_the_line_as_go_counts_it() {
        let error = crate::read(b"a: 1\nb: c: d\n").unwrap_err();
        assert_eq!(error.line(), Some(2));
        assert_eq!(
            error.to_string(),
            "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context"
        );
        let error = crate::read(b"a: 1\n- b\n").unwrap_err();
        assert_eq!(error.line(), Some(1));
        assert_eq!(
            error.to_string(),
            "error converting YAML to JSON: yaml: line 1: did not find expected key"
        );
    }

    #[test]
    fn the_first_number_in_the_order_of_json_is_refused() {
        assert_eq!(
            error("{b: .nan, a: [1, -.inf]}"),
            "error converting YAML to JSON: json: unsupported value: -Inf"
        );
    }

    #[test]
    fn repeated_keys_are_errors_when_strict() {
        let error = crate::read_strict(b"a: {b: 1, b: 2}\na: 3\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "error converting YAML to JSON: yaml: unmarshal errors:\n  line 1: key \"b\" already set in map\n  \
             line 2: key \"a\" already set in map"
        );
        assert!(crate::read_strict(b"a: {b: 1}\nc: {b: 2}\n").is_ok());
    }
}

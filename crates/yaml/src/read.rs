//! The faithful reader: every text that Go reads, read as Go reads it, and every error in Go's words.

mod compose;
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
use compose::Document;
use decode::{Failure, decode};
pub(crate) use key::key_text;
pub(crate) use scalar::escaped;

/// What a caller wants to be told about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether a key that comes twice is an error.
    pub(crate) strict: bool,
}

/// Reads the first document of `text` with go-yaml's own meaning, before any JSON is made of it.
pub(crate) fn read_yaml<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Node, Error> {
    let document = Document::read(text)?;
    match decode(&document, builder, false) {
        Ok(()) | Err(Failure::Number) => Ok(builder.finish()),
        Err(Failure::Yaml(error)) => Err(error),
        Err(Failure::Depth(_)) => Err(Error::new("yaml: exceeded max depth of 10000")),
    }
}

/// Reads the first document of `text` as it is after its way through JSON. Errors name the step that failed.
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

/// The error about the first number of a document that is none in JSON.
fn unsupported_number(document: &Document) -> Error {
    let mut assembler = Assembler::<Value>::default();
    // That this fails is known; it tells the whole tree all the same.
    let _ = decode(document, &mut assembler, false);
    let number = assembler.finish().first_unsupported().unwrap_or(f64::NAN);
    Error::new(format!("json: unsupported value: {}", pintle_tree::number::format_value(number)))
}

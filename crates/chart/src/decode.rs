//! Parses the YAML of a chart's files, with errors that name the file.

use pintle_tree::Node;
pub(crate) use pintle_yaml::decode::Decoder;

use crate::error::{Error, Result};

/// Parses the YAML of `file`; in strict mode duplicate keys are errors.
pub(crate) fn read_tree(text: &[u8], file: &'static str, strict: bool) -> Result<Node> {
    pintle_yaml::decode::read_tree(text, strict).map_err(|error| Error::File {
        file,
        line: error.line(),
        reason: error.to_string(),
    })
}

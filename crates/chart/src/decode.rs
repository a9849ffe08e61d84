//! The YAML of a chart's files, read for decoding, with errors that name the file.

use pintle_tree::Node;
pub(crate) use pintle_yaml::decode::{Decoder, Place};

use crate::error::{Error, Result};

/// Reads the YAML of `file`; strict reading refuses duplicate keys.
pub(crate) fn read_tree(text: &[u8], file: &'static str, strict: bool) -> Result<Node> {
    pintle_yaml::decode::read_tree(text, strict).map_err(|error| Error::File {
        file,
        line: error.line(),
        reason: error.to_string(),
    })
}

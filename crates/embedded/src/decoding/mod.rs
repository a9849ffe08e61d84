//! Decoding of objects: JSON, YAML and protobuf to unstructured objects that look as if they had passed through the
//! server's Go types.

mod decoder;
mod go_types;
mod protobuf;
pub(crate) mod raw_json;

pub use decoder::{Decoded, Source};
pub use protobuf::{ProtobufError, decode_protobuf};

use pintle_tree::Node;

use crate::schema::Schema;
use go_types::GoTypes;
use raw_json::RawJson;

/// The decoder of a built-in kind: its Go type, and its schema in one version of Kubernetes.
#[derive(Clone, Copy)]
pub struct BuiltIn<'t> {
    number: usize,
    schema: Schema<'t>,
}

impl<'t> BuiltIn<'t> {
    /// Looks up a built-in kind.
    pub fn find(api_version: &str, kind: &str, schema: Schema<'t>) -> Option<BuiltIn<'t>> {
        GoTypes::all().kind(api_version, kind).map(|number| BuiltIn { number, schema })
    }

    /// The object with no fields set. Comparing with it shows which fields a new object sets.
    pub fn empty(&self) -> Node {
        GoTypes::all().empty(self.number, Some(self.schema))
    }

    /// Decodes JSON.
    ///
    /// # Errors
    ///
    /// The server's message about invalid JSON, or about the first value of a wrong type.
    pub fn decode(&self, text: &[u8]) -> Result<Decoded, String> {
        let raw = RawJson::parse(text).map_err(|error| error.kubernetes_text().to_owned())?;
        decoder::decode_built_in(self.number, self.schema, &raw, Source::Text)
    }

    /// Decodes an unstructured object: the result of a patch, or parsed YAML.
    ///
    /// # Errors
    ///
    /// As [`BuiltIn::decode`], with the messages for `source`.
    pub fn decode_tree(&self, tree: &Node, source: Source) -> Result<Decoded, String> {
        decoder::decode_built_in(self.number, self.schema, &RawJson::from_node(tree), source)
    }
}

#[cfg(test)]
mod tests;

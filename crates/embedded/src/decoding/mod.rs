//! Whether objects fit their kinds: reading, defaults, rules.

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

/// A built-in kind: its Go type, and its schema in one version of Kubernetes.
#[derive(Clone, Copy)]
pub struct BuiltIn<'t> {
    number: usize,
    schema: Schema<'t>,
}

impl<'t> BuiltIn<'t> {
    /// The kind, if there is one of that name among those built in.
    pub fn find(api_version: &str, kind: &str, schema: Schema<'t>) -> Option<BuiltIn<'t>> {
        GoTypes::all().kind(api_version, kind).map(|number| BuiltIn { number, schema })
    }

    /// The object of this kind without any values, which is what new objects are compared with to find out who owns
    /// what.
    pub fn empty(&self) -> Node {
        GoTypes::all().empty(self.number)
    }

    /// Reads an object from JSON text as it was sent.
    ///
    /// # Errors
    /// The server's words for text that is no JSON, or for the first value of a wrong type.
    pub fn decode(&self, text: &[u8]) -> Result<Decoded, String> {
        let raw = RawJson::parse(text).map_err(|error| error.to_string())?;
        decoder::decode_built_in(self.number, self.schema, &raw, Source::Text)
    }

    /// Reads an object from a tree: one that a patch has left, or one that came as YAML.
    ///
    /// # Errors
    /// As [`BuiltIn::read`], in the words for its source.
    pub fn decode_tree(&self, tree: &Node, source: Source) -> Result<Decoded, String> {
        decoder::decode_built_in(self.number, self.schema, &RawJson::from_node(tree), source)
    }
}

#[cfg(test)]
mod tests;

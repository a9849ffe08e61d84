//! Whether objects fit their kinds: reading, defaults, rules.

mod go_types;
mod quantity;
pub(crate) mod raw;
mod read;

pub use read::{Object, Source};

use pintle_tree::Node;

use crate::schema::Schema;
use go_types::GoTypes;
use raw::Raw;

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
    pub fn read(&self, text: &[u8]) -> Result<Object, String> {
        let raw = Raw::read(text).map_err(|error| error.to_string())?;
        read::read_built_in(self.number, self.schema, &raw, Source::Text)
    }

    /// Reads an object from a tree: one that a patch has left, or one that came as YAML.
    ///
    /// # Errors
    /// As [`BuiltIn::read`], in the words for its source.
    pub fn read_tree(&self, tree: &Node, source: Source) -> Result<Object, String> {
        read::read_built_in(self.number, self.schema, &Raw::of(tree), source)
    }
}

#[cfg(test)]
mod tests;

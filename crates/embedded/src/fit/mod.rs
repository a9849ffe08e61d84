//! Whether objects fit their kinds: reading, defaults, rules.

mod custom;
mod defaults;
mod go_types;
mod protobuf;
pub(crate) mod quantity;
pub(crate) mod raw;
mod read;
mod rules;
pub(crate) mod tree;

pub use protobuf::{ProtobufError, read_protobuf};
pub use read::{Object, Source};

pub(crate) use defaults::container_names;
pub(crate) use rules::profile::{APP_ARMOR, old_app_armor};

use pintle_tree::Node;

use crate::schema::{Kind, Schema};
use crate::status::Cause;
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

/// Fills in what objects of a kind have without saying so.
pub fn fill(kind: Kind<'_>, object: &mut Node) {
    let Some(schema) = kind.schema else { return };
    if kind.custom {
        defaults::custom(schema, object);
    } else {
        defaults::built_in(kind.resource, schema, object);
    }
}

/// What is wrong with a new object, whose defaults are filled in and which is settled.
pub fn check_new(kind: Kind<'_>, object: &Node) -> Vec<Cause> {
    let (group, name) = group_and_kind(kind);
    let mut faults = rules::Faults::of(kind.minor);
    rules::metadata(kind, object, &mut faults);
    if !kind.custom {
        rules::new(group, name, object, &mut faults);
    }
    if let Some(schema) = kind.schema.filter(|_| kind.custom) {
        faults.causes.extend(custom::check(schema, object, None));
    }
    faults.causes
}

/// What is wrong with a new state of an object that was there as `live`.
pub fn check_change(kind: Kind<'_>, live: &Node, object: &Node) -> Vec<Cause> {
    let (group, name) = group_and_kind(kind);
    let mut faults = rules::Faults::of(kind.minor);
    rules::changed_metadata(kind, object, &mut faults);
    if !kind.custom {
        if !is_checked_by_change_alone(group, name) {
            rules::new(group, name, object, &mut faults);
        }
        rules::changed(group, name, live, object, &mut faults);
    }
    if let Some(schema) = kind.schema.filter(|_| kind.custom) {
        faults.causes.extend(custom::check(schema, object, Some(live)));
    }
    faults.causes
}

/// What the server lets pass with a warning.
pub fn warnings(kind: Kind<'_>, object: &Node) -> Vec<String> {
    if kind.custom {
        return Vec::new();
    }
    rules::warnings(kind, object)
}

/// Whether a change is all that the server looks at in new states of a kind.
fn is_checked_by_change_alone(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("storage.k8s.io", "StorageClass") | ("scheduling.k8s.io", "PriorityClass"))
}

fn group_and_kind(kind: Kind<'_>) -> (&str, &str) {
    (kind.resource.group.as_str().unwrap_or_default(), kind.resource.kind.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests;

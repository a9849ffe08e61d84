//! Objects against the schemas of their kinds.

mod build;
mod checker;
mod custom;
mod location;

use std::fmt;

use pintle_tree::Node;

pub use build::json_schema;
pub(crate) use checker::{Checker, OtherKinds, Validators};
pub(crate) use custom::{CustomKind, defined, kinds as custom_kinds};

/// A group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// Empty for the core group.
    pub group: String,
    /// `v1` …
    pub version: String,
    /// `Deployment` …
    pub kind: String,
}

impl Gvk {
    /// From an `apiVersion` and a `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// `v1`, `apps/v1` …
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.api_version(), self.kind)
    }
}

/// The built-in kinds of one Kubernetes version.
pub trait Catalog: Sync {
    /// The version, as in `1.36.1`.
    fn version(&self) -> String;
    /// All kinds that have a definition.
    fn kinds(&self) -> Vec<Gvk>;
    /// The name of the OpenAPI definition of a kind.
    fn definition_of(&self, kind: &Gvk) -> Option<String>;
    /// An OpenAPI definition.
    fn definition(&self, name: &str) -> Option<Node>;
    /// Whether the version serves any kind of a group, so that a kind without a definition does not exist in it.
    fn serves_group(&self, group: &str) -> bool;
    /// What a server refuses about a new object of a built-in kind besides what its schema says: the paths of fields, as
    /// `spec.ports[0].port`, and messages. A path is empty if it is not known.
    fn refusals(&self, object: &Node) -> Vec<(String, String)>;
}

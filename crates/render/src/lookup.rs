//! The port through which templates read objects from the cluster.

use pintle_tree::{Map, Node};

/// Answers the template function `lookup`.
pub trait Lookup {
    /// Returns the object, or with an empty `name` the list of objects, or an empty map if there is none.
    ///
    /// # Errors
    /// The reason as text.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str)
    -> Result<Map<Node>, String>;
}

/// No cluster: every lookup returns an empty map.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCluster;

impl Lookup for NoCluster {
    fn lookup(
        &self,
        _api_version: &str,
        _kind: &str,
        _namespace: &str,
        _name: &str,
    ) -> Result<Map<Node>, String> {
        Ok(Map::new())
    }
}

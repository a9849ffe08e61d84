//! The port through which templates read objects of a live cluster.

use pintle_tree::{Map, Node};

/// Reads objects for the template function `lookup`.
pub trait Lookup {
    /// Returns the object, or with an empty `name` the list of objects, or an empty map when there is none.
    ///
    /// # Errors
    /// The text says why the cluster could not answer.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str)
    -> Result<Map<Node>, String>;
}

/// No cluster: every look-up finds nothing.
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

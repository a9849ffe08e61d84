//! The identity of an object.

use std::fmt;

/// Identifies an object in a cluster.
///
/// Two ids refer to the same object if everything but the version is equal, since an object is served in all versions
/// of its group; [`ObjectId::is_same`] compares this way.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version inside the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if the object has none, or none was given yet.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// Returns the id of an object in the given `apiVersion`.
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        // The core group has no name, as in `v1`.
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        ObjectId {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The same id without a version, since an object is the same in all versions of its group.
    #[must_use]
    pub fn unversioned(mut self) -> Self {
        self.version.clear();
        self
    }

    /// The `apiVersion` as manifests spell it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether both refer to the same object, in whatever version.
    pub fn is_same(&self, other: &ObjectId) -> bool {
        self.without_version() == other.without_version()
    }

    /// A key for sorting and lookup regardless of the version.
    pub fn without_version(&self) -> (&str, &str, &str, &str) {
        (&self.group, &self.kind, &self.namespace, &self.name)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.kind)?;
        if !self.namespace.is_empty() {
            write!(formatter, "{}/", self.namespace)?;
        }
        formatter.write_str(&self.name)
    }
}
